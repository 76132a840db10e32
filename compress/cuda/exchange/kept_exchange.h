// The common part of exchanges that need all workers' gradients at once, because what a worker
// sends depends on what others have sent. The e of every worker is kept in one array:
//
//   Encode    e = r + g, or a copy of g; and what a scheme measures of it
//   Finish    all calls, for all workers in the same launches
//
// A worker's e is at its number times `stride()`, units at their offsets.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/faults.h"
#include "compress/cuda/exchange/message_group.h"
#include "compress/cuda/exchange/operations.h"
#include "compress/model_exchange.h"
#include "compress/schemes/exchange_base.h"

namespace legacy::cuda {

template <class Device>
class KeptExchange : public DeviceExchange {
 public:
  void Begin(const ModelStep& step) override;
  void Encode(int worker, const float* gradient) override;
  void Finish(float* mean) override {
    assert(encoded_ == ActiveWorkers());
    RunCalls(mean);
    faults_.Check(on_.device(), active_);
  }

  void RescaleResiduals(float factor) override {
    if (Keeps()) on_.Scale(values_.data(), factor, values_.size());
  }
  std::vector<float> CopyResidual(int unit, int worker) const override {
    if (!Keeps()) return {};
    return values_.Download(on_.device(), worker * stride_ + units_[unit].offset,
                            units_[unit].numel);
  }
  std::vector<float> ErrorFed(int unit, int worker,
                              std::span<const float> gradient) const override {
    return legacy::ErrorFed(memory_, gradient, CopyResidual(unit, worker));
  }

 protected:
  // `memory` has a residual or none.
  KeptExchange(Device device, std::span<const Unit> units, int workers,
               const MemoryOptions& memory);

  // Prepares a step, whose active workers and faults are set.
  virtual void Prepare(const ModelStep& step) = 0;
  // Measures e of the worker of a slot.
  virtual void Measure([[maybe_unused]] int slot, [[maybe_unused]] float* values) {}
  // Runs all calls and writes the mean.
  virtual void RunCalls(float* mean) = 0;

  Operations<Device>& on() const { return on_; }
  Faults<Device>& faults() { return faults_; }
  const std::vector<Unit>& units() const { return units_; }
  int workers() const { return workers_; }
  bool Keeps() const { return memory_.kind != MemoryKind::kNone; }
  int ActiveWorkers() const { return static_cast<int>(active_.size()); }
  const std::vector<int>& active() const { return active_; }
  const int32_t* active_memory() const { return active_memory_.data(); }
  int64_t numel() const { return numel_; }  // of the flat gradient
  int64_t stride() const { return stride_; }
  float* values() const { return values_.data(); }
  // Returns the slot of the worker that encodes now.
  int NextSlot([[maybe_unused]] int worker) {
    assert(worker == active_[encoded_]);
    return encoded_++;
  }
  int SlotOf(int worker) const {
    const auto found = std::ranges::find(active_, worker);
    assert(found != active_.end());
    return static_cast<int>(found - active_.begin());
  }
  std::vector<Extent> Extents() const {
    std::vector<Extent> extents;
    for (const Unit& unit : units_) extents.push_back({unit.offset, unit.numel});
    return extents;
  }
  std::vector<uint32_t> Ids() const {
    std::vector<uint32_t> ids;
    for (const Unit& unit : units_) ids.push_back(unit.id);
    return ids;
  }
  // Uploads made(key) of the keys of all units of each of the workers.
  template <class Key, class Made>
  void UploadKeys(const ModelStep& step, std::span<const int> workers, Made made,
                  DeviceArray<Device, Key>& keys) {
    std::vector<Key> all;
    const RandomKey of_step = {.seed = step.info.seed,
                               .step = static_cast<uint64_t>(step.info.step)};
    for (const int worker : workers) {
      for (const Unit& unit : units_) {
        all.push_back(made(KeyOf(of_step, static_cast<uint32_t>(worker), unit.id, {})));
      }
    }
    keys.Upload(on_.device(), all);
  }

 private:
  mutable Operations<Device> on_;  // mutable, because downloads queue work, too
  Faults<Device> faults_;
  std::vector<Unit> units_;
  int workers_;
  MemoryOptions memory_;
  int64_t numel_ = 0;   // elements of the flat gradient
  int64_t stride_ = 0;  // of a worker's part of `values_`
  DeviceArray<Device, float> values_;
  std::vector<int> active_;
  DeviceArray<Device, int32_t> active_memory_;
  int encoded_ = 0;
};

template <class Device>
KeptExchange<Device>::KeptExchange(Device device, std::span<const Unit> units, int workers,
                                   const MemoryOptions& memory)
    : on_(std::move(device)),
      faults_(workers),
      units_(units.begin(), units.end()),
      workers_(workers),
      memory_(memory) {
  for (const Unit& unit : units_) {
    CheckExchange(unit, workers);
    numel_ = std::max(numel_, unit.offset + unit.numel);
  }
  constexpr int64_t kAligned = 64;
  stride_ = RoundedUp(numel_, kAligned);
  values_ = DeviceArray<Device, float>(workers * stride_);
  values_.Clear(on_.device());
}

template <class Device>
void KeptExchange<Device>::Begin(const ModelStep& step) {
  RefuseCandidates(step);
  assert(step.parameters.size() == units_.size());
  const std::vector<int> active = step.info.ActiveWorkers(workers_);
  if (active != active_) {
    active_ = active;
    active_memory_.Upload(on_.device(), std::vector<int32_t>(active.begin(), active.end()));
  }
  encoded_ = 0;
  Prepare(step);
  faults_.Begin(on_.device());
}

template <class Device>
void KeptExchange<Device>::Encode(int worker, const float* gradient) {
  float* const values = values_.data() + worker * stride_;
  const int slot = NextSlot(worker);
  if (Keeps()) {
    on_.Add(gradient, values, numel_);
  } else {
    on_.Copy(gradient, values, numel_);
  }
  Measure(slot, values);
}

}  // namespace legacy::cuda
