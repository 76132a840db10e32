// Range-based float (Wang et al., "FFT-based Gradient Sparsification for the Distributed Training
// of Deep Neural Networks", HPDC 2020): numbers of N bits whose codes are all spent on [-lowest,
// -eps], 0 and [eps, highest]. Like IEEE 754 they have m bits of mantissa and a spacing that grows
// with the magnitude; unlike there the range follows the data and may differ by sign. The smallest
// magnitude eps follows from N, m and the range in closed form:
//
//   key(a) = upper bits of |a| as fp32, m of the mantissa, rounded to nearest
//   above  = key(highest), below = key(lowest)
//   base   = key(eps) = max(ceil((above + below + 3 - 2^N) / 2),
//                           above + 2 - 2^N, below + 2 - 2^N, 2^m)
//   P = max(0, above - base + 1) positive codes, Q = max(0, below - base + 1) negative ones
//   P + Q + 1 <= 2^N
//   code 0: zero   1 .. P: keys base .. above   P + 1 .. P + Q: the same with a minus sign
//
// Magnitudes above the range saturate, those below eps become eps or 0, whichever is nearer (eps at
// eps / 2); a sign without codes becomes 0. So |x - decoded| <= |x|, and <= 2^-(m + 1) |x| between
// eps and the range's end. Integer operations on the bits of fp32 alone: the same everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "compress/cpu/dispatch.h"

namespace legacy::cpu {

// Largest value and largest magnitude below zero; 0 where there is none.
struct SignedRange {
  float highest = 0;
  float lowest = 0;
};

struct RangeFloat {
  static constexpr int kLeastBits = 3;
  static constexpr int kMostBits = 16;
  // More would leave less than two octaves for each sign.
  static constexpr int MostMantissa(int bits) { return bits - 2; }

  int32_t mantissa = 1;
  int32_t above = 0;  // keys of the range
  int32_t below = 0;
  int32_t base = 0;
  int32_t positive = 0;  // P
  int32_t negative = 0;  // Q

  // 1 <= mantissa <= MostMantissa(bits); the range is finite.
  static RangeFloat Of(int bits, int mantissa, SignedRange range);
  // The same from keys, 0 <= keys <= MostKey(mantissa).
  static RangeFloat FromKeys(int bits, int mantissa, int32_t above, int32_t below);
  static int32_t MostKey(int mantissa);  // of a finite number

  uint32_t LargestCode() const { return static_cast<uint32_t>(positive + negative); }
  uint32_t Encode(float x) const;     // x is not NaN
  float Decode(uint32_t code) const;  // code <= LargestCode()
};

// `values` are finite. 4 bytes read per element.
SignedRange SignedRangeOf(std::span<const float> values, Simd simd = ActiveSimd());

// Element by element; the spans have one length. 8 bytes moved per element.
void EncodeRange(const RangeFloat& format, std::span<const float> values, std::span<uint32_t> codes,
                 Simd simd = ActiveSimd());
void DecodeRange(const RangeFloat& format, std::span<const uint32_t> codes, std::span<float> values,
                 Simd simd = ActiveSimd());

// Sum of (x - decoded)^2, in one order whatever the instructions.
double RangeError(const RangeFloat& format, std::span<const float> values,
                  Simd simd = ActiveSimd());

// The mantissa with the least error on a sample of the values: every s-th, 2^14 at most; the
// smaller on a tie.
int BestMantissa(int bits, SignedRange range, std::span<const float> values,
                 Simd simd = ActiveSimd());

}  // namespace legacy::cpu
