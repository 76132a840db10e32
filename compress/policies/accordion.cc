// Accordion (Agarwal et al., "Adaptive Gradient Communication via Critical Learning Regime
// Identification", MLSys 2021), following its public code: little compression (low) in critical
// regimes, strong compression (high) elsewhere.
//
//   - Epochs count from 0. After those with epoch % interval == 0 worker 0 compares, for each unit,
//     the norm of its raw gradients summed over that epoch with the norm at the previous decision.
//     If it moved by at least the fraction eta, or there is no previous norm, the regime is
//     critical. The first comparison of two epochs is after epoch `interval`: epochs 0 to
//     `interval` have low compression.
//   - Only the epochs that are compared are summed: a pass over the gradient in one epoch of ten.
//   - An interval that is a part of the run is counted in steps. It sums its first epoch, or all of
//     it if it is shorter than an epoch.
//   - When the learning rate drops (gradient_watch.h), all units change to low compression until
//     the next decision, even if a decision was just made. Every worker knows the rate, so nothing
//     is sent.
//   - Decisions are announced by one byte per unit. Residuals do not change.
//
// Without low and high, low is the anchor, and high sends a tenth of it; for ranks and bits, half
// of it (2 and 1 in the paper's experiments with PowerSGD).
#include <algorithm>
#include <cmath>

#include "compress/policies/announced_policy.h"
#include "compress/policies/gradient_watch.h"
#include "compress/policies/parameter_scale.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

constexpr uint8_t kLow = 0;
constexpr uint8_t kHigh = 1;

class Accordion : public AnnouncedPolicy {
 public:
  // Sums the first `sum` steps of every `interval` steps, and then decides.
  Accordion(const PolicyContext& context, ParameterGrid grid, double eta, int64_t sum,
            int64_t interval)
      : AnnouncedPolicy(context, std::move(grid), Choices(context.units.size(), kLow)),
        sum_(sum),
        interval_(interval),
        gradients_(context.units),
        regimes_(context.units.size(), eta) {}
  std::string_view Name() const override { return "accordion"; }
  bool ReadsLocalGradient() const override { return step().step % interval_ < sum_; }
  void OnLocalGradient(size_t unit, std::span<const float> gradient,
                       std::span<const float>) override {
    gradients_.Add(context().units[unit], gradient);
  }
  // The first sum has nothing to compare with.
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    return DecisionForecast{EndsOfPeriods(total_steps, interval_ + sum_, interval_),
                            "interval=10%"};
  }

 protected:
  void OnStep() override {
    if (!rate_.Sees(step().learning_rate)) return;
    SetChoices(Choices(choices().size(), kLow), "the learning rate fell");
  }
  bool IsDue() const override { return step().step % interval_ == sum_ - 1; }
  Choices Choose() override;
  DecisionGrounds GroundsOf(size_t unit) const override;
  bool HasDecided() const override { return compared_; }
  bool ReadsResidual() const override { return false; }
  WorkList ChoosingWork() const override {
    WorkList work = Clearing();
    AddWork(PassOver("norm"), work);
    return work;
  }
  void SaveOwn(StateWriter& out) const override { SaveParts(out, rate_, regimes_, gradients_); }
  void LoadOwn(StateReader& in) override { LoadParts(in, rate_, regimes_, gradients_); }

 private:
  int64_t sum_;       // number of steps whose gradients are summed
  int64_t interval_;  // number of steps between decisions
  GradientSum gradients_;
  CriticalRegimes regimes_;
  RateDrop rate_;
  // Values of the last decision, which the log explains it by.
  std::vector<double> moved_;  // change of each unit's norm relative to the previous one
  bool compared_ = false;      // true if there was a previous norm
};

Choices Accordion::Choose() {
  std::vector<double> norms;
  for (const Unit& unit : context().units) norms.push_back(gradients_.Norm(unit));
  gradients_.Clear();
  moved_ = regimes_.Moved(norms);
  compared_ = std::ranges::any_of(moved_, [](double moved) { return std::isfinite(moved); });
  Choices choices;
  for (const bool critical : regimes_.Test(norms)) {
    choices.push_back(critical ? kLow : kHigh);
  }
  return choices;
}

DecisionGrounds Accordion::GroundsOf(size_t unit) const {
  const double moved = moved_[unit];
  if (!std::isfinite(moved)) return {.reason = "no norm before"};
  const bool critical = choices()[unit] == kLow;
  return {.budget = regimes_.eta(),
          .gain = moved,
          .reason = critical ? "critical: the norm moved" : "the norm hardly moved"};
}

struct Intervals {
  int64_t sum = 1;       // number of steps whose gradients are summed
  int64_t interval = 1;  // number of steps between decisions
};

Intervals ReadIntervals(const OptionReader& options, const PolicyContext& context) {
  const int64_t steps = options.Steps("interval_steps", 0, context.total_steps);
  const int64_t interval = options.Steps("interval", 1, context.total_steps);
  const int64_t epoch = context.steps_per_epoch;
  if (steps > 0) return {steps, steps};
  if (options.IsPart("interval")) return {std::min(epoch, interval), interval};
  // More steps than any run has.
  if (interval > kMostSteps / epoch) return {epoch, kMostSteps};
  return {epoch, interval * epoch};
}

std::unique_ptr<Policy> MakeAccordion(const OptionReader& options, const PolicyContext& context) {
  const ParameterSpec& spec = context.scheme->Parameter();
  const double divisor = spec.integer ? 2 : 10;
  const double low = NumberOrAuto(options, "low", context.parameter, spec.minimum, spec.maximum);
  const double high = NumberOrAuto(options, "high", FromAmount(spec, Amount(spec, low) / divisor),
                                   spec.minimum, spec.maximum);
  const Intervals steps = ReadIntervals(options, context);
  return std::make_unique<Accordion>(
      context,
      ParameterGrid(*context.scheme, context.units, context.parameter, std::vector{low, high}),
      options.Number("eta", 0, 1e6), steps.sum, steps.interval);
}

}  // namespace

PolicyRow AccordionRow() {
  return {
      {.name = "accordion",
       .help = "compresses a unit little while its gradient norm changes (critical regime), and "
               "strongly otherwise",
       .paper = "Agarwal et al., Adaptive Gradient Communication via Critical Learning Regime "
                "Identification, MLSys 2021",
       .options = {{"low", "auto", "the parameter's range",
                    "parameter in critical regimes (little compression); auto: the anchor"},
                   {"high", "auto", "the parameter's range",
                    "parameter otherwise (strong compression); auto: a tenth of what low sends, or "
                    "half the rank or bits"},
                   {"eta", "0.5", "0 to 1e6",
                    "relative change of a unit's gradient norm from which its regime is critical"},
                   {"interval", "10", "1 to 2^53, or a part of the run",
                    "number of epochs between decisions; a part of the run is counted in steps"},
                   {"interval_steps", "0", "0 to 2^53, or a part of the run",
                    "number of steps between decisions, instead of epochs; 0: use interval"}}},
      MakeAccordion,
      {{"low", VolumeRule::kParameter}, {"high", VolumeRule::kParameter}}};
}

}  // namespace legacy
