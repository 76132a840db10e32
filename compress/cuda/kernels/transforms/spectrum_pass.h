// The pass over all values that lists the bins that may be selected.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/kernels/transforms/spectrum_block.h"
#include "compress/cuda/kernels/transforms/spectrum_state.h"

namespace legacy::cuda {

// A count of up to kWarp for each warp, a byte each.
template <int kWarps>
struct WarpCounts {
  static constexpr int kWords = kWarps / 4;
  static_assert(kWarps % 4 == 0);
  std::array<uint32_t, kWords> words;

  LEGACY_DEVICE void Set(int warp, int count) {
    reinterpret_cast<uint8_t*>(&words)[warp] = static_cast<uint8_t>(count);
  }
  // Returns the sum of the counts before a warp.
  LEGACY_DEVICE uint32_t Before(int warp) const {
    uint32_t sum = 0;
    LEGACY_UNROLL
    for (int i = 0; i < kWords; ++i) {
      const int bytes = warp - 4 * i;
      const uint32_t mask = bytes <= 0 ? 0 : bytes >= 4 ? 0xFFFFFFFF : (1u << 8 * bytes) - 1;
      sum += (words[i] & mask) * 0x01010101u >> 24;
    }
    return sum;
  }
};

// Runs a block for each tile. When units are repeated, blocks share their tiles.
template <int kMostLog>
struct SpectrumPass : SpectrumBlock<kMostLog> {
  using Tiles = SpectrumBlock<kMostLog>;
  using Tiles::kThreads;
  using Tiles::kWarps;
  static constexpr int kBlocksTogether = Tiles::Transforms::kBlocksTogether;
  struct Args {
    SpectrumJob job;
    int64_t tiles;
    bool again;
  };
  static constexpr int kTogether = 4;
  struct Shared {
    typename Tiles::Transforms::Shared fft;
    // Used in turns, so that one Sync() is enough.
    std::array<WarpCounts<kWarps>, kTogether> counts[2];
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SpectrumJob& job = args.job;
    if (args.again && *job.topk.missed == 0) return;
    for (int64_t t = block.index(); t < args.tiles; t += block.count()) {
      const SpectrumTile tile = FindSpectrumTile(job.spectra, t);
      if (args.again && job.again[tile.unit] == 0) continue;
      RunTile(block, args, t, tile);
      block.Sync();
    }
  }

 private:
  template <class Block>
  static LEGACY_DEVICE void RunTile(Block& block, const Args& args, int64_t number,
                                    const SpectrumTile& tile) {
    const SpectrumJob& job = args.job;
    typename Block::template PerThread<SpectrumExtremes> extremes;
    block.ForEachThread([&](int thread) { extremes[thread] = {}; });
    Tiles::Forward(block, block.shared().fft, job.spectra.factors, tile, job.arrays.values,
                   [&](int thread, uint32_t key) { Raise(extremes[thread].largest, key); });
    List(block, args, number, tile, extremes);
    typename Block::template PerThread<uint32_t> own;
    SpectrumExtremes& all = job.extremes[tile.unit];
    const auto merge = [&](auto member) {
      block.ForEachThread([&](int thread) { own[thread] = extremes[thread].*member; });
      const uint32_t most = block.Max(own);
      block.ForEachThread([&](int thread) {
        // Most blocks need no atomic.
        if (thread != 0 || most <= block.Fresh(&(all.*member))) return;
        block.AtomicMax(&(all.*member), most);
      });
    };
    merge(&SpectrumExtremes::largest);
    merge(&SpectrumExtremes::largest_coefficient);
    merge(&SpectrumExtremes::smallest);
  }

  static LEGACY_DEVICE void Raise(uint32_t& most, uint32_t key) { most = most < key ? key : most; }
  static LEGACY_DEVICE void See(SpectrumExtremes& extremes, float part) {
    const uint32_t key = cpu::KeyOf(part);
    Raise(extremes.largest_coefficient, key);
    Raise(extremes.smallest, key == 0 ? 0 : ~key);
  }

