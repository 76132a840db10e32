// Kernels over the entries of packed lists (segments.h), whose begins ascend from 0.
#pragma once

#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/vectors.h"

namespace legacy::cuda {

// Target of moved lists; its begins ascend from 0, too.
struct MovedEntries {
  const int64_t* begin = nullptr;
  uint32_t* indices = nullptr;
  float* values = nullptr;
};

// Assigns to a thread every kThreads-th of the block's entries.
struct EntryThreads {
  static constexpr int kThreads = 256;
  static constexpr int kOwn = 4;
  struct Shared {};

  static int64_t Blocks(int64_t most) { return TilesOf(most, kThreads * kOwn); }
  // Calls body(list, entry of the list) for a block's share of the entries of `lists` lists.
  template <class Block, class Body>
  static LEGACY_DEVICE void ForEntries(Block& block, int32_t lists, const int64_t* begin,
                                       const uint32_t* count, Body body) {
    block.ForEachThread([&](int thread) {
      LEGACY_UNROLL
      for (int i = 0; i < kOwn; ++i) {
        const int64_t entry = (block.index() * kOwn + i) * kThreads + thread;
        const int32_t list = FindSegment(begin, lists, entry);
        const int64_t own = entry - begin[list];
        if (own < count[list]) body(list, own);
      }
    });
  }
};

// Writes each entry's value, or 0 if there are no values, to its position; `others` may be null.
struct StoreEntries : EntryThreads {
  struct Args {
    Segments segments;
    PackedLists lists;
    float* flat;
    float* others;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const PackedLists& lists = args.lists;
    ForEntries(block, args.segments.count, lists.begin, lists.count, [&](int32_t list, int64_t i) {
      const int64_t entry = lists.begin[list] + i;
      const int64_t at = args.segments.extents[list].offset + lists.indices[entry];
      const float value = lists.values ? lists.values[entry] : 0.0f;
      args.flat[at] = value;
      if (args.others) args.others[at] = value;
    });
  }
};

struct MoveLists : EntryThreads {
  struct Args {
    int32_t count;
    PackedLists from;
    MovedEntries to;
  };

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const PackedLists& from = args.from;
    ForEntries(block, args.count, args.to.begin, from.count, [&](int32_t list, int64_t i) {
      const int64_t to = args.to.begin[list] + i, entry = from.begin[list] + i;
      args.to.indices[to] = from.indices[entry];
      args.to.values[to] = from.values[entry];
    });
  }
};

// Runs a block for each tile.
struct EnumerateTiles {
  static constexpr int kThreads = 256;
  using Vectors = TileVectors<kThreads, kTile / kThreads / kVector>;
  struct Args {
    Segments segments;
    uint32_t* positions;
  };
  struct Shared {};

  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const Tile tile = FindTile(args.segments, block.index(), kTile);
    const bool by_vectors = Vectors::ByVectors(args.positions, tile);
    block.ForEachThread([&](int thread) {
      Vectors::Own<uint32_t> own;
      LEGACY_UNROLL
      for (int i = 0; i < Vectors::kOwn; ++i) {
        own[i] = static_cast<uint32_t>(tile.begin + Vectors::Position(thread, i));
      }
      Vectors::Write(own, tile, by_vectors, thread, args.positions);
    });
  }
};

// Sets flat[i] = value at the entries' positions in the segments. No list may end after `most`. 12
// bytes, and a memory sector, move per entry.
template <class Device>
void LaunchPutEntries(Device& device, Segments segments, const PackedLists& lists, int64_t most,
                      float* flat) {
  device.template Launch<StoreEntries>(StoreEntries::Blocks(most),
                                       {segments, lists, flat, nullptr});
}

// Moves the first from.count[s] entries of each of `count` lists. No list may end after `most` at
// its target. 16 bytes move per entry.
template <class Device>
void LaunchMoveEntries(Device& device, int32_t count, const PackedLists& from,
                       const MovedEntries& to, int64_t most) {
  device.template Launch<MoveLists>(MoveLists::Blocks(most), {count, from, to});
}

// Sets positions[i] = i in each segment: 4 bytes per element.
template <class Device>
void LaunchEnumerate(Device& device, const SegmentTable& table, Segments segments,
                     uint32_t* positions) {
  device.template Launch<EnumerateTiles>(table.tiles(), {segments, positions});
}

}  // namespace legacy::cuda
