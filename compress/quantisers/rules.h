// Rules, which CPU and GPU share, for single values and sums in the segments of quantisers. Other
// rules are in cpu/code_rules.h and cpu/range_float.h.
#pragma once

#include <cstdint>

#include "base/simd.h"
#include "compress/cpu/element_format.h"
#include "compress/message.h"

namespace legacy {

// qsgd, uniform: returns the levels on each side of zero, for codes of `bits` bits.
constexpr int32_t SideLevels(int bits) { return (1 << (bits - 1)) - 1; }

// uniform: returns the level of x, from -levels to levels; max > 0. Adding and taking away 1.5 *
// 2^23 rounds to the nearest whole number, ties to even.
LEGACY_INLINE constexpr float UniformLevel(float x, float max, float levels) {
  constexpr float kRound = 0x1.8p23f;
  return (x / max * levels + kRound) - kRound;
}
LEGACY_INLINE constexpr float UniformValue(float level, float max, float levels) {
  return level / levels * max;
}

// sign, onebit: values of a clear and of a set bit. If `set` is 0, no bit is set, because all
// values are too small for a mean.
struct SignLevels {
  float clear = 0;
  float set = 0;
};
constexpr SignLevels MeanMagnitude(double abs_sum, int64_t n) {
  if (n == 0) return {};
  const auto scale = static_cast<float>(abs_sum / static_cast<double>(n));
  return {scale, -scale};
}
// `below` is the number of values below zero among n.
constexpr SignLevels MeansBySign(double abs_sum, double negative_sum, int64_t below, int64_t n) {
  const double positive = abs_sum - negative_sum;
  SignLevels levels;
  // The difference of two rounded sums may be below zero by less than its own rounding error.
  if (n > below && positive > 0) levels.clear = static_cast<float>(positive / (n - below));
  if (below > 0) levels.set = static_cast<float>(-negative_sum / below);
  return levels;
}

// natural: constants of powers of two.
inline constexpr int kExponentShift = 23;  // position of the exponent in fp32
inline constexpr int kLargestExponent = 254;
inline constexpr int kLargestOffset = 127;
inline constexpr uint8_t kSignBit = 0x80;

LEGACY_INLINE constexpr uint32_t ExponentOf(float power) {
  return __builtin_bit_cast(uint32_t, power) >> kExponentShift & 0xFF;
}
// natural with 8 bits: a code has the sign and the exponent's distance from `greatest`, 0 for zero.
// Offsets up to `zero` are not used.
LEGACY_INLINE constexpr int32_t ZeroOffset(int32_t greatest) {
  return greatest < kLargestOffset ? kLargestOffset - greatest : 0;
}
LEGACY_INLINE constexpr uint32_t OffsetCode(float power, int32_t greatest, int32_t zero) {
  const uint32_t sign = __builtin_bit_cast(uint32_t, power) >> 24 & kSignBit;
  const int32_t offset = static_cast<int32_t>(ExponentOf(power)) + kLargestOffset - greatest;
  return offset > zero ? sign | static_cast<uint32_t>(offset) : 0;
}
LEGACY_INLINE constexpr float OffsetValue(uint32_t code, int32_t greatest) {
  const auto offset = static_cast<int32_t>(code & kLargestOffset);
  const int32_t exponent = offset == 0 ? 0 : greatest - kLargestOffset + offset;
  return __builtin_bit_cast(float, code >> 7 << 31 | static_cast<uint32_t>(exponent)
                                                         << kExponentShift);
}

// mx, fp8: returns the rule of a format; with `up`, scales are rounded up.
constexpr cpu::ElementRule RuleOf(ElementFormat format, bool up) {
  switch (format) {
    case ElementFormat::kE4M3:
      return cpu::ElementRule::Of(4, 3, 0x7E, up);
    case ElementFormat::kE5M2:
      return cpu::ElementRule::Of(5, 2, 0x7B, up);
    case ElementFormat::kE3M2:
      return cpu::ElementRule::Of(3, 2, 0x1F, up);
    case ElementFormat::kE2M3:
      return cpu::ElementRule::Of(2, 3, 0x1F, up);
    case ElementFormat::kE2M1:
      return cpu::ElementRule::Of(2, 1, 0x7, up);
    case ElementFormat::kInteger:
    case ElementFormat::kNarrowInteger:
    case ElementFormat::kNormalFloat:
      break;  // no floats
  }
  return {};
}

}  // namespace legacy
