// Units whose sum every worker on the way encodes again, by a quantiser with buckets
// (schemes/hops/quantised_hops.h). Each worker's message has all values, as on the CPU; those that
// travel are in its first hop. The rounds of hop_rounds.h follow when all messages are there.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/hop_rounds.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/whole_group.h"

namespace legacy::cuda {

template <class Device>
class HopGroup : public MessageGroup<Device> {
 public:
  // When Encode() is called, the residual must include the gradient.
  HopGroup(Operations<Device>& on, Faults<Device>& faults, const WholeFormat& format,
           const std::vector<GroupUnit>& units, int workers)
      : on_(on),
        faults_(faults),
        setting_(format.setting),
        units_(units),
        workers_(workers),
        rounds_(*format.hops, workers, format.setting.bucket, LengthsOf(units),
                [setting = format.setting](int, HopRange range) {
                  return SegmentBytes(setting, range.size());
                }),
        non_finite_(faults.Add(FaultKind::kNonFinite, IdsOf(units))),
        draws_(units),
        messages_(on, format.setting, WholeUnitsOf(format, units), workers) {
    for (const GroupUnit& unit : units) {
      stride_ = std::max(stride_, unit.extent.offset + unit.extent.length);
    }
    stride_ = RoundedUp(stride_, kAligned);
    own_ = DeviceArray<Device, float>(stride_ * workers);
    segments_.Set(on_.device(), SegmentsOf(units));
    std::vector<Extent> first;
    for (int w = 0; w < workers; ++w) {
      for (size_t u = 0; u < units.size(); ++u) {
        const HopRange range = rounds_.FirstOf(static_cast<int>(u), w);
        first.push_back({range.begin, range.size()});
      }
    }
    first_.Upload(on_.device(), first);
    sums_[0].Reserve(rounds_.room());
    sums_[1].Reserve(rounds_.room());
    MakeRounds();
  }

  void Begin(const RandomKey& step) override {
    step_ = step;
    senders_.clear();
  }
  void Encode(const SenderArrays& sender) override {
    senders_.push_back(static_cast<int>(sender.worker));
    // The memory of gradients is used again.
    on_.device().Copy(OwnOf(sender.worker), sender.values(),
                      static_cast<size_t>(end()) * sizeof(float));
    const auto* const draws =
        draws_.Upload(on_.device(), step_, sender.worker, Purpose::kStochastic);
    messages_.Encode(sender.slot, sender.residual ? nullptr : sender.gradient, sender.residual,
                     draws, faults_.At(non_finite_, sender.slot));
    if (!sender.residual) return;
    // Errors of other values are those of hops, which have no owner.
    on_.ClearOutside(segments_, first_.data() + sender.worker * units_.size(), sender.residual);
  }
  void Decode(int slots, float divisor, float* mean) override {
    PrepareSenders();
    UploadDraws();
    for (size_t r = 0; r < made_.size(); ++r) {
      on_.AddHops(made_[r].table, {.messages = messages_.data(),
                                   .sums = sums_[(r + 1) % 2].data(),
                                   .parts = made_[r].parts.data(),
                                   .own = own_.data(),
                                   .out = sums_[r % 2].data(),
                                   .draws = made_[r].draws.data(),
                                   // Those of the last slot: faults of gradients come first.
                                   .non_finite = faults_.At(made_[r].overflows, slots - 1)});
    }
    // The mean has decoded values as they are.
    on_.DequantiseAdd(gathered_, {.in = sums_[(made_.size() + 1) % 2].data(),
                                  .sum = mean,
                                  .divisor = divisor,
                                  .overwrite = true,
                                  .start = -0.0f});
  }

  int64_t Count(int unit, int) const override { return units_[unit].extent.length; }
  int64_t MessageBytes(int unit, int) const override { return messages_.MessageBytes(unit); }
  Bytes CopyMessage(int unit, int slot) override { return messages_.CopyMessage(unit, slot); }

 private:
  static constexpr int64_t kAligned = 64;  // floats

  // A round, and its tables.
  struct Made {
    const HopRounds::Round* round = nullptr;
    DeviceQuantiser<Device> table;
    DeviceArray<Device, HopPart> parts;
    DeviceArray<Device, cpu::DrawSource> draws;
    int overflows = 0;  // faults of each hop's unit
  };

