// Exact Top-K of magnitudes with error feedback, of many segments at once, with the same bits as
// cpu/topk.h: the k largest |e|, ties to the lower index, ascending.
//
//   Bracket   takes a sample of each segment, which gives two keys between which the k-th largest
//             almost surely lies; a short segment is its own sample, and both keys are the k-th
//   Pass      is the only pass over all data: it writes e = g + r, lists elements that may be
//             selected, tile by tile, clears those above the bracket, and counts keys within the
//             bracket in 2048 parts
//   Restore   undoes the clearing where the bracket missed or the lists had no room
//   Round     narrows the range that holds the k-th key to a part of it, from the lists, or from
//             all elements of a segment whose bracket missed; it is launched three times, mostly
//             with nothing left to do
//   Count     counts keys above the k-th, and equal to it, in each tile
//   Scan      finds where each tile's selected elements begin
//   Emit      writes indices and values in order, and clears selected elements not cleared before
//
// Bytes moved per element: Pass reads 8 and writes 4; 8 are written and 24 read for each listed
// element. 4 more are read where the lists are not used: for short segments, for many equal
// magnitudes (if both ends of the bracket are one key, counts are enough), and if fewer than k
// elements are not zero. The result is deterministic: the place of a tile's list depends on the
// order of blocks, its contents do not.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/selection/topk.h"
#include "compress/cuda/kernels/selection/topk_pass.h"
#include "compress/cuda/kernels/selection/topk_state.h"

namespace legacy::cuda {

// In the following kernels a block is a warp, and each warp has several tiles.
struct TopKWarps {
  static constexpr int kThreads = kWarp;
  struct Args {
    TopKJob job;
  };
  struct Shared {
    bool last;
  };
  static constexpr int64_t kBlocks = 132 * 32;  // fills an H100; further tiles share warps

  static constexpr int kTogether = 4;  // number of a thread's elements in flight

  // The elements that a tile has to read: entries of a list, or all of its elements.
  struct Elements {
    bool listed;
    const TopKEntry* entries;
    const float* values;
    uint32_t begin, count;

    static LEGACY_DEVICE Elements Of(const TopKJob& job, const TopKTile& listed, const Tile& tile,
                                     TopKSource source) {
      if (source == TopKSource::kLists)
        return {true, job.entries + listed.list, nullptr, 0, listed.listed};
      return {false, nullptr, job.arrays.residual + tile.offset + tile.begin,
              static_cast<uint32_t>(tile.begin), static_cast<uint32_t>(tile.end - tile.begin)};
    }
    LEGACY_DEVICE TopKEntry At(uint32_t i) const {
      return listed ? entries[i] : TopKEntry{begin + i, values[i]};
    }
    // Returns a thread's elements from `first` on, kWarp apart, as far as they exist.
    LEGACY_DEVICE std::array<TopKEntry, kTogether> Next(int thread, uint32_t first) const {
      std::array<TopKEntry, kTogether> next{};
      LEGACY_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        const uint32_t at = first + i * kWarp + thread;
        if (at < count) next[i] = At(at);
      }
      return next;
    }
  };

  // Calls element(position in the segment, value) for all elements that a tile has to read.
  template <class Element>
  static LEGACY_DEVICE void ForElements(int thread, const TopKJob& job, const TopKTile& listed,
                                        const Tile& tile, TopKSource source, Element element) {
    const Elements all = Elements::Of(job, listed, tile, source);
    for (uint32_t first = 0; first < all.count; first += kTogether * kWarp) {
      const auto next = all.Next(thread, first);
      LEGACY_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        if (first + i * kWarp + thread < all.count) element(next[i].index, next[i].value);
      }
    }
  }
};

struct TopKRestore : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    if (*job.missed == 0 || !job.arrays.gradient) return;
    ForTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const TopKState& state = job.states[tile.segment];
      if (state.source != TopKSource::kAll) return;
      const TopKTile listed = job.tiles[number];
      block.ForEachThread([&](int thread) {
        ForElements(thread, job, listed, tile, TopKSource::kLists,
                    [&](uint32_t index, float value) {
                      if (cpu::KeyOf(value) > state.bracket)
                        job.arrays.residual[tile.offset + index] = value;
                    });
      });
    });
  }
};

struct TopKRound : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    int32_t segment = -1;
    int64_t tiles = 0;  // number of the segment's tiles in this block
    const auto end_segment = [&] {
      if (segment < 0 || !EndsSegment(block, job, segment, tiles)) return;
      NarrowRange(block, job.states[segment], job.parts + int64_t{segment} * kTopKParts);
    };
    ForTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const TopKState& state = job.states[tile.segment];
      if (tile.segment != segment) {
        end_segment();
        segment = state.low < state.high ? tile.segment : -1;
        tiles = 0;
      }
      if (segment < 0) return;
      ++tiles;
      CountTile(block, job, number, tile, state);
    });
    end_segment();
  }

 private:
  template <class Block>
  static LEGACY_DEVICE void CountTile(Block& block, const TopKJob& job, int64_t number,
                                      const Tile& tile, const TopKState& state) {
    const uint32_t low = state.low, high = state.high;
    const int shift = TopKShift(low, high);
    uint32_t* const parts = job.parts + int64_t{tile.segment} * kTopKParts;
    block.ForEachThread([&](int thread) {
      TopKCounter counter;
      ForElements(thread, job, job.tiles[number], tile, state.source, [&](uint32_t, float value) {
        const uint32_t key = cpu::KeyOf(value);
        if (key >= low && key <= high) counter.Add(block, (key - low) >> shift, parts);
      });
      counter.End(block, parts);
    });
  }
};

