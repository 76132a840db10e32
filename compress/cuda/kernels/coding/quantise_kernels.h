// Kernels of quantise.h that encode. A tile is up to kTile values of a part; codes are packed in
// shared memory and written as words (quantise_runs.h).
//
// Buckets up to a tile, and natural:bits=9, take one pass: a tile is whole buckets, whose scales
// are found in shared memory. All others take two passes:
//   Measure   largest integers and sums of doubles of each tile, in the order of cpu/vector.h
//   Scale     the scale and the encoder of each part, by a block for each
//   Tile      codes
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/quantise_scales.h"

namespace legacy::cuda {

LEGACY_DEVICE bool Draws(const MethodSetting& setting) {
  const bool grid = setting.kind == QuantiserKind::kQsgd || setting.kind == QuantiserKind::kMaxMin;
  return setting.stochastic || !grid;
}

// Is T if kHas, and otherwise a placeholder, so that unused shared memory is not allocated.
template <bool kHas, class T>
using If = std::conditional_t<kHas, T, std::array<uint32_t, 1>>;

// Codes a tile. With kOnePass it first finds the scales of the tile's buckets.
template <class Method, bool kOnePass>
struct QuantiseTile {
  static constexpr int kThreads = kRunThreads;
  static constexpr int kBlocksTogether = 2;
  static constexpr bool kEuclidean = kOnePass && Method::kSums > 0;
  static constexpr bool kScaled = kOnePass && Method::kScaleBytes > 0;
  static_assert(!kOnePass || Method::kSums <= 1);
  static constexpr int kSumBlock = cpu::kSumBlock;
  static constexpr int kMostBuckets = kTile / Method::kGroup;  // largest number per tile
  static constexpr int kRunsOfGroup = Method::kGroup / kRun;
  struct Args {
    QuantiseJob job;
  };
  struct Shared {
    std::conditional_t<Method::kDraws, TileDraws, NoDraws> draws;
    std::array<uint32_t, kTile * Method::kMostWidth / kWordBits + 1> packed;
    If<Method::kSigns, std::array<uint32_t, kTile / kWordBits + 1>> signs;
    If<kScaled, std::array<QuantiserRule<Method>, kMostBuckets>> rules;
    If<kScaled, std::array<std::array<int32_t, 2>, kMostBuckets>> maxima;
    alignas(Vector<float>) If<kEuclidean, std::array<float, kTile>> values;
    If<kEuclidean, std::array<double, kMostBuckets>> sums;
  };
  template <class Block>
  using Runs = typename Block::template PerThread<RunOfFloats>;

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const QuantiseJob& job = args.job;
    const Tile tile = FindTile(job.parts.segments, block.index(), job.tile);
    Encode(block, job, tile, [&](const RunOfTile& run, RunOfFloats& values) {
      LoadInput(job.arrays, tile.offset + run.begin, run.count, values);
    });
  }

  // Codes a tile. load(run, values) loads a thread's values, and zeros after them.
  template <class Block, class Load>
  static LEGACY_DEVICE void Encode(Block& block, const QuantiseJob& job, const Tile& tile,
                                   Load load) {
    const QuantisedPart part = job.parts.parts[tile.segment];
    auto& shared = block.shared();
    Runs<Block> runs;
    block.ForEachThread([&](int thread) {
      load(RunOfTile::Of(tile, thread), runs[thread]);
      if constexpr (kScaled && Method::kMaxima > 0) {
        if (thread < kMostBuckets) {
          LEGACY_UNROLL
          for (int m = 0; m < Method::kMaxima; ++m) shared.maxima[thread][m] = Method::First(m);
        }
      }
      if (Method::kDraws && Draws(job.setting)) {
        shared.draws.Make(job.arrays.draws[part.unit], part.first + tile.begin, thread);
      }
      if constexpr (kEuclidean) {
        StoreRun(runs[thread], kRun, &shared.values[int64_t{thread} * kRun]);
      }
      if constexpr (kOnePass) {
        bool finite = true;
        for (const float x : runs[thread]) finite = finite && IsFinite(x);
        if (!finite && job.arrays.non_finite) {
          block.AtomicOr(&job.arrays.non_finite[part.unit], 1u);
        }
      }
    });
    block.Sync();
    if constexpr (kScaled) FindScales(block, job, tile, part, runs);
    block.ForEachThread([&](int thread) { Code(block, job, tile, thread, runs[thread]); });
    block.Sync();
    const auto bits = static_cast<int>(tile.end - tile.begin) * Width(job.setting);
    // Number of runs before the tile.
    const int64_t before = tile.begin / kRun;
    FlushBytes(block, shared.packed.data(), (bits + 7) / 8,
               job.arrays.out + part.codes + before * Width(job.setting));
    if constexpr (Method::kSigns) {
      const auto bytes = static_cast<int>((tile.end - tile.begin + 7) / 8);
      FlushBytes(block, shared.signs.data(), bytes, job.arrays.out + part.signs + before);
    }
  }

