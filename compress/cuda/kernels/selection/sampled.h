// The sampled threshold of Deep Gradient Compression (sparsifiers/sampled.h) is found on a GPU for
// all layers at once, before anything is selected.
//
//   TakeSamples(), SelectTopK() of them, SmallestMagnitudes() of what that keeps: the threshold
//   CountAtLeast(): how much it and each lower one that may be tried would select, from one read
//
// Nothing waits for the device; the launches do not depend on the data. All throw Error where a
// launch is refused.
#pragma once

#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream.h"
#include "compress/sparsifiers/sampled.h"

namespace legacy::cuda {

// SampledElements are those of a segment of samples: elements first, first + stride and so on of
// the values.
struct SampledElements {
  int64_t first = 0;
  int64_t stride = 1;
};

// Takes samples. It reads a sector of memory and writes 4 bytes a sample.
void TakeSamples(const SegmentTable& table, Segments segments, const SampledElements* elements,
                 const float* values, float* samples, Stream stream);

// Writes the smallest |x| of each segment, 0 where it is empty. Segments are short, as a block
// reads one.
void SmallestMagnitudes(const SegmentTable& table, Segments segments, const float* values,
                        float* smallest, Stream stream);

inline constexpr int kSampledThresholds = SampledRule::kTries + 1;

// Adds the elements of segment s that reach its threshold, lowered j times, to counts[s *
// kSampledThresholds + j], and NaN and infinities to non_finite[s]. It reads 4 bytes an element.
void CountAtLeast(const SegmentTable& table, Segments segments, const float* values,
                  const float* thresholds, uint32_t* counts, uint32_t* non_finite, Stream stream);

}  // namespace legacy::cuda
