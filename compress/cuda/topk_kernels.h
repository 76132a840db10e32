// Exact Top-K of magnitudes with error feedback, of many segments at once: cpu/topk.h on a GPU, with
// the same result to the bit (the k largest |e|, ties to the lower index, ascending).
//
//   Bracket   a sample of each segment gives two keys between which the k-th largest almost surely is;
//             of a short segment the sample is all, and both keys are that one
//   Pass      the only pass over all data: e = g + r is written, elements that may be kept are listed
//             tile by tile, those above the bracket are cleared on the way; keys within it are counted
//             in 2048 parts
//   Restore   where the bracket missed or the lists had no room: undoes what was cleared
//   Round     (three times, mostly with nothing left to do) narrows the range that holds the k-th key
//             to a part, from the lists, or from all of a segment whose bracket missed
//   Count     per tile: keys above the k-th, and equal to it
//   Scan      where each tile's kept elements begin
//   Emit      indices and values, in order; clears what is kept and was not cleared before
//
// Bytes moved per element: 8 read and 4 written by Pass; 8 written and 24 read for each listed
// element; 4 more are read where the lists are not used (short segments; many equal magnitudes: where
// both ends of the bracket are one key nothing but counts is needed).
// Deterministic: where a tile's list begins depends on the order of blocks, what it holds does not.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "compress/cuda/segments.h"
#include "compress/cuda/topk.h"
#include "compress/cuda/vectors.h"
#include "compress/cuda/workspace.h"

namespace legacy::cuda {

inline constexpr uint32_t kTopKInfinity = 0x7F800000;
inline constexpr uint32_t kTopKLargest = 0x7FFFFFFF;
inline constexpr int kTopKParts = 2048;  // of a range, in a round
inline constexpr int64_t kTopKSample = 16384;

LEGACY_DEVICE uint32_t TopKKey(float x) { return std::bit_cast<uint32_t>(x) & kTopKLargest; }

struct TopKEntry {
  uint32_t index;  // in the segment
  float value;
};

// Where the kernels after Pass find what may be kept.
enum class TopKSource : uint32_t {
  kCounts,  // the bracket was one key: tiles have counts, and the residual the elements
  kLists,
  kAll,  // the bracket missed: the residual
};

// Of a segment.
struct TopKState {
  uint32_t low, high;   // keys that hold the k-th largest, both inside; one key when it is found
  uint32_t rank;        // of it, from 1, among the keys up to `high`
  uint32_t bracket;     // upper end that Pass used
  uint32_t winners;     // above it
  uint32_t candidates;  // listed, or counted, and not above it
  uint32_t tiles_done;
  TopKSource source;
  uint32_t no_room;     // for a tile's list
  uint32_t non_finite;  // elements
};

struct TopKTile {
  uint32_t list, listed;  // entries
  uint32_t above, ties;   // keys above the k-th, equal to it; then those of the tiles before
};

// All in the memory of the device.
struct TopKJob {
  Segments segments;  // tiles of kTile
  TopKArrays arrays;
  // Scratch.
  TopKState* states;  // of each segment
  TopKTile* tiles;
  uint32_t* parts;  // kTopKParts for each segment
  TopKEntry* entries;
  uint32_t capacity;  // of entries
  uint32_t* cursor;   // entries in use
  uint32_t* missed;   // segments whose bracket missed
};

LEGACY_DEVICE int64_t TileCount(const Segments& segments, int32_t s) {
  return segments.first_tile[s + 1] - segments.first_tile[s];
}

// Keys of a range by parts: (key - low) >> TopKShift.
LEGACY_DEVICE int TopKShift(uint32_t low, uint32_t high) {
  const int bits = std::bit_width(high - low) - std::bit_width(uint32_t{kTopKParts - 1});
  return bits > 0 ? bits : 0;
}

// The part of the range that holds the rank becomes the range. Clears the parts.
template <class Block>
LEGACY_DEVICE void NarrowRange(Block& block, TopKState& state, uint32_t* parts) {
  constexpr int kOwn = kTopKParts / Block::kThreads;
  typename Block::template PerThread<uint32_t> before, own;
  block.ForEachThread([&](int thread) {
    uint32_t sum = 0;
    for (int i = 0; i < kOwn; ++i) sum += block.Fresh(&parts[kTopKParts - 1 - thread * kOwn - i]);
    before[thread] = own[thread] = sum;
  });
  block.ExclusiveSum(before);
  const uint32_t low = state.low, high = state.high, rank = state.rank;
  block.Sync();
  block.ForEachThread([&](int thread) {
    if (before[thread] < rank && rank <= before[thread] + own[thread]) {
      const int shift = TopKShift(low, high);
      uint32_t counted = before[thread];
      for (int i = 0; i < kOwn; ++i) {
        const int part = kTopKParts - 1 - thread * kOwn - i;
        const uint32_t here = block.Fresh(&parts[part]);
        if (counted + here < rank) {
          counted += here;
          continue;
        }
        const uint32_t from = low + (static_cast<uint32_t>(part) << shift);
        const uint32_t to = from + ((1u << shift) - 1);
        state.low = from;
        state.high = to < high ? to : high;
        state.rank = rank - counted;
        break;
      }
    }
  });
  block.Sync();
  block.ForEachThread([&](int thread) {
    for (int i = 0; i < kOwn; ++i) parts[kTopKParts - 1 - thread * kOwn - i] = 0;
  });
}

// Whether this block ends the work on `tiles` more tiles of a segment as the last one of all.
template <class Block>
LEGACY_DEVICE bool EndsSegment(Block& block, const TopKJob& job, int32_t segment, int64_t tiles) {
  return EndsWork(block, &job.states[segment].tiles_done, tiles, TileCount(job.segments, segment),
                  block.shared().last);
}

// A block for each segment.
struct TopKBracket {
  static constexpr int kThreads = 1024;
  static constexpr int kOwn = kTopKSample / kThreads;
  struct Args {
    TopKJob job;
  };
  struct Shared {
    std::array<uint32_t, kTopKParts> parts;
    TopKState ends[2];  // searched for: the lower, the upper one
  };

