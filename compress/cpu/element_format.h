// The number formats of the OCP's 8-bit floating point specification (OFP8, revision 1.0) and of
// its microscaling (MX) formats, version 1.0: e4m3, e5m2, e3m2, e2m3 and e2m1, where eXmY has X
// bits of exponent and Y of mantissa after a sign. Values share a scale of 8 bits, e8m0: code c
// represents 2^(c - 127).
//
//   format  bias  largest  emax  least normal  least    NaN, infinity
//   e4m3       7      448     8          2^-6   2^-9    NaN 1111.111
//   e5m2      15    57344    15         2^-14  2^-16    infinity 11111.00, NaN above
//   e3m2       3       28     4          2^-2   2^-4    none
//   e2m3       1      7.5     2             1   2^-3    none
//   e2m1       1        6     2             1     .5    none
//
// The scale of a block is 2^(floor(log2 max |x|) - emax), at least 2^-127; with `up` it is twice
// that where max |x| would be above the largest value. Values divided by the scale are rounded to
// nearest even, and saturate at the largest one; zero keeps its sign. Scales are powers of two, so
// products with them are exact where they matter, and results are the same everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

// The numbers of a format that loops need, on CPU and GPU.
struct ElementRule {
  static constexpr int kMantissaBits = 23;  // mantissa bits of fp32
  static constexpr int kBias = 127;         // bias of fp32, and of scales

  int32_t width = 8;     // bits of a code
  int32_t shift = 20;    // bits of fp32's mantissa that a code has not
  int32_t emax = 8;      // exponent of the largest value
  int32_t largest = 0;   // code of the largest value; magnitudes of codes above it are refused
  int32_t rebias = 0;    // what a code with the exponent of fp32 exceeds one with the format's
  int32_t normal = 0;    // least normal magnitude, as bits of fp32
  float magic = 0;       // a number whose neighbours are the least magnitude apart
  float least = 0;       // least magnitude
  int32_t reaching = 0;  // least code that the largest value of a block has
  int32_t raised = 0;    // mantissa, as bits of fp32, above which a scale is rounded up

  // Returns the rule of a format by the bits of its parts and the code of its largest value. With
  // `up`, scales are rounded up.
  static constexpr ElementRule Of(int exponent_bits, int mantissa_bits, int32_t most, bool up);

  // Returns the scale's code of a block whose largest magnitude has these bits, which are finite.
  LEGACY_INLINE constexpr int32_t ScaleOf(int32_t magnitude) const {
    const int32_t exponent = magnitude >> kMantissaBits;
    const int32_t mantissa = magnitude & ((1 << kMantissaBits) - 1);
    const int32_t code = exponent - emax + (mantissa > raised ? 1 : 0);
    const int32_t most = LargestScale();
    return code < 0 ? 0 : code < most ? code : most;
  }
  // Returns the largest code of a scale with which all values are finite.
  LEGACY_INLINE constexpr int32_t LargestScale() const { return 2 * kBias - emax; }

  // Returns what values are multiplied by before they are rounded: 2^(127 - scale).
  static LEGACY_INLINE constexpr float InverseOf(int32_t scale) {
    return Float((2 * kBias - scale) << kMantissaBits);
  }
  // Returns the code of a value, which is multiplied by InverseOf() of its scale.
  LEGACY_INLINE constexpr uint32_t CodeOf(float x, float inverse) const {
    const auto bits = __builtin_bit_cast(uint32_t, x * inverse);
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    const uint32_t half = (1u << (shift - 1)) - 1 + (magnitude >> shift & 1);
    const auto above = static_cast<int32_t>((magnitude + half) >> shift) - rebias;
    const float sum = __builtin_bit_cast(float, magnitude) + magic;
    const int32_t below = Bits(sum) - Bits(magic);
    // Compilers do not vectorise a choice between numbers that take this long.
    const int32_t is_normal = -(static_cast<int32_t>(magnitude) < normal ? 0 : 1);
    const int32_t code = (above & is_normal) | (below & ~is_normal);
    const int32_t kept = code < largest ? code : largest;
    return static_cast<uint32_t>(kept) | bits >> 31 << (width - 1);
  }

