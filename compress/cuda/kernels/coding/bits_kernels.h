// Lists the positions of the set bits of many bitmaps, ascending. Random subsets end with this, and
// messages that send positions as bits are read with it.
//
//   CountBits   counts the set bits of each tile
//   ScanBits    sums the counts of the tiles before each tile
//   EmitBits    orders the positions of a tile in shared memory and writes them contiguously
//
// Bytes moved: a bitmap is read twice, and 4 bytes are written for each position.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/coding/bits.h"

namespace legacy::cuda {

// All pointers are to device memory.
struct BitJob {
  Segments words;  // words of each bitmap, in tiles of kBitTile
  const BitSet* sets = nullptr;
  const uint32_t* bitmaps = nullptr;
  uint32_t* positions = nullptr;
  // Scratch: number of positions in each tile, then in the tiles before it.
  uint32_t* before = nullptr;
  uint32_t* found = nullptr;  // number of positions of each bitmap
};

inline constexpr int kBitThreads = 256;
using BitVectors = TileVectors<kBitThreads, 1>;
static_assert(BitVectors::kElements == kBitTile);

// Returns a thread's words of a tile, with the selected bits set.
LEGACY_DEVICE BitVectors::Own<uint32_t> ReadBits(const BitJob& job, const Tile& tile, int thread) {
  const BitSet set = job.sets[tile.segment];
  BitVectors::Own<uint32_t> words;
  BitVectors::Read(job.bitmaps, tile, BitVectors::ByVectors(job.bitmaps, tile), thread, words);
  LEGACY_UNROLL
  for (int i = 0; i < BitVectors::kOwn; ++i) {
    const int64_t rest = set.bits - (tile.begin + BitVectors::Position(thread, i)) * kBitsInWord;
    if (set.complement) words[i] = ~words[i];
    if (rest < kBitsInWord) words[i] &= rest > 0 ? (1u << rest) - 1 : 0;
  }
  return words;
}

// Runs a block for each tile.
struct CountBits {
  static constexpr int kThreads = kBitThreads;
  struct Args {
    BitJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.job.words, block.index(), kBitTile);
    typename Block::template PerThread<uint32_t> own;
    block.ForEachThread([&](int thread) {
      own[thread] = 0;
      for (const uint32_t word : ReadBits(args.job, tile, thread))
        own[thread] += std::popcount(word);
    });
    const uint32_t count = block.Sum(own);
    block.ForEachThread([&](int thread) {
      if (thread == 0) args.job.before[block.index()] = count;
    });
  }
};

// Runs a block for each bitmap.
struct ScanBits {
  static constexpr int kThreads = 1024;
  struct Args {
    BitJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const int64_t begin = args.job.words.first_tile[block.index()];
    const int64_t end = args.job.words.first_tile[block.index() + 1];
    uint32_t carried = 0;
    for (int64_t first = begin; first < end; first += kThreads) {
      typename Block::template PerThread<uint32_t> before;
      block.ForEachThread([&](int thread) {
        before[thread] = first + thread < end ? args.job.before[first + thread] : 0;
      });
      const uint32_t sum = block.ExclusiveSum(before);
      block.ForEachThread([&](int thread) {
        if (first + thread < end) args.job.before[first + thread] = carried + before[thread];
      });
      carried += sum;
    }
    block.ForEachThread([&](int thread) {
      if (thread == 0) args.job.found[block.index()] = carried;
    });
  }
};

// Runs a block for each tile.
struct EmitBits {
  static constexpr int kThreads = kBitThreads;
  static constexpr uint32_t kStage = 8192;  // positions
  static_assert(kBitTile * kBitsInWord <= 0x10000);
  struct Args {
    BitJob job;
  };
  struct Shared {
    std::array<uint16_t, kStage> stage;  // positions in the tile
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const BitJob& job = args.job;
    const Tile tile = FindTile(job.words, block.index(), kBitTile);
    typename Block::template PerThread<BitVectors::Own<uint32_t>> words;
    typename Block::template PerThread<uint32_t> rank;
    block.ForEachThread([&](int thread) {
      words[thread] = ReadBits(job, tile, thread);
      rank[thread] = 0;
      LEGACY_UNROLL
      for (const uint32_t word : words[thread]) rank[thread] += std::popcount(word);
    });
    const uint32_t count = block.ExclusiveSum(rank);
    const BitSet set = job.sets[tile.segment];
    const int64_t before = job.before[block.index()];
    const int64_t room = set.most - before;
    uint32_t* const out = job.positions + set.out + before;
    const auto base = static_cast<uint32_t>(tile.begin * kBitsInWord);
    for (uint32_t first = 0; first < count; first += kStage) {
      block.ForEachThread([&](int thread) {
        Stage(words[thread], thread, rank[thread], first, block.shared().stage);
      });
      block.Sync();
      block.ForEachThread([&](int thread) {
        for (uint32_t i = thread; i < kStage && first + i < count; i += kThreads) {
          if (first + i < room) out[first + i] = base + block.shared().stage[i];
        }
      });
      block.Sync();
    }
  }

 private:
  // Writes a thread's positions whose rank in the tile is in first .. first + kStage - 1.
  static LEGACY_DEVICE void Stage(const BitVectors::Own<uint32_t>& words, int thread, uint32_t rank,
                                  uint32_t first, std::array<uint16_t, kStage>& stage) {
    LEGACY_UNROLL
    for (int i = 0; i < BitVectors::kOwn; ++i) {
      for (uint32_t bits = words[i]; bits != 0; bits &= bits - 1, ++rank) {
        // The difference wraps around for ranks below `first`.
        if (rank - first >= kStage) continue;
        stage[rank - first] =
            static_cast<uint16_t>(BitVectors::Position(thread, i) * kBitsInWord + LowestBit(bits));
      }
    }
  }
};

template <class Device>
void LaunchBits(Device& device, const BitJob& job, int64_t bitmaps, int64_t tiles) {
  device.template Launch<CountBits>(tiles, {job});
  device.template Launch<ScanBits>(bitmaps, {job});
  device.template Launch<EmitBits>(tiles, {job});
}

}  // namespace legacy::cuda
