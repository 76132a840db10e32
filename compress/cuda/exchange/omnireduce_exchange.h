// The exchange of OmniReduce (schemes/sparse/omnireduce.h) for all units of a model on a device.
// Messages, residuals and mean have the CPU's bits.
//
//   Encode    e = g + r, of units with a residual        a launch a worker
//             norms of blocks, choice, message           three launches
//   Finish    sums of blocks, as aggregators form them   a launch
//             the mean                                   a launch
//
// Lengths of messages and of the sum are read with the faults, at the end of the step.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compress/checks.h"
#include "compress/cuda/exchange/kept_exchange.h"
#include "compress/cuda/kernels/selection/blocks_kernels.h"
#include "compress/schemes/sparse/omnireduce.h"

namespace legacy::cuda {

template <class Device>
class OmniReduceDeviceExchange : public KeptExchange<Device> {
 public:
  // Requires that kernels take blocks of that length.
  OmniReduceDeviceExchange(Device device, const OmniReduceScheme& scheme,
                           std::span<const Unit> units, int workers)
      : KeptExchange<Device>(std::move(device), units, workers, scheme.options().Memory()),
        scheme_(scheme),
        non_finite_(this->faults().Add(FaultKind::kNonFinite, this->Ids())),
        malformed_(this->faults().Add(FaultKind::kSegment, this->Ids())),
        fed_(units.size(), false),
        allocated_(units.size() * static_cast<size_t>(workers), false) {}

  void Encode(int worker, const float* gradient) override;

  std::vector<SentCall> Calls(int unit) const override;
  int64_t ElementsSent(int unit) const override { return MeanSent(unit); }
  Bytes CopyMessage(int unit, int worker) const override {
    const BlocksUnit& of = table_->units()[unit];
    const int slot = this->SlotOf(worker);
    return messages_.Download(this->on().device(), slot * table_->stride() + of.message,
                              MessageBytes(unit, slot));
  }
  // Residuals exist from the first step on that leaves something.
  std::vector<float> CopyResidual(int unit, int worker) const override {
    if (!allocated_[unit * this->workers() + worker]) return {};
    return KeptExchange<Device>::CopyResidual(unit, worker);
  }

 protected:
  void Prepare(const ModelStep& step) override;
  void RunCalls(float* mean) override;

 private:
  struct Count {
    uint32_t blocks, values;
  };

  void LayOut(const ModelStep& step);
  bool Feeds(int unit) const { return table_->units()[unit].feeds != 0; }
  OmniReduceStep StepOf(int unit) const {
    return {scheme_.options(), layouts_[unit], this->ActiveWorkers(), Feeds(unit)};
  }
  static int64_t BytesOf(const Count& count) {
    return kExtendedHeaderBytes + kBlockOffsetBytes * count.blocks +
           int64_t{sizeof(float)} * count.values;
  }
  const Count& SentOf(int unit, int slot) const { return sent_[slot * table_->count() + unit]; }
  int64_t MessageBytes(int unit, int slot) const { return BytesOf(SentOf(unit, slot)); }
  int64_t MeanSent(int unit) const {
    int64_t values = 0;
    for (int slot = 0; slot < this->ActiveWorkers(); ++slot) values += SentOf(unit, slot).values;
    return (values + this->ActiveWorkers() / 2) / this->ActiveWorkers();
  }

