#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/sampled.h"
#include "compress/cuda/kernels/selection/sampled_kernels.h"

namespace legacy::cuda {

void TakeSamples(const SegmentTable& table, Segments segments, const SampledElements* elements,
                 const float* values, float* samples, Stream stream) {
  StreamDevice device(stream);
  LaunchTakeSamples(device, table, segments, elements, values, samples);
}

void SmallestMagnitudes(const SegmentTable& table, Segments segments, const float* values,
                        float* smallest, Stream stream) {
  StreamDevice device(stream);
  LaunchSmallestMagnitudes(device, table, segments, values, smallest);
}

void CountAtLeast(const SegmentTable& table, Segments segments, const float* values,
                  const float* thresholds, uint32_t* counts, uint32_t* non_finite, Stream stream) {
  StreamDevice device(stream);
  LaunchCountAtLeast(device, table, segments, values, thresholds, counts, non_finite);
}

}  // namespace legacy::cuda