struct TopKCount : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    ForSpreadTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const TopKState& state = job.states[tile.segment];
      if (state.source == TopKSource::kCounts || job.arrays.k[tile.segment] == 0) return;
      typename Block::template PerThread<uint32_t> above, ties;
      block.ForEachThread([&](int thread) {
        above[thread] = ties[thread] = 0;
        ForElements(thread, job, job.tiles[number], tile, state.source, [&](uint32_t, float value) {
          above[thread] += cpu::KeyOf(value) > state.low;
          ties[thread] += cpu::KeyOf(value) == state.low;
        });
      });
      block.FoldSum(above);
      block.FoldSum(ties);
      block.ForEachThread([&](int thread) {
        if (thread != 0) return;
        job.tiles[number].above = above[thread];
        job.tiles[number].ties = ties[thread];
      });
    });
  }
};

// Runs a block for each segment. Neighbouring threads read and write neighbouring tiles; in shared
// memory a thread sums neighbours, with a gap in each run that keeps the banks apart.
struct TopKScan {
  static constexpr int kThreads = 1024;
  static constexpr int kOwn = 4;  // number of tiles per thread
  static constexpr int kRoom = kThreads * kOwn;
  struct Args {
    TopKJob job;
  };
  struct Shared {
    std::array<uint64_t, kThreads*(kOwn + 1)> counts;  // both, `above` in the upper half
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    const int64_t begin = job.segments.first_tile[block.index()];
    const int64_t end = job.segments.first_tile[block.index() + 1];
    auto& counts = block.shared().counts;
    uint64_t carried = 0;
    for (int64_t first = begin; first < end; first += kRoom) {
      block.Sync();
      block.ForEachThread([&](int thread) {
        LEGACY_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          const int at = i * kThreads + thread;
          counts[Place(at)] = first + at < end ? Packed(job.tiles[first + at]) : 0;
        }
      });
      block.Sync();
      typename Block::template PerThread<uint64_t> before;
      block.ForEachThread([&](int thread) {
        before[thread] = 0;
        LEGACY_UNROLL
        for (int i = 0; i < kOwn; ++i) before[thread] += counts[Place(thread * kOwn + i)];
      });
      const uint64_t sum = block.ExclusiveSum(before);
      block.ForEachThread([&](int thread) {
        uint64_t passed = carried + before[thread];
        LEGACY_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          uint64_t& here = counts[Place(thread * kOwn + i)];
          const uint64_t own = here;
          here = passed;
          passed += own;
        }
      });
      block.Sync();
      block.ForEachThread([&](int thread) {
        LEGACY_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          const int at = i * kThreads + thread;
          if (first + at >= end) continue;
          job.tiles[first + at].above = static_cast<uint32_t>(counts[Place(at)] >> 32);
          job.tiles[first + at].ties = static_cast<uint32_t>(counts[Place(at)]);
        }
      });
      carried += sum;
    }
    block.ForEachThread([&](int thread) {
      if (thread != 0 || !job.arrays.non_finite) return;
      job.arrays.non_finite[block.index()] = job.states[block.index()].non_finite;
    });
  }

 private:
  // Returns where the counts of tile `i` of the block's are.
  static constexpr int Place(int i) { return i + i / kOwn; }
  static LEGACY_DEVICE uint64_t Packed(const TopKTile& tile) {
    return uint64_t{tile.above} << 32 | tile.ties;
  }
};

