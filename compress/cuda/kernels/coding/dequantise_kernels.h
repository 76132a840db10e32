// The kernel of quantise.h that decodes. Each thread has a run of the sum, to which it adds the
// decoded codes of every worker.
#pragma once

#include <cstdint>

#include "compress/cuda/kernels/coding/quantise_rules.h"
#include "compress/cuda/kernels/coding/quantise_runs.h"

namespace legacy::cuda {

// All pointers are to device memory.
struct DequantiseJob {
  MethodSetting setting;
  QuantisedParts parts;
  int64_t tile;
  int64_t bucket;
  int32_t units;
  DequantiseArrays arrays;
};

template <class Method>
LEGACY_DEVICE QuantiserScale LoadScale(const std::byte* from) {
  QuantiserScale scale;
  if constexpr (Method::kScaleBytes == 1) {
    scale.words[0] = static_cast<uint32_t>(*from);
  } else {
    LEGACY_UNROLL
    for (int i = 0; i < Method::kScaleBytes / kWordBytes; ++i) {
      scale.words[i] = LoadWord(from, Method::kScaleBytes, i);
    }
  }
  return scale;
}

// Reads a run of codes of kWidth bits; returns true if no padding bit after the last code is set.
template <class Method, int kWidth>
LEGACY_DEVICE bool LoadCodes(const std::byte* from, int count, RunOfCodes& codes) {
  // Alignment of what follows the scales.
  constexpr int kAlignment = Method::kScaleBytes == 1 ? 1 : kWordBytes;
  PackedRun<kWidth, kAlignment>::Load(from, (count * kWidth + 7) / 8, codes);
  uint32_t padding = 0;
  LEGACY_UNROLL
  for (int i = 0; i < kRun; ++i) padding |= i < count ? 0 : codes[i];
  return padding == 0;
}

// Decodes a run of a part of a segment, whose scales cover `bucket` values; values after the run's
// last are arbitrary. Returns true if an encoder can have written it.
template <class Method, int kWidth>
LEGACY_DEVICE bool LoadDecoded(const MethodSetting& setting, const std::byte* in,
                               const QuantisedPart& part, int64_t bucket, const RunOfTile& run,
                               RunOfFloats& values) {
  const int64_t number = run.begin / kRun;
  const int64_t scales =
      Method::kBuckets ? static_cast<uint32_t>(run.begin) / static_cast<uint32_t>(bucket) : 0;
  const auto scale = LoadScale<Method>(in + part.scales + scales * Method::kScaleBytes);
  const auto decoder = Method::DecoderOf(setting, scale);
  RunOfCodes codes;
  bool good = decoder.valid;
  good &= LoadCodes<Method, kWidth>(in + part.codes + number * kWidth, run.count, codes);
  if constexpr (Method::kSigns) {
    RunOfCodes signs;
    good &= LoadCodes<Method, 1>(in + part.signs + number, run.count, signs);
    LEGACY_UNROLL
    for (int i = 0; i < kRun; ++i) codes[i] |= signs[i] << 8;
  }
  LEGACY_UNROLL
  for (int i = 0; i < kRun; ++i) {
    values[i] = decoder.Value(codes[i]);
    good = good && (i >= run.count || decoder.Allows(codes[i]));
  }
  return good;
}

// Calls body(width) with the width of a method's codes as a constant.
template <class Method, class Body>
LEGACY_DEVICE void WithCodeWidth(const MethodSetting& setting, Body body) {
  constexpr bool kOneWidth = Method::kLeastWidth == Method::kMostWidth;
  WithWidth<Method::kLeastWidth, Method::kMostWidth>(kOneWidth ? Method::kMostWidth : setting.bits,
                                                     body);
}

// Adds the decoded codes of all workers to the sum.
template <class Method>
struct DequantiseTile {
  static constexpr int kThreads = kRunThreads;
  static constexpr int kBlocksTogether = 2;
  struct Args {
    DequantiseJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const DequantiseJob& job = args.job;
    const Tile tile = FindTile(job.parts.segments, block.index(), job.tile);
    const QuantisedPart part = job.parts.parts[tile.segment];
    block.ForEachThread([&](int thread) {
      const RunOfTile run = RunOfTile::Of(tile, thread);
      if (run.count == 0) return;
      WithCodeWidth<Method>(job.setting,
                            [&](auto width) { Add<width()>(block, job, tile, part, run); });
    });
  }

 private:
  template <int kWidth, class Block>
  static LEGACY_DEVICE void Add(Block& block, const DequantiseJob& job, const Tile& tile,
                                const QuantisedPart& part, const RunOfTile& run) {
    float* const to = job.arrays.sum + tile.offset + run.begin;
    RunOfFloats sum;
    LEGACY_UNROLL
    for (float& x : sum) x = job.arrays.start;
    if (!job.arrays.overwrite) LoadRun(to, run.count, sum);
    for (int32_t w = 0; w < job.arrays.workers; ++w) {
      RunOfFloats values;
      const bool good = LoadDecoded<Method, kWidth>(
          job.setting, job.arrays.in + w * job.arrays.stride, part, job.bucket, run, values);
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) sum[i] += values[i];
      if (!good && job.arrays.malformed) {
        block.AtomicOr(&job.arrays.malformed[w * job.units + part.unit], 1u);
      }
    }
    LEGACY_UNROLL
    for (int i = 0; i < kRun; ++i) {
      if (job.arrays.divisor != 1) sum[i] /= job.arrays.divisor;
    }
    StoreRun(sum, run.count, to);
  }
};

inline DequantiseJob MakeDequantiseJob(const QuantiserTable& table, QuantisedParts parts,
                                       const DequantiseArrays& arrays) {
  return {MethodSetting(table.setting()), parts,         table.tile(),
          table.setting().bucket,         table.units(), arrays};
}

template <class Device>
void LaunchDequantise(Device& device, const DequantiseJob& job, const QuantiserTable& table) {
  WithMethod(table.setting(), [&](auto method) {
    device.template Launch<DequantiseTile<decltype(method)>>(table.tiles(), {job});
  });
}

}  // namespace legacy::cuda
