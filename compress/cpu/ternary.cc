#include "compress/cpu/ternary.h"

#include <cmath>

#include "compress/cpu/vector.h"

namespace legacy::cpu {

Range ClipRange(std::span<const float> values, double deviations, Simd simd) {
  if (deviations == 0) return kNoClip;
  const Moments moments = MomentsOf(static_cast<double>(values.size()), AbsSum(values, simd),
                                    NegativeSum(values, simd), SquaredNorm(values, simd));
  return ClipAround(moments.mean, deviations * std::sqrt(moments.variance));
}

float ClippedMax(std::span<const float> values, const Range& clip, Simd simd) {
  return ClippedMax(RangeOf(values, simd), clip);
}

}  // namespace legacy::cpu
