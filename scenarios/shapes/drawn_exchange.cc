#include "scenarios/shapes/drawn_exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/programs/patience.h"
#include "compress/cpu/vector.h"
#include "compress/gradients/gradients.h"
#include "compress/options.h"
#include "scenarios/checkpoint/fields.h"
#include "trainer/aggregation.h"

namespace legacy {
namespace {

constexpr double kFall = 9;  // the norm falls over a run to 1 / (1 + kFall)

// Returns the text of the distribution with a number of values and, unless it already has one, a
// seed.
std::string TextOf(const std::string& distribution, int64_t values, uint64_t seed) {
  std::vector<Stage> stages = ParseStages(distribution);
  stages.front().options["n"] = std::to_string(values);
  stages.front().options.try_emplace("seed", std::to_string(seed));
  return FormatStages(stages);
}

// Returns a call among the workers of one of `ranks` parts of the experts as that of all workers:
// those of a part are `ranks` apart, and so are the owners of its slices.
SentCall AmongAll(const SentCall& part, int ranks) {
  SentCall all = part;
  const size_t count = part.bytes.size(), apart = static_cast<size_t>(ranks);
  all.bytes.resize(count * apart);
  for (size_t w = 0; w < all.bytes.size(); ++w) all.bytes[w] = part.bytes[w / apart];
  if (!part.pair_bytes.empty()) all.pair_bytes.assign(all.bytes.size() * all.bytes.size(), 0);
  for (size_t i = 0; i < part.pair_bytes.size(); ++i) {
    for (size_t r = 0; r < apart; ++r) {
      const size_t from = i / count * apart + r, to = i % count * apart + r;
      all.pair_bytes[from * all.bytes.size() + to] = part.pair_bytes[i];
    }
  }
  OwnedSlices& owned = all.owned.value();
  owned.group = owned.Members();
  owned.stride *= ranks;
  owned.owners *= ranks;
  owned.bytes.resize(part.owned->bytes.size() * apart);
  for (size_t j = 0; j < owned.bytes.size(); ++j) owned.bytes[j] = part.owned->bytes[j / apart];
  return all;
}

}  // namespace

DrawnExchange::DrawnExchange(const Scheme& scheme, std::span<const Unit> units, int workers,
                             DrawnGradients gradients, ExpertUnits experts)
    : scheme_(scheme),
      workers_(workers),
      gradients_(std::move(gradients)),
      experts_(std::move(experts)),
      layout_(units.begin(), units.end()),
      units_(units.size()) {
  DrawGradient(TextOf(gradients_.text, 0, 1));  // throws where the text names no distribution
}

void DrawnExchange::Begin(const ModelStep& step) {
  info_ = step.info;
  active_workers_ = step.info.ActiveWorkers(workers_);
  parameters_.assign(step.parameters.begin(), step.parameters.end());
  candidates_.assign(step.candidates.begin(), step.candidates.end());
  estimate_ = step.estimate;
  probes_.clear();
  open_.assign(units_.size(), 0);
  clips_.clear();
}

void DrawnExchange::Encode(int, const float*) {
  if (candidates_.empty()) return;
  std::vector<Probe> probes(units_.size());
  for (size_t u = 0; u < units_.size(); ++u) {
    if (Measured(static_cast<int>(u))) probes[u] = Measure(u);
  }
  probes_.assign(static_cast<size_t>(workers_), probes);
}

void DrawnExchange::Finish(float*) {
  sent_.clear();
  for (size_t u = 0; u < units_.size(); ++u) sent_.push_back(&SentOf(u));
}

void DrawnExchange::RescaleResiduals(float factor) {
  for (UnitState& unit : units_) {
    if (unit.exchange) unit.exchange->RescaleResiduals(factor);
  }
}

int64_t DrawnExchange::UnitsDrawn() const {
  return std::ranges::count_if(units_,
                               [](const UnitState& unit) { return unit.exchange != nullptr; });
}

std::vector<float> DrawnExchange::Draw(size_t unit, int worker) {
  std::vector<float> values = Unclipped(unit, worker);
  const float factor = ClipOf(worker);
  if (factor < 1) cpu::Scale(values, factor);
  return values;
}

// Returns the factor that clips the worker's gradient. The norm is that of all units, which are
// drawn to compute it.
float DrawnExchange::ClipOf(int worker) {
  const std::optional<double> limit = scheme_.LocalClipNorm(workers_);
  if (!limit) return 1;
  const auto [entry, fresh] = clips_.try_emplace(worker, 1);
  if (!fresh) return entry->second;
  double squared = 0;
  for (size_t u = 0; u < units_.size(); ++u) squared += cpu::SquaredNorm(Unclipped(u, worker));
  return entry->second = ClipFactor(*limit, squared);
}

std::vector<float> DrawnExchange::Unclipped(size_t unit, int worker) {
  GiveUpIfLate();
  const Unit& place = layout_[unit];
  std::vector<float> values =
      DrawGradient(TextOf(gradients_.text, place.numel, info_.seed), static_cast<uint32_t>(worker),
                   static_cast<uint64_t>(info_.step), place.id);
  const double done = static_cast<double>(info_.step) /
                      static_cast<double>(std::max<int64_t>(1, info_.total_steps));
  const double norm = 1 / (1 + kFall * done);
  cpu::Scale(values, static_cast<float>(norm / std::sqrt(static_cast<double>(place.numel))));
  values_drawn_ += place.numel;
  return values;
}

std::vector<float> DrawnExchange::CopyResidual(int unit, int worker) const {
  const Exchange* exchange = units_[unit].exchange.get();
  if (exchange == nullptr) return {};
  const std::span<const float> residual = exchange->Residual(worker);
  return {residual.begin(), residual.end()};
}

std::vector<float> DrawnExchange::ErrorFed(int unit, int worker,
                                           std::span<const float> gradient) const {
  const Exchange* exchange = units_[unit].exchange.get();
  if (exchange == nullptr) return {gradient.begin(), gradient.end()};
  return exchange->ErrorFed(worker, gradient);
}

// Returns true if the unit's parameter is chosen within the step.
bool DrawnExchange::Measured(int unit) const {
  return !candidates_.empty() && scheme_.Compresses(layout_[unit], parameters_[unit]);
}

Probe DrawnExchange::Measure(size_t unit) {
  UnitState& state = units_[unit];
  const Case now = CaseOf(unit);
  int64_t& steps = state.measured[now];
  if (steps >= gradients_.steps) return state.probes[now];
  ++steps;
  return state.probes[now] = MeasureNow(unit);
}

// Begins the unit's exchange and measures the candidates, after the only call where the mean is
// measured.
Probe DrawnExchange::MeasureNow(size_t unit) {
  Exchange& exchange = ExchangeOf(unit);
  const int worker = active_workers_.front();
  exchange.Begin(ContextOf(unit, worker));
  open_[unit] = 1;
  const std::vector<float> gradient = Draw(unit, worker);
  if (!MeasuresMean()) return exchange.Measure(worker, gradient);
  units_[unit].before = RunCall(unit, exchange.NextCall().value(), worker, gradient, 0);
  return exchange.Measure(0, {});
}

// Returns the context of a step in which `sender` stands in for every active worker.
UnitStep DrawnExchange::ContextOf(size_t unit, int sender) const {
  UnitStep context{
      .info = info_, .parameter = parameters_[unit], .candidates = {}, .estimate = estimate_};
  context.info.active_workers.assign(static_cast<size_t>(Sharing(unit, active_workers_.size())),
                                     sender);
  if (Measured(static_cast<int>(unit))) context.candidates = candidates_;
  return context;
}

DrawnExchange::Case DrawnExchange::CaseOf(size_t unit) const {
  Case now{.parameter = parameters_[unit],
           .candidates = {},
           .active_workers = active_workers_.size(),
           .starts = info_.step < scheme_.Traits().dense_steps};
  if (Measured(static_cast<int>(unit))) now.candidates = candidates_;
  return now;
}

Exchange& DrawnExchange::ExchangeOf(size_t unit) {
  std::unique_ptr<Exchange>& exchange = units_[unit].exchange;
  if (!exchange) {
    exchange = SchemeOf(unit).Open(layout_[unit], Sharing(unit, static_cast<size_t>(workers_)));
  }
  return *exchange;
}

const DrawnExchange::Sent& DrawnExchange::SentOf(size_t unit) {
  Case now = CaseOf(unit);
  if (Measured(static_cast<int>(unit))) {
    parameters_[unit] = candidates_.at(chosen_);
    now.parameter = parameters_[unit];
  }
  Sent& sent = units_[unit].sent[now];
  if (sent.drawn < 0) return sent;  // it was planned
  // A unit that has measured in this step must finish it. If a unit's measurement was repeated, its
  // message lengths are repeated as well, once its chosen candidate has been drawn.
  const bool repeats = Measured(static_cast<int>(unit)) ? !open_[unit] && sent.drawn > 0
                                                        : sent.drawn >= gradients_.steps;
  if (repeats) return sent;
  if (!Measured(static_cast<int>(unit)) && PlanUnit(unit, sent)) return sent;
  RunUnit(unit, sent);
  return sent;
}

bool DrawnExchange::PlanUnit(size_t unit, Sent& sent) const {
  const double parameter = parameters_[unit];
  const auto calls =
      SchemeOf(unit).Plan(layout_[unit], parameter, Sharing(unit, active_workers_.size()));
  if (!calls) return false;
  sent.calls = *calls;
  sent.elements = SchemeOf(unit).ElementsSent(layout_[unit], parameter);
  sent.drawn = -1;
  return true;
}

// Returns the root of the step's broadcast, or the first active worker if there is no broadcast.
int DrawnExchange::SenderOf(size_t unit) {
  UnitStep context = ContextOf(unit, active_workers_.front());
  context.info.active_workers = active_workers_;
  context.info.active_workers.resize(static_cast<size_t>(Sharing(unit, active_workers_.size())));
  Exchange& exchange = ExchangeOf(unit);
  exchange.Begin(context);
  const std::optional<CollectiveCall> call = exchange.NextCall();
  return call && call->collective == Collective::kBroadcast ? call->root : active_workers_.front();
}

// Runs the exchange with one worker's messages in place of those of all workers. In a broadcast
// only the root sends.
void DrawnExchange::RunUnit(size_t unit, Sent& sent) {
  const bool measured = Measured(static_cast<int>(unit));
  const int sender = measured ? active_workers_.front() : SenderOf(unit);
  Exchange& exchange = ExchangeOf(unit);
  std::vector<float> gradient;
  sent.calls.clear();
  if (measured) {
    if (!open_[unit]) MeasureNow(unit);
    exchange.Choose(chosen_);
  } else {
    exchange.Begin(ContextOf(unit, sender));
    gradient = Draw(unit, sender);
  }
  if (measured && MeasuresMean()) {
    sent.calls.push_back(units_[unit].before);
    exchange.Complete(sent.calls.back().call);
  }
  while (std::optional<CollectiveCall> call = exchange.NextCall()) {
    sent.calls.push_back(
        RunCall(unit, std::move(*call), sender, std::exchange(gradient, {}), sent.calls.size()));
  }
  sent.elements = exchange.ElementsSent();
  ++sent.drawn;
}

// Runs the open call of a unit, which is its `number`-th one.
PlannedCall DrawnExchange::RunCall(size_t unit, CollectiveCall call, int sender,
                                   std::span<const float> gradient, size_t number) {
  Exchange& exchange = ExchangeOf(unit);
  const Message message = exchange.Encode(sender, gradient);
  const bool broadcast = call.collective == Collective::kBroadcast;
  std::vector<int64_t> parts;
  if (call.collective == Collective::kAllToAll) {
    parts = exchange.PartBytes(sender, message.bytes);
  }
  for (int i = 0; i < (broadcast ? 1 : Sharing(unit, active_workers_.size())); ++i) {
    GiveUpIfLate();
    exchange.Accumulate(sender, message.bytes);
  }
  if (call.collective == Collective::kBlockSparse) {
    // Workers have different blocks: their sum has as many as the scheme expects.
    const auto expected = scheme_.ExpectedCalls(layout_[unit], parameters_[unit],
                                                static_cast<int>(active_workers_.size()), {});
    call = expected->at(number).call;
  } else {
    exchange.Complete(call);
  }
  exchange.FinishCall();
  return {std::move(call), message.size(), std::move(parts)};
}

std::vector<SentCall> DrawnExchange::Calls(int unit) const {
  std::vector<SentCall> calls;
  const auto number = static_cast<size_t>(unit);
  const auto sharing = static_cast<size_t>(Sharing(number, static_cast<size_t>(workers_)));
  std::vector<int> active = active_workers_;
  if (IsOfExperts(number)) active.resize(sharing);
  for (const PlannedCall& one : sent_[unit]->calls) {
    SentCall& sent = calls.emplace_back(SentCall{one.call, std::vector<int64_t>(sharing)});
    const bool broadcast = one.call.collective == Collective::kBroadcast;
    std::vector<int64_t> parts = one.parts;
    for (const int worker : active) {
      if (broadcast && worker != one.call.root) continue;
      SetSent(worker, one.bytes, parts, active, sent);
      // The sender is the first: its own part is first, and the next worker's is second.
      if (!parts.empty()) std::rotate(parts.rbegin(), parts.rbegin() + 1, parts.rend());
    }
    if (IsOfExperts(number)) sent = AmongAll(sent, experts_.ranks);
  }
  return calls;
}

void DrawnExchange::SaveShared(StateWriter& out) const {
  ToArchive(out, values_drawn_);
  for (const UnitState& unit : units_) {
    ToArchive(out, unit.sent, unit.probes, unit.measured, unit.exchange != nullptr);
    if (unit.exchange) out.Blob(unit.exchange->Save());
  }
}

void DrawnExchange::LoadShared(StateReader& in) {
  FromArchive(in, values_drawn_);
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    bool drawn = false;
    FromArchive(in, unit.sent, unit.probes, unit.measured, drawn);
    if (drawn) ExchangeOf(u).Load(in.Blob());
  }
}

}  // namespace legacy