  // Position of sample element i of `sample`: evenly spread, jittered within its stride.
  static constexpr int64_t Position(int64_t i, int64_t length, int64_t sample) {
    if (sample == length) return i;
    const int64_t begin = i * length / sample, end = (i + 1) * length / sample;
    const auto jitter = static_cast<uint32_t>(i) * 2654435761u >> 8;
    return begin + jitter % (end - begin);
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
            TopKKey(job.arrays.gradient ? job.arrays.gradient[at] + job.arrays.residual[at]
                                        : job.arrays.residual[at]);
      }
      for (int i = thread; i < kTopKParts; i += kThreads) {
        shared.parts[i] = 0;
        job.parts[int64_t{segment} * kTopKParts + i] = 0;
      }
      if (thread == 0) FirstRanks(k, extent.length, sample, shared.ends);
    });
    block.Sync();
    for (TopKState& end : shared.ends) {
      if (end.rank == 0 || end.rank > sample) continue;  // beyond the sample: as it is
      while (end.low < end.high) {
        const uint32_t low = end.low, high = end.high;
        block.ForEachThread([&](int thread) {
          LEGACY_UNROLL
          for (int i = 0; i < kOwn; ++i) {
            const uint32_t key = keys[thread][i];
            if (int64_t{i} * kThreads + thread >= sample || key < low || key > high) continue;
            block.AtomicAdd(&shared.parts[(key - low) >> TopKShift(low, high)], 1u);
          }
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
      if (k == 0) state.low = state.high = kTopKLargest;
      state.bracket = state.high;
      state.source = state.low < state.high ? TopKSource::kLists : TopKSource::kCounts;
    });
  }

 private:
  // Ranks in the sample for the ends of the bracket, four deviations around that of the k-th.
  static LEGACY_DEVICE void FirstRanks(uint32_t k, int64_t length, int64_t sample,
                                       TopKState* ends) {
    const double share = length > 0 ? static_cast<double>(k) / static_cast<double>(length) : 0;
    const auto size = static_cast<double>(sample);
    const double expected = share * size;
    const double slack = sample == length ? 0 : 4 * SquareRoot(expected * (1 - share)) + 1;
    ends[0] = {};
    ends[1] = {};
    const double lower = expected + slack + 0.5, upper = expected - slack;
    ends[0].low = 0;  // where the rank is beyond the sample
    ends[0].high = kTopKLargest;
    ends[1].low = 0;
    ends[1].high = kTopKLargest;  // where the rank is before it
    ends[0].rank = static_cast<uint32_t>(lower < 1 ? 1 : lower);
    ends[1].rank = upper < 1 ? 0 : static_cast<uint32_t>(upper);
  }
  static LEGACY_DEVICE double SquareRoot(double x) {
    double root = x > 1 ? x : 1;  // Newton's, from above; a bracket needs no more
    for (int i = 0; i < 40; ++i) root = 0.5 * (root + x / root);
    return root;
  }
  template <class Block>
  static LEGACY_DEVICE void NarrowInBlock(Block& block, TopKState& end) {
    NarrowRange(block, end, block.shared().parts.data());
  }
};

