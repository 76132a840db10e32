// Threshold: everything that reaches a fixed magnitude, none or all of a unit included. With error
// feedback in one pass: 8 bytes read and 4 written an element. Not a contraction, as nothing may be
// sent, yet error feedback cannot diverge: what is left is below the threshold everywhere, ||x -
// C(x)||^2 < n threshold^2 whatever ||x|| is (Sahu et al., NeurIPS 2021).
#include <cmath>

#include "compress/sparsifiers/cut.h"
#include "compress/sparsifiers/sparsifiers.h"

namespace legacy {
namespace {

const ParameterSpec& ThresholdParameter() {
  static const ParameterSpec spec{.name = "threshold",
                                  .minimum = 1e-12,
                                  .maximum = 1e6,
                                  .integer = false,
                                  .fallback = 0.01,
                                  .help = "magnitude from which elements are sent",
                                  .volume_falls = true};
  return spec;
}

class Threshold : public Sparsifier {
 public:
  std::string_view Name() const override { return "threshold"; }
  CodecId Id() const override { return CodecId::kThreshold; }
  const ParameterSpec& Parameter() const override { return ThresholdParameter(); }
  bool FixedCount() const override { return false; }
  std::optional<SparsifierSetting> Setting() const override {
    return SparsifierSetting{.kind = SparsifierKind::kThreshold};
  }
  bool AddsItself() const override { return true; }
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
};

}  // namespace

double ThresholdForBudget(double count) { return 1 / (2 * std::sqrt(count)); }

SparsifierRow ThresholdRow() {
  return {{.name = "threshold",
           .help = "every element that reaches a fixed magnitude",
           .paper = "Sahu et al., Rethinking Gradient Sparsification as Total Error "
                    "Minimization, NeurIPS 2021"},
          [](const OptionReader&) -> std::unique_ptr<Sparsifier> {
            return std::make_unique<Threshold>();
          }};
}

}  // namespace legacy
