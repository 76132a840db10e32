// Kernels of threshold.h.
//
//   Reset   resets counters
//   Pass    is the only pass over all data: it writes e = g + r, lists the selected elements in
//           scratch, tile by tile, and clears them
//   Scan    sums the numbers of selected elements before each tile and each segment
//   Emit    writes the lists in order, and restores the residual of elements that did not fit
//
// Scratch has as many entries as the result. Only if the result overflows can a tile's list lack
// room, and Emit then reads the tile again.
//
// Bytes moved per element: 4 read, or with a gradient 8 read and 4 written; per selected element 16
// written and 8 read. The result is deterministic: the place of a tile's list in scratch depends on
// the order of blocks, its contents do not.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/selection/threshold.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"

namespace legacy::cuda {

// All pointers are to device memory.
struct ThresholdJob {
  Segments segments;
  ThresholdArrays arrays;
  // Scratch.
  TopKEntry* entries;  // arrays.capacity
  uint64_t* cursor;    // number of entries in use, or requested
  int64_t* lists;      // place of each tile's list in `entries`, or kNoList
  uint32_t* counts;    // number selected in each tile; then before it in its chunk
  int64_t* chunks;     // number selected in each chunk of tiles; then before it
  uint32_t* chunks_done;
};

inline constexpr int64_t kNoList = -1;

struct ThresholdReset {
  static constexpr int kThreads = 256;
  struct Args {
    ThresholdJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t i = block.index() * kThreads + thread;
      if (i == 0) {
        *args.job.cursor = 0;
        *args.job.chunks_done = 0;
      }
      if (i < args.job.segments.count) args.job.arrays.non_finite[i] = 0;
    });
  }
};

// Runs a block for each tile.
struct ThresholdPass {
  static constexpr int kThreads = 256;
  static constexpr int kVectors = kTile / kThreads / kVector;
  using Vectors = TileVectors<kThreads, kVectors>;
  struct Args {
    ThresholdJob job;
  };
  struct Shared {
    int64_t list;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const ThresholdJob& job = args.job;
    const Tile tile = FindTile(job.segments, block.index(), kTile);
    const int size = static_cast<int>(tile.end - tile.begin);
    const uint32_t floor = cpu::KeyOf(job.arrays.thresholds[tile.segment]);
    typename Block::template PerThread<Vectors::Own<float>> own;
    // Number of selected elements before, by vectors.
    typename Block::template PerThread<uint64_t> before;
    block.ForEachThread([&](int thread) {
      own[thread] = Vectors::ReadSum(job.arrays.gradient, job.arrays.residual, tile, thread);
      uint32_t non_finite = 0;
      before[thread] = 0;
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        if (Vectors::Position(thread, i) >= size) continue;
        const uint32_t key = cpu::KeyOf(own[thread][i]);
        before[thread] += key >= floor ? VectorCounts::One(i) : 0;
        non_finite += key >= cpu::kInfinityKey;
      }
      if (non_finite > 0) block.AtomicAdd(&job.arrays.non_finite[tile.segment], non_finite);
    });
    const uint64_t all = block.ExclusiveSum(before);
    block.ForEachThread([&](int thread) {
      if (thread == 0) block.shared().list = Reserve(block, job, VectorCounts::Total(all));
    });
    block.Sync();
    const int64_t list = block.shared().list;
    block.ForEachThread([&](int thread) {
      if (list != kNoList) {
        List(own[thread], tile, size, thread, floor, before[thread], all, job.entries + list);
      }
      if (!job.arrays.gradient) return;
      if (list != kNoList) {
        LEGACY_UNROLL
        for (float& x : own[thread]) x = cpu::KeyOf(x) >= floor ? 0.0f : x;
      }
      const bool by_vectors = Vectors::SumByVectors(job.arrays.gradient, job.arrays.residual, tile);
      Vectors::Write(own[thread], tile, by_vectors, thread, job.arrays.residual);
    });
  }

 private:
  template <class Block>
  static LEGACY_DEVICE int64_t Reserve(Block& block, const ThresholdJob& job, uint32_t count) {
    const uint64_t begin = count > 0 ? block.AtomicAdd(job.cursor, uint64_t{count}) : 0;
    const bool room = begin + count <= static_cast<uint64_t>(job.arrays.capacity);
    job.counts[block.index()] = count;
    return job.lists[block.index()] = room ? static_cast<int64_t>(begin) : kNoList;
  }
  static LEGACY_DEVICE void List(const Vectors::Own<float>& own, const Tile& tile, int size,
                                 int thread, uint32_t floor, uint64_t before, uint64_t all,
                                 TopKEntry* entries) {
    uint32_t first = 0;  // number of selected elements in earlier vectors
    LEGACY_UNROLL
    for (int vector = 0; vector < kVectors; ++vector) {
      uint32_t at = first + VectorCounts::Of(before, vector);
      LEGACY_UNROLL
      for (int i = kVector * vector; i < kVector * (vector + 1); ++i) {
        const int position = Vectors::Position(thread, i);
        if (position >= size || cpu::KeyOf(own[i]) < floor) continue;
        entries[at++] = {static_cast<uint32_t>(tile.begin + position), own[i]};
      }
      first += VectorCounts::Of(all, vector);
    }
  }
};