  // Return the code's magnitude, 0 to 2^(width - 1) - 1.
  LEGACY_INLINE constexpr int32_t MagnitudeOf(uint32_t code) const {
    return static_cast<int32_t>(code) & ((1 << (width - 1)) - 1);
  }

  // The factors whose product is a scale. Each is a normal number: subnormal ones are slow on many
  // processors.
  struct Factors {
    float first = 1;
    float second = 1;
  };
  static LEGACY_INLINE constexpr Factors FactorsOf(int32_t scale) {
    const int32_t half = scale >> 1;
    return {Float((half + kLow) << kMantissaBits), Float((scale - half + kHigh) << kMantissaBits)};
  }
  // Returns the value of a code whose magnitude is at most `largest`.
  LEGACY_INLINE constexpr float ValueOf(uint32_t code, Factors factors) const {
    const int32_t magnitude = MagnitudeOf(code);
    const int32_t small = Bits(static_cast<float>(magnitude) * least);
    const int32_t value = (magnitude + rebias) << shift;
    const int32_t is_normal = -((magnitude >> (kMantissaBits - shift)) > 0 ? 1 : 0);
    const float element = Float((value & is_normal) | (small & ~is_normal));
    const auto bits = __builtin_bit_cast(uint32_t, element * factors.first * factors.second);
    return __builtin_bit_cast(float, bits | code >> (width - 1) << 31);
  }

 private:
  // floor(c / 2) + 64 and c - floor(c / 2) + 63 are exponents of two factors of 2^(c - 127).
  static constexpr int32_t kLow = 64, kHigh = 63;
  static_assert(kLow + kHigh == kBias);

  static LEGACY_INLINE constexpr float Float(int32_t bits) {
    return __builtin_bit_cast(float, bits);
  }
  static LEGACY_INLINE constexpr int32_t Bits(float x) { return __builtin_bit_cast(int32_t, x); }
};

constexpr ElementRule ElementRule::Of(int exponent_bits, int mantissa_bits, int32_t most, bool up) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  ElementRule rule;
  rule.width = 1 + exponent_bits + mantissa_bits;
  rule.shift = kMantissaBits - mantissa_bits;
  rule.emax = (most >> mantissa_bits) - bias;
  rule.largest = most;
  rule.rebias = (kBias - bias) << mantissa_bits;
  rule.normal = (kBias + 1 - bias) << kMantissaBits;
  rule.magic = Float((kBias + 1 - bias - mantissa_bits + kMantissaBits) << kMantissaBits);
  rule.least = Float((kBias + 1 - bias - mantissa_bits) << kMantissaBits);
  const int32_t top = most & ((1 << mantissa_bits) - 1);  // mantissa of the largest value
  const int32_t power = most - top;                       // code of 2^emax
  // A scale that is rounded up leaves more than half of the largest value.
  rule.reaching = up ? most - (1 << mantissa_bits) : power;
  rule.raised = up ? top << rule.shift : (1 << kMantissaBits) - 1;
  return rule;
}

// Writes the scales of blocks of `block` values; the last may be shorter.
void ScaleBlocks(const ElementRule& rule, std::span<const float> values, int64_t block,
                 std::span<uint8_t> scales, Simd simd = ActiveSimd());
// Encode values to codes, and decode codes, from element `first` of a segment on, whose blocks have
// `scales`.
void EncodeElements(const ElementRule& rule, std::span<const float> values, int64_t first,
                    int64_t block, const uint8_t* scales, std::span<uint8_t> codes,
                    Simd simd = ActiveSimd());
void DecodeElements(const ElementRule& rule, std::span<const uint8_t> codes, int64_t first,
                    int64_t block, const uint8_t* scales, std::span<float> values,
                    Simd simd = ActiveSimd());
// Writes the largest magnitude of each block of codes, of which the last may be shorter.
void LargestMagnitudes(const ElementRule& rule, std::span<const uint8_t> codes, int64_t block,
                       std::span<uint8_t> largest, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
