#include "compress/cpu/bitpack.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace legacy::cpu {
namespace {

// Eight codes of any width end at a byte boundary.
constexpr int64_t kGroup = 8;

void PackAny(const uint32_t* codes, int64_t count, int width, std::byte* out) {
  uint64_t pending = 0;
  int filled = 0;
  for (int64_t i = 0; i < count; ++i) {
    pending |= static_cast<uint64_t>(codes[i]) << filled;
    for (filled += width; filled >= 8; filled -= 8, pending >>= 8) {
      *out++ = static_cast<std::byte>(pending);
    }
  }
  if (filled > 0) *out = static_cast<std::byte>(pending);
}

void UnpackAny(const std::byte* in, int width, int64_t count, uint32_t* codes) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  uint64_t pending = 0;
  int filled = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (; filled < width; filled += 8) pending |= std::to_integer<uint64_t>(*in++) << filled;
    codes[i] = static_cast<uint32_t>(pending & mask);
    pending >>= width;
    filled -= width;
  }
}

// Packs two, four or eight byte codes, held in a Word, next to each other: first in pairs, then in
// fours, then all. Each step shifts the upper halves down over the unused bits between them and the
// lower halves.
template <int kWidth, typename Word>
struct Neighbours {
  static constexpr int kCount = sizeof(Word);
  static constexpr uint64_t Bits(int count) { return (uint64_t{1} << count) - 1; }
  // Bits of the lower half of each pair, group of four, and group of eight.
  static constexpr auto kCodes = static_cast<Word>(Bits(kWidth) * 0x0001000100010001);
  static constexpr auto kPairs = static_cast<Word>(Bits(2 * kWidth) * 0x0000000100000001);
  static constexpr auto kFours = static_cast<Word>(Bits(4 * kWidth));
  static constexpr int kGap = 8 - kWidth;

  static LEGACY_INLINE Word Squeeze(Word x) {
    x = static_cast<Word>((x & kCodes) | (x >> kGap & kCodes << kWidth));
    if constexpr (kCount > 2) x = (x & kPairs) | (x >> 2 * kGap & kPairs << 2 * kWidth);
    if constexpr (kCount > 4) x = (x & kFours) | (x >> 4 * kGap & kFours << 4 * kWidth);
    return x;
  }
  static LEGACY_INLINE Word Spread(Word x) {
    if constexpr (kCount > 4) x = (x & kFours) | (x & kFours << 4 * kWidth) << 4 * kGap;
    if constexpr (kCount > 2) x = (x & kPairs) | (x & kPairs << 2 * kWidth) << 2 * kGap;
    return static_cast<Word>((x & kCodes) | (x & kCodes << kWidth) << kGap);
  }
};

// If the width divides eight, a word holds the codes of one byte, which compilers vectorise.
template <int kWidth>
struct WordOf {
  using Type = uint64_t;
  static constexpr int kBytes = kWidth;  // packed bytes
};
template <>
struct WordOf<1> {
  using Type = uint64_t;
  static constexpr int kBytes = 1;
};
template <>
struct WordOf<2> {
  using Type = uint32_t;
  static constexpr int kBytes = 1;
};
template <>
struct WordOf<4> {
  using Type = uint16_t;
  static constexpr int kBytes = 1;
};

// Packs whole groups; only their memory is written and read.
template <int kWidth>
LEGACY_INLINE void PackGroups(const uint8_t* __restrict codes, int64_t groups,
                              std::byte* __restrict out) {
  using Word = typename WordOf<kWidth>::Type;
  constexpr int kBytes = WordOf<kWidth>::kBytes;
  for (int64_t i = 0; i < groups * kGroup / static_cast<int>(sizeof(Word)); ++i) {
    Word word;
    std::memcpy(&word, codes + sizeof(Word) * i, sizeof(Word));
    word = Neighbours<kWidth, Word>::Squeeze(word);
    if constexpr (kBytes == 1) {
      out[i] = static_cast<std::byte>(word);
    } else {
      std::memcpy(out + kBytes * i, &word, kBytes);
    }
  }
}

