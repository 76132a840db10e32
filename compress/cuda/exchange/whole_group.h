// Units whose values are all sent: units that are sent whole, quantisers without a sparsifier, and
// sparsifiers that select everything.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/whole_messages.h"
#include "compress/exchange.h"

namespace legacy::cuda {

struct WholeFormat {
  CodecId codec = CodecId::kDense;
  ValueType type = ValueType::kFloat32;
  QuantiserSetting setting = {.kind = QuantiserKind::kFloat32};
  bool keeps = false;                           // keeps quantisation errors in the residual
  std::optional<HopOrder> hops = std::nullopt;  // the order of sums that are encoded again

  bool operator==(const WholeFormat&) const = default;
};

// Returns the messages of units in that format.
inline std::vector<WholeUnit> WholeUnitsOf(const WholeFormat& format,
                                           const std::vector<GroupUnit>& units) {
  std::vector<WholeUnit> whole;
  for (const GroupUnit& unit : units) {
    const auto numel = static_cast<uint32_t>(unit.extent.length);
    whole.push_back({{.codec = static_cast<uint8_t>(format.codec),
                      .values = format.type,
                      .unit = unit.id,
                      .numel = numel,
                      .count = numel},
                     unit.extent});
  }
  return whole;
}

template <class Device>
class WholeGroup : public MessageGroup<Device> {
 public:
  WholeGroup(Operations<Device>& on, Faults<Device>& faults, const WholeFormat& format,
             const std::vector<GroupUnit>& units, int workers)
      : on_(on),
        faults_(faults),
        keeps_(format.keeps),
        non_finite_(faults.Add(FaultKind::kNonFinite, IdsOf(units))),
        malformed_(faults.Add(FaultKind::kSegment, IdsOf(units))),
        draws_(units),
        messages_(on, format.setting, WholeUnitsOf(format, units), workers) {
    for (const GroupUnit& unit : units) counts_.push_back(unit.extent.length);
  }

  void Begin(const RandomKey& step) override { step_ = step; }
  void Encode(const SenderArrays& sender) override {
    const bool added = keeps_ && sender.added;
    const auto* const draws =
        draws_.Upload(on_.device(), step_, sender.worker, Purpose::kStochastic);
    messages_.Encode(sender.slot, added ? nullptr : sender.gradient,
                     keeps_ ? sender.residual : nullptr, draws,
                     faults_.At(non_finite_, sender.slot));
  }
  void Decode(int slots, float divisor, float* mean) override {
    messages_.Decode(slots, divisor, mean, faults_.At(malformed_, 0));
  }

  int64_t Count(int unit, int) const override { return counts_[unit]; }
  int64_t MessageBytes(int unit, int) const override { return messages_.MessageBytes(unit); }
  Bytes CopyMessage(int unit, int slot) override { return messages_.CopyMessage(unit, slot); }

 private:
  Operations<Device>& on_;
  Faults<Device>& faults_;
  bool keeps_;
  int non_finite_, malformed_;
  UnitDraws<Device> draws_;
  WholeMessages<Device> messages_;
  std::vector<int64_t> counts_;
  RandomKey step_;
};

}  // namespace legacy::cuda
