#include "scenarios/run/well_known.h"

#include <fmt/format.h>

#include "scenarios/options/methods.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/timed_training.h"
#include "scenarios/training/step_sources.h"

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
  one.fidelity = "analytic";
  one.record = false;
  return one;
}

analysis::StepRow TimeOneStep(const Scenario& scenario) {
  const std::unique_ptr<StepSources> sources = DrawnSources(scenario);
  TrainingOptions options;
  options.workers = scenario.workers;
  options.batch_size = scenario.batch;
  options.total_steps = scenario.steps;
  options.buckets.bucket_bytes = *scenario.bucket;
  const std::span<const Unit> layers = sources->Layers();
  const Method dense = FindMethod(scenario, "dense");
  const std::unique_ptr<StepSource> step =
      sources->Make(options, dense, BuildMethod(dense, scenario, layers));
  ScenarioTiming timing(scenario);
  const std::vector<int64_t> numels = step->LayerNumels();
  StepClocks clocks;
  for (Clock& clock : timing.MakeClocks(step->Costs(), numels)) {
    clocks.push_back(std::make_unique<Clock>(std::move(clock)));
  }
  analysis::RunDirectory rows;
  MemorySink sink(rows);
  TimedTraining timed(timing, sink, nullptr, "dense", scenario.seed, std::move(clocks), numels);
  const StepStart start = timed.Start();
  return timed.Step(step->Step(start.participation.workers).work, start, {});
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
