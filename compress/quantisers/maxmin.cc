// maxmin rounds to the nearest of 2^b levels at equal distances from the least to the greatest
// value of a bucket. Markov et al., "CGX: Adaptive System Support for Communication-Efficient Deep
// Learning", Middleware 2022.
//
// The scale of a bucket is f32 least, f32 greatest value. Code c represents (1 - t) least + t
// greatest with t = c / (2^b - 1).
//
// Error feedback: let R(x) be greatest - least, and L = 2^b - 1. With rounding to the nearest level
// the residual lies in [-R / 2L, R / 2L], so that its own range is at most R / L. With stochastic
// rounding it lies in (-R / L, R / L), a range below 2 R / L. With L >= 3 both are below R, so
// residuals stay bounded; with one bit nothing is guaranteed.
#include <cmath>

#include "compress/codec.h"
#include "compress/quantiser.h"
#include "compress/quantisers/bucketed.h"

namespace legacy {
namespace {

constexpr int kMaxMinLeastBits = 1;

class MaxMin : public BucketedQuantiser {
 public:
  explicit MaxMin(Settings settings) : BucketedQuantiser(std::move(settings)) {}
  std::string_view Name() const override { return "maxmin"; }
  ValueType Type() const override { return ValueType::kMaxMin; }
  bool AllowsErrorFeedback(double bits) const override { return BitsOf(bits) >= 2; }
  std::optional<QuantiserSetting> Setting(double bits) const override {
    return SettingOf(QuantiserKind::kMaxMin, bits);
  }

 protected:
  int Numbers() const override { return 2; }
  int LargestCode(int bits) const override { return (1 << bits) - 1; }
  int FlatCode(int) const override { return 0; }
  BucketScale ScaleOf(std::span<const float> values) const override {
    const cpu::Range range = cpu::RangeOf(values);
    return {.low = range.least, .high = range.most};
  }
  std::optional<cpu::CodeGrid> GridOf(const BucketScale& scale, int bits) const override {
    if (scale.low == scale.high) return std::nullopt;
    return cpu::RangeGrid(scale.low, scale.high, LargestCode(bits), settings().stochastic);
  }
  bool IsScale(const BucketScale& scale) const override {
    return std::isfinite(scale.low) && std::isfinite(scale.high) && scale.low <= scale.high;
  }
  void DecodeBucket(std::span<const uint8_t> codes, const BucketScale& scale, int bits,
                    std::span<float> values) const override {
    cpu::DecodeRange(codes, scale.low, scale.high, LargestCode(bits), values);
  }
  double Origin(const BucketScale& scale, int) const override { return scale.low; }
  double Step(const BucketScale& scale, int bits) const override {
    return (double{scale.high} - double{scale.low}) / LargestCode(bits);
  }
};

}  // namespace

QuantiserRow MaxMinRow() {
  return {
      {.name = "maxmin",
       .help = "rounds to equally spaced levels between the minimum and the maximum of each bucket",
       .paper = "Markov et al., CGX: Adaptive System Support for Communication-Efficient Deep "
                "Learning, Middleware 2022",
       .options = BucketOptions("4", "nearest", kMaxMinLeastBits)},
      [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
        return std::make_unique<MaxMin>(ReadBucketOptions(options, kMaxMinLeastBits));
      }};
}

}  // namespace legacy
