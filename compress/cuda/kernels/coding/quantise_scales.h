// Quantisers whose scale covers a large bucket or a unit measure its values before they code them
// (quantise_kernels.h).
#pragma once

#include <array>
#include <cstdint>

#include "compress/cuda/kernels/coding/quantise_rules.h"
#include "compress/cuda/kernels/coding/quantise_runs.h"

namespace legacy::cuda {

// The encoder of a part, with the scale.
template <class Method>
struct QuantiserRule {
  typename Method::Encoder encoder;
  QuantiserScale scale;
};
inline constexpr int64_t kRuleBytes = 64;  // upper bound of the size

// All pointers are to device memory.
struct QuantiseJob {
  MethodSetting setting;
  QuantisedParts parts;
  int64_t tile;    // elements
  int64_t bucket;  // number of elements of a part that share a scale
  int64_t tiles;
  QuantiseArrays arrays;
  // Scratch for two passes.
  int32_t* maxima;   // kMaxima for each tile
  double* sums;      // kSumsPerTile for each tile, kSums times
  std::byte* rules;  // kRuleBytes for each part
};

// Loads the values to code: the input, plus the residual with error feedback.
LEGACY_DEVICE void LoadInput(const QuantiseArrays& arrays, int64_t at, int count,
                             RunOfFloats& run) {
  if (!arrays.values) return LoadRun(arrays.residual + at, count, run);
  LoadRun(arrays.values + at, count, run);
  if (!arrays.residual) return;
  RunOfFloats residual;
  LoadRun(arrays.residual + at, count, residual);
  LEGACY_UNROLL
  for (int i = 0; i < kRun; ++i) run[i] = residual[i] + run[i];
}
LEGACY_DEVICE float LoadInput(const QuantiseArrays& arrays, int64_t at) {
  if (!arrays.values) return arrays.residual[at];
  return arrays.residual ? arrays.residual[at] + arrays.values[at] : arrays.values[at];
}
// Loads `kOwn` values a warp apart, the first at `first`, and zeros from `end` on. All loads are
// under way together.
template <int kOwn>
LEGACY_DEVICE void LoadLane(const float* from, int64_t first, int64_t end,
                            std::array<float, kOwn>& values) {
  if (first + (kOwn - 1) * kWarp < end) {
    LEGACY_UNROLL
    for (int i = 0; i < kOwn; ++i) values[i] = from[first + i * kWarp];
    return;
  }
  LEGACY_UNROLL
  for (int i = 0; i < kOwn; ++i) {
    const int64_t at = first + i * kWarp;
    values[i] = at < end ? from[at] : 0.0f;
  }
}
template <int kOwn>
LEGACY_DEVICE void LoadInputLane(const QuantiseArrays& arrays, int64_t first, int64_t end,
                                 std::array<float, kOwn>& values) {
  if (!arrays.values) return LoadLane<kOwn>(arrays.residual, first, end, values);
  LoadLane<kOwn>(arrays.values, first, end, values);
  if (!arrays.residual) return;
  std::array<float, kOwn> residual;
  LoadLane<kOwn>(arrays.residual, first, end, residual);
  LEGACY_UNROLL
  for (int i = 0; i < kOwn; ++i) values[i] = residual[i] + values[i];
}

// Stores a scale, aligned to four bytes unless it is a single byte.
template <class Method>
LEGACY_DEVICE void StoreScale(const QuantiserScale& scale, std::byte* to) {
  if constexpr (Method::kScaleBytes == 1) {
    *to = static_cast<std::byte>(scale.words[0]);
  } else {
    LEGACY_UNROLL
    for (int i = 0; i < Method::kScaleBytes / kWordBytes; ++i) {
      StoreWord(to, Method::kScaleBytes, i, scale.words[i]);
    }
  }
}
// Measures a tile. It reads 4 bytes per element, 8 with error feedback.
template <class Method>
struct MeasureTile {
  static constexpr int kThreads = kSumsPerTile * kWarp;
  static constexpr int kOwn = cpu::kSumBlock / kWarp;
  struct Args {
    QuantiseJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const QuantiseJob& job = args.job;
    const Tile tile = FindTile(job.parts.segments, block.index(), job.tile);
    typename Block::template PerThread<std::array<int32_t, 2>> most;
    typename Block::template PerThread<std::array<double, 3>> sums;
    block.ForEachThread([&](int thread) {
      const int64_t first = tile.begin + thread / kWarp * cpu::kSumBlock + thread % kWarp;
      std::array<float, kOwn> values;
      LoadInputLane<kOwn>(job.arrays, tile.offset + first, tile.offset + tile.end, values);
      bool finite = true;
      LEGACY_UNROLL
      for (int m = 0; m < 2; ++m) most[thread][m] = Method::First(m);
      sums[thread] = {};
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        finite = finite && IsFinite(values[i]);
        LEGACY_UNROLL
        for (int m = 0; m < Method::kMaxima; ++m) {
          const int32_t key =
              first + i * kWarp < tile.end ? Method::Maximum(m, values[i]) : Method::First(m);
          most[thread][m] = most[thread][m] < key ? key : most[thread][m];
        }
        LEGACY_UNROLL
        for (int t = 0; t < Method::kSums; ++t) sums[thread][t] += Method::Term(t, values[i]);
      }
      if (!finite && job.arrays.non_finite) {
        block.AtomicOr(&job.arrays.non_finite[job.parts.parts[tile.segment].unit], 1u);
      }
    });
    LEGACY_UNROLL
    for (int m = 0; m < Method::kMaxima; ++m) {
      typename Block::template PerThread<int32_t> own;
      block.ForEachThread([&](int thread) { own[thread] = most[thread][m]; });
      const int32_t largest = block.Max(own);
      block.ForEachThread([&](int thread) {
        if (thread == 0) job.maxima[block.index() * Method::kMaxima + m] = largest;
      });
    }
    LEGACY_UNROLL
    for (int t = 0; t < Method::kSums; ++t) {
      typename Block::template PerThread<double> own;
      block.ForEachThread([&](int thread) { own[thread] = sums[thread][t]; });
      block.FoldSum(own);
      block.ForEachThread([&](int thread) {
        if (thread % kWarp != 0) return;
        job.sums[(t * job.tiles + block.index()) * kSumsPerTile + thread / kWarp] = own[thread];
      });
    }
  }
};

