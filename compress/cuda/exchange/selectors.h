// Sparsifiers on a device: they select the elements of many units that a worker sends. Positions
// and values equal the CPU's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compress/cuda/exchange/random_subsets.h"

namespace legacy::cuda {

template <class Device>
class Selector {
 public:
  virtual ~Selector() = default;
  // Selects a worker's values to lists: from the residual plus the gradient (unless already added),
  // or from the gradient if there is no residual. The residual becomes that sum, with selected
  // elements cleared.
  virtual void Select(const RandomKey& step, const SenderArrays& sender, Lists<Device>& lists) = 0;
};

template <class Device>
class TopKSelector : public Selector<Device> {
 public:
  TopKSelector(Operations<Device>& on, Faults<Device>& faults, const std::vector<GroupUnit>& units)
      : on_(on),
        faults_(faults),
        non_finite_(faults.Add(FaultKind::kNonFinite, IdsOf(units))),
        counts_(CountsOf(units)) {
    segments_.Set(on_.device(), SegmentsOf(units));
  }

  void Select(const RandomKey&, const SenderArrays& sender, Lists<Device>& lists) override {
    lists.LayOut(on_.device(), counts_);
    on_.SelectTopK(segments_,
                   {.gradient = sender.to_add(),
                    .residual = sender.values(),
                    .k = lists.counts.data(),
                    .out = lists.begins.data(),
                    .indices = lists.positions.data(),
                    .values = lists.values.data(),
                    .non_finite = faults_.At(non_finite_, sender.slot)},
                   lists.end());
    if (sender.residual && sender.added) {
      on_.ClearSelected(segments_.view(), lists.view(), lists.end(), sender.residual);
    }
  }

 private:
  Operations<Device>& on_;
  Faults<Device>& faults_;
  int non_finite_;
  std::vector<uint32_t> counts_;
  DeviceSegments<Device> segments_;
};

// Each worker draws its own positions. Requires that the gradient is already added to the residual.
template <class Device>
class RandomSelector : public Selector<Device> {
 public:
  RandomSelector(Operations<Device>& on, Faults<Device>& faults,
                 const std::vector<GroupUnit>& units, bool unbiased)
      : subsets_(on, faults, units, unbiased) {}

  void Select(const RandomKey& step, const SenderArrays& sender, Lists<Device>& lists) override {
    subsets_.Draw(step, sender.worker, lists);
    subsets_.Take(sender, lists);
  }

 private:
  RandomSubsets<Device> subsets_;
};

// Reserves slightly more memory than the last worker's selection needed; if that is too little, it
// enlarges the memory and selects again.
template <class Device>
class ThresholdSelector : public Selector<Device> {
 public:
  ThresholdSelector(Operations<Device>& on, Faults<Device>& faults,
                    const std::vector<GroupUnit>& units)
      : on_(on), faults_(faults), non_finite_(faults.Add(FaultKind::kNonFinite, IdsOf(units))) {
    std::vector<float> thresholds;
    for (const GroupUnit& unit : units) {
      thresholds.push_back(static_cast<float>(unit.parameter));
      capacity_ += unit.extent.length;
    }
    capacity_ = capacity_ / kShare + kLeast;
    thresholds_.Upload(on_.device(), thresholds);
    segments_.Set(on_.device(), SegmentsOf(units));
    found_.count.resize(units.size());
    found_.begins.Reserve(std::ssize(units) + 1);
    found_.counts.Reserve(std::ssize(units));
    left_out_.Reserve(1);
  }

  void Select(const RandomKey&, const SenderArrays& sender, Lists<Device>& lists) override {
    Pass(sender, sender.to_add());
    if (lacking_ > 0) {
      if (sender.residual) {
        on_.PutEntries(segments_.view(), found_.view(), capacity_, sender.residual);
      }
      capacity_ += lacking_ + lacking_ / kSlack;
      Pass(sender, nullptr);
    }
    lists.LayOut(on_.device(), found_.count);
    on_.MoveEntries(lists.size(), found_.view(),
                    {lists.begins.data(), lists.positions.data(), lists.values.data()},
                    lists.end());
  }

 private:
  static constexpr int64_t kShare = 64, kLeast = 4096, kSlack = 4;

  void Pass(const SenderArrays& sender, const float* gradient) {
    found_.positions.Reserve(capacity_);
    found_.values.Reserve(capacity_);
    on_.SelectAtLeast(segments_, {.gradient = gradient,
                                  .residual = sender.values(),
                                  .feedback = sender.residual != nullptr,
                                  .thresholds = thresholds_.data(),
                                  .capacity = capacity_,
                                  .indices = found_.positions.data(),
                                  .values = found_.values.data(),
                                  .begin = found_.begins.data(),
                                  .count = found_.counts.data(),
                                  .left_out = left_out_.data(),
                                  .non_finite = faults_.At(non_finite_, sender.slot)});
    left_out_.Download(on_.device(), {&lacking_, 1});
    found_.counts.Download(on_.device(), found_.count);
    on_.device().Wait();
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  int non_finite_;
  DeviceArray<Device, float> thresholds_;
  DeviceSegments<Device> segments_;
  int64_t capacity_ = 0;
  int64_t lacking_ = 0;  // number of entries that did not fit
  Lists<Device> found_;  // packed; begins are on the device alone
  DeviceArray<Device, int64_t> left_out_;
};

}  // namespace legacy::cuda
