#include "compress/cpu/bitpack.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "compress/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace legacy::cpu {
namespace {

constexpr int64_t kGroup = 8;  // codes that end where a byte does

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

// Eight byte codes as one number become neighbours in three steps: of pairs, fours, all. In each the upper halves move
// down by the unused bits between them and the lower.
template <int kWidth>
struct Group {
  static constexpr uint64_t Bits(int count) { return (uint64_t{1} << count) - 1; }
  static constexpr uint64_t kCodes = Bits(kWidth) * 0x0001000100010001;      // lower of each pair
  static constexpr uint64_t kPairs = Bits(2 * kWidth) * 0x0000000100000001;  // lower of each four
  static constexpr uint64_t kFour = Bits(4 * kWidth);
  static constexpr int kGap = 8 - kWidth;

  static LEGACY_INLINE uint64_t Squeeze(uint64_t codes) {
    codes = (codes & kCodes) | (codes >> kGap & kCodes << kWidth);
    codes = (codes & kPairs) | (codes >> 2 * kGap & kPairs << 2 * kWidth);
    return (codes & kFour) | (codes >> 4 * kGap & kFour << 4 * kWidth);
  }
  static LEGACY_INLINE uint64_t Spread(uint64_t bits) {
    bits = (bits & kFour) | (bits & kFour << 4 * kWidth) << 4 * kGap;
    bits = (bits & kPairs) | (bits & kPairs << 2 * kWidth) << 2 * kGap;
    return (bits & kCodes) | (bits & kCodes << kWidth) << kGap;
  }
};

LEGACY_INLINE uint64_t Load(const void* from, size_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

// Whole groups; the memory written and read is exactly theirs.
template <int kWidth>
LEGACY_INLINE void PackGroups(const uint8_t* codes, int64_t groups, std::byte* out) {
  for (int64_t i = 0; i < groups; ++i) {
    const uint64_t bits = Group<kWidth>::Squeeze(Load(codes + kGroup * i, kGroup));
    std::memcpy(out + kWidth * i, &bits, kWidth);
  }
}

template <int kWidth>
LEGACY_INLINE void UnpackGroups(const std::byte* in, int64_t groups, uint8_t* codes) {
  for (int64_t i = 0; i < groups; ++i) {
    const uint64_t spread = Group<kWidth>::Spread(Load(in + kWidth * i, kWidth));
    std::memcpy(codes + kGroup * i, &spread, kGroup);
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
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) {
    PackSignGroupsAvx512(values.data(), groups, out.data());
  } else if (simd == Simd::kAvx2) {
    PackSignGroupsAvx2(values.data(), groups, out.data());
  } else
#endif
  {
    (void)simd;
    PackSignGroups(values.data(), groups, out.data());
  }
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
  Dispatch<UnpackSignGroups>(simd, in.data(), groups, clear, set, values.data());
  if (count % kGroup == 0) return;
  std::array<float, kGroup> rest;
  UnpackSignGroups(in.data() + groups, 1, clear, set, rest.data());
  std::copy_n(rest.begin(), count % kGroup, values.begin() + groups * kGroup);
}

}  // namespace legacy::cpu
