// The pass of the bracketed Top-K over the data. It compacts everything that may be selected, in
// index order, fused with error feedback. It goes once over the data and reads 4 bytes per element;
// with error feedback it reads 8 and writes 4.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

// The key of x is the bits of |x|, which order as numbers do, NaN above infinity.
inline constexpr uint32_t kLargestKey = 0x7FFFFFFF;
inline constexpr uint32_t kInfinityKey = 0x7F800000;
constexpr uint32_t KeyOf(float x) { return std::bit_cast<uint32_t>(x) & kLargestKey; }
constexpr bool IsFinite(float x) { return KeyOf(x) < kInfinityKey; }
// Returns std::ilogb of a finite number that is not 0, from its key.
constexpr int ExponentOfKey(uint32_t key) {
  constexpr int kMantissaBits = 23, kBias = 127;
  const auto field = static_cast<int>(key >> kMantissaBits);
  return field > 0 ? field - kBias : std::bit_width(key) - kMantissaBits - kBias;
}

// A range of keys, both ends included.
struct KeyRange {
  uint32_t low = 0;
  uint32_t high = kLargestKey;
};

// Target of gathered elements. It has room for all of a call's elements, and kGatherSlack more that
// are overwritten.
struct Gathered {
  uint32_t* indices;
  float* values;
};
inline constexpr int64_t kGatherSlack = 16;

// Writes first + i and values[i] for every i whose key is at least `floor`, ascending; returns
// their number.
int64_t Gather(Simd simd, std::span<const float> values, uint32_t first, uint32_t floor,
               Gathered out);

// Adds `gradient` to `residual`, then gathers as Gather() does from the residual with range.low.
// Also clears elements above range.high in `residual`.
int64_t GatherCompensated(Simd simd, std::span<const float> gradient, std::span<float> residual,
                          uint32_t first, KeyRange range, Gathered out);

}  // namespace legacy::cpu
