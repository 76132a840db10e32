// Kernels of spectrum.h for inverse transforms.
//
//   FindTileBins  finds where each tile's bins begin in each worker's list, by binary search
//   InvertTiles   adds the bins of a tile in shared memory, one worker after the other, transforms
//                 the sum and writes the result
#pragma once

#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/search.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/transforms/fft_block.h"
#include "compress/cuda/kernels/transforms/spectrum.h"
#include "compress/cuda/kernels/transforms/spectrum_block.h"

namespace legacy::cuda {

// All pointers are to device memory.
struct InverseJob {
  Spectra spectra;
  InverseArrays arrays;
  int64_t tiles;
  uint32_t* tile_bins;  // scratch: first entry of each tile, for each worker
};

// Runs a thread for each tile of each worker.
struct FindTileBins {
  static constexpr int kThreads = 128;
  struct Args {
    InverseJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const InverseJob& job = args.job;
    block.ForEachThread([&](int thread) {
      const int64_t at = block.index() * kThreads + thread;
      if (at >= job.tiles * job.arrays.workers) return;
      const int64_t worker = at / job.tiles;
      const SpectrumTile tile = FindSpectrumTile(job.spectra, at - worker * job.tiles);
      const int64_t list = worker * job.spectra.count + tile.unit;
      const uint32_t count = job.arrays.count[list];
      const bool all = count == job.spectra.units[tile.unit].bins;
      const int64_t begin = job.arrays.begin[list];
      job.tile_bins[at] = all ? static_cast<uint32_t>(tile.first_bin)
                              : LowerBound(job.arrays.positions + begin, count, tile.first_bin);
    });
  }
};

// Runs a block for each tile.
template <int kMostLog>
struct InvertTiles {
  using Transforms = FftBlock<kMostLog>;
  using Fft = typename Transforms::Fft;
  static constexpr int kThreads = Transforms::kThreads;
  static constexpr int kBlocksTogether = Transforms::kBlocksTogether;
  struct Args {
    InverseJob job;
  };
  struct Shared {
    typename Transforms::Shared fft;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const InverseJob& job = args.job;
    const SpectrumTile tile = FindSpectrumTile(job.spectra, block.index());
    bool empty = true;  // no worker sent bins of the tile
    for (int32_t worker = 0; worker < job.arrays.workers; ++worker) {
      const Bins bins = Find(job, tile, block.index(), worker);
      if (bins.begin == bins.end) continue;
      if (empty) Clear(block, tile);
      empty = false;
      Gather(block, job, tile, bins);
    }
    if (empty) return Leave(block, job, tile);
    WithFft(job, tile, [&](auto half_bits, const Fft& fft) {
      Join(block, fft, tile.count << half_bits);
      Transforms::Transform(block, block.shared().fft, fft, half_bits, tile.count << half_bits,
                            [&](int, int location) { return block.shared().fft.At(location); });
    });
    Put(block, job, tile);
  }

 private:
  // A worker's bins of a tile: entries begin .. end - 1 of its list.
  struct Bins {
    int64_t list;
    int64_t begin, end;
    bool all;  // the list holds all bins of the unit
  };

  static LEGACY_DEVICE Bins Find(const InverseJob& job, const SpectrumTile& tile, int64_t number,
                                 int32_t worker) {
    const Spectra& spectra = job.spectra;
    const int64_t list = int64_t{worker} * spectra.count + tile.unit;
    const uint32_t count = job.arrays.count[list];
    const uint32_t* const begins = job.tile_bins + worker * job.tiles + number;
    const bool last = number + 1 == spectra.first_tile[tile.unit + 1];
    return {list, begins[0], last ? count : begins[1], count == spectra.units[tile.unit].bins};
  }

  template <class Step>
  static LEGACY_DEVICE void WithFft(const InverseJob& job, const SpectrumTile& tile, Step step) {
    if (tile.log == 0) return;
    Transforms::WithLength(
        tile, [&](auto half_bits) { step(half_bits, Fft::Of(job.spectra.factors, {half_bits})); });
  }

