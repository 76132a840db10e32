// The table of the messages that one launch writes or reads.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "compress/cuda/device/image.h"
#include "compress/cuda/kernels/coding/bits.h"
#include "compress/message.h"

namespace legacy::cuda {

// A message is a header, positions in their coding, and values as their quantiser wrote them. Every
// index coding is possible except delta, whose length depends on the data and which stays on the
// CPU.
struct MessageUnit {
  Header header;
  int64_t message = 0;    // first byte of the message, a multiple of 16
  int64_t positions = 0;  // first of its header.count positions, if positions are sent
  int64_t values = 0;     // first byte of its values, outside the message; a multiple of 4
  int64_t value_bytes = 0;
  int64_t places = 0;  // bound of positions, as for a spectrum; 0: header.numel
};

// A unit with the layout of its message.
struct MessageLayout {
  MessageUnit unit;
  int64_t header_bytes = kHeaderBytes;
  int64_t values_begin = 0;  // byte of the message at which values begin
  int64_t length = 0;
  int32_t bitmap = -1;  // index among the bitmaps, or -1
};

// Messages are in device memory.
struct Messages {
  const MessageLayout* units = nullptr;
  Segments written;  // 32-bit words of each unit's message, padding included
  // For each unit its positions, unless sent as a bitmap, then the words of its values.
  Segments read;
  Segments bitmaps;  // words of positions that are sent as bitmaps, in tiles of kBitTile
  const BitSet* bitmap_sets = nullptr;
};

class MessageTable : public ImageTable {
 public:
  static constexpr int64_t kAlignment = 16;

  // Throws Error if an index coding is not supported.
  explicit MessageTable(std::span<const MessageUnit> units) {
    std::vector<Extent> written, read, bitmaps;
    std::vector<BitSet> sets;
    for (MessageUnit unit : units) {
      const Header& header = unit.header;
      if (unit.places == 0) unit.places = header.numel;
      assert(unit.message % kAlignment == 0 && unit.values % 4 == 0);
      assert(header.count <= unit.places);
      const int64_t index_bytes = IndexBytes(header.index, unit.places, header.count);
      const int64_t header_bytes = HeaderBytes(header.values);
      const int64_t values_begin = header_bytes + index_bytes;
      MessageLayout layout = {unit, header_bytes, values_begin, values_begin + unit.value_bytes};
      written.push_back({unit.message / 4, Room(layout.length) / 4});
      const bool bitmap = header.index == IndexCoding::kBitmap;
      const bool listed = header.index != IndexCoding::kNone && !bitmap;
      read.push_back({unit.positions, listed ? int64_t{header.count} : 0});
      read.push_back({unit.values / 4, (unit.value_bytes + 3) / 4});
      if (bitmap) {
        layout.bitmap = static_cast<int32_t>(sets.size());
        bitmaps.push_back({(unit.message + header_bytes) / 4, BitWords(unit.places)});
        sets.push_back({unit.places, false, unit.positions, header.count});
      }
      layouts_.push_back(layout);
    }
    units_ = image_.Add(layouts_);
    written_ = image_.AddSegments(written, kTile);
    read_ = image_.AddSegments(read, kTile);
    bitmaps_ = image_.AddSegments(bitmaps, kBitTile);
    sets_ = image_.Add(sets);
  }

  const std::vector<MessageLayout>& layouts() const { return layouts_; }
  int32_t count() const { return static_cast<int32_t>(layouts_.size()); }
  int64_t written_tiles() const { return written_.tiles; }
  int64_t read_tiles() const { return read_.tiles; }
  int32_t bitmaps() const { return bitmaps_.count; }
  int64_t bitmap_tiles() const { return bitmaps_.tiles; }
  // Returns the bytes that a message of `length` bytes takes with its padding.
  static constexpr int64_t Room(int64_t length) { return RoundedUp(length, kAlignment); }

  Messages View(const void* memory) const {
    return {Image::At(memory, units_), Image::At(memory, written_), Image::At(memory, read_),
            Image::At(memory, bitmaps_), Image::At(memory, sets_)};
  }

 private:
  std::vector<MessageLayout> layouts_;
  Image::Slot<MessageLayout> units_;
  Image::SegmentsSlot written_, read_, bitmaps_;
  Image::Slot<BitSet> sets_;
};

}  // namespace legacy::cuda