  OmniReduceScheme scheme_;
  int non_finite_, malformed_;
  std::vector<bool> fed_;        // of each unit: a step before has left something
  std::vector<bool> allocated_;  // of each unit and worker
  std::vector<double> densities_;
  std::vector<BlockLayout> layouts_;
  // Ranges of the flat gradient, without gaps, whose units have residuals.
  std::vector<Extent> feeding_;
  DeviceTable<Device, BlocksTable> table_;
  DeviceArray<Device, double> squares_;
  DeviceArray<Device, uint32_t> ranks_, positions_;  // of all slots
  DeviceArray<Device, Count> counts_;                // sent by unit and slot, then of the sum
  DeviceArray<Device, float> sums_;
  DeviceArray<Device, std::byte> messages_;
  std::vector<Count> sent_;  // `counts_` of the finished step
};

template <class Device>
void OmniReduceDeviceExchange<Device>::Prepare(const ModelStep& step) {
  const auto& units = this->units();
  bool changed = !table_.is_set() || !std::ranges::equal(densities_, step.parameters);
  for (size_t u = 0; u < units.size(); ++u) {
    scheme_.LayoutOf(units[u].numel, step.parameters[u]);  // checks it
    if (table_.is_set() && this->Keeps() && !fed_[u] && !layouts_[u].All()) {
      fed_[u] = true;  // what the last step left is fed to all that follow
      changed = true;
    }
  }
  if (changed) LayOut(step);
  counts_.Clear(this->on().device());
  for (size_t u = 0; u < units.size(); ++u) {
    if (!Feeds(static_cast<int>(u))) continue;
    for (const int w : this->active()) allocated_[u * this->workers() + w] = true;
  }
}

template <class Device>
void OmniReduceDeviceExchange<Device>::LayOut(const ModelStep& step) {
  Device& device = this->on().device();
  const auto& units = this->units();
  densities_.assign(step.parameters.begin(), step.parameters.end());
  layouts_.clear();
  feeding_.clear();
  std::vector<bool> feeds;
  for (size_t u = 0; u < units.size(); ++u) {
    layouts_.push_back(scheme_.LayoutOf(units[u].numel, densities_[u]));
    feeds.push_back(this->Keeps() && (fed_[u] || !layouts_[u].All()));
    if (!feeds[u]) continue;
    const int64_t end = feeding_.empty() ? -1 : feeding_.back().offset + feeding_.back().length;
    if (units[u].offset == end) {
      feeding_.back().length += units[u].numel;
    } else {
      feeding_.push_back({units[u].offset, units[u].numel});
    }
  }
  table_.Set(device, BlocksTable(this->Extents(), layouts_, feeds));
  const int64_t workers = this->workers();
  squares_.Reserve(table_->blocks());
  ranks_.Reserve(workers * table_->blocks());
  positions_.Reserve(workers * table_->sent());
  counts_ = DeviceArray<Device, Count>((workers + 1) * table_->count());
  sums_.Reserve(this->stride());
  std::vector<std::byte> bytes(static_cast<size_t>(workers * table_->stride()));
  for (size_t u = 0; u < units.size(); ++u) {
    const Message begin = StartMessage(OmniHeader(units[u], 0), 0);
    for (int64_t slot = 0; slot < workers; ++slot) {
      std::ranges::copy(begin.bytes,
                        bytes.begin() + slot * table_->stride() + table_->units()[u].message);
    }
  }
  messages_.Upload(device, bytes);
}

template <class Device>
void OmniReduceDeviceExchange<Device>::Encode(int worker, const float* gradient) {
  float* const residual = this->values() + worker * this->stride();
  const int slot = this->NextSlot(worker);
  for (const Extent& extent : feeding_) {
    this->on().Add(gradient + extent.offset, residual + extent.offset, extent.length);
  }
  this->on().EncodeBlocks(table_, {.values = gradient,
                                   .residual = residual,
                                   .squares = squares_.data(),
                                   .ranks = ranks_.data() + slot * table_->blocks(),
                                   .positions = positions_.data() + slot * table_->sent(),
                                   .sent = &counts_.data()[int64_t{slot} * table_->count()].blocks,
                                   .out = messages_.data() + slot * table_->stride(),
                                   .non_finite = this->faults().At(non_finite_, slot)});
}

template <class Device>
void OmniReduceDeviceExchange<Device>::RunCalls(float* mean) {
  const int64_t of_sum = int64_t{this->ActiveWorkers()} * table_->count();
  this->on().DecodeBlocks(table_, {.in = messages_.data(),
                                   .stride = table_->stride(),
                                   .ranks = ranks_.data(),
                                   .positions = positions_.data(),
                                   .sent = &counts_.data()->blocks,
                                   .blocks = table_->blocks(),
                                   .most_sent = table_->sent(),
                                   .slots = this->ActiveWorkers(),
                                   .sums = sums_.data(),
                                   .union_of = &counts_.data()[of_sum].blocks,
                                   .mean = mean,
                                   .malformed = this->faults().At(malformed_, 0)});
  sent_ = counts_.Download(this->on().device(), 0, of_sum + table_->count());
}

template <class Device>
std::vector<SentCall> OmniReduceDeviceExchange<Device>::Calls(int unit) const {
  const Count& sum = SentOf(unit, this->ActiveWorkers());
  std::vector<int64_t> bytes(this->workers());
  for (const int w : this->active()) bytes[w] = MessageBytes(unit, this->SlotOf(w));
  return {{StepOf(unit).Call(MeanSent(unit), sum.values, BytesOf(sum)), std::move(bytes)}};
}

}  // namespace legacy::cuda
