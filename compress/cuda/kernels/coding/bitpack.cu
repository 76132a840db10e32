#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/coding/bitpack.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"

namespace legacy::cuda {

void PackCodes(const uint32_t* codes, int64_t n, int width, std::byte* out, Stream stream) {
  StreamDevice device(stream);
  LaunchPack(device, codes, n, width, out);
}

void PackCodes(const uint8_t* codes, int64_t n, int width, std::byte* out, Stream stream) {
  StreamDevice device(stream);
  LaunchPack(device, codes, n, width, out);
}

void UnpackCodes(const std::byte* in, int64_t n, int width, uint32_t* codes, uint32_t* malformed,
                 Stream stream) {
  StreamDevice device(stream);
  LaunchUnpack(device, in, n, width, codes, malformed);
}

void UnpackCodes(const std::byte* in, int64_t n, int width, uint8_t* codes, uint32_t* malformed,
                 Stream stream) {
  StreamDevice device(stream);
  LaunchUnpack(device, in, n, width, codes, malformed);
}

void PackSigns(const float* values, int64_t n, std::byte* out, Stream stream) {
  StreamDevice device(stream);
  LaunchPackSigns(device, values, n, out);
}

void UnpackSigns(const std::byte* in, int64_t n, float clear, float set, float* values,
                 uint32_t* malformed, Stream stream) {
  StreamDevice device(stream);
  LaunchUnpackSigns(device, in, n, clear, set, values, malformed);
}

}  // namespace legacy::cuda
