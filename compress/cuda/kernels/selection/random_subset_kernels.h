// Selects the support of Random-K on a GPU, to the same bits as cpu::RandomSubset, for many units
// in one set of launches, and reads the selected values. The launches depend on the units alone. If
// a unit needs more draws than expected, its last block makes them, so the result is exact whatever
// the draws are.
//
// A subset is the first d distinct positions of a stream of draws; the stream draws the subset
// itself, or above d = n / 2 its complement. While r positions are missing, the next r draws are
// needed whatever they are. They can therefore be marked in a bitmap at once and in any order, and
// the new positions counted.
//
//   Begin    clears the bitmaps
//   Round    marks the next draws, as many as were missing after the previous round; the largest
//            unit determines the number of rounds: one up to about 5 % of a unit, log2(n) - 13 for
//            a half
//   Finish   marks the remaining draws, some thousands, with a block for each unit
//   bits_kernels.h then lists the positions.
//
// Bytes moved per unit: n / 8 written, n / 4 read, 4 k written, and an atomic for each draw. There
// are d to 1.4 d draws, or more for n so large that draws are often refused. No result depends on
// an order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/random.h"
#include "compress/cpu/random_subset.h"
#include "compress/cpu/topk_gather.h"
#include "compress/cuda/device/workspace.h"
#include "compress/cuda/kernels/coding/bits_kernels.h"
#include "compress/cuda/kernels/selection/subset_table.h"

namespace legacy::cuda {

// All pointers are to device memory.
struct SubsetJob {
  Subsets subsets;
  const RandomKey* keys = nullptr;  // one per unit
  uint32_t* positions = nullptr;
  // Scratch.
  uint32_t* bitmaps = nullptr;
  uint32_t* before = nullptr;    // scratch for BitJob
  uint32_t* found = nullptr;     // scratch for BitJob
  StreamKey* streams = nullptr;  // one per unit
  uint32_t* marked = nullptr;    // number of new positions in each round and unit
};

inline BitJob BitsOf(const SubsetJob& job) {
  return {job.subsets.words, job.subsets.sets, job.bitmaps, job.positions, job.before, job.found};
}

// A SubsetState is a unit's progress.
struct SubsetState {
  // Number of draws so far.
  int64_t drawn = 0;
  // Number of positions still missing.
  int64_t lacking = 0;
};

// Returns the number of draws of a round, in whole blocks of Philox: few if hardly any position is
// missing.
LEGACY_DEVICE int64_t DrawsOfRound(const SubsetJob& job, int32_t unit, int round, int64_t lacking) {
  const int64_t room = job.subsets.draws[int64_t{round} * job.subsets.words.count + unit].length;
  return (lacking < room ? lacking : room) / 4 * 4;
}
LEGACY_DEVICE SubsetState StateBefore(const SubsetJob& job, int32_t unit, int round) {
  const BitSet& set = job.subsets.sets[unit];
  SubsetState state = {0, set.complement ? set.bits - set.most : set.most};
  for (int r = 0; r < round && state.lacking > 0; ++r) {
    state.drawn += DrawsOfRound(job, unit, r, state.lacking);
    state.lacking -= job.marked[int64_t{r} * job.subsets.words.count + unit];
  }
  return state;
}

// A SubsetMarker marks the positions that a unit's draws give.
struct SubsetMarker {
  StreamKey stream;
  uint32_t n;
  uint32_t refused;
  uint32_t* bitmap;

