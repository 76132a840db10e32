// Adds the workers' sparse vectors of many segments to dense vectors on a GPU, in the order of the
// workers and to the same bits as cpu/sparse_sum.h. It uses no atomics: a block finds its tile's
// part of each worker's list by binary search. Bytes moved: 4 read and 4 written per element, and 8
// read per entry.
//
// The tile is in shared memory while entries are added to it. A worker's entries are added after
// the previous worker's, so threads read entries of several workers before they add the first.
#pragma once

#include <array>
#include <cstdint>

#include "compress/cuda/device/search.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"

namespace legacy::cuda {

struct SparseSumOptions {
  int32_t workers = 1;
  float divisor = 1;
  // Starts sums at 0 instead of at the contents of `sum`, which are then not read.
  bool overwrite = false;
};

// Runs a block for each tile.
struct SparseSum {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  // Number of workers whose parts are searched for at once.
  static constexpr int kFound = kThreads / 2;
  static constexpr int kAhead = 8;  // number of workers whose entries are read at once
  struct Args {
    Segments segments;
    PackedLists lists;
    SparseSumOptions options;
    float* sum;
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
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const bool by_vectors = Vectors::ByVectors(args.sum, tile);
    auto& shared = block.shared();
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own{};
      if (!args.options.overwrite) Vectors::Read(args.sum, tile, by_vectors, thread, own);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) shared.sum[Vectors::Position(thread, i)] = own[i];
    });
    for (int32_t first = 0; first < args.options.workers; first += kFound) {
      const int32_t left = args.options.workers - first;
      const int32_t workers = left < kFound ? left : kFound;
      block.Sync();
      block.ForEachThread(
          [&](int thread) { FindParts(block, args, tile, first, workers, thread); });
      block.Sync();
      for (int32_t w = 0; w < workers; w += kAhead) {
        AddWorkers(block, args.lists, tile, w, workers - w < kAhead ? workers - w : kAhead);
      }
    }
    block.Sync();
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own;
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        own[i] = shared.sum[Vectors::Position(thread, i)];
        if (args.options.divisor != 1) own[i] /= args.options.divisor;
      }
      Vectors::Write(own, tile, by_vectors, thread, args.sum);
    });
  }

 private:
  // Finds the workers' parts of a tile: even threads find begins, odd threads find ends.
  template <class Block>
  static LEGACY_DEVICE void FindParts(Block& block, const Args& args, const Tile& tile,
                                      int32_t first, int32_t workers, int thread) {
    const int32_t w = thread / 2;
    if (w >= workers) return;
    const int64_t list = int64_t{first + w} * args.segments.count + tile.segment;
    const int64_t begin = args.lists.begin[list];
    const bool is_end = thread % 2 != 0;
    const int64_t found = begin + LowerBound(args.lists.indices + begin, args.lists.count[list],
                                             is_end ? tile.end : tile.begin);
    (is_end ? block.shared().parts[w].end : block.shared().parts[w].begin) = found;
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

// Adds to sum[i] every worker's value at i, one worker after the other, and then divides by the
// divisor. List w * table.count() + s is worker w's list of segment s; its indices are below the
// segment's length. Begins may be in any order.
template <class Device>
void LaunchSparseSum(Device& device, const SegmentTable& table, Segments segments,
                     const PackedLists& lists, const SparseSumOptions& options, float* sum) {
  device.template Launch<SparseSum>(table.tiles(), {segments, lists, options, sum});
}

}  // namespace legacy::cuda
