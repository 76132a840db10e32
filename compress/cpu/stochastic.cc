#include "compress/cpu/stochastic.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace legacy::cpu {
namespace {

constexpr int kBlocks = 8;  // of a group

std::array<uint32_t, 4> BlockOf(const DrawSource& source, int64_t block) {
  auto counter = source.counter;
  counter[0] = static_cast<uint32_t>(block);
  return Philox4x32(counter, source.key, kDrawRounds);
}

void FillPlain(const DrawSource& source, int64_t first, int64_t groups, uint32_t* words) {
  for (int64_t block = 0; block < groups * kBlocks; ++block) {
    const auto draws = BlockOf(source, first * kBlocks + block);
    uint32_t* to = words + block / kBlocks * kDrawWords + block % kBlocks * 2;
    to[0] = draws[0];
    to[1] = draws[1];
    to[kDrawLanes] = draws[2];
    to[kDrawLanes + 1] = draws[3];
  }
}

#if defined(__x86_64__)

// A block in each 64-bit lane, a word in the lower half of it: what is in the upper half is never looked at. Products
// then have their halves where the next round wants them.

LEGACY_AVX512 void FillAvx512(const DrawSource& source, int64_t first, int64_t groups,
                              uint32_t* words) {
  constexpr __mmask8 kAll = 0xFF;  // the forms without a mask draw warnings from GCC 12
  const __m512i multiplier0 = _mm512_set1_epi64(kPhiloxMultipliers[0]);
  const __m512i multiplier1 = _mm512_set1_epi64(kPhiloxMultipliers[1]);
  const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (int64_t group = 0; group < groups; ++group) {
    __m512i a = _mm512_add_epi64(_mm512_set1_epi64((first + group) * kBlocks), lanes);
    __m512i b = _mm512_set1_epi64(source.counter[1]);
    __m512i c = _mm512_set1_epi64(source.counter[2]);
    __m512i d = _mm512_set1_epi64(source.counter[3]);
    uint32_t key0 = source.key[0];
    uint32_t key1 = source.key[1];
#pragma GCC unroll 7
    for (int round = 0; round < kDrawRounds; ++round) {
      constexpr int kXorOfThree = 0x96;
      const __m512i product0 = _mm512_maskz_mul_epu32(kAll, a, multiplier0);
      const __m512i product1 = _mm512_maskz_mul_epu32(kAll, c, multiplier1);
      a = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(kAll, product1, 32), b,
                                    _mm512_set1_epi64(key0), kXorOfThree);
      c = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(kAll, product0, 32), d,
                                    _mm512_set1_epi64(key1), kXorOfThree);
      b = product1;
      d = product0;
      key0 += kPhiloxWeyl[0];
      key1 += kPhiloxWeyl[1];
    }
    constexpr __mmask16 kOdd = 0xAAAA;
    uint32_t* to = words + group * kDrawWords;
    _mm512_storeu_si512(to, _mm512_mask_blend_epi32(kOdd, a, _mm512_maskz_slli_epi64(kAll, b, 32)));
    _mm512_storeu_si512(to + kDrawLanes,
                        _mm512_mask_blend_epi32(kOdd, c, _mm512_maskz_slli_epi64(kAll, d, 32)));
  }
}

LEGACY_AVX2 void FillAvx2(const DrawSource& source, int64_t first, int64_t groups,
                          uint32_t* words) {
  const __m256i multiplier0 = _mm256_set1_epi64x(kPhiloxMultipliers[0]);
  const __m256i multiplier1 = _mm256_set1_epi64x(kPhiloxMultipliers[1]);
  const __m256i lanes = _mm256_set_epi64x(3, 2, 1, 0);
  for (int64_t half = 0; half < 2 * groups; ++half) {  // four of a group's blocks
    __m256i a = _mm256_add_epi64(_mm256_set1_epi64x(first * kBlocks + half * 4), lanes);
    __m256i b = _mm256_set1_epi64x(source.counter[1]);
    __m256i c = _mm256_set1_epi64x(source.counter[2]);
    __m256i d = _mm256_set1_epi64x(source.counter[3]);
    uint32_t key0 = source.key[0];
    uint32_t key1 = source.key[1];
#pragma GCC unroll 7
    for (int round = 0; round < kDrawRounds; ++round) {
      const __m256i product0 = _mm256_mul_epu32(a, multiplier0);
      const __m256i product1 = _mm256_mul_epu32(c, multiplier1);
      a = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), b),
                           _mm256_set1_epi64x(key0));
      c = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), d),
                           _mm256_set1_epi64x(key1));
      b = product1;
      d = product0;
      key0 += kPhiloxWeyl[0];
      key1 += kPhiloxWeyl[1];
    }
    constexpr int kOdd = 0xAA;
    uint32_t* to = words + half / 2 * kDrawWords + half % 2 * 8;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), kOdd));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kDrawLanes),
                        _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), kOdd));
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

uint32_t DrawOf(const DrawSource& source, int64_t i) {
  const auto j = static_cast<int>(i % kDrawGroup);
  const auto block = BlockOf(source, i / kDrawGroup * kBlocks + j % kDrawLanes / 2);
  const uint32_t word = block[j / 32 * 2 + j % 2];
  return j / kDrawLanes % 2 == 0 ? word & ((1u << kDrawBits) - 1) : word >> (32 - kDrawBits);
}

void FillDraws(const DrawSource& source, int64_t first, int64_t groups, uint32_t* words,
               [[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) return FillAvx512(source, first, groups, words);
  if (simd == Simd::kAvx2) return FillAvx2(source, first, groups, words);
#endif
  FillPlain(source, first, groups, words);
}

}  // namespace legacy::cpu
