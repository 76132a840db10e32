// This is cpu/bitpack.h on a GPU: codes of 1 to 32 bits and signs, packed and unpacked. Nothing
// waits for the device, and the launches do not depend on the data.
//
// Bytes moved per code: its own (4 or 1, or a float's 4) and width / 8. Packed memory is aligned to
// four bytes; exactly cpu::PackedBytes(n, width) of it are written, and read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

// Pack codes below 2^width. 1 <= width <= 32, and <= 8 for bytes.
void PackCodes(const uint32_t* codes, int64_t n, int width, std::byte* out, Stream stream);
void PackCodes(const uint8_t* codes, int64_t n, int width, std::byte* out, Stream stream);

// Unpack codes. *malformed becomes 1 where bits after the last code are set, and stays as it is
// elsewhere; it may be null.
void UnpackCodes(const std::byte* in, int64_t n, int width, uint32_t* codes, uint32_t* malformed,
                 Stream stream);
void UnpackCodes(const std::byte* in, int64_t n, int width, uint8_t* codes, uint32_t* malformed,
                 Stream stream);

// Writes one bit a value, set where it is below zero; zeros of both signs are not.
void PackSigns(const float* values, int64_t n, std::byte* out, Stream stream);
// Writes `set` where the bit is set and `clear` where it is not.
void UnpackSigns(const std::byte* in, int64_t n, float clear, float set, float* values,
                 uint32_t* malformed, Stream stream);

}  // namespace legacy::cuda
