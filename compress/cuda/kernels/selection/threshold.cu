#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/threshold.h"
#include "compress/cuda/kernels/selection/threshold_kernels.h"

namespace legacy::cuda {

size_t ThresholdWorkspaceBytes(const SegmentTable& table, int64_t capacity) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutThreshold(table, {}, {.capacity = capacity}, workspace); });
}

void SelectAtLeast(const SegmentTable& table, Segments segments, const ThresholdArrays& arrays,
                   void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const ThresholdJob job = LayOutThreshold(table, segments, arrays, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchThreshold(device, job, table);
}

}  // namespace legacy::cuda
