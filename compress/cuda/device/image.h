// An image holds tables that the host makes and the device reads: arrays, one after the other, in
// one piece of memory that is copied as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compress/cuda/device/segments.h"

namespace legacy::cuda {

class Image {
 public:
  // Alignment in bytes of every array, provided that the memory is aligned so.
  static constexpr size_t kAlignment = 16;

  // A Slot is the place of an array in the image, a SegmentsSlot that of tables of segments.
  template <class T>
  struct Slot {
    size_t begin = 0;
  };
  struct SegmentsSlot {
    Slot<Extent> extents;
    Slot<int64_t> first_tile;
    int32_t count = 0;
    // Number of tiles of all segments.
    int64_t tiles = 0;
  };

  template <class T>
  Slot<T> Add(const std::vector<T>& array) {
    const Slot<T> slot = {RoundedUp(bytes_.size(), kAlignment)};
    bytes_.resize(slot.begin + array.size() * sizeof(T));
    if (!array.empty()) {
      std::memcpy(bytes_.data() + slot.begin, array.data(), array.size() * sizeof(T));
    }
    return slot;
  }
  SegmentsSlot AddSegments(const std::vector<Extent>& extents, int64_t elements_of_a_tile) {
    const std::vector<int64_t> first_tile = FirstTiles(extents, elements_of_a_tile);
    return {Add(extents), Add(first_tile), static_cast<int32_t>(extents.size()), first_tile.back()};
  }

  std::span<const std::byte> bytes() const { return bytes_; }

  // Returns the array in a copy of bytes() at `memory`.
  template <class T>
  static const T* At(const void* memory, Slot<T> slot) {
    return reinterpret_cast<const T*>(static_cast<const std::byte*>(memory) + slot.begin);
  }
  static Segments At(const void* memory, const SegmentsSlot& slot) {
    return {At(memory, slot.extents), At(memory, slot.first_tile), slot.count};
  }

 private:
  std::vector<std::byte> bytes_;
};

// An ImageTable is a table that is stored as an image in memory aligned to 16 bytes. The table's
// View() refers to a copy of the image.
class ImageTable {
 public:
  size_t Bytes() const { return image_.bytes().size(); }
  void Write(void* memory) const { std::memcpy(memory, image_.bytes().data(), Bytes()); }

 protected:
  Image image_;
};

}  // namespace legacy::cuda
