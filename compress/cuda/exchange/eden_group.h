// Units that EDEN rotates and codes (codecs/eden_codec.h), with a rotation that workers share.
#pragma once

#include <cmath>
#include <vector>

#include "compress/codecs/eden_codec.h"
#include "compress/cuda/exchange/transform_group.h"

namespace legacy::cuda {

static_assert(EdenUnit::kLargestScale == EdenCodec::kLargestScale);
static_assert(EdenCodec::kLargestValue == cpu::SpectrumPlan::kLargestValue);

template <class Device>
class EdenGroup : public TransformGroup<Device, EdenTable> {
 public:
  // When Encode() is called, the residual must include the gradient.
  EdenGroup(Operations<Device>& on, Faults<Device>& faults, const EdenCodec& codec, bool feedback,
            const std::vector<GroupUnit>& units, int workers)
      : TransformGroup<Device, EdenTable>(on, faults, TableOf(codec, units), units, workers,
                                          [&](size_t u, const CodecContext& context) {
                                            return codec.HeaderOf(units[u].extent.length, context);
                                          }),
        unbiased_(codec.Unbiased(feedback)),
        signs_(units) {
    done_.Reserve(2 * this->table()->count());
    done_.Clear(on.device());
  }

  void Begin(const RandomKey& step) override {
    keys_ = signs_.Upload(this->on().device(), step, 0, Purpose::kRotation);
  }
  void Encode(const SenderArrays& sender) override {
    std::byte* const out = this->MessagesOf(sender.slot);
    this->on().EncodeEden(this->table(),
                          {.values = sender.values(),
                           .largest = this->FindLargest(sender),
                           .signs = keys_,
                           .out = out,
                           .unbiased = unbiased_},
                          done_.data());
    if (!sender.residual) return;
    this->on().SubtractEden(this->table(), {.in = out, .signs = keys_, .out = sender.residual});
  }
  void Decode(int slots, float divisor, float* mean) override {
    this->on().DecodeEden(this->table(), {.in = this->MessagesOf(0),
                                          .signs = keys_,
                                          .stride = this->table()->stride(),
                                          .workers = slots,
                                          .divisor = divisor,
                                          .out = mean,
                                          .malformed = this->Malformed()});
  }
  int64_t Count(int unit, int) const override { return this->table()->units()[unit].extent.length; }

 private:
  static EdenTable TableOf(const EdenCodec& codec, const std::vector<GroupUnit>& units) {
    std::vector<int> bits;
    for (const GroupUnit& unit : units) {
      bits.push_back(static_cast<int>(std::lround(unit.parameter)));
    }
    return {codec.block(), ExtentsOf(units), bits};
  }

  bool unbiased_;
  UnitKeys<Device, StreamKey> signs_;
  const StreamKey* keys_ = nullptr;
  DeviceArray<Device, uint32_t> done_;
};

}  // namespace legacy::cuda