// A block for each tile.
struct TopKPass {
  static constexpr int kThreads = 256;
  static constexpr int kVectors = 4;  // for each thread
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
    typename Block::template PerThread<uint64_t> before;  // those that may be kept, by vectors
    typename Block::template PerThread<uint32_t> winners, bad;
    block.ForEachThread([&](int thread) {
      elements[thread] = Vectors::ReadSum(job.arrays.gradient, job.arrays.residual, tile, thread);
      winners[thread] = bad[thread] = 0;
      before[thread] = 0;
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        if (Vectors::Position(thread, i) >= static_cast<int>(tile.end - tile.begin)) continue;
        const uint32_t key = TopKKey(elements[thread][i]);
        before[thread] += key >= low ? VectorCounts::One(i) : 0;
        winners[thread] += key > high;
        bad[thread] += key >= kTopKInfinity;
      }
    });
    const uint32_t above = block.Sum(winners);
    const uint32_t non_finite = block.Sum(bad);
    const uint64_t fields = block.ExclusiveSum(before);
    const uint32_t listed = VectorCounts::Total(fields);
    block.ForEachThread([&](int thread) {
      if (thread != 0) return;
      const uint32_t list = lists ? block.AtomicAdd(job.cursor, listed) : 0;
      const bool room = uint64_t{list} + listed <= job.capacity;
      block.shared().list = room ? list : kNoRoom;
      job.tiles[block.index()] = {list, lists && room ? listed : 0, above, listed - above};
      block.AtomicAdd(&state.winners, above);
      block.AtomicAdd(&state.candidates, listed - above);
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
        const uint32_t cleared = lists && list != kNoRoom ? high : kTopKLargest;
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
    for (float& x : elements) x = TopKKey(x) > cleared ? 0.0f : x;
    Vectors::Write(elements, tile,
                   Vectors::SumByVectors(job.arrays.gradient, job.arrays.residual, tile), thread,
                   job.arrays.residual);
  }
  template <class Block>
  static LEGACY_DEVICE void List(Block& block, const Tile& tile, const Elements& elements,
                                 int thread, uint64_t fields, uint64_t before, uint32_t low,
                                 uint32_t high, TopKEntry* entries, uint32_t* parts) {
    const int shift = TopKShift(low, high);
    uint32_t vector_begin = 0;
    LEGACY_UNROLL
    for (int vector = 0; vector < kVectors; ++vector) {
      uint32_t at = vector_begin + VectorCounts::Of(before, vector);
      LEGACY_UNROLL
      for (int i = kVector * vector; i < kVector * (vector + 1); ++i) {
        const int position = Vectors::Position(thread, i);
        const uint32_t key = TopKKey(elements[i]);
        if (position >= static_cast<int>(tile.end - tile.begin) || key < low) continue;
        entries[at++] = {static_cast<uint32_t>(tile.begin + position), elements[i]};
        if (key <= high) block.AtomicAdd(&parts[(key - low) >> shift], 1u);
      }
      vector_begin += VectorCounts::Of(fields, vector);
    }
  }

  // Whether the bracket holds the k-th key. If not, all of the segment is looked at again.
  template <class Block>
  static LEGACY_DEVICE bool Judge(Block& block, const TopKJob& job, int32_t segment) {
    TopKState& state = job.states[segment];
    const uint32_t k = job.arrays.k[segment];
    const uint32_t winners = block.Fresh(&state.winners);
    const uint32_t candidates = block.Fresh(&state.candidates);
    const bool found =
        k == 0 || (winners < k && k - winners <= candidates && block.Fresh(&state.no_room) == 0);
    block.Sync();
    block.ForEachThread([&](int thread) {
      for (int i = thread; !found && i < kTopKParts; i += kThreads) {
        job.parts[int64_t{segment} * kTopKParts + i] = 0;
      }
      if (thread != 0) return;
      state.rank = k - winners;
      if (found) return;
      state.low = 0;
      state.high = kTopKLargest;
      state.rank = k;
      state.source = TopKSource::kAll;
      block.AtomicAdd(job.missed, 1u);
    });
    block.Sync();
    return found;
  }
};

