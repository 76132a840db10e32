// The kernels of topk_kernels.h that read all data: Bracket and Pass.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"
#include "compress/cuda/kernels/selection/topk_state.h"

namespace legacy::cuda {

// Runs a block for each segment.
struct TopKBracket {
  static constexpr int kThreads = 1024;
  static constexpr int kOwn = kTopKSample / kThreads;
  static constexpr uint32_t kCoarse = 1 << 10;  // keys; 2^-13 of a number
  struct Args {
    TopKJob job;
  };
  struct Shared {
    std::array<uint32_t, kTopKParts> parts;
    TopKState ends[2];  // search state of the lower and the upper end
  };

  // Returns the position of sample element i of `sample`: evenly spaced, with a jitter within the
  // stride.
  static constexpr int64_t Position(int64_t i, int64_t length, int64_t sample) {
    if (sample == length) return i;
    const int64_t begin = i * length / kTopKSample, end = (i + 1) * length / kTopKSample;
    const auto jitter = static_cast<uint32_t>(i) * 2654435761u >> 8;
    return begin + jitter % static_cast<uint32_t>(end - begin);
  }

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    const auto segment = static_cast<int32_t>(block.index());
    const Extent extent = job.segments.extents[segment];
    const uint32_t k = job.arrays.k[segment];
    const int64_t sample = extent.length < kTopKSample ? extent.length : kTopKSample;
    auto& shared = block.shared();

    typename Block::template PerThread<std::array<uint32_t, kOwn>> keys;
    block.ForEachThread([&](int thread) {
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const int64_t number = int64_t{i} * kThreads + thread;
        if (number >= sample) continue;
        const int64_t at = extent.offset + Position(number, extent.length, sample);
        keys[thread][i] =
            cpu::KeyOf(job.arrays.gradient ? job.arrays.gradient[at] + job.arrays.residual[at]
                                           : job.arrays.residual[at]);
      }
      for (int i = thread; i < kTopKParts; i += kThreads) {
        shared.parts[i] = 0;
        job.parts[int64_t{segment} * kTopKParts + i] = 0;
      }
      if (thread == 0) FirstRanks(k, extent.length, sample, shared.ends);
    });
    block.Sync();
    // The ends of a bracket may be ranges that hold the sample's keys; of a short segment they are
    // the k-th key.
    const uint32_t coarse = sample == extent.length ? 0 : kCoarse;
    for (TopKState& end : shared.ends) {
      // A rank beyond the sample leaves the end as it is.
      if (end.rank == 0 || end.rank > sample) continue;
      while (end.high - end.low > coarse) {
        const uint32_t low = end.low, high = end.high;
        block.ForEachThread([&](int thread) {
          TopKCounter counter;
          LEGACY_UNROLL
          for (int i = 0; i < kOwn; ++i) {
            const uint32_t key = keys[thread][i];
            if (int64_t{i} * kThreads + thread >= sample || key < low || key > high) continue;
            counter.Add(block, (key - low) >> TopKShift(low, high), shared.parts.data());
          }
          counter.End(block, shared.parts.data());
        });
        block.Sync();
        NarrowInBlock(block, end);
        block.Sync();
      }
    }
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      if (segment == 0) *job.cursor = *job.missed = 0;
      const bool exact = sample == extent.length;
      TopKState& state = job.states[segment];
      state = {};
      state.low = shared.ends[0].low;
      state.high = exact ? state.low : shared.ends[1].high;
      // Zeros may be the majority: they are not listed, and Judge() detects that the k-th is a
      // zero.
      if (state.low == 0 && state.high > 0) state.low = 1;
      if (k == 0) state.low = state.high = cpu::kLargestKey;
      state.bracket = state.high;
      state.source = state.low < state.high ? TopKSource::kLists : TopKSource::kCounts;
    });
  }

 private:
  // Computes the ranks of the bracket's ends in the sample: four standard deviations around the
  // rank of the k-th.
  static LEGACY_DEVICE void FirstRanks(uint32_t k, int64_t length, int64_t sample,
                                       TopKState* ends) {
    const double share = length > 0 ? static_cast<double>(k) / static_cast<double>(length) : 0;
    const auto size = static_cast<double>(sample);
    const double expected = share * size;
    const double slack = sample == length ? 0 : 4 * std::sqrt(expected * (1 - share)) + 1;
    ends[0] = {};
    ends[1] = {};
    const double lower = expected + slack + 0.5, upper = expected - slack;
    ends[0].low = 0;  // if the rank is beyond the sample
    ends[0].high = cpu::kLargestKey;
    ends[1].low = 0;
    ends[1].high = cpu::kLargestKey;  // if the rank is before the sample
    ends[0].rank = static_cast<uint32_t>(lower < 1 ? 1 : lower);
    ends[1].rank = upper < 1 ? 0 : static_cast<uint32_t>(upper);
  }
  template <class Block>
  static LEGACY_DEVICE void NarrowInBlock(Block& block, TopKState& end) {
    NarrowRange(block, end, block.shared().parts.data());
  }
};