  // Lists bins in order. Their entries begin where they would if all bins of the unit were listed.
  // Several bins of each thread are handled at once.
  template <class Block, class Extremes>
  static LEGACY_DEVICE void List(Block& block, const Args& args, int64_t number,
                                 const SpectrumTile& tile, Extremes& extremes) {
    const SpectrumJob& job = args.job;
    const TopKState& state = job.topk.states[tile.unit];
    const uint32_t low = state.low, high = state.high;
    const int shift = TopKShift(low, high);
    uint32_t* const parts = job.topk.parts + int64_t{tile.unit} * kTopKParts;
    const float scale = job.arrays.scales[tile.unit];
    const int bins = tile.bins();
    const int64_t slots = job.spectra.units[tile.unit].first_bin + tile.first_bin;
    // Bins listed by all threads, and own ones above the bracket.
    typename Block::template PerThread<uint32_t> listed, winners;
    typename Block::template PerThread<TopKCounter> counters;
    block.ForEachThread([&](int thread) { listed[thread] = winners[thread] = 0; });
    int turn = 0;
    for (int first = 0; first < bins; first += kTogether * kThreads, turn ^= 1) {
      auto& counts = block.shared().counts[turn];
      typename Block::template PerThread<std::array<typename Tiles::Bin, kTogether>> own;
      // Bits of the warp.
      typename Block::template PerThread<std::array<uint32_t, kTogether>> wanted;
      LEGACY_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        typename Block::template PerThread<bool> is_wanted;
        block.ForEachThread([&](int thread) {
          is_wanted[thread] = false;
          const int at = first + i * kThreads + thread;
          if (at >= bins) return;
          const auto bin = Tiles::BinOf(block.shared().fft, job.spectra.factors, tile,
                                        job.arrays.values, scale, at);
          own[thread][i] = bin;
          See(extremes[thread], bin.x.re);
          See(extremes[thread], bin.x.im);
          const uint32_t key = cpu::KeyOf(bin.power);
          is_wanted[thread] = key >= low;
          winners[thread] += key > high;
          if (!args.again && low <= key && key <= high) {
            counters[thread].Add(block, (key - low) >> shift, parts);
          }
        });
        const auto masks = block.Ballot(is_wanted);
        block.ForEachThread([&](int thread) {
          wanted[thread][i] = masks[thread];
          if (thread % kWarp == 0) counts[i].Set(thread / kWarp, std::popcount(masks[thread]));
        });
      }
      block.Sync();
      block.ForEachThread([&](int thread) {
        const int lane = thread % kWarp, warp = thread / kWarp;
        LEGACY_UNROLL
        for (int i = 0; i < kTogether; ++i) {
          const uint32_t below = wanted[thread][i] & ((1u << lane) - 1);
          const int64_t at = slots + listed[thread] + counts[i].Before(warp) + std::popcount(below);
          listed[thread] += counts[i].Before(kWarps);
          if ((wanted[thread][i] >> lane & 1) == 0) continue;
          const int64_t position = tile.first_bin + first + i * kThreads + thread;
          job.topk.entries[at] = {static_cast<uint32_t>(position), own[thread][i].power};
          job.coefficients[at] = own[thread][i].x;
        }
      });
    }
    // Listed ones; in the upper half those above the bracket.
    typename Block::template PerThread<uint64_t> counts;
    block.ForEachThread([&](int thread) {
      counters[thread].End(block, parts);
      counts[thread] = uint64_t{winners[thread]} << 32;
      if (thread != 0) return;
      counts[thread] += listed[thread];
      job.topk.tiles[number] = {static_cast<uint32_t>(slots), listed[thread], 0, 0};
    });
    const uint64_t sum = block.Sum(counts);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      const uint64_t above = sum >> 32;
      if (sum > 0) block.AtomicAdd(&job.topk.states[tile.unit].counts, sum - above);
    });
  }
};

}  // namespace legacy::cuda
