#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/histogram.h"
#include "compress/cuda/kernels/selection/histogram_kernels.h"

namespace legacy::cuda {

void CountMagnitudes(const SegmentTable& table, Segments segments, const float* values,
                     uint32_t* counts, uint64_t* offsets, Stream stream) {
  StreamDevice device(stream);
  LaunchHistogram(device, table, segments, values, {counts, offsets});
}

}  // namespace legacy::cuda
