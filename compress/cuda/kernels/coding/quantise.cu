#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/quantise.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"

namespace legacy::cuda {

size_t QuantiseWorkspaceBytes(const QuantiserTable& table) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutQuantise(table, {}, {}, workspace); });
}

void Quantise(const QuantiserTable& table, QuantisedParts parts, const QuantiseArrays& arrays,
              void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const QuantiseJob job = LayOutQuantise(table, parts, arrays, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchQuantise(device, job, table);
}

void DequantiseAdd(const QuantiserTable& table, QuantisedParts parts,
                   const DequantiseArrays& arrays, Stream stream) {
  StreamDevice device(stream);
  LaunchDequantise(device, MakeDequantiseJob(table, parts, arrays), table);
}

}  // namespace legacy::cuda
