// Adds the workers' sparse vectors of many segments to dense vectors on a GPU, in the order of the
// workers and to the same bits as cpu/sparse_sum.h. It uses no atomics.
//
//   FindTileEntries  finds where each tile's entries begin in each worker's list, by binary search
//   SparseSum        adds the entries of a tile in shared memory, one worker after the other;
//                    threads read entries of several workers before they add the first
//
// Bytes moved: 4 read and 4 written per element, 8 read per entry, and 8 for each tile and worker.
#pragma once

#include <array>
#include <cstdint>

#include "compress/cuda/device/search.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/device/workspace.h"

namespace legacy::cuda {

struct SparseSumOptions {
  int32_t workers = 1;
  float divisor = 1;
  // Starts sums at 0 instead of at the contents of `sum`, which are then not read.
  bool overwrite = false;
};

// All pointers are to device memory.
struct SparseSumJob {
  Segments segments;  // tiles of kTile
  PackedLists lists;
  SparseSumOptions options;
  float* sum;
  int64_t tiles;
  uint32_t* tile_entries;  // scratch: first entry of each tile, for each worker
};

// Runs a thread for each tile of each worker.
struct FindTileEntries {
  static constexpr int kThreads = 128;
  struct Args {
    SparseSumJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SparseSumJob& job = args.job;
    block.ForEachThread([&](int thread) {
      const int64_t at = block.index() * kThreads + thread;
      if (at >= job.tiles * job.options.workers) return;
      const int64_t worker = at / job.tiles;
      const Tile tile = FindTile(job.segments, at - worker * job.tiles, kTile);
      const int64_t list = worker * job.segments.count + tile.segment;
      job.tile_entries[at] =
          LowerBound(job.lists.indices + job.lists.begin[list], job.lists.count[list], tile.begin);
    });
  }
};

// Runs a block for each tile.
struct SparseSum {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  static constexpr int kFound = kThreads;  // number of workers whose parts are read at once
  static constexpr int kAhead = 8;         // number of workers whose entries are read at once
  struct Args {
    SparseSumJob job;
  };
  struct Part {
    int64_t begin, end;
  };
  struct Shared {
    std::array<float, kTile> sum;
    std::array<Part, kFound> parts;
  };
  struct Entry {
    uint32_t index;  // position in the tile
    float value;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SparseSumJob& job = args.job;
    const Tile tile = FindTile(job.segments, block.index(), kTile);
    const bool by_vectors = Vectors::ByVectors(job.sum, tile);
    auto& shared = block.shared();
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own{};
      if (!job.options.overwrite) Vectors::Read(job.sum, tile, by_vectors, thread, own);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) shared.sum[Vectors::Position(thread, i)] = own[i];
    });
    for (int32_t first = 0; first < job.options.workers; first += kFound) {
      const int32_t left = job.options.workers - first;
      const int32_t workers = left < kFound ? left : kFound;
      block.Sync();
      block.ForEachThread([&](int thread) {
        if (thread < workers)
          shared.parts[thread] = PartOf(job, tile, block.index(), first + thread);
      });
      block.Sync();
      for (int32_t w = 0; w < workers; w += kAhead) {
        AddWorkers(block, job.lists, tile, w, workers - w < kAhead ? workers - w : kAhead);
      }
    }
    block.Sync();
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own;
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        own[i] = shared.sum[Vectors::Position(thread, i)];
        if (job.options.divisor != 1) own[i] /= job.options.divisor;
      }
      Vectors::Write(own, tile, by_vectors, thread, job.sum);
    });
  }

 private:
  // Returns a worker's entries of tile `number`.
  static LEGACY_DEVICE Part PartOf(const SparseSumJob& job, const Tile& tile, int64_t number,
                                   int32_t worker) {
    const int64_t list = int64_t{worker} * job.segments.count + tile.segment;
    const uint32_t* const begins = job.tile_entries + worker * job.tiles + number;
    const bool last = number + 1 == job.segments.first_tile[tile.segment + 1];
    const int64_t begin = job.lists.begin[list];
    return {begin + begins[0], begin + (last ? job.lists.count[list] : begins[1])};
  }
  // Adds the entries of the workers whose parts begin at number `first`.
  template <class Block>
  static LEGACY_DEVICE void AddWorkers(Block& block, const PackedLists& lists, const Tile& tile,
                                       int32_t first, int32_t workers) {
    const auto& parts = block.shared().parts;
    const auto begin = static_cast<uint32_t>(tile.begin);
    typename Block::template PerThread<std::array<Entry, kAhead>> ahead;
    block.ForEachThread([&](int thread) {
      LEGACY_UNROLL
      for (int w = 0; w < kAhead; ++w) {
        if (w >= workers) continue;
        const int64_t at = parts[first + w].begin + thread;
        if (at < parts[first + w].end) {
          ahead[thread][w] = {lists.indices[at] - begin, lists.values[at]};
        }
      }
    });
    LEGACY_UNROLL
    for (int w = 0; w < kAhead; ++w) {
      if (w >= workers) continue;
      block.ForEachThread([&](int thread) {
        const Part part = parts[first + w];
        int64_t at = part.begin + thread;
        if (at >= part.end) return;
        block.shared().sum[ahead[thread][w].index] += ahead[thread][w].value;
        for (at += kThreads; at < part.end; at += kThreads) {
          block.shared().sum[lists.indices[at] - begin] += lists.values[at];
        }
      });
      block.Sync();
    }
  }
};

// Lays out the job that adds to sum[i] every worker's value at i, one worker after the other, and
// then divides by the divisor. List w * table.count() + s is worker w's list of segment s; its
// indices are below the segment's length. Begins may be in any order.
inline SparseSumJob LayOutSparseSum(const SegmentTable& table, Segments segments,
                                    const PackedLists& lists, const SparseSumOptions& options,
                                    float* sum, Workspace& workspace) {
  return {.segments = segments,
          .lists = lists,
          .options = options,
          .sum = sum,
          .tiles = table.tiles(),
          .tile_entries = workspace.Take<uint32_t>(table.tiles() * options.workers)};
}

template <class Device>
void LaunchSparseSum(Device& device, const SparseSumJob& job) {
  device.template Launch<FindTileEntries>(
      TilesOf(job.tiles * job.options.workers, FindTileEntries::kThreads), {job});
  device.template Launch<SparseSum>(job.tiles, {job});
}

}  // namespace legacy::cuda
