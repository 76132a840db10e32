// Kernels of dgc.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/selection/dgc.h"
#include "compress/cuda/kernels/selection/entries_kernels.h"

namespace legacy::cuda {

// A block for each tile.
struct Momentum {
  static constexpr int kThreads = 512;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    Segments segments;
    MomentumArrays arrays;
    MomentumOptions options;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const MomentumArrays& arrays = args.arrays;
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const bool by_vectors = Vectors::ByVectors(arrays.gradient, tile) &&
                            Vectors::ByVectors(arrays.velocity, tile) &&
                            Vectors::ByVectors(arrays.residual, tile);
    const float factor = arrays.factors ? arrays.factors[tile.segment / arrays.layers] : 1.0f;
    const float momentum = args.options.momentum;
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> g, u, v;
      Vectors::Read(arrays.gradient, tile, by_vectors, thread, g);
      Vectors::Read(arrays.velocity, tile, by_vectors, thread, u);
      Vectors::Read(arrays.residual, tile, by_vectors, thread, v);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        const float gradient = g[i] * factor;
        u[i] = args.options.nesterov ? momentum * (u[i] + gradient) : momentum * u[i] + gradient;
        if (args.options.nesterov) v[i] += gradient;
        v[i] += u[i];
      }
      Vectors::Write(u, tile, by_vectors, thread, arrays.velocity);
      Vectors::Write(v, tile, by_vectors, thread, arrays.residual);
    });
  }
};

// A thread for each worker.
struct ClipFactor {
  static constexpr int kThreads = 32;
  struct Args {
    const double* squares;
    float* factors;
    int32_t workers;
    double limit;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t w = block.index() * kThreads + thread;
      if (w >= args.workers) return;
      const double norm = std::sqrt(args.squares[w]);
      args.factors[w] = norm <= args.limit ? 1.0f : static_cast<float>(args.limit / norm);
    });
  }
};

template <class Device>
void LaunchMomentum(Device& device, const SegmentTable& table, Segments segments,
                    const MomentumArrays& arrays, const MomentumOptions& options) {
  device.template Launch<Momentum>(table.tiles(), {segments, arrays, options});
}

template <class Device>
void LaunchClipFactors(Device& device, const double* squares, float* factors, int32_t workers,
                       double limit) {
  device.template Launch<ClipFactor>(TilesOf(workers, ClipFactor::kThreads),
                                     {squares, factors, workers, limit});
}

template <class Device>
void LaunchClearSelected(Device& device, Segments segments, const PackedLists& lists, int64_t most,
                         float* values, float* others) {
  const PackedLists zeros = {lists.begin, lists.count, lists.indices, nullptr};
  device.template Launch<StoreEntries>(StoreEntries::Blocks(most),
                                       {segments, zeros, values, others});
}

}  // namespace legacy::cuda
