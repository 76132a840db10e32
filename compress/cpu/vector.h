// Loops over dense vectors. Element-wise ones give the bits of a plain loop. Sums have one order
// for all instruction sets, which a GPU can follow: blocks of kSumBlock terms, in each of which
// lane l of kSumLanes adds the terms l, l + kSumLanes, ... in order; lanes are folded by halves (l
// += l + half); the blocks' sums are summed in the same way, until one is left.
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

// Adds: sum[i] += values[i].
void Add(std::span<const float> values, std::span<float> sum, Simd simd = ActiveSimd());
// Subtracts: from[i] -= values[i], with -0 counted as 0.
void Subtract(std::span<const float> values, std::span<float> from, Simd simd = ActiveSimd());

// Scales: values[i] *= factor.
void Scale(std::span<float> values, float factor, Simd simd = ActiveSimd());

// Return sums of x^2 and of |x| in double precision. Each term is exact; the sum is rounded a few
// times.
double SquaredNorm(std::span<const float> values, Simd simd = ActiveSimd());
double AbsSum(std::span<const float> values, Simd simd = ActiveSimd());
// Returns the sum of products a[i] b[i] in the same way.
double Dot(std::span<const float> a, std::span<const float> b, Simd simd = ActiveSimd());
// Returns the sum of (a[i] - b[i])^2, added in order in double precision.
double SquaredDistance(std::span<const float> a, std::span<const float> b);
// Returns the sum of |x| where x < 0.
double NegativeSum(std::span<const float> values, Simd simd = ActiveSimd());

// Returns the largest |x|; 0 if there are no values, NaN if there is a NaN.
float AbsMax(std::span<const float> values, Simd simd = ActiveSimd());

}  // namespace legacy::cpu
