// Rules of the sampled threshold (sampled.cc), which CPU and kernels share. `numel` is larger than
// `count`, the requested number of elements.
#pragma once

#include <cstdint>

#include "compress/codec.h"

namespace legacy {

// The constants of the method.
struct SampledRule {
  static constexpr int kTries = 10;        // number of thresholds after the first
  static constexpr float kLower = 0.8f;    // factor from a threshold to the next
  static constexpr double kTooMany = 1.3;  // factors of the requested count
  static constexpr double kTooFew = 0.8;

  static bool TooMany(int64_t selected, int64_t count) {
    return static_cast<double>(selected) > kTooMany * static_cast<double>(count);
  }
  static bool TooFew(int64_t selected, int64_t count) {
    return static_cast<double>(selected) < kTooFew * static_cast<double>(count);
  }
};

// A sample of `size` elements: first, first + stride and so on.
struct StridedSample {
  int64_t first = 0;
  int64_t stride = 1;
  int64_t size = 0;
};

// Returns a sample of about `share` of the elements, with a random start.
StridedSample SampleOf(double share, int64_t numel, int64_t count, const CodecContext& context);

// Returns how many of the sample's largest magnitudes to take; the threshold is the smallest of
// them.
int64_t TopOfSample(const StridedSample& sample, int64_t numel, int64_t count);

}  // namespace legacy
