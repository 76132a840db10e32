#include "scenarios/shapes/drawn_aggregation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compress/cpu/vector.h"
#include "compress/gradients/gradients.h"
#include "compress/options.h"

namespace legacy {
namespace {

constexpr double kFall = 9;  // of the norm over a run: to 1 / (1 + kFall)

// The distribution's text with a number of values and a seed, unless the text has one.
std::string TextOf(const std::string& distribution, int64_t values, uint64_t seed) {
  std::vector<Stage> stages = ParseStages(distribution);
  stages.front().options["n"] = std::to_string(values);
  stages.front().options.try_emplace("seed", std::to_string(seed));
  return FormatStages(stages);
}

}  // namespace

DrawnAggregation::DrawnAggregation(UnitPlan plan, const Scheme& scheme, Policy& policy, int workers,
                                   DrawnGradients gradients)
    : Aggregation(std::move(plan), policy, workers),
      scheme_(scheme),
      gradients_(std::move(gradients)),
      units_(plan_.units.size()) {
  DrawGradient(TextOf(gradients_.text, 0, 1));  // throws on what is none
}

void DrawnAggregation::Begin(uint64_t seed, const StepInfo& step,
                             std::span<const int> active_workers) {
  Decide(step, active_workers);
  seed_ = seed;
  info_ = step;
  open_.assign(units_.size(), 0);
  clips_.clear();
}

void DrawnAggregation::Finish() {
  ShowGradients();
  Agree();
  for (size_t u = 0; u < units_.size(); ++u) BookUnit(u, SentOf(u));
  RunPolicyCall(PolicyMoment::kAnnouncement, {}, {});
}

void DrawnAggregation::RescaleResiduals(float factor) {
  for (UnitState& unit : units_) {
    if (unit.exchange) unit.exchange->RescaleResiduals(factor);
  }
}

int64_t DrawnAggregation::UnitsDrawn() const {
  return std::ranges::count_if(units_,
                               [](const UnitState& unit) { return unit.exchange != nullptr; });
}

std::vector<float> DrawnAggregation::Draw(size_t unit, int worker) {
  std::vector<float> values = Unclipped(unit, worker);
  const float factor = ClipOf(worker);
  if (factor < 1) cpu::Scale(values, factor);
  return values;
}

// The norm is that of all units, which are drawn for it.
float DrawnAggregation::ClipOf(int worker) {
  const std::optional<double> limit = scheme_.LocalClipNorm(workers_);
  if (!limit) return 1;
  const auto [entry, fresh] = clips_.try_emplace(worker, 1);
  if (!fresh) return entry->second;
  double squared = 0;
  for (size_t u = 0; u < units_.size(); ++u) squared += cpu::SquaredNorm(Unclipped(u, worker));
  return entry->second = ClipFactor(*limit, squared);
}

std::vector<float> DrawnAggregation::Unclipped(size_t unit, int worker) {
  const Unit& place = plan_.units[unit];
  std::vector<float> values =
      DrawGradient(TextOf(gradients_.text, place.numel, seed_), static_cast<uint32_t>(worker),
                   static_cast<uint64_t>(step_), place.id);
  const double done =
      static_cast<double>(step_) / static_cast<double>(std::max<int64_t>(1, info_.total_steps));
  const double norm = 1 / (1 + kFall * done);
  cpu::Scale(values, static_cast<float>(norm / std::sqrt(static_cast<double>(place.numel))));
  values_drawn_ += place.numel;
  return values;
}

// To policies that look at worker 0's: what they decide is then about drawn values.
void DrawnAggregation::ShowGradients() {
  const int worker = active_workers_.front();
  if (!IsShown(worker)) return;
  for (size_t u = 0; u < units_.size(); ++u) {
    const Exchange* exchange = units_[u].exchange.get();
    policy_.OnLocalGradient(u, Draw(u, worker),
                            exchange ? exchange->Residual(worker) : std::span<const float>());
  }
}

// Whether the unit's parameter is chosen within the step.
bool DrawnAggregation::Measured(size_t unit) const {
  return !candidates_.empty() && scheme_.Compresses(plan_.units[unit], books_[unit].parameter);
}

void DrawnAggregation::Agree() {
  if (candidates_.empty()) return;
  std::vector<Probe> probes(units_.size());
  for (size_t u = 0; u < units_.size(); ++u) {
    if (Measured(u)) probes[u] = Measure(u);
  }
  RunPolicyCall(PolicyMoment::kAgreement,
                std::vector<std::vector<Probe>>(static_cast<size_t>(workers_), probes), {});
  chosen_ = policy_.Chosen();
}

Probe DrawnAggregation::Measure(size_t unit) {
  UnitState& state = units_[unit];
  const Case now = CaseOf(unit);
  int64_t& steps = state.measured[now];
  if (steps >= gradients_.steps) return state.probes[now];
  ++steps;
  Exchange& exchange = ExchangeOf(unit);
  const int worker = active_workers_.front();
  exchange.Begin(ContextOf(unit, worker));
  open_[unit] = 1;
  return state.probes[now] = exchange.Measure(worker, Draw(unit, worker));
}

// Of a step in which `sender` takes part in the place of every active worker.
StepContext DrawnAggregation::ContextOf(size_t unit, int sender) const {
  StepContext context{.seed = seed_,
                      .step = step_,
                      .parameter = books_[unit].parameter,
                      .active_workers = std::vector<int>(active_workers_.size(), sender),
                      .candidates = {},
                      .estimate = policy_.EstimatesCandidates(),
                      .link = info_.link};
  if (Measured(unit)) context.candidates = candidates_;
  return context;
}

DrawnAggregation::Case DrawnAggregation::CaseOf(size_t unit) const {
  Case now{books_[unit].parameter, {}, active_workers_.size()};
  if (Measured(unit)) now.candidates = candidates_;
  return now;
}

Exchange& DrawnAggregation::ExchangeOf(size_t unit) {
  std::unique_ptr<Exchange>& exchange = units_[unit].exchange;
  if (!exchange) exchange = scheme_.Open(plan_.units[unit], workers_);
  return *exchange;
}

const DrawnAggregation::Sent& DrawnAggregation::SentOf(size_t unit) {
  Case now = CaseOf(unit);
  if (Measured(unit)) {
    books_[unit].parameter = candidates_.at(chosen_);
    now.parameter = books_[unit].parameter;
  }
  Sent& sent = units_[unit].sent[now];
  if (sent.drawn < 0) return sent;  // planned
  // A unit that has measured has to go on; one that has not, in a step whose measuring is repeated,
  // repeats as well unless nothing is known of its choice yet.
  const bool repeats =
      Measured(unit) ? !open_[unit] && sent.drawn > 0 : sent.drawn >= gradients_.steps;
  if (repeats) return sent;
  if (!Measured(unit) && PlanUnit(unit, sent)) return sent;
  RunUnit(unit, sent);
  return sent;
}

bool DrawnAggregation::PlanUnit(size_t unit, Sent& sent) const {
  const double parameter = books_[unit].parameter;
  const auto calls =
      scheme_.Plan(plan_.units[unit], parameter, static_cast<int>(active_workers_.size()));
  if (!calls) return false;
  for (const PlannedCall& planned : *calls) sent.calls.push_back({planned.call, planned.bytes});
  sent.elements = scheme_.ElementsSent(plan_.units[unit], parameter);
  sent.drawn = -1;
  return true;
}

// The root of a broadcast, which is the step's; else the first.
int DrawnAggregation::SenderOf(size_t unit) {
  StepContext context = ContextOf(unit, active_workers_.front());
  context.active_workers = active_workers_;
  Exchange& exchange = ExchangeOf(unit);
  exchange.Begin(context);
  const std::optional<CollectiveCall> call = exchange.NextCall();
  return call && call->collective == Collective::kBroadcast ? call->root : active_workers_.front();
}

// One worker's messages stand for those of all, but for a broadcast, in which its root alone sends.
void DrawnAggregation::RunUnit(size_t unit, Sent& sent) {
  const bool measured = Measured(unit);
  const int sender = measured ? active_workers_.front() : SenderOf(unit);
  Exchange& exchange = ExchangeOf(unit);
  if (!open_[unit]) exchange.Begin(ContextOf(unit, sender));
  if (measured) {
    if (!open_[unit]) exchange.Measure(sender, Draw(unit, sender));
    exchange.Choose(chosen_);
  }
  std::vector<float> gradient = measured ? std::vector<float>() : Draw(unit, sender);
  sent.calls.clear();
  while (const std::optional<CollectiveCall> call = exchange.NextCall()) {
    const Message message = exchange.Encode(sender, std::exchange(gradient, {}));
    const bool broadcast = call->collective == Collective::kBroadcast;
    for (size_t i = 0; i < (broadcast ? 1 : active_workers_.size()); ++i) {
      exchange.Accumulate(sender, message.bytes);
    }
    sent.calls.push_back({*call, message.size()});
    exchange.FinishCall();
  }
  sent.elements = exchange.ElementsSent();
  ++sent.drawn;
}

void DrawnAggregation::BookUnit(size_t unit, const Sent& sent) {
  for (const SentCall& one : sent.calls) {
    CallWork work = WorkOf(one.call, workers_);
    const bool broadcast = one.call.collective == Collective::kBroadcast;
    for (const int worker : active_workers_) {
      if (!broadcast || worker == one.call.root) work.bytes[worker] = one.bytes;
    }
    books_[unit].calls.push_back(std::move(work));
  }
  books_[unit].elements = sent.elements;
}

}  // namespace legacy
