// DGC's sampled threshold on a device, with the same bits as sparsifiers/sampled.cc. The host
// decides by the CPU's rules, after one read that counts what each threshold would select.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "compress/cpu/topk_gather.h"
#include "compress/cuda/exchange/selectors.h"

namespace legacy::cuda {

// Requires that the gradient is already added to the residual.
template <class Device>
class SampledSelector : public Selector<Device> {
 public:
  SampledSelector(Operations<Device>& on, Faults<Device>& faults, std::vector<GroupUnit> units,
                  double share)
      : on_(on),
        faults_(faults),
        units_(std::move(units)),
        share_(share),
        non_finite_(faults.Add(FaultKind::kNonFinite, IdsOf(units_))),
        thresholds_(std::ssize(units_)),
        counts_(std::ssize(units_) * kSampledThresholds),
        left_out_(1),
        ignored_(std::ssize(units_)) {
    segments_.Set(on_.device(), SegmentsOf(units_));
    found_.begins.Reserve(std::ssize(units_) + 1);
    found_.counts.Reserve(std::ssize(units_));
  }

  void Select(const RandomKey& step, const SenderArrays& sender, Lists<Device>& lists) override {
    float* const values = sender.values();
    EstimateThresholds(step, sender.worker, values);
    counts_.Clear(on_.device());
    on_.CountAtLeast(segments_, values, thresholds_.data(), counts_.data(),
                     faults_.At(non_finite_, sender.slot));
    const Choice choice = Choose();
    lists.LayOut(on_.device(), choice.kept);
    TakeAtLeast(choice, values, lists);
    TakeLargest(choice, values, lists);
    if (sender.residual) {
      on_.ClearSelected(segments_.view(), lists.view(), lists.end(), sender.residual);
    }
  }

 private:
  struct Choice {
    std::vector<float> thresholds;
    int64_t selected = 0;         // number of elements that all thresholds select
    std::vector<uint32_t> moved;  // number of those to send per unit, from the first on
    std::vector<uint32_t> kept;
    std::vector<size_t> exact;  // units whose largest elements are selected exactly
  };

  // Takes samples of units that are not sent whole. Returns the rank in each sample that gives the
  // threshold.
  std::vector<uint32_t> TakeSamples(const RandomKey& step, uint32_t worker, const float* values) {
    std::vector<SampledElements> elements;
    std::vector<uint32_t> sizes, tops;
    for (const GroupUnit& unit : units_) {
      const int64_t numel = unit.extent.length;
      StridedSample sample;
      if (unit.count < numel) {
        const CodecContext context = {.unit = unit.id,
                                      .random = KeyOf(step, worker, unit.id, Purpose::kSample)};
        sample = SampleOf(share_, numel, unit.count, context);
      }
      const int64_t top = sample.size > 0 ? TopOfSample(sample, numel, unit.count) : 0;
      elements.push_back({unit.extent.offset + sample.first, sample.stride});
      sizes.push_back(static_cast<uint32_t>(sample.size));
      tops.push_back(static_cast<uint32_t>(top));
    }
    samples_.Reserve(ListBegins(sizes).back());
    sampled_.Set(on_.device(), ListSegments(sizes));
    elements_.Upload(on_.device(), elements);
    on_.TakeSamples(sampled_, elements_.data(), values, samples_.data());
    return tops;
  }
  // Estimates thresholds; 0 for units that are sent whole.
  void EstimateThresholds(const RandomKey& step, uint32_t worker, const float* values) {
    const std::vector<uint32_t> tops = TakeSamples(step, worker, values);
    largest_.LayOut(on_.device(), tops);
    on_.SelectTopK(sampled_,
                   {.residual = samples_.data(),
                    .k = largest_.counts.data(),
                    .out = largest_.begins.data(),
                    .indices = largest_.positions.data(),
                    .values = largest_.values.data()},
                   largest_.end());
    tops_.Set(on_.device(), ListSegments(tops));
    on_.SmallestMagnitudes(tops_, largest_.values.data(), thresholds_.data());
  }

