// Ternary values: each becomes -s, 0 or s, so that its expectation is the value. Wen et al., "TernGrad: Ternary Gradients
// to Reduce Communication in Distributed Deep Learning", NeurIPS 2017. The scale s may be larger than the values need, as
// one that workers share is.
//
// Codes are 0, 1 and 2 for -s, 0 and s; a sum of W codes is W above the sum of the signs.
#pragma once

#include <cstdint>
#include <span>

#include "compress/cpu/quantise.h"

namespace legacy::cpu {

inline constexpr int kTernaryBits = 2;

// Where values are clipped: `deviations` standard deviations (of the population) below and above the mean; at the largest
// floats where `deviations` is 0. values is not empty.
Range ClipRange(std::span<const float> values, double deviations, Simd simd = ActiveSimd());

// max |x| of the clipped values.
float ClippedMax(std::span<const float> values, const Range& clip, Simd simd = ActiveSimd());

// The grid of EncodeCodes() for a scale > 0 that is not below ClippedMax().
CodeGrid TernaryGrid(const Range& clip, float scale);

}  // namespace legacy::cpu
