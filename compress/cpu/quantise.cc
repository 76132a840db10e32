#include "compress/cpu/quantise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace legacy::cpu {
namespace {

constexpr int64_t kWords = kQuantiseBlock / kDrawGroup * kDrawWords;
template <bool kStochastic>
LEGACY_INLINE void EncodeGroups(const float* __restrict values, int64_t groups, float scale,
                                float offset, const uint32_t* __restrict words,
                                uint8_t* __restrict codes) {
  for (int64_t g = 0; g < groups; ++g) {
    // Loops over numbers of one width are vectorised.
    uint32_t wide[kDrawGroup];
#pragma GCC unroll 4
    for (int slice = 0; slice < kDrawSlices; ++slice) {
      for (int lane = 0; lane < kDrawLanes; ++lane) {
        const int i = slice * kDrawLanes + lane;
        const uint32_t draw = kStochastic ? SliceOf(words, slice, lane) : 0;
        wide[i] = CodeBits<kStochastic>(values[i], scale, offset, draw);
      }
    }
    for (int i = 0; i < kDrawGroup; ++i) codes[i] = static_cast<uint8_t>(wide[i]);
    values += kDrawGroup;
    codes += kDrawGroup;
    if constexpr (kStochastic) words += kDrawWords;
  }
}

LEGACY_INLINE void Prepare(const float* values, int64_t n, float low, float high, float factor,
                           float origin, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = PreparedValue(values[i], low, high, factor, origin);
}

LEGACY_INLINE void RoundGroups(const float* __restrict values, int64_t groups,
                               const uint32_t* __restrict words, float* __restrict rounded) {
  for (int64_t g = 0; g < groups; ++g) {
#pragma GCC unroll 4
    for (int slice = 0; slice < kDrawSlices; ++slice) {
      for (int lane = 0; lane < kDrawLanes; ++lane) {
        const int i = slice * kDrawLanes + lane;
        rounded[i] = PowerOf(values[i], SliceOf(words, slice, lane));
      }
    }
    values += kDrawGroup;
    rounded += kDrawGroup;
    words += kDrawWords;
  }
}

LEGACY_INLINE void DecodeSymmetricAll(const uint8_t* codes, int64_t n, float bound, int levels,
                                      float* values) {
  const float inverse = 1.0f / static_cast<float>(levels);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = SymmetricValue(codes[i], bound, levels, inverse);
  }
}

LEGACY_INLINE void DecodeRangeAll(const uint8_t* codes, int64_t n, float least, float most,
                                  int levels, float* values) {
  const float inverse = 1.0f / static_cast<float>(levels);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = RangeValue(codes[i], least, most, inverse);
  }
}

LEGACY_INLINE uint8_t LargestOf(const uint8_t* codes, int64_t n) {
  uint8_t largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = largest > codes[i] ? largest : codes[i];
  return largest;
}

// The loop has lanes, because without -ffast-math a single minimum is not vectorised.
LEGACY_INLINE Range RangeOfAll(const float* values, int64_t n) {
  constexpr int kLanes = 32;
  float least[kLanes];
  float most[kLanes];
  for (int l = 0; l < kLanes; ++l) least[l] = most[l] = values[0];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      least[l] = values[i + l] < least[l] ? values[i + l] : least[l];
      most[l] = values[i + l] > most[l] ? values[i + l] : most[l];
    }
  }
  Range range = {least[0], most[0]};
  for (int l = 0; l < kLanes; ++l) {
    if (least[l] < range.least) range.least = least[l];
    if (most[l] > range.most) range.most = most[l];
  }
  for (; i < n; ++i) {
    if (values[i] < range.least) range.least = values[i];
    if (values[i] > range.most) range.most = values[i];
  }
  return range;
}

}  // namespace

