// Gaussian-k uses the threshold mean + z deviation of a normal distribution, with P(|N(0,1)| > z) =
// density. The threshold is halved if it selects less than 2/3 of the requested count and
// multiplied by 1.5 if it selects more than 4/3, up to 3 times. All selected elements are sent,
// however many; if there are none, the exact Top-K is sent. On heavy tails it selects too few. Each
// of the two moments and each threshold takes a pass of 4 bytes per element.
#include <cmath>

#include "compress/checks.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/sparsifier.h"
#include "compress/sparsifiers/cut.h"

namespace legacy {
namespace {

constexpr int kCorrections = 3;

// Returns z with P(|N(0,1)| > z) = share, by bisection; 0 < share <= 1.
double TwoSidedQuantile(double share) {
  double low = 0, high = 40;  // P(|N(0,1)| > 40) is 0 in double precision
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > share ? low : high) = middle;
  }
  return low;
}

class Gaussian : public Sparsifier {
 public:
  std::string_view Name() const override { return "gaussian"; }
  CodecId Id() const override { return CodecId::kGaussian; }
  const ParameterSpec& Parameter() const override { return DensityParameter(); }
  SparsifierTraits Traits() const override { return {.fixed_count = false}; }
  Selection Select(std::span<const float> values, int64_t count,
                   const CodecContext& context) const override;
};

Selection Gaussian::Select(std::span<const float> values, int64_t count,
                           const CodecContext& context) const {
  const auto numel = static_cast<double>(values.size());
  if (count >= static_cast<int64_t>(values.size())) return SelectAtLeast(values, 0, context.unit);
  const double squares = cpu::SquaredNorm(values);
  if (!std::isfinite(squares)) CheckFinite(values, context.unit);
  double sum = 0;
  for (const float x : values) sum += x;
  const double mean = sum / numel;
  const double variance = std::max(0.0, squares / numel - mean * mean);
  const auto wanted = static_cast<double>(count);
  double threshold = std::abs(mean + TwoSidedQuantile(wanted / numel) * std::sqrt(variance));
  Selection selection;
  for (int corrected = 0;; ++corrected) {
    selection = SelectAtLeast(values, static_cast<float>(threshold), context.unit);
    const auto selected = static_cast<double>(selection.positions.size());
    const bool few = 3 * selected<2 * wanted, many = 3 * selected> 4 * wanted;
    if (corrected == kCorrections || !(few || many)) break;
    threshold *= few ? 0.5 : 1.5;
  }
  if (!selection.positions.empty()) return selection;
  return SelectLargest(values, count, context.unit);
}

}  // namespace

SparsifierRow GaussianRow() {
  return {{.name = "gaussian",
           .help = "sends the magnitudes above a threshold that is estimated from a fitted normal "
                   "distribution",
           .paper = "Shi et al., Understanding Top-k Sparsification in Distributed Deep Learning, "
                    "2019"},
          [](const OptionReader&) -> std::unique_ptr<Sparsifier> {
            return std::make_unique<Gaussian>();
          }};
}

}  // namespace legacy
