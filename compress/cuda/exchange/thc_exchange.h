// The exchange of THC (schemes/thc.h) for all units of a model on a device. Messages, residuals and
// mean have the CPU's bits.
//
//   Encode    e = g + r or a copy of g, and ||e||^2          three launches a worker
//   Finish    the largest norm of all workers; codes, what
//             travels of them, and the residuals             a launch
//             sums, and their mean rotated back              a launch
//
// With sums=server the last launch looks codes up as the server does, whose answer has the same
// sums.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compress/checks.h"
#include "compress/cuda/exchange/kept_exchange.h"
#include "compress/cuda/kernels/transforms/thc_kernels.h"
#include "compress/schemes/thc.h"

namespace legacy::cuda {

static_assert(kLargestThcNorm == ThcSettings::kLargestNorm);
static_assert(ThcSettings::kLargestValue == cpu::SpectrumPlan::kLargestValue);

template <class Device>
class ThcDeviceExchange : public KeptExchange<Device> {
 public:
  // Requires that kernels rotate blocks of that length.
  ThcDeviceExchange(Device device, const ThcScheme& scheme, std::span<const Unit> units,
                    int workers)
      : KeptExchange<Device>(std::move(device), units, workers, scheme.settings().memory),
        settings_(scheme.settings()),
        largest_(this->faults().Add(FaultKind::kLargest, this->Ids())),
        malformed_(this->faults().Add(FaultKind::kSegment, this->Ids())) {
    settings_.CheckWorkers(workers);
  }

  std::vector<SentCall> Calls(int unit) const override {
    std::vector<SentCall> sent;
    for (PlannedCall& planned : settings_.Calls(this->units()[unit], this->ActiveWorkers())) {
      std::vector<int64_t> bytes(this->workers());
      for (const int w : this->active()) bytes[w] = planned.bytes;
      sent.push_back({std::move(planned.call), std::move(bytes)});
    }
    return sent;
  }
  int64_t ElementsSent(int unit) const override { return this->units()[unit].numel; }
  Bytes CopyMessage(int unit, int worker) const override {
    const ThcUnit& of = table_->units()[unit];
    return messages_.Download(this->on().device(),
                              this->SlotOf(worker) * table_->stride() + of.message,
                              table_->MessageBytes(of.extent.length));
  }

 protected:
  void Prepare(const ModelStep& step) override {
    const int bits = settings_.SentBits(this->ActiveWorkers());
    if (!table_.is_set() || bits != bits_) LayOut(bits);
    this->UploadKeys(step, this->active(), cpu::MakeDrawSource, draws_);
    constexpr int kShared[] = {0};
    this->UploadKeys(
        step, kShared, [](const RandomKey& key) { return StreamKeyOf(cpu::RotationKey(key)); },
        signs_);
  }
  void Measure(int slot, float* values) override {
    this->on().ThcNorms(table_, values, squares_.data() + slot * table_->count(),
                        this->faults().At(largest_, slot));
  }
  void RunCalls(float* mean) override {
    this->on().EncodeThc(table_, {.vectors = table_.view(),
                                  .values = this->values(),
                                  .values_stride = this->stride(),
                                  .active = this->active_memory(),
                                  .squares = squares_.data(),
                                  .signs = signs_.data(),
                                  .draws = draws_.data(),
                                  .out = messages_.data(),
                                  .out_stride = table_->stride(),
                                  .units = table_->count(),
                                  .slots = this->ActiveWorkers(),
                                  .feedback = this->Keeps()});
    this->on().DecodeThc(table_, {.in = messages_.data(),
                                  .stride = table_->stride(),
                                  .slots = this->ActiveWorkers(),
                                  .squares = squares_.data(),
                                  .signs = signs_.data(),
                                  .out = mean,
                                  .malformed = this->faults().At(malformed_, 0)});
  }

 private:
  // Makes the table of messages with numbers of so many bits, and writes their headers.
  void LayOut(int bits) {
    Device& device = this->on().device();
    bits_ = bits;
    table_.Set(device, ThcUnitTable({.rules = settings_.table->rules(),
                                     .block = settings_.block,
                                     .bits = bits,
                                     .codes = settings_.server},
                                    this->Extents()));
    std::vector<std::byte> bytes(static_cast<size_t>(table_->stride() * this->workers()));
    const ExtendedMethod method =
        settings_.server ? ExtendedMethod::kThcCodes : ExtendedMethod::kThcSums;
    for (size_t u = 0; u < this->units().size(); ++u) {
      const Message begin = StartMessage(ThcHeader(this->units()[u], method, bits), 0);
      for (int slot = 0; slot < this->workers(); ++slot) {
        std::ranges::copy(begin.bytes,
                          bytes.begin() + slot * table_->stride() + table_->units()[u].message);
      }
    }
    messages_.Upload(device, bytes);
    squares_.Reserve(int64_t{table_->count()} * this->workers());
  }

  ThcSettings settings_;
  int largest_, malformed_;
  int bits_ = 0;  // of a number that a worker sends
  DeviceTable<Device, ThcUnitTable> table_;
  DeviceArray<Device, double> squares_;  // ||e||^2 of each unit of each slot
  DeviceArray<Device, cpu::DrawSource> draws_;
  DeviceArray<Device, StreamKey> signs_;  // of each unit
  DeviceArray<Device, std::byte> messages_;
};

}  // namespace legacy::cuda
