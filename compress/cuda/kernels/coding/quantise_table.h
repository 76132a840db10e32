// Lists the units that are quantised at once and the places of their segments. The host makes this
// table for the kernels of quantise.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/ternary.h"
#include "compress/cuda/device/segments.h"
#include "compress/kernel_setting.h"
#include "compress/quantisers/rules.h"

namespace legacy::cuda {

// Values of the smallest block of mx.
inline constexpr int64_t kLeastBlock = 32;

inline int CodeWidth(const QuantiserSetting& setting) {
  switch (setting.kind) {
    case QuantiserKind::kFloat32:
      return 32;
    case QuantiserKind::kFloat16:
    case QuantiserKind::kBfloat16:
      return 16;
    case QuantiserKind::kSign:
    case QuantiserKind::kOneBit:
      return 1;
    case QuantiserKind::kTernGrad:
      return cpu::kTernaryBits;
    case QuantiserKind::kNatural:
      // Signs are stored separately.
      return 8;
    default:
      return setting.bits;
  }
}

// Returns the size of a scale in bytes.
inline int ScaleBytes(const QuantiserSetting& setting) {
  switch (setting.kind) {
    case QuantiserKind::kFloat32:
    case QuantiserKind::kFloat16:
    case QuantiserKind::kBfloat16:
      return 0;
    case QuantiserKind::kNatural:
      return setting.bits == 8 ? 1 : 0;
    case QuantiserKind::kMx:
    case QuantiserKind::kFp8:
      return 1;
    case QuantiserKind::kMaxMin:
    case QuantiserKind::kOneBit:
    case QuantiserKind::kRange:
      return 8;
    default:
      return 4;
  }
}

inline bool HasBuckets(const QuantiserSetting& setting) {
  return setting.kind == QuantiserKind::kQsgd || setting.kind == QuantiserKind::kMaxMin ||
         setting.kind == QuantiserKind::kMx;
}
// Buckets are multiples of that many values.
inline int64_t LeastBucket(const QuantiserSetting& setting) {
  return setting.kind == QuantiserKind::kMx ? kLeastBlock : cpu::kDrawGroup;
}

inline int64_t ScalesOf(const QuantiserSetting& setting, int64_t length) {
  if (!HasBuckets(setting)) return 1;
  return (length + setting.bucket - 1) / setting.bucket;
}

// Returns the same number as Quantiser::SegmentBytes().
inline int64_t SegmentBytes(const QuantiserSetting& setting, int64_t length) {
  const bool signs = setting.kind == QuantiserKind::kNatural && setting.bits == 9;
  return ScalesOf(setting, length) * ScaleBytes(setting) +
         cpu::PackedBytes(length, CodeWidth(setting)) + (signs ? cpu::PackedBytes(length, 1) : 0);
}

struct QuantisedUnit {
  Extent extent;        // elements in the flat buffer; length up to 2^32 - 1
  int64_t segment = 0;  // first byte of its segment; a multiple of 4
};

// Values that share a scale and have tiles of their own: a unit, or a bucket larger than a tile.
struct QuantisedPart {
  int32_t unit;
  uint32_t first;  // first element, counted from the unit's begin
  int64_t scales;  // first byte of its scales; `codes` and `signs` likewise
  int64_t codes;
  int64_t signs;  // only natural:bits=9 has signs
};

// QuantisedParts are in device memory.
struct QuantisedParts {
  Segments segments;
  const QuantisedPart* parts = nullptr;
};

// Throws Error for settings that the CPU's quantisers refuse.
inline void CheckSetting(const QuantiserSetting& setting) {
  const auto check = [](bool good, const char* what, int64_t value, const char* allowed) {
    if (!good) throw Error(std::string("GPU quantiser, ") + what, std::to_string(value), allowed);
  };
  const int bits = setting.bits;
  switch (setting.kind) {
    case QuantiserKind::kUniform:
      check(bits >= 2 && bits <= 16, "bits", bits, "2 to 16");
      break;
    case QuantiserKind::kQsgd:
      check(bits >= 2 && bits <= 8, "bits", bits, "2 to 8");
      break;
    case QuantiserKind::kMaxMin:
      check(bits >= 1 && bits <= 8, "bits", bits, "1 to 8");
      break;
    case QuantiserKind::kNatural:
      check(bits == 8 || bits == 9, "bits", bits, "8, 9");
      break;
    case QuantiserKind::kRange:
      check(bits >= 3 && bits <= 16, "bits", bits, "3 to 16");
      check(setting.mantissa >= 0 && setting.mantissa <= bits - 2, "mantissa", setting.mantissa,
            "0 to bits - 2");
      break;
    case QuantiserKind::kMx:
    case QuantiserKind::kFp8:
      check(bits == RuleOf(setting.format, false).width, "bits", bits, "those of the format");
      break;
    default:
      break;
  }
  if (!HasBuckets(setting)) return;
  const int64_t least = LeastBucket(setting);
  check(setting.bucket > 0 && setting.bucket % least == 0, "bucket", setting.bucket,
        least == kLeastBlock ? "multiples of 32" : "multiples of 64");
}

// The table is made on the host and copied to the device.
class QuantiserTable {
 public:
  // Throws Error for an invalid setting or a segment that is not aligned.
  QuantiserTable(const QuantiserSetting& setting, std::span<const QuantisedUnit> units)
      : setting_(setting), units_(static_cast<int32_t>(units.size())) {
    CheckSetting(setting);
    const bool small = HasBuckets(setting) && setting.bucket <= kTile;
    in_one_pass_ = small || ScaleBytes(setting) == 0;
    // A tile holds whole buckets, or else is one of a part's tiles.
    tile_ = small ? kTile / setting.bucket * setting.bucket : kTile;
    std::vector<Extent> extents;
    for (int32_t u = 0; u < units_; ++u) {
      if (units[u].segment % 4 != 0) {
        throw Error("GPU quantiser, segment", std::to_string(units[u].segment), "multiples of 4");
      }
      AddParts(units[u], u, HasBuckets(setting) && !small, extents);
    }
    segments_ = SegmentTable(extents, tile_);
  }