// Measures as MeasureTile does, but the values as rounded to powers of two by their draws.
template <class Method>
struct MeasurePowers {
  static constexpr int kThreads = kRunThreads;
  struct Args {
    QuantiseJob job;
  };
  struct Shared {
    TileDraws draws;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const QuantiseJob& job = args.job;
    const Tile tile = FindTile(job.parts.segments, block.index(), job.tile);
    const QuantisedPart part = job.parts.parts[tile.segment];
    typename Block::template PerThread<RunOfFloats> runs;
    typename Block::template PerThread<int32_t> most;
    block.ForEachThread([&](int thread) {
      const RunOfTile run = RunOfTile::Of(tile, thread);
      LoadInput(job.arrays, tile.offset + run.begin, run.count, runs[thread]);
      block.shared().draws.Make(job.arrays.draws[part.unit], part.first + tile.begin, thread);
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      const int count = RunOfTile::Of(tile, thread).count;
      bool finite = true;
      most[thread] = Method::First(0);
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) {
        const float power = cpu::PowerOf(runs[thread][i], block.shared().draws.Of(thread, i));
        const int32_t key = i < count ? Method::Maximum(0, power) : Method::First(0);
        most[thread] = most[thread] < key ? key : most[thread];
        finite = finite && IsFinite(runs[thread][i]);
      }
      if (!finite && job.arrays.non_finite) {
        block.AtomicOr(&job.arrays.non_finite[part.unit], 1u);
      }
    });
    const int32_t largest = block.Max(most);
    block.ForEachThread([&](int thread) {
      if (thread == 0) job.maxima[block.index()] = largest;
    });
  }
};

// Returns the measure over all tiles of a part: maxima to all threads, sums to the first thread
// only.
template <class Method, class Block>
LEGACY_DEVICE QuantiserMeasure MeasureOfPart(Block& block, const QuantiseJob& job) {
  const Segments& segments = job.parts.segments;
  const int64_t first = segments.first_tile[block.index()];
  const int64_t end = segments.first_tile[block.index() + 1];
  QuantiserMeasure measure = {segments.extents[block.index()].length, {}, {}};
  LEGACY_UNROLL
  for (int m = 0; m < Method::kMaxima; ++m) {
    typename Block::template PerThread<int32_t> most;
    block.ForEachThread([&](int thread) {
      most[thread] = Method::First(m);
      for (int64_t t = first + thread; t < end; t += Block::kThreads) {
        const int32_t key = job.maxima[t * Method::kMaxima + m];
        most[thread] = most[thread] < key ? key : most[thread];
      }
    });
    measure.maxima[m] = block.Max(most);
  }
  LEGACY_UNROLL
  for (int t = 0; t < Method::kSums; ++t) {
    const int64_t blocks = (measure.count + cpu::kSumBlock - 1) / cpu::kSumBlock;
    measure.sums[t] = SumOfBlocks(block, job.sums + (t * job.tiles + first) * kSumsPerTile, blocks);
  }
  return measure;
}

