// Kernels of spectrum.h that select: the Top-K of powers (topk_kernels.h), which are never in memory but for those that
// may be kept.
//
//   Sample   transforms every 16th tile and counts its powers by their exponent and 3 bits more
//   Bracket  of each unit two keys between which that of the k-th power probably is; of a short unit, all keys
//   Pass     transforms everything and lists bins from the bracket on; finds the largest |x| on the way
//   Judge    whether bracket and scale did, and the part of the bracket that holds the k-th key. They did nearly always: squares are scaled by a power of two, which changes
//            no bit of a normal number, and no order of their sums. What they are scaled by matters where one is
//            denormal, zero or infinite with one scale and not with the other.
//   Pass     once more, of units where they did not, by the right scale and all keys
//   ...      as Top-K goes on from lists
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/fft_block.h"
#include "compress/cuda/spectrum.h"
#include "compress/cuda/topk_kernels.h"
#include "compress/cuda/workspace.h"

namespace legacy::cuda {

// What Pass sees of a unit, as maxima.
struct SpectrumExtremes {
  uint32_t largest;              // key of a value
  uint32_t largest_coefficient;  // of a re or im
  uint32_t smallest;             // ~ of that of one that is not zero
};

// All in the memory of the device.
struct SpectrumJob {
  Spectra spectra;
  SpectrumArrays arrays;
  TopKJob topk;  // of lists of bins
  // Scratch.
  ComplexFloat* coefficients;  // of topk.entries
  SpectrumExtremes* extremes;  // of each unit
  uint32_t* again;             // of each unit: Pass has to be done again
};

// Neighbouring values in one access, where they are aligned for it.
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

inline constexpr int64_t kSpectrumBlocks = 132 * 8;  // fill an H100, where blocks share tiles

// What blocks do that transform tiles.
template <int kMostLog>
struct SpectrumBlock {
  using Transforms = FftBlock<kMostLog>;
  using Fft = typename Transforms::Fft;
  static constexpr int kThreads = Transforms::kThreads;
  static constexpr int kWarps = kThreads / kWarp;

  // Transforms of a tile; seen(thread, key of a value).
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
  // Bin number `bin` of a tile whose transforms are in `shared`.
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

// A block for each sampled tile.
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
      for (int bin = thread; bin < tile.bins(); bin += kThreads) {
        const float power =
            Tiles::BinOf(shared.fft, job.spectra.factors, tile, job.arrays.values, scale, bin)
                .power;
        block.AtomicAdd(&shared.parts[cpu::KeyOf(power) >> shift], 1u);
      }
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

// A block for each unit.
struct SpectrumBracket {
  static constexpr int kThreads = 256;
  static constexpr int kOwn = kTopKParts / kThreads;
  struct Args {
    SpectrumJob job;
  };
  struct Shared {
    int parts[2];  // of the bracket's ends
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SpectrumJob& job = args.job;
    const auto unit = static_cast<int32_t>(block.index());
    const SpectrumUnit& of = job.spectra.units[unit];
    const uint32_t k = job.arrays.k[unit];
    uint32_t* const parts = job.topk.parts + int64_t{unit} * kTopKParts;
    auto& shared = block.shared();
    typename Block::template PerThread<uint32_t> before, own;
    block.ForEachThread([&](int thread) {
      own[thread] = 0;
      for (int i = 0; i < kOwn; ++i) own[thread] += parts[Part(thread, i)];
      before[thread] = own[thread];
      if (thread == 0) {
        shared.parts[0] = 0;
        shared.parts[1] = kTopKParts - 1;
      }
    });
    block.ExclusiveSum(before);
    block.Sync();
    const double expected = of.bins > 0 ? static_cast<double>(k) / static_cast<double>(of.bins) *
                                              static_cast<double>(of.sampled_bins)
                                        : 0;
    block.ForEachThread([&](int thread) {
      const double few = kFew + kBinDeviations * std::sqrt(expected);
      const auto tiles = static_cast<double>(of.sampled_tiles > 0 ? of.sampled_tiles : 1);
      const double more = 1 + kTileDeviations / std::sqrt(tiles);
      const double ranks[] = {expected * more + few, expected / more - few};
      LEGACY_UNROLL
      for (int end = 0; end < 2; ++end) {
        const auto rank = static_cast<uint32_t>(ranks[end] < 1 ? 0 : ranks[end]);
        uint32_t counted = before[thread];
        if (rank <= counted || rank > counted + own[thread]) continue;
        for (int i = 0; i < kOwn; ++i) {
          counted += parts[Part(thread, i)];
          if (rank > counted) continue;
          shared.parts[end] = Part(thread, i);
          break;
        }
      }
    });
    block.Sync();
    block.ForEachThread([&](int thread) {
      for (int i = 0; i < kOwn; ++i) parts[Part(thread, i)] = 0;
      if (thread != 0) return;
      const int shift = TopKShift(0, cpu::kLargestKey);
      TopKState& state = job.topk.states[unit];
      state = {};
      state.low = static_cast<uint32_t>(shared.parts[0]) << shift;
      state.high = ((static_cast<uint32_t>(shared.parts[1]) + 1) << shift) - 1;
      if (k == 0) state.low = state.high = cpu::kLargestKey;
      state.source = TopKSource::kLists;
      job.extremes[unit] = {};
      job.again[unit] = 0;
      if (unit == 0) *job.topk.missed = 0;
    });
  }

