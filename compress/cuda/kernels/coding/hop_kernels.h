// The hops of sums that are encoded again by every worker on the way (schemes/hops/hop_sum.h), for
// many units, pieces and workers at once. A tile of a piece is decoded, the worker's own values are
// added, and the sum is encoded, or stays in fp32 where the worker keeps it.
//
// Bytes moved per element, with codes of b bits: 4 + b / 4, or 8 + b / 8 where it stays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"

namespace legacy::cuda {

// What arrives at a worker for a piece.
enum class HopInput : int32_t {
  kMessage,  // values of a worker's message
  kSum,      // a sum that was sent in the round before
  kZeros,    // zeros of a worker that is not active
  kNothing,  // nothing: the worker is the only one
};

struct HopPart {
  HopInput input = HopInput::kNothing;
  int32_t sends = 1;      // 0: the sum stays in fp32
  QuantisedPart in = {};  // places of what arrives
};

// Pointers are to device memory.
struct HopArrays {
  const std::byte* messages = nullptr;
  const std::byte* sums = nullptr;
  const HopPart* parts = nullptr;  // of each unit of the table
  float* own = nullptr;            // the workers' own values; sums, where they stay
  std::byte* out = nullptr;
  const cpu::DrawSource* draws = nullptr;  // as in QuantiseArrays
  uint32_t* non_finite = nullptr;          // as in QuantiseArrays
};

// Takes buckets that are not larger than a tile.
template <class Method>
struct QuantiseHop {
  using Tiles = QuantiseTile<Method, true>;
  static constexpr int kThreads = Tiles::kThreads;
  static constexpr int kBlocksTogether = 1;
  struct Args {
    QuantiseJob job;
    HopArrays hop;
  };
  using Shared = typename Tiles::Shared;

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const QuantiseJob& job = args.job;
    const Tile tile = FindTile(job.parts.segments, block.index(), job.tile);
    const HopPart part = args.hop.parts[tile.segment];
    float* const own = args.hop.own + tile.offset;
    const auto load = [&](const RunOfTile& run, RunOfFloats& values) {
      LoadRun(own + run.begin, run.count, values);
      if (part.input == HopInput::kNothing) return;
      RunOfFloats sum{};
      if (part.input != HopInput::kZeros && run.count > 0) {
        const bool message = part.input == HopInput::kMessage;
        const std::byte* const in = message ? args.hop.messages : args.hop.sums;
        WithCodeWidth<Method>(job.setting, [&](auto width) {
          LoadDecoded<Method, width()>(job.setting, in, part.in, job.bucket, run, sum);
        });
      }
      LEGACY_UNROLL
      for (int i = 0; i < kRun; ++i) {
        if (i < run.count) values[i] = sum[i] + values[i];
      }
    };
    if (part.sends != 0) return Tiles::Encode(block, job, tile, load);
    block.ForEachThread([&](int thread) {
      const RunOfTile run = RunOfTile::Of(tile, thread);
      RunOfFloats values;
      load(run, values);
      StoreRun(values, run.count, own + run.begin);
    });
  }
};

// Clears what is outside of the ranges of a worker's units.
struct ClearOutside {
  static constexpr int kThreads = 256;
  struct Args {
    Segments segments;
    const Extent* kept;  // of each segment, counted from its begin
    float* values;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const Extent kept = args.kept[tile.segment];
    block.ForEachThread([&](int thread) {
      for (int64_t i = tile.begin + thread; i < tile.end; i += kThreads) {
        if (i >= kept.offset && i < kept.offset + kept.length) continue;
        args.values[tile.offset + i] = 0;
      }
    });
  }
};

// Runs the hops of the table's units: pieces of units, at the places of the workers' own values,
// with the segments that are sent. Requires buckets up to a tile.
template <class Device>
void LaunchHops(Device& device, const QuantiserTable& table, QuantisedParts parts,
                const HopArrays& arrays) {
  const QuantiseJob job = {
      .setting = MethodSetting(table.setting()),
      .parts = parts,
      .tile = table.tile(),
      .bucket = table.setting().bucket,
      .tiles = table.tiles(),
      .arrays = {.out = arrays.out, .draws = arrays.draws, .non_finite = arrays.non_finite},
      .maxima = nullptr,
      .sums = nullptr,
      .rules = nullptr};
  WithMethod(table.setting(), [&](auto method) {
    using Method = decltype(method);
    if constexpr (Method::kBuckets) {
      device.template Launch<QuantiseHop<Method>>(table.tiles(), {job, arrays});
    }
  });
}

template <class Device>
void LaunchClearOutside(Device& device, const SegmentTable& table, Segments segments,
                        const Extent* kept, float* values) {
  device.template Launch<ClearOutside>(table.tiles(), {segments, kept, values});
}

}  // namespace legacy::cuda