template <int kWidth>
LEGACY_INLINE void UnpackGroups(const std::byte* __restrict in, int64_t groups,
                                uint8_t* __restrict codes) {
  using Word = typename WordOf<kWidth>::Type;
  constexpr int kBytes = WordOf<kWidth>::kBytes;
  for (int64_t i = 0; i < groups * kGroup / static_cast<int>(sizeof(Word)); ++i) {
    Word word = 0;
    if constexpr (kBytes == 1) {
      word = std::to_integer<uint8_t>(in[i]);
    } else {
      std::memcpy(&word, in + kBytes * i, kBytes);
    }
    word = Neighbours<kWidth, Word>::Spread(word);
    std::memcpy(codes + sizeof(Word) * i, &word, sizeof(Word));
  }
}

// Calls body(std::integral_constant<int, width>()).
template <typename Body>
void WithWidth(int width, Body body) {
  [&]<int... kBelow>(std::integer_sequence<int, kBelow...>) {
    (void)((width == kBelow + 1 && (body(std::integral_constant<int, kBelow + 1>()), true)) || ...);
  }
  (std::make_integer_sequence<int, 8>());
}

LEGACY_INLINE void PackSignGroups(const float* values, int64_t groups, std::byte* out) {
  for (int64_t i = 0; i < groups; ++i) {
    uint32_t bits = 0;
    for (int j = 0; j < kGroup; ++j) {
      bits |= static_cast<uint32_t>(values[kGroup * i + j] < 0) << j;
    }
    out[i] = static_cast<std::byte>(bits);
  }
}

#if defined(__x86_64__)

LEGACY_AVX2 void PackSignGroupsAvx2(const float* values, int64_t groups, std::byte* out) {
  for (int64_t i = 0; i < groups; ++i) {
    const __m256 x = _mm256_loadu_ps(values + kGroup * i);
    const __m256 below = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    out[i] = static_cast<std::byte>(_mm256_movemask_ps(below));
  }
}

LEGACY_AVX512 void PackSignGroupsAvx512(const float* values, int64_t groups, std::byte* out) {
  const __m512 zero = _mm512_setzero_ps();
  int64_t i = 0;
  for (; i + 2 <= groups; i += 2) {
    const __m512 x = _mm512_loadu_ps(values + kGroup * i);
    const __mmask16 below = _mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ);
    std::memcpy(out + i, &below, sizeof below);
  }
  PackSignGroupsAvx2(values + kGroup * i, groups - i, out + i);
}

#endif

LEGACY_INLINE void UnpackSignGroups(const std::byte* in, int64_t groups, float clear, float set,
                                    float* values) {
  for (int64_t i = 0; i < groups; ++i) {
    const auto bits = std::to_integer<uint32_t>(in[i]);
    for (uint32_t j = 0; j < kGroup; ++j) {
      values[kGroup * i + j] = (bits & 1u << j) != 0 ? set : clear;
    }
  }
}

#if defined(__x86_64__)

LEGACY_AVX2 void UnpackSignGroupsAvx2(const std::byte* in, int64_t groups, float clear, float set,
                                      float* values) {
  const __m256i to_sign = _mm256_set_epi32(24, 25, 26, 27, 28, 29, 30, 31);
  for (int64_t i = 0; i < groups; ++i) {
    const __m256i bits = _mm256_set1_epi32(std::to_integer<int>(in[i]));
    const __m256 signs = _mm256_castsi256_ps(_mm256_sllv_epi32(bits, to_sign));
    _mm256_storeu_ps(values + kGroup * i,
                     _mm256_blendv_ps(_mm256_set1_ps(clear), _mm256_set1_ps(set), signs));
  }
}

LEGACY_AVX512 void UnpackSignGroupsAvx512(const std::byte* in, int64_t groups, float clear,
                                          float set, float* values) {
  int64_t i = 0;
  for (; i + 2 <= groups; i += 2) {
    __mmask16 bits;
    std::memcpy(&bits, in + i, sizeof bits);
    _mm512_storeu_ps(values + kGroup * i,
                     _mm512_mask_blend_ps(bits, _mm512_set1_ps(clear), _mm512_set1_ps(set)));
  }
  UnpackSignGroupsAvx2(in + i, groups - i, clear, set, values + kGroup * i);
}

#endif

void PackSignsBy([[maybe_unused]] Simd simd, const float* values, int64_t groups, std::byte* out) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) return PackSignGroupsAvx512(values, groups, out);
  if (simd == Simd::kAvx2) return PackSignGroupsAvx2(values, groups, out);
#endif
  PackSignGroups(values, groups, out);
}

