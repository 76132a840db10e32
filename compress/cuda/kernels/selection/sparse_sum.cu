#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/sparse_sum.h"
#include "compress/cuda/kernels/selection/sparse_sum_kernels.h"

namespace legacy::cuda {

void SumSparse(const SegmentTable& table, Segments segments, const PackedLists& lists,
               const SparseSumOptions& options, float* sum, Stream stream) {
  StreamDevice device(stream);
  LaunchSparseSum(device, table, segments, lists, options, sum);
}

}  // namespace legacy::cuda
