// The exchange of PowerSGD (schemes/matrices/powersgd_exchange.h) for all units of a model on a
// device; see powersgd.h.
//
//   Encode    M = g + r                             one launch a worker
//   Finish    P_w = M_w Q  for all workers          a call of BLAS for each shape of matrix
//             P = mean, made orthonormal            two launches
//             Q_w = M_w^T P                         a call for each shape
//             Q = mean;  mean = P Q^T, r = M - mean;
//             lengths of Q to about one             three launches
//
// P_w and Q_w are written directly to the messages, after their headers, which are written when the
// ranks change. Faults and zero vectors are read once, at the end.
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compress/cuda/device/device_array.h"
#include "compress/cuda/device/host_device.h"
#include "compress/cuda/kernels/transforms/powersgd_kernels.h"
#include "compress/cuda/kernels/vector_kernels.h"
#include "compress/model_exchange.h"
#include "compress/schemes/exchange_base.h"

namespace legacy::cuda {

template <class Device, class Products>
class PowerSgdDeviceExchange : public DeviceExchange {
 public:
  PowerSgdDeviceExchange(Device device, Products products, const PowerSgdScheme& scheme,
                         std::span<const Unit> units, int workers)
      : device_(std::move(device)),
        products_(std::move(products)),
        scheme_(scheme),
        units_(units.begin(), units.end()),
        workers_(workers),
        layout_(scheme_, units_),
        residuals_(layout_.residual_size() * workers),
        bases_(units_.size()) {
    for (const Unit& unit : units_) CheckExchange(unit, workers);
    for (const FactorCall call : {kLeft, kRight}) {
      factors_[call] = DeviceArray<Device, float>(layout_.size(call));
    }
    residuals_.Clear(device_);
  }

  void Begin(const ModelStep& step) override;
  void Encode(int worker, const float* gradient) override;
  void Finish(float* mean) override;

  std::vector<SentCall> Calls(int unit) const override;
  int64_t ElementsSent(int unit) const override {
    return scheme_.ElementsSent(units_[unit], parameters_[unit]);
  }
  Bytes CopyMessage(int unit, int worker) const override;
  void RescaleResiduals(float factor) override {
    LaunchMap(device_, ScaleRule{factor}, residuals_.data(), residuals_.data(), residuals_.size());
  }
  std::vector<float> CopyResidual(int unit, int worker) const override;
  std::vector<float> ErrorFed(int unit, int worker,
                              std::span<const float> gradient) const override {
    return legacy::ErrorFed(scheme_.MemoryOf(units_[unit]), gradient, CopyResidual(unit, worker));
  }

 private:
  template <class T>
  using Array = DeviceArray<Device, T>;

  // The state of a unit's basis.
  struct KnownBasis {
    int64_t vectors = 0;     // number of vectors that exist
    std::vector<bool> dead;  // vectors that are zero and will be drawn again
  };
  // Flags of a step, in device memory, initially 0: one for each unit of each worker, for each
  // vector of the factors, and for each unit's mean.
  struct Flags {
    uint32_t* gradients;
    uint32_t* factors[kCalls];
    uint32_t* means;
  };

  void LayOut(const std::vector<int64_t>& vectors);
  void SetActiveWorkers(const std::vector<int>& active_workers);
  void PrepareBases(const ModelStep& step);
  void MeanOf(FactorCall call);
  void ReadFlags();
  void CheckGradients(std::span<const uint32_t> faults) const;
  void CheckFactors(std::span<const uint32_t> largest) const;
  void KeepBases(std::span<const uint32_t> largest);

