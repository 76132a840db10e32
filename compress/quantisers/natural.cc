// natural rounds each value to one of the two neighbouring powers of two, so that its expectation
// is the value. Horvath et al., "Natural Compression for Distributed Deep Learning", 2019. E||x -
// Q(x)||^2 <= ||x||^2 / 8, so error feedback is allowed.
//
// bits=9: sign and exponent of fp32. A value below 2^-126 becomes 2^-126 or zero. A value above
// 2^127 becomes 2^127, the largest power, and is therefore biased.
//
// bits=8: sign, and the exponent's distance from the segment's greatest. Powers of at most 2^-127
// times the greatest become zero, which biases them by less than 2^-126 of the greatest.
//
// form=dithering: powers of two times the norm of a bucket (natural_dithering.h).
//
// Segment for bits=9: exponents of fp32 in a byte each, 0 for zero; then signs in a bit each
// (bitpack.h). For bits=8: the greatest exponent E in a byte, 0 if all values are zero; then a byte
// for each value, whose highest bit is the sign and whose other bits are 0 for zero and otherwise
// 127 - (E - exponent). Zero has no sign.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/simd.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/quantise.h"
#include "compress/cpu/vector.h"
#include "compress/density.h"
#include "compress/quantiser.h"
#include "compress/quantisers/bucketed.h"
#include "compress/quantisers/natural_dithering.h"
#include "compress/quantisers/rules.h"

namespace legacy {
namespace {

LEGACY_INLINE void StoreExponents(const float* __restrict rounded, int64_t n,
                                  uint8_t* __restrict out) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(ExponentOf(rounded[i]));
}

LEGACY_INLINE void AddExponents(const uint8_t* __restrict exponents, int64_t n,
                                float* __restrict signs) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t sign = __builtin_bit_cast(uint32_t, signs[i]);
    signs[i] = __builtin_bit_cast(float, sign | uint32_t{exponents[i]} << kExponentShift);
  }
}

// Returns true if an exponent is too large, or zero has a sign.
LEGACY_INLINE bool AnyBad9(const uint8_t* exponents, const uint8_t* signs, int64_t n) {
  uint8_t bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    bad |=
        static_cast<uint8_t>((exponents[i] > kLargestExponent) | ((exponents[i] == 0) & signs[i]));
  }
  return bad != 0;
}

LEGACY_INLINE void StoreOffsets(const float* __restrict rounded, int64_t n, int32_t greatest,
                                uint8_t* __restrict out) {
  const int32_t zero = ZeroOffset(greatest);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<uint8_t>(OffsetCode(rounded[i], greatest, zero));
  }
}

LEGACY_INLINE void LoadOffsets(const uint8_t* __restrict in, int64_t n, int32_t greatest,
                               float* __restrict values) {
  for (int64_t i = 0; i < n; ++i) values[i] = OffsetValue(in[i], greatest);
}

// Returns true if an offset leads to no exponent, or zero has a sign.
LEGACY_INLINE bool AnyBad8(const uint8_t* in, int64_t n, int32_t greatest) {
  uint8_t bad = 0;
  const auto lowest = static_cast<uint8_t>(ZeroOffset(greatest));
  for (int64_t i = 0; i < n; ++i) {
    const auto offset = static_cast<uint8_t>(in[i] & kLargestOffset);
    bad |= static_cast<uint8_t>(((offset > 0) & (offset <= lowest)) | (in[i] == kSignBit));
  }
  return bad != 0;
}

const uint8_t* CodesOf(ByteSpan bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

// Calls body(first, rounded values) for one block after the other.
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
  bool KeepsZeros() const override { return true; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool AllowsErrorFeedback(double) const override { return true; }

  // The squared error between powers a and 2 a is (x - a)(2 a - x).
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
        const double power = std::bit_cast<float>(ExponentOf(value) << kExponentShift);
        error += (x - power) * (2 * power - x);
      }
    }
    return error;
  }
};