  const QuantiserSetting& setting() const { return setting_; }
  int32_t units() const { return units_; }
  int32_t parts() const { return segments_.count(); }
  int64_t tiles() const { return segments_.tiles(); }
  int64_t tile() const { return tile_; }             // elements
  bool in_one_pass() const { return in_one_pass_; }  // reads the values once

  // These are as in SegmentTable.
  size_t Bytes() const { return segments_.Bytes() + parts_.size() * sizeof(QuantisedPart); }
  void Write(void* memory) const {
    segments_.Write(memory);
    std::memcpy(static_cast<std::byte*>(memory) + segments_.Bytes(), parts_.data(),
                parts_.size() * sizeof(QuantisedPart));
  }
  QuantisedParts View(const void* memory) const {
    const auto* const parts = static_cast<const std::byte*>(memory) + segments_.Bytes();
    return {segments_.View(memory), reinterpret_cast<const QuantisedPart*>(parts)};
  }

 private:
  // Adds the unit as a part, or each of its buckets as one.
  void AddParts(const QuantisedUnit& unit, int32_t number, bool by_buckets,
                std::vector<Extent>& extents) {
    const int64_t length = unit.extent.length;
    const int64_t codes = unit.segment + ScalesOf(setting_, length) * ScaleBytes(setting_);
    const int64_t size = by_buckets ? setting_.bucket : length;
    const int64_t count = by_buckets ? ScalesOf(setting_, length) : 1;
    for (int64_t p = 0; p < count; ++p) {
      const int64_t first = p * size;
      extents.push_back({unit.extent.offset + first, std::min(size, length - first)});
      parts_.push_back({number, static_cast<uint32_t>(first),
                        unit.segment + p * ScaleBytes(setting_),
                        codes + first / 8 * CodeWidth(setting_), codes + length});
    }
  }

  QuantiserSetting setting_;
  int32_t units_;
  bool in_one_pass_;
  int64_t tile_;
  std::vector<QuantisedPart> parts_;
  SegmentTable segments_{{}, kTile};
};

}  // namespace legacy::cuda