  static std::vector<int64_t> LengthsOf(const std::vector<GroupUnit>& units) {
    std::vector<int64_t> lengths;
    for (const GroupUnit& unit : units) lengths.push_back(unit.extent.length);
    return lengths;
  }
  float* OwnOf(int64_t worker) const { return own_.data() + worker * stride_; }
  int64_t end() const {
    int64_t end = 0;
    for (const GroupUnit& unit : units_) {
      end = std::max(end, unit.extent.offset + unit.extent.length);
    }
    return end;
  }

  void MakeRounds() {
    for (const HopRounds::Round& round : rounds_.rounds()) {
      Made& made = made_.emplace_back();
      made.round = &round;
      std::vector<QuantisedUnit> places;
      std::vector<uint32_t> ids;
      for (const Hop& hop : round) {
        const Extent extent = units_[hop.unit].extent;
        places.push_back(
            {{hop.worker * stride_ + extent.offset + hop.range.begin, hop.range.size()},
             std::max<int64_t>(hop.out, 0)});
        ids.push_back(units_[hop.unit].id);
      }
      made.table.Set(on_.device(), QuantiserTable(setting_, places));
      made.overflows = faults_.Add(FaultKind::kSum, ids);
    }
    std::vector<QuantisedUnit> places;
    for (const Hop& hop : rounds_.rounds().back()) {
      const Extent extent = units_[hop.unit].extent;
      places.push_back({{extent.offset + hop.range.begin, hop.range.size()}, hop.out});
    }
    gathered_.Set(on_.device(), QuantiserTable(setting_, places));
  }

  // Sets what depends on the active workers: zeros of others, and the places of their messages.
  void PrepareSenders() {
    for (int w = 0; w < workers_; ++w) {
      if (std::ranges::count(senders_, w) > 0) continue;
      on_.device().Clear(OwnOf(w), static_cast<size_t>(stride_) * sizeof(float));
    }
    if (senders_ == prepared_) return;
    prepared_ = senders_;
    for (Made& made : made_) {
      std::vector<HopPart> parts;
      for (const Hop& hop : *made.round) parts.push_back(PartOf(hop));
      made.parts.Upload(on_.device(), parts);
    }
  }
  HopPart PartOf(const Hop& hop) const {
    HopPart part = {.sends = hop.out == Hop::kNowhere ? 0 : 1};
    if (hop.sender < 0 && hop.in == Hop::kNowhere) return part;
    if (hop.sender < 0) {
      part.input = HopInput::kSum;
      SetPlaces(hop.in, hop.range.size(), 0, part);
      return part;
    }
    const auto found = std::ranges::find(senders_, hop.sender);
    if (found == senders_.end()) {
      part.input = HopInput::kZeros;
      return part;
    }
    part.input = HopInput::kMessage;
    SetPlaces(messages_.SegmentOf(hop.unit, static_cast<int>(found - senders_.begin())),
              units_[hop.unit].extent.length, hop.range.begin, part);
    return part;
  }
  // Sets the places of values from `first` on, in a segment of `length` values.
  void SetPlaces(int64_t segment, int64_t length, int64_t first, HopPart& part) const {
    const int64_t scales = ScalesOf(setting_, length) * ScaleBytes(setting_);
    part.in.scales = segment + first / setting_.bucket * ScaleBytes(setting_);
    part.in.codes = segment + scales + first / 8 * CodeWidth(setting_);
  }
  void UploadDraws() {
    if (setting_.kind == QuantiserKind::kMx || !setting_.stochastic) return;
    for (Made& made : made_) {
      std::vector<cpu::DrawSource> draws;
      for (const Hop& hop : *made.round) {
        draws.push_back(cpu::MakeDrawSource(
            KeyOf(step_, rounds_.DrawerOf(hop), units_[hop.unit].id, Purpose::kStochastic)));
      }
      made.draws.Upload(on_.device(), draws);
    }
  }

  Operations<Device>& on_;
  Faults<Device>& faults_;
  QuantiserSetting setting_;
  std::vector<GroupUnit> units_;
  int workers_;
  HopRounds rounds_;
  int non_finite_;
  UnitDraws<Device> draws_;
  WholeMessages<Device> messages_;
  int64_t stride_ = 0;                      // floats from a worker's own values to the next one's
  DeviceArray<Device, float> own_;          // values that hops add
  DeviceSegments<Device> segments_;         // units
  DeviceArray<Device, Extent> first_;       // first hops of each unit of each worker
  DeviceArray<Device, std::byte> sums_[2];  // sums that rounds send, in turns
  std::vector<Made> made_;
  DeviceQuantiser<Device> gathered_;     // the sum's pieces
  std::vector<int> senders_, prepared_;  // active workers of this step, and of `made_`
  RandomKey step_;
};

}  // namespace legacy::cuda
