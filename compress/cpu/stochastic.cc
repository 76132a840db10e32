#include "compress/cpu/stochastic.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace legacy::cpu {
namespace {

constexpr int kLine = 64 / sizeof(float);

void FillPlain(const DrawSource& source, int64_t first, int64_t groups, uint32_t* words) {
  for (int64_t block = 0; block < groups * kDrawBlocks; ++block) {
    const auto draws = DrawBlock(source, first * kDrawBlocks + block);
    uint32_t* to = words + block / kDrawBlocks * kDrawWords + block % kDrawBlocks * 2;
    to[0] = draws[0];
    to[1] = draws[1];
    to[kDrawLanes] = draws[2];
    to[kDrawLanes + 1] = draws[3];
  }
}

#if defined(__x86_64__)

// Returns one of a round's two keys.
LEGACY_INLINE uint32_t KeyOfRound(const DrawSource& source, int round, int which) {
  return source.key[which] + static_cast<uint32_t>(round) * kPhiloxWeyl[which];
}

// Each 64-bit lane has a block, with a word in its lower half; upper halves are ignored. Products
// then have their halves where the next round needs them. A round waits for the previous one, so
// several registers take turns. Lines of `ahead` are prefetched one at a time, because many at once
// would wait for each other.

// Computes the words of kTogether groups.
template <int kTogether>
LEGACY_AVX512 LEGACY_INLINE void FillGroups(const DrawSource& source, int64_t first,
                                            const float* ahead, uint32_t* words) {
  constexpr int kLines = kDrawGroup / kLine;
  // GCC 12 warns about the forms without a mask.
  constexpr __mmask8 kAll = 0xFF;
  const __m512i multiplier0 = _mm512_set1_epi64(kPhiloxMultipliers[0]);
  const __m512i multiplier1 = _mm512_set1_epi64(kPhiloxMultipliers[1]);
  const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  __m512i a[kTogether], b[kTogether], c[kTogether], d[kTogether];
#pragma GCC unroll 4
  for (int g = 0; g < kTogether; ++g) {
    a[g] = _mm512_add_epi64(_mm512_set1_epi64((first + g) * kDrawBlocks), lanes);
    b[g] = _mm512_set1_epi64(source.counter[1]);
    c[g] = _mm512_set1_epi64(source.counter[2]);
    d[g] = _mm512_set1_epi64(source.counter[3]);
  }
#pragma GCC unroll 7
  for (int round = 0; round < kDrawRounds; ++round) {
    const __m512i key0 = _mm512_set1_epi64(KeyOfRound(source, round, 0));
    const __m512i key1 = _mm512_set1_epi64(KeyOfRound(source, round, 1));
#pragma GCC unroll 4
    for (int g = 0; g < kTogether; ++g) {
      constexpr int kXorOfThree = 0x96;
      if (round < kLines) __builtin_prefetch(ahead + (round * kTogether + g) * kLine);
      const __m512i product0 = _mm512_maskz_mul_epu32(kAll, a[g], multiplier0);
      const __m512i product1 = _mm512_maskz_mul_epu32(kAll, c[g], multiplier1);
      a[g] = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(kAll, product1, 32), b[g], key0,
                                       kXorOfThree);
      c[g] = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(kAll, product0, 32), d[g], key1,
                                       kXorOfThree);
      b[g] = product1;
      d[g] = product0;
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < kTogether; ++g) {
    constexpr __mmask16 kOdd = 0xAAAA;
    uint32_t* to = words + g * kDrawWords;
    _mm512_storeu_si512(
        to, _mm512_mask_blend_epi32(kOdd, a[g], _mm512_maskz_slli_epi64(kAll, b[g], 32)));
    _mm512_storeu_si512(to + kDrawLanes, _mm512_mask_blend_epi32(
                                             kOdd, c[g], _mm512_maskz_slli_epi64(kAll, d[g], 32)));
  }
}

