// The exchange of codecs (schemes/codec_exchange.h) for all units of a model on a device. Messages,
// residuals and mean have the CPU's bits. Units whose messages have the same form are a group
// (message_group.h), which has one set of launches per worker:
//
//   WholeGroup    all values; a group for each quantiser setting in use
//   HopGroup      all values, whose sums every hop encodes again; likewise
//   SharedGroup   values at positions that all workers draw alike
//   ListGroup     positions and values that each worker selects
//   SpectrumGroup positions and values of bins that each worker selects in the units' spectra
//   EdenGroup     codes of all values, after a rotation
//   DctGroup      positions and values of cosine coefficients that each worker selects in chunks
//
// Groups are rebuilt only when the units' parameters change. If the number of values depends on the
// data (threshold, sampled), Encode() waits for it. Otherwise nothing waits before Finish(), which
// reads the faults.
#pragma once

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/codec_plan.h"
#include "compress/cuda/exchange/dct_group.h"
#include "compress/cuda/exchange/eden_group.h"
#include "compress/cuda/exchange/hop_group.h"
#include "compress/cuda/exchange/list_group.h"
#include "compress/cuda/exchange/sampled_selector.h"
#include "compress/cuda/exchange/shared_group.h"
#include "compress/cuda/exchange/spectrum_group.h"
#include "compress/model_exchange.h"

namespace legacy::cuda {

template <class Device>
class CodecDeviceExchange : public DeviceExchange {
 public:
  // Requires that LacksKernels() of the codec is empty.
  CodecDeviceExchange(Device device, const CodecScheme& scheme, std::span<const Unit> units,
                      int workers);

  void Begin(const ModelStep& step) override;
  void Encode(int worker, const float* gradient) override;
  void Finish(float* mean) override;

  std::vector<SentCall> Calls(int unit) const override;
  int64_t ElementsSent(int unit) const override { return StepOf(unit).ElementsSent(Values(unit)); }
  Bytes CopyMessage(int unit, int worker) const override {
    const Member& member = members_[unit];
    return member.group->CopyMessage(member.number, SlotOf(worker));
  }
  void RescaleResiduals(float factor) override {
    for (const auto& residual : residuals_) on_.Scale(residual.data(), factor, residual.size());
  }
  std::vector<float> CopyResidual(int unit, int worker) const override {
    if (MemoryOf(memory_, whole_[unit]).kind == MemoryKind::kNone) return {};
    return Download(residuals_[worker], unit);
  }
  std::vector<float> ErrorFed(int unit, int worker, std::span<const float> gradient) const override;

 private:
  // A unit's group, and its number in the group.
  struct Member {
    MessageGroup<Device>* group = nullptr;
    int number = 0;
  };

  // Returns the unit's part of a flat array.
  std::vector<float> Download(const DeviceArray<Device, float>& flat, int unit) const {
    return flat.Download(on_.device(), units_[unit].offset, units_[unit].numel);
  }
  void MakeGroups();
  void AddGroup(std::unique_ptr<MessageGroup<Device>> group, const std::vector<int>& units);
  std::unique_ptr<MessageGroup<Device>> SelectedGroup(const PlannedUnits& planned);
  std::unique_ptr<Selector<Device>> MakeSelector(const std::vector<GroupUnit>& units);
  bool SumsFirst() const;

  CodecStep StepOf(int unit) const {
    return {.codec = whole_[unit] ? DenseCodec() : *codecs_[unit],
            .unit = units_[unit],
            .parameter = parameters_[unit],
            .active_workers = static_cast<int>(active_workers_.size()),
            .summing = whole_[unit] ? Summing::kPlain : summing_,
            .slice = slice_,
            .workers = workers_,
            .memory = MemoryOf(memory_, whole_[unit])};
  }
  // Returns the number of values in all messages together, if lengths are sent.
  std::optional<int64_t> Values(int unit) const;
  int SlotOf(int worker) const {
    const auto found = std::ranges::find(active_workers_, worker);
    assert(found != active_workers_.end());
    return static_cast<int>(found - active_workers_.begin());
  }

  mutable Operations<Device> on_;  // mutable, because downloads queue work, too
  std::shared_ptr<const Codec> codec_;
  std::vector<std::shared_ptr<const Codec>> codecs_;  // of each unit (Codec::ForUnit)
  MemoryOptions memory_;
  Summing summing_;
  int64_t slice_;
  std::vector<Unit> units_;
  int workers_;
  CodecPlanner planner_;
  std::vector<bool> whole_;  // units that are sent uncompressed
  int64_t numel_ = 0;        // elements of the flat gradient
  // Flat residuals and velocities of each worker; empty if the scheme keeps none.
  std::vector<DeviceArray<Device, float>> residuals_, velocity_;
  DeviceSegments<Device> all_;  // all units