class Natural9 : public Natural {
 public:
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = QuantiserKind::kNatural, .bits = 9};
  }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return count + cpu::PackedBytes(count, 1);
  }
  void Encode(std::span<const float> values, double, const CodecContext& context,
              Bytes& out) const override {
    const size_t begin = out.size();
    out.resize(begin + *SegmentBytes(static_cast<int64_t>(values.size()), 0));
    auto* exponents = reinterpret_cast<uint8_t*>(out.data() + begin);
    std::byte* signs = out.data() + begin + values.size();
    ForRounded(values, context, [&](int64_t first, std::span<const float> rounded) {
      cpu::Dispatch<StoreExponents>(cpu::ActiveSimd(), rounded.data(),
                                    static_cast<int64_t>(rounded.size()), exponents + first);
      cpu::PackSigns(rounded, {signs + first / 8, (rounded.size() + 7) / 8});
    });
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    std::array<uint8_t, cpu::kQuantiseBlock> buffer;
    for (int64_t first = 0; first < count; first += cpu::kQuantiseBlock) {
      const int64_t size = std::min(cpu::kQuantiseBlock, count - first);
      const auto signs = std::span(buffer).first(size);
      cpu::UnpackCodes(segment.subspan(count + first / 8, cpu::PackedBytes(size, 1)), 1, signs);
      if (cpu::Dispatch<AnyBad9>(cpu::ActiveSimd(), CodesOf(segment) + first,
                                 static_cast<const uint8_t*>(buffer.data()), size)) {
        throw Error("message: a value is not a power of two");
      }
    }
  }
  void DecodePart(ByteSpan segment, int64_t count, double, int64_t begin,
                  std::span<float> values) const override {
    const auto size = static_cast<int64_t>(values.size());
    cpu::UnpackSigns(segment.subspan(count + begin / 8, cpu::PackedBytes(size, 1)), 0.0f, -0.0f,
                     values);
    cpu::Dispatch<AddExponents>(cpu::ActiveSimd(), CodesOf(segment) + begin, size, values.data());
  }
};

class Natural8 : public Natural {
 public:
  std::optional<QuantiserSetting> Setting(double) const override {
    return QuantiserSetting{.kind = QuantiserKind::kNatural, .bits = 8};
  }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override { return 1 + count; }
  void Encode(std::span<const float> values, double, const CodecContext& context,
              Bytes& out) const override {
    // Values are rounded twice, first to find the greatest exponent: draws are cheaper than memory
    // for their results.
    uint32_t greatest = 0;
    ForRounded(values, context, [&](int64_t, std::span<const float> rounded) {
      greatest = std::max(greatest, ExponentOf(cpu::AbsMax(rounded)));
    });
    const size_t begin = out.size();
    out.resize(begin + 1 + values.size());
    out[begin] = static_cast<std::byte>(greatest);
    auto* codes = reinterpret_cast<uint8_t*>(out.data() + begin + 1);
    ForRounded(values, context, [&](int64_t first, std::span<const float> rounded) {
      cpu::Dispatch<StoreOffsets>(cpu::ActiveSimd(), rounded.data(),
                                  static_cast<int64_t>(rounded.size()),
                                  static_cast<int32_t>(greatest), codes + first);
    });
  }
  void Check(ByteSpan segment, int64_t count, double) const override {
    CheckLength(segment, *SegmentBytes(count, 0));
    const auto greatest = std::to_integer<int32_t>(segment[0]);
    const ByteSpan codes = segment.subspan(1);
    // Either some value has the greatest exponent, or all values are zero.
    const bool there =
        greatest == 0 ? std::ranges::all_of(codes, [](std::byte b) { return b == std::byte{0}; })
                      : std::ranges::any_of(codes, [](std::byte b) {
                          return std::to_integer<int>(b & ~std::byte{kSignBit}) == kLargestOffset;
                        });
    if (!there || greatest > kLargestExponent ||
        cpu::Dispatch<AnyBad8>(cpu::ActiveSimd(), CodesOf(codes), count, greatest)) {
      throw Error("message: a value is not a power of two");
    }
  }
  void DecodePart(ByteSpan segment, int64_t, double, int64_t begin,
                  std::span<float> values) const override {
    cpu::Dispatch<LoadOffsets>(cpu::ActiveSimd(), CodesOf(segment) + 1 + begin,
                               static_cast<int64_t>(values.size()),
                               std::to_integer<int32_t>(segment[0]), values.data());
  }
};

}  // namespace

QuantiserRow NaturalRow() {
  std::vector<OptionSpec> options = {
      {"bits", "9", "8, 9",
       "bits per value; 8: exponents relative to the largest one; 9: fp32's exponents"},
      {"form", "rounding", "rounding, dithering",
       "powers of two themselves, or times the norm of a bucket, few of them (natural dithering)"}};
  for (OptionSpec& option : NaturalDitheringOptions()) options.push_back(std::move(option));
  return {{.name = "natural",
           .help = "rounds every value at random to a power of two, so that only sign and exponent "
                   "are sent",
           .paper = "Horvath et al., Natural Compression for Distributed Deep Learning, 2019",
           .options = std::move(options)},
          [](const OptionReader& own) -> std::unique_ptr<Quantiser> {
            constexpr std::string_view kForms[] = {"rounding", "dithering"};
            if (own.Choice("form", kForms) == 1) return MakeNaturalDithering(own);
            if (own.Integer("bits", 8, 9) == 8) return std::make_unique<Natural8>();
            return std::make_unique<Natural9>();
          }};
}

}  // namespace legacy
