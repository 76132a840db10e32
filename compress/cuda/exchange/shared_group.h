// Units whose values are sent at positions that all workers draw alike (Random-K). Decoded values
// are summed before the sum is stored at those positions.
#pragma once

#include <utility>
#include <vector>

#include "compress/cuda/exchange/random_subsets.h"
#include "compress/cuda/exchange/whole_messages.h"

namespace legacy::cuda {

struct SharedFormat {
  ValueType type = ValueType::kFloat32;
  QuantiserSetting setting = {.kind = QuantiserKind::kFloat32};
  bool unbiased = false;
};

template <class Device>
class SharedGroup : public MessageGroup<Device> {
 public:
  SharedGroup(Operations<Device>& on, Faults<Device>& faults, const SharedFormat& format,
              std::vector<GroupUnit> units, int workers)
      : on_(on),
        faults_(faults),
        exact_(format.setting.kind == QuantiserKind::kFloat32),
        malformed_(faults.Add(FaultKind::kSegment, IdsOf(units))),
        units_(std::move(units)),
        draws_(units_),
        subsets_(on, faults, units_, format.unbiased),
        messages_(on, format.setting, MessagesOf(format), workers) {
    segments_.Set(on_.device(), SegmentsOf(units_));
  }

  void Begin(const RandomKey& step) override {
    step_ = step;
    subsets_.Draw(step, 0, lists_);
  }
  void Encode(const SenderArrays& sender) override {
    subsets_.Take(sender, lists_);
    const auto* const draws =
        draws_.Upload(on_.device(), step_, sender.worker, Purpose::kStochastic);
    float* const values = lists_.values.data();
    const bool errors = sender.residual && !exact_;  // the quantisation errors replace the values
    messages_.Encode(sender.slot, errors ? nullptr : values, errors ? values : nullptr, draws,
                     nullptr);
    if (errors) on_.PutEntries(segments_.view(), lists_.view(), lists_.end(), sender.residual);
    if (sender.velocity) {
      on_.ClearSelected(segments_.view(), lists_.view(), lists_.end(), sender.velocity);
    }
  }
  void Decode(int slots, float divisor, float* mean) override {
    messages_.Decode(slots, 1, lists_.values.data(), faults_.At(malformed_, 0));
    on_.SumSparse(segments_, lists_.view(), {.divisor = divisor, .overwrite = true}, mean);
  }

  int64_t Count(int unit, int) const override { return units_[unit].count; }
  int64_t MessageBytes(int unit, int) const override { return messages_.MessageBytes(unit); }
  Bytes CopyMessage(int unit, int slot) override { return messages_.CopyMessage(unit, slot); }

 private:
  std::vector<WholeUnit> MessagesOf(const SharedFormat& format) const {
    const std::vector<int64_t> begins = ListBegins(CountsOf(units_));
    std::vector<WholeUnit> messages;
    for (size_t u = 0; u < units_.size(); ++u) {
      messages.push_back({{.codec = static_cast<uint8_t>(CodecId::kRandomK),
                           .values = format.type,
                           .unit = units_[u].id,
                           .numel = static_cast<uint32_t>(units_[u].extent.length),
                           .count = static_cast<uint32_t>(units_[u].count)},
                          {begins[u], units_[u].count}});
    }
    return messages;
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  bool exact_;
  int malformed_;
  std::vector<GroupUnit> units_;
  UnitDraws<Device> draws_;
  RandomSubsets<Device> subsets_;
  Lists<Device> lists_;  // a worker's values, then the sums
  WholeMessages<Device> messages_;
  DeviceSegments<Device> segments_;
  RandomKey step_;
};

}  // namespace legacy::cuda
