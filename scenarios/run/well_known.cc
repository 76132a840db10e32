#include "scenarios/run/well_known.h"

#include <fmt/format.h>

#include "scenarios/run/diagnostics.h"
#include "scenarios/run/one_step.h"

namespace legacy {
namespace {

struct Known {
  const char* shape;
  const char* samples;
};
// A convolutional network with few parameters, one with many, and a transformer.
constexpr Known kKnown[] = {
    {"resnet50", "images"}, {"vgg16", "images"}, {"gpt2-small", "contexts"}};

Scenario OneDenseStep(const Scenario& scenario, const Known& known) {
  Scenario one = WithoutDiagnostics(scenario);
  one.layers = known.shape;
  one.batch = kUsualBatch;
  TakeUsualBatch(one);
  one.policies = {"dense"};
  one.steps = 1;
  one.further = "none";
  one.stragglers = "none";
  one.parallel = "none";
  one.experts = Scenario().experts;
  one.pipeline = Scenario().pipeline;
  one.fidelity = "analytic";
  one.record = false;
  return one;
}

}  // namespace

std::vector<CommunicationRatio> WellKnownRatios(const Scenario& scenario) {
  std::vector<CommunicationRatio> ratios;
  for (const Known& known : kKnown) {
    const Scenario one = OneDenseStep(scenario, known);
    const analysis::StepRow row = TimeOneStep(one);
    ratios.push_back({fmt::format("{} x {} {}", known.shape, one.batch, known.samples),
                      row.communication_seconds / row.compute_seconds});
  }
  return ratios;
}

}  // namespace legacy