 private:
  // How far ranks of the ends are from the expected one: in deviations of tiles that differ by as much as they hold, and
  // of bins.
  static constexpr double kTileDeviations = 2, kBinDeviations = 4, kFew = 32;

  static LEGACY_DEVICE int Part(int thread, int i) { return kTopKParts - 1 - thread * kOwn - i; }
};

// A number up to kWarp of each warp, in bytes.
template <int kWarps>
struct WarpCounts {
  static constexpr int kWords = kWarps / 4;
  static_assert(kWarps % 4 == 0);
  std::array<uint32_t, kWords> words;

  LEGACY_DEVICE void Set(int warp, int count) {
    reinterpret_cast<uint8_t*>(&words)[warp] = static_cast<uint8_t>(count);
  }
  // The sum of those before a warp.
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

// A block for each tile; of units that are done again, as many as are there.
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
    std::array<WarpCounts<kWarps>, kTogether> counts[2];  // turns, so that one Sync() does
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
        if (thread != 0 || most <= block.Fresh(&(all.*member))) return;  // mostly no atomic
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

  // In order, from where they would be if all were listed: some bins of each thread at once.
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
    typename Block::template PerThread<uint32_t> listed, winners;  // listed by all threads
    block.ForEachThread([&](int thread) { listed[thread] = winners[thread] = 0; });
    int turn = 0;
    for (int first = 0; first < bins; first += kTogether * kThreads, turn ^= 1) {
      auto& counts = block.shared().counts[turn];
      typename Block::template PerThread<std::array<typename Tiles::Bin, kTogether>> own;
      typename Block::template PerThread<std::array<uint32_t, kTogether>> wanted;  // of the warp
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
            block.AtomicAdd(&parts[(key - low) >> shift], 1u);
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
    typename Block::template PerThread<uint64_t> counts;  // candidates, winners in the upper half
    block.ForEachThread([&](int thread) {
      counts[thread] = uint64_t{winners[thread]} << 32;
      if (thread != 0) return;
      counts[thread] += listed[thread];
      job.topk.tiles[number] = {static_cast<uint32_t>(slots), listed[thread], 0, 0};
    });
    const uint64_t sum = block.Sum(counts);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      const auto above = static_cast<uint32_t>(sum >> 32);
      const auto candidates = static_cast<uint32_t>(sum) - above;
      if (above > 0) block.AtomicAdd(&job.topk.states[tile.unit].winners, above);
      if (candidates > 0) block.AtomicAdd(&job.topk.states[tile.unit].candidates, candidates);
    });
  }
};

// A block for each unit.
struct SpectrumJudge {
  static constexpr int kThreads = 256;
  struct Args {
    SpectrumJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SpectrumJob& job = args.job;
    const int64_t unit = block.index();
    TopKState& state = job.topk.states[unit];
    uint32_t* const parts = job.topk.parts + unit * kTopKParts;
    const SpectrumExtremes seen = job.extremes[unit];
    const uint32_t k = job.arrays.k[unit];
    const uint32_t winners = state.winners, candidates = state.candidates;
    const bool refused = seen.largest > kLargestValueKey;
    const float right = refused ? 1.0f : cpu::SpectrumScale(std::bit_cast<float>(seen.largest));
    const float used = job.arrays.scales[unit];
    const bool held = k == 0 || (winners < k && k - winners <= candidates);
    const bool good = held && (refused || used == right || AreNormal(seen, used, right));
    block.Sync();
    block.ForEachThread([&](int thread) {
      for (int i = thread; !good && i < kTopKParts; i += kThreads) parts[i] = 0;
      if (thread != 0) return;
      job.arrays.scales[unit] = right;
      job.arrays.largest[unit] = seen.largest;
      state.rank = k - winners;
      if (good) return;
      state.low = 0;
      state.high = cpu::kLargestKey;
      state.rank = k;
      job.again[unit] = 1;
      block.AtomicOr(job.topk.missed, 1u);
    });
    block.Sync();
    if (good && k > 0) NarrowRange(block, state, parts);
  }