  [[noreturn]] static void ThrowNotFinite(const std::string& what, const Unit& unit,
                                          const char* part, int64_t number) {
    throw Error(what + ", unit " + std::to_string(unit.id) + part + std::to_string(number),
                "NaN or infinity", "finite numbers");
  }
  int64_t units() const { return std::ssize(units_); }
  bool TakesPart(int worker) const { return std::ranges::count(active_workers_, worker) > 0; }
  Flags FlagsIn(uint32_t* memory) const {
    uint32_t* const left = memory + units() * workers_;
    uint32_t* const right = left + table_->vectors();
    return {memory, {left, right}, right + table_->vectors()};
  }
  int64_t FlagCount() const { return units() * (workers_ + 1) + kCalls * table_->vectors(); }
  LowRankWorkers Workers() const {
    return {.residual = residuals_.data(),
            .residual_stride = layout_.residual_size(),
            .messages = {messages_[kLeft].data(), messages_[kRight].data()},
            .message_strides = {table_->message_floats(kLeft), table_->message_floats(kRight)},
            .active_workers = Image::At(pointers_memory_.data(), active_workers_slot_),
            .count = static_cast<int32_t>(active_workers_.size())};
  }
  ProductArrays ArraysOf(FactorCall call) const {
    const void* const memory = pointers_memory_.data();
    return {Image::At(memory, matrices_slot_), Image::At(memory, vectors_slots_[call]),
            Image::At(memory, products_slots_[call])};
  }

  Device device_;
  Products products_;
  PowerSgdScheme scheme_;
  std::vector<Unit> units_;
  int workers_;
  LowRankLayout layout_;
  Array<float> residuals_;         // residuals r of all workers; within a step, M
  Array<float> factors_[kCalls];   // P and Q of the step; Q is the next step's basis
  Array<float> messages_[kCalls];  // messages of all workers
  Array<double> work_;
  Array<uint32_t> flags_;
  std::vector<KnownBasis> bases_;

