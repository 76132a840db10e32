#include "compress/cpu/cast.h"

#include <cassert>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace legacy::cpu {
namespace {

#if defined(__x86_64__)

constexpr size_t kLanes = 8;

// Clang's __builtin_cpu_supports does not know the feature.
bool HasF16c() {
  static const bool has = [] {
    unsigned int a = 0;
    unsigned int b = 0;
    unsigned int c = 0;
    unsigned int d = 0;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
           (c & bit_F16C) != 0;
  }();
  return has;
}

// Encodes whole groups of eight and returns the number of elements encoded.
__attribute__((target("avx,f16c"))) size_t EncodeGroups(std::span<const float> values,
                                                        std::byte* out) {
  const __m256 largest = _mm256_set1_ps(kLargestHalf);
  const __m256 lowest = _mm256_set1_ps(-kLargestHalf);
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const __m256 x = _mm256_loadu_ps(values.data() + i);
    const __m256 bounded = _mm256_max_ps(_mm256_min_ps(x, largest), lowest);
    const __m128i halves = _mm256_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i), halves);
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t DecodeGroups(const std::byte* in,
                                                        std::span<float> values) {
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 2 * i));
    _mm256_storeu_ps(values.data() + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

#else

bool HasF16c() { return false; }
size_t EncodeGroups(std::span<const float>, std::byte*) { return 0; }
size_t DecodeGroups(const std::byte*, std::span<float>) { return 0; }

#endif

LEGACY_INLINE void EncodeAllBfloat16(const float* values, std::byte* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = FloatToBfloat16(values[i]);
    __builtin_memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

LEGACY_INLINE void DecodeAllBfloat16(const std::byte* in, float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits = 0;
    __builtin_memcpy(&bits, in + 2 * i, sizeof bits);
    values[i] = Bfloat16ToFloat(bits);
  }
}

}  // namespace

void EncodeHalf(std::span<const float> values, std::span<std::byte> out) {
  assert(out.size() == 2 * values.size());
  for (size_t i = HasF16c() ? EncodeGroups(values, out.data()) : 0; i < values.size(); ++i) {
    const uint16_t half = FloatToHalf(values[i]);
    std::memcpy(out.data() + 2 * i, &half, sizeof half);
  }
}

void DecodeHalf(std::span<const std::byte> in, std::span<float> values) {
  assert(in.size() == 2 * values.size());
  for (size_t i = HasF16c() ? DecodeGroups(in.data(), values) : 0; i < values.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, in.data() + 2 * i, sizeof half);
    values[i] = HalfToFloat(half);
  }
}

void EncodeBfloat16(std::span<const float> values, std::span<std::byte> out, Simd simd) {
  assert(out.size() == 2 * values.size());
  Dispatch<EncodeAllBfloat16>(simd, values.data(), out.data(), std::ssize(values));
}

void DecodeBfloat16(std::span<const std::byte> in, std::span<float> values, Simd simd) {
  assert(in.size() == 2 * values.size());
  Dispatch<DecodeAllBfloat16>(simd, in.data(), values.data(), std::ssize(values));
}

}  // namespace legacy::cpu
