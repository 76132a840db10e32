// uniform rounds to the nearest of 2^N - 1 levels of N bits, at equal distances from -max |x| to
// max |x|.
//
// Segment: f32 max |x|, then codes of N bits: 0 is -max, the middle code is zero.
#include <cmath>
#include <cstring>

#include "base/number.h"
#include "base/simd.h"
#include "compress/checks.h"
#include "compress/cpu/vector.h"
#include "compress/quantiser.h"
#include "compress/quantisers/packed.h"
#include "compress/quantisers/rules.h"

namespace legacy {
namespace {

constexpr int kUniformLeastBits = 2;
constexpr int kUniformMostBits = 16;
constexpr int64_t kMaximumBytes = 4;

int WidthOf(double parameter) { return static_cast<int>(std::lround(parameter)); }

LEGACY_INLINE void EncodeBody(const float* values, int64_t n, float max, int32_t levels,
                              uint32_t* codes) {
  const auto steps = static_cast<float>(levels);
  for (int64_t i = 0; i < n; ++i) {
    codes[i] =
        static_cast<uint32_t>(static_cast<int32_t>(UniformLevel(values[i], max, steps)) + levels);
  }
}

LEGACY_INLINE void DecodeBody(const uint32_t* codes, int64_t n, float max, int32_t levels,
                              float* values) {
  const auto steps = static_cast<float>(levels);
  for (int64_t i = 0; i < n; ++i) {
    values[i] =
        UniformValue(static_cast<float>(static_cast<int32_t>(codes[i]) - levels), max, steps);
  }
}

class Uniform : public Quantiser {
 public:
  explicit Uniform(int64_t bits)
      : parameter_{.name = "bits",
                   .minimum = kUniformLeastBits,
                   .maximum = kUniformMostBits,
                   .integer = true,
                   .fallback = static_cast<double>(bits),
                   .help = "bits per value, the sign included"} {}

  std::string_view Name() const override { return "uniform"; }
  ValueType Type() const override { return ValueType::kUniform; }
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return parameter_; }
  // Error feedback is allowed: zero is a level, and rounding is to the nearest, so |x - Q(x)| <=
  // |x| for every value.
  bool AllowsErrorFeedback(double) const override { return true; }
  std::optional<int64_t> SegmentBytes(int64_t count, double parameter) const override {
    return kMaximumBytes + cpu::PackedBytes(count, WidthOf(parameter));
  }

  std::optional<QuantiserSetting> Setting(double parameter) const override {
    return QuantiserSetting{.kind = QuantiserKind::kUniform, .bits = WidthOf(parameter)};
  }

  void Encode(std::span<const float> values, double parameter, const CodecContext&,
              Bytes& out) const override {
    const float max = cpu::AbsMax(values);
    AppendFloats(std::span(&max, 1), out);
    // If all values are zero, every level is zero, and any divisor will do.
    const float divisor = max > 0 ? max : 1;
    AppendPacked(values, WidthOf(parameter), out,
                 [&](std::span<const float> block, std::span<uint32_t> codes) {
                   cpu::Dispatch<EncodeBody>(cpu::ActiveSimd(), block.data(),
                                             static_cast<int64_t>(block.size()), divisor,
                                             SideLevels(WidthOf(parameter)), codes.data());
                 });
  }

  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    CheckLength(segment, *SegmentBytes(static_cast<int64_t>(values.size()), parameter));
    const float max = FloatAt(segment, 0);
    if (!std::isfinite(max) || std::signbit(max)) {
      throw Error("message: largest magnitude", FormatNumber(max), "finite, not negative");
    }
    const int32_t levels = SideLevels(WidthOf(parameter));
    ReadPacked(
        segment.subspan(kMaximumBytes), WidthOf(parameter), 2 * static_cast<uint32_t>(levels),
        values, [&](std::span<const uint32_t> codes, std::span<float> block) {
          cpu::Dispatch<DecodeBody>(cpu::ActiveSimd(), codes.data(),
                                    static_cast<int64_t>(codes.size()), max, levels, block.data());
        });
  }

  double SquaredError(std::span<const float> values, double parameter) const override {
    const float max = cpu::AbsMax(values);
    if (max == 0) return 0;
    const auto steps = static_cast<float>(SideLevels(WidthOf(parameter)));
    double error = 0;
    for (const float x : values) {
      const double rounded = UniformValue(UniformLevel(x, max, steps), max, steps);
      error += (x - rounded) * (x - rounded);
    }
    return error;
  }

 private:
  const ParameterSpec parameter_;
};

}  // namespace

QuantiserRow UniformRow() {
  return {{.name = "uniform",
           .help = "rounds to the nearest of equally spaced levels from -max to max",
           .paper = "",
           .options = {{"bits", "8", "2 to 16", "bits per value, the sign included"}}},
          [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
            return std::make_unique<Uniform>(
                options.Integer("bits", kUniformLeastBits, kUniformMostBits));
          }};
}

}  // namespace legacy