 private:
  static LEGACY_DEVICE int Width(const MethodSetting& setting) {
    return Method::kLeastWidth == Method::kMostWidth ? Method::kMostWidth : setting.bits;
  }

  template <class Block>
  static LEGACY_DEVICE void FindScales(Block& block, const QuantiseJob& job, const Tile& tile,
                                       const QuantisedPart& part, const Runs<Block>& runs) {
    auto& shared = block.shared();
    const auto bucket = static_cast<int>(job.bucket);
    const auto n = static_cast<int>(tile.end - tile.begin);
    LEGACY_UNROLL
    for (int m = 0; m < Method::kMaxima; ++m) {
      typename Block::template PerThread<int32_t> most;
      block.ForEachThread([&](int thread) {
        const int count = RunOfTile::Of(tile, thread).count;
        most[thread] = Method::First(m);
        LEGACY_UNROLL
        for (int i = 0; i < kRun; ++i) {
          const int32_t key = i < count ? Method::Maximum(m, runs[thread][i]) : Method::First(m);
          most[thread] = most[thread] < key ? key : most[thread];
        }
      });
      block.template GroupMax<kRunsOfGroup>(most);
      block.ForEachThread([&](int thread) {
        if (thread % kRunsOfGroup != 0 || thread * kRun >= n) return;
        block.AtomicMax(&shared.maxima[thread * kRun / bucket][m], most[thread]);
      });
    }
    if constexpr (kEuclidean) SumBuckets(block, bucket, n);
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread * bucket >= n) return;
      const int rest = n - thread * bucket;
      QuantiserMeasure measure = {rest < bucket ? rest : bucket, {}, {}};
      LEGACY_UNROLL
      for (int m = 0; m < Method::kMaxima; ++m) measure.maxima[m] = shared.maxima[thread][m];
      if constexpr (kEuclidean) {
        const int blocks = BlocksOf(bucket);
        measure.sums[0] = SumOf(&shared.sums[thread * blocks], blocks);
      }
      QuantiserRule<Method> rule;
      rule.encoder = Method::Finish(job.setting, measure, rule.scale);
      shared.rules[thread] = rule;
      const int64_t number = tile.begin / bucket + thread;
      StoreScale<Method>(rule.scale, job.arrays.out + part.scales + number * Method::kScaleBytes);
    });
    block.Sync();
  }

  // Adds in the order of cpu/vector.h: a warp sums a block of terms. A lane reads all terms that a
  // whole block has, zeros after the last: ptxas of CUDA 13.0 compiled LaneSum(), which asks
  // whether a block is whole, so that each block was (measured on an H100).
  template <class Block>
  static LEGACY_DEVICE void SumBuckets(Block& block, int bucket, int n) {
    constexpr int kWarps = kThreads / kWarp;
    auto& shared = block.shared();
    const int own = BlocksOf(bucket);
    const int blocks = (n + bucket - 1) / bucket * own;
    for (int first = 0; first < blocks; first += kWarps) {
      typename Block::template PerThread<double> sum;
      block.ForEachThread([&](int thread) {
        const int b = first + thread / kWarp;
        const int begin = b / own * bucket + b % own * kSumBlock;
        const int bucket_end = (b / own + 1) * bucket;
        const int end = bucket_end < n ? bucket_end : n;
        sum[thread] = 0;
        LEGACY_UNROLL_SOME
        for (int i = 0; i < kSumBlock; i += kWarp) {
          const int at = begin + i + thread % kWarp;
          sum[thread] += Square::Of(at < end ? shared.values[at] : 0.0f);
        }
      });
      block.FoldSum(sum);
      block.ForEachThread([&](int thread) {
        const int b = first + thread / kWarp;
        if (thread % kWarp == 0 && b < blocks) shared.sums[b] = sum[thread];
      });
    }
  }
  static LEGACY_DEVICE int BlocksOf(int bucket) { return (bucket + kSumBlock - 1) / kSumBlock; }
  // Returns the sum of a bucket: up to four sums of blocks, folded by halves.
  static LEGACY_DEVICE double SumOf(const double* sums, int blocks) {
    static_assert(kTile / kSumBlock == 4);
    const double first = sums[0] + (blocks > 2 ? sums[2] : 0);
    if (blocks == 1) return first;
    return first + (sums[1] + (blocks > 3 ? sums[3] : 0));
  }

  template <class Block>
  static LEGACY_DEVICE void Code(Block& block, const QuantiseJob& job, const Tile& tile, int thread,
                                 const RunOfFloats& values) {
    auto& shared = block.shared();
    const RunOfTile run = RunOfTile::Of(tile, thread);
    if (run.count == 0) return;
    const QuantiserRule<Method> rule = RuleOf(block, job, tile, thread);
    RunOfCodes codes{};
    LEGACY_UNROLL
    for (int i = 0; i < kRun; ++i) {
      if (i < run.count) codes[i] = rule.encoder.Code(values[i], shared.draws.Of(thread, i));
    }
    if (job.arrays.residual) {
      const auto decoder = Method::DecoderOf(job.setting, rule.scale);
      RunOfFloats left;
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) left[i] = values[i] - (0.0f + decoder.Value(codes[i]));
      StoreRun(left, run.count, job.arrays.residual + tile.offset + run.begin);
    }
    if constexpr (Method::kSigns) {
      RunOfCodes signs;
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) {
        signs[i] = codes[i] >> 8;
        codes[i] &= 0xFF;
      }
      PackedRun<1>::Store(signs, reinterpret_cast<std::byte*>(&shared.signs) + thread);
    }
    WithWidth<Method::kLeastWidth, Method::kMostWidth>(Width(job.setting), [&](auto width) {
      PackedRun<width()>::Store(codes,
                                reinterpret_cast<std::byte*>(&shared.packed) + thread * width());
    });
  }
  template <class Block>
  static LEGACY_DEVICE QuantiserRule<Method> RuleOf(Block& block, const QuantiseJob& job,
                                                    const Tile& tile, int thread) {
    using Rule = QuantiserRule<Method>;
    static_assert(sizeof(Rule) <= kRuleBytes);
    if constexpr (kScaled) {
      return block.shared().rules[thread * kRun / static_cast<int>(job.bucket)];
    } else if constexpr (kOnePass) {
      return {};
    } else {
      return *reinterpret_cast<const Rule*>(job.rules + tile.segment * kRuleBytes);
    }
  }
};

