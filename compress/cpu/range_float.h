// Range-based float (Wang et al., "FFT-based Gradient Sparsification for the Distributed Training
// of Deep Neural Networks", HPDC 2020): numbers of N bits whose codes all represent [-lowest,
// -eps], 0 and [eps, highest]. As in IEEE 754, they have m bits of mantissa and a spacing that
// grows with the magnitude; in contrast to it, the range follows the data and may differ by sign.
// The smallest magnitude eps follows from N, m and the range in closed form:
//
//   key(a) = upper bits of |a| as fp32, m of the mantissa, rounded to nearest
//   above  = key(highest), below = key(lowest)
//   base   = key(eps) = max(ceil((above + below + 3 - 2^N) / 2),
//                           above + 2 - 2^N, below + 2 - 2^N, 2^m)
//   P = max(0, above - base + 1) positive codes, Q = max(0, below - base + 1) negative ones
//   P + Q + 1 <= 2^N
//   code 0: zero   1 .. P: keys base .. above   P + 1 .. P + Q: the same with a minus sign
//
// Magnitudes above the range saturate. Those below eps become eps or 0, whichever is nearer (eps at
// eps / 2). A sign without codes becomes 0. Therefore |x - decoded| <= |x|, and <= 2^-(m + 1) |x|
// between eps and the range's end. Only integer operations on the bits of fp32 are used, so results
// are the same everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

// The largest value, and the largest magnitude below zero; 0 if there is none.
struct SignedRange {
  float highest = 0;
  float lowest = 0;
};

// A format for one range.
struct RangeFloat {
  static constexpr int kLeastBits = 3;
  static constexpr int kMostBits = 16;
  static constexpr int kMantissaBits = 23;  // mantissa bits of fp32
  static constexpr int32_t kMagnitude = 0x7FFFFFFF;
  static constexpr int32_t kInfinity = 0x7F800000;
  // A longer mantissa would leave less than two octaves for each sign.
  static constexpr int MostMantissa(int bits) { return bits - 2; }

  int32_t mantissa = 1;
  int32_t above = 0;  // key of the range's highest value; `below` is that of the lowest
  int32_t below = 0;
  int32_t base = 0;
  int32_t positive = 0;  // P
  int32_t negative = 0;  // Q

  // Returns the format; 1 <= mantissa <= MostMantissa(bits), and the range is finite.
  static constexpr RangeFloat Of(int bits, int mantissa, SignedRange range) {
    return FromKeys(bits, mantissa, KeyOf(range.highest, mantissa), KeyOf(range.lowest, mantissa));
  }
  // Returns the format from keys, 0 <= keys <= MostKey(mantissa).
  static constexpr RangeFloat FromKeys(int bits, int mantissa, int32_t above, int32_t below) {
    const int32_t codes = 1 << bits;
    const int32_t shared = (above + below + 4 - codes) >> 1;  // rounded up
    const int32_t most = Larger(above, below) + 2 - codes;
    const int32_t normal = 1 << mantissa;  // key of the smallest normal number
    const int32_t base = Larger(Larger(shared, most), normal);
    return {mantissa, above, below, base, Larger(0, above - base + 1), Larger(0, below - base + 1)};
  }
  // Returns the largest key of a finite number.
  static constexpr int32_t MostKey(int mantissa) {
    return (kInfinity >> (kMantissaBits - mantissa)) - 1;
  }

  constexpr uint32_t LargestCode() const { return static_cast<uint32_t>(positive + negative); }
  uint32_t Encode(float x) const;     // x is not NaN
  float Decode(uint32_t code) const;  // code <= LargestCode()

  static LEGACY_INLINE constexpr int32_t Larger(int32_t a, int32_t b) { return a < b ? b : a; }

 private:
  static constexpr int32_t KeyOf(float magnitude, int mantissa) {
    const int shift = kMantissaBits - mantissa;
    const int32_t bits = __builtin_bit_cast(int32_t, magnitude);
    const int32_t key = (bits + (1 << (shift - 1))) >> shift;
    return key < MostKey(mantissa) ? key : MostKey(mantissa);
  }
};

