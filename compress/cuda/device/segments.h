// Segments are many vectors in one launch: the layers of a model, of one worker or of several whose
// buffers follow each other. Each is cut into tiles; a block takes a tile and finds out whose it
// is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "compress/cuda/device/block.h"

namespace legacy::cuda {

// Elements of a tile that a SegmentTable is made for, but for kernels that name another number.
inline constexpr int64_t kTile = 4096;

// Returns how many tiles, or blocks, of `elements` elements hold n.
constexpr int64_t TilesOf(int64_t n, int64_t elements) { return (n + elements - 1) / elements; }
template <class Number>
constexpr Number RoundedUp(Number n, std::type_identity_t<Number> multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// An Extent is a segment of a flat buffer, in elements.
struct Extent {
  int64_t offset = 0;
  int64_t length = 0;
};

// Segments are in the memory of the device.
struct Segments {
  const Extent* extents = nullptr;
  const int64_t* first_tile =
      nullptr;  // count + 1: those of segment s are first_tile[s] .. first_tile[s + 1] - 1
  int32_t count = 0;
};

// PackedLists are entries selected from many segments, packed in the memory of the device: those of
// segment s are begin[s] .. begin[s] + count[s] - 1. Begins ascend.
struct PackedLists {
  const int64_t* begin = nullptr;
  const uint32_t* count = nullptr;
  const uint32_t* indices = nullptr;  // from the segment's begin, strictly ascending
  const float* values = nullptr;
};

// Stands for the position of an element that a segment does not have.
inline constexpr uint32_t kNoPosition = 0xFFFFFFFF;

struct Tile {
  int32_t segment = 0;
  int64_t begin = 0;  // in the segment
  int64_t end = 0;
  int64_t offset = 0;  // of the segment
};

// Returns the last of `count` begins, which do not fall, that is not after `index`.
LEGACY_DEVICE int32_t FindSegment(const int64_t* begins, int32_t count, int64_t index) {
  int32_t low = 0, high = count;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    (begins[middle] <= index ? low : high) = middle;
  }
  return low;
}

// Returns tile number `index` of tiles of `elements` elements.
LEGACY_DEVICE Tile FindTile(const Segments& segments, int64_t index, int64_t elements) {
  const int32_t segment = FindSegment(segments.first_tile, segments.count, index);
  const Extent extent = segments.extents[segment];
  const int64_t begin = (index - segments.first_tile[segment]) * elements;
  const int64_t end = begin + elements < extent.length ? begin + elements : extent.length;
  return {segment, begin, end, extent.offset};
}

// Calls step(number, tile) for a block's share of all tiles: a run of them.
template <class Block, class Step>
LEGACY_DEVICE void ForTiles(Block& block, const Segments& segments, Step step) {
  const int64_t all = segments.first_tile[segments.count];
  const int64_t own = (all + block.count() - 1) / block.count();
  const int64_t begin = block.index() * own;
  const int64_t end = begin + own < all ? begin + own : all;
  for (int64_t t = begin; t < end; ++t) step(t, FindTile(segments, t, kTile));
}

// Does the same for tiles that are spread: where neighbours are alike, blocks have as much to do.
template <class Block, class Step>
LEGACY_DEVICE void ForSpreadTiles(Block& block, const Segments& segments, Step step) {
  const int64_t all = segments.first_tile[segments.count];
  for (int64_t t = block.index(); t < all; t += block.count()) {
    step(t, FindTile(segments, t, kTile));
  }
}

// Returns the number of tiles of n elements without segments.
constexpr int64_t TileCount(int64_t n) { return TilesOf(n, kTile); }
LEGACY_DEVICE Tile FlatTile(int64_t index, int64_t n) {
  const int64_t begin = index * kTile;
  return {0, begin, begin + kTile < n ? begin + kTile : n, 0};
}

// Returns where the tiles of each begin; the last entry is the number of all.
inline std::vector<int64_t> FirstTiles(std::span<const Extent> extents, int64_t elements) {
  std::vector<int64_t> first = {0};
  for (const Extent& extent : extents) {
    first.push_back(first.back() + TilesOf(extent.length, elements));
  }
  return first;
}

// A SegmentTable is segments and where their tiles of `elements` begin, made on the host to be
// copied to the device.
class SegmentTable {
 public:
  SegmentTable(std::span<const Extent> extents, int64_t elements)
      : extents_(extents.begin(), extents.end()), first_tile_(FirstTiles(extents, elements)) {}

  const std::vector<Extent>& extents() const { return extents_; }
  int32_t count() const { return static_cast<int32_t>(extents_.size()); }
  int64_t tiles() const { return first_tile_.back(); }
  int64_t elements() const {
    int64_t sum = 0;
    for (const Extent& extent : extents_) sum += extent.length;
    return sum;
  }

  // Returns the bytes of both tables as one piece of memory, aligned to 8 bytes; View() is of a
  // copy of what Write() wrote.
  size_t Bytes() const { return ExtentBytes() + first_tile_.size() * sizeof(int64_t); }
  void Write(void* memory) const {
    if (!extents_.empty()) std::memcpy(memory, extents_.data(), ExtentBytes());
    std::memcpy(static_cast<std::byte*>(memory) + ExtentBytes(), first_tile_.data(),
                first_tile_.size() * sizeof(int64_t));
  }
  Segments View(const void* memory) const {
    const auto* const bytes = static_cast<const std::byte*>(memory);
    return {reinterpret_cast<const Extent*>(bytes),
            reinterpret_cast<const int64_t*>(bytes + ExtentBytes()), count()};
  }

 private:
  size_t ExtentBytes() const { return extents_.size() * sizeof(Extent); }

  std::vector<Extent> extents_;
  std::vector<int64_t> first_tile_;
};

}  // namespace legacy::cuda
