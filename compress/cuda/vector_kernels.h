// Kernels of vector.h. Sums have the order of cpu/vector.h, so that they are the CPU's to the bit: a
// warp takes a block of kSumBlock terms, its lanes are that order's lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "compress/cpu/vector.h"
#include "compress/cuda/segments.h"

namespace legacy::cuda {

struct Square {
  static LEGACY_DEVICE double Of(double x) { return x * x; }
};
struct Magnitude {
  static LEGACY_DEVICE double Of(double x) { return x < 0 ? -x : x; }
};
struct NegativePart {
  static LEGACY_DEVICE double Of(double x) { return x < 0 ? -x : 0.0; }
};
struct Itself {
  static LEGACY_DEVICE double Of(double x) { return x; }
};

static_assert(cpu::kSumLanes == kWarp);

// Lane `lane` of the sum of a block of `n` <= kSumBlock terms.
template <class Term, class Number>
LEGACY_DEVICE double LaneSum(const Number* terms, int64_t n, int lane) {
  double sum = 0;
  if (n == cpu::kSumBlock) {
    LEGACY_UNROLL
    for (int i = 0; i < cpu::kSumBlock; i += kWarp) sum += Term::Of(terms[i + lane]);
  } else {
    for (int64_t i = lane; i < n; i += kWarp) sum += Term::Of(terms[i]);
  }
  return sum;
}

// First level: 4 bytes read an element. The sums of the blocks of all segments, one after the other.
template <class Term>
struct SumBlocks {
  static constexpr int kThreads = 256;
  static constexpr int64_t kTile = kThreads / kWarp * cpu::kSumBlock;
  struct Args {
    Segments segments;  // tiles of kTile
    const float* values;
    const int64_t* first_sum;  // of each segment, in `sums`
    double* sums;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    typename Block::template PerThread<double> sum;
    block.ForEachThread([&](int thread) {
      const int64_t begin = tile.begin + thread / kWarp * cpu::kSumBlock;
      const int64_t rest = tile.end - begin;
      const int64_t n = rest < cpu::kSumBlock ? rest : cpu::kSumBlock;
      sum[thread] = LaneSum<Term>(args.values + tile.offset + begin, n, thread % kWarp);
    });
    block.FoldSum(sum);
    block.ForEachThread([&](int thread) {
      const int64_t begin = tile.begin + thread / kWarp * cpu::kSumBlock;
      if (thread % kWarp != 0 || begin >= tile.end) return;
      args.sums[args.first_sum[tile.segment] + begin / cpu::kSumBlock] = sum[thread];
    });
  }
};

// The other levels: a block for each segment, whose sums of blocks become one.
struct FinishSums {
  static constexpr int kThreads = 1024;
  struct Args {
    const int64_t* first_sum;  // count + 1
    double* sums;              // overwritten
    double* totals;            // of each segment; 0 of an empty one
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const int64_t first = args.first_sum[block.index()];
    int64_t left = args.first_sum[block.index() + 1] - first;
    double* const sums = args.sums + first;
    while (left > 1) {
      const int64_t blocks = (left + cpu::kSumBlock - 1) / cpu::kSumBlock;
      // Block b is read by the round that writes sum b, at or after the rounds that write before it.
      for (int64_t round = 0; round < blocks; round += kThreads / kWarp) {
        typename Block::template PerThread<double> sum;
        block.ForEachThread([&](int thread) {
          const int64_t begin = (round + thread / kWarp) * cpu::kSumBlock;
          const int64_t rest = left - begin;
          const int64_t n = rest < cpu::kSumBlock ? rest : cpu::kSumBlock;
          sum[thread] = LaneSum<Itself>(sums + begin, n, thread % kWarp);
        });
        block.FoldSum(sum);
        block.Sync();
        block.ForEachThread([&](int thread) {
          const int64_t b = round + thread / kWarp;
          if (thread % kWarp == 0 && b < blocks) sums[b] = sum[thread];
        });
        block.Sync();
      }
      left = blocks;
    }
    block.ForEachThread([&](int thread) {
      if (thread == 0) args.totals[block.index()] = left > 0 ? sums[0] : 0.0;
    });
  }
};

// The largest |x| of each segment, as bits: they order like the numbers, NaN above infinity. 4 bytes
// read an element. `largest` is 0 before.
struct LargestBits {
  static constexpr int kThreads = 256;
  static constexpr int kPerThread = 32;
  static constexpr int64_t kTile = int64_t{kThreads} * kPerThread;
  struct Args {
    Segments segments;  // tiles of kTile
    const float* values;
    uint32_t* largest;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    typename Block::template PerThread<uint32_t> most;
    block.ForEachThread([&](int thread) {
      constexpr uint32_t kMagnitude = 0x7FFFFFFF;
      most[thread] = 0;
      LEGACY_UNROLL
      for (int i = 0; i < kPerThread; ++i) {
        const int64_t at = tile.begin + i * kThreads + thread;
        if (at >= tile.end) continue;
        const uint32_t bits = std::bit_cast<uint32_t>(args.values[tile.offset + at]) & kMagnitude;
        most[thread] = most[thread] < bits ? bits : most[thread];
      }
    });
    const uint32_t largest = block.Max(most);
    block.ForEachThread([&](int thread) {
      if (thread == 0) block.AtomicMax(&args.largest[tile.segment], largest);
    });
  }
};

}  // namespace legacy::cuda
