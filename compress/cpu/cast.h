// IEEE 754 half precision and bfloat16: round to nearest even, saturating at the largest finite number instead of
// overflowing. The array forms use the processor's F16C instructions where it has them; both ways
// give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace legacy::cpu {

inline constexpr float kLargestHalf = 65504.0f;

uint16_t FloatToHalf(float x);  // x is not NaN
float HalfToFloat(uint16_t half);

// 2 bytes an element, in and out; the spans have one length in elements. 6 bytes moved per element.
void EncodeHalf(std::span<const float> values, std::span<std::byte> out);
void DecodeHalf(std::span<const std::byte> in, std::span<float> values);
uint16_t FloatToBfloat16(float x);  // x is not NaN
float Bfloat16ToFloat(uint16_t bits);
void EncodeBfloat16(std::span<const float> values, std::span<std::byte> out);
void DecodeBfloat16(std::span<const std::byte> in, std::span<float> values);

}  // namespace legacy::cpu
