// natural: each value becomes one of the two powers of two around it, so that its expectation is the value. Horvath et
// al., "Natural Compression for Distributed Deep Learning", 2019. E||x - Q(x)||^2 <= ||x||^2 / 8, so error feedback is allowed.
//
// bits=9: sign and exponent of fp32. Below 2^-126 a value becomes that or zero; above 2^127 it becomes 2^127, the largest
// power there is: biased there.
// bits=8: sign and the exponent's distance from the segment's greatest. Powers 2^-127 and less of the greatest become zero:
// biased there, by less than 2^-126 of the greatest.
//
// Segment, bits=9: exponents of fp32 in a byte each, 0 for zero; then signs in a bit each (bitpack.h).
// bits=8: the greatest exponent E in a byte, 0 where all are zero; then a byte for each value, its highest bit the sign,
// the others 0 for zero and otherwise 127 - (E - exponent).
// Zero has no sign.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "compress/codecs/common.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/quantise.h"
#include "compress/error.h"
#include "compress/quantisers/bucketed.h"
#include "compress/quantisers/quantisers.h"

namespace legacy {
namespace {

constexpr int kMantissaBits = 23;
constexpr int kLargestExponent = 254;
constexpr int kLargestOffset = 127;
constexpr uint8_t kSign = 0x80;

uint8_t ExponentOf(float x) {
  return static_cast<uint8_t>(std::bit_cast<uint32_t>(x) >> kMantissaBits);
}

float PowerOf(bool negative, uint32_t exponent) {
  return std::bit_cast<float>(uint32_t{negative} << 31 | exponent << kMantissaBits);
}

// Calls body(first, rounded values) for block after block.
template <typename Body>
void ForRounded(std::span<const float> values, const CodecContext& context, Body body) {
  const cpu::DrawSource source = DrawsOf(context);
  const auto count = static_cast<int64_t>(values.size());
  std::array<float, cpu::kQuantiseBlock> buffer;
  for (int64_t first = 0; first < count; first += cpu::kQuantiseBlock) {
    const auto rounded = std::span(buffer).first(std::min(cpu::kQuantiseBlock, count - first));
    cpu::RoundToPowers(values.subspan(first, rounded.size()), source, first, rounded);
    body(first, rounded);
  }
}

class Natural : public PartwiseQuantiser {
 public:
  std::string_view Name() const override { return "natural"; }
  ValueType Type() const override { return ValueType::kNatural; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool AllowsErrorFeedback(double) const override { return true; }
  Work EncodeWork(int64_t count, double) const override { return {"quantise.encode", count, 1}; }
  Work DecodeWork(int64_t count, double) const override { return {"quantise.decode", count, 1}; }

  // Between powers a and 2 a: (x - a)(2 a - x).
  double SquaredError(std::span<const float> values, double) const override {
    constexpr double kLeastPower = 0x1p-126;
    constexpr double kLargestPower = 0x1p127;
    double error = 0;
    for (const float value : values) {
      const double x = std::abs(value);
      if (x >= kLargestPower) {
        error += (x - kLargestPower) * (x - kLargestPower);
      } else if (x < kLeastPower) {
        error += x * (kLeastPower - x);
      } else {
        const double power = PowerOf(false, ExponentOf(std::abs(value)));
        error += (x - power) * (2 * power - x);
      }
    }
    return error;
  }
};

class Natural9 : public Natural {
 public:
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return count + cpu::PackedBytes(count, 1);
  }
  void Encode(std::span<const float> values, double, const CodecContext& context,
              Bytes& out) const override {
    const size_t begin = out.size();
    out.resize(begin + *SegmentBytes(static_cast<int64_t>(values.size()), 0));
    std::byte* exponents = out.data() + begin;
    std::byte* signs = exponents + values.size();
    ForRounded(values, context, [&](int64_t first, std::span<const float> rounded) {
      for (size_t i = 0; i < rounded.size(); ++i) {
        exponents[first + i] = static_cast<std::byte>(ExponentOf(rounded[i]));
      }
      cpu::PackSigns(rounded, {signs + first / 8, (rounded.size() + 7) / 8});
    });
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    const ByteSpan signs = segment.subspan(count);
    cpu::CheckPadding(signs, count, 1);
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto exponent = std::to_integer<int>(segment[i]);
      const int sign = std::to_integer<int>(signs[i / 8]) >> i % 8 & 1;
      bad |= static_cast<uint32_t>(exponent > kLargestExponent) | ((exponent == 0) & sign);
    }
    if (bad != 0) throw Error("message: a value is no power of two");
  }
  void DecodePart(ByteSpan segment, int64_t count, double, int64_t begin,
                  std::span<float> values) const override {
    const ByteSpan exponents = segment.subspan(begin, values.size());
    const ByteSpan signs = segment.subspan(count + begin / 8);
    for (size_t i = 0; i < values.size(); ++i) {
      const bool negative = (std::to_integer<uint32_t>(signs[i / 8]) >> i % 8 & 1) != 0;
      values[i] = PowerOf(negative, std::to_integer<uint32_t>(exponents[i]));
    }
  }
};

class Natural8 : public Natural {
 public:
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override { return 1 + count; }
  void Encode(std::span<const float> values, double, const CodecContext& context,
              Bytes& out) const override {
    const size_t begin = out.size();
    std::vector<float> rounded(values.size());
    ForRounded(values, context, [&](int64_t first, std::span<const float> block) {
      std::ranges::copy(block, rounded.begin() + first);
    });
    uint8_t greatest = 0;
    for (const float x : rounded) greatest = std::max(greatest, ExponentOf(x));
    out.resize(begin + 1 + values.size());
    out[begin] = static_cast<std::byte>(greatest);
    for (size_t i = 0; i < rounded.size(); ++i) {
      const int exponent = ExponentOf(rounded[i]);
      const int offset = exponent == 0 ? 0 : std::max(0, exponent + kLargestOffset - greatest);
      const int sign = offset > 0 && rounded[i] < 0 ? kSign : 0;
      out[begin + 1 + i] = static_cast<std::byte>(sign | offset);
    }
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    const auto greatest = std::to_integer<int>(segment[0]);
    bool any_greatest = greatest == 0;
    uint32_t bad = greatest > kLargestExponent;
    for (const std::byte byte : segment.subspan(1)) {
      const int offset = std::to_integer<int>(byte) & kLargestOffset;
      any_greatest |= offset == kLargestOffset;
      bad |= static_cast<uint32_t>(offset > 0 && offset <= kLargestOffset - greatest) |
             static_cast<uint32_t>(byte == std::byte{kSign});
    }
    if (greatest == 0) {
      bad |= std::ranges::any_of(segment.subspan(1), [](std::byte b) { return b != std::byte{0}; });
    }
    if (bad != 0 || !any_greatest) throw Error("message: a value is no power of two");
  }
  void DecodePart(ByteSpan segment, int64_t, double, int64_t begin,
                  std::span<float> values) const override {
    const auto greatest = std::to_integer<int>(segment[0]);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto code = std::to_integer<int>(segment[1 + begin + i]);
      const int offset = code & kLargestOffset;
      const int exponent = offset == 0 ? 0 : greatest - kLargestOffset + offset;
      values[i] = PowerOf((code & kSign) != 0, static_cast<uint32_t>(exponent));
    }
  }
};

}  // namespace

QuantiserRow NaturalRow() {
  return {{.name = "natural",
           .help = "powers of two by draws: sign and exponent alone",
           .paper = "Horvath et al., Natural Compression for Distributed Deep Learning, 2019",
           .options = {{"bits", "9", "8, 9",
                        "8: exponents relative to the greatest; 9: the exponents of fp32"}}},
          [](const OptionReader& options) -> std::unique_ptr<Quantiser> {
            if (options.Integer("bits", 8, 9) == 8) return std::make_unique<Natural8>();
            return std::make_unique<Natural9>();
          }};
}

}  // namespace legacy
