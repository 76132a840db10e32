// Segments are the vectors that one launch handles: the layers of a model, of one worker or of
// several workers whose buffers follow each other. Each segment is cut into tiles; a block takes a
// tile and looks up the segment that it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "compress/cuda/device/block.h"

namespace legacy::cuda {

// Number of elements of a tile, unless a kernel names another one.
inline constexpr int64_t kTile = 4096;

// Returns the number of tiles, or blocks, of `elements` elements that hold n elements.
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
  // Number of tiles before each segment; count + 1 entries.
  const int64_t* first_tile = nullptr;
  int32_t count = 0;
};

// PackedLists are entries selected from many segments, packed in device memory. The entries of
// segment s are begin[s] .. begin[s] + count[s] - 1; begins ascend.
struct PackedLists {
  const int64_t* begin = nullptr;
  const uint32_t* count = nullptr;
  // Positions within the segment, strictly ascending.
  const uint32_t* indices = nullptr;
  const float* values = nullptr;
};

// Marks the position of an element that a segment does not have.
inline constexpr uint32_t kNoPosition = 0xFFFFFFFF;

struct Tile {
  int32_t segment = 0;
  // First element, counted from the segment's beginning.
  int64_t begin = 0;
  int64_t end = 0;
  // The segment's first element in the flat buffer.
  int64_t offset = 0;
};

// Returns the position of the last of `count` begins that is at most `index`; begins never fall.
LEGACY_DEVICE int32_t FindSegment(const int64_t* begins, int32_t count, int64_t index) {
  int32_t low = 0, high = count;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    (begins[middle] <= index ? low : high) = middle;
  }
  return low;
}

// Returns tile `index` of the tiles of `elements` elements.
LEGACY_DEVICE Tile FindTile(const Segments& segments, int64_t index, int64_t elements) {
  const int32_t segment = FindSegment(segments.first_tile, segments.count, index);
  const Extent extent = segments.extents[segment];
  const int64_t begin = (index - segments.first_tile[segment]) * elements;
  const int64_t end = begin + elements < extent.length ? begin + elements : extent.length;
  return {segment, begin, end, extent.offset};
}

// Calls step(number, tile) for the block's share of all tiles, which is a contiguous run.
template <class Block, class Step>
LEGACY_DEVICE void ForTiles(Block& block, const Segments& segments, Step step) {
  const int64_t all = segments.first_tile[segments.count];
  const int64_t own = (all + block.count() - 1) / block.count();
  const int64_t begin = block.index() * own;
  const int64_t end = begin + own < all ? begin + own : all;
  for (int64_t t = begin; t < end; ++t) step(t, FindTile(segments, t, kTile));
}

// Calls step(number, tile) for every count()-th tile. This balances the blocks' work where
// neighbouring tiles are alike.
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

// Returns the number of the first tile of each extent; the last entry is the number of all tiles.
inline std::vector<int64_t> FirstTiles(std::span<const Extent> extents, int64_t elements) {
  std::vector<int64_t> first = {0};
  for (const Extent& extent : extents) {
    first.push_back(first.back() + TilesOf(extent.length, elements));
  }
  return first;
}

// A SegmentTable holds segments and the first tile of each, for tiles of `elements` elements. It is
// made on the host and copied to the device.
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

  // Returns the size in bytes of both tables in one piece of memory, aligned to 8 bytes. View()
  // refers to a copy of what Write() wrote.
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
