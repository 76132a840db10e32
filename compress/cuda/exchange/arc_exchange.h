// The exchange of ARC-Top-K (schemes/matrices/arc.h) for all units of a model on a device, without
// EF21. Messages, residuals and mean have the CPU's bits.
//
//   Encode    e = g + r, and units that are sent whole         a launch a worker
//   Finish    sketches; rows; messages of rows; the mean       five launches
//
// V is drawn on the host in each step, as the CPU draws it.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compress/checks.h"
#include "compress/cuda/exchange/kept_exchange.h"
#include "compress/cuda/kernels/transforms/arc_kernels.h"
#include "compress/density.h"
#include "compress/schemes/matrices/arc.h"

namespace legacy::cuda {

// Returns what a step sends of units.
inline std::vector<ArcMember> ArcMembersOf(const ArcOptions& options,
                                           const std::vector<Unit>& units,
                                           std::span<const double> densities) {
  std::vector<ArcMember> members;
  for (size_t u = 0; u < units.size(); ++u) {
    const ArcStep step{options, units[u], densities[u]};
    ArcMember& member = members.emplace_back();
    member.extent = {units[u].offset, units[u].numel};
    member.keeps = step.Memory().kind != MemoryKind::kNone;
    if (!step.Compresses()) continue;
    member.rows = step.Shape().rows;
    member.columns = step.Shape().columns;
    member.kept = step.Rows();
  }
  return members;
}

template <class Device>
class ArcDeviceExchange : public KeptExchange<Device> {
 public:
  ArcDeviceExchange(Device device, const ArcScheme& scheme, std::span<const Unit> units,
                    int workers)
      : KeptExchange<Device>(
            std::move(device), units, workers,
            {.kind = scheme.options().error_feedback ? MemoryKind::kResidual : MemoryKind::kNone}),
        options_(scheme.options()),
        non_finite_(this->faults().Add(FaultKind::kNonFinite, this->Ids())),
        overflows_(this->faults().Add(FaultKind::kSum, this->Ids())) {}

  void Encode(int worker, const float* gradient) override {
    const int slot = this->NextSlot(worker);
    this->on().FeedArc(table_, gradient, this->values() + worker * this->stride(),
                       messages_.data() + slot * table_->stride(),
                       this->faults().At(non_finite_, slot));
  }

  std::vector<SentCall> Calls(int unit) const override {
    std::vector<SentCall> sent;
    for (PlannedCall& planned : StepOf(unit).Calls()) {
      std::vector<int64_t> bytes(this->workers());
      for (const int w : this->active()) bytes[w] = planned.bytes;
      sent.push_back({std::move(planned.call), std::move(bytes)});
    }
    return sent;
  }
  int64_t ElementsSent(int unit) const override {
    const ArcStep step = StepOf(unit);
    return step.Compresses() ? step.SketchValues() + step.RowValues() : step.unit.numel;
  }
  Bytes CopyMessage(int unit, int worker) const override {
    const ArcUnit& of = table_->units()[unit];
    const int64_t begin = this->SlotOf(worker) * table_->stride() + of.message;
    return messages_.Download(this->on().device(), begin, StepOf(unit).Calls().back().bytes);
  }
  // Vectors have no residual.
  std::vector<float> CopyResidual(int unit, int worker) const override {
    if (StepOf(unit).Memory().kind == MemoryKind::kNone) return {};
    return KeptExchange<Device>::CopyResidual(unit, worker);
  }
  std::vector<float> ErrorFed(int unit, int worker,
                              std::span<const float> gradient) const override {
    return legacy::ErrorFed(StepOf(unit).Memory(), gradient, CopyResidual(unit, worker));
  }

 protected:
  void Prepare(const ModelStep& step) override {
    for (const double density : step.parameters) CheckParameter(DensityParameter(), density);
    if (!table_.is_set() || !std::ranges::equal(densities_, step.parameters)) LayOut(step);
    std::vector<float> draws;
    draws.reserve(static_cast<size_t>(table_->draws()));
    for (size_t u = 0; u < this->units().size(); ++u) {
      if (table_->units()[u].rows == 0) continue;
      const std::vector<float> own = StepOf(static_cast<int>(u))
                                         .Draws({.seed = step.info.seed,
                                                 .step = static_cast<uint64_t>(step.info.step),
                                                 .layer = this->units()[u].id});
      draws.insert(draws.end(), own.begin(), own.end());
    }
    draws_.Upload(this->on().device(), draws);
  }
  void RunCalls(float* mean) override {
    this->on().RunArc(table_,
                      {.values = this->values(),
                       .values_stride = this->stride(),
                       .active = this->active_memory(),
                       .slots = this->ActiveWorkers(),
                       .draws = draws_.data(),
                       .sketches = sketches_.data(),
                       .sketch_stride = table_->sketch(),
                       .squares = squares_.data(),
                       .ranks = ranks_.data(),
                       .positions = positions_.data(),
                       .messages = messages_.data(),
                       .stride = table_->stride(),
                       .mean = mean,
                       // Those of the last slot: faults of gradients come first.
                       .overflows = this->faults().At(overflows_, this->ActiveWorkers() - 1)});
  }

 private:
  ArcStep StepOf(int unit) const { return {options_, this->units()[unit], densities_[unit]}; }
  void LayOut(const ModelStep& step) {
    Device& device = this->on().device();
    densities_.assign(step.parameters.begin(), step.parameters.end());
    table_.Set(device, ArcTable(options_.rank, ArcMembersOf(options_, this->units(), densities_)));
    sketches_.Reserve(table_->sketch() * this->workers());
    squares_.Reserve(table_->rows());
    ranks_.Reserve(table_->rows());
    positions_.Reserve(table_->kept());
    std::vector<std::byte> bytes(static_cast<size_t>(table_->stride() * this->workers()));
    for (size_t u = 0; u < this->units().size(); ++u) {
      const Bytes header = HeaderBytesOf(static_cast<int>(u));
      for (int64_t slot = 0; slot < this->workers(); ++slot) {
        std::ranges::copy(header,
                          bytes.begin() + slot * table_->stride() + table_->units()[u].message);
      }
    }
    messages_.Upload(device, bytes);
  }
  // Returns the header of the unit's last message.
  Bytes HeaderBytesOf(int unit) const {
    const ArcStep step = StepOf(unit);
    if (step.Compresses()) return StartMessage(step.Header(false), 0).bytes;
    const auto numel = static_cast<uint32_t>(step.unit.numel);
    return StartMessage(Header{.codec = static_cast<uint8_t>(CodecId::kDense),
                               .unit = step.unit.id,
                               .numel = numel,
                               .count = numel},
                        0)
        .bytes;
  }

  ArcOptions options_;
  int non_finite_, overflows_;
  std::vector<double> densities_;
  DeviceTable<Device, ArcTable> table_;
  DeviceArray<Device, float> draws_, sketches_;
  DeviceArray<Device, double> squares_;
  DeviceArray<Device, uint32_t> ranks_, positions_;
  DeviceArray<Device, std::byte> messages_;
};

}  // namespace legacy::cuda
