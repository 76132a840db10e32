// Casts to IEEE 754 half precision and bfloat16 round to nearest even, and saturate at the largest
// finite number instead of overflowing. The array forms use the processor's instructions (F16C;
// AVX2 or AVX-512 for bfloat16) and give the same bits as the scalar ones, which a GPU uses, too.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/simd.h"

namespace legacy::cpu {

inline constexpr float kLargestHalf = 65504.0f;

constexpr uint16_t FloatToHalf(float x);  // x is not NaN
constexpr float HalfToFloat(uint16_t half);

// These use 2 bytes per element; both spans have the same number of elements. 6 bytes move per
// element.
void EncodeHalf(std::span<const float> values, std::span<std::byte> out);
void DecodeHalf(std::span<const std::byte> in, std::span<float> values);

constexpr uint16_t FloatToBfloat16(float x);  // x is not NaN
constexpr float Bfloat16ToFloat(uint16_t bits);
void EncodeBfloat16(std::span<const float> values, std::span<std::byte> out,
                    Simd simd = ActiveSimd());
void DecodeBfloat16(std::span<const std::byte> in, std::span<float> values,
                    Simd simd = ActiveSimd());

// -------------------------------------------------------------------------------------------------

constexpr uint16_t FloatToHalf(float x) {
  constexpr uint32_t kSignBit = 0x80000000;
  constexpr uint32_t kLargestHalfBits = 0x477FE000;     // 65504 as a float
  constexpr uint32_t kSmallestNormalBits = 0x38800000;  // 2^-14
  constexpr int kMantissaGap = 23 - 10;
  constexpr uint32_t kBiasGap = (127u - 15u) << 23;
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((bits & kSignBit) >> 16);
  uint32_t magnitude = bits & ~kSignBit;
  if (magnitude >= kLargestHalfBits) return sign | 0x7BFF;
  if (magnitude < kSmallestNormalBits) {
    // Around 0.5 floats are 2^-24 apart, as subnormal halves are, so the addition rounds.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) & 0x7FF));
  }
  magnitude += (1u << (kMantissaGap - 1)) - 1 + (magnitude >> kMantissaGap & 1);
  return static_cast<uint16_t>(sign | (magnitude - kBiasGap) >> kMantissaGap);
}

constexpr float HalfToFloat(uint16_t half) {
  constexpr int kMantissaGap = 23 - 10;
  constexpr uint32_t kBiasGap = (127u - 15u) << 23;
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7FFF;
  uint32_t bits = 0;
  if (magnitude >= 0x7C00) {  // infinity, NaN
    bits = 0x7F800000 | (magnitude & 0x3FF) << kMantissaGap;
  } else if (magnitude >= 0x400) {
    bits = (magnitude << kMantissaGap) + kBiasGap;
  } else {
    bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return std::bit_cast<float>(sign | bits);
}

// The magnitude is bounded before it is rounded. The comparison is of signed numbers, because
// baseline x86 compares only those.
constexpr LEGACY_INLINE uint16_t FloatToBfloat16(float x) {
  constexpr uint32_t kSignBit = 0x80000000;
  constexpr int32_t kLargest = 0x7F7F0000;  // largest finite bfloat16, as the bits of a float
  const auto bits = __builtin_bit_cast(uint32_t, x);
  const auto magnitude = static_cast<int32_t>(bits & ~kSignBit);
  const auto bounded = static_cast<uint32_t>(magnitude < kLargest ? magnitude : kLargest);
  const uint32_t rounded = bounded + 0x7FFF + (bounded >> 16 & 1);
  return static_cast<uint16_t>(((bits & kSignBit) | rounded) >> 16);
}

constexpr LEGACY_INLINE float Bfloat16ToFloat(uint16_t bits) {
  return __builtin_bit_cast(float, uint32_t{bits} << 16);
}

}  // namespace legacy::cpu
