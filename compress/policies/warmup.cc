// Warm-up of the density: training starts with a high density, which falls to the anchor over some
// epochs.
//
//   formula    anchor^((e + 1) / (epochs + 1)) in epoch e = 0, 1, ..., with epochs = 5, as in the
//              code of Lin et al. ("Deep Gradient Compression", ICLR 2018)
//   published  the same with epochs = 4: 25 %, 6.3 %, 1.6 %, 0.4 %, 0.1 %, as in the paper
//   dense      everything for the given epochs (Fang et al., "RedSync", JPDC 2019)
//
// The kept fraction is warmed up, so FFT's theta can be, too.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/error.h"
#include "compress/policies/parameter_scale.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

enum class Form : uint8_t { kFormula, kPublished, kDense };
constexpr std::string_view kWarmupForms[] = {"formula", "published", "dense"};
constexpr int64_t kFormulaEpochs = 5;
constexpr int64_t kPublishedEpochs = 4;

class Warmup : public Policy {
 public:
  Warmup(const ParameterSpec& spec, double anchor, bool dense, int64_t epochs, int64_t steps)
      : steps_(steps) {
    for (int64_t e = 0; e < epochs; ++e) {
      const double share = static_cast<double>(e + 1) / static_cast<double>(epochs + 1);
      stages_.push_back(dense ? MostParameter(spec)
                              : FromAmount(spec, std::pow(Amount(spec, anchor), share)));
    }
    stages_.push_back(anchor);
  }
  std::string_view Name() const override { return "warmup"; }
  void Decide(const StepInfo& step, [[maybe_unused]] std::span<const Unit> units,
              std::span<double> parameters) override {
    assert(units.size() == parameters.size());
    const auto last = static_cast<int64_t>(stages_.size()) - 1;
    // Stage e begins at step ceil(e * steps / last).
    const int64_t stage =
        step.step < steps_ ? static_cast<int64_t>(static_cast<__int128>(step.step) * last / steps_)
                           : last;
    std::ranges::fill(parameters, stages_[stage]);
    if (static_cast<double>(stage) == log().Last()) return;
    if (log().Started()) log().Begin();
    log().SetLast(static_cast<double>(stage));
    log().Add(step.step, Decision::kAllUnits, stages_[stage],
              {.reason = stage == last ? "warm-up is over" : "stage of the warm-up"});
  }

 private:
  std::vector<double> stages_;  // parameter of each stage, the anchor last
  int64_t steps_;               // number of warm-up steps
};

std::unique_ptr<Policy> MakeWarmup(const OptionReader& options, const PolicyContext& context) {
  const ParameterSpec& spec = context.scheme->Parameter();
  CheckParameter(spec, context.parameter);
  if (spec.Kind() != ParameterKind::kDensity && spec.Kind() != ParameterKind::kTheta) {
    throw Error("policy warmup with scheme " + std::string(context.scheme->Name()),
                spec.name.empty() ? "no parameter" : "parameter " + spec.name,
                "schemes with the parameter density or theta");
  }
  const auto form = static_cast<Form>(options.Choice("form", kWarmupForms));
  int64_t epochs = form == Form::kPublished ? kPublishedEpochs : kFormulaEpochs;
  if (options.Text("epochs") != "auto") epochs = options.Integer("epochs", 1, 1000);
  int64_t steps = options.Steps("steps", 0, context.total_steps);
  if (steps == 0) steps = epochs * context.steps_per_epoch;
  return std::make_unique<Warmup>(spec, context.parameter, form == Form::kDense, epochs, steps);
}

}  // namespace

PolicyRow WarmupRow() {
  return {{.name = "warmup",
           .help = "lowers the density to the anchor over the first epochs",
           .paper = "Lin, Han, Mao, Wang, Dally, Deep Gradient Compression, ICLR 2018",
           .options = {{"form", "formula", "formula, published, dense",
                        "density of each epoch: by DGC's formula, as DGC's paper prints it, or 1"},
                       {"epochs", "auto", "1 to 1000",
                        "number of warm-up epochs; auto: 5, with form=published 4"},
                       {"steps", "0", "0 to 2^53, or a part of the run",
                        "length of the warm-up in steps; 0: that of its epochs"}}},
          MakeWarmup};
}

}  // namespace legacy