// Runs a block for each tile.
struct TopKPass {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksTogether = 5;
  static constexpr int kVectors = 4;  // vectors per thread
  using Vectors = TileVectors<kThreads, kVectors>;
  static_assert(Vectors::kElements == kTile);
  struct Args {
    TopKJob job;
  };
  struct Shared {
    uint32_t list;
    bool last;
  };
  using Elements = Vectors::Own<float>;

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    const Tile tile = FindTile(job.segments, block.index(), kTile);
    TopKState& state = job.states[tile.segment];
    const uint32_t low = state.low, high = state.high;
    const bool lists = low < high;
    typename Block::template PerThread<Elements> elements;
    // Number of elements that may be selected, by vectors.
    typename Block::template PerThread<uint64_t> before;
    // Keys above the bracket; not finite ones in the upper half.
    typename Block::template PerThread<uint32_t> winners;
    block.ForEachThread([&](int thread) {
      elements[thread] = Vectors::ReadSum(job.arrays.gradient, job.arrays.residual, tile, thread);
      winners[thread] = 0;
      before[thread] = 0;
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        if (Vectors::Position(thread, i) >= static_cast<int>(tile.end - tile.begin)) continue;
        const uint32_t key = cpu::KeyOf(elements[thread][i]);
        before[thread] += key >= low ? VectorCounts::One(i) : 0;
        winners[thread] += key > high;
        winners[thread] += key >= cpu::kInfinityKey ? 1u << 16 : 0;
      }
    });
    const uint32_t both = block.Sum(winners);
    const uint32_t above = both & 0xFFFF, non_finite = both >> 16;
    const uint64_t fields = block.ExclusiveSum(before);
    const uint32_t listed = VectorCounts::Total(fields);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      const uint32_t list = lists ? block.AtomicAdd(job.cursor, listed) : 0;
      const bool room = uint64_t{list} + listed <= job.capacity;
      block.shared().list = room ? list : kNoRoom;
      job.tiles[block.index()] = {list, lists && room ? listed : 0, above, listed - above};
      block.AtomicAdd(&state.counts, uint64_t{above} << 32 | (listed - above));
      if (non_finite > 0) block.AtomicAdd(&state.non_finite, non_finite);
      if (lists && !room) block.AtomicOr(&state.no_room, 1u);
    });
    block.Sync();
    const uint32_t list = block.shared().list;
    uint32_t* const parts = job.parts + int64_t{tile.segment} * kTopKParts;
    block.ForEachThread([&](int thread) {
      if (lists && list != kNoRoom) {
        List(block, tile, elements[thread], thread, fields, before[thread], low, high,
             job.entries + list, parts);
      }
      if (job.arrays.gradient) {
        const uint32_t cleared = lists && list != kNoRoom ? high : cpu::kLargestKey;
        Store(job, tile, thread, elements[thread], cleared);
      }
    });
    if (!EndsSegment(block, job, tile.segment, 1)) return;
    const bool found = Judge(block, job, tile.segment);
    if (found && lists) NarrowRange(block, state, parts);
  }

 private:
  static constexpr uint32_t kNoRoom = 0xFFFFFFFF;

  static LEGACY_DEVICE void Store(const TopKJob& job, const Tile& tile, int thread,
                                  Elements elements, uint32_t cleared) {
    LEGACY_UNROLL
    for (float& x : elements) x = cpu::KeyOf(x) > cleared ? 0.0f : x;
    Vectors::Write(elements, tile,
                   Vectors::SumByVectors(job.arrays.gradient, job.arrays.residual, tile), thread,
                   job.arrays.residual);
  }
  template <class Block>
  static LEGACY_DEVICE void List(Block& block, const Tile& tile, const Elements& elements,
                                 int thread, uint64_t fields, uint64_t before, uint32_t low,
                                 uint32_t high, TopKEntry* entries, uint32_t* parts) {
    const int shift = TopKShift(low, high);
    TopKCounter counter;
    uint32_t vector_begin = 0;
    LEGACY_UNROLL
    for (int vector = 0; vector < kVectors; ++vector) {
      uint32_t at = vector_begin + VectorCounts::Of(before, vector);
      LEGACY_UNROLL
      for (int i = kVector * vector; i < kVector * (vector + 1); ++i) {
        const int position = Vectors::Position(thread, i);
        const uint32_t key = cpu::KeyOf(elements[i]);
        if (position >= static_cast<int>(tile.end - tile.begin) || key < low) continue;
        entries[at++] = {static_cast<uint32_t>(tile.begin + position), elements[i]};
        if (key <= high) counter.Add(block, (key - low) >> shift, parts);
      }
      vector_begin += VectorCounts::Of(fields, vector);
    }
    counter.End(block, parts);
  }

  // Returns true if the bracket holds the k-th key. If it does not, later kernels read the whole
  // segment: to find the key, or, if fewer than k elements are not zero, the first zeros.
  template <class Block>
  static LEGACY_DEVICE bool Judge(Block& block, const TopKJob& job, int32_t segment) {
    TopKState& state = job.states[segment];
    const uint32_t k = job.arrays.k[segment];
    const uint64_t counts = block.Fresh(&state.counts);
    const auto winners = static_cast<uint32_t>(counts >> 32);
    const auto candidates = static_cast<uint32_t>(counts);
    const bool found =
        k == 0 || (winners < k && k - winners <= candidates && block.Fresh(&state.no_room) == 0);
    const bool zero = state.low == 1 && winners + candidates < k;
    block.Sync();
    block.ForEachThread([&](int thread) {
      for (int i = thread; !found && i < kTopKParts; i += kThreads) {
        job.parts[int64_t{segment} * kTopKParts + i] = 0;
      }
      if (thread != 0) return;
      state.rank = k - winners;
      if (found) return;
      state.low = 0;
      state.high = zero ? 0 : cpu::kLargestKey;
      state.rank = zero ? k - winners - candidates : k;
      state.source = TopKSource::kAll;
      block.AtomicAdd(job.missed, 1u);
    });
    block.Sync();
    return found;
  }
};

}  // namespace legacy::cuda