// Passes selected elements, in order, to `out`: out.Put(tile, state, at, entry, number of the entry
// if it is listed).
template <class Out>
struct TopKEmitTo : TopKWarps {
  struct Args {
    TopKJob job;
    Out out;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    ForSpreadTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const uint32_t k = job.arrays.k[tile.segment];
      if (k == 0) return;
      const TopKState state = job.states[tile.segment];
      const TopKTile mine = job.tiles[number];
      const uint32_t wanted_ties = state.rank;
      const bool last = number + 1 == job.segments.first_tile[tile.segment + 1];
      const uint32_t above = (last ? k - wanted_ties : job.tiles[number + 1].above) - mine.above;
      if (above == 0 && mine.ties >= wanted_ties) return;
      const Elements all = Elements::Of(job, mine, tile, state.source);
      uint32_t passed_above = 0, passed_ties = 0;
      for (uint32_t first = 0; first < all.count; first += kTogether * kWarp) {
        typename Block::template PerThread<std::array<TopKEntry, kTogether>> entries;
        block.ForEachThread([&](int thread) { entries[thread] = all.Next(thread, first); });
        LEGACY_UNROLL
        for (int i = 0; i < kTogether; ++i) {
          const uint32_t begin = first + i * kWarp;
          typename Block::template PerThread<bool> is_above, is_tie;
          block.ForEachThread([&](int thread) {
            const uint32_t key = cpu::KeyOf(entries[thread][i].value);
            is_above[thread] = begin + thread < all.count && key > state.low;
            is_tie[thread] = begin + thread < all.count && key == state.low;
          });
          const auto aboves = block.Ballot(is_above);
          const auto ties = block.Ballot(is_tie);
          typename Block::template PerThread<uint32_t> next_above, next_ties;
          block.ForEachThread([&](int thread) {
            const uint32_t lower = (uint32_t{1} << thread) - 1;
            const uint32_t before = mine.above + passed_above +
                                    static_cast<uint32_t>(std::popcount(aboves[thread] & lower));
            const uint32_t tied = mine.ties + passed_ties +
                                  static_cast<uint32_t>(std::popcount(ties[thread] & lower));
            const uint32_t ties_kept = tied < wanted_ties ? tied : wanted_ties;
            if (is_above[thread] || (is_tie[thread] && tied < wanted_ties)) {
              args.out.Put(tile, state, job.arrays.out[tile.segment] + before + ties_kept,
                           entries[thread][i], int64_t{mine.list} + begin + thread);
            }
            next_above[thread] = static_cast<uint32_t>(std::popcount(aboves[thread]));
            next_ties[thread] = static_cast<uint32_t>(std::popcount(ties[thread]));
          });
          passed_above += next_above[0];
          passed_ties += next_ties[0];
        }
      }
    });
  }
};

struct TopKOut {
  TopKArrays arrays;

  LEGACY_DEVICE void Put(const Tile& tile, const TopKState& state, int64_t at,
                         const TopKEntry& entry, int64_t) const {
    arrays.indices[at] = entry.index;
    arrays.values[at] = entry.value;
    if (!arrays.gradient) return;
    const bool cleared =
        state.source == TopKSource::kLists && cpu::KeyOf(entry.value) > state.bracket;
    if (!cleared) arrays.residual[tile.offset + entry.index] = 0;
  }
};

// Returns the number of entries of the lists: room for the selected elements and for twice what
// brackets from samples leave. `kept` is at least the sum of all k.
inline int64_t TopKCapacity(const SegmentTable& table, int64_t kept) {
  constexpr int64_t kShare = 32, kOfASegment = 64;
  return kept + table.elements() / kShare + kOfASegment * table.count();
}

// Lays out a job; `segments` is the view of the device's copy of `table`.
inline TopKJob LayOutTopK(const SegmentTable& table, Segments segments, const TopKArrays& arrays,
                          int64_t kept, Workspace& workspace) {
  const int64_t capacity = TopKCapacity(table, kept);
  return {.segments = segments,
          .arrays = arrays,
          .states = workspace.Take<TopKState>(table.count()),
          .tiles = workspace.Take<TopKTile>(table.tiles()),
          .parts = workspace.Take<uint32_t>(int64_t{table.count()} * kTopKParts),
          .entries = workspace.Take<TopKEntry>(capacity),
          .capacity = static_cast<uint32_t>(capacity),
          .cursor = workspace.Take<uint32_t>(1),
          .missed = workspace.Take<uint32_t>(1)};
}

inline int64_t TopKBlocks(int64_t tiles) {
  return tiles < TopKWarps::kBlocks ? tiles : TopKWarps::kBlocks;
}

// Launches the kernels from the lists to the selected elements.
template <class Out, class Device>
void LaunchTopKOfLists(Device& device, const TopKJob& job, int64_t segments, int64_t tiles,
                       const Out& out) {
  constexpr int kRounds = 3;  // 11 bits each, which cover all bits of a key
  const int64_t blocks = TopKBlocks(tiles);
  for (int round = 0; round < kRounds; ++round) device.template Launch<TopKRound>(blocks, {{job}});
  device.template Launch<TopKCount>(blocks, {{job}});
  device.template Launch<TopKScan>(segments, {job});
  device.template Launch<TopKEmitTo<Out>>(blocks, {job, out});
}

// Launches all kernels, whatever the data are.
template <class Device>
void LaunchTopK(Device& device, const TopKJob& job, int64_t segments, int64_t tiles) {
  device.template Launch<TopKBracket>(segments, {job});
  device.template Launch<TopKPass>(tiles, {job});
  device.template Launch<TopKRestore>(TopKBlocks(tiles), {{job}});
  LaunchTopKOfLists(device, job, segments, tiles, TopKOut{job.arrays});
}

}  // namespace legacy::cuda