// The numbers of a format that loops need, on CPU and GPU.
struct RangeRounding {
  constexpr explicit RangeRounding(const RangeFloat& format)
      : base(format.base),
        above(format.above),
        below(format.below),
        shift(RangeFloat::kMantissaBits - format.mantissa),
        positive(format.positive),
        half_eps(
            __builtin_bit_cast(int32_t, __builtin_bit_cast(float, format.base << shift) * 0.5f)),
        half_step(1 << (shift - 1)) {}

  // Returns the key to which x is rounded, within its sign's part of the range; 0 for zero.
  LEGACY_INLINE constexpr int32_t Round(int32_t bits) const {
    const int32_t magnitude = bits & RangeFloat::kMagnitude;
    const int32_t top = bits < 0 ? below : above;
    // Rounding up may reach the key of infinity, which is above `top` and therefore saturates.
    const int32_t rounded = (magnitude + half_step) >> shift;
    const int32_t key = rounded < top ? rounded : top;
    const int32_t kept = magnitude >= half_eps ? RangeFloat::Larger(key, base) : 0;
    return top >= base ? kept : 0;
  }
  LEGACY_INLINE constexpr uint32_t CodeOf(float x) const {
    const auto bits = __builtin_bit_cast(int32_t, x);
    const int32_t key = Round(bits);
    const int32_t code = key - base + 1 + (bits < 0 ? positive : 0);
    return static_cast<uint32_t>(key == 0 ? 0 : code);
  }
  LEGACY_INLINE constexpr float ValueOf(uint32_t code) const {
    const auto c = static_cast<int32_t>(code);
    const bool minus = c > positive;
    const int32_t key = base - 1 + (minus ? c - positive : c);
    const int32_t bits = (key << shift) | (minus ? ~RangeFloat::kMagnitude : 0);
    return __builtin_bit_cast(float, c == 0 ? 0 : bits);
  }
  LEGACY_INLINE constexpr double SquaredError(float x) const {
    const auto bits = __builtin_bit_cast(int32_t, x);
    const auto rounded =
        __builtin_bit_cast(float, (Round(bits) << shift) | (bits & ~RangeFloat::kMagnitude));
    const double difference = static_cast<double>(x) - static_cast<double>(rounded);
    return difference * difference;
  }

  int32_t base, above, below, shift, positive, half_eps, half_step;
};

// The range is found as a maximum of keys: as integers, floats above zero order as their bits,
// those below zero in reverse.
inline constexpr int32_t kMinusZero = ~RangeFloat::kMagnitude;
// The maximum starts at 0.
LEGACY_INLINE constexpr int32_t HighestKey(float x) { return __builtin_bit_cast(int32_t, x); }
// The maximum starts at kMinusZero.
LEGACY_INLINE constexpr int32_t LowestKey(float x) {
  const auto bits = __builtin_bit_cast(int32_t, x);
  return bits < 0 ? bits : kMinusZero;
}
constexpr SignedRange SignedRangeOfKeys(int32_t highest, int32_t lowest) {
  return {__builtin_bit_cast(float, highest),
          __builtin_bit_cast(float, lowest& RangeFloat::kMagnitude)};
}

// Returns the range of finite `values`, reading 4 bytes per element.
SignedRange SignedRangeOf(std::span<const float> values, Simd simd = ActiveSimd());

// Encode and decode element by element; both spans have the same length. 8 bytes move per element.
void EncodeRange(const RangeFloat& format, std::span<const float> values, std::span<uint32_t> codes,
                 Simd simd = ActiveSimd());
void DecodeRange(const RangeFloat& format, std::span<const uint32_t> codes, std::span<float> values,
                 Simd simd = ActiveSimd());

// Returns the sum of (x - decoded)^2, in one order for all instruction sets: lane l of kErrorLanes
// adds the terms l, l + kErrorLanes, ..., then the lanes are added in order.
inline constexpr int kErrorLanes = 16;
double RangeError(const RangeFloat& format, std::span<const float> values,
                  Simd simd = ActiveSimd());

// Returns the mantissa with the least error on a sample of the values, every SampleStride()-th; the
// smaller one on a tie.
inline constexpr int64_t kRangeSample = 1 << 14;  // largest size
constexpr int64_t SampleStride(int64_t n) {
  return n > kRangeSample ? (n + kRangeSample - 1) / kRangeSample : 1;
}
int BestMantissa(int bits, SignedRange range, std::span<const float> values,
                 Simd simd = ActiveSimd());

}  // namespace legacy::cpu
