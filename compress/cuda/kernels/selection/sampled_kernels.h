// Estimates the sampled threshold of Deep Gradient Compression (sparsifiers/sampled.h) on a GPU,
// for all layers at once, before anything is selected.
//
//   LaunchTakeSamples(), LaunchTopK() of the samples and LaunchSmallestMagnitudes() of the selected
//   ones give the threshold.
//   LaunchCountAtLeast() counts, in one read, how many elements this threshold and each lower one
//   that may be tried would select.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/vectors.h"
#include "compress/sparsifiers/sampled.h"

namespace legacy::cuda {

// Samples of a segment are the values at first, first + stride and so on.
struct SampledElements {
  int64_t first = 0;
  int64_t stride = 1;
};

inline constexpr int kSampledThresholds = SampledRule::kTries + 1;

// Runs a block for each tile of samples.
struct TakeSampleTiles {
  static constexpr int kThreads = 256;
  struct Args {
    Segments segments;
    const SampledElements* elements;
    const float* values;
    float* samples;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const SampledElements from = args.elements[tile.segment];
    block.ForEachThread([&](int thread) {
      LEGACY_UNROLL
      for (int k = 0; k < kTile / kThreads; ++k) {
        const int64_t i = tile.begin + k * kThreads + thread;
        if (i >= tile.end) continue;
        args.samples[tile.offset + i] = args.values[from.first + i * from.stride];
      }
    });
  }
};

// Runs a block for each segment.
struct FindSmallest {
  static constexpr int kThreads = 256;
  struct Args {
    Segments segments;
    const float* values;
    float* smallest;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Extent extent = args.segments.extents[block.index()];
    // Largest difference between the largest key and a key.
    typename Block::template PerThread<uint32_t> most;
    block.ForEachThread([&](int thread) {
      most[thread] = 0;
      for (int64_t i = thread; i < extent.length; i += kThreads) {
        const uint32_t lacking = cpu::kLargestKey - cpu::KeyOf(args.values[extent.offset + i]);
        most[thread] = most[thread] < lacking ? lacking : most[thread];
      }
    });
    const uint32_t lacking = block.Max(most);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      args.smallest[block.index()] =
          extent.length > 0 ? std::bit_cast<float>(cpu::kLargestKey - lacking) : 0.0f;
    });
  }
};

// Runs a block for each tile.
struct CountTilesAtLeast {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  // A count is a field of 16 bits, which is enough for a tile.
  static constexpr int kFields = 4, kFieldBits = 16;
  static constexpr int kWords = (kSampledThresholds + kFields - 1) / kFields;
  static_assert(kTile < 1 << kFieldBits);
  using Keys = std::array<uint32_t, kSampledThresholds>;
  struct Args {
    Segments segments;
    const float* values;
    const float* thresholds;
    uint32_t* counts;
    uint32_t* non_finite;
  };
  struct Shared {
    Keys keys;
    std::array<uint64_t, kWords> counts;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const bool by_vectors = Vectors::ByVectors(args.values, tile);
    auto& shared = block.shared();
    block.ForEachThread([&](int thread) {
      if (thread == 0) FindKeys(args.thresholds[tile.segment], shared.keys);
    });
    block.Sync();
    typename Block::template PerThread<std::array<uint64_t, kWords>> counts;
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own;
      Vectors::Read(args.values, tile, by_vectors, thread, own);
      counts[thread] = {};
      uint32_t non_finite = 0;
      const auto size = static_cast<int>(tile.end - tile.begin);
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        const uint32_t key = cpu::KeyOf(own[i]);
        if (Vectors::Position(thread, i) >= size || key < shared.keys[kSampledThresholds - 1]) {
          continue;
        }
        LEGACY_UNROLL
        for (int j = 0; j < kSampledThresholds; ++j) {
          const uint64_t one = uint64_t{1} << j % kFields * kFieldBits;
          counts[thread][j / kFields] += key >= shared.keys[j] ? one : 0;
        }
        non_finite += key >= cpu::kInfinityKey;
      }
      if (non_finite > 0) block.AtomicAdd(&args.non_finite[tile.segment], non_finite);
    });
    LEGACY_UNROLL
    for (int word = 0; word < kWords; ++word) {
      typename Block::template PerThread<uint64_t> own;
      block.ForEachThread([&](int thread) { own[thread] = counts[thread][word]; });
      const uint64_t sum = block.Sum(own);
      block.ForEachThread([&](int thread) {
        if (thread == 0) shared.counts[word] = sum;
      });
    }
    block.Sync();
    block.ForEachThread([&](int thread) {
      if (thread >= kSampledThresholds) return;
      const uint64_t fields = shared.counts[thread / kFields];
      const auto count = static_cast<uint32_t>(fields >> thread % kFields * kFieldBits) & 0xFFFF;
      if (count > 0) {
        block.AtomicAdd(&args.counts[int64_t{tile.segment} * kSampledThresholds + thread], count);
      }
    });
  }

 private:
  static LEGACY_DEVICE void FindKeys(float threshold, Keys& keys) {
    for (int j = 0; j < kSampledThresholds; ++j) {
      keys[j] = cpu::KeyOf(threshold);
      threshold *= SampledRule::kLower;
    }
  }
};

// Takes samples. Reads a memory sector and writes 4 bytes per sample.
template <class Device>
void LaunchTakeSamples(Device& device, const SegmentTable& table, Segments segments,
                       const SampledElements* elements, const float* values, float* samples) {
  device.template Launch<TakeSampleTiles>(table.tiles(), {segments, elements, values, samples});
}

// Finds the smallest |x| of each segment, or 0 if it is empty. It suits short segments, because one
// block reads a segment.
template <class Device>
void LaunchSmallestMagnitudes(Device& device, const SegmentTable& table, Segments segments,
                              const float* values, float* smallest) {
  device.template Launch<FindSmallest>(table.count(), {segments, values, smallest});
}

// Adds to counts[s * kSampledThresholds + j] the number of elements of segment s that reach its
// threshold, lowered j times, and to non_finite[s] its number of NaN and infinities. Reads 4 bytes
// per element.
template <class Device>
void LaunchCountAtLeast(Device& device, const SegmentTable& table, Segments segments,
                        const float* values, const float* thresholds, uint32_t* counts,
                        uint32_t* non_finite) {
  device.template Launch<CountTilesAtLeast>(table.tiles(),
                                            {segments, values, thresholds, counts, non_finite});
}

}  // namespace legacy::cuda
