// Ternary values are -s, 0 or s, such that the expectation is the value. Wen et al., "TernGrad:
// Ternary Gradients to Reduce Communication in Distributed Deep Learning", NeurIPS 2017. The scale
// s may be larger than the values need, for example if workers share it.
//
// Codes are 0, 1 and 2 for -s, 0 and s; a sum of W codes exceeds the sum of the signs by W.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "compress/cpu/quantise.h"

namespace legacy::cpu {

inline constexpr int kTernaryBits = 2;

// Returns the range to which values are clipped: `deviations` standard deviations (of the
// population) below and above the mean, or all finite floats if `deviations` is 0. There must be at
// least one value.
Range ClipRange(std::span<const float> values, double deviations, Simd simd = ActiveSimd());

// The mean and the variance, from sums (vector.h).
struct Moments {
  double mean = 0;
  double variance = 0;
};
constexpr Moments MomentsOf(double n, double abs_sum, double negative_sum, double squared_norm) {
  const double mean = (abs_sum - 2 * negative_sum) / n;
  const double variance = squared_norm / n - mean * mean;
  return {mean, variance > 0 ? variance : 0.0};
}
constexpr float BoundedFloat(double x) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(x < -kLargest ? -kLargest : x > kLargest ? kLargest : x);
}
constexpr Range ClipAround(double mean, double reach) {
  return {BoundedFloat(mean - reach), BoundedFloat(mean + reach)};
}
inline constexpr Range kNoClip = {BoundedFloat(-std::numeric_limits<float>::max()),
                                  BoundedFloat(std::numeric_limits<float>::max())};

// Returns max |x| of the clipped values.
float ClippedMax(std::span<const float> values, const Range& clip, Simd simd = ActiveSimd());
constexpr float ClippedMax(const Range& range, const Range& clip) {
  const float least = MagnitudeOf(PreparedValue(range.least, clip.least, clip.most, 1, 0));
  const float most = MagnitudeOf(PreparedValue(range.most, clip.least, clip.most, 1, 0));
  return least < most ? most : least;
}

}  // namespace legacy::cpu
