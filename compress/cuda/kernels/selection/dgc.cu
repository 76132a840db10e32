#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/dgc.h"
#include "compress/cuda/kernels/selection/dgc_kernels.h"

namespace legacy::cuda {

void AccumulateMomentum(const SegmentTable& table, Segments segments, const MomentumArrays& arrays,
                        const MomentumOptions& options, Stream stream) {
  StreamDevice device(stream);
  LaunchMomentum(device, table, segments, arrays, options);
}

void ClipFactors(const double* squares, float* factors, int32_t workers, double limit,
                 Stream stream) {
  StreamDevice device(stream);
  LaunchClipFactors(device, squares, factors, workers, limit);
}

void ClearSelected(Segments segments, const PackedLists& lists, int64_t most, float* values,
                   float* others, Stream stream) {
  StreamDevice device(stream);
  LaunchClearSelected(device, segments, lists, most, values, others);
}

}  // namespace legacy::cuda
