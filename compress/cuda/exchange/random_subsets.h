// Random-K's selection for many units: positions follow from keys, and values are taken there.
#pragma once

#include <vector>

#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/lists.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/operations.h"

namespace legacy::cuda {

template <class Device>
class RandomSubsets {
 public:
  RandomSubsets(Operations<Device>& on, Faults<Device>& faults, const std::vector<GroupUnit>& units,
                bool unbiased)
      : on_(on),
        faults_(faults),
        in_gradient_(faults.Add(FaultKind::kFirstNonFinite, IdsOf(units))),
        in_values_(faults.Add(FaultKind::kNonFinite, IdsOf(units))),
        keys_(units),
        largest_(std::ssize(units)),
        counts_(CountsOf(units)) {
    const std::vector<int64_t> begins = ListBegins(counts_);
    std::vector<SubsetUnit> subsets;
    for (size_t u = 0; u < units.size(); ++u) {
      const Extent extent = units[u].extent;
      const bool scaled = unbiased && units[u].count > 0;
      const float factor =
          scaled ? static_cast<float>(extent.length) / static_cast<float>(units[u].count) : 1.0f;
      subsets.push_back({extent.length, units[u].count, begins[u], extent.offset, factor});
    }
    table_.Set(on_.device(), SubsetTable(subsets));
    segments_.Set(on_.device(), SegmentsOf(units));
  }

  // Draws the positions of a step with the key of `worker`.
  void Draw(const RandomKey& step, uint32_t worker, Lists<Device>& lists) {
    lists.LayOut(on_.device(), counts_);
    const RandomKey* const keys = keys_.Upload(on_.device(), step, worker, Purpose::kRandomK);
    on_.DrawRandomSubsets(table_, keys, lists.positions.data());
  }
  // Takes the values there, and clears them in the residual, if there is one.
  void Take(const SenderArrays& sender, Lists<Device>& lists) {
    float* const flat = sender.values();
    on_.FindLargest(segments_, flat, largest_.data(), faults_.At(in_gradient_, sender.slot));
    on_.TakeSubsets(table_, lists.positions.data(), flat, sender.residual != nullptr,
                    lists.values.data(), faults_.At(in_values_, sender.slot));
  }

 private:
  Operations<Device>& on_;
  Faults<Device>& faults_;
  int in_gradient_, in_values_;
  UnitKeys<Device, RandomKey> keys_;
  DeviceArray<Device, uint32_t> largest_;
  std::vector<uint32_t> counts_;
  DeviceSubsets<Device> table_;
  DeviceSegments<Device> segments_;
};

}  // namespace legacy::cuda
