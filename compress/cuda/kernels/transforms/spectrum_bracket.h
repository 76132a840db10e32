// Estimates from a sample of each unit's tiles a bracket that probably holds the k-th power of its
// spectrum.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/kernels/transforms/spectrum_block.h"
#include "compress/cuda/kernels/transforms/spectrum_state.h"

namespace legacy::cuda {

// Runs a block for each sampled tile.
template <int kMostLog>
struct SpectrumSample : SpectrumBlock<kMostLog> {
  using Tiles = SpectrumBlock<kMostLog>;
  using Tiles::kThreads;
  struct Args {
    SpectrumJob job;
  };
  struct Shared {
    typename Tiles::Transforms::Shared fft;
    std::array<uint32_t, kTopKParts> parts;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SpectrumJob& job = args.job;
    auto& shared = block.shared();
    const SpectrumTile tile = FindSpectrumTile(job.spectra, job.spectra.samples[block.index()]);
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < kTopKParts; i += kThreads) shared.parts[i] = 0;
    });
    Tiles::Forward(block, shared.fft, job.spectra.factors, tile, job.arrays.values,
                   [](int, uint32_t) {});
    const float scale = job.arrays.scales[tile.unit];
    const int shift = TopKShift(0, cpu::kLargestKey);
    block.ForEachThread([&](int thread) {
      TopKCounter counter;
      for (int bin = thread; bin < tile.bins(); bin += kThreads) {
        const float power =
            Tiles::BinOf(shared.fft, job.spectra.factors, tile, job.arrays.values, scale, bin)
                .power;
        counter.Add(block, cpu::KeyOf(power) >> shift, shared.parts.data());
      }
      counter.End(block, shared.parts.data());
    });
    block.Sync();
    uint32_t* const parts = job.topk.parts + int64_t{tile.unit} * kTopKParts;
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < kTopKParts; i += kThreads) {
        if (shared.parts[i] > 0) block.AtomicAdd(&parts[i], shared.parts[i]);
      }
    });
  }
};

// Runs a block for each unit.
struct SpectrumBracket {
  static constexpr int kThreads = 256;
  struct Args {
    SpectrumJob job;
  };
  struct Shared {
    std::array<uint32_t, kTopKParts> parts;
    TopKState ends[2];  // search state of the lower and the upper end
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SpectrumJob& job = args.job;
    const auto unit = static_cast<int32_t>(block.index());
    const uint32_t k = job.arrays.k[unit];
    uint32_t* const parts = job.topk.parts + int64_t{unit} * kTopKParts;
    auto& shared = block.shared();
    block.ForEachThread([&](int thread) {
      if (thread == 0) FirstRanks(job.spectra.units[unit], k, shared.ends);
    });
    for (TopKState& end : shared.ends) {
      block.ForEachThread([&](int thread) {
        for (int i = thread; i < kTopKParts; i += kThreads) shared.parts[i] = parts[i];
      });
      block.Sync();
      NarrowRange(block, end, shared.parts.data());
      block.Sync();
    }
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < kTopKParts; i += kThreads) parts[i] = 0;
      if (thread != 0) return;
      TopKState& state = job.topk.states[unit];
      state = {};
      state.low = shared.ends[0].low;
      state.high = shared.ends[1].high;
      if (k == 0) state.low = state.high = cpu::kLargestKey;
      state.source = TopKSource::kLists;
      job.extremes[unit] = {};
      job.again[unit] = 0;
      if (unit == 0) *job.topk.missed = 0;
    });
  }

 private:
  // Distance of the ends' ranks from the expected rank: in standard deviations of tiles whose
  // counts vary as much as the counts themselves, and in standard deviations of bins.
  static constexpr double kTileDeviations = 2, kBinDeviations = 4, kFew = 32;

  // Computes the ranks of the bracket's ends in the sample. An end whose rank is 0 or beyond the
  // sample does not move.
  static LEGACY_DEVICE void FirstRanks(const SpectrumUnit& of, uint32_t k, TopKState* ends) {
    const double expected = of.bins > 0 ? static_cast<double>(k) / static_cast<double>(of.bins) *
                                              static_cast<double>(of.sampled_bins)
                                        : 0;
    const double few = kFew + kBinDeviations * std::sqrt(expected);
    const auto tiles = static_cast<double>(of.sampled_tiles > 0 ? of.sampled_tiles : 1);
    const double more = 1 + kTileDeviations / std::sqrt(tiles);
    const double ranks[] = {expected * more + few, expected / more - few};
    for (int end = 0; end < 2; ++end) {
      ends[end] = {};
      ends[end].high = cpu::kLargestKey;
      ends[end].rank = static_cast<uint32_t>(ranks[end] < 1 ? 0 : ranks[end]);
    }
  }
};

}  // namespace legacy::cuda
