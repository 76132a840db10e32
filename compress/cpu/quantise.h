// Values to codes on a grid of equal steps and back, by fp32 operations that round alike on every
// processor; and stochastic rounding to powers of two.
//
// Bytes moved per element: 4 read and 1 written in cache. Deterministic: element i draws as
// stochastic.h says.
#pragma once

#include <cstdint>
#include <span>

#include "base/simd.h"
#include "compress/cpu/code_rules.h"
#include "compress/cpu/stochastic.h"

namespace legacy::cpu {

inline constexpr int64_t kQuantiseBlock =
    512;  // elements whose codes and draws stay in the nearest cache

// Codes of elements first, first + 1, ... of a vector; `first` is a multiple of kDrawGroup.
// `source` is looked at where the grid is stochastic; so is `ahead`, as many values that are read
// soon (stochastic.h).
void EncodeCodes(std::span<const float> values, const CodeGrid& grid, const DrawSource& source,
                 int64_t first, std::span<uint8_t> codes, Simd simd = ActiveSimd(),
                 const float* ahead = nullptr);

// Values of codes (code_rules.h).
void DecodeSymmetric(std::span<const uint8_t> codes, float bound, int levels,
                     std::span<float> values, Simd simd = ActiveSimd());
void DecodeRange(std::span<const uint8_t> codes, float least, float most, int levels,
                 std::span<float> values, Simd simd = ActiveSimd());

// Each value rounded to one of the two powers of two around it, so that the expectation is the
// value (code_rules.h).
void RoundToPowers(std::span<const float> values, const DrawSource& source, int64_t first,
                   std::span<float> rounded, Simd simd = ActiveSimd());

// The largest code; 0 of none. The least and the largest of finite values, of which -0
// counts as 0; values is not empty.
uint8_t LargestCode(std::span<const uint8_t> codes, Simd simd = ActiveSimd());
Range RangeOf(std::span<const float> values, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
