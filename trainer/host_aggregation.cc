#include "trainer/host_aggregation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace legacy {

HostAggregation::HostAggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers,
                                 WorkerPool& pool)
    : Aggregation(std::move(plan), policy, workers),
      scheme_(scheme),
      pool_(pool),
      units_(plan_.units.size()) {
  for (size_t u = 0; u < units_.size(); ++u) {
    units_[u].exchange = scheme.Open(plan_.units[u], workers);
    units_[u].messages.resize(static_cast<size_t>(workers));
  }
}

void HostAggregation::Begin(uint64_t seed, const StepInfo& step,
                            std::span<const int> active_workers) {
  Decide(step, active_workers);
  for (size_t u = 0; u < units_.size(); ++u) {
    StepContext context{.seed = seed,
                        .step = step.step,
                        .parameter = books_[u].parameter,
                        .active_workers = {active_workers.begin(), active_workers.end()},
                        .candidates = {},
                        .estimate = policy_.EstimatesCandidates(),
                        .link = step.link};
    if (Measured(u)) context.candidates = candidates_;
    units_[u].exchange->Begin(context);
    if (!Measured(u)) OpenCall(u);
  }
  probes_.assign(candidates_.empty() ? 0 : static_cast<size_t>(workers_),
                 std::vector<Probe>(units_.size()));
}

// Whether the unit's parameter is chosen within the step.
bool HostAggregation::Measured(size_t u) const {
  return !candidates_.empty() && scheme_.Compresses(plan_.units[u], books_[u].parameter);
}

void HostAggregation::AddGradient(int worker, std::span<const float> gradient) {
  const bool shown = IsShown(worker);
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    const Unit& place = plan_.units[u];
    const auto part = gradient.subspan(place.offset, place.numel);
    if (shown) policy_.OnLocalGradient(u, part, unit.exchange->Residual(worker));
    if (Measured(u)) {
      probes_[worker][u] = unit.exchange->Measure(worker, part);
    } else if (unit.open) {
      unit.messages[worker] = unit.exchange->Encode(worker, part);
    }
  }
}

void HostAggregation::Agree(const MessageHook& hook) {
  if (candidates_.empty()) return;
  RunPolicyCall(PolicyMoment::kAgreement, probes_, hook);
  const size_t chosen = policy_.Chosen();
  for (size_t u = 0; u < units_.size(); ++u) {
    if (!Measured(u)) continue;
    books_[u].parameter = candidates_.at(chosen);
    units_[u].exchange->Choose(chosen);
    OpenCall(u);
  }
  pool_.ForEach(static_cast<int64_t>(active_workers_.size()), [&](int64_t i, int) {
    const int worker = active_workers_[i];
    for (size_t u = 0; u < units_.size(); ++u) {
      UnitState& unit = units_[u];
      if (Measured(u) && unit.open) unit.messages[worker] = unit.exchange->Encode(worker, {});
    }
  });
}

void HostAggregation::Finish(std::span<float> mean, const MessageHook& hook) {
  Agree(hook);
  while (AnyOpen()) {
    CountBytes();
    if (hook) CallHook(hook);
    // Units share nothing, so they are taken in side by side; within a unit, workers go in order.
    pool_.ForEach(static_cast<int64_t>(units_.size()), [&](int64_t u, int) { Accumulate(u); });
    EncodeLaterCall();
  }
  pool_.ForEach(static_cast<int64_t>(units_.size()), [&](int64_t u, int) {
    const Unit& place = plan_.units[u];
    units_[u].exchange->Mean(mean.subspan(place.offset, place.numel));
    books_[u].elements = units_[u].exchange->ElementsSent();
  });
  RunPolicyCall(PolicyMoment::kAnnouncement, {}, hook);
}

void HostAggregation::RescaleResiduals(float factor) {
  for (UnitState& unit : units_) unit.exchange->RescaleResiduals(factor);
}

void HostAggregation::OpenCall(size_t u) {
  const std::optional<CollectiveCall> call = units_[u].exchange->NextCall();
  units_[u].open = call.has_value();
  if (call) books_[u].calls.push_back(WorkOf(*call, workers_));
}

void HostAggregation::CountBytes() {
  for (size_t u = 0; u < units_.size(); ++u) {
    if (!units_[u].open) continue;
    for (const int w : active_workers_) {
      books_[u].calls.back().bytes[w] = units_[u].messages[w].size();
    }
  }
}

void HostAggregation::CallHook(const MessageHook& hook) {
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    if (!unit.open) continue;
    const int call = static_cast<int>(books_[u].calls.size()) - 1;
    for (const int w : active_workers_) {
      hook({step_, static_cast<int>(u), call, w}, unit.messages[w].bytes);
    }
  }
}

void HostAggregation::Accumulate(int u) {
  UnitState& unit = units_[u];
  if (!unit.open) return;
  for (const int w : active_workers_) {
    try {
      unit.exchange->Accumulate(w, unit.messages[w].bytes);
    } catch (const Error& error) {
      throw Error("step " + std::to_string(step_) + ", worker " + std::to_string(w) + ", unit '" +
                  plan_.units[u].name + "': " + error.what());
    }
    unit.messages[w] = {};
  }
  unit.exchange->FinishCall();
  OpenCall(u);
}

void HostAggregation::EncodeLaterCall() {
  if (!AnyOpen()) return;
  pool_.ForEach(static_cast<int64_t>(active_workers_.size()), [&](int64_t i, int) {
    const int worker = active_workers_[i];
    for (UnitState& unit : units_) {
      if (unit.open) unit.messages[worker] = unit.exchange->Encode(worker, {});
    }
  });
}

bool HostAggregation::AnyOpen() const {
  return std::any_of(units_.begin(), units_.end(), [](const UnitState& unit) { return unit.open; });
}

}  // namespace legacy
