// Units of which the strongest bins of their spectra are sent (codecs/fft_codec.h).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "compress/codecs/fft_codec.h"
#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/list_messages.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/kernels/transforms/spectrum.h"

namespace legacy::cuda {

template <class Device>
class SpectrumGroup : public MessageGroup<Device> {
 public:
  // `setting` is that of the codec's quantiser. When Encode() is called, the residual must include
  // the gradient.
  SpectrumGroup(Operations<Device>& on, Faults<Device>& faults, const FftCodec& codec,
                const QuantiserSetting& setting, const std::vector<GroupUnit>& units, int workers)
      : on_(on),
        faults_(faults),
        largest_(faults.Add(FaultKind::kLargest, IdsOf(units))),
        message_faults_(faults.Add(FaultKind::kMessage, IdsOf(units))),
        segment_faults_(faults.Add(FaultKind::kSegment, IdsOf(units))),
        keeps_zeros_(codec.quantiser().KeepsZeros()),
        counts_(CountsOf(units)),
        draws_(units),
        messages_(on, {CodecId::kFft, codec.quantiser().Type(), setting, codec.index(), kEach},
                  UnitsOf(codec, units), workers) {
    table_.Set(on_.device(), SpectrumTable(codec.plan(), ExtentsOf(units)));
    scales_.Upload(on_.device(), std::vector<float>(units.size(), 1.0f));
  }

  void Begin(const RandomKey& step) override {
    step_ = step;
    messages_.Begin();
  }

  void Encode(const SenderArrays& sender) override {
    lists_.LayOut(on_.device(), counts_, kEach);
    on_.SelectSpectrum(table_, {.values = sender.values(),
                                .k = lists_.counts.data(),
                                .out = lists_.begins.data(),
                                .positions = lists_.positions.data(),
                                .coefficients = Coefficients(lists_),
                                .scales = scales_.data(),
                                .largest = faults_.At(largest_, sender.slot)});
    const auto* const draws =
        draws_.Upload(on_.device(), step_, sender.worker, Purpose::kStochastic);
    messages_.Encode(lists_, draws, sender.residual ? Leave::kDecoded : Leave::kAny);
    if (!sender.residual) return;
    InverseArrays arrays = Inverse(lists_);
    arrays.mode = InverseMode::kSubtract;
    arrays.out = sender.residual;
    on_.InvertSpectra(table_, arrays);
  }

  void Decode(int slots, float divisor, float* mean) override {
    messages_.Decode(faults_.At(message_faults_, 0), faults_.At(segment_faults_, 0));
    InverseArrays arrays = Inverse(messages_.received());
    arrays.workers = slots;
    arrays.divisor = divisor;
    arrays.out = mean;
    arrays.keeps_zeros = keeps_zeros_;
    arrays.malformed = faults_.At(segment_faults_, 0);
    on_.InvertSpectra(table_, arrays);
  }

  int64_t Count(int unit, int slot) const override { return messages_.Count(unit, slot); }
  int64_t MessageBytes(int unit, int slot) const override {
    return messages_.MessageBytes(unit, slot);
  }
  Bytes CopyMessage(int unit, int slot) override { return messages_.CopyMessage(unit, slot); }

 private:
  static constexpr int kEach = 2;  // real and imaginary part of a bin

  static std::vector<ListUnit> UnitsOf(const FftCodec& codec, const std::vector<GroupUnit>& units) {
    std::vector<ListUnit> lists;
    for (const GroupUnit& unit : units) {
      lists.push_back({unit.id, unit.extent.length, codec.plan().Bins(unit.extent.length)});
    }
    return lists;
  }
  static ComplexFloat* Coefficients(const Lists<Device>& lists) {
    static_assert(sizeof(ComplexFloat) == kEach * sizeof(float));
    return reinterpret_cast<ComplexFloat*>(lists.values.data());
  }
  static InverseArrays Inverse(const Lists<Device>& lists) {
    return {.begin = lists.begins.data(),
            .count = lists.counts.data(),
            .positions = lists.positions.data(),
            .coefficients = Coefficients(lists)};
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  int largest_, message_faults_, segment_faults_;
  bool keeps_zeros_;              // Quantiser::KeepsZeros
  std::vector<uint32_t> counts_;  // number of selected bins
  UnitDraws<Device> draws_;
  ListMessages<Device> messages_;
  DeviceTable<Device, SpectrumTable> table_;
  DeviceArray<Device, float> scales_;  // one per unit, passed on from worker to worker
  Lists<Device> lists_;                // lists of the worker that encodes
  RandomKey step_;
};

}  // namespace legacy::cuda
