// Tables of the places of a model's matrices, their factors and messages in device memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "compress/cuda/device/image.h"
#include "compress/cuda/kernels/transforms/orthonormalise_kernels.h"
#include "compress/cuda/kernels/transforms/powersgd_products.h"
#include "compress/message.h"
#include "compress/schemes/matrices/powersgd.h"

namespace legacy::cuda {

// Each factor has a collective call; units that are sent whole travel in the first.
enum FactorCall : int { kLeft, kRight, kCalls };

inline constexpr int64_t kFactorTile = 1024;  // elements of a vector per block

// Offsets are in floats. A message is a header of kHeaderFloats, followed by its values.
struct LowRankUnit {
  int64_t flat = 0;  // place in gradients and means
  uint32_t rows = 0, columns = 0;
  uint32_t vectors = 0;               // number in each factor; 0: sent whole
  uint32_t keeps_residual = 0;        // 1: the unit has a residual
  int64_t factors[kCalls] = {0, 0};   // places in the arrays of left and of right vectors
  int64_t messages[kCalls] = {0, 0};  // places in a worker's messages of the call
  std::array<uint32_t, 4> headers[kCalls] = {};
};

inline constexpr int64_t kHeaderFloats = kHeaderBytes / int64_t{sizeof(float)};

// The part of the layout that does not change between steps. Every matrix begins aligned and has
// room for as many vectors as it can have, which is at most two floats for each element of the
// model.
class LowRankLayout {
 public:
  LowRankLayout(const PowerSgdScheme& scheme, std::span<const Unit> units) {
    for (const Unit& unit : units) {
      const MatrixShape shape = MatrixOf(unit);
      const bool matrix = unit.shape.size() > 1 && unit.numel > 0;
      const int64_t most = matrix ? std::min({kLargestRank, shape.rows, shape.columns}) : 0;
      LowRankUnit& offsets = units_.emplace_back();
      offsets.flat = unit.offset;
      offsets.rows = static_cast<uint32_t>(shape.rows);
      offsets.columns = static_cast<uint32_t>(shape.columns);
      offsets.keeps_residual = scheme.KeepsResidual(unit);
      residuals_.push_back({Take(unit.numel, residual_size_), unit.numel});
      offsets.factors[kLeft] = Take(most * shape.rows, sizes_[kLeft]);
      offsets.factors[kRight] = Take(most * shape.columns, sizes_[kRight]);
    }
  }

  const std::vector<LowRankUnit>& units() const { return units_; }
  const std::vector<Extent>& residuals() const { return residuals_; }  // residuals of one worker
  int64_t residual_size() const { return residual_size_; }             // floats of one worker
  int64_t size(FactorCall call) const { return sizes_[call]; }

 private:
  static int64_t Take(int64_t n, int64_t& size) {
    constexpr int64_t kAligned = 64;
    const int64_t begin = size;
    size += RoundedUp(n, kAligned);
    return begin;
  }

  std::vector<LowRankUnit> units_;
  std::vector<Extent> residuals_;
  int64_t residual_size_ = 0;
  std::array<int64_t, kCalls> sizes_{};
};

// The vectors of a collective call, one after the other, in device memory.
struct Factors {
  Segments vectors;               // places of vectors among the factors, in tiles of kFactorTile
  const int64_t* sent = nullptr;  // place of each vector in a worker's messages
};

// A LowRankView is in device memory.
struct LowRankView {
  Segments residual;  // a worker's matrices, in tiles of kTile
  const LowRankUnit* units = nullptr;
  const Basis* bases = nullptr;
  Factors factors[kCalls] = {};
};

// The part of the layout that depends on the number of vectors of each factor.
class LowRankTable : public ImageTable {
 public:
  LowRankTable(const LowRankLayout& layout, std::span<const Unit> units,
               std::span<const int64_t> vectors)
      : units_(layout.units()) {
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<int32_t>> alike;
    for (size_t u = 0; u < units.size(); ++u) {
      LowRankUnit& unit = units_[u];
      unit.vectors = static_cast<uint32_t>(vectors[u]);
      if (unit.vectors == 0) {
        const Header header = {.codec = static_cast<uint8_t>(CodecId::kDense),
                               .unit = units[u].id,
                               .numel = static_cast<uint32_t>(units[u].numel),
                               .count = static_cast<uint32_t>(units[u].numel)};
        AddMessage(kLeft, header, unit);
        continue;
      }
      AddFactor(kLeft, units[u], CodecId::kPowerSgdP, unit.rows, unit);
      AddFactor(kRight, units[u], CodecId::kPowerSgdQ, unit.columns, unit);
      bases_.push_back({unit.factors[kLeft], unit.rows, static_cast<int32_t>(unit.vectors)});
      alike[{unit.rows, unit.columns, unit.vectors}].push_back(static_cast<int32_t>(u));
    }
    for (const auto& [shape, members] : alike) {
      const auto [rows, columns, count] = shape;
      groups_.push_back({rows, columns, static_cast<int32_t>(count),
                         static_cast<int64_t>(order_.size()), std::ssize(members)});
      order_.insert(order_.end(), members.begin(), members.end());
    }
    work_ = SetWork(bases_);
    Build(layout);
  }

