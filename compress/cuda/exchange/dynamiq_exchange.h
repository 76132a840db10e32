// The exchange of DynamiQ (schemes/dynamiq.h) for all units of a model on a device. Messages and
// mean have the CPU's bits.
//
//   Encode    statistics of super-groups                    a launch a worker
//   Finish    waits for the statistics, from which the host lays out the step
//             draws that workers share; messages            two launches
//             rounds of hops (hop_rounds.h)                 a launch each
//             the mean                                      a launch
//
// As on the CPU, a worker's message has all of its values.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compress/checks.h"
#include "compress/cuda/exchange/hop_rounds.h"
#include "compress/cuda/exchange/kept_exchange.h"
#include "compress/cuda/kernels/coding/dynamiq_kernels.h"
#include "compress/schemes/dynamiq.h"

namespace legacy::cuda {

template <class Device>
class DynamiqDeviceExchange : public KeptExchange<Device> {
 public:
  DynamiqDeviceExchange(Device device, const DynamiqScheme& scheme, std::span<const Unit> units,
                        int workers);

  // Says why there are no kernels for so many workers; empty if there are.
  static std::string LacksKernels(int workers) {
    if (workers <= kMostDynamiqWorkers) return {};
    return std::to_string(workers) + " workers: there are kernels for " +
           std::to_string(kMostDynamiqWorkers);
  }

  void Encode(int worker, const float* gradient) override;
  std::vector<SentCall> Calls(int unit) const override;
  int64_t ElementsSent(int unit) const override { return this->units()[unit].numel; }
  Bytes CopyMessage(int unit, int worker) const override {
    const int64_t begin = this->SlotOf(worker) * stride_ + places_[unit].payload;
    return messages_.Download(this->on().device(), begin - kExtendedHeaderBytes,
                              kExtendedHeaderBytes + layouts_[unit].Bytes());
  }

 protected:
  void Prepare(const ModelStep& step) override {
    for (const double bits : step.parameters) CheckParameter(scheme_.Parameter(), bits);
    parameters_.assign(step.parameters.begin(), step.parameters.end());
    key_ = {.seed = step.info.seed, .step = static_cast<uint64_t>(step.info.step)};
  }
  void RunCalls(float* mean) override;

 private:
  int64_t supers() const { return first_.back(); }
  void LayOut();
  HopRounds Rounds() const;
  DynamiqHop HopOf(const Hop& hop) const;
  DynamiqStep Step() const {
    return {.units = places_memory_.data(),
            .first = first_memory_.data(),
            .count = static_cast<int32_t>(places_.size()),
            .places = order_memory_.data(),
            .tables = tables_.data(),
            .permutations = permutations_.data(),
            .own = own_.data(),
            .own_stride = supers() * dynamiq::kSuper,
            .key = key_,
            .workers = this->workers(),
            .rounding = scheme_.options().rounding};
  }

