#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/kernels/cast.h"
#include "compress/cuda/kernels/cast_kernels.h"

namespace legacy::cuda {
namespace {

template <class Rule, class In, class Out>
void Cast(const In* in, Out* out, int64_t n, Stream stream) {
  StreamDevice device(stream);
  LaunchMap(device, Rule{}, in, out, n);
}

}  // namespace

void EncodeHalf(const float* values, uint16_t* out, int64_t n, Stream stream) {
  Cast<ToHalf>(values, out, n, stream);
}

void EncodeBfloat16(const float* values, uint16_t* out, int64_t n, Stream stream) {
  Cast<ToBfloat16>(values, out, n, stream);
}

void DecodeHalf(const uint16_t* in, float* values, int64_t n, Stream stream) {
  Cast<FromHalf>(in, values, n, stream);
}

void DecodeBfloat16(const uint16_t* in, float* values, int64_t n, Stream stream) {
  Cast<FromBfloat16>(in, values, n, stream);
}

}  // namespace legacy::cuda
