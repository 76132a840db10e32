// Counts the distribution of magnitudes of many segments in one read. The bins are those of
// cpu/histogram.h, and MagnitudeHistogram::AddBins() takes them, so that every answer of a
// MagnitudeCurve equals the CPU's.
//
// A block counts a run of tiles in its shared memory and adds the counts to the segment's bins,
// once if the run does not leave the segment.
//
// In shared memory a bin is two numbers of 32 bits, because an atomic adds such a number in one
// instruction. The thread that sees a sum of offsets wrap adds 2^32 to the segment's sum. A thread
// counts zeros in a register and adds equal neighbours at once, so that data that are mostly zero,
// or constant, do not contend for one bin.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/histogram.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"

namespace legacy::cuda {

inline constexpr int kHistogramBins = cpu::MagnitudeHistogram::kBins;

// Bins of all segments, one segment after the other.
struct HistogramBins {
  uint32_t* counts;
  uint64_t* offsets;
};

struct ClearBins {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    HistogramBins bins;
    int64_t n;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FlatTile(block.index(), args.n);
    const bool by_vectors =
        Vectors::ByVectors(args.bins.counts, tile) && Vectors::ByVectors(args.bins.offsets, tile);
    block.ForEachThread([&](int thread) {
      Vectors::Write(Vectors::Own<uint32_t>{}, tile, by_vectors, thread, args.bins.counts);
      Vectors::Write(Vectors::Own<uint64_t>{}, tile, by_vectors, thread, args.bins.offsets);
    });
  }
};

// Runs every block over a run of tiles; all runs are equally long.
struct CountBins {
  static constexpr int kThreads = 512;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  // An H100 has shared memory for this many blocks.
  static constexpr int kBlocksTogether = 3;
  static constexpr int64_t kBlocks = 132 * kBlocksTogether;
  static constexpr int kBins = kHistogramBins;
  static constexpr int kOffsetBits = cpu::MagnitudeHistogram::kOffsetBits;
  struct Args {
    Segments segments;
    const float* values;
    HistogramBins bins;
  };
  struct Shared {
    std::array<uint32_t, kBins> counts;
    std::array<uint32_t, kBins> offsets;  // modulo 2^32
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    typename Block::template PerThread<uint32_t> zeros;
    block.ForEachThread([&](int thread) {
      for (int bin = thread; bin < kBins; bin += kThreads) {
        block.shared().counts[bin] = block.shared().offsets[bin] = 0;
      }
      zeros[thread] = 0;
    });
    block.Sync();
    int32_t segment = -1;
    ForTiles(block, args.segments, [&](int64_t, const Tile& tile) {
      if (tile.segment != segment && segment >= 0) Flush(block, zeros, Of(args.bins, segment));
      segment = tile.segment;
      const bool by_vectors = Vectors::ByVectors(args.values, tile);
      block.ForEachThread([&](int thread) {
        Vectors::Own<float> own;
        Vectors::Read(args.values, tile, by_vectors, thread, own);
        zeros[thread] += Count(block, own, static_cast<int>(tile.end - tile.begin), thread,
                               Of(args.bins, segment));
      });
    });
    if (segment >= 0) Flush(block, zeros, Of(args.bins, segment));
  }

 private:
  static LEGACY_DEVICE HistogramBins Of(const HistogramBins& bins, int32_t segment) {
    return {bins.counts + int64_t{segment} * kBins, bins.offsets + int64_t{segment} * kBins};
  }

  // Counts a thread's elements of a tile of `n` elements; returns the number of zeros.
  template <class Block>
  static LEGACY_DEVICE uint32_t Count(Block& block, const Vectors::Own<float>& values, int n,
                                      int thread, const HistogramBins& bins) {
    uint32_t zeros = 0;
    uint32_t bin = 0, run = 0, sum = 0;
    LEGACY_UNROLL
    for (int i = 0; i < Vectors::kOwn; ++i) {
      if (Vectors::Position(thread, i) >= n) continue;
      const uint32_t bits = cpu::KeyOf(values[i]);
      if (bits == 0) {
        ++zeros;
        continue;
      }
      const uint32_t here = bits >> kOffsetBits;
      if (here != bin) {
        AddRun(block, bin, run, sum, bins);
        bin = here;
        run = sum = 0;
      }
      ++run;
      sum += bits & ((1u << kOffsetBits) - 1);
    }
    if (run > 0 && block.Combine(bin, run, sum)) AddRun(block, bin, run, sum, bins);
    return zeros;
  }
  template <class Block>
  static LEGACY_DEVICE void AddRun(Block& block, uint32_t bin, uint32_t run, uint32_t sum,
                                   const HistogramBins& bins) {
    if (run == 0) return;
    block.AtomicAdd(&block.shared().counts[bin], run);
    const uint32_t before = block.AtomicAdd(&block.shared().offsets[bin], sum);
    if (before + sum < before) block.AtomicAdd(&bins.offsets[bin], uint64_t{1} << 32);
  }

  // Adds the block's bins to the segment's and clears them.
  template <class Block, class Zeros>
  static LEGACY_DEVICE void Flush(Block& block, Zeros& zeros, const HistogramBins& bins) {
    const uint32_t all_zeros = block.Sum(zeros);
    block.Sync();
    block.ForEachThread([&](int thread) {
      zeros[thread] = 0;
      if (thread == 0 && all_zeros > 0) block.AtomicAdd(&bins.counts[0], all_zeros);
      for (int bin = thread; bin < kBins; bin += kThreads) {
        uint32_t& count = block.shared().counts[bin];
        uint32_t& offset = block.shared().offsets[bin];
        if (count == 0) continue;
        block.AtomicAdd(&bins.counts[bin], count);
        if (offset > 0) block.AtomicAdd(&bins.offsets[bin], uint64_t{offset});
        count = offset = 0;
      }
    });
    block.Sync();
  }
};

// Writes bin b of segment s to number s * kHistogramBins + b. Segments are shorter than 2^32. Reads
// 4 bytes per element, and writes 12 per bin.
template <class Device>
void LaunchHistogram(Device& device, const SegmentTable& table, Segments segments,
                     const float* values, const HistogramBins& bins,
                     int64_t most_blocks = CountBins::kBlocks) {
  const int64_t n = int64_t{table.count()} * kHistogramBins;
  device.template Launch<ClearBins>(TileCount(n), {bins, n});
  const int64_t blocks = table.tiles() < most_blocks ? table.tiles() : most_blocks;
  device.template Launch<CountBins>(blocks, {segments, values, bins});
}

}  // namespace legacy::cuda