  DynamiqScheme scheme_;
  int non_finite_, overflows_;
  std::vector<DynamiqUnit> places_;  // units, as kernels see them
  std::vector<int64_t> first_ = {0};
  int64_t stride_ = 0;  // bytes of a worker's messages, at 8 bits
  std::vector<double> parameters_;
  RandomKey key_;
  std::vector<dynamiq::Layout> layouts_;       // of each unit
  std::vector<std::vector<int64_t>> offsets_;  // of each unit: of its places, and the end
  DeviceArray<Device, DynamiqUnit> places_memory_;
  DeviceArray<Device, int64_t> first_memory_, first_places_;
  DeviceArray<Device, DynamiqPlace> order_memory_;
  DeviceArray<Device, dynamiq::CodeTable> tables_;
  DeviceArray<Device, uint16_t> permutations_;
  DeviceArray<Device, float> own_, statistics_;
  DeviceArray<Device, DynamiqHop> hops_;
  DeviceArray<Device, std::byte> messages_, sums_[2];
};

template <class Device>
DynamiqDeviceExchange<Device>::DynamiqDeviceExchange(Device device, const DynamiqScheme& scheme,
                                                     std::span<const Unit> units, int workers)
    : KeptExchange<Device>(std::move(device), units, workers, {.kind = MemoryKind::kNone}),
      scheme_(scheme),
      non_finite_(this->faults().Add(FaultKind::kNonFinite, this->Ids())),
      overflows_(this->faults().Add(FaultKind::kSum, this->Ids())) {
  for (const Unit& unit : units) {
    const int64_t count = dynamiq::SupersOf(unit.numel);
    places_.push_back({.extent = {unit.offset, unit.numel},
                       .first = first_.back(),
                       .supers = count,
                       .payload = stride_ + kExtendedHeaderBytes,
                       .id = unit.id,
                       .number = static_cast<uint32_t>(places_.size())});
    first_.push_back(first_.back() + count);
    stride_ += kExtendedHeaderBytes + count * dynamiq::SuperBytes(8);
  }
  Device& on = this->on().device();
  places_memory_.Upload(on, places_);
  first_memory_.Upload(on, first_);
  tables_.Upload(on, std::vector{dynamiq::TableOf(2), dynamiq::TableOf(4), dynamiq::TableOf(8)});
  permutations_.Reserve(supers() * dynamiq::kGroups * workers);
  own_.Reserve(supers() * dynamiq::kSuper * workers);
  statistics_.Reserve(2 * supers() * workers);
  std::vector<std::byte> bytes(static_cast<size_t>(stride_ * workers));
  for (size_t u = 0; u < units.size(); ++u) {
    const Message begin = StartMessage(DynamiqHeader(units[u], false), 0);
    for (int64_t slot = 0; slot < workers; ++slot) {
      std::ranges::copy(begin.bytes,
                        bytes.begin() + slot * stride_ + places_[u].payload - kExtendedHeaderBytes);
    }
  }
  messages_.Upload(on, bytes);
}

template <class Device>
void DynamiqDeviceExchange<Device>::Encode(int worker, const float* gradient) {
  const int slot = this->NextSlot(worker);
  float* const values = this->values() + worker * this->stride();
  // The memory of gradients is used again.
  this->on().device().Copy(values, gradient, static_cast<size_t>(this->numel()) * sizeof(float));
  this->on().DynamiqStatistics(supers(), {.units = places_memory_.data(),
                                          .first = first_memory_.data(),
                                          .count = static_cast<int32_t>(places_.size()),
                                          .values = values,
                                          .statistics = statistics_.data() + 2 * slot * supers(),
                                          .non_finite = this->faults().At(non_finite_, slot)});
}

// Waits for the statistics, and lays out all units.
template <class Device>
void DynamiqDeviceExchange<Device>::LayOut() {
  Device& device = this->on().device();
  const int active = this->ActiveWorkers();
  const std::vector<float> statistics = statistics_.Download(device, 0, 2 * supers() * active);
  layouts_.clear();
  offsets_.clear();
  std::vector<DynamiqPlace> order;
  for (size_t u = 0; u < places_.size(); ++u) {
    std::vector<double> sums(static_cast<size_t>(2 * places_[u].supers));
    for (int slot = 0; slot < active; ++slot) {
      const float* const own = statistics.data() + 2 * (slot * supers() + places_[u].first);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += own[i];
    }
    const dynamiq::Layout& layout = layouts_.emplace_back(sums, active, parameters_[u]);
    std::vector<int64_t>& offsets = offsets_.emplace_back(1, 0);
    for (int64_t place = 0; place < places_[u].supers; ++place) {
      const int64_t super = layout.SuperAt(place);
      const int bits = layout.BitsOf(place);
      order.push_back({super, offsets.back(), layout.MeanOfSuper(super), bits});
      offsets.push_back(offsets.back() + dynamiq::SuperBytes(bits));
    }
  }
  order_memory_.Upload(device, order);
}

template <class Device>
HopRounds DynamiqDeviceExchange<Device>::Rounds() const {
  std::vector<int64_t> lengths;
  for (const DynamiqUnit& unit : places_) lengths.push_back(unit.supers * dynamiq::kSuper);
  return {scheme_.options().order, this->workers(), dynamiq::kSuper, lengths,
          [this](int unit, HopRange range) {
            return offsets_[unit][range.end / dynamiq::kSuper] -
                   offsets_[unit][range.begin / dynamiq::kSuper];
          }};
}

template <class Device>
DynamiqHop DynamiqDeviceExchange<Device>::HopOf(const Hop& hop) const {
  const int64_t place = hop.range.begin / dynamiq::kSuper, before = offsets_[hop.unit][place];
  DynamiqHop made = {.unit = hop.unit,
                     .worker = hop.worker,
                     .sends = hop.out == Hop::kNowhere ? 0 : 1,
                     .place = place,
                     .in = hop.in - before,
                     .out = hop.out - before};
  if (hop.sender >= 0) {
    const bool active = std::ranges::count(this->active(), hop.sender) > 0;
    made.input = active ? HopInput::kMessage : HopInput::kZeros;
    if (active) made.in = this->SlotOf(hop.sender) * stride_ + places_[hop.unit].payload;
  } else if (hop.in != Hop::kNowhere) {
    made.input = HopInput::kSum;
  }
  return made;
}

template <class Device>
void DynamiqDeviceExchange<Device>::RunCalls(float* mean) {
  Device& device = this->on().device();
  // Statistics of what is not finite are meaningless.
  this->faults().Check(device, this->active());
  LayOut();
  const DynamiqStep step = Step();
  for (int w = 0; w < this->workers(); ++w) {
    if (std::ranges::count(this->active(), w) > 0) continue;
    device.Clear(own_.data() + w * step.own_stride,
                 static_cast<size_t>(step.own_stride) * sizeof(float));
  }
  this->on().EncodeDynamiq(this->ActiveWorkers(), {.step = step,
                                                   .values = this->values(),
                                                   .values_stride = this->stride(),
                                                   .active = this->active_memory(),
                                                   .messages = messages_.data(),
                                                   .stride = stride_,
                                                   .supers = supers()});
  const HopRounds rounds = Rounds();
  for (auto& sums : sums_) sums.Reserve(rounds.room());
  int turn = 0;
  for (const HopRounds::Round& round : rounds.rounds()) {
    std::vector<DynamiqHop> hops;
    std::vector<int64_t> first = {0};
    for (const Hop& hop : round) {
      hops.push_back(HopOf(hop));
      first.push_back(first.back() + hop.range.size() / dynamiq::kSuper);
    }
    hops_.Upload(device, hops);
    first_places_.Upload(device, first);
    const auto count = static_cast<int32_t>(hops.size());
    this->on().AddDynamiqHops(
        first.back(), {.step = step,
                       .hops = hops_.data(),
                       .first = first_places_.data(),
                       .count = count,
                       .messages = messages_.data(),
                       .sums = sums_[1 - turn].data(),
                       .out = sums_[turn].data(),
                       // Those of the last slot: faults of gradients come first.
                       .overflows = this->faults().At(overflows_, this->ActiveWorkers() - 1)});
    turn = 1 - turn;
    if (&round != &rounds.rounds().back()) continue;
    this->on().GatherDynamiq(first.back(), {.step = step,
                                            .hops = hops_.data(),
                                            .first = first_places_.data(),
                                            .count = count,
                                            .sums = sums_[1 - turn].data(),
                                            .workers = static_cast<float>(this->ActiveWorkers()),
                                            .mean = mean});
  }
}

template <class Device>
std::vector<SentCall> DynamiqDeviceExchange<Device>::Calls(int unit) const {
  const Unit& of = this->units()[unit];
  const auto bytes = [&](int64_t each) {
    std::vector<int64_t> all(this->workers());
    for (const int w : this->active()) all[w] = kExtendedHeaderBytes + each;
    return all;
  };
  constexpr int64_t kStatisticsBytes = 2 * sizeof(uint16_t);
  return {{DynamiqStatisticsCall(of.numel), bytes(kStatisticsBytes * places_[unit].supers)},
          {DynamiqValuesCall(scheme_.options(), layouts_[unit], of.numel, this->workers()),
           bytes(layouts_[unit].Bytes())}};
}

}  // namespace legacy::cuda
