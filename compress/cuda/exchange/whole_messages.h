// Messages of all values of an extent: a header and a quantiser's segment, written and read in
// place. Every byte, and every bit of a value, equals the CPU's.
//
// Bytes moved per element are those of quantise.h.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/operations.h"
#include "compress/message.h"

namespace legacy::cuda {

struct WholeUnit {
  Header header;
  Extent extent;  // place of the values
};

template <class Device>
class WholeMessages {
 public:
  WholeMessages(Operations<Device>& on, const QuantiserSetting& setting,
                const std::vector<WholeUnit>& units, int workers)
      : on_(on) {
    std::vector<QuantisedUnit> segments;
    for (const WholeUnit& unit : units) {
      const int64_t header = HeaderBytes(unit.header.values);
      const int64_t length = header + SegmentBytes(setting, unit.extent.length);
      segments.push_back({unit.extent, stride_ + header});
      segments_.push_back(stride_ + header);
      extents_.push_back({stride_, length});
      stride_ += MessageTable::Room(length);
    }
    quantiser_.Set(on_.device(), QuantiserTable(setting, segments));
    messages_.Reserve(stride_ * workers);
    WriteHeaders(units, workers);
  }

  // Encodes the worker of that slot; `values` and `residual` are those of QuantiseArrays.
  void Encode(int slot, const float* values, float* residual, const cpu::DrawSource* draws,
              uint32_t* non_finite) {
    on_.Quantise(quantiser_, {.values = values,
                              .residual = residual,
                              .out = messages_.data() + slot * stride_,
                              .draws = draws,
                              .non_finite = non_finite});
  }
  // Writes the sum of the decoded messages of all slots, divided by `divisor`. `malformed` has an
  // entry for each unit of each slot.
  void Decode(int slots, float divisor, float* sum, uint32_t* malformed) {
    on_.DequantiseAdd(quantiser_, {.in = messages_.data(),
                                   .stride = stride_,
                                   .workers = slots,
                                   .sum = sum,
                                   .divisor = divisor,
                                   .overwrite = true,
                                   .malformed = malformed});
  }

  int64_t MessageBytes(int unit) const { return extents_[unit].length; }
  // Returns all messages, and the place of a segment among them.
  const std::byte* data() const { return messages_.data(); }
  int64_t SegmentOf(int unit, int slot) const { return slot * stride_ + segments_[unit]; }
  Bytes CopyMessage(int unit, int slot) {
    const Extent extent = extents_[unit];
    return messages_.Download(on_.device(), slot * stride_ + extent.offset, extent.length);
  }

 private:
  // Writes the headers, which do not change between steps.
  void WriteHeaders(const std::vector<WholeUnit>& units, int workers) {
    std::vector<MessageUnit> headers;
    for (int slot = 0; slot < workers; ++slot) {
      for (size_t u = 0; u < units.size(); ++u) {
        headers.push_back(
            {.header = units[u].header, .message = slot * stride_ + extents_[u].offset});
      }
    }
    DeviceMessages<Device> table;
    table.Set(on_.device(), MessageTable(headers));
    on_.WriteMessages(table, nullptr, nullptr, messages_.data());
  }

  Operations<Device>& on_;
  DeviceQuantiser<Device> quantiser_;
  std::vector<Extent> extents_;    // messages, in bytes from the slot's begin
  std::vector<int64_t> segments_;  // their segments
  int64_t stride_ = 0;             // bytes from a slot to the next
  DeviceArray<Device, std::byte> messages_;
};

}  // namespace legacy::cuda
