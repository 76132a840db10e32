// threshold sends every element that reaches a fixed magnitude, which can be none or all of a unit.
// With error feedback it takes one pass that reads 8 bytes and writes 4 per element. It is not a
// contraction, because it may send nothing, yet error feedback cannot diverge: the residual is
// below the threshold everywhere, ||x - C(x)||^2 < n threshold^2 whatever ||x|| is (Sahu et al.,
// NeurIPS 2021).
#include <cmath>
#include <memory>

#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

constexpr double kDefault = 0.01;

ParameterSpec ThresholdParameter(double fallback) {
  return {.name = "threshold",
          .minimum = 1e-12,
          .maximum = 1e6,
          .integer = false,
          .fallback = fallback,
          .help = "least magnitude that is sent",
          .volume_falls = true};
}

class Threshold : public Sparsifier {
 public:
  explicit Threshold(double fallback) : parameter_(ThresholdParameter(fallback)) {}
  std::string_view Name() const override { return "threshold"; }
  CodecId Id() const override { return CodecId::kThreshold; }
  const ParameterSpec& Parameter() const override { return parameter_; }
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  std::optional<SparsifierSetting> Setting() const override {
    return SparsifierSetting{.kind = SparsifierKind::kThreshold};
  }
  WorkList SumWork(int64_t numel) const override { return {{"feedback", numel}}; }
  bool TakesOut(Feeding) const override { return true; }
  Selection Select(std::span<const float> values, int64_t,
                   const CodecContext& context) const override {
    return SelectAtLeast(values, static_cast<float>(context.parameter), context.unit);
  }
  Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual, int64_t,
                               const CodecContext& context) const override {
    return SelectAtLeastWithFeedback(gradient, residual, static_cast<float>(context.parameter),
                                     context.unit);
  }

 private:
  const ParameterSpec parameter_;
};

}  // namespace

SparsifierRow ThresholdRow() {
  return {{.name = "threshold",
           .help = "sends every element that reaches a fixed magnitude",
           .paper = "Sahu et al., Rethinking Gradient Sparsification as Total Error "
                    "Minimization, NeurIPS 2021",
           .options = {{"budget", "0", "0 to 2^53",
                        "elements to send per step, over all units; sets the default threshold to "
                        "1 / (2 sqrt(budget)), and 0 to 0.01"}}},
          [](const OptionReader& options) -> std::unique_ptr<Sparsifier> {
            const auto budget = static_cast<double>(options.Integer("budget", 0, int64_t{1} << 53));
            return std::make_unique<Threshold>(budget > 0 ? 1 / (2 * std::sqrt(budget)) : kDefault);
          }};
}

}  // namespace legacy
