// An image is tables that are made on the host and read on the device: arrays, one after the other,
// in one piece of memory that is copied as it is.
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
  static constexpr size_t kAlignment = 16;  // of every array, where that of the memory is so

  // A Slot says where an array is; a SegmentsSlot, where tables of segments are.
  template <class T>
  struct Slot {
    size_t begin = 0;
  };
  struct SegmentsSlot {
    Slot<Extent> extents;
    Slot<int64_t> first_tile;
    int32_t count = 0;
    int64_t tiles = 0;  // of all of them
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

// An ImageTable is a table that is an image: one piece of memory, aligned to 16 bytes. A table's
// View() is of a copy of it.
class ImageTable {
 public:
  size_t Bytes() const { return image_.bytes().size(); }
  void Write(void* memory) const { std::memcpy(memory, image_.bytes().data(), Bytes()); }

 protected:
  Image image_;
};

}  // namespace legacy::cuda
