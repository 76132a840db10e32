// Sets of positions as bits: position i is bit i mod 32, lowest first, of word i / 32.
#pragma once

#include <cstdint>

namespace legacy::cuda {

inline constexpr int64_t kBitsInWord = 32;
inline constexpr int64_t kBitTile = 1024;  // words

constexpr int64_t BitWords(int64_t bits) { return (bits + kBitsInWord - 1) / kBitsInWord; }

// One of several that are turned into positions at once.
struct BitSet {
  int64_t bits = 0;         // what follows them in the last word is not looked at
  bool complement = false;  // of the bits that are clear
  int64_t out = 0;          // where its positions go,
  int64_t most = 0;         // of which no more than these are written
};

}  // namespace legacy::cuda
