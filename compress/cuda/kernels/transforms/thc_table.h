// The table of the vectors that THC codes together (schemes/thc.h): their windows, which a block of
// a kernel rotates, and the places of their messages. The host makes it for the kernels of
// thc_kernels.h.
//
// A message is an extended header and packed numbers; messages are aligned to four bytes, and so
// are their numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "compress/cpu/bitpack.h"
#include "compress/cpu/rotation.h"
#include "compress/cuda/device/image.h"
#include "compress/cuda/kernels/transforms/rotation_block.h"
#include "compress/message.h"
#include "compress/schemes/thc_table.h"

namespace legacy::cuda {

struct ThcUnit {
  Extent extent;        // values in a worker's flat buffer
  int64_t message = 0;  // first byte of the message among those of a worker
};

// Pointers are to device memory.
struct ThcVectors {
  static constexpr int64_t kNumbersAt = kExtendedHeaderBytes;  // in a message

  const ThcUnit* units = nullptr;
  Segments tiles;    // of kTile values
  Segments windows;  // of kRotationWindow values
  const ThcRules* rules = nullptr;
  const float* factors = nullptr;  // 1 / sqrt(length) of pieces, by their logarithm
  int32_t block_log = 0;           // logarithm of the length of a block
  int32_t bits = 0;                // of a number that a worker sends
  bool codes = false;              // whether these are codes; otherwise entries of the table
};

// How workers code.
struct ThcCoding {
  ThcRules rules;
  int64_t block = 1024;  // a power of two for which kernels rotate (EdenTable::LacksKernels)
  int bits = 0;          // of a number that a worker sends
  bool codes = false;    // as above
};

class ThcUnitTable : public ImageTable {
 public:
  ThcUnitTable(const ThcCoding& coding, const std::vector<Extent>& units)
      : block_log_(std::countr_zero(static_cast<uint64_t>(coding.block))),
        bits_(coding.bits),
        codes_(coding.codes),
        segments_(units, kTile) {
    for (const Extent& extent : units) {
      units_.push_back({extent, stride_});
      stride_ += RoundedUp(MessageBytes(extent.length), 4);
    }
    std::vector<float> factors;
    for (int log = 0; log <= kRotationLog; ++log) {
      factors.push_back(cpu::RotationFactor(int64_t{1} << log));
    }
    unit_slot_ = image_.Add(units_);
    tiles_ = image_.AddSegments(units, kTile);
    windows_ = image_.AddSegments(units, kRotationWindow);
    rules_ = image_.Add(std::vector{coding.rules});
    factors_ = image_.Add(factors);
  }

  const std::vector<ThcUnit>& units() const { return units_; }
  const SegmentTable& segments() const { return segments_; }
  int32_t count() const { return static_cast<int32_t>(units_.size()); }
  int64_t windows() const { return windows_.tiles; }
  int64_t stride() const { return stride_; }  // bytes of a worker's messages
  int64_t MessageBytes(int64_t numel) const {
    return kExtendedHeaderBytes + cpu::PackedBytes(numel, bits_);
  }

  ThcVectors View(const void* memory) const {
    return {Image::At(memory, unit_slot_),
            Image::At(memory, tiles_),
            Image::At(memory, windows_),
            Image::At(memory, rules_),
            Image::At(memory, factors_),
            block_log_,
            bits_,
            codes_};
  }

 private:
  int32_t block_log_, bits_;
  bool codes_;
  SegmentTable segments_;
  std::vector<ThcUnit> units_;
  int64_t stride_ = 0;
  Image::Slot<ThcUnit> unit_slot_;
  Image::SegmentsSlot tiles_, windows_;
  Image::Slot<ThcRules> rules_;
  Image::Slot<float> factors_;
};

}  // namespace legacy::cuda
