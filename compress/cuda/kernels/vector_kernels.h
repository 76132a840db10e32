// Sums and extremes of many segments at once, and loops over dense vectors, on a GPU. Sums have the
// order of cpu/vector.h, and therefore the CPU's bits: a warp sums a block of kSumBlock terms, and
// its lanes are that order's lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cpu/vector.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/device/workspace.h"

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

// Returns lane `lane` of the sum of a block of `n` <= kSumBlock terms.
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

inline constexpr int64_t kSumsPerTile = kTile / cpu::kSumBlock;

// Computes the first level of sums, and reads 4 bytes per element. sums[t * kSumsPerTile + b] is
// the sum of block b of tile t.
template <class Term>
struct SumBlocks {
  static constexpr int kThreads = kSumsPerTile * kWarp;
  struct Args {
    Segments segments;
    const float* values;
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
      if (thread % kWarp != 0) return;
      args.sums[block.index() * kSumsPerTile + thread / kWarp] = sum[thread];
    });
  }
};

// Computes the other levels with all threads: adds `count` sums of blocks, which it overwrites, to
// one; returns 0 if there are none.
template <class Block>
LEGACY_DEVICE double SumOfBlocks(Block& block, double* sums, int64_t count) {
  while (count > 1) {
    const int64_t blocks = (count + cpu::kSumBlock - 1) / cpu::kSumBlock;
    // Block b is read in the iteration that writes sum b, at or after the iterations that write
    // before it.
    for (int64_t round = 0; round < blocks; round += Block::kThreads / kWarp) {
      typename Block::template PerThread<double> sum;
      block.ForEachThread([&](int thread) {
        const int64_t begin = (round + thread / kWarp) * cpu::kSumBlock;
        const int64_t rest = count - begin;
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
    count = blocks;
  }
  return count > 0 ? sums[0] : 0.0;
}

// Computes the other levels for all segments, with a block for each.
struct FinishSums {
  static constexpr int kThreads = 1024;
  struct Args {
    Segments segments;
    double* sums;    // overwritten
    double* totals;  // one per segment; 0 if it is empty
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const int64_t length = args.segments.extents[block.index()].length;
    const int64_t count = (length + cpu::kSumBlock - 1) / cpu::kSumBlock;
    double* const sums = args.sums + args.segments.first_tile[block.index()] * kSumsPerTile;
    const double total = SumOfBlocks(block, sums, count);
    block.ForEachThread([&](int thread) {
      if (thread == 0) args.totals[block.index()] = total;
    });
  }
};

inline double* LayOutSums(const SegmentTable& table, Workspace& workspace) {
  return workspace.Take<double>(table.tiles() * kSumsPerTile);
}

// Writes one number per segment to `totals`, from values at the segment's extent of a flat buffer.
// `segments` is the device's copy of `table`, `sums` is from LayOutSums(). Reads 4 bytes per
// element, and writes 8 per 1024 elements.
template <class Term, class Device>
void LaunchSums(Device& device, const SegmentTable& table, Segments segments, const float* values,
                double* sums, double* totals) {
  device.template Launch<SumBlocks<Term>>(table.tiles(), {segments, values, sums});
  device.template Launch<FinishSums>(table.count(), {segments, sums, totals});
}

// Both extremes of each segment, found in one read of 4 bytes per element.
struct Extremes {
  uint32_t* largest;           // |x| as bits, which order as numbers do, NaN above infinity
  uint32_t* first_non_finite;  // position within the segment, or kNoPosition
};

// Runs a thread for each segment.
struct ResetExtremes {
  static constexpr int kThreads = 256;
  struct Args {
    Extremes extremes;
    int32_t count;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t s = block.index() * kThreads + thread;
      if (s >= args.count) return;
      args.extremes.largest[s] = 0;
      args.extremes.first_non_finite[s] = kNoPosition;
    });
  }
};

struct FindExtremes {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    Segments segments;
    const float* values;
    Extremes extremes;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const bool by_vectors = Vectors::ByVectors(args.values, tile);
    typename Block::template PerThread<Vectors::Own<float>> own;
    typename Block::template PerThread<uint32_t> most;
    block.ForEachThread([&](int thread) {
      Vectors::Read(args.values, tile, by_vectors, thread, own[thread]);
      most[thread] = 0;
      LEGACY_UNROLL
      for (const float x : own[thread]) {
        const uint32_t bits = cpu::KeyOf(x);
        most[thread] = most[thread] < bits ? bits : most[thread];
      }
    });
    const uint32_t largest = block.Max(most);
    block.ForEachThread([&](int thread) {
      if (thread == 0) block.AtomicMax(&args.extremes.largest[tile.segment], largest);
      if (most[thread] < cpu::kInfinityKey) return;
      uint32_t first = kNoPosition;
      LEGACY_UNROLL
      for (int i = Vectors::kOwn - 1; i >= 0; --i) {  // The loop goes from the last to the first.
        if (cpu::KeyOf(own[thread][i]) < cpu::kInfinityKey) continue;
        first = static_cast<uint32_t>(tile.begin + Vectors::Position(thread, i));
      }
      block.AtomicMin(&args.extremes.first_non_finite[tile.segment], first);
    });
  }
};

template <class Device>
void LaunchExtremes(Device& device, const SegmentTable& table, Segments segments,
                    const float* values, const Extremes& extremes) {
  device.template Launch<ResetExtremes>(TilesOf(table.count(), ResetExtremes::kThreads),
                                        {extremes, table.count()});
  device.template Launch<FindExtremes>(table.tiles(), {segments, values, extremes});
}

// Sets out[i] to Rule::Of(in[i], out[i]). Reads and writes each element once, and reads `out` only
// if the rule uses it.
template <class Rule, class In, class Out = In>
struct Map {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    Rule rule;
    const In* in;
    Out* out;
    int64_t n;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FlatTile(block.index(), args.n);
    const bool by_vectors = Vectors::ByVectors(args.in, tile) && Vectors::ByVectors(args.out, tile);
    block.ForEachThread([&](int thread) {
      typename Vectors::template Own<In> in;
      typename Vectors::template Own<Out> out{};
      Vectors::Read(args.in, tile, by_vectors, thread, in);
      if constexpr (Rule::kReadsOut) Vectors::Read(args.out, tile, by_vectors, thread, out);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) out[i] = args.rule.Of(in[i], out[i]);
      Vectors::Write(out, tile, by_vectors, thread, args.out);
    });
  }
};

template <class In, class Out, class Device, class Rule>
void LaunchMap(Device& device, Rule rule, const In* in, Out* out, int64_t n) {
  device.template Launch<Map<Rule, In, Out>>(TileCount(n), {rule, in, out, n});
}

struct AddRule {
  static constexpr bool kReadsOut = true;
  LEGACY_DEVICE float Of(float x, float sum) const { return sum + x; }
};
struct CopyRule {
  static constexpr bool kReadsOut = false;
  LEGACY_DEVICE float Of(float x, float) const { return x; }
};
struct ScaleRule {
  static constexpr bool kReadsOut = false;
  float factor;
  LEGACY_DEVICE float Of(float x, float) const { return x * factor; }
};

}  // namespace legacy::cuda