// What the next kernels have in common: one warp a block, each with a run of tiles.
struct TopKWarps {
  static constexpr int kThreads = kWarp;
  struct Args {
    TopKJob job;
  };
  struct Shared {
    bool last;
  };
  static constexpr int64_t kBlocks = 132 * 32;  // fill an H100; more tiles share

  // element(position in the segment, value) of all that a tile has to look at, one for each thread
  // at a time.
  template <class Element>
  static LEGACY_DEVICE void ForElements(int thread, const TopKJob& job, const TopKTile& listed,
                                        const Tile& tile, TopKSource source, Element element) {
    if (source == TopKSource::kLists) {
      const TopKEntry* const entries = job.entries + listed.list;
      for (uint32_t i = thread; i < listed.listed; i += kWarp) {
        element(entries[i].index, entries[i].value);
      }
    } else {
      for (int64_t i = tile.begin + thread; i < tile.end; i += kWarp) {
        element(static_cast<uint32_t>(i), job.arrays.residual[tile.offset + i]);
      }
    }
  }
};

struct TopKRestore : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    if (*job.missed == 0 || !job.arrays.gradient) return;
    ForTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const TopKState& state = job.states[tile.segment];
      if (state.source != TopKSource::kAll) return;
      const TopKTile listed = job.tiles[number];
      block.ForEachThread([&](int thread) {
        ForElements(thread, job, listed, tile, TopKSource::kLists,
                    [&](uint32_t index, float value) {
                      if (TopKKey(value) > state.bracket)
                        job.arrays.residual[tile.offset + index] = value;
                    });
      });
    });
  }
};

struct TopKRound : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    int32_t segment = -1;
    int64_t tiles = 0;  // of it
    const auto end_segment = [&] {
      if (segment < 0 || !EndsSegment(block, job, segment, tiles)) return;
      NarrowRange(block, job.states[segment], job.parts + int64_t{segment} * kTopKParts);
    };
    ForTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const TopKState& state = job.states[tile.segment];
      if (tile.segment != segment) {
        end_segment();
        segment = state.low < state.high ? tile.segment : -1;
        tiles = 0;
      }
      if (segment < 0) return;
      ++tiles;
      CountTile(block, job, number, tile, state);
    });
    end_segment();
  }

 private:
  template <class Block>
  static LEGACY_DEVICE void CountTile(Block& block, const TopKJob& job, int64_t number,
                                      const Tile& tile, const TopKState& state) {
    const uint32_t low = state.low, high = state.high;
    const int shift = TopKShift(low, high);
    uint32_t* const parts = job.parts + int64_t{tile.segment} * kTopKParts;
    block.ForEachThread([&](int thread) {
      uint32_t part = 0, run = 0;  // equal neighbours are added at once
      ForElements(thread, job, job.tiles[number], tile, state.source, [&](uint32_t, float value) {
        const uint32_t key = TopKKey(value);
        if (key < low || key > high) return;
        const uint32_t here = (key - low) >> shift;
        if (run > 0 && here != part) {
          block.AtomicAdd(&parts[part], run);
          run = 0;
        }
        part = here;
        ++run;
      });
      if (run > 0) block.AtomicAdd(&parts[part], run);
    });
  }
};

