// The threads of a block share the words of messages, whose values may begin at any byte.
#pragma once

#include <array>
#include <cstdint>

#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"

namespace legacy::cuda {

// Returns the four bytes from byte `at` on, all of which must exist.
LEGACY_DEVICE uint32_t WordAt(const uint32_t* words, int64_t at) {
  const int shift = static_cast<int>(at % kWordBytes) * 8;
  const uint32_t low = words[at / kWordBytes];
  return shift == 0 ? low : low >> shift | words[at / kWordBytes + 1] << (kWordBits - shift);
}
// Returns the four bytes from byte `at` > -4 on, of memory of `bytes` bytes; bytes outside it are
// zeros.
LEGACY_DEVICE uint32_t WordWithin(const std::byte* from, int64_t bytes, int64_t at) {
  if (at < 0) return LoadWord(from, bytes, 0) << -at * 8;
  const int shift = static_cast<int>(at % kWordBytes) * 8;
  const uint32_t low = LoadWord(from, bytes, at / kWordBytes);
  if (shift == 0) return low;
  return low >> shift | LoadWord(from, bytes, at / kWordBytes + 1) << (kWordBits - shift);
}

// Divides the words of a tile among the threads of a block.
struct MessageTiles {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;

  // Returns the tile at its place in a flat buffer in which its segment begins at `offset`.
  static LEGACY_DEVICE Tile Moved(Tile tile, int64_t offset) {
    tile.offset = offset;
    return tile;
  }
  // Returns the part of a tile from word `begin` of the segment to before `end`; it may be empty.
  static LEGACY_DEVICE Tile Within(Tile tile, int64_t begin, int64_t end) {
    if (tile.begin < begin) tile.begin = begin;
    if (tile.end > end) tile.end = end;
    return tile;
  }
  static LEGACY_DEVICE bool Holds(const Tile& tile, int64_t word) {
    return tile.begin <= word && word < tile.end;
  }
  // Calls store(i, word(i)) for every i of the tile; a thread has `together` loads in flight.
  template <int together, class Word, class Store>
  static LEGACY_DEVICE void ForWords(const Tile& tile, int thread, Word word, Store store) {
    for (int64_t at = tile.begin + thread; at < tile.end; at += together * kThreads) {
      std::array<uint32_t, together> words;
      LEGACY_UNROLL
      for (int i = 0; i < together; ++i) {
        words[i] = at + i * kThreads < tile.end ? word(at + i * kThreads) : 0;
      }
      LEGACY_UNROLL
      for (int i = 0; i < together; ++i) {
        if (at + i * kThreads < tile.end) store(at + i * kThreads, words[i]);
      }
    }
  }
};

}  // namespace legacy::cuda
