// mean sends one number for all values, as quantised RedSync does for values of one sign. It takes
// 4 bytes, or 0 for no values.
//
// The mean is the projection on equal values: ||x - Q(x)||^2 = ||x||^2 - n mean^2. For values of
// one sign that is a contraction. For both signs it need not be, so error feedback is refused
// unless the method guarantees the sign.
#include <algorithm>

#include "compress/checks.h"
#include "compress/density.h"
#include "compress/quantiser.h"

namespace legacy {
namespace {

// Returns the mean, summed in double precision and in order, and rounded once.
float MeanOf(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += x;
  return values.empty() ? 0 : static_cast<float>(sum / static_cast<double>(values.size()));
}

class Mean : public Quantiser {
 public:
  std::string_view Name() const override { return "mean"; }
  ValueType Type() const override { return ValueType::kMean; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool AllowsErrorFeedback(double) const override { return false; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return count > 0 ? int64_t{sizeof(float)} : 0;
  }
  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    if (values.empty()) return;
    const float mean = MeanOf(values);
    AppendFloats({&mean, 1}, out);
  }
  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    CheckLength(segment, *SegmentBytes(static_cast<int64_t>(values.size()), parameter));
    CheckFiniteSegment(segment);
    if (!values.empty()) std::ranges::fill(values, FloatAt(segment, 0));
  }
  double SquaredError(std::span<const float> values, double) const override {
    const auto mean = static_cast<double>(MeanOf(values));
    double error = 0;
    for (const float x : values) error += (x - mean) * (x - mean);
    return error;
  }
};

}  // namespace

QuantiserRow MeanRow() {
  return {
      {.name = "mean",
       .help = "replaces all values by their mean, for values of one sign",
       .paper = "Fang et al., RedSync, JPDC 2019"},
      [](const OptionReader&) -> std::unique_ptr<Quantiser> { return std::make_unique<Mean>(); }};
}

}  // namespace legacy
