// Units whose messages are lists of positions and values that each worker selects.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/list_messages.h"
#include "compress/cuda/exchange/selectors.h"

namespace legacy::cuda {

template <class Device>
class ListGroup : public MessageGroup<Device> {
 public:
  ListGroup(Operations<Device>& on, Faults<Device>& faults, const ListFormat& format,
            std::unique_ptr<Selector<Device>> selector, const std::vector<GroupUnit>& units,
            int workers)
      : on_(on),
        faults_(faults),
        message_faults_(faults.Add(FaultKind::kMessage, IdsOf(units))),
        segment_faults_(faults.Add(FaultKind::kSegment, IdsOf(units))),
        selector_(std::move(selector)),
        draws_(units),
        messages_(on, format, UnitsOf(units), workers) {
    segments_.Set(on_.device(), SegmentsOf(units));
  }

  void Begin(const RandomKey& step) override {
    step_ = step;
    messages_.Begin();
  }
  void Encode(const SenderArrays& sender) override {
    selector_->Select(step_, sender, lists_);
    const auto* const draws =
        draws_.Upload(on_.device(), step_, sender.worker, Purpose::kStochastic);
    messages_.Encode(lists_, draws, sender.residual ? Leave::kErrors : Leave::kAny);
    if (sender.residual && !messages_.exact()) {
      on_.PutEntries(segments_.view(), lists_.view(), lists_.end(), sender.residual);
    }
    if (sender.velocity) Mask(sender.velocity);
  }
  void Decode(int slots, float divisor, float* mean) override {
    messages_.Decode(faults_.At(message_faults_, 0), faults_.At(segment_faults_, 0));
    on_.SumSparse(segments_, messages_.received().view(),
                  {.workers = slots, .divisor = divisor, .overwrite = true}, mean);
  }

  int64_t Count(int unit, int slot) const override { return messages_.Count(unit, slot); }
  int64_t MessageBytes(int unit, int slot) const override {
    return messages_.MessageBytes(unit, slot);
  }
  Bytes CopyMessage(int unit, int slot) override { return messages_.CopyMessage(unit, slot); }

 private:
  static std::vector<ListUnit> UnitsOf(const std::vector<GroupUnit>& units) {
    std::vector<ListUnit> lists;
    for (const GroupUnit& unit : units) {
      lists.push_back({unit.id, unit.extent.length, unit.extent.length});
    }
    return lists;
  }
  // Masks `velocity` in units that are not sent completely (schemes/memory.h).
  void Mask(float* velocity) {
    std::vector<uint32_t> masked = lists_.count;
    for (size_t u = 0; u < masked.size(); ++u) {
      if (masked[u] == segments_->extents()[u].length) masked[u] = 0;
    }
    PackedLists lists = lists_.view();
    if (masked != lists_.count) {
      masked_.Upload(on_.device(), masked);
      lists.count = masked_.data();
    }
    on_.ClearSelected(segments_.view(), lists, lists_.end(), velocity);
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  int message_faults_, segment_faults_;
  std::unique_ptr<Selector<Device>> selector_;
  UnitDraws<Device> draws_;
  ListMessages<Device> messages_;
  DeviceSegments<Device> segments_;
  Lists<Device> lists_;  // lists of the worker that encodes
  DeviceArray<Device, uint32_t> masked_;
  RandomKey step_;
};

}  // namespace legacy::cuda
