// Transforms of a tile by a block, and access to its bins, for all kernels over spectra.
#pragma once

#include <cstdint>
#include <type_traits>

#include "compress/cpu/spectrum.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cuda/kernels/transforms/fft_block.h"

namespace legacy::cuda {

// Returns true if two neighbouring values can be read in one access.
LEGACY_DEVICE bool ArePairs(const float* values) {
  return reinterpret_cast<uintptr_t>(values) % sizeof(ComplexFloat) == 0;
}
LEGACY_DEVICE ComplexFloat LoadPair(const float* values, int number, bool by_pairs) {
  if (by_pairs) return reinterpret_cast<const ComplexFloat*>(values)[number];
  return {values[2 * number], values[2 * number + 1]};
}
LEGACY_DEVICE void StorePair(ComplexFloat pair, float* values, int number, bool by_pairs) {
  if (by_pairs) {
    reinterpret_cast<ComplexFloat*>(values)[number] = pair;
  } else {
    values[2 * number] = pair.re;
    values[2 * number + 1] = pair.im;
  }
}

// The common part of kernels whose blocks transform tiles.
template <int kMostLog>
struct SpectrumBlock {
  using Transforms = FftBlock<kMostLog>;
  using Fft = typename Transforms::Fft;
  static constexpr int kThreads = Transforms::kThreads;
  static constexpr int kWarps = kThreads / kWarp;

  // Transforms a tile; calls seen(thread, key) for each value.
  template <class Block, class Seen>
  static LEGACY_DEVICE void Forward(Block& block, typename Transforms::Shared& shared,
                                    const FftFactors& factors, const SpectrumTile& tile,
                                    const float* flat, Seen seen) {
    const float* const values = flat + tile.element;
    if (tile.log == 0) {
      block.ForEachThread([&](int thread) {
        if (thread < tile.length) seen(thread, cpu::KeyOf(values[thread]));
      });
      return;
    }
    const bool by_pairs = ArePairs(values);
    Transforms::WithLength(tile, [&](auto half_bits) {
      const Fft fft = Fft::Of(factors, {half_bits});
      const float scale = fft.scale / 2;
      Transforms::Transform(block, shared, fft, half_bits, tile.count << half_bits,
                            [&](int thread, int location) -> ComplexFloat {
                              const ComplexFloat pair = LoadPair(values, location, by_pairs);
                              seen(thread, cpu::KeyOf(pair.re));
                              seen(thread, cpu::KeyOf(pair.im));
                              return {pair.re * scale, pair.im * scale};
                            });
    });
  }

  struct Bin {
    ComplexFloat x;
    float power;
  };
  // Returns bin `bin` of a tile whose transforms are in `shared`.
  static LEGACY_DEVICE Bin BinOf(const typename Transforms::Shared& shared,
                                 const FftFactors& factors, const SpectrumTile& tile,
                                 const float* flat, float scale, int bin) {
    Bin result;
    bool real = false;
    if (tile.log == 0) {
      result.x = DirectCoefficient(factors, flat + tile.element, tile.length, bin);
      real = 2 * bin % tile.length == 0;
    } else {
      Transforms::WithLength(tile, [&](auto half_bits) {
        const int half = 1 << half_bits;
        const int piece = tile.count == 1 ? 0 : bin / (half + 1);
        const int k = bin - piece * (half + 1);
        real = k == 0 || k == half;
        result.x = Coefficient(shared, Fft::Of(factors, {half_bits}), piece * half, k);
      });
    }
    result.power = cpu::Power(result.x, scale);
    if (real) result.power /= 2;
    return result;
  }

 private:
  static LEGACY_DEVICE ComplexFloat Coefficient(const typename Transforms::Shared& shared,
                                                const Fft& fft, int begin, int k) {
    const int half = fft.shape.half();
    if (k == 0) return {cpu::FirstReal(shared.At(begin)), 0.0f};
    if (k == half) return {cpu::LastReal(shared.At(begin)), 0.0f};
    return cpu::SplitReal(shared.At(begin + fft.shape.LocationOf(k)),
                          shared.At(begin + fft.shape.LocationOf(half - k)), fft.real_roots[k]);
  }
};

// Calls run(log) with the logarithm of the largest tile's number of elements, as a constant.
template <class Run>
void WithRoom(const SpectrumTable& table, Run run) {
  if (table.chunk_log() <= kTileLog) {
    run(std::integral_constant<int, kTileLog>());
  } else {
    run(std::integral_constant<int, kLargestChunkLog>());
  }
}

}  // namespace legacy::cuda
