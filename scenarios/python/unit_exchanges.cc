#include "scenarios/python/unit_exchanges.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "compress/schemes/exchange_base.h"

namespace legacy::python {
namespace {

constexpr int64_t kNumberBytes = sizeof(uint32_t);

// Returns the header of a message that this process made; lists of numbers have none.
std::optional<Header> HeaderOf(ByteSpan message) {
  try {
    return ReadHeader(message);
  } catch (const Error&) {
    return std::nullopt;
  }
}

int64_t HeaderBytesOf(const Message& message) {
  const std::optional<Header> header = HeaderOf(message.bytes);
  if (!header) return 0;
  if (header->codec == static_cast<uint8_t>(CodecId::kExtended)) return kExtendedHeaderBytes;
  return HeaderBytes(header->values);
}

// Returns true if a message is fp32 values after its header.
bool IsValues(ByteSpan message) {
  const std::optional<Header> header = HeaderOf(message);
  return header && header->codec != static_cast<uint8_t>(CodecId::kExtended) &&
         header->values == ValueType::kFloat32 && header->index == IndexCoding::kNone &&
         std::ssize(message) == kHeaderBytes + int64_t{sizeof(float)} * header->count;
}

// Throws Error for what ranks do not exchange here: sums of others that a worker encodes again,
// messages with a part for each other worker, and blocks for aggregators.
void CheckCalls(const Scheme& scheme, const Unit& unit, int workers) {
  const auto calls = scheme.ExpectedCalls(unit, scheme.Parameter().fallback, workers, {});
  if (!calls) return;
  for (const PlannedCall& planned : *calls) {
    if (planned.call.reduction != Reduction::kHops &&
        planned.call.collective != Collective::kAllToAll &&
        planned.call.collective != Collective::kBlockSparse) {
      continue;
    }
    throw Error("scheme", std::string(scheme.Name()),
                "one whose sums are not encoded again at every hop, and that needs neither an "
                "all-to-all nor aggregators of blocks: simulated networks alone carry these");
  }
}

}  // namespace

UnitExchanges::UnitExchanges(UnitPlan plan, BuiltMethod built, int workers)
    : plan_(std::move(plan)), built_(std::move(built)), workers_(workers) {
  if (built_.scheme->Traits().compresses_mean && policy().Traits().has_candidates) {
    throw Error(
        "policy", std::string(policy().Name()),
        "one that chooses before a step, with where=after-mean: workers would choose within "
        "it by times of their own, which only simulated ones have in common");
  }
  for (const Unit& unit : plan_.units) {
    CheckCalls(*built_.scheme, unit, workers_);
    states_.push_back({.exchange = built_.scheme->Open(unit, workers_)});
  }
}

DecidedStep UnitExchanges::Decide(const StepInfo& step) {
  DecidedStep decided;
  decided.parameters.resize(states_.size());
  DecideParameters(policy(), step, units(), decided.parameters);
  decided.candidates = policy().Candidates();
  decided.estimate = policy().Traits().estimates_candidates;
  return decided;
}

void UnitExchanges::Begin(const StepInfo& step, const DecidedStep& decided) {
  if (decided.parameters.size() != states_.size()) {
    throw Error("parameters", std::to_string(decided.parameters.size()),
                std::to_string(states_.size()) + ", one for each unit");
  }
  candidates_ = decided.candidates;
  for (size_t u = 0; u < states_.size(); ++u) {
    UnitState& state = states_[u];
    const int unit = static_cast<int>(u);
    state.step = {.info = step,
                  .parameter = decided.parameters[u],
                  .candidates = {},
                  .estimate = decided.estimate};
    if (Measured(unit)) state.step.candidates = candidates_;
    state.exchange->Begin(state.step);
    state.call.reset();
    state.number = 0;
    state.numbers.clear();
    if (state.step.parameter != state.planned) {
      state.planned = state.step.parameter;
      state.plan = built_.scheme->Plan(plan_.units[u], state.planned, workers_);
    }
    if (!Measured(unit)) Open(unit);
  }
}

void UnitExchanges::Open(int unit) {
  UnitState& state = states_[unit];
  state.call = state.exchange->NextCall();
}

void UnitExchanges::Show(int worker, int unit, std::span<const float> gradient) {
  policy().OnLocalGradient(unit, gradient, states_[unit].exchange->ErrorFed(worker, gradient));
}

void UnitExchanges::ShowMean(int unit) {
  const Exchange& exchange = *states_[unit].exchange;
  policy().OnLocalGradient(unit, exchange.Averaged(), exchange.AveragedFed());
}

bool UnitExchanges::Measured(int unit) const {
  return !candidates_.empty() &&
         built_.scheme->Compresses(plan_.units[unit], states_[unit].step.parameter);
}

std::string UnitExchanges::Place(int worker, int unit) const {
  return "step " + std::to_string(states_[unit].step.info.step) + ", worker " +
         std::to_string(worker) + ", unit '" + plan_.units[unit].name + "': ";
}

// A message of zeros lets the collective calls of all workers go through.
RefusedUnit UnitExchanges::Replace(int worker, int unit, const std::string& reason, bool measure) {
  UnitState& state = states_[unit];
  RefusedUnit refused{.unit = unit, .reason = reason};
  if (state.number > 0) return refused;
  try {
    const std::vector<float> zeros(static_cast<size_t>(plan_.units[unit].numel));
    Reset(unit);
    state.exchange->Begin(state.step);
    if (measure) {
      state.probe = state.exchange->Measure(worker, zeros);
    } else {
      Open(unit);
      state.own = state.exchange->Encode(worker, zeros);
    }
    refused.replaced = true;
  } catch (const Error&) {
    state.own = {};
  }
  return refused;
}

std::vector<RefusedUnit> UnitExchanges::Measure(int worker, std::span<const int> units,
                                                std::span<const float* const> gradients) {
  std::vector<RefusedUnit> refused;
  for (size_t i = 0; i < units.size(); ++i) {
    if (!Measured(units[i])) continue;
    UnitState& state = states_[units[i]];
    const auto size = static_cast<size_t>(plan_.units[units[i]].numel);
    try {
      state.probe = state.exchange->Measure(worker, {gradients[i], size});
    } catch (const Error& error) {
      refused.push_back(Replace(worker, units[i], error.what(), /*measure=*/true));
    }
  }
  return refused;
}

Bytes UnitExchanges::EncodeAgreement(int worker) {
  if (!OpenPolicyCall(policy(), PolicyMoment::kAgreement)) {
    throw Error("policy " + std::string(policy().Name()) + ": it has candidates, and no agreement");
  }
  std::vector<Probe> probes;
  for (UnitState& state : states_) probes.push_back(std::exchange(state.probe, {}));
  return policy().Encode(worker, probes).bytes;
}

size_t UnitExchanges::Agree(std::span<const ByteSpan> messages) {
  for (size_t w = 0; w < messages.size(); ++w) {
    policy().Accumulate(static_cast<int>(w), messages[w]);
  }
  policy().FinishCall();
  return policy().Chosen();
}

void UnitExchanges::Choose(size_t index) {
  if (index >= candidates_.size()) throw Error("candidate: there are fewer");
  for (size_t u = 0; u < states_.size(); ++u) {
    const int unit = static_cast<int>(u);
    if (!Measured(unit)) continue;
    states_[u].exchange->Choose(index);
    states_[u].plan.reset();
    states_[u].planned = -1;
    Open(unit);
  }
}

std::optional<Bytes> UnitExchanges::Announce() {
  if (!OpenPolicyCall(policy(), PolicyMoment::kAnnouncement)) return std::nullopt;
  Bytes announced;
  for (int w = 0; w < workers_; ++w) {
    const Message message = policy().Encode(w, {});
    policy().Accumulate(w, message.bytes);
    if (announced.empty()) announced = message.bytes;
  }
  policy().FinishCall();
  return announced;
}

const PlannedCall* UnitExchanges::Planned(int unit) const {
  const UnitState& state = states_[unit];
  if (!state.plan || state.number >= state.plan->size()) return nullptr;
  return &(*state.plan)[state.number];
}

std::vector<OpenCall> UnitExchanges::Calls(std::span<const int> units) const {
  std::vector<OpenCall> calls;
  for (const int unit : units) {
    const UnitState& state = states_[unit];
    if (!state.call) continue;
    OpenCall open{.unit = unit,
                  .collective = state.call->collective,
                  .root = state.call->root,
                  .lengths = {}};
    open.sums = state.call->collective == Collective::kAllReduce &&
                state.call->reduction == Reduction::kSum && IsValues(state.own.bytes);
    const bool broadcast = open.collective == Collective::kBroadcast;
    if (const PlannedCall* planned = Planned(unit)) {
      open.lengths.assign(static_cast<size_t>(workers_), broadcast ? 0 : planned->bytes);
      open.lengths[open.root] = planned->bytes;
    } else if (open.collective == Collective::kAllGather && std::ssize(state.numbers) == workers_) {
      open.lengths = state.numbers;  // a call of lengths came before
    }
    calls.push_back(std::move(open));
  }
  return calls;
}

std::vector<RefusedUnit> UnitExchanges::Encode(int worker, std::span<const int> units,
                                               std::span<const float* const> gradients) {
  std::vector<RefusedUnit> refused;
  for (size_t i = 0; i < units.size(); ++i) {
    UnitState& state = states_[units[i]];
    if (!state.call) continue;
    std::span<const float> gradient;
    if (!gradients.empty()) {
      gradient = {gradients[i], static_cast<size_t>(plan_.units[units[i]].numel)};
    }
    try {
      state.own = state.exchange->Encode(worker, gradient);
    } catch (const Error& error) {
      refused.push_back(Replace(worker, units[i], error.what(), /*measure=*/false));
    }
  }
  return refused;
}

std::vector<MessageLength> UnitExchanges::Lengths(std::span<const int> units) const {
  std::vector<MessageLength> lengths;
  for (const int unit : units) {
    const Message& own = states_[unit].own;
    lengths.push_back({own.size(), HeaderBytesOf(own)});
  }
  return lengths;
}

void UnitExchanges::Pack(std::span<const int> units, std::byte* to) {
  for (const int unit : units) {
    to = std::ranges::copy(states_[unit].own.bytes, to).out;
    states_[unit].own = {};
  }
}

void UnitExchanges::PackSums(std::span<const int> units, float* to) {
  for (const int unit : units) {
    const Bytes own = std::exchange(states_[unit].own, {}).bytes;
    states_[unit].header.assign(own.begin(), own.begin() + kHeaderBytes);
    const size_t bytes = own.size() - kHeaderBytes;
    std::memcpy(to, own.data() + kHeaderBytes, bytes);
    to += bytes / sizeof(float);
  }
}

void UnitExchanges::Accumulate(int worker, std::span<const int> units,
                               std::span<const int64_t> lengths, const std::byte* messages) {
  for (size_t i = 0; i < units.size(); ++i) {
    UnitState& state = states_[units[i]];
    const ByteSpan message(messages, static_cast<size_t>(lengths[i]));
    messages += lengths[i];
    try {
      if (worker == 0) state.numbers.clear();
      if (lengths[i] == kNumberBytes) state.numbers.push_back(legacy::NumberOf(message));
      state.exchange->Accumulate(worker, message);
    } catch (const Error& error) {
      throw error.Within(Place(worker, units[i]));
    }
  }
}

// The sums are the first worker's message, and those of the others are zeros.
void UnitExchanges::AccumulateSums(std::span<const int> units, const float* sums) {
  for (const int unit : units) {
    UnitState& state = states_[unit];
    const uint32_t count = ReadHeader(state.header).count;
    Bytes message = state.header;
    message.resize(kHeaderBytes + sizeof(float) * count);
    std::byte* const values = message.data() + kHeaderBytes;
    std::memcpy(values, sums, sizeof(float) * count);
    sums += count;
    try {
      state.exchange->Accumulate(0, message);
      std::fill(values, message.data() + message.size(), std::byte{0});
      for (int w = 1; w < workers_; ++w) state.exchange->Accumulate(w, message);
    } catch (const Error& error) {
      throw error.Within("step " + std::to_string(state.step.info.step) + ", unit '" +
                         plan_.units[unit].name + "', sum of all workers: ");
    }
  }
}

bool UnitExchanges::Finish(std::span<const int> units) {
  bool more = false;
  for (const int unit : units) {
    UnitState& state = states_[unit];
    if (!state.call) continue;
    try {
      state.exchange->FinishCall();
      Open(unit);
    } catch (const Error& error) {
      throw error.Within("step " + std::to_string(state.step.info.step) + ", unit '" +
                         plan_.units[unit].name + "': ");
    }
    ++state.number;
    more = more || state.call.has_value();
  }
  return more;
}

void UnitExchanges::Mean(std::span<const int> units, std::span<float* const> means) const {
  for (size_t i = 0; i < units.size(); ++i) {
    const auto size = static_cast<size_t>(plan_.units[units[i]].numel);
    states_[units[i]].exchange->Mean({means[i], size});
  }
}

void UnitExchanges::Reset(int unit) {
  states_[unit].exchange = built_.scheme->Open(plan_.units[unit], workers_);
}

void UnitExchanges::RescaleResiduals(float factor) {
  for (UnitState& state : states_) state.exchange->RescaleResiduals(factor);
}

Bytes UnitExchanges::SaveShared(int unit) const {
  StateWriter out;
  states_[unit].exchange->SaveShared(out);
  return out.Take();
}

Bytes UnitExchanges::SaveWorker(int unit, int worker) const {
  StateWriter out;
  states_[unit].exchange->SaveWorker(worker, out);
  return out.Take();
}

void UnitExchanges::Load(int unit, int worker, ByteSpan shared, ByteSpan own) {
  // A state that is refused changes nothing.
  std::unique_ptr<Exchange> loaded = built_.scheme->Open(plan_.units[unit], workers_);
  StateReader all(shared), one(own);
  loaded->LoadShared(all);
  all.ExpectEnd();
  loaded->LoadWorker(worker, one);
  one.ExpectEnd();
  states_[unit].exchange = std::move(loaded);
}

void UnitExchanges::LoadMean(int unit, int worker, ByteSpan shared,
                             std::span<const ByteSpan> states) {
  const bool none = std::ranges::all_of(states, [](ByteSpan state) { return state.empty(); });
  Load(unit, worker, shared, none ? Bytes() : MeanOfWorkers(states));
}

}  // namespace legacy::python
