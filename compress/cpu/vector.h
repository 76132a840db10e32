// These are loops over dense vectors. Element-wise ones give the bits of a plain loop. Sums have
// one order, whatever the instructions, and one that a GPU can follow: blocks of kSumBlock terms,
// in each of which lane l of kSumLanes adds the terms l, l + kSumLanes, ... in order; lanes are
// folded by halves (l += l + half); the sums of the blocks are summed in the same way, until one is
// left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

inline constexpr int kSumLanes = 32;
inline constexpr int64_t kSumBlock = 1024;

// Returns the position of the first NaN or infinity, reading 4 bytes per element.
std::optional<int64_t> FirstNonFinite(std::span<const float> values, Simd simd = ActiveSimd());

// sum[i] += values[i]
void Add(std::span<const float> values, std::span<float> sum, Simd simd = ActiveSimd());
// from[i] -= values[i], of which -0 counts as 0
void Subtract(std::span<const float> values, std::span<float> from, Simd simd = ActiveSimd());

// values[i] *= factor
void Scale(std::span<float> values, float factor, Simd simd = ActiveSimd());

// Return sums of x^2 and of |x| in double precision: each term is exact, their sum rounded a few
// times more than once.
double SquaredNorm(std::span<const float> values, Simd simd = ActiveSimd());
double AbsSum(std::span<const float> values, Simd simd = ActiveSimd());
// Returns the sum of |x| where x < 0.
double NegativeSum(std::span<const float> values, Simd simd = ActiveSimd());

// Returns the largest |x|; 0 of nothing, NaN where there is one.
float AbsMax(std::span<const float> values, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
