#include "trainer/aggregation.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "compress/error.h"

namespace legacy {
namespace {

// Nothing travels before the agreement: one bucket of all layers, whose first round it is. What follows goes one after
// the other, units of one structure together.
BucketWork Behind(const RoundWork& agreement, std::span<const BucketWork> buckets) {
  BucketWork all{{}, 0, {agreement}};
  for (const BucketWork& group : MergeUnits(buckets)) {
    all.layers.insert(all.layers.end(), group.layers.begin(), group.layers.end());
    all.elements += group.elements;
    all.rounds.insert(all.rounds.end(), group.rounds.begin(), group.rounds.end());
  }
  return all;
}

}  // namespace

Aggregation::Aggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers,
                         WorkerPool& pool)
    : plan_(std::move(plan)),
      scheme_(scheme),
      policy_(policy),
      workers_(workers),
      pool_(pool),
      units_(plan_.units.size()) {
  for (size_t u = 0; u < units_.size(); ++u) {
    units_[u].exchange = scheme.Open(plan_.units[u], workers);
    units_[u].messages.resize(static_cast<size_t>(workers));
  }
}

void Aggregation::Begin(uint64_t seed, const StepInfo& step, std::span<const int> participants) {
  step_ = step.step;
  participants_.assign(participants.begin(), participants.end());
  if (participants_.empty()) {
    participants_.resize(static_cast<size_t>(workers_));
    std::iota(participants_.begin(), participants_.end(), 0);
  }
  std::vector<double> parameters(units_.size());
  policy_.Decide(step, plan_.units, parameters);
  candidates_ = policy_.Candidates();
  agreement_.reset();
  announcement_.reset();
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    unit.parameter = parameters[u];
    unit.rounds.clear();
    StepContext context{.seed = seed,
                        .step = step.step,
                        .parameter = unit.parameter,
                        .participants = {participants.begin(), participants.end()},
                        .candidates = {},
                        .estimate = policy_.EstimatesCandidates(),
                        .link = step.link};
    if (Measured(u)) context.candidates = candidates_;
    unit.exchange->Begin(context);
    if (!Measured(u)) OpenRound(unit);
  }
  probes_.assign(candidates_.empty() ? 0 : static_cast<size_t>(workers_),
                 std::vector<Probe>(units_.size()));
}

// Whether the unit's parameter is chosen within the step.
bool Aggregation::Measured(size_t u) const {
  return !candidates_.empty() && scheme_.Compresses(plan_.units[u], units_[u].parameter);
}

void Aggregation::TakeGradient(int worker, std::span<const float> gradient) {
  const bool shown = worker == participants_.front() && policy_.ReadsLocalGradient();
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    const Unit& place = plan_.units[u];
    const auto part = gradient.subspan(place.offset, place.numel);
    if (shown) policy_.ObserveLocal(u, part, unit.exchange->Residual(worker));
    if (Measured(u)) {
      probes_[worker][u] = unit.exchange->Measure(worker, part);
    } else if (unit.open) {
      unit.messages[worker] = unit.exchange->Encode(worker, part);
    }
  }
}

void Aggregation::Agree(const MessageHook& hook) {
  if (candidates_.empty()) return;
  agreement_ = RunPolicyRound(PolicyMoment::kAgreement, hook);
  const size_t chosen = policy_.Chosen();
  for (size_t u = 0; u < units_.size(); ++u) {
    if (!Measured(u)) continue;
    units_[u].parameter = candidates_.at(chosen);
    units_[u].exchange->Choose(chosen);
    OpenRound(units_[u]);
  }
  pool_.ForEach(static_cast<int64_t>(participants_.size()), [&](int64_t i, int) {
    const int worker = participants_[i];
    for (size_t u = 0; u < units_.size(); ++u) {
      UnitState& unit = units_[u];
      if (Measured(u) && unit.open) unit.messages[worker] = unit.exchange->Encode(worker, {});
    }
  });
}

std::optional<RoundWork> Aggregation::RunPolicyRound(PolicyMoment moment, const MessageHook& hook) {
  const std::optional<Round> round = policy_.OpenRound(moment);
  if (!round) return std::nullopt;
  RoundWork work = WorkOf(*round, workers_);
  for (const int w : participants_) {
    const bool probed = moment == PolicyMoment::kAgreement;
    Message message = policy_.Encode(w, probed ? probes_[w] : std::span<const Probe>());
    work.bytes[w] = message.size();
    if (hook) hook({step_, -1, 0, w}, message.bytes);
    try {
      policy_.Accumulate(w, message.bytes);
    } catch (const Error& error) {
      throw Error("step " + std::to_string(step_) + ", worker " + std::to_string(w) + ", policy " +
                  std::string(policy_.Name()) + ": " + error.what());
    }
  }
  policy_.FinishRound();
  return work;
}

void Aggregation::Finish(std::span<float> mean, const MessageHook& hook) {
  Agree(hook);
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
  announcement_ = RunPolicyRound(PolicyMoment::kAnnouncement, hook);
}

void Aggregation::OpenRound(UnitState& unit) const {
  const std::optional<Round> round = unit.exchange->NextRound();
  unit.open = round.has_value();
  if (round) unit.rounds.push_back(WorkOf(*round, workers_));
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
  if (agreement_) buckets = {Behind(*agreement_, buckets)};
  if (policy_.ReadsLocalGradient()) {
    for (const Work& work : policy_.LocalWork()) {
      AddWork(work, buckets.back().rounds.front().encode);
    }
  }
  if (announcement_) buckets.push_back({{}, 0, {*announcement_}});
  return buckets;
}

std::vector<UnitOutcome> Aggregation::Outcomes() const {
  std::vector<UnitOutcome> outcomes;
  for (const UnitState& unit : units_) {
    outcomes.push_back({unit.parameter, unit.exchange->ElementsSent()});
  }
  return outcomes;
}

std::vector<double> Aggregation::UnitBytes() const {
  std::vector<double> bytes;
  for (const UnitState& unit : units_) {
    int64_t sum = 0;
    for (const RoundWork& round : unit.rounds) {
      sum += std::accumulate(round.bytes.begin(), round.bytes.end(), int64_t{0});
    }
    bytes.push_back(static_cast<double>(sum) / static_cast<double>(participants_.size()));
  }
  return bytes;
}

}  // namespace legacy
