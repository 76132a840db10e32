// Units that EDEN rotates and codes (codecs/eden_codec.h), with a rotation that workers share.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "compress/checks.h"
#include "compress/codecs/eden_codec.h"
#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/operations.h"

namespace legacy::cuda {

static_assert(EdenUnit::kLargestScale == EdenCodec::kLargestScale);
static_assert(EdenCodec::kLargestValue == cpu::SpectrumPlan::kLargestValue);

template <class Device>
class EdenGroup : public MessageGroup<Device> {
 public:
  // When Encode() is called, the residual must include the gradient.
  EdenGroup(Operations<Device>& on, Faults<Device>& faults, const EdenCodec& codec, bool feedback,
            const std::vector<GroupUnit>& units, int workers)
      : on_(on),
        faults_(faults),
        non_finite_(faults.Add(FaultKind::kFirstNonFinite, IdsOf(units))),
        largest_(faults.Add(FaultKind::kLargest, IdsOf(units))),
        malformed_(faults.Add(FaultKind::kSegment, IdsOf(units))),
        unbiased_(codec.Unbiased(feedback)),
        signs_(units) {
    std::vector<int> bits;
    for (const GroupUnit& unit : units)
      bits.push_back(static_cast<int>(std::lround(unit.parameter)));
    table_.Set(on_.device(), EdenTable(codec.block(), ExtentsOf(units), bits));
    values_.Set(on_.device(), SegmentsOf(units));
    done_.Reserve(2 * table_->count());
    done_.Clear(on_.device());
    WriteHeaders(codec, units, workers);
  }

  void Begin(const RandomKey& step) override {
    keys_ = signs_.Upload(on_.device(), step, 0, Purpose::kRotation);
  }
  void Encode(const SenderArrays& sender) override {
    std::byte* const out = messages_.data() + sender.slot * table_->stride();
    uint32_t* const largest = faults_.At(largest_, sender.slot);
    on_.FindLargest(values_, sender.values(), largest, faults_.At(non_finite_, sender.slot));
    on_.EncodeEden(table_,
                   {.values = sender.values(),
                    .largest = largest,
                    .signs = keys_,
                    .out = out,
                    .unbiased = unbiased_},
                   done_.data());
    if (!sender.residual) return;
    on_.SubtractEden(table_, {.in = out, .signs = keys_, .out = sender.residual});
  }
  void Decode(int slots, float divisor, float* mean) override {
    on_.DecodeEden(table_, {.in = messages_.data(),
                            .signs = keys_,
                            .stride = table_->stride(),
                            .workers = slots,
                            .divisor = divisor,
                            .out = mean,
                            .malformed = faults_.At(malformed_, 0)});
  }

  int64_t Count(int unit, int) const override { return table_->units()[unit].extent.length; }
  int64_t MessageBytes(int unit, int) const override {
    return table_->units()[unit].MessageBytes();
  }
  Bytes CopyMessage(int unit, int slot) override {
    const EdenUnit& of = table_->units()[unit];
    return messages_.Download(on_.device(), slot * table_->stride() + of.message,
                              of.MessageBytes());
  }

 private:
  // Writes the headers, which do not change between steps, and zeros after them, which are the
  // whole message of a unit without values.
  void WriteHeaders(const EdenCodec& codec, const std::vector<GroupUnit>& units, int workers) {
    std::vector<std::byte> bytes(static_cast<size_t>(table_->stride() * workers));
    for (size_t u = 0; u < units.size(); ++u) {
      CodecContext context;
      context.unit = units[u].id;
      context.parameter = units[u].parameter;
      const Message header = StartMessage(codec.HeaderOf(units[u].extent.length, context), 0);
      for (int slot = 0; slot < workers; ++slot) {
        std::ranges::copy(header.bytes,
                          bytes.begin() + slot * table_->stride() + table_->units()[u].message);
      }
    }
    messages_.Upload(on_.device(), bytes);
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  int non_finite_, largest_, malformed_;
  bool unbiased_;
  DeviceEden<Device> table_;
  DeviceSegments<Device> values_;
  UnitKeys<Device, StreamKey> signs_;
  const StreamKey* keys_ = nullptr;
  DeviceArray<Device, uint32_t> done_;
  DeviceArray<Device, std::byte> messages_;
};

}  // namespace legacy::cuda