struct TopKCount : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    ForTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const TopKState& state = job.states[tile.segment];
      if (state.source == TopKSource::kCounts || job.arrays.k[tile.segment] == 0) return;
      typename Block::template PerThread<uint32_t> above, ties;
      block.ForEachThread([&](int thread) {
        above[thread] = ties[thread] = 0;
        ForElements(thread, job, job.tiles[number], tile, state.source, [&](uint32_t, float value) {
          above[thread] += TopKKey(value) > state.low;
          ties[thread] += TopKKey(value) == state.low;
        });
      });
      block.FoldSum(above);
      block.FoldSum(ties);
      block.ForEachThread([&](int thread) {
        if (thread != 0) return;
        job.tiles[number].above = above[thread];
        job.tiles[number].ties = ties[thread];
      });
    });
  }
};

// A block for each segment.
struct TopKScan {
  static constexpr int kThreads = 1024;
  static constexpr int kOwn = 8;  // tiles
  struct Args {
    TopKJob job;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    const int64_t begin = job.segments.first_tile[block.index()];
    const int64_t end = job.segments.first_tile[block.index() + 1];
    uint64_t carried = 0;  // counts of both kinds, above in the upper half
    for (int64_t first = begin; first < end; first += kThreads * kOwn) {
      typename Block::template PerThread<uint64_t> before;
      block.ForEachThread([&](int thread) {
        before[thread] = 0;
        for (int i = 0; i < kOwn; ++i) {
          const int64_t t = first + thread * kOwn + i;
          if (t < end) before[thread] += Packed(job.tiles[t]);
        }
      });
      const uint64_t sum = block.ExclusiveSum(before);
      block.ForEachThread([&](int thread) {
        uint64_t at = carried + before[thread];
        for (int i = 0; i < kOwn; ++i) {
          const int64_t t = first + thread * kOwn + i;
          if (t >= end) break;
          const uint64_t here = Packed(job.tiles[t]);
          job.tiles[t].above = static_cast<uint32_t>(at >> 32);
          job.tiles[t].ties = static_cast<uint32_t>(at);
          at += here;
        }
      });
      carried += sum;
    }
    block.ForEachThread([&](int thread) {
      if (thread != 0 || !job.arrays.non_finite) return;
      job.arrays.non_finite[block.index()] = job.states[block.index()].non_finite;
    });
  }

 private:
  static LEGACY_DEVICE uint64_t Packed(const TopKTile& tile) {
    return uint64_t{tile.above} << 32 | tile.ties;
  }
};