template <class Method>
LEGACY_DEVICE void StoreRule(const QuantiseJob& job, int64_t part,
                             const QuantiserRule<Method>& rule) {
  *reinterpret_cast<QuantiserRule<Method>*>(job.rules + part * kRuleBytes) = rule;
  StoreScale<Method>(rule.scale, job.arrays.out + job.parts.parts[part].scales);
}

// Runs a block for each part.
template <class Method>
struct ScalePart {
  static constexpr int kThreads = 512;
  struct Args {
    QuantiseJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const QuantiseJob& job = args.job;
    const QuantiserMeasure measure = MeasureOfPart<Method>(block, job);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      QuantiserRule<Method> rule;
      rule.encoder = Method::Finish(job.setting, measure, rule.scale);
      StoreRule(job, block.index(), rule);
    });
  }
};

// Computes the scale as above for range-based floats, by trying each mantissa on a sample.
template <>
struct ScalePart<RangeMethod> {
  static constexpr int kThreads = 256;
  static constexpr int kMantissas = cpu::RangeFloat::MostMantissa(cpu::RangeFloat::kMostBits);
  static_assert(kMantissas * cpu::kErrorLanes <= kThreads);
  struct Args {
    QuantiseJob job;
  };
  struct Shared {
    std::array<float, cpu::kRangeSample> sample;
    std::array<double, kThreads> errors;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const QuantiseJob& job = args.job;
    const QuantiserMeasure measure = MeasureOfPart<RangeMethod>(block, job);
    const auto range = cpu::SignedRangeOfKeys(measure.maxima[0], measure.maxima[1]);
    const int most = cpu::RangeFloat::MostMantissa(job.setting.bits);
    const int chosen = job.setting.mantissa < most ? job.setting.mantissa : most;
    if (chosen == 0) TryMantissas(block, job, range, most, measure.count);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      const int mantissa = chosen > 0 ? chosen : Best(block.shared().errors, most);
      QuantiserScale scale;
      const auto encoder =
          RangeMethod::EncoderOf(cpu::RangeFloat::Of(job.setting.bits, mantissa, range), scale);
      const QuantiserRule<RangeMethod> rule = {encoder, scale};
      StoreRule(job, block.index(), rule);
    });
  }

 private:
  template <class Block>
  static LEGACY_DEVICE void TryMantissas(Block& block, const QuantiseJob& job,
                                         const cpu::SignedRange& range, int most, int64_t length) {
    auto& shared = block.shared();
    const int64_t stride = cpu::SampleStride(length);
    const auto count = static_cast<int>((length + stride - 1) / stride);
    const int64_t offset = job.parts.segments.extents[block.index()].offset;
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < count; i += kThreads) {
        shared.sample[i] = LoadInput(job.arrays, offset + i * stride);
      }
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      const int mantissa = 1 + thread / cpu::kErrorLanes;
      if (mantissa > most) return;
      const cpu::RangeRounding rounding(cpu::RangeFloat::Of(job.setting.bits, mantissa, range));
      double error = 0;
      for (int i = thread % cpu::kErrorLanes; i < count; i += cpu::kErrorLanes) {
        error += rounding.SquaredError(shared.sample[i]);
      }
      shared.errors[thread] = error;
    });
    block.Sync();
  }
  static LEGACY_DEVICE int Best(const std::array<double, kThreads>& errors, int most) {
    int best = 1;
    double least = 0;
    for (int mantissa = 1; mantissa <= most; ++mantissa) {
      double error = 0;
      for (int lane = 0; lane < cpu::kErrorLanes; ++lane) {
        error += errors[(mantissa - 1) * cpu::kErrorLanes + lane];
      }
      if (mantissa > 1 && !(error < least)) continue;
      least = error;
      best = mantissa;
    }
    return best;
  }
};

}  // namespace legacy::cuda
