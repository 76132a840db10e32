#include "trainer/aggregation.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "compress/error.h"

namespace legacy {

Aggregation::Aggregation(UnitPlan plan, const Scheme& scheme, int workers, WorkerPool& pool)
    : plan_(std::move(plan)), workers_(workers), pool_(pool), units_(plan_.units.size()) {
  for (size_t u = 0; u < units_.size(); ++u) {
    units_[u].exchange = scheme.Open(plan_.units[u], workers);
    units_[u].messages.resize(static_cast<size_t>(workers));
  }
}

void Aggregation::Begin(uint64_t seed, int64_t step, std::span<const double> parameters,
                        std::span<const int> participants) {
  step_ = step;
  participants_.assign(participants.begin(), participants.end());
  if (participants_.empty()) {
    participants_.resize(static_cast<size_t>(workers_));
    std::iota(participants_.begin(), participants_.end(), 0);
  }
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    unit.parameter = parameters[u];
    unit.rounds.clear();
    unit.exchange->Begin({.seed = seed,
                          .step = step,
                          .parameter = unit.parameter,
                          .participants = {participants.begin(), participants.end()}});
    OpenRound(unit);
  }
}

void Aggregation::Encode(int worker, std::span<const float> gradient) {
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    if (!unit.open) continue;
    const Unit& place = plan_.units[u];
    unit.messages[worker] =
        unit.exchange->Encode(worker, gradient.subspan(place.offset, place.numel));
  }
}

void Aggregation::Finish(std::span<float> mean, const MessageHook& hook) {
  while (AnyOpen()) {
    CountBytes();
    if (hook) CallHook(hook);
    // Units share nothing, so they are taken in side by side; within a unit, workers go in order.
    pool_.ForEach(static_cast<int64_t>(units_.size()), [&](int64_t u, int) { TakeIn(u); });
    EncodeLaterRound();
  }
  pool_.ForEach(static_cast<int64_t>(units_.size()), [&](int64_t u, int) {
    const Unit& place = plan_.units[u];
    units_[u].exchange->Mean(mean.subspan(place.offset, place.numel));
  });
}

void Aggregation::OpenRound(UnitState& unit) const {
  const std::optional<Round> round = unit.exchange->NextRound();
  unit.open = round.has_value();
  if (!round) return;
  RoundWork& work = unit.rounds.emplace_back();
  work.primitive = round->primitive;
  work.reduction = round->reduction;
  work.root = round->root;
  work.bytes.resize(static_cast<size_t>(workers_));
  AddWork(round->encode, work.encode);
  AddWork(round->decode, work.decode);
}

void Aggregation::CountBytes() {
  for (UnitState& unit : units_) {
    if (!unit.open) continue;
    for (const int w : participants_) unit.rounds.back().bytes[w] = unit.messages[w].size();
  }
}

void Aggregation::CallHook(const MessageHook& hook) {
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    if (!unit.open) continue;
    const int round = static_cast<int>(unit.rounds.size()) - 1;
    for (const int w : participants_) {
      hook({step_, static_cast<int>(u), round, w}, unit.messages[w].bytes);
    }
  }
}

void Aggregation::TakeIn(int u) {
  UnitState& unit = units_[u];
  if (!unit.open) return;
  for (const int w : participants_) {
    try {
      unit.exchange->Accumulate(w, unit.messages[w].bytes);
    } catch (const Error& error) {
      throw Error("step " + std::to_string(step_) + ", worker " + std::to_string(w) + ", unit '" +
                  plan_.units[u].name + "': " + error.what());
    }
    unit.messages[w] = {};
  }
  unit.exchange->FinishRound();
  OpenRound(unit);
}

void Aggregation::EncodeLaterRound() {
  if (!AnyOpen()) return;
  pool_.ForEach(static_cast<int64_t>(participants_.size()), [&](int64_t i, int) {
    const int worker = participants_[i];
    for (UnitState& unit : units_) {
      if (unit.open) unit.messages[worker] = unit.exchange->Encode(worker, {});
    }
  });
}

bool Aggregation::AnyOpen() const {
  return std::any_of(units_.begin(), units_.end(), [](const UnitState& unit) { return unit.open; });
}

std::vector<BucketWork> Aggregation::Buckets() const {
  std::vector<BucketWork> buckets;
  for (const Bucket& bucket : plan_.buckets) {
    std::vector<BucketWork> parts;
    for (int u : bucket.units) {
      parts.push_back({plan_.unit_layers[u], plan_.units[u].numel, units_[u].rounds});
    }
    for (BucketWork& merged : MergeUnits(parts)) buckets.push_back(std::move(merged));
  }
  return buckets;
}

std::vector<UnitOutcome> Aggregation::Outcomes() const {
  std::vector<UnitOutcome> outcomes;
  for (const UnitState& unit : units_) {
    outcomes.push_back({unit.parameter, unit.exchange->ElementsSent()});
  }
  return outcomes;
}

}  // namespace legacy
