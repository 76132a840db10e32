// cpu/cast.h on a GPU: half precision and bfloat16 from floats and back, the same bits. 6 bytes
// moved per element; by vectors where the pointers allow it (16 bytes of floats, 8 of the others).
// Throws Error where the launch is refused.
#pragma once

#include <cstdint>

#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

// Nearest, even on ties; saturating. No value is NaN.
void EncodeHalf(const float* values, uint16_t* out, int64_t n, Stream stream);
void EncodeBfloat16(const float* values, uint16_t* out, int64_t n, Stream stream);

void DecodeHalf(const uint16_t* in, float* values, int64_t n, Stream stream);
void DecodeBfloat16(const uint16_t* in, float* values, int64_t n, Stream stream);

}  // namespace legacy::cuda
