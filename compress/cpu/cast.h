// IEEE 754 half precision and bfloat16: round to nearest even, saturating at the largest finite number instead of
// overflowing. The array forms use what the processor has (F16C; AVX2 or AVX-512 for bfloat16) and give the bits of the
// scalar ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compress/cpu/dispatch.h"

namespace legacy::cpu {

inline constexpr float kLargestHalf = 65504.0f;

uint16_t FloatToHalf(float x);  // x is not NaN
float HalfToFloat(uint16_t half);

// 2 bytes an element, in and out; the spans have one length in elements. 6 bytes moved per element.
void EncodeHalf(std::span<const float> values, std::span<std::byte> out);
void DecodeHalf(std::span<const std::byte> in, std::span<float> values);

uint16_t FloatToBfloat16(float x);  // x is not NaN
float Bfloat16ToFloat(uint16_t bits);
void EncodeBfloat16(std::span<const float> values, std::span<std::byte> out,
                    Simd simd = ActiveSimd());
void DecodeBfloat16(std::span<const std::byte> in, std::span<float> values,
                    Simd simd = ActiveSimd());

}  // namespace legacy::cpu