  std::vector<double> parameters_;  // parameters of the step, and of the present groups
  Faults<Device> faults_;
  std::vector<std::unique_ptr<MessageGroup<Device>>> groups_;
  std::vector<Member> members_;
  std::vector<int> active_workers_;
  int encoded_ = 0;
};

template <class Device>
CodecDeviceExchange<Device>::CodecDeviceExchange(Device device, const CodecScheme& scheme,
                                                 std::span<const Unit> units, int workers)
    : on_(std::move(device)),
      codec_(scheme.codec()),
      memory_(scheme.options().memory),
      summing_(scheme.options().summing),
      slice_(scheme.options().slice),
      units_(units.begin(), units.end()),
      workers_(workers),
      planner_(*codec_, memory_, summing_),
      faults_(workers) {
  std::vector<Extent> extents;
  for (const Unit& unit : units_) {
    CheckExchange(unit, workers);
    std::shared_ptr<const Codec> own = codec_->ForUnit(unit);
    codecs_.push_back(own ? std::move(own) : codec_);
    whole_.push_back(!scheme.Compresses(unit, codec_->Parameter().fallback));
    extents.push_back({unit.offset, unit.numel});
    numel_ = std::max(numel_, unit.offset + unit.numel);
  }
  all_.Set(on_.device(), SegmentTable(extents, kTile));
  const auto zeros = [&](std::vector<DeviceArray<Device, float>>& arrays) {
    for (int w = 0; w < workers; ++w) arrays.emplace_back(numel_).Clear(on_.device());
  };
  if (memory_.kind != MemoryKind::kNone) zeros(residuals_);
  if (memory_.kind == MemoryKind::kMomentum) zeros(velocity_);
}

template <class Device>
void CodecDeviceExchange<Device>::Begin(const ModelStep& step) {
  RefuseCandidates(step);
  assert(step.parameters.size() == units_.size());
  for (size_t u = 0; u < units_.size(); ++u) {
    const bool feedback = !whole_[u] && memory_.kind != MemoryKind::kNone;
    CheckCodecStep(*codec_, step.parameters[u], feedback);
  }
  active_workers_ = step.info.ActiveWorkers(workers_);
  if (groups_.empty() || !std::ranges::equal(parameters_, step.parameters)) {
    parameters_.assign(step.parameters.begin(), step.parameters.end());
    MakeGroups();
  }
  encoded_ = 0;
  faults_.Begin(on_.device());
  const RandomKey key = {.seed = step.info.seed, .step = static_cast<uint64_t>(step.info.step)};
  for (const auto& group : groups_) group->Begin(key);
}

template <class Device>
void CodecDeviceExchange<Device>::Encode(int worker, const float* gradient) {
  assert(worker == active_workers_[encoded_]);
  SenderArrays sender = {
      .worker = static_cast<uint32_t>(worker), .slot = encoded_++, .gradient = gradient};
  if (memory_.kind != MemoryKind::kNone) sender.residual = residuals_[worker].data();
  if (memory_.kind == MemoryKind::kMomentum) {
    float* const velocity = velocity_[worker].data();
    on_.AccumulateMomentum(
        all_, {.gradient = gradient, .velocity = velocity, .residual = sender.residual},
        memory_.Momentum());
    if (memory_.masking) sender.velocity = velocity;
    sender.added = true;
  } else if (sender.residual && SumsFirst()) {
    on_.Add(gradient, sender.residual, numel_);
    sender.added = true;
  }
  for (const auto& group : groups_) group->Encode(sender);
}

template <class Device>
std::vector<float> CodecDeviceExchange<Device>::ErrorFed(int unit, int worker,
                                                         std::span<const float> gradient) const {
  const MemoryOptions memory = MemoryOf(memory_, whole_[unit]);
  std::vector<float> velocity;
  if (memory.kind == MemoryKind::kMomentum) velocity = Download(velocity_[worker], unit);
  return legacy::ErrorFed(memory, gradient, CopyResidual(unit, worker), velocity);
}

template <class Device>
void CodecDeviceExchange<Device>::Finish(float* mean) {
  assert(encoded_ == std::ssize(active_workers_));
  for (const auto& group : groups_) {
    group->Decode(encoded_, static_cast<float>(active_workers_.size()), mean);
  }
  faults_.Check(on_.device(), active_workers_);
}

template <class Device>
std::vector<SentCall> CodecDeviceExchange<Device>::Calls(int unit) const {
  const CodecStep step = StepOf(unit);
  const Member& member = members_[unit];
  std::vector<SentCall> calls;
  std::vector<int64_t> bytes(workers_);
  if (step.SendsLengths()) {
    for (const int worker : active_workers_) bytes[worker] = sizeof(uint32_t);
    calls.push_back({step.Lengths(), bytes});
  }
  for (size_t slot = 0; slot < active_workers_.size(); ++slot) {
    bytes[active_workers_[slot]] =
        member.group->MessageBytes(member.number, static_cast<int>(slot));
  }
  calls.push_back({step.Messages(Values(unit)), bytes});
  return calls;
}

template <class Device>
std::optional<int64_t> CodecDeviceExchange<Device>::Values(int unit) const {
  if (!StepOf(unit).SendsLengths()) return std::nullopt;
  const Member& member = members_[unit];
  int64_t values = 0;
  for (size_t slot = 0; slot < active_workers_.size(); ++slot) {
    values += member.group->Count(member.number, static_cast<int>(slot));
  }
  return values;
}

template <class Device>
void CodecDeviceExchange<Device>::MakeGroups() {
  groups_.clear();
  faults_.Reset();
  members_.assign(units_.size(), {});
  const CodecPlan plan = planner_.Plan(units_, whole_, parameters_);
  for (const auto& [format, planned] : plan.whole) {
    std::unique_ptr<MessageGroup<Device>> group;
    if (format.hops) {
      group = std::make_unique<HopGroup<Device>>(on_, faults_, format, planned.units, workers_);
    } else {
      group = std::make_unique<WholeGroup<Device>>(on_, faults_, format, planned.units, workers_);
    }
    AddGroup(std::move(group), planned.numbers);
  }
  if (plan.selected.units.empty()) return;
  AddGroup(SelectedGroup(plan.selected), plan.selected.numbers);
}

template <class Device>
void CodecDeviceExchange<Device>::AddGroup(std::unique_ptr<MessageGroup<Device>> group,
                                           const std::vector<int>& units) {
  for (size_t i = 0; i < units.size(); ++i) {
    members_[units[i]] = {group.get(), static_cast<int>(i)};
  }
  groups_.push_back(std::move(group));
}

template <class Device>
std::unique_ptr<MessageGroup<Device>> CodecDeviceExchange<Device>::SelectedGroup(
    const PlannedUnits& planned) {
  const std::vector<GroupUnit>& units = planned.units;
  if (const FftCodec* fft = planner_.fft()) {
    return std::make_unique<SpectrumGroup<Device>>(on_, faults_, *fft, planner_.Selected(), units,
                                                   workers_);
  }
  if (const EdenCodec* eden = planner_.eden()) {
    const bool feedback = memory_.kind != MemoryKind::kNone;
    return std::make_unique<EdenGroup<Device>>(on_, faults_, *eden, feedback, units, workers_);
  }
  if (planner_.dct() != nullptr) {
    std::vector<const DctCodec*> codecs;
    for (const int unit : planned.numbers) {
      codecs.push_back(dynamic_cast<const DctCodec*>(codecs_[unit].get()));
    }
    return std::make_unique<DctGroup<Device>>(on_, faults_, codecs, units, workers_);
  }
  const SparseCodec& sparse = *planner_.sparse();
  const ValueType type = sparse.quantiser().Type();
  if (sparse.sparsifier().Traits().shared_support) {
    const SharedFormat format = {type, planner_.Selected(),
                                 sparse.sparsifier().Setting()->unbiased};
    return std::make_unique<SharedGroup<Device>>(on_, faults_, format, units, workers_);
  }
  const ListFormat format = {sparse.sparsifier().Id(), type, planner_.Selected(), sparse.index()};
  return std::make_unique<ListGroup<Device>>(on_, faults_, format, MakeSelector(units), units,
                                             workers_);
}

template <class Device>
std::unique_ptr<Selector<Device>> CodecDeviceExchange<Device>::MakeSelector(
    const std::vector<GroupUnit>& units) {
  const SparsifierSetting setting = *planner_.sparse()->sparsifier().Setting();
  switch (setting.kind) {
    case SparsifierKind::kTopK:
      return std::make_unique<TopKSelector<Device>>(on_, faults_, units);
    case SparsifierKind::kRandomK:
      return std::make_unique<RandomSelector<Device>>(on_, faults_, units, setting.unbiased);
    case SparsifierKind::kThreshold:
      return std::make_unique<ThresholdSelector<Device>>(on_, faults_, units);
    case SparsifierKind::kSampled:
      return std::make_unique<SampledSelector<Device>>(on_, faults_, units, setting.sample);
  }
  return nullptr;
}

// Returns true if the gradient must be added to the residual before selection. Other selectors add
// it themselves.
template <class Device>
bool CodecDeviceExchange<Device>::SumsFirst() const {
  if (planner_.fft() || planner_.eden() || planner_.dct() || HopOrderOf(summing_)) return true;
  if (planner_.sparse() == nullptr) return false;
  const SparsifierKind kind = planner_.sparse()->sparsifier().Setting()->kind;
  return kind == SparsifierKind::kRandomK || kind == SparsifierKind::kSampled;
}

}  // namespace legacy::cuda
