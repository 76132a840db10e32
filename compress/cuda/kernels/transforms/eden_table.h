// The table of the vectors that EDEN codes together (codecs/eden_codec.h): their pieces, which are
// rotated, their tiles of kTile values, over which sums are formed, and their messages. The host
// makes it for the kernels of eden_kernels.h.
//
// A message is an extended header, S in fp32, and the packed codes; messages are aligned to four
// bytes, and so are their codes.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "compress/cpu/bitpack.h"
#include "compress/cpu/lloyd_max.h"
#include "compress/cpu/rotation.h"
#include "compress/cuda/device/image.h"
#include "compress/cuda/kernels/transforms/rotation_block.h"
#include "compress/message.h"

namespace legacy::cuda {

inline constexpr int kEdenCodes = 1 << cpu::kMostNormalBits;

struct EdenUnit {
  Extent extent;        // values in the flat buffer
  int64_t rotated = 0;  // first value among the rotated ones of all units
  int64_t message = 0;  // first byte of the message among those of a worker
  int64_t first_piece = 0;
  int64_t pieces = 0;
  int32_t bits = 1;

  static constexpr float kLargestScale = 0x1p112f;  // as EdenCodec's
  static constexpr int64_t kScaleAt = kExtendedHeaderBytes;
  static constexpr int64_t kCodesAt = kScaleAt + static_cast<int64_t>(sizeof(float));
  int64_t MessageBytes() const { return kCodesAt + cpu::PackedBytes(extent.length, bits); }
};

// Pointers are to device memory.
struct EdenVectors {
  const EdenUnit* units = nullptr;
  const RotationPiece* pieces = nullptr;
  Segments values;   // tiles of the flat buffer
  Segments rotated;  // the same tiles of the rotated values
  // Centroids of b bits, from b kEdenCodes on, and 1 / sqrt(length) of pieces by their logarithm.
  const double* centroids = nullptr;
  const float* factors = nullptr;
};

class EdenTable : public ImageTable {
 public:
  // `bits` has a number for each unit. `block` is a power of two without LacksKernels().
  EdenTable(int64_t block, const std::vector<Extent>& units, const std::vector<int>& bits) {
    std::vector<RotationPiece> pieces;
    std::vector<Extent> rotated;
    for (size_t u = 0; u < units.size(); ++u) {
      EdenUnit& unit = units_.emplace_back();
      unit.extent = units[u];
      unit.rotated = elements_;
      unit.message = stride_;
      unit.first_piece = static_cast<int64_t>(pieces.size());
      unit.bits = bits[u];
      cpu::ForEachRotatedPiece(units[u].length, block, [&](int64_t begin, int64_t length) {
        const int log = std::countr_zero(static_cast<uint64_t>(length));
        pieces.push_back({static_cast<int32_t>(u), log, begin});
      });
      unit.pieces = static_cast<int64_t>(pieces.size()) - unit.first_piece;
      rotated.push_back({elements_, units[u].length});
      elements_ += units[u].length;
      stride_ += RoundedUp(unit.MessageBytes(), 4);
    }
    pieces_ = static_cast<int64_t>(pieces.size());
    std::vector<double> centroids(kEdenCodes);
    for (int b = 1; b <= cpu::kMostNormalBits; ++b) {
      const auto of = cpu::NormalCentroids(b);
      centroids.insert(centroids.end(), of.begin(), of.end());
      centroids.resize(static_cast<size_t>(b + 1) * kEdenCodes);
    }
    std::vector<float> factors;
    for (int log = 0; log <= kRotationLog; ++log) {
      factors.push_back(cpu::RotationFactor(int64_t{1} << log));
    }
    unit_slot_ = image_.Add(units_);
    piece_slot_ = image_.Add(pieces);
    values_ = image_.AddSegments(units, kTile);
    rotated_ = image_.AddSegments(rotated, kTile);
    centroids_ = image_.Add(centroids);
    factors_ = image_.Add(factors);
  }

  // Says why no kernels rotate blocks of that length; empty if there are kernels.
  static std::string LacksKernels(int64_t block) {
    if (block <= int64_t{1} << kRotationLog) return {};
    return "block=" + std::to_string(block) +
           " has no kernels: a multiprocessor has memory for blocks of " +
           std::to_string(1 << kRotationLog) + " elements at most";
  }

  const std::vector<EdenUnit>& units() const { return units_; }
  int32_t count() const { return static_cast<int32_t>(units_.size()); }
  int64_t pieces() const { return pieces_; }
  int64_t tiles() const { return values_.tiles; }
  int64_t elements() const { return elements_; }  // of all units
  int64_t stride() const { return stride_; }      // bytes of a worker's messages

  EdenVectors View(const void* memory) const {
    return {Image::At(memory, unit_slot_), Image::At(memory, piece_slot_),
            Image::At(memory, values_),    Image::At(memory, rotated_),
            Image::At(memory, centroids_), Image::At(memory, factors_)};
  }

 private:
  std::vector<EdenUnit> units_;
  int64_t pieces_ = 0, elements_ = 0, stride_ = 0;
  Image::Slot<EdenUnit> unit_slot_;
  Image::Slot<RotationPiece> piece_slot_;
  Image::SegmentsSlot values_, rotated_;
  Image::Slot<double> centroids_;
  Image::Slot<float> factors_;
};

}  // namespace legacy::cuda