void EncodeCodes(std::span<const float> values, const CodeGrid& grid, const DrawSource& source,
                 int64_t first, std::span<uint8_t> codes, Simd simd, const float* ahead) {
  assert(values.size() == codes.size() && first % kDrawGroup == 0);
  std::array<uint32_t, kWords> words;
  std::array<float, kQuantiseBlock> prepared;
  std::array<uint8_t, kQuantiseBlock> last;
  const float offset = OffsetOf(grid);
  const auto n = static_cast<int64_t>(values.size());
  for (int64_t begin = 0; begin < n; begin += kQuantiseBlock) {
    const int64_t size = std::min(kQuantiseBlock, n - begin);
    const int64_t groups = (size + kDrawGroup - 1) / kDrawGroup;
    const bool whole = size == groups * kDrawGroup;
    const float* from = values.data() + begin;
    if (grid.prepared) {
      Dispatch<Prepare>(simd, from, size, grid.low, grid.high, grid.factor, grid.origin,
                        prepared.data());
    } else if (!whole) {
      std::copy_n(from, size, prepared.begin());
    }
    if (!whole) std::fill(prepared.begin() + size, prepared.begin() + groups * kDrawGroup, 0.0f);
    if (grid.prepared || !whole) from = prepared.data();
    uint8_t* to = whole ? codes.data() + begin : last.data();
    if (grid.stochastic) {
      FillDraws(source, (first + begin) / kDrawGroup, groups, words.data(), simd,
                ahead == nullptr ? nullptr : ahead + begin);
      Dispatch<EncodeGroups<true>>(simd, from, groups, grid.scale, offset,
                                   static_cast<const uint32_t*>(words.data()), to);
    } else {
      Dispatch<EncodeGroups<false>>(simd, from, groups, grid.scale, offset,
                                    static_cast<const uint32_t*>(words.data()), to);
    }
    if (!whole) std::copy_n(last.begin(), size, codes.begin() + begin);
  }
}

void DecodeSymmetric(std::span<const uint8_t> codes, float bound, int levels,
                     std::span<float> values, Simd simd) {
  assert(values.size() == codes.size());
  Dispatch<DecodeSymmetricAll>(simd, codes.data(), static_cast<int64_t>(codes.size()), bound,
                               levels, values.data());
}

void DecodeRange(std::span<const uint8_t> codes, float least, float most, int levels,
                 std::span<float> values, Simd simd) {
  assert(values.size() == codes.size());
  Dispatch<DecodeRangeAll>(simd, codes.data(), static_cast<int64_t>(codes.size()), least, most,
                           levels, values.data());
}

void RoundToPowers(std::span<const float> values, const DrawSource& source, int64_t first,
                   std::span<float> rounded, Simd simd) {
  assert(values.size() == rounded.size() && first % kDrawGroup == 0);
  std::array<uint32_t, kWords> words;
  const auto n = static_cast<int64_t>(values.size());
  for (int64_t begin = 0; begin < n; begin += kQuantiseBlock) {
    const int64_t size = std::min(kQuantiseBlock, n - begin);
    const int64_t groups = size / kDrawGroup;
    FillDraws(source, (first + begin) / kDrawGroup, (size + kDrawGroup - 1) / kDrawGroup,
              words.data(), simd);
    Dispatch<RoundGroups>(simd, values.data() + begin, groups,
                          static_cast<const uint32_t*>(words.data()), rounded.data() + begin);
    if (groups * kDrawGroup == size) continue;
    std::array<float, kDrawGroup> last{};
    std::array<float, kDrawGroup> last_rounded;
    const int64_t done = begin + groups * kDrawGroup;
    std::copy(values.begin() + done, values.begin() + begin + size, last.begin());
    RoundGroups(last.data(), 1, words.data() + groups * kDrawWords, last_rounded.data());
    std::copy_n(last_rounded.begin(), begin + size - done, rounded.begin() + done);
  }
}

uint8_t LargestCode(std::span<const uint8_t> codes, Simd simd) {
  return Dispatch<LargestOf>(simd, codes.data(), static_cast<int64_t>(codes.size()));
}

Range RangeOf(std::span<const float> values, Simd simd) {
  assert(!values.empty());
  const Range range =
      Dispatch<RangeOfAll>(simd, values.data(), static_cast<int64_t>(values.size()));
  return {range.least + 0.0f, range.most + 0.0f};  // replaces -0 by 0
}

}  // namespace legacy::cpu
