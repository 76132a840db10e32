// Kernels of spectrum.h that select the Top-K of powers (topk_kernels.h). Only powers that may be
// selected are ever stored.
//
//   spectrum_bracket.h:
//     Sample   transforms every 16th tile and counts its powers by exponent and 3 more bits
//     Bracket  finds two keys for each unit between which the key of the k-th power probably lies;
//              for a short unit, all keys
//   spectrum_pass.h:
//     Pass     transforms everything, lists bins from the bracket on, and finds the largest |x|
//   Judge      checks bracket and scale, and finds the part of the bracket that holds the k-th key
//   Pass       is repeated for units that failed the check, with the right scale and all keys
//   ...        Top-K continues from lists
//
// Nearly every scale passes. Squares are scaled by a power of two, which changes no bit of a normal
// number's mantissa and no order of their sums. The scale matters only for squares that are
// denormal, zero or infinite with one scale but not with the other.
#pragma once

#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/selection/topk_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum_block.h"
#include "compress/cuda/kernels/transforms/spectrum_bracket.h"
#include "compress/cuda/kernels/transforms/spectrum_pass.h"
#include "compress/cuda/kernels/transforms/spectrum_state.h"

namespace legacy::cuda {

// Runs a block for each unit.
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
    const auto winners = static_cast<uint32_t>(state.counts >> 32);
    const auto candidates = static_cast<uint32_t>(state.counts);
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
  // Returns true if squares, and sums of them, are normal numbers with both scales.
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

inline constexpr int64_t kSpectrumBlocks = 132 * 8;  // fills an H100, where blocks share tiles

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