  Choice Choose() {
    Choice choice;
    choice.thresholds.resize(units_.size());
    std::vector<uint32_t> counts(counts_.size());
    thresholds_.Download(on_.device(), choice.thresholds);
    counts_.Download(on_.device(), counts);
    on_.device().Wait();
    for (size_t u = 0; u < units_.size(); ++u) {
      const int64_t wanted = units_[u].count;
      const uint32_t* selected = &counts[u * kSampledThresholds];
      for (int tried = 0; tried < SampledRule::kTries && SampledRule::TooFew(*selected, wanted);
           ++tried) {
        choice.thresholds[u] *= SampledRule::kLower;
        ++selected;
      }
      const bool exact = SampledRule::TooMany(*selected, wanted);
      const auto kept = static_cast<uint32_t>(std::min<int64_t>(*selected, wanted));
      choice.kept.push_back(kept);
      choice.moved.push_back(exact ? 0 : kept);
      choice.selected += exact ? 0 : *selected;
      if (!exact) continue;
      choice.exact.push_back(u);
      choice.thresholds[u] = std::bit_cast<float>(cpu::kLargestKey);  // above all numbers
    }
    return choice;
  }

  void TakeAtLeast(const Choice& choice, float* values, Lists<Device>& lists) {
    thresholds_.Upload(on_.device(), choice.thresholds);
    found_.positions.Reserve(choice.selected);
    found_.values.Reserve(choice.selected);
    on_.SelectAtLeast(segments_, {.residual = values,
                                  .feedback = false,
                                  .thresholds = thresholds_.data(),
                                  .capacity = choice.selected,
                                  .indices = found_.positions.data(),
                                  .values = found_.values.data(),
                                  .begin = found_.begins.data(),
                                  .count = found_.counts.data(),
                                  .left_out = left_out_.data(),
                                  .non_finite = ignored_.data()});
    found_.counts.Upload(on_.device(), choice.moved);
    on_.MoveEntries(lists.size(), found_.view(),
                    {lists.begins.data(), lists.positions.data(), lists.values.data()},
                    lists.end());
  }
  void TakeLargest(const Choice& choice, float* values, Lists<Device>& lists) {
    if (choice.exact.empty()) return;
    std::vector<Extent> extents;
    std::vector<uint32_t> k;
    std::vector<int64_t> out;
    int64_t all = 0;
    for (const size_t u : choice.exact) {
      extents.push_back(units_[u].extent);
      k.push_back(choice.kept[u]);
      out.push_back(lists.begin[u]);
      all += k.back();
    }
    exact_.Set(on_.device(), SegmentTable(extents, kTile));
    exact_k_.Upload(on_.device(), k);
    exact_out_.Upload(on_.device(), out);
    on_.SelectTopK(exact_,
                   {.residual = values,
                    .k = exact_k_.data(),
                    .out = exact_out_.data(),
                    .indices = lists.positions.data(),
                    .values = lists.values.data()},
                   all);
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  std::vector<GroupUnit> units_;
  double share_;
  int non_finite_;
  DeviceSegments<Device> segments_;
  // The samples, and their largest elements.
  DeviceSegments<Device> sampled_, tops_;
  DeviceArray<Device, SampledElements> elements_;
  DeviceArray<Device, float> samples_;
  Lists<Device> largest_;
  // Thresholds, the number of elements that each would select, and the selected ones, packed, on
  // the device alone.
  DeviceArray<Device, float> thresholds_;
  DeviceArray<Device, uint32_t> counts_;
  Lists<Device> found_;
  DeviceArray<Device, int64_t> left_out_;
  DeviceArray<Device, uint32_t> ignored_;
  // Units whose largest elements are selected exactly.
  DeviceSegments<Device> exact_;
  DeviceArray<Device, uint32_t> exact_k_;
  DeviceArray<Device, int64_t> exact_out_;
};

}  // namespace legacy::cuda
