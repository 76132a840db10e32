// The table of the units that ARC-Top-K sends (schemes/matrices/arc.h), and the places of their
// messages. The host makes it for the kernels of arc_kernels.h.
//
// The message of a unit's last call is a header, aligned to four bytes, and fp32 values: those of
// rows, or of the whole unit. Sketches are kept without their headers.
#pragma once

#include <cstdint>
#include <vector>

#include "compress/cuda/device/image.h"
#include "compress/message.h"

namespace legacy::cuda {

struct ArcUnit {
  Extent extent;      // values in a worker's flat buffer
  uint32_t rows = 0;  // 0: the unit is sent whole
  uint32_t columns = 0;
  uint32_t kept = 0;       // rows that are sent
  int32_t keeps = 0;       // 1: there is a residual
  int64_t draws = 0;       // first number of V
  int64_t sketch = 0;      // first number of the sketch among those of a slot
  int64_t first_row = 0;   // number of its first row among those of all matrices
  int64_t first_kept = 0;  // the same, of rows that are sent
  int64_t message = 0;     // first byte of the message among those of a slot
  int64_t values = 0;      // first byte of its values
};

// Pointers are to device memory. Numbers of rows before each matrix have one entry more.
struct ArcVectors {
  const ArcUnit* units = nullptr;
  Segments tiles;                       // of kTile values, of all units
  const int32_t* matrices = nullptr;    // units that are matrices
  const int64_t* first_row = nullptr;   // of each matrix
  const int64_t* first_kept = nullptr;  // of each matrix
  int32_t count = 0;                    // of matrices
  int32_t rank = 0;
};

// What a step sends of a unit.
struct ArcMember {
  Extent extent;
  bool keeps = false;  // whether there is a residual
  int64_t rows = 0;    // of a matrix whose rows are chosen; 0: the unit is sent whole
  int64_t columns = 0;
  int64_t kept = 0;
};

class ArcTable : public ImageTable {
 public:
  ArcTable(int64_t rank, const std::vector<ArcMember>& members)
      : rank_(static_cast<int32_t>(rank)) {
    std::vector<Extent> extents;
    std::vector<int32_t> matrices;
    for (const ArcMember& member : members) {
      ArcUnit& unit = units_.emplace_back();
      unit.extent = member.extent;
      unit.keeps = member.keeps ? 1 : 0;
      unit.message = stride_;
      unit.draws = draws_;
      unit.sketch = sketch_;
      unit.first_row = first_row_.back();
      unit.first_kept = first_kept_.back();
      extents.push_back(unit.extent);
      if (member.rows == 0) {
        unit.values = stride_ + kHeaderBytes;
        stride_ = unit.values + int64_t{sizeof(float)} * member.extent.length;
        continue;
      }
      unit.rows = static_cast<uint32_t>(member.rows);
      unit.columns = static_cast<uint32_t>(member.columns);
      unit.kept = static_cast<uint32_t>(member.kept);
      unit.values = stride_ + kExtendedHeaderBytes;
      stride_ = unit.values + int64_t{sizeof(float)} * member.kept * member.columns;
      draws_ += member.columns * rank;
      sketch_ += member.rows * rank;
      matrices.push_back(static_cast<int32_t>(units_.size()) - 1);
      first_row_.push_back(first_row_.back() + unit.rows);
      first_kept_.push_back(first_kept_.back() + unit.kept);
    }
    matrices_ = static_cast<int32_t>(matrices.size());
    unit_slot_ = image_.Add(units_);
    tiles_ = image_.AddSegments(extents, kTile);
    matrix_slot_ = image_.Add(matrices);
    row_slot_ = image_.Add(first_row_);
    kept_slot_ = image_.Add(first_kept_);
  }

  const std::vector<ArcUnit>& units() const { return units_; }
  int32_t count() const { return static_cast<int32_t>(units_.size()); }
  int32_t matrices() const { return matrices_; }
  int64_t tiles() const { return tiles_.tiles; }
  int64_t rows() const { return first_row_.back(); }
  int64_t kept() const { return first_kept_.back(); }
  int64_t draws() const { return draws_; }    // of all V
  int64_t sketch() const { return sketch_; }  // of a slot's sketches
  int64_t stride() const { return stride_; }  // bytes of a slot's messages

  ArcVectors View(const void* memory) const {
    return {Image::At(memory, unit_slot_),
            Image::At(memory, tiles_),
            Image::At(memory, matrix_slot_),
            Image::At(memory, row_slot_),
            Image::At(memory, kept_slot_),
            matrices_,
            rank_};
  }

 private:
  int32_t rank_, matrices_ = 0;
  std::vector<ArcUnit> units_;
  std::vector<int64_t> first_row_ = {0}, first_kept_ = {0};
  int64_t draws_ = 0, sketch_ = 0, stride_ = 0;
  Image::Slot<ArcUnit> unit_slot_;
  Image::SegmentsSlot tiles_;
  Image::Slot<int32_t> matrix_slot_;
  Image::Slot<int64_t> row_slot_, kept_slot_;
};

}  // namespace legacy::cuda