void UnpackSignsBy([[maybe_unused]] Simd simd, const std::byte* in, int64_t groups, float clear,
                   float set, float* values) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) return UnpackSignGroupsAvx512(in, groups, clear, set, values);
  if (simd == Simd::kAvx2) return UnpackSignGroupsAvx2(in, groups, clear, set, values);
#endif
  UnpackSignGroups(in, groups, clear, set, values);
}

}  // namespace

void CheckPadding(std::span<const std::byte> in, int64_t count, int width) {
  assert(static_cast<int64_t>(in.size()) == PackedBytes(count, width));
  const auto used = static_cast<int>(count * width % 8);
  if (used != 0 && std::to_integer<int>(in.back()) >> used != 0) {
    throw Error("message: padding bits of packed values are set");
  }
}

void PackCodes(std::span<const uint32_t> codes, int width, std::span<std::byte> out) {
  assert(static_cast<int64_t>(out.size()) ==
         PackedBytes(static_cast<int64_t>(codes.size()), width));
  PackAny(codes.data(), static_cast<int64_t>(codes.size()), width, out.data());
}

void UnpackCodes(std::span<const std::byte> in, int width, std::span<uint32_t> codes) {
  const auto count = static_cast<int64_t>(codes.size());
  CheckPadding(in, count, width);
  UnpackAny(in.data(), width, count, codes.data());
}

void PackCodes(std::span<const uint8_t> codes, int width, std::span<std::byte> out, Simd simd) {
  const auto count = static_cast<int64_t>(codes.size());
  assert(static_cast<int64_t>(out.size()) == PackedBytes(count, width));
  const int64_t groups = count / kGroup;
  WithWidth(width, [&](auto constant) {
    Dispatch<PackGroups<constant()>>(simd, codes.data(), groups, out.data());
  });
  if (count % kGroup == 0) return;
  std::array<uint8_t, kGroup> rest{};
  std::array<std::byte, kGroup> packed;
  std::copy(codes.begin() + groups * kGroup, codes.end(), rest.begin());
  WithWidth(width, [&](auto constant) { PackGroups<constant()>(rest.data(), 1, packed.data()); });
  std::copy_n(packed.begin(), PackedBytes(count % kGroup, width), out.begin() + groups * width);
}

void UnpackCodes(std::span<const std::byte> in, int width, std::span<uint8_t> codes, Simd simd) {
  const auto count = static_cast<int64_t>(codes.size());
  CheckPadding(in, count, width);
  const int64_t groups = count / kGroup;
  WithWidth(width, [&](auto constant) {
    Dispatch<UnpackGroups<constant()>>(simd, in.data(), groups, codes.data());
  });
  if (count % kGroup == 0) return;
  std::array<std::byte, kGroup> rest{};
  std::array<uint8_t, kGroup> unpacked;
  std::copy(in.begin() + groups * width, in.end(), rest.begin());
  WithWidth(width,
            [&](auto constant) { UnpackGroups<constant()>(rest.data(), 1, unpacked.data()); });
  std::copy_n(unpacked.begin(), count % kGroup, codes.begin() + groups * kGroup);
}

void PackSigns(std::span<const float> values, std::span<std::byte> out, Simd simd) {
  const auto count = static_cast<int64_t>(values.size());
  assert(static_cast<int64_t>(out.size()) == PackedBytes(count, 1));
  const int64_t groups = count / kGroup;
  PackSignsBy(simd, values.data(), groups, out.data());
  if (count % kGroup == 0) return;
  std::array<float, kGroup> rest{};
  std::copy(values.begin() + groups * kGroup, values.end(), rest.begin());
  PackSignGroups(rest.data(), 1, out.data() + groups);
}

void UnpackSigns(std::span<const std::byte> in, float clear, float set, std::span<float> values,
                 Simd simd) {
  const auto count = static_cast<int64_t>(values.size());
  CheckPadding(in, count, 1);
  const int64_t groups = count / kGroup;
  UnpackSignsBy(simd, in.data(), groups, clear, set, values.data());
  if (count % kGroup == 0) return;
  std::array<float, kGroup> rest;
  UnpackSignGroups(in.data() + groups, 1, clear, set, rest.data());
  std::copy_n(rest.begin(), count % kGroup, values.begin() + groups * kGroup);
}

}  // namespace legacy::cpu
