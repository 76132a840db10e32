// Messages of lists: encodes positions and values of many units to message bytes, and decodes the
// messages of all workers to lists. Every byte, and every bit of a value, equals the CPU's.
//
//   messages.Begin()
//   messages.Encode(lists of a worker, ...)   for each active worker, all units at once
//   messages.Decode(...)                      after which received() has the lists of all workers
//
// Messages are in one buffer, worker after worker. Tables are rebuilt only when lengths of lists
// change.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compress/codecs/sparse_codec.h"
#include "compress/cuda/exchange/lists.h"
#include "compress/cuda/exchange/operations.h"
#include "compress/message.h"

namespace legacy::cuda {

// A unit whose values are selected to lists.
struct ListUnit {
  uint32_t id = 0;
  int64_t numel = 0;
  int64_t places = 0;  // bound of positions: number of elements, or of bins of a spectrum
};

struct ListFormat {
  CodecId codec = CodecId::kTopK;
  ValueType type = ValueType::kFloat32;
  QuantiserSetting setting = {.kind = QuantiserKind::kFloat32};
  std::optional<IndexCoding> index = {};  // coding for PositionCoding()
  int each = 1;                           // number of values per position
};

// Says how Encode() leaves a list's values.
enum class Leave : uint8_t {
  kAny,  // undefined, because they are not read
  // The quantisation errors. With fp32 these would be 0, and the values stay as they are.
  kErrors,
  kDecoded,  // the values that receivers decode
};

template <class Device>
class ListMessages {
 public:
  // Allocates messages for up to `workers` workers.
  ListMessages(Operations<Device>& on, const ListFormat& format, std::vector<ListUnit> units,
               int workers)
      : on_(on), format_(format), units_(std::move(units)), workers_(workers) {}

  // Returns true if values are sent without quantisation.
  bool exact() const { return format_.setting.kind == QuantiserKind::kFloat32; }

  void Begin() {
    counts_.clear();
    used_ = 0;
  }

  // Encodes a list for each unit of the next active worker. `draws` has an entry for each unit, in
  // device memory.
  void Encode(Lists<Device>& lists, const cpu::DrawSource* draws, Leave leave) {
    Layout& layout = own_;
    Make(lists, layout);
    const int64_t left = workers_ - std::ssize(counts_) / std::ssize(units_);
    messages_.Grow(on_.device(), used_ + left * layout.bytes, used_);
    float* const values = lists.values.data();
    if (!exact()) {
      segments_.Reserve(layout.segment_bytes);
      const bool errors = leave == Leave::kErrors;
      on_.Quantise(layout.quantiser, {.values = errors ? nullptr : values,
                                      .residual = errors ? values : nullptr,
                                      .out = segments_.data(),
                                      .draws = draws});
    }
    on_.WriteMessages(layout.messages, lists.positions.data(),
                      exact() ? reinterpret_cast<const std::byte*>(values) : segments_.data(),
                      messages_.data() + used_);
    if (!exact() && leave == Leave::kDecoded) {
      on_.DequantiseAdd(layout.quantiser,
                        {.in = segments_.data(), .sum = values, .overwrite = true});
    }
    counts_.insert(counts_.end(), lists.count.begin(), lists.count.end());
    used_ += layout.bytes;
  }

  // Decodes all messages to lists. The fault arrays have a number for each unit of each worker,
  // worker after worker: MessageFault bits, whose lists become empty, and 1 if a value is
  // malformed.
  void Decode(uint32_t* message_faults, uint32_t* segment_faults) {
    received_.LayOut(on_.device(), counts_, format_.each);
    Layout& layout = all_;
    Make(received_, layout);
    auto* const values = reinterpret_cast<std::byte*>(received_.values.data());
    if (!exact()) segments_.Reserve(layout.segment_bytes);
    on_.ReadMessages(layout.messages, {.messages = messages_.data(),
                                       .positions = received_.positions.data(),
                                       .values = exact() ? values : segments_.data(),
                                       .faults = message_faults,
                                       .counts = received_.counts.data()});
    if (layout.whole->tiles() > 0) on_.Enumerate(layout.whole, received_.positions.data());
    if (exact()) return;
    on_.DequantiseAdd(layout.quantiser, {.in = segments_.data(),
                                         .sum = received_.values.data(),
                                         .overwrite = true,
                                         .malformed = segment_faults});
  }

