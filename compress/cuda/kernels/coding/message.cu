// Compiles the launches of packed codes and messages for a GPU.
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/coding/read_message_kernels.h"
#include "compress/cuda/kernels/coding/write_message_kernels.h"

namespace legacy::cuda {

template void LaunchPack(StreamDevice&, const uint32_t*, int64_t, int, std::byte*);
template void LaunchPack(StreamDevice&, const uint8_t*, int64_t, int, std::byte*);
template void LaunchUnpack(StreamDevice&, const std::byte*, int64_t, int, uint32_t*, uint32_t*);
template void LaunchUnpack(StreamDevice&, const std::byte*, int64_t, int, uint8_t*, uint32_t*);
template void LaunchPackSigns(StreamDevice&, const float*, int64_t, std::byte*);
template void LaunchUnpackSigns(StreamDevice&, const std::byte*, int64_t, float, float, float*,
                                uint32_t*);
template void LaunchBits(StreamDevice&, const BitJob&, int64_t, int64_t);
template void LaunchWriteMessages(StreamDevice&, const MessageTable&, const Messages&,
                                  const uint32_t*, const std::byte*, std::byte*);
template void LaunchReadMessages(StreamDevice&, const MessageTable&, const ReadJob&);

}  // namespace legacy::cuda
