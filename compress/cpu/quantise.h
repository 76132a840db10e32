// These turn values into codes on a grid of equal steps and back, by fp32 operations that round
// alike on every processor; and round stochastically to powers of two.
//
// They read 4 bytes and write 1 per element in cache. They are deterministic: element i draws as
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

// Encodes elements first, first + 1, ... of a vector; `first` is a multiple of kDrawGroup. `source`
// is read where the grid is stochastic; so is `ahead`, as many values that are read soon
// (stochastic.h).
void EncodeCodes(std::span<const float> values, const CodeGrid& grid, const DrawSource& source,
                 int64_t first, std::span<uint8_t> codes, Simd simd = ActiveSimd(),
                 const float* ahead = nullptr);

// Write the values of codes (code_rules.h).
void DecodeSymmetric(std::span<const uint8_t> codes, float bound, int levels,
                     std::span<float> values, Simd simd = ActiveSimd());
void DecodeRange(std::span<const uint8_t> codes, float least, float most, int levels,
                 std::span<float> values, Simd simd = ActiveSimd());

// Rounds each value to one of the two powers of two around it, so that the expectation is the value
// (code_rules.h).
void RoundToPowers(std::span<const float> values, const DrawSource& source, int64_t first,
                   std::span<float> rounded, Simd simd = ActiveSimd());

// Return the largest code (0 of none), and the least and the largest of finite values, of which -0
// counts as 0 and there is at least one.
uint8_t LargestCode(std::span<const uint8_t> codes, Simd simd = ActiveSimd());
Range RangeOf(std::span<const float> values, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
