#include "compress/cpu/ternary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/cpu/vector.h"

namespace legacy::cpu {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

float Bounded(double x) { return static_cast<float>(std::clamp(x, -kLargest, kLargest)); }

}  // namespace

Range ClipRange(std::span<const float> values, double deviations, Simd simd) {
  if (deviations == 0) return {Bounded(-kLargest), Bounded(kLargest)};
  const auto n = static_cast<double>(values.size());
  const double mean = (AbsSum(values, simd) - 2 * NegativeSum(values, simd)) / n;
  const double variance = std::max(0.0, SquaredNorm(values, simd) / n - mean * mean);
  const double reach = deviations * std::sqrt(variance);
  return {Bounded(mean - reach), Bounded(mean + reach)};
}

float ClippedMax(std::span<const float> values, const Range& clip, Simd simd) {
  const Range range = RangeOf(values, simd);
  return std::max(std::abs(std::clamp(range.least, clip.least, clip.most)),
                  std::abs(std::clamp(range.most, clip.least, clip.most)));
}

CodeGrid TernaryGrid(const Range& clip, float scale) {
  CodeGrid grid = SymmetricGrid(scale, 1, true);
  grid.prepared = true;
  grid.low = clip.least;
  grid.high = clip.most;
  return grid;
}

}  // namespace legacy::cpu
