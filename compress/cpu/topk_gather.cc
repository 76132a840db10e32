#include "compress/cpu/topk_gather.h"

#include <array>
#include <cassert>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace legacy::cpu {
namespace {

// Arguments of a call, for all versions of the pass.
struct Pass {
  const float* data;
  const float* gradient;  // null without feedback
  float* residual;        // `data`, for writing; null without feedback
  int64_t n;
  uint32_t first;
  KeyRange range;
  Gathered out;
};

// Gathers elements [begin, n) after `count` gathered ones. The loop has no branch: an element that
// does not count is overwritten by the next one.
template <bool kFeedback>
int64_t GatherPlain(const Pass& pass, int64_t begin, int64_t count) {
  for (int64_t i = begin; i < pass.n; ++i) {
    const float x = kFeedback ? pass.data[i] + pass.gradient[i] : pass.data[i];
    const uint32_t key = KeyOf(x);
    if constexpr (kFeedback) pass.residual[i] = key > pass.range.high ? 0.0f : x;
    pass.out.indices[count] = pass.first + static_cast<uint32_t>(i);
    pass.out.values[count] = x;
    count += key >= pass.range.low;
  }
  return count;
}

#if defined(__x86_64__)

// AVX2 has no compress instruction. For each mask of 8 lanes, the table lists the set lanes first,
// a byte each.
constexpr std::array<uint64_t, 256> LanesInFront() {
  std::array<uint64_t, 256> table{};
  for (uint32_t mask = 0; mask < table.size(); ++mask) {
    int position = 0;
    for (uint64_t lane = 0; lane < 8; ++lane) {
      if (mask >> lane & 1) table[mask] |= lane << 8 * position++;
    }
  }
  return table;
}
constexpr auto kLanesInFront = LanesInFront();

template <bool kFeedback>
LEGACY_AVX2 int64_t GatherAvx2(const Pass& pass) {
  constexpr int64_t kLanes = 8;
  const __m256i magnitude = _mm256_set1_epi32(static_cast<int>(kLargestKey));
  // Keys have 31 bits, so signed comparisons work; low - 1 is -1 if everything counts.
  const __m256i below = _mm256_set1_epi32(static_cast<int>(pass.range.low) - 1);
  const __m256i high = _mm256_set1_epi32(static_cast<int>(pass.range.high));
  __m256i index = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(pass.first)),
                                   _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  int64_t count = 0;
  int64_t i = 0;
  for (; i + kLanes <= pass.n; i += kLanes) {
    __m256 x = _mm256_loadu_ps(pass.data + i);
    if constexpr (kFeedback) x = _mm256_add_ps(x, _mm256_loadu_ps(pass.gradient + i));
    const __m256i key = _mm256_and_si256(_mm256_castps_si256(x), magnitude);
    if constexpr (kFeedback) {
      const __m256 certain = _mm256_castsi256_ps(_mm256_cmpgt_epi32(key, high));
      _mm256_storeu_ps(pass.residual + i, _mm256_andnot_ps(certain, x));
    }
    const auto mask = static_cast<uint32_t>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(key, below))));
    const __m256i order =
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kLanesInFront[mask])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(pass.out.indices + count),
                        _mm256_permutevar8x32_epi32(index, order));
    _mm256_storeu_ps(pass.out.values + count, _mm256_permutevar8x32_ps(x, order));
    count += _mm_popcnt_u32(mask);
    index = _mm256_add_epi32(index, _mm256_set1_epi32(kLanes));
  }
  return GatherPlain<kFeedback>(pass, i, count);
}

// Compresses in a register and stores all of it, because compressing stores are microcoded on Zen
// 4.
template <bool kFeedback>
LEGACY_AVX512 int64_t GatherAvx512(const Pass& pass) {
  constexpr int64_t kLanes = 16;
  const __m512i magnitude = _mm512_set1_epi32(static_cast<int>(kLargestKey));
  const __m512i low = _mm512_set1_epi32(static_cast<int>(pass.range.low));
  const __m512i high = _mm512_set1_epi32(static_cast<int>(pass.range.high));
  __m512i index =
      _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(pass.first)),
                       _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  int64_t count = 0;
  int64_t i = 0;
  for (; i + kLanes <= pass.n; i += kLanes) {
    __m512 x = _mm512_loadu_ps(pass.data + i);
    if constexpr (kFeedback) x = _mm512_add_ps(x, _mm512_loadu_ps(pass.gradient + i));
    const __m512i key = _mm512_and_si512(_mm512_castps_si512(x), magnitude);
    if constexpr (kFeedback) {
      const __mmask16 uncertain = _mm512_cmple_epu32_mask(key, high);
      _mm512_storeu_ps(pass.residual + i, _mm512_maskz_mov_ps(uncertain, x));
    }
    const __mmask16 mask = _mm512_cmpge_epu32_mask(key, low);
    _mm512_storeu_si512(pass.out.indices + count, _mm512_maskz_compress_epi32(mask, index));
    _mm512_storeu_ps(pass.out.values + count, _mm512_maskz_compress_ps(mask, x));
    // The mask is moved explicitly: GCC 12 otherwise spills 16 bits of a mask and counts 32.
    count += _mm_popcnt_u32(_cvtmask16_u32(mask));
    index = _mm512_add_epi32(index, _mm512_set1_epi32(kLanes));
  }
  return GatherPlain<kFeedback>(pass, i, count);
}

#endif

template <bool kFeedback>
int64_t Run([[maybe_unused]] Simd simd, const Pass& pass) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) return GatherAvx512<kFeedback>(pass);
  if (simd == Simd::kAvx2) return GatherAvx2<kFeedback>(pass);
#endif
  return GatherPlain<kFeedback>(pass, 0, 0);
}

}  // namespace

int64_t Gather(Simd simd, std::span<const float> values, uint32_t first, uint32_t floor,
               Gathered out) {
  const auto n = static_cast<int64_t>(values.size());
  return Run<false>(simd, {values.data(), nullptr, nullptr, n, first, {floor, kLargestKey}, out});
}

int64_t GatherCompensated(Simd simd, std::span<const float> gradient, std::span<float> residual,
                          uint32_t first, KeyRange range, Gathered out) {
  assert(gradient.size() == residual.size());
  const auto n = static_cast<int64_t>(residual.size());
  return Run<true>(simd, {residual.data(), gradient.data(), residual.data(), n, first, range, out});
}

}  // namespace legacy::cpu
