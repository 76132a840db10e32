// Values to codes on a grid of equal steps and back, by fp32 operations that round alike on every processor; and
// stochastic rounding to powers of two.
//
// Bytes moved per element: 4 read and 1 written in cache. Deterministic: element i draws as stochastic.h says.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "compress/cpu/dispatch.h"
#include "compress/cpu/stochastic.h"

namespace legacy::cpu {

inline constexpr int64_t kQuantiseBlock =
    512;  // elements whose codes and draws stay in the nearest cache

// Codes 0 .. levels, equally far apart; levels <= 255.
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

// Codes 0 .. 2 levels for -bound .. bound, of a finite bound > 0 that is not below any |x|; levels <= 127.
CodeGrid SymmetricGrid(float bound, int levels, bool stochastic);
// Codes 0 .. levels for least .. most, least < most.
CodeGrid RangeGrid(float least, float most, int levels, bool stochastic);

// Codes of elements first, first + 1, ... of a vector; `first` is a multiple of kDrawGroup. `source` is looked at where
// the grid is stochastic; so is `ahead`, as many values that are read soon (stochastic.h).
void EncodeCodes(std::span<const float> values, const CodeGrid& grid, const DrawSource& source,
                 int64_t first, std::span<uint8_t> codes, Simd simd = ActiveSimd(),
                 const float* ahead = nullptr);

// values[i] = (codes[i] - levels) / levels * bound
void DecodeSymmetric(std::span<const uint8_t> codes, float bound, int levels,
                     std::span<float> values, Simd simd = ActiveSimd());
// values[i] = (1 - t) * least + t * most, t = codes[i] / levels
void DecodeRange(std::span<const uint8_t> codes, float least, float most, int levels,
                 std::span<float> values, Simd simd = ActiveSimd());

// Each value rounded to one of the two powers of two around it, so that the expectation is the value: the carry out of
// its mantissa after a draw is added. Below 2^-126 to that or zero; above 2^127 down to that.
void RoundToPowers(std::span<const float> values, const DrawSource& source, int64_t first,
                   std::span<float> rounded, Simd simd = ActiveSimd());

// The largest code; 0 of none. The least and the largest of finite values; values is not empty.
uint8_t LargestCode(std::span<const uint8_t> codes, Simd simd = ActiveSimd());
struct Range {
  float least = 0;
  float most = 0;
};
Range RangeOf(std::span<const float> values, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