// Runs a block for each chunk of tiles. The block that finishes last sums chunks and segments.
struct ThresholdScan {
  static constexpr int kThreads = 512;
  static constexpr int kOwn = 8;
  static constexpr int64_t kChunk = int64_t{kThreads} * kOwn;
  struct Args {
    ThresholdJob job;
  };
  struct Shared {
    bool last;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const ThresholdJob& job = args.job;
    const int64_t tiles = job.segments.first_tile[job.segments.count];
    const int64_t begin = block.index() * kChunk;
    const int64_t sum =
        Scan<int64_t>(block, job.counts + begin, tiles - begin < kChunk ? tiles - begin : kChunk);
    block.ForEachThread([&](int thread) {
      if (thread == 0) job.chunks[block.index()] = sum;
    });
    if (!EndsWork(block, job.chunks_done, 1, block.count(), block.shared().last)) return;
    int64_t total = 0;
    for (int64_t first = 0; first < block.count(); first += kChunk) {
      const int64_t left = block.count() - first;
      total += Scan<int64_t>(block, job.chunks + first, left < kChunk ? left : kChunk, total);
    }
    block.Sync();
    block.ForEachThread([&](int thread) {
      for (int64_t s = thread; s <= job.segments.count; s += kThreads) {
        const int64_t here = Limited(block, job, job.segments.first_tile[s], tiles, total);
        job.arrays.begin[s] = here;
        if (s == job.segments.count) continue;
        const int64_t next = Limited(block, job, job.segments.first_tile[s + 1], tiles, total);
        job.arrays.count[s] = static_cast<uint32_t>(next - here);
      }
      if (thread == 0) {
        *job.arrays.left_out = total > job.arrays.capacity ? total - job.arrays.capacity : 0;
      }
    });
  }

  // Returns the number of selected elements before a tile.
  static LEGACY_DEVICE int64_t Before(const ThresholdJob& job, int64_t tile) {
    return job.chunks[tile / kChunk] + job.counts[tile];
  }

 private:
  // Replaces each x by the sum of those before it, plus `first`; returns the sum of all `n`.
  template <class Sum, class Block, class Number>
  static LEGACY_DEVICE Sum Scan(Block& block, Number* x, int64_t n, Sum first = 0) {
    typename Block::template PerThread<Sum> before;
    typename Block::template PerThread<std::array<Number, kOwn>> own;
    block.ForEachThread([&](int thread) {
      before[thread] = 0;
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const int64_t at = int64_t{thread} * kOwn + i;
        own[thread][i] = at < n ? block.Fresh(&x[at]) : 0;
        before[thread] += own[thread][i];
      }
    });
    const Sum sum = block.ExclusiveSum(before);
    block.ForEachThread([&](int thread) {
      Sum passed = first + before[thread];
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const int64_t at = int64_t{thread} * kOwn + i;
        if (at < n) x[at] = static_cast<Number>(passed);
        passed += own[thread][i];
      }
    });
    return sum;
  }
  template <class Block>
  static LEGACY_DEVICE int64_t Limited(Block& block, const ThresholdJob& job, int64_t tile,
                                       int64_t tiles, int64_t total) {
    const int64_t before =
        tile < tiles ? block.Fresh(&job.chunks[tile / kChunk]) + block.Fresh(&job.counts[tile])
                     : total;
    return before < job.arrays.capacity ? before : job.arrays.capacity;
  }
};