  template <class Block>
  static LEGACY_DEVICE void Clear(Block& block, const SpectrumTile& tile) {
    const int locations = tile.log == 0 ? tile.bins() : tile.count * (tile.length / 2);
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < locations; i += kThreads) block.shared().fft.Put(i, {0, 0});
    });
    block.Sync();
  }

  // Adds coefficient k of a piece at its location k. The last coefficient is real and is added to
  // the imaginary part of the first. The bins of one worker are distinct, so that threads do not
  // collide.
  template <class Block>
  static LEGACY_DEVICE void Gather(Block& block, const InverseJob& job, const SpectrumTile& tile,
                                   const Bins& bins) {
    auto& shared = block.shared().fft;
    const int half = tile.length / 2;
    const int64_t begin = job.arrays.begin[bins.list];
    block.ForEachThread([&](int thread) {
      bool bad = false;
      for (int64_t i = bins.begin + thread; i < bins.end; i += kThreads) {
        const int64_t position = bins.all ? i : job.arrays.positions[begin + i];
        const auto bin = static_cast<int>(position - tile.first_bin);
        const ComplexFloat x = job.arrays.coefficients[begin + i];
        bad = bad || cpu::KeyOf(x.re) > kLargestCoefficientKey ||
              cpu::KeyOf(x.im) > kLargestCoefficientKey;
        const bool strays = job.arrays.keeps_zeros && x.im != 0;
        if (tile.log == 0) {
          bad = bad || (strays && 2 * bin % tile.length == 0);
          const ComplexFloat before = shared.At(bin);
          shared.Put(bin, {before.re + x.re, before.im + x.im});
          continue;
        }
        const int piece = tile.count == 1 ? 0 : bin / (half + 1);
        const int k = bin - piece * (half + 1);
        bad = bad || (strays && (k == 0 || k == half));
        const int at = Transforms::Slot(piece * half + (k == half ? 0 : k));
        if (k < half) shared.re[at] += x.re;
        if (k == half) shared.im[at] += x.re;
        if (k > 0 && k < half) shared.im[at] += x.im;
      }
      if (bad && job.arrays.malformed) job.arrays.malformed[bins.list] = 1;
    });
    block.Sync();
  }

  // Computes the complex numbers whose transform gives the values. Real and imaginary parts are
  // exchanged, which makes the transform an inverse one.
  template <class Block>
  static LEGACY_DEVICE void Join(Block& block, const Fft& fft, int locations) {
    auto& shared = block.shared().fft;
    const int half = fft.shape.half();
    const auto put = [&](int location, ComplexFloat z) { shared.Put(location, {z.im, z.re}); };
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < locations / 2; i += kThreads) {
        const int k = i & (half / 2 - 1);
        const int begin = (i - k) * 2;
        const int mirror = k == 0 ? half / 2 : half - k;
        const ComplexFloat x = shared.At(begin + k), y = shared.At(begin + mirror);
        if (k == 0) {
          put(begin, cpu::JoinFirst(x.re, x.im, fft.scale));
          put(begin + mirror, cpu::JoinReal(y, y, fft.real_roots[mirror], fft.scale));
        } else {
          put(begin + k, cpu::JoinReal(x, y, fft.real_roots[k], fft.scale));
          put(begin + mirror, cpu::JoinReal(y, x, fft.real_roots[mirror], fft.scale));
        }
      }
    });
    block.Sync();
  }

  // Returns the new value of an element that was `before`, for a sum x of the workers.
  static LEGACY_DEVICE float Merged(const InverseArrays& arrays, float before, float x) {
    if (arrays.mode == InverseMode::kMean) return (0.0f + x) / arrays.divisor;
    return arrays.mode == InverseMode::kSubtract ? before - (0.0f + x) : before + x;
  }

  template <class Block>
  static LEGACY_DEVICE void Put(Block& block, const InverseJob& job, const SpectrumTile& tile) {
    auto& shared = block.shared().fft;
    float* const out = job.arrays.out + tile.element;
    const bool reads = job.arrays.mode != InverseMode::kMean;
    if (tile.log == 0) {
      block.ForEachThread([&](int thread) {
        if (thread >= tile.length) return;
        const auto bin = [&](int k) { return shared.At(k); };
        const float x = DirectValue(job.spectra.factors, bin, tile.length, thread);
        out[thread] = Merged(job.arrays, reads ? out[thread] : 0, x);
      });
      return;
    }
    const bool by_pairs = ArePairs(out);
    WithFft(job, tile, [&](auto half_bits, const Fft& fft) {
      const int half = 1 << half_bits;
      block.ForEachThread([&](int thread) {
        for (int i = thread; i < tile.count * half; i += kThreads) {
          const int j = i & (half - 1);
          const ComplexFloat z = shared.At(i - j + fft.shape.LocationOf(j));
          const ComplexFloat before = reads ? LoadPair(out, i, by_pairs) : ComplexFloat{0, 0};
          StorePair({Merged(job.arrays, before.re, z.im), Merged(job.arrays, before.im, z.re)}, out,
                    i, by_pairs);
        }
      });
    });
  }

  // Writes a tile as Put() would if every coefficient were zero, because no worker sent any.
  template <class Block>
  static LEGACY_DEVICE void Leave(Block& block, const InverseJob& job, const SpectrumTile& tile) {
    if (job.arrays.mode != InverseMode::kMean) return;
    float* const out = job.arrays.out + tile.element;
    block.ForEachThread([&](int thread) {
      for (int i = thread; i < tile.count * tile.length; i += kThreads) out[i] = 0;
    });
  }
};

inline InverseJob LayOutInverse(const SpectrumTable& table, const Spectra& spectra,
                                const InverseArrays& arrays, Workspace& workspace) {
  return {spectra, arrays, table.tiles(),
          workspace.Take<uint32_t>(table.tiles() * int64_t{arrays.workers})};
}

template <class Device>
void LaunchInverse(Device& device, const SpectrumTable& table, const InverseJob& job) {
  const int64_t searches = job.tiles * job.arrays.workers;
  device.template Launch<FindTileBins>(TilesOf(searches, FindTileBins::kThreads), {job});
  WithRoom(table,
           [&](auto log) { device.template Launch<InvertTiles<log()>>(table.tiles(), {job}); });
}

}  // namespace legacy::cuda
