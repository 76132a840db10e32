// Quantises values to codes on a grid of equal steps and decodes codes, by fp32 operations that
// round alike on every processor, and rounds stochastically to powers of two.
//
// Reads 4 bytes and writes 1 per element, in cache. It is deterministic: stochastic.h defines the
// draw of element i.
#pragma once

#include <cstdint>
#include <span>

#include "base/simd.h"
#include "compress/cpu/code_rules.h"
#include "compress/cpu/stochastic.h"

namespace legacy::cpu {

// Number of elements whose codes and draws stay in the nearest cache.
inline constexpr int64_t kQuantiseBlock = 512;

// Encodes elements first, first + 1, ... of a vector; `first` is a multiple of kDrawGroup. `source`
// is used if the grid is stochastic. So is `ahead`, which points to as many values to prefetch
// (stochastic.h).
void EncodeCodes(std::span<const float> values, const CodeGrid& grid, const DrawSource& source,
                 int64_t first, std::span<uint8_t> codes, Simd simd = ActiveSimd(),
                 const float* ahead = nullptr);

// Write the values of codes (code_rules.h).
void DecodeSymmetric(std::span<const uint8_t> codes, float bound, int levels,
                     std::span<float> values, Simd simd = ActiveSimd());
void DecodeRange(std::span<const uint8_t> codes, float least, float most, int levels,
                 std::span<float> values, Simd simd = ActiveSimd());

// Rounds each value to one of its two neighbouring powers of two, so that the expectation is the
// value (code_rules.h).
void RoundToPowers(std::span<const float> values, const DrawSource& source, int64_t first,
                   std::span<float> rounded, Simd simd = ActiveSimd());

// Return the largest code (0 if there are none), and the least and the largest of at least one
// finite value; -0 counts as 0.
uint8_t LargestCode(std::span<const uint8_t> codes, Simd simd = ActiveSimd());
Range RangeOf(std::span<const float> values, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
