#include "compress/cuda/histogram.h"
#include "compress/cuda/histogram_kernels.h"
#include "compress/cuda/stream_device.cuh"

namespace legacy::cuda {

void CountMagnitudes(const SegmentTable& table, Segments segments, const float* values,
                     uint32_t* counts, uint64_t* offsets, Stream stream) {
  StreamDevice device(stream);
  LaunchHistogram(device, table, segments, values, {counts, offsets});
}

}  // namespace legacy::cuda
