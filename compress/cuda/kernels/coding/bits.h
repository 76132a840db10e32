// Sets of positions as bits: position i is bit i mod 32, lowest first, of word i / 32.
#pragma once

#include <bit>
#include <cstdint>

namespace legacy::cuda {

inline constexpr int64_t kBitsInWord = 32;
inline constexpr int64_t kBitTile = 1024;  // words

// Returns the position of the lowest set bit of a word that is not 0. Of <bit>, device code may
// call only std::bit_width, std::countl_zero and std::popcount of 32 bits: nvcc knows only the
// builtin functions of these, and silently makes constants of all others. tests/checks/traps.sh
// finds such calls in kernels.
constexpr int LowestBit(uint32_t word) { return std::bit_width(word & (~word + 1)) - 1; }

constexpr int64_t BitWords(int64_t bits) { return (bits + kBitsInWord - 1) / kBitsInWord; }

// A bit set that is turned into positions, together with others.
struct BitSet {
  // Number of bits; later bits of the last word are ignored.
  int64_t bits = 0;
  // Selects the clear bits instead of the set ones.
  bool complement = false;
  // Index at which its positions are written.
  int64_t out = 0;
  // Largest number of positions that are written.
  int64_t most = 0;
};

}  // namespace legacy::cuda
