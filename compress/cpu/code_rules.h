// Rules by which one value becomes a code on a grid of equal steps, a code a value, and a value a
// power of two. The loops of quantise.h and kernels on a GPU share them. Their fp32 operations
// round alike everywhere.
#pragma once

#include <cstdint>
#include <limits>

#include "base/simd.h"
#include "compress/cpu/stochastic.h"

namespace legacy::cpu {

// A grid of codes 0 .. levels at equal distances; levels <= 255.
struct CodeGrid {
  // If `prepared`, x' = clamp(x, low, high) * factor - origin; otherwise x' = x.
  bool prepared = false;
  float low = -std::numeric_limits<float>::max();
  float high = std::numeric_limits<float>::max();
  float factor = 1;
  float origin = 0;
  // The code is x' * scale + centre, rounded to nearest even or by a draw.
  bool stochastic = false;
  float scale = 0;  // 2^15 per step if stochastic
  int centre = 0;   // code of x' = 0
};

// The least and the greatest value.
struct Range {
  float least = 0;
  float most = 0;
};

LEGACY_INLINE constexpr float MagnitudeOf(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, x) & 0x7FFFFFFF);
}

// Returns the largest float whose product with any number up to `bound` is at most `top`; both are
// above zero.
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

// Returns the grid of codes 0 .. 2 levels for -bound .. bound. `bound` is finite, above zero, and
// at least every |x|; levels <= 127, or <= 255 if only magnitudes are encoded, with centre 0.
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

// Returns the grid of codes 0 .. levels for least .. most, least < most.
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

// Returns the grid of codes 0, 1 and 2 for ternary values (ternary.h). `scale` is above zero and at
// least every clipped |x|.
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

// At 2^23 floats are 1 apart. Adding 2^23 rounds to nearest even, and leaves the code, times 2^15
// if a draw is to be added, in the mantissa. The exponent above it is a multiple of 256 after the
// shift, so the lowest byte is the code.
constexpr float OffsetOf(const CodeGrid& grid) {
  return 0x1p23f + StepsOf(grid.centre, grid.stochastic);
}

// Returns a number whose lowest byte is the code of x'.
template <bool kStochastic>
LEGACY_INLINE constexpr uint32_t CodeBits(float x, float scale, float offset, uint32_t draw) {
  const auto bits = __builtin_bit_cast(uint32_t, x * scale + offset);
  return kStochastic ? (bits + draw) >> kDrawBits : bits;
}

// Return the values of codes; `inverse` is 1.0f / levels.
LEGACY_INLINE constexpr float SymmetricValue(int code, float bound, int levels, float inverse) {
  return static_cast<float>(code - levels) * inverse * bound;
}
LEGACY_INLINE constexpr float RangeValue(int code, float least, float most, float inverse) {
  const float t = static_cast<float>(code) * inverse;
  return (1.0f - t) * least + t * most;
}

// Returns one of the two neighbouring powers of two of x, by the carry out of its mantissa after a
// draw is added. A value below 2^-126 becomes 2^-126 or zero; a value above 2^127 becomes 2^127.
LEGACY_INLINE constexpr float PowerOf(float x, uint32_t draw) {
  constexpr uint32_t kMagnitude = 0x7FFFFFFF;
  constexpr int32_t kLargest = 0x7F7FFFFF;
  constexpr uint32_t kExponent = 0x7F800000;
  constexpr int kShift = 23 - kDrawBits;
  constexpr uint32_t kHalf = 1u << (kShift - 1);  // half the smallest difference between draws
  const auto bits = __builtin_bit_cast(uint32_t, x);
  // The number is signed, though never negative, because baseline x86 compares only signed
  // integers.
  auto magnitude = static_cast<int32_t>((bits & kMagnitude) + (draw << kShift | kHalf));
  magnitude = magnitude < kLargest ? magnitude : kLargest;
  const uint32_t power = static_cast<uint32_t>(magnitude) & kExponent;
  return __builtin_bit_cast(float, (bits & ~kMagnitude) | power);
}

}  // namespace legacy::cpu