// Blocks are warps, and each warp has several tiles.
struct ThresholdEmit {
  static constexpr int kThreads = kWarp;
  static constexpr int64_t kBlocks = TopKWarps::kBlocks;
  struct Args {
    ThresholdJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const ThresholdJob& job = args.job;
    ForSpreadTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const int64_t list = job.lists[number];
      const int64_t before = ThresholdScan::Before(job, number);
      if (list == kNoList) {
        LookAgain(block, job, tile, before);
        return;
      }
      const int64_t count = UpTo(job, number) - before;
      block.ForEachThread([&](int thread) {
        for (int64_t i = thread; i < count; i += kWarp) {
          Put(job, tile, before + i, job.entries[list + i], job.arrays.gradient != nullptr);
        }
      });
    });
  }

 private:
  // Returns the number of selected elements up to the end of a tile.
  static LEGACY_DEVICE int64_t UpTo(const ThresholdJob& job, int64_t number) {
    const bool last = number + 1 == job.segments.first_tile[job.segments.count];
    return last ? job.arrays.begin[job.segments.count] + *job.arrays.left_out
                : ThresholdScan::Before(job, number + 1);
  }
  template <class Block>
  static LEGACY_DEVICE void LookAgain(Block& block, const ThresholdJob& job, const Tile& tile,
                                      int64_t before) {
    const uint32_t floor = cpu::KeyOf(job.arrays.thresholds[tile.segment]);
    for (int64_t first = tile.begin; first < tile.end; first += kWarp) {
      typename Block::template PerThread<TopKEntry> entry;
      typename Block::template PerThread<bool> selected;
      block.ForEachThread([&](int thread) {
        const int64_t i = first + thread;
        selected[thread] = false;
        if (i >= tile.end) return;
        entry[thread] = {static_cast<uint32_t>(i), job.arrays.residual[tile.offset + i]};
        selected[thread] = cpu::KeyOf(entry[thread].value) >= floor;
      });
      const auto mask = block.Ballot(selected);
      typename Block::template PerThread<int> passed;
      block.ForEachThread([&](int thread) {
        const uint32_t lower = (uint32_t{1} << thread) - 1;
        passed[thread] = std::popcount(mask[thread]);
        if (!selected[thread]) return;
        Put(job, tile, before + std::popcount(mask[thread] & lower), entry[thread], false);
      });
      before += passed[0];
    }
  }
  // Writes entry `at` of the result. `cleared` says whether the residual was cleared there before.
  static LEGACY_DEVICE void Put(const ThresholdJob& job, const Tile& tile, int64_t at,
                                const TopKEntry& entry, bool cleared) {
    const bool room = at < job.arrays.capacity;
    if (room) {
      job.arrays.indices[at] = entry.index;
      job.arrays.values[at] = entry.value;
    }
    if (!job.arrays.feedback || room == cleared) return;
    job.arrays.residual[tile.offset + entry.index] = room ? 0.0f : entry.value;
  }
};

inline ThresholdJob LayOutThreshold(const SegmentTable& table, Segments segments,
                                    const ThresholdArrays& arrays, Workspace& workspace) {
  constexpr int64_t kChunk = ThresholdScan::kChunk;
  return {.segments = segments,
          .arrays = arrays,
          .entries = workspace.Take<TopKEntry>(arrays.capacity),
          .cursor = workspace.Take<uint64_t>(1),
          .lists = workspace.Take<int64_t>(table.tiles()),
          .counts = workspace.Take<uint32_t>(table.tiles()),
          .chunks = workspace.Take<int64_t>(table.tiles() / kChunk + 1),
          .chunks_done = workspace.Take<uint32_t>(1)};
}

template <class Device>
void LaunchThreshold(Device& device, const ThresholdJob& job, const SegmentTable& table) {
  const int64_t tiles = table.tiles();
  device.template Launch<ThresholdReset>(table.count() / ThresholdReset::kThreads + 1, {job});
  device.template Launch<ThresholdPass>(tiles, {job});
  device.template Launch<ThresholdScan>(tiles / ThresholdScan::kChunk + 1, {job});
  const int64_t warps = tiles < ThresholdEmit::kBlocks ? tiles : ThresholdEmit::kBlocks;
  device.template Launch<ThresholdEmit>(warps, {job});
}

}  // namespace legacy::cuda