  const std::vector<LowRankUnit>& units() const { return units_; }
  const std::vector<Basis>& bases() const { return bases_; }  // vectors to make orthonormal
  int64_t work() const { return work_; }                      // doubles that this takes
  // Groups of matrices of one shape, and all units in the order of the groups. A group counts
  // positions in that order.
  const std::vector<MatrixGroup>& groups() const { return groups_; }
  const std::vector<int32_t>& order() const { return order_; }
  int64_t residual_tiles() const { return residuals_slot_.tiles; }
  // Number of all left factors' vectors.
  int64_t vectors() const { return std::ssize(vectors_[kLeft]); }
  int64_t vector_tiles(FactorCall call) const { return vectors_slots_[call].tiles; }
  // Floats of one worker.
  int64_t message_floats(FactorCall call) const { return message_floats_[call]; }

  LowRankView View(const void* memory) const {
    LowRankView view = {.residual = Image::At(memory, residuals_slot_),
                        .units = Image::At(memory, units_slot_),
                        .bases = Image::At(memory, bases_slot_)};
    for (const FactorCall call : {kLeft, kRight}) {
      view.factors[call] = {Image::At(memory, vectors_slots_[call]),
                            Image::At(memory, sent_slots_[call])};
    }
    return view;
  }

 private:
  void AddMessage(FactorCall call, const Header& header, LowRankUnit& unit) {
    unit.headers[call] = HeaderWords(header);
    unit.messages[call] = message_floats_[call];
    message_floats_[call] += RoundedUp(kHeaderFloats + header.count, 4);
  }
  void AddFactor(FactorCall call, const Unit& unit, CodecId id, int64_t length,
                 LowRankUnit& offsets) {
    AddMessage(call, FactorHeader(unit, id, offsets.vectors * length), offsets);
    for (int64_t c = 0; c < offsets.vectors; ++c) {
      vectors_[call].push_back({offsets.factors[call] + c * length, length});
      sent_[call].push_back(offsets.messages[call] + kHeaderFloats + c * length);
    }
  }
  void Build(const LowRankLayout& layout) {
    residuals_slot_ = image_.AddSegments(layout.residuals(), kTile);
    units_slot_ = image_.Add(units_);
    bases_slot_ = image_.Add(bases_);
    for (const FactorCall call : {kLeft, kRight}) {
      vectors_slots_[call] = image_.AddSegments(vectors_[call], kFactorTile);
      sent_slots_[call] = image_.Add(sent_[call]);
    }
  }

  std::vector<LowRankUnit> units_;
  std::vector<Basis> bases_;
  std::vector<MatrixGroup> groups_;
  std::vector<int32_t> order_;
  std::array<std::vector<Extent>, kCalls> vectors_;
  std::array<std::vector<int64_t>, kCalls> sent_;
  std::array<int64_t, kCalls> message_floats_{};
  int64_t work_ = 0;
  Image::SegmentsSlot residuals_slot_;
  Image::Slot<LowRankUnit> units_slot_;
  Image::Slot<Basis> bases_slot_;
  std::array<Image::SegmentsSlot, kCalls> vectors_slots_;
  std::array<Image::Slot<int64_t>, kCalls> sent_slots_;
};

}  // namespace legacy::cuda
