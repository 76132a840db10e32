// The common part of groups that transform all values of their units, after a pass that finds the
// largest magnitude of each. A table of the units knows the places of their messages.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compress/checks.h"
#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/operations.h"

namespace legacy::cuda {

template <class Device, class Table>
class TransformGroup : public MessageGroup<Device> {
 public:
  int64_t MessageBytes(int unit, int) const override {
    return table_->units()[unit].MessageBytes();
  }
  Bytes CopyMessage(int unit, int slot) override {
    const auto& of = table_->units()[unit];
    return messages_.Download(on_.device(), slot * table_->stride() + of.message,
                              of.MessageBytes());
  }

 protected:
  // `header` returns the header of a unit's messages. Headers do not change between steps; zeros
  // follow them, which are the whole message of a unit without values.
  template <class HeaderOf>
  TransformGroup(Operations<Device>& on, Faults<Device>& faults, Table table,
                 const std::vector<GroupUnit>& units, int workers, HeaderOf header)
      : on_(on),
        faults_(faults),
        non_finite_(faults.Add(FaultKind::kFirstNonFinite, IdsOf(units))),
        largest_(faults.Add(FaultKind::kLargest, IdsOf(units))),
        malformed_(faults.Add(FaultKind::kSegment, IdsOf(units))) {
    table_.Set(on_.device(), std::move(table));
    values_.Set(on_.device(), SegmentsOf(units));
    std::vector<std::byte> bytes(static_cast<size_t>(table_->stride() * workers));
    for (size_t u = 0; u < units.size(); ++u) {
      CodecContext context;
      context.unit = units[u].id;
      context.parameter = units[u].parameter;
      const Message begin = StartMessage(header(u, context), 0);
      for (int slot = 0; slot < workers; ++slot) {
        std::ranges::copy(begin.bytes,
                          bytes.begin() + slot * table_->stride() + table_->units()[u].message);
      }
    }
    messages_.Upload(on_.device(), bytes);
  }

  Operations<Device>& on() { return on_; }
  const DeviceTable<Device, Table>& table() const { return table_; }
  // Finds the largest magnitudes of what a worker sends, and returns them by unit.
  const uint32_t* FindLargest(const SenderArrays& sender) {
    uint32_t* const largest = faults_.At(largest_, sender.slot);
    on_.FindLargest(values_, sender.values(), largest, faults_.At(non_finite_, sender.slot));
    return largest;
  }
  std::byte* MessagesOf(int slot) const { return messages_.data() + slot * table_->stride(); }
  uint32_t* Malformed() const { return faults_.At(malformed_, 0); }

 private:
  Operations<Device>& on_;
  Faults<Device>& faults_;
  int non_finite_, largest_, malformed_;
  DeviceTable<Device, Table> table_;
  DeviceSegments<Device> values_;
  DeviceArray<Device, std::byte> messages_;
};

}  // namespace legacy::cuda
