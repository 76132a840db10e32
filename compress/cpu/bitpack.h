// Codes of 1 to 32 bits are packed as a stream of bits, the lowest of a byte first, code after
// code, in exactly ceil(n * width / 8) bytes, where the bits after the last code are zero. Codes 8
// i .. 8 i + 7 begin at byte i * width, so that any range that begins at a multiple of eight can be
// packed or unpacked by itself.
//
// Byte codes (width <= 8) and signs are fast: bytes moved per element 1 + width / 8, and 4 + 1/8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

constexpr int64_t PackedBytes(int64_t count, int width) { return (count * width + 7) / 8; }

// Throws Error if bits after the last of `count` codes are set; in.size() == PackedBytes(count,
// width).
void CheckPadding(std::span<const std::byte> in, int64_t count, int width);

// Packs codes below 2^width; out.size() == PackedBytes(codes.size(), width). 1 <= width <= 32, and
// <= 8 for bytes.
void PackCodes(std::span<const uint32_t> codes, int width, std::span<std::byte> out);
void PackCodes(std::span<const uint8_t> codes, int width, std::span<std::byte> out,
               Simd simd = ActiveSimd());

// Unpacks codes; in.size() == PackedBytes(codes.size(), width). Throws Error as CheckPadding does,
// before anything is written.
void UnpackCodes(std::span<const std::byte> in, int width, std::span<uint32_t> codes);
void UnpackCodes(std::span<const std::byte> in, int width, std::span<uint8_t> codes,
                 Simd simd = ActiveSimd());

// Writes one bit per value, set for values below zero; zeros of both signs leave it clear.
void PackSigns(std::span<const float> values, std::span<std::byte> out, Simd simd = ActiveSimd());
// Writes `set` where the bit is set and `clear` where it is not. Throws Error as CheckPadding does.
void UnpackSigns(std::span<const std::byte> in, float clear, float set, std::span<float> values,
                 Simd simd = ActiveSimd());

}  // namespace legacy::cpu