  static LEGACY_DEVICE SubsetMarker Of(const SubsetJob& job, int32_t unit) {
    const auto n = static_cast<uint32_t>(job.subsets.sets[unit].bits);
    return {job.streams[unit], n, cpu::RefusedBelow(n),
            job.bitmaps + job.subsets.words.extents[unit].offset};
  }
  // Returns how many of draws 4 b .. 4 b + 3 that are before `end` give a position that was not
  // marked yet.
  template <class Block>
  LEGACY_DEVICE uint32_t Mark(Block& block, int64_t b, int64_t end) const {
    if (4 * b >= end) return 0;
    const auto draws = StreamBlock(stream, static_cast<uint64_t>(b));
    uint32_t marked = 0;
    LEGACY_UNROLL
    for (int i = 0; i < 4; ++i) {
      const cpu::Pick pick = cpu::PickOf(draws[i], n, refused);
      if (!pick.accepted || 4 * b + i >= end) continue;
      const uint32_t bit = 1u << pick.position % kBitsInWord;
      marked += (block.AtomicOr(&bitmap[pick.position / kBitsInWord], bit) & bit) == 0;
    }
    return marked;
  }
  // Marks kBlocks blocks of Philox per thread, from block `first` on, and returns the sum over all
  // threads.
  template <int kBlocks, class Block>
  LEGACY_DEVICE uint32_t MarkRun(Block& block, int64_t first, int64_t end) const {
    typename Block::template PerThread<uint32_t> marked;
    block.ForEachThread([&](int thread) {
      marked[thread] = 0;
      LEGACY_UNROLL
      for (int i = 0; i < kBlocks; ++i) {
        marked[thread] += Mark(block, first + i * Block::kThreads + thread, end);
      }
    });
    return block.Sum(marked);
  }
};

// Runs a block for each tile of the bitmaps.
struct BeginSubsets {
  static constexpr int kThreads = kBitThreads;
  struct Args {
    SubsetJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SubsetJob& job = args.job;
    const Tile tile = FindTile(job.subsets.words, block.index(), kBitTile);
    block.ForEachThread([&](int thread) {
      BitVectors::Write(BitVectors::Own<uint32_t>{}, tile, BitVectors::ByVectors(job.bitmaps, tile),
                        thread, job.bitmaps);
      if (tile.begin > 0) return;
      if (thread == 0) job.streams[tile.segment] = StreamKeyOf(job.keys[tile.segment]);
      for (int r = thread; r < job.subsets.rounds; r += kThreads) {
        job.marked[int64_t{r} * job.subsets.words.count + tile.segment] = 0;
      }
    });
  }
};

// Runs a block for each tile of the round's draws.
struct DrawRound {
  static constexpr int kThreads = 256;
  // Number of blocks of Philox per thread.
  static constexpr int kBlocks = static_cast<int>(kDrawTile) / 4 / kThreads;
  struct Args {
    SubsetJob job;
    int round;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SubsetJob& job = args.job;
    const int32_t count = job.subsets.words.count;
    const Segments draws = {job.subsets.draws + int64_t{args.round} * count,
                            job.subsets.first_tile + int64_t{args.round} * (count + 1), count};
    const Tile tile = FindTile(draws, block.index(), kDrawTile);
    const SubsetState state = StateBefore(job, tile.segment, args.round);
    const int64_t end = state.drawn + DrawsOfRound(job, tile.segment, args.round, state.lacking);
    const int64_t first = (state.drawn + tile.begin) / 4;
    if (4 * first >= end) return;
    const SubsetMarker marker = SubsetMarker::Of(job, tile.segment);
    const uint32_t sum = marker.template MarkRun<kBlocks>(block, first, end);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      block.AtomicAdd(&job.marked[int64_t{args.round} * count + tile.segment], sum);
    });
  }
};

// Runs a block for each unit.
struct FinishSubsets {
  static constexpr int kThreads = 1024;
  static constexpr int kBlocks = 2;  // number of blocks of Philox per thread
  static constexpr int64_t kDraws = int64_t{kThreads} * kBlocks * 4;
  struct Args {
    SubsetJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const SubsetJob& job = args.job;
    const auto unit = static_cast<int32_t>(block.index());
    SubsetState state = StateBefore(job, unit, job.subsets.rounds);
    if (state.lacking == 0) return;
    const SubsetMarker marker = SubsetMarker::Of(job, unit);
    while (state.lacking > 0) {
      const int64_t first = state.drawn / 4;
      const int64_t most = kDraws - 3;  // The run may begin within a block of Philox.
      const int64_t end = state.drawn + (state.lacking < most ? state.lacking : most);
      state.lacking -= marker.template MarkRun<kBlocks>(block, first, end);
      state.drawn = end;
    }
  }
};

