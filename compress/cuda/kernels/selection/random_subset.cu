#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/selection/random_subset.h"
#include "compress/cuda/kernels/selection/random_subset_kernels.h"

namespace legacy::cuda {

size_t RandomSubsetWorkspaceBytes(const SubsetTable& table) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutSubsets(table, {}, nullptr, nullptr, workspace); });
}

void DrawRandomSubsets(const SubsetTable& table, const Subsets& subsets, const RandomKey* keys,
                       uint32_t* positions, void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const SubsetJob job = LayOutSubsets(table, subsets, keys, positions, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchSubsets(device, table, job);
}

void TakeSubsets(const SubsetTable& table, const Subsets& subsets, const uint32_t* positions,
                 float* flat, bool clear, float* values, uint32_t* non_finite, Stream stream) {
  StreamDevice device(stream);
  LaunchTake(device, table, subsets, positions, flat, clear, values, non_finite);
}

}  // namespace legacy::cuda
