// The kernels of topk_kernels.h share keys, a segment's range of keys and how it is narrowed.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/kernels/selection/topk.h"

namespace legacy::cuda {

inline constexpr int kTopKParts = 2048;  // of a range, in a round
inline constexpr int64_t kTopKSample = 16384;

struct TopKEntry {
  uint32_t index;  // in the segment
  float value;
};

// A TopKSource says where the kernels after Pass find what may be kept.
enum class TopKSource : uint32_t {
  kCounts,  // the bracket was one key: tiles have counts, and the residual the elements
  kLists,
  kAll,  // the bracket missed: the residual
};

// A TopKState is that of a segment.
struct TopKState {
  uint32_t low, high;   // keys that hold the k-th largest, both inside; one key when it is found
  uint32_t rank;        // of it, from 1, among the keys up to `high`
  uint32_t bracket;     // upper end that Pass used
  uint32_t winners;     // above it
  uint32_t candidates;  // listed, or counted, and not above it
  uint32_t tiles_done;
  TopKSource source;
  uint32_t no_room;     // for a tile's list
  uint32_t non_finite;  // elements
};

struct TopKTile {
  uint32_t list, listed;  // entries
  uint32_t above, ties;   // keys above the k-th, equal to it; then those of the tiles before
};

// All in the memory of the device.
struct TopKJob {
  Segments segments;  // tiles of kTile
  TopKArrays arrays;
  // Scratch.
  TopKState* states;  // of each segment
  TopKTile* tiles;
  uint32_t* parts;  // kTopKParts for each segment
  TopKEntry* entries;
  uint32_t capacity;  // of entries
  uint32_t* cursor;   // entries in use
  uint32_t* missed;   // segments whose bracket missed
};

LEGACY_DEVICE int64_t TileCount(const Segments& segments, int32_t s) {
  return segments.first_tile[s + 1] - segments.first_tile[s];
}

// Keys of a range by parts: (key - low) >> TopKShift.
LEGACY_DEVICE int TopKShift(uint32_t low, uint32_t high) {
  const int bits = std::bit_width(high - low) - std::bit_width(uint32_t{kTopKParts - 1});
  return bits > 0 ? bits : 0;
}

// Counts keys by parts of a range: a thread's equal neighbours, and a warp's last ones, at once, so
// that keys that are mostly equal do not queue for one counter.
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

// The part of the range that holds the rank becomes the range. Clears the parts.
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
      // No branch leaves the loop: loads do not wait for each other.
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

// True where this block ends the work on `tiles` more tiles of a segment as the last one of all.
template <class Block>
LEGACY_DEVICE bool EndsSegment(Block& block, const TopKJob& job, int32_t segment, int64_t tiles) {
  return EndsWork(block, &job.states[segment].tiles_done, tiles, TileCount(job.segments, segment),
                  block.shared().last);
}

}  // namespace legacy::cuda
