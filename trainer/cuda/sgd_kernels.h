// Kernels of step_kernels.h: the optimizer's step, and clipping by a factor in device memory.
#pragma once

#include "compress/cuda/device/vectors.h"
#include "trainer/cuda/step_kernels.h"

namespace legacy::cuda {

// Reads gradient, weights and velocity once and writes the last two.
template <MomentumKind kind>
struct SgdStep {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    SgdRates rates;
    SgdArrays arrays;
    int64_t n;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    constexpr bool kVelocity = kind != MomentumKind::kNone;
    const SgdArrays& arrays = args.arrays;
    const Tile tile = FlatTile(block.index(), args.n);
    const bool by_vectors = Vectors::ByVectors(arrays.gradient, tile) &&
                            Vectors::ByVectors(arrays.weights, tile) &&
                            (!kVelocity || Vectors::ByVectors(arrays.velocity, tile));
    block.ForEachThread([&](int thread) {
      typename Vectors::template Own<float> g, w, v{};
      Vectors::Read(arrays.gradient, tile, by_vectors, thread, g);
      Vectors::Read(arrays.weights, tile, by_vectors, thread, w);
      if constexpr (kVelocity) Vectors::Read(arrays.velocity, tile, by_vectors, thread, v);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) UpdateWeight<kind>(args.rates, g[i], w[i], v[i]);
      Vectors::Write(w, tile, by_vectors, thread, arrays.weights);
      if constexpr (kVelocity) Vectors::Write(v, tile, by_vectors, thread, arrays.velocity);
    });
  }
};

template <class Device>
void LaunchSgdStep(Device& device, MomentumKind kind, const SgdRates& rates,
                   const SgdArrays& arrays, int64_t n) {
  WithKind(kind, [&]<MomentumKind known>() {
    device.template Launch<SgdStep<known>>(TileCount(n), {rates, arrays, n});
  });
}

// A ScaleByRule is a rule of Map (vector_kernels.h) that scales by a factor in device memory.
struct ScaleByRule {
  static constexpr bool kReadsOut = false;
  const float* factor;
  LEGACY_DEVICE float Of(float x, float) const { return x * *factor; }
};

}  // namespace legacy::cuda