inline QuantiseJob LayOutQuantise(const QuantiserTable& table, QuantisedParts parts,
                                  const QuantiseArrays& arrays, Workspace& workspace) {
  constexpr int kMostMaxima = 2, kMostSums = 3;
  const int64_t tiles = table.in_one_pass() ? 0 : table.tiles();
  return {.setting = MethodSetting(table.setting()),
          .parts = parts,
          .tile = table.tile(),
          .bucket = table.setting().bucket,
          .tiles = table.tiles(),
          .arrays = arrays,
          .maxima = workspace.Take<int32_t>(kMostMaxima * tiles),
          .sums = workspace.Take<double>(kMostSums * tiles * kSumsPerTile),
          .rules = workspace.Take<std::byte>(
              table.in_one_pass() ? 0 : kRuleBytes * int64_t{table.parts()})};
}

template <class Device>
void LaunchQuantise(Device& device, const QuantiseJob& job, const QuantiserTable& table) {
  WithMethod(table.setting(), [&](auto method) {
    using Method = decltype(method);
    if constexpr (Method::kBuckets || Method::kScaleBytes == 0) {
      if (table.in_one_pass()) {
        return device.template Launch<QuantiseTile<Method, true>>(table.tiles(), {job});
      }
    }
    if constexpr (Method::kScaleBytes > 0) {
      using Measure =
          std::conditional_t<Method::kFromPowers, MeasurePowers<Method>, MeasureTile<Method>>;
      device.template Launch<Measure>(table.tiles(), {job});
      device.template Launch<ScalePart<Method>>(table.parts(), {job});
      device.template Launch<QuantiseTile<Method, false>>(table.tiles(), {job});
    }
  });
}

}  // namespace legacy::cuda
