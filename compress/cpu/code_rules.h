// These rules say how one value becomes a code on a grid of equal steps and back, and a power of
// two. The loops of quantise.h and kernels on a GPU share them, and they use fp32 operations that
// round alike everywhere.
#pragma once

#include <cstdint>
#include <limits>

#include "base/simd.h"
#include "compress/cpu/stochastic.h"

namespace legacy::cpu {

// A CodeGrid has codes 0 .. levels, equally far apart; levels <= 255.
struct CodeGrid {
  // First x' = clamp(x, low, high) * factor - origin, where `prepared`; x' = x elsewhere.
  bool prepared = false;
  float low = -std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::max();
  float factor = 1;
  float origin = 0;
  // Then the code is x' * scale + centre, rounded to nearest even or by a draw.
  bool stochastic = false;
  float scale = 0;  // 2^15 for each step where stochastic
  int centre = 0;   // code of x' = 0
};

// A Range is the least and the greatest value.
struct Range {
  float least = 0;
  float most = 0;
};

LEGACY_INLINE constexpr float MagnitudeOf(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, x) & 0x7FFFFFFF);
}

// Returns the largest float of which no product with a number up to `bound` is above `top`; both
// are above zero.
constexpr float ScaleBelow(double top, float bound) {
  const auto scale = static_cast<float>(top / double{bound});
  if (double{scale} * double{bound} <= top) return scale;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, scale) - 1);
}

constexpr float StepsOf(int levels, bool stochastic) {
  return static_cast<float>(stochastic ? levels << kDrawBits : levels);
}

inline constexpr float kTinyGrid = 0x1p-100f;  // below it a grid's scale could overflow
inline constexpr float kRaiseGrid = 0x1p100f;
inline constexpr float kLowerGrid = 0.25f;  // keeps the distance of two floats finite

// Returns codes 0 .. 2 levels for -bound .. bound, of a finite bound > 0 that is not below any |x|;
// levels <= 127.
constexpr CodeGrid SymmetricGrid(float bound, int levels, bool stochastic) {
  CodeGrid grid;
  grid.stochastic = stochastic;
  grid.centre = levels;
  if (bound < kTinyGrid) {
    grid.prepared = true;
    grid.factor = kRaiseGrid;
  }
  grid.scale = ScaleBelow(StepsOf(levels, stochastic), bound * grid.factor);
  return grid;
}

// Returns codes 0 .. levels for least .. most, least < most.
constexpr CodeGrid RangeGrid(float least, float most, int levels, bool stochastic) {
  CodeGrid grid;
  grid.prepared = true;
  grid.stochastic = stochastic;
  if (most - least < kTinyGrid) grid.factor = kRaiseGrid;
  if (most - least > std::numeric_limits<float>::max()) grid.factor = kLowerGrid;
  grid.origin = least * grid.factor;
  grid.scale = ScaleBelow(StepsOf(levels, stochastic), most * grid.factor - grid.origin);
  return grid;
}

// Returns the codes 0, 1 and 2 of ternary values (ternary.h), for a scale > 0 that is not below any
// clipped |x|.
constexpr CodeGrid TernaryGrid(const Range& clip, float scale) {
  CodeGrid grid = SymmetricGrid(scale, 1, true);
  grid.prepared = true;
  grid.low = clip.least;
  grid.high = clip.most;
  return grid;
}

LEGACY_INLINE constexpr float PreparedValue(float x, float low, float high, float factor,
                                            float origin) {
  x = x > low ? x : low;
  x = x < high ? x : high;
  return x * factor - origin;
}

// At 2^23 floats are 1 apart: adding it rounds to nearest even, and leaves the code, times 2^15
// where a draw is to be added, in the mantissa. The exponent above it is a multiple of 256 after
// the shift: the lowest byte is the code.
constexpr float OffsetOf(const CodeGrid& grid) {
  return 0x1p23f + StepsOf(grid.centre, grid.stochastic);
}

// Returns a number whose lowest byte is the code of x'.
template <bool kStochastic>
LEGACY_INLINE constexpr uint32_t CodeBits(float x, float scale, float offset, uint32_t draw) {
  const auto bits = __builtin_bit_cast(uint32_t, x * scale + offset);
  return kStochastic ? (bits + draw) >> kDrawBits : bits;
}

// These return what codes stand for; `inverse` is 1.0f / levels.
LEGACY_INLINE constexpr float SymmetricValue(int code, float bound, int levels, float inverse) {
  return static_cast<float>(code - levels) * inverse * bound;
}
LEGACY_INLINE constexpr float RangeValue(int code, float least, float most, float inverse) {
  const float t = static_cast<float>(code) * inverse;
  return (1.0f - t) * least + t * most;
}

// Returns one of the two powers of two around x: the carry out of its mantissa after a draw is
// added. Below 2^-126 it is that or zero; above 2^127 it is that.
LEGACY_INLINE constexpr float PowerOf(float x, uint32_t draw) {
  constexpr uint32_t kMagnitude = 0x7FFFFFFF;
  constexpr int32_t kLargest = 0x7F7FFFFF;
  constexpr uint32_t kExponent = 0x7F800000;
  constexpr int kShift = 23 - kDrawBits;
  constexpr uint32_t kHalf = 1u << (kShift - 1);  // of the smallest difference between draws
  const auto bits = __builtin_bit_cast(uint32_t, x);
  // Signed, though never negative: the baseline of x86 compares signed integers alone.
  auto magnitude = static_cast<int32_t>((bits & kMagnitude) + (draw << kShift | kHalf));
  magnitude = magnitude < kLargest ? magnitude : kLargest;
  const uint32_t power = static_cast<uint32_t>(magnitude) & kExponent;
  return __builtin_bit_cast(float, (bits & ~kMagnitude) | power);
}

}  // namespace legacy::cpu
