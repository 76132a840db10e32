// Rules of the sampled threshold (sampled.cc) that kernels follow, too. `numel` > count, the
// elements wanted.
#pragma once

#include <cstdint>

#include "compress/codec.h"

namespace legacy {

// A SampledRule has the constants of the method.
struct SampledRule {
  static constexpr int kTries = 10;        // beside the first threshold
  static constexpr float kLower = 0.8f;    // a threshold to the next
  static constexpr double kTooMany = 1.3;  // times what is wanted
  static constexpr double kTooFew = 0.8;

  static bool TooMany(int64_t selected, int64_t count) {
    return static_cast<double>(selected) > kTooMany * static_cast<double>(count);
  }
  static bool TooFew(int64_t selected, int64_t count) {
    return static_cast<double>(selected) < kTooFew * static_cast<double>(count);
  }
};

// Elements first, first + stride and so on, `size` of them.
struct StridedSample {
  int64_t first = 0;
  int64_t stride = 1;
  int64_t size = 0;
};

// About `share` of the elements; the start is drawn.
StridedSample SampleOf(double share, int64_t numel, int64_t count, const CodecContext& context);

// The threshold is the smallest of so many of the sample's largest magnitudes.
int64_t TopOfSample(const StridedSample& sample, int64_t numel, int64_t count);

}  // namespace legacy