LEGACY_AVX512 void FillAvx512(const DrawSource& source, int64_t first, int64_t groups,
                              const float* ahead, uint32_t* words) {
  constexpr int kTogether = 4;
  int64_t g = 0;
  for (; g + kTogether <= groups; g += kTogether) {
    FillGroups<kTogether>(source, first + g, ahead + g * kDrawGroup, words + g * kDrawWords);
  }
  for (; g < groups; ++g) {
    FillGroups<1>(source, first + g, ahead + g * kDrawGroup, words + g * kDrawWords);
  }
}

// Computes the words of kTogether halves of groups, each of four blocks.
template <int kTogether>
LEGACY_AVX2 LEGACY_INLINE void FillHalves(const DrawSource& source, int64_t first,
                                          const float* ahead, uint32_t* words) {
  constexpr int kLines = kDrawGroup / kLine / 2;
  const __m256i multiplier0 = _mm256_set1_epi64x(kPhiloxMultipliers[0]);
  const __m256i multiplier1 = _mm256_set1_epi64x(kPhiloxMultipliers[1]);
  const __m256i lanes = _mm256_set_epi64x(3, 2, 1, 0);
  __m256i a[kTogether], b[kTogether], c[kTogether], d[kTogether];
#pragma GCC unroll 4
  for (int h = 0; h < kTogether; ++h) {
    a[h] = _mm256_add_epi64(_mm256_set1_epi64x(first * kDrawBlocks + h * 4), lanes);
    b[h] = _mm256_set1_epi64x(source.counter[1]);
    c[h] = _mm256_set1_epi64x(source.counter[2]);
    d[h] = _mm256_set1_epi64x(source.counter[3]);
  }
#pragma GCC unroll 7
  for (int round = 0; round < kDrawRounds; ++round) {
    const __m256i key0 = _mm256_set1_epi64x(KeyOfRound(source, round, 0));
    const __m256i key1 = _mm256_set1_epi64x(KeyOfRound(source, round, 1));
#pragma GCC unroll 4
    for (int h = 0; h < kTogether; ++h) {
      if (round < kLines) __builtin_prefetch(ahead + (round * kTogether + h) * kLine);
      const __m256i product0 = _mm256_mul_epu32(a[h], multiplier0);
      const __m256i product1 = _mm256_mul_epu32(c[h], multiplier1);
      a[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), b[h]), key0);
      c[h] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), d[h]), key1);
      b[h] = product1;
      d[h] = product0;
    }
  }
#pragma GCC unroll 4
  for (int h = 0; h < kTogether; ++h) {
    constexpr int kOdd = 0xAA;
    uint32_t* to = words + h / 2 * kDrawWords + h % 2 * 8;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_blend_epi32(a[h], _mm256_slli_epi64(b[h], 32), kOdd));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kDrawLanes),
                        _mm256_blend_epi32(c[h], _mm256_slli_epi64(d[h], 32), kOdd));
  }
}

LEGACY_AVX2 void FillAvx2(const DrawSource& source, int64_t first, int64_t groups,
                          const float* ahead, uint32_t* words) {
  int64_t g = 0;
  for (; g + 2 <= groups; g += 2) {
    FillHalves<4>(source, first + g, ahead + g * kDrawGroup, words + g * kDrawWords);
  }
  if (g < groups) {
    FillHalves<2>(source, first + g, ahead + g * kDrawGroup, words + g * kDrawWords);
  }
}

#endif

}  // namespace

DrawSource MakeDrawSource(const RandomKey& key) {
  RandomKey own = key;
  own.purpose = Purpose::kStochastic;
  const RandomStream stream(own);
  return {.key = stream.Key(), .counter = stream.Counter()};
}

void FillDraws(const DrawSource& source, int64_t first, int64_t groups, uint32_t* words,
               [[maybe_unused]] Simd simd, [[maybe_unused]] const float* ahead) {
#if defined(__x86_64__)
  // Any address will do, because prefetching costs nothing.
  if (ahead == nullptr) ahead = reinterpret_cast<const float*>(words);
  if (simd == Simd::kAvx512) return FillAvx512(source, first, groups, ahead, words);
  if (simd == Simd::kAvx2) return FillAvx2(source, first, groups, ahead, words);
#endif
  FillPlain(source, first, groups, words);
}

}  // namespace legacy::cpu