  // List w * units + u belongs to unit u of the w-th active worker.
  const Lists<Device>& received() const { return received_; }
  int64_t Count(int unit, int w) const { return counts_[Number(unit, w)]; }
  // Requires Decode().
  int64_t MessageBytes(int unit, int w) const { return MessageOf(unit, w).length; }
  Bytes CopyMessage(int unit, int w) {
    const MessageLayout& message = MessageOf(unit, w);
    return messages_.Download(on_.device(), message.unit.message, message.length);
  }

 private:
  // Tables of the lists of one worker, or of all workers.
  struct Layout {
    std::vector<uint32_t> count;
    int64_t bytes = 0;          // bytes of messages
    int64_t segment_bytes = 0;  // bytes of quantised segments
    DeviceMessages<Device> messages;
    DeviceQuantiser<Device> quantiser;
    DeviceSegments<Device> whole;  // lists of all positions, which are not sent
  };

  size_t Number(int unit, int w) const { return w * units_.size() + unit; }
  const MessageLayout& MessageOf(int unit, int w) const {
    return all_.messages->layouts()[Number(unit, w)];
  }

  void Make(const Lists<Device>& lists, Layout& layout) {
    if (layout.count == lists.count && layout.messages.is_set()) return;
    layout.count = lists.count;  // list begins follow from the counts
    layout.bytes = layout.segment_bytes = 0;
    std::vector<MessageUnit> messages;
    std::vector<QuantisedUnit> segments;
    std::vector<Extent> whole;
    for (size_t i = 0; i < lists.count.size(); ++i) {
      const ListUnit& unit = units_[i % units_.size()];
      const int64_t count = lists.count[i];
      const Extent values = {format_.each * lists.begin[i], format_.each * count};
      segments.push_back({values, layout.segment_bytes});
      messages.push_back(MessageOf(unit, count, layout));
      messages.back().positions = lists.begin[i];
      messages.back().values =
          exact() ? int64_t{sizeof(float)} * values.offset : layout.segment_bytes;
      layout.bytes += MessageTable::Room(LengthOf(messages.back()));
      layout.segment_bytes += RoundedUp(messages.back().value_bytes, 4);
      if (count == unit.places) whole.push_back({lists.begin[i], count});
    }
    layout.messages.Set(on_.device(), MessageTable(messages));
    layout.quantiser.Set(on_.device(), QuantiserTable(format_.setting, segments));
    layout.whole.Set(on_.device(), SegmentTable(whole, kTile));
  }
  MessageUnit MessageOf(const ListUnit& unit, int64_t count, const Layout& layout) const {
    const Header header = {.codec = static_cast<uint8_t>(format_.codec),
                           .index = PositionCoding(format_.index, unit.places, count),
                           .values = format_.type,
                           .unit = unit.id,
                           .numel = static_cast<uint32_t>(unit.numel),
                           .count = static_cast<uint32_t>(count)};
    return {.header = header,
            .message = layout.bytes,
            .value_bytes = SegmentBytes(format_.setting, format_.each * count),
            .places = unit.places};
  }
  static int64_t LengthOf(const MessageUnit& unit) {
    return HeaderBytes(unit.header.values) +
           IndexBytes(unit.header.index, unit.places, unit.header.count) + unit.value_bytes;
  }

  Operations<Device>& on_;
  ListFormat format_;
  std::vector<ListUnit> units_;
  int workers_;
  Layout own_, all_;
  std::vector<uint32_t> counts_;  // counts of all workers so far
  DeviceArray<Device, std::byte> messages_;
  int64_t used_ = 0;
  DeviceArray<Device, std::byte> segments_;
  Lists<Device> received_;
};

}  // namespace legacy::cuda
