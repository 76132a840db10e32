#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/topk.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"

namespace legacy::cuda {

size_t TopKWorkspaceBytes(const SegmentTable& table, int64_t kept) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutTopK(table, {}, {}, kept, workspace); });
}

void SelectTopK(const SegmentTable& table, Segments segments, const TopKArrays& arrays,
                int64_t kept, void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const TopKJob job = LayOutTopK(table, segments, arrays, kept, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchTopK(device, job, table.count(), table.tiles());
}

}  // namespace legacy::cuda