struct TopKEmit : TopKWarps {
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const TopKJob& job = args.job;
    ForTiles(block, job.segments, [&](int64_t number, const Tile& tile) {
      const uint32_t k = job.arrays.k[tile.segment];
      if (k == 0) return;
      const TopKState state = job.states[tile.segment];
      const TopKTile mine = job.tiles[number];
      const uint32_t wanted_ties = state.rank;
      const bool last = number + 1 == job.segments.first_tile[tile.segment + 1];
      const uint32_t above = (last ? k - wanted_ties : job.tiles[number + 1].above) - mine.above;
      if (above == 0 && mine.ties >= wanted_ties) return;
      const bool lists = state.source == TopKSource::kLists;
      const int64_t n = lists ? mine.listed : tile.end - tile.begin;
      uint32_t passed_above = 0, passed_ties = 0;
      for (int64_t first = 0; first < n; first += kWarp) {
        typename Block::template PerThread<TopKEntry> entry;
        typename Block::template PerThread<bool> is_above, is_tie;
        block.ForEachThread([&](int thread) {
          const int64_t i = first + thread;
          is_above[thread] = is_tie[thread] = false;
          if (i >= n) return;
          entry[thread] = lists ? job.entries[mine.list + i]
                                : TopKEntry{static_cast<uint32_t>(tile.begin + i),
                                            job.arrays.residual[tile.offset + tile.begin + i]};
          is_above[thread] = TopKKey(entry[thread].value) > state.low;
          is_tie[thread] = TopKKey(entry[thread].value) == state.low;
        });
        const auto aboves = block.Ballot(is_above);
        const auto ties = block.Ballot(is_tie);
        typename Block::template PerThread<uint32_t> next_above, next_ties;
        block.ForEachThread([&](int thread) {
          const uint32_t lower = (uint32_t{1} << thread) - 1;
          const uint32_t before = mine.above + passed_above +
                                  static_cast<uint32_t>(std::popcount(aboves[thread] & lower));
          const uint32_t tied =
              mine.ties + passed_ties + static_cast<uint32_t>(std::popcount(ties[thread] & lower));
          const uint32_t ties_kept = tied < wanted_ties ? tied : wanted_ties;
          if (is_above[thread] || (is_tie[thread] && tied < wanted_ties)) {
            Put(job, tile, state, job.arrays.out[tile.segment] + before + ties_kept, entry[thread]);
          }
          next_above[thread] = static_cast<uint32_t>(std::popcount(aboves[thread]));
          next_ties[thread] = static_cast<uint32_t>(std::popcount(ties[thread]));
        });
        passed_above += next_above[0];
        passed_ties += next_ties[0];
      }
    });
  }

 private:
  static LEGACY_DEVICE void Put(const TopKJob& job, const Tile& tile, const TopKState& state,
                                int64_t at, const TopKEntry& entry) {
    job.arrays.indices[at] = entry.index;
    job.arrays.values[at] = entry.value;
    if (!job.arrays.gradient) return;
    const bool cleared = state.source == TopKSource::kLists && TopKKey(entry.value) > state.bracket;
    if (!cleared) job.arrays.residual[tile.offset + entry.index] = 0;
  }
};

// Lists have room for what is kept and, beside it, for twice what brackets of samples leave.
inline int64_t TopKCapacity(const SegmentTable& table, int64_t kept) {
  constexpr int64_t kShare = 32, kOfASegment = 64;
  return kept + table.elements() / kShare + kOfASegment * table.count();
}

inline TopKJob LayOutTopK(const SegmentTable& table, Segments segments, const TopKArrays& arrays,
                          int64_t kept, Workspace& workspace) {
  const int64_t capacity = TopKCapacity(table, kept);
  return {.segments = segments,
          .arrays = arrays,
          .states = workspace.Take<TopKState>(table.count()),
          .tiles = workspace.Take<TopKTile>(table.tiles()),
          .parts = workspace.Take<uint32_t>(int64_t{table.count()} * kTopKParts),
          .entries = workspace.Take<TopKEntry>(capacity),
          .capacity = static_cast<uint32_t>(capacity),
          .cursor = workspace.Take<uint32_t>(1),
          .missed = workspace.Take<uint32_t>(1)};
}

// The launches, all of them whatever the data.
template <class Device>
void LaunchTopK(Device& device, const TopKJob& job, int64_t segments, int64_t tiles) {
  constexpr int kRounds = 3;  // of 11 bits: all keys
  device.template Launch<TopKBracket>(segments, {job});
  device.template Launch<TopKPass>(tiles, {job});
  const int64_t warps = tiles < TopKWarps::kBlocks ? tiles : TopKWarps::kBlocks;
  device.template Launch<TopKRestore>(warps, {{job}});
  for (int round = 0; round < kRounds; ++round) device.template Launch<TopKRound>(warps, {{job}});
  device.template Launch<TopKCount>(warps, {{job}});
  device.template Launch<TopKScan>(segments, {job});
  device.template Launch<TopKEmit>(warps, {{job}});
}

}  // namespace legacy::cuda
