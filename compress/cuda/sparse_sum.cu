#include "compress/cuda/sparse_sum.h"
#include "compress/cuda/sparse_sum_kernels.h"
#include "compress/cuda/stream_device.cuh"

namespace legacy::cuda {

void SumSparse(const SegmentTable& table, Segments segments, const PackedLists& lists,
               const SparseSumOptions& options, float* sum, Stream stream) {
  StreamDevice device(stream);
  LaunchSparseSum(device, table, segments, lists, options, sum);
}

}  // namespace legacy::cuda
