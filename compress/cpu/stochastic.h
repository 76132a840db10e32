// Draws for stochastic rounding have 15 bits per element. They are a function of (key, element)
// alone, the same on any processor and whichever part of a vector is rounded at a time.
//
// Elements are taken in groups of 64. Group g has blocks 8 g .. 8 g + 7 of Philox4x32 with seven
// rounds, the fewest that pass every test of Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", SC'11. Element 64 g + j draws from word 2 (j / 32) + j % 2 of block 8 g + (j % 16) / 2:
// the low 15 bits if j / 16 is even, and the high 15 if it is odd. Sixteen neighbours therefore
// need one shift or mask of a register, and a GPU's thread one block.
//
// Probabilities are rounded to multiples of 2^-15: the expectation of a rounded value is off by at
// most 2^-16 of the step between the two values that it can become.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "base/simd.h"

namespace legacy::cpu {

inline constexpr int kDrawBits = 15;
inline constexpr int64_t kDrawGroup = 64;  // elements
inline constexpr int kDrawWords = 32;      // words per group
inline constexpr int kDrawLanes = 16;      // number of neighbours in a run
inline constexpr int kDrawSlices = 4;      // runs per group
inline constexpr int kDrawRounds = 7;
inline constexpr int kDrawBlocks = 8;  // blocks per group

// The source from which the draws of a vector are computed.
struct DrawSource {
  std::array<uint32_t, 2> key{};
  std::array<uint32_t, 4> counter{};  // the first word is the block's number
};

// Returns the source of `key`, whose purpose is kStochastic.
DrawSource MakeDrawSource(const RandomKey& key);

// Returns the words of a block.
constexpr std::array<uint32_t, 4> DrawBlock(const DrawSource& source, int64_t block) {
  auto counter = source.counter;
  counter[0] = static_cast<uint32_t>(block);
  return Philox4x32(counter, source.key, kDrawRounds);
}

// Returns the draw of an element of slice `slice` of its group, from its word.
LEGACY_INLINE constexpr uint32_t DrawOfWord(uint32_t word, int slice) {
  return slice % 2 == 0 ? word & ((1u << kDrawBits) - 1) : word >> (32 - kDrawBits);
}

// Returns the draw of one element, below 2^15; i < 2^32. This is the definition.
constexpr uint32_t DrawOf(const DrawSource& source, int64_t i) {
  const auto j = static_cast<int>(i % kDrawGroup);
  const auto block = DrawBlock(source, i / kDrawGroup * kDrawBlocks + j % kDrawLanes / 2);
  return DrawOfWord(block[j / (2 * kDrawLanes) * 2 + j % 2], j / kDrawLanes);
}

// Writes the words of `groups` groups from `first` on, for SliceOf(). Memory is idle while draws
// are computed, so if `ahead` is not null, one value per draw from there on is prefetched.
void FillDraws(const DrawSource& source, int64_t first, int64_t groups, uint32_t* words,
               Simd simd = ActiveSimd(), const float* ahead = nullptr);

// Returns the draw of element `slice` * 16 + lane of a group with these words; slice < 4.
LEGACY_INLINE constexpr uint32_t SliceOf(const uint32_t* words, int slice, int lane) {
  return DrawOfWord(words[slice / 2 * kDrawLanes + lane], slice);
}

}  // namespace legacy::cpu
