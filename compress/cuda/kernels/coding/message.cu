#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/coding/message.h"
#include "compress/cuda/kernels/coding/read_message_kernels.h"
#include "compress/cuda/kernels/coding/write_message_kernels.h"

namespace legacy::cuda {

void WriteMessages(const MessageTable& table, const Messages& messages, const uint32_t* positions,
                   const std::byte* values, std::byte* out, Stream stream) {
  StreamDevice device(stream);
  LaunchWriteMessages(device, table, messages, positions, values, out);
}

size_t ReadMessagesWorkspaceBytes(const MessageTable& table) {
  return Workspace::BytesFor(
      [&](Workspace& workspace) { LayOutReadMessages(table, {}, {}, workspace); });
}

void ReadMessages(const MessageTable& table, const Messages& messages, const ReadArrays& arrays,
                  void* workspace, size_t bytes, Stream stream) {
  Workspace scratch(workspace, bytes);
  const ReadJob job = LayOutReadMessages(table, messages, arrays, scratch);
  scratch.CheckEnough();
  StreamDevice device(stream);
  LaunchReadMessages(device, table, job);
}

}  // namespace legacy::cuda
