// Accordion (Agarwal et al., "Adaptive Gradient Communication via Critical Learning Regime
// Identification", MLSys 2021), as its code does it: little compression (low) in critical regimes,
// much (high) elsewhere.
//
//   - epochs count from 0; after those with epoch % interval == 0 worker 0 compares, unit by unit,
//     the norm of its raw gradients summed over that epoch with the norm at the decision before;
//     moved by at least the share eta (or no norm before): critical. The first comparison of two
//     epochs is after epoch `interval`: epochs 0 to `interval` have low compression.
//   - only the epochs that are compared are summed: a pass over the gradient in one epoch of ten
//   - when the learning rate drops (gradient_watch.h), all units go to low compression until the
//     next decision, a decision that was just made included; every worker knows the rate, so
//     nothing is sent
//   - decisions are announced by one byte a unit; residuals stay what they are
//
// Without low and high: the anchor, and a tenth of what it sends; of ranks and bits the half (2 and
// 1 in the paper's experiments with PowerSGD).
#include "compress/policies/announced_policy.h"
#include "compress/policies/gradient_watch.h"
#include "compress/policies/parameter_scale.h"
#include "compress/policies/policies.h"

namespace legacy {
namespace {

constexpr uint8_t kLow = 0;
constexpr uint8_t kHigh = 1;

class Accordion : public AnnouncedPolicy {
 public:
  // A decision after every `interval`-th epoch, the first included.
  Accordion(const PolicyContext& context, ParameterGrid grid, double eta, int64_t epoch_steps,
            int64_t interval)
      : AnnouncedPolicy(context, std::move(grid), Choices(context.units.size(), kLow)),
        epoch_steps_(epoch_steps),
        interval_(interval),
        gradients_(context.units),
        regimes_(context.units.size(), eta) {}
  std::string_view Name() const override { return "accordion"; }
  bool ReadsLocalGradient() const override { return step().step / epoch_steps_ % interval_ == 0; }
  void ObserveLocal(size_t unit, std::span<const float> gradient, std::span<const float>) override {
    gradients_.Add(context().units[unit], gradient);
  }

 protected:
  void OnStep() override {
    if (rate_.Sees(step().learning_rate)) SetChoices(Choices(choices().size(), kLow));
  }
  bool IsDue() const override {
    return ReadsLocalGradient() && (step().step + 1) % epoch_steps_ == 0;
  }
  Choices Choose() override;
  WorkList ChoosingWork() const override {
    return {{.kernel = "accumulate", .elements = elements()}};  // of squares
  }
  void SaveOwn(StateWriter& out) const override { SaveParts(out, rate_, regimes_, gradients_); }
  void LoadOwn(StateReader& in) override { LoadParts(in, rate_, regimes_, gradients_); }

 private:
  int64_t epoch_steps_;
  int64_t interval_;
  GradientSum gradients_;
  CriticalRegimes regimes_;
  RateDrop rate_;
};

Choices Accordion::Choose() {
  std::vector<double> norms;
  for (const Unit& unit : context().units) norms.push_back(gradients_.Norm(unit));
  gradients_.Clear();
  Choices choices;
  for (const bool critical : regimes_.Test(norms)) {
    choices.push_back(critical ? kLow : kHigh);
  }
  return choices;
}

std::unique_ptr<Policy> MakeAccordion(const OptionReader& options, const PolicyContext& context) {
  const ParameterSpec& spec = context.scheme->Parameter();
  const double divisor = spec.integer ? 2 : 10;
  const double low = NumberOrAuto(options, "low", context.parameter, spec.minimum, spec.maximum);
  const double high = NumberOrAuto(options, "high", FromAmount(spec, Amount(spec, low) / divisor),
                                   spec.minimum, spec.maximum);
  constexpr int64_t kMost = int64_t{1} << 53;
  const int64_t steps = options.Integer("interval_steps", 0, kMost);
  const int64_t interval = options.Integer("interval", 1, kMost);
  return std::make_unique<Accordion>(
      context, ParameterGrid(*context.scheme, context.units, context.parameter, low, high),
      options.Number("eta", 0, 1e6), steps > 0 ? steps : context.steps_per_epoch,
      steps > 0 ? 1 : interval);
}

}  // namespace

PolicyRow AccordionRow() {
  return {{.name = "accordion",
           .help = "little compression where a unit's gradient norm moves, much elsewhere",
           .paper = "Agarwal et al., Adaptive Gradient Communication via Critical Learning Regime "
                    "Identification, MLSys 2021",
           .options = {{"low", "auto", "the parameter's range",
                        "in critical regimes; auto: the anchor"},
                       {"high", "auto", "the parameter's range",
                        "elsewhere; auto: a tenth of what low sends, half of ranks and bits"},
                       {"eta", "0.5", "0 to 1e6", "change of a norm that makes a regime critical"},
                       {"interval", "10", "1 to 2^53", "epochs between decisions"},
                       {"interval_steps", "0", "0 to 2^53",
                        "sums and decides over so many steps instead of epochs; 0: epochs"}}},
          MakeAccordion};
}

}  // namespace legacy