 private:
  // Whether squares, and sums of them, are normal numbers by either scale.
  static LEGACY_DEVICE bool AreNormal(const SpectrumExtremes& seen, float used, float right) {
    constexpr float kLeast = 0x1p-62f, kMost = 0x1p60f;
    if (seen.smallest == 0) return true;  // there is nothing but zeros
    const float most = std::bit_cast<float>(seen.largest_coefficient);
    const float least = std::bit_cast<float>(~seen.smallest);
    const bool finite = seen.largest_coefficient < cpu::kInfinityKey;
    return finite && IsIn(least * used, kLeast, kMost) && IsIn(least * right, kLeast, kMost) &&
           IsIn(most * used, kLeast, kMost) && IsIn(most * right, kLeast, kMost);
  }
  static LEGACY_DEVICE bool IsIn(float x, float least, float most) {
    return least <= x && x <= most;
  }
};

struct SpectrumOut {
  const ComplexFloat* listed;
  uint32_t* positions;
  ComplexFloat* coefficients;

  LEGACY_DEVICE void Put(const Tile&, const TopKState&, int64_t at, const TopKEntry& entry,
                         int64_t number) const {
    positions[at] = entry.index;
    coefficients[at] = listed[number];
  }
};

inline SpectrumJob LayOutSpectrum(const SpectrumTable& table, const Spectra& spectra,
                                  const SpectrumArrays& arrays, Workspace& workspace) {
  SpectrumJob job = {};
  job.spectra = spectra;
  job.arrays = arrays;
  job.topk = {.segments = {spectra.bins, spectra.first_tile, spectra.count},
              .arrays = {.k = arrays.k, .out = arrays.out},
              .states = workspace.Take<TopKState>(table.count()),
              .tiles = workspace.Take<TopKTile>(table.tiles()),
              .parts = workspace.Take<uint32_t>(int64_t{table.count()} * kTopKParts),
              .entries = workspace.Take<TopKEntry>(table.bins()),
              .capacity = 0,
              .cursor = nullptr,
              .missed = workspace.Take<uint32_t>(1)};
  job.coefficients = workspace.Take<ComplexFloat>(table.bins());
  job.extremes = workspace.Take<SpectrumExtremes>(table.count());
  job.again = workspace.Take<uint32_t>(table.count());
  return job;
}

// run(logarithm of the elements of a tile that there is room for), a constant.
template <class Run>
void WithRoom(const SpectrumTable& table, Run run) {
  if (table.chunk_log() <= kTileLog) {
    run(std::integral_constant<int, kTileLog>());
  } else {
    run(std::integral_constant<int, kLargestChunkLog>());
  }
}

template <class Device>
void LaunchSpectrum(Device& device, const SpectrumTable& table, const SpectrumJob& job) {
  const int64_t tiles = table.tiles();
  const int64_t few = tiles < kSpectrumBlocks ? tiles : kSpectrumBlocks;
  device.Clear(job.topk.parts, size_t{kTopKParts} * sizeof(uint32_t) * table.count());
  WithRoom(table, [&](auto log) {
    device.template Launch<SpectrumSample<log()>>(table.samples(), {job});
    device.template Launch<SpectrumBracket>(table.count(), {job});
    device.template Launch<SpectrumPass<log()>>(tiles, {job, tiles, false});
    device.template Launch<SpectrumJudge>(table.count(), {job});
    device.template Launch<SpectrumPass<log()>>(few, {job, tiles, true});
  });
  LaunchTopKOfLists(device, job.topk, table.count(), tiles,
                    SpectrumOut{job.coefficients, job.arrays.positions, job.arrays.coefficients});
}

}  // namespace legacy::cuda