// Lays out the selection of subsets by the streams of `keys`, one key for each unit, in device
// memory. Positions go to `positions`, ascending. `subsets` is the view of the device's copy of
// `table`. Scratch is n / 8 and n / 8192 bytes for each unit.
inline SubsetJob LayOutSubsets(const SubsetTable& table, const Subsets& subsets,
                               const RandomKey* keys, uint32_t* positions, Workspace& workspace) {
  return {.subsets = subsets,
          .keys = keys,
          .positions = positions,
          .bitmaps = workspace.Take<uint32_t>(table.bitmap_words()),
          .before = workspace.Take<uint32_t>(table.word_tiles()),
          .found = workspace.Take<uint32_t>(table.count()),
          .streams = workspace.Take<StreamKey>(table.count()),
          .marked = workspace.Take<uint32_t>(int64_t{table.rounds()} * table.count())};
}

template <class Device>
void LaunchSubsets(Device& device, const SubsetTable& table, const SubsetJob& job) {
  device.template Launch<BeginSubsets>(table.word_tiles(), {job});
  for (int round = 0; round < table.rounds(); ++round) {
    device.template Launch<DrawRound>(table.draw_tiles(round), {job, round});
  }
  device.template Launch<FinishSubsets>(table.count(), {job});
  LaunchBits(device, BitsOf(job), table.count(), table.word_tiles());
}

// Runs a thread for each unit.
struct ResetCounts {
  static constexpr int kThreads = 256;
  struct Args {
    uint32_t* counts;
    int64_t n;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t i = block.index() * kThreads + thread;
      if (i < args.n) args.counts[i] = 0;
    });
  }
};

// Runs a block for each tile of selected entries.
struct TakeEntries {
  static constexpr int kThreads = 256;
  static constexpr int kTogether = 8;  // number of loads of a thread in flight
  struct Args {
    Subsets subsets;
    const uint32_t* positions;
    float* flat;
    bool clear;
    float* values;
    uint32_t* non_finite;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.subsets.kept, block.index(), kTile);
    const SubsetUnit unit = args.subsets.units[tile.segment];
    typename Block::template PerThread<uint32_t> bad;
    block.ForEachThread([&](int thread) {
      bad[thread] = 0;
      for (int64_t at = tile.begin + thread; at < tile.end; at += kTogether * kThreads) {
        bad[thread] += Take(args, unit, at, tile.end);
      }
    });
    const uint32_t sum = block.Sum(bad);
    block.ForEachThread([&](int thread) {
      if (thread == 0 && sum > 0) block.AtomicAdd(&args.non_finite[tile.segment], sum);
    });
  }

 private:
  // Takes entries `at`, at + kThreads and so on, kTogether of them before `end`; returns how many
  // are not finite.
  static LEGACY_DEVICE uint32_t Take(const Args& args, const SubsetUnit& unit, int64_t at,
                                     int64_t end) {
    std::array<float*, kTogether> from;
    std::array<float, kTogether> values;
    LEGACY_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      const int64_t entry = at + i * kThreads;
      from[i] = entry < end ? args.flat + unit.offset + args.positions[unit.out + entry] : nullptr;
    }
    LEGACY_UNROLL
    for (int i = 0; i < kTogether; ++i) values[i] = from[i] ? *from[i] * unit.factor : 0;
    uint32_t bad = 0;
    LEGACY_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      if (!from[i]) continue;
      args.values[unit.out + at + i * kThreads] = values[i];
      bad += cpu::KeyOf(values[i]) >= cpu::kInfinityKey;
      if (args.clear) *from[i] = 0;
    }
    return bad;
  }
};

// Writes the elements of `flat` at each unit's positions, times the unit's factor, to `values`, in
// the order of the positions. With `clear`, for error feedback, it then clears them in `flat`.
// non_finite[unit] counts NaN and infinities among them. 12 bytes move per value, and a memory
// sector, two if cleared.
template <class Device>
void LaunchTake(Device& device, const SubsetTable& table, const Subsets& subsets,
                const uint32_t* positions, float* flat, bool clear, float* values,
                uint32_t* non_finite) {
  device.template Launch<ResetCounts>(TilesOf(table.count(), ResetCounts::kThreads),
                                      {non_finite, table.count()});
  device.template Launch<TakeEntries>(table.kept_tiles(),
                                      {subsets, positions, flat, clear, values, non_finite});
}

}  // namespace legacy::cuda