  // State of the step.
  std::vector<double> parameters_;
  std::vector<int64_t> vectors_;
  std::vector<int> active_workers_;
  DeviceTable<Device, LowRankTable> table_;
  std::vector<MatrixGroup> groups_;  // matrices of the active workers
  Array<std::byte> pointers_memory_;
  Image::Slot<int32_t> active_workers_slot_;
  Image::Slot<const float*> matrices_slot_, vectors_slots_[kCalls];
  Image::Slot<float*> products_slots_[kCalls];
};

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::Begin(const ModelStep& step) {
  RefuseCandidates(step);
  assert(std::ssize(step.parameters) == units());
  std::vector<int64_t> vectors;
  for (size_t u = 0; u < units_.size(); ++u) {
    CheckParameter(scheme_.Parameter(), step.parameters[u]);
    vectors.push_back(scheme_.Vectors(units_[u], step.parameters[u]));
  }
  const std::vector<int> active_workers = step.info.ActiveWorkers(workers_);
  parameters_.assign(step.parameters.begin(), step.parameters.end());
  const bool changed = !table_.is_set() || vectors != vectors_;
  if (changed) LayOut(vectors);
  if (changed || active_workers != active_workers_) SetActiveWorkers(active_workers);
  PrepareBases(step);
  flags_.Clear(device_);
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::LayOut(const std::vector<int64_t>& vectors) {
  vectors_ = vectors;
  table_.Set(device_, LowRankTable(layout_, units_, vectors_));
  for (const FactorCall call : {kLeft, kRight}) {
    messages_[call].Reserve(table_->message_floats(call) * workers_);
  }
  work_.Reserve(table_->work());
  flags_.Reserve(FlagCount());
  const int64_t all = units() * workers_;
  device_.template Launch<WriteHeaders>(TilesOf(all, WriteHeaders::kThreads),
                                        {table_.view().units, units(), Workers(), all});
}

// Collects pointers to the operands: for each group its units, and for each unit the active
// workers.
template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::SetActiveWorkers(
    const std::vector<int>& active_workers) {
  active_workers_ = active_workers;
  std::vector<const float*> matrices, vectors[kCalls];
  std::vector<float*> products[kCalls];
  for (const int32_t u : table_->order()) {
    const LowRankUnit& unit = table_->units()[u];
    for (const int w : active_workers_) {
      matrices.push_back(residuals_.data() + w * layout_.residual_size() +
                         layout_.residuals()[u].offset);
      for (const FactorCall call : {kLeft, kRight}) {
        const FactorCall other = call == kLeft ? kRight : kLeft;
        vectors[call].push_back(factors_[other].data() + unit.factors[other]);
        products[call].push_back(messages_[call].data() + w * table_->message_floats(call) +
                                 unit.messages[call] + kHeaderFloats);
      }
    }
  }
  groups_ = table_->groups();
  for (MatrixGroup& group : groups_) {
    group.first *= std::ssize(active_workers_);
    group.count *= std::ssize(active_workers_);
  }
  Image image;
  active_workers_slot_ =
      image.Add(std::vector<int32_t>(active_workers_.begin(), active_workers_.end()));
  matrices_slot_ = image.Add(matrices);
  for (const FactorCall call : {kLeft, kRight}) {
    vectors_slots_[call] = image.Add(vectors[call]);
    products_slots_[call] = image.Add(products[call]);
  }
  pointers_memory_.Upload(device_, image.bytes());
}

// Prepares Q of the first collective call: the result of the last step, with new vectors where
// there are none.
template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::PrepareBases(const ModelStep& step) {
  for (size_t u = 0; u < units_.size(); ++u) {
    if (vectors_[u] == 0) continue;
    KnownBasis& basis = bases_[u];
    if (!scheme_.options().warm_start) basis.vectors = 0;
    const LowRankUnit& unit = table_->units()[u];
    const RandomKey key = {.seed = step.info.seed,
                           .step = static_cast<uint64_t>(step.info.step),
                           .layer = units_[u].id};
    std::vector<float> drawn;
    for (int64_t c = 0; c < vectors_[u]; ++c) {
      if (c < basis.vectors && !basis.dead[c]) continue;
      drawn.resize(unit.columns);
      DrawVector(key, c, drawn);
      device_.Upload(factors_[kRight].data() + unit.factors[kRight] + c * unit.columns,
                     drawn.data(), drawn.size() * sizeof(float));
    }
    basis.vectors = vectors_[u];
    basis.dead.assign(vectors_[u], false);
  }
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::Encode(int worker, const float* gradient) {
  assert(TakesPart(worker));
  const LowRankView view = table_.view();
  device_.template Launch<Compensate>(
      table_->residual_tiles(),
      {view.residual, view.units, gradient, residuals_.data() + worker * layout_.residual_size(),
       messages_[kLeft].data() + worker * table_->message_floats(kLeft),
       FlagsIn(flags_.data()).gradients + worker * units()});
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::MeanOf(FactorCall call) {
  const LowRankWorkers workers = Workers();
  device_.template Launch<MeanFactors>(
      table_->vector_tiles(call),
      {table_.view().factors[call], workers.messages[call], workers.message_strides[call],
       workers.active_workers, workers.count, factors_[call].data(),
       FlagsIn(flags_.data()).factors[call]});
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::Finish(float* mean) {
  const LowRankView view = table_.view();
  const Flags flags = FlagsIn(flags_.data());
  products_.Left(device_, groups_, ArraysOf(kLeft));
  MeanOf(kLeft);
  LaunchOrthonormalise(device_, view.bases, std::ssize(table_->bases()), factors_[kLeft].data(),
                       work_.data());
  products_.Right(device_, groups_, ArraysOf(kRight));
  MeanOf(kRight);
  device_.template Launch<Reconstruct>(
      table_->residual_tiles(), {view.residual, view.units, Workers(), factors_[kLeft].data(),
                                 factors_[kRight].data(), mean, flags.means});
  device_.template Launch<ScaleFactors>(
      table_->vector_tiles(kRight),
      {view.factors[kRight].vectors, flags.factors[kRight], factors_[kRight].data()});
  ReadFlags();
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::ReadFlags() {
  std::vector<uint32_t> words = flags_.Download(device_, 0, FlagCount());
  const Flags flags = FlagsIn(words.data());
  CheckGradients({flags.gradients, flags.factors[kLeft]});
  for (const FactorCall call : {kLeft, kRight}) {
    CheckFactors({flags.factors[call], static_cast<size_t>(table_->vectors())});
  }
  for (int64_t u = 0; u < units(); ++u) {
    if (flags.means[u] == 0) continue;
    ThrowNotFinite("mean gradient", units_[u], ", element ", FaultAt(flags.means[u]));
  }
  KeepBases({flags.factors[kRight], static_cast<size_t>(table_->vectors())});
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::CheckGradients(
    std::span<const uint32_t> faults) const {
  for (size_t i = 0; i < faults.size(); ++i) {
    if (faults[i] == 0) continue;
    ThrowNotFinite("gradient of worker " + std::to_string(i / units_.size()),
                   units_[i % units_.size()], ", element ", FaultAt(faults[i]));
  }
}

// Checks the means, because sums may overflow.
template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::CheckFactors(
    std::span<const uint32_t> largest) const {
  size_t at = 0;
  for (size_t u = 0; u < units_.size(); ++u) {
    for (int64_t c = 0; c < vectors_[u]; ++c) {
      if (largest[at++] < cpu::kInfinityKey) continue;
      ThrowNotFinite("mean factor", units_[u], ", vector ", c);
    }
  }
}

template <class Device, class Products>
void PowerSgdDeviceExchange<Device, Products>::KeepBases(std::span<const uint32_t> largest) {
  size_t at = 0;
  for (size_t u = 0; u < units_.size(); ++u) {
    for (int64_t c = 0; c < vectors_[u]; ++c) bases_[u].dead[c] = largest[at++] == 0;
  }
}

template <class Device, class Products>
std::vector<SentCall> PowerSgdDeviceExchange<Device, Products>::Calls(int unit) const {
  std::vector<SentCall> sent;
  for (CollectiveCall& call : scheme_.Calls(units_[unit], parameters_[unit])) {
    const uint32_t count = table_->units()[unit].headers[sent.size()][3];
    std::vector<int64_t> bytes(workers_);
    for (const int w : active_workers_) bytes[w] = kHeaderBytes + int64_t{sizeof(float)} * count;
    sent.push_back({std::move(call), std::move(bytes)});
  }
  return sent;
}

template <class Device, class Products>
Bytes PowerSgdDeviceExchange<Device, Products>::CopyMessage(int unit, int worker) const {
  if (!TakesPart(worker)) return {};
  const FactorCall call = vectors_[unit] > 0 ? kRight : kLeft;
  const LowRankUnit& offsets = table_->units()[unit];
  const int64_t count = kHeaderFloats + offsets.headers[call][3];
  Device device = device_;
  const std::vector<float> floats = messages_[call].Download(
      device, worker * table_->message_floats(call) + offsets.messages[call], count);
  const auto bytes = std::as_bytes(std::span(floats));
  return {bytes.begin(), bytes.end()};
}

template <class Device, class Products>
std::vector<float> PowerSgdDeviceExchange<Device, Products>::CopyResidual(int unit,
                                                                          int worker) const {
  if (!scheme_.KeepsResidual(units_[unit])) return {};
  Device device = device_;
  const Extent extent = layout_.residuals()[unit];
  return residuals_.Download(device, worker * layout_.residual_size() + extent.offset,
                             extent.length);
}

// Computes products on the host, by plain loops.
template <std::derived_from<HostDevice> Device>
std::unique_ptr<DeviceExchange> OpenPowerSgd(Device device, const PowerSgdScheme& scheme,
                                             std::span<const Unit> units, int workers) {
  return std::make_unique<PowerSgdDeviceExchange<Device, HostProducts>>(device, HostProducts(),
                                                                        scheme, units, workers);
}

}  // namespace legacy::cuda
