// The local update of Deep Gradient Compression (Lin et al., ICLR 2018, section 3) for all layers
// (and several workers, whose buffers follow each other) at once, to the same bits as
// schemes/memory.h. One step is
//
//   LaunchClipFactors()    (section 3.3, if gradients are clipped), from LaunchSums<Square>()
//                          of the workers
//   LaunchMomentum()       u' = m u + g,  e = v + u'
//   LaunchThreshold() or LaunchTopK() from e
//   LaunchClearSelected()  masking: u' = 0, and e = 0, at the positions that are sent
#pragma once

#include <cmath>
#include <cstdint>

#include "compress/cpu/momentum_rule.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/selection/entries_kernels.h"

namespace legacy::cuda {

// Pointers are to device memory.
struct MomentumArrays {
  const float* gradient = nullptr;
  float* velocity = nullptr;  // u
  float* residual = nullptr;  // v before, e after
  // Factors that gradients are multiplied by first: one for each worker, whose `layers` segments
  // follow each other. May be null.
  const float* factors = nullptr;
  int32_t layers = 1;
};

// Runs a block for each tile.
struct Momentum {
  static constexpr int kThreads = 512;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    Segments segments;
    MomentumArrays arrays;
    cpu::MomentumRule rule;
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
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> g, u, v;
      Vectors::Read(arrays.gradient, tile, by_vectors, thread, g);
      Vectors::Read(arrays.velocity, tile, by_vectors, thread, u);
      Vectors::Read(arrays.residual, tile, by_vectors, thread, v);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        v[i] += args.rule.Feed(g[i] * factor, u[i], v[i]);
      }
      Vectors::Write(u, tile, by_vectors, thread, arrays.velocity);
      Vectors::Write(v, tile, by_vectors, thread, arrays.residual);
    });
  }
};

// Runs a thread for each worker.
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

// Updates velocity and residual. Reads 12 bytes and writes 8 per element.
template <class Device>
void LaunchMomentum(Device& device, const SegmentTable& table, Segments segments,
                    const MomentumArrays& arrays, const cpu::MomentumRule& rule) {
  device.template Launch<Momentum>(table.tiles(), {segments, arrays, rule});
}

// Sets factors[w] so that a gradient of squared norm squares[w] gets the norm `limit`, or to 1 if
// its norm is not above `limit`.
template <class Device>
void LaunchClipFactors(Device& device, const double* squares, float* factors, int32_t workers,
                       double limit) {
  device.template Launch<ClipFactor>(TilesOf(workers, ClipFactor::kThreads),
                                     {squares, factors, workers, limit});
}

// Clears `values`, and `others` if not null, at the positions of lists that begin at 0 and have at
// most `most` entries together. Reads 4 bytes and writes 4 or 8 per entry.
template <class Device>
void LaunchClearSelected(Device& device, Segments segments, const PackedLists& lists, int64_t most,
                         float* values, float* others) {
  const PackedLists zeros = {lists.begin, lists.count, lists.indices, nullptr};
  device.template Launch<StoreEntries>(StoreEntries::Blocks(most),
                                       {segments, zeros, values, others});
}

}  // namespace legacy::cuda
