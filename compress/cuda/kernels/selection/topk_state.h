// The state of each segment that the kernels of topk_kernels.h share: its range of keys, and the
// code that narrows it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/kernels/selection/topk.h"

namespace legacy::cuda {

inline constexpr int kTopKParts = 2048;  // parts of the range that a kernel counts
inline constexpr int64_t kTopKSample = 16384;

struct TopKEntry {
  uint32_t index;  // position within the segment
  float value;
};

// Tells the kernels after Pass where to find elements that may be selected.
enum class TopKSource : uint32_t {
  kCounts,  // The bracket is one key: tiles have counts, and the residual has the elements.
  kLists,
  kAll,  // The bracket missed: they are found in the residual.
};

// The state of a segment.
struct TopKState {
  uint32_t low, high;  // range of keys that holds the k-th largest, inclusive; one key when found
  uint32_t rank;       // rank of that key among the keys up to `high`, from 1
  uint32_t bracket;    // upper end of Pass's bracket
  uint32_t tiles_done;
  // Number of keys above the bracket (upper half) and of other keys that are listed or counted:
  // one atomic adds a tile's.
  uint64_t counts;
  TopKSource source;
  uint32_t no_room;     // 1 if a tile's list had no room
  uint32_t non_finite;  // number of NaN and infinities
};

struct TopKTile {
  uint32_t list, listed;  // first entry, and number of entries
  uint32_t above, ties;   // numbers of keys above the k-th and equal to it; then before the tile
};

// All pointers are to device memory.
struct TopKJob {
  Segments segments;  // tiles of kTile
  TopKArrays arrays;
  // Scratch.
  TopKState* states;  // one per segment
  TopKTile* tiles;
  uint32_t* parts;  // kTopKParts for each segment
  TopKEntry* entries;
  uint32_t capacity;  // number of entries that there is room for
  uint32_t* cursor;   // number of entries in use
  uint32_t* missed;   // number of segments whose bracket missed
};

LEGACY_DEVICE int64_t TileCount(const Segments& segments, int32_t s) {
  return segments.first_tile[s + 1] - segments.first_tile[s];
}

// Returns the shift that divides a range of keys into parts: part (key - low) >> shift.
LEGACY_DEVICE int TopKShift(uint32_t low, uint32_t high) {
  const int bits = std::bit_width(high - low) - std::bit_width(uint32_t{kTopKParts - 1});
  return bits > 0 ? bits : 0;
}

// Counts keys by parts of a range. Equal neighbours of a thread, and the last keys of a warp's
// threads, are added at once, so that mostly equal keys do not contend for one counter.
struct TopKCounter {
  uint32_t part = 0, run = 0;

  template <class Block>
  LEGACY_DEVICE void Add(Block& block, uint32_t here, uint32_t* parts) {
    if (run > 0 && here != part) {
      block.AtomicAdd(&parts[part], run);
      run = 0;
    }
    part = here;
    ++run;
  }
  template <class Block>
  LEGACY_DEVICE void End(Block& block, uint32_t* parts) {
    if (run > 0 && block.Combine(part, run)) block.AtomicAdd(&parts[part], run);
  }
};

// Narrows the range to the part that holds the rank, and clears the parts.
template <class Block>
LEGACY_DEVICE void NarrowRange(Block& block, TopKState& state, uint32_t* parts) {
  constexpr int kOwn = kTopKParts / Block::kThreads;
  typename Block::template PerThread<uint32_t> before, own;
  block.ForEachThread([&](int thread) {
    uint32_t sum = 0;
    LEGACY_UNROLL_SOME
    for (int i = 0; i < kOwn; ++i) sum += block.Fresh(&parts[kTopKParts - 1 - thread * kOwn - i]);
    before[thread] = own[thread] = sum;
  });
  block.ExclusiveSum(before);
  const uint32_t low = state.low, high = state.high, rank = state.rank;
  block.Sync();
  block.ForEachThread([&](int thread) {
    if (before[thread] < rank && rank <= before[thread] + own[thread]) {
      // The loop has no branch, so that loads do not wait for each other.
      uint32_t counted = before[thread], passed = 0, found = 0;
      LEGACY_UNROLL_SOME
      for (int i = 0; i < kOwn; ++i) {
        const int part = kTopKParts - 1 - thread * kOwn - i;
        const uint32_t here = block.Fresh(&parts[part]);
        const bool holds = counted < rank && rank <= counted + here;
        found = holds ? static_cast<uint32_t>(part) : found;
        passed = holds ? counted : passed;
        counted += here;
      }
      const int shift = TopKShift(low, high);
      const uint32_t from = low + (found << shift), to = from + ((1u << shift) - 1);
      state.low = from;
      state.high = to < high ? to : high;
      state.rank = rank - passed;
    }
  });
  block.Sync();
  block.ForEachThread([&](int thread) {
    for (int i = thread; i < kTopKParts; i += Block::kThreads) parts[i] = 0;
  });
}

// Returns true in the block that completes a segment with the `tiles` tiles that it has just done.
template <class Block>
LEGACY_DEVICE bool EndsSegment(Block& block, const TopKJob& job, int32_t segment, int64_t tiles) {
  return EndsWork(block, &job.states[segment].tiles_done, tiles, TileCount(job.segments, segment),
                  block.shared().last);
}

}  // namespace legacy::cuda
