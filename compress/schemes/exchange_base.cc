#include "compress/schemes/exchange_base.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "compress/checks.h"

namespace legacy {
namespace {

constexpr uint64_t kStateVersion = 3;

const Unit& Checked(const Unit& unit, int workers) {
  CheckExchange(unit, workers);
  return unit;
}

// Reads the next floats of each state and returns their mean.
template <class Read>
std::vector<float> MeanOf(std::span<StateReader> states, const Read& read) {
  std::vector<double> sums;
  for (StateReader& state : states) {
    const std::vector<float> values = read(state);
    if (values.empty()) continue;
    if (!sums.empty() && sums.size() != values.size()) {
      throw Error("state: values of a worker", std::to_string(values.size()),
                  std::to_string(sums.size()) + ", as others have");
    }
    sums.resize(values.size());
    for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
  }
  const auto count = static_cast<double>(states.size());
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / count));
  return mean;
}

std::vector<float> ReadFloats(StateReader& state) {
  return state.Floats(state.Number("values", state.Left()));
}

}  // namespace

Bytes MeanOfWorkers(std::span<const ByteSpan> states) {
  StateWriter out;
  std::vector<StateReader> readers(states.begin(), states.end());
  CodecState first;
  uint64_t kind = 0;
  for (size_t i = 0; i < readers.size(); ++i) {
    CodecState state;
    for (double& number : state.numbers) number = readers[i].Real("number of a codec");
    if (i == 0) first = state;
  }
  for (const double number : first.numbers) out.Real(number);
  SaveKept(MeanOf(readers, ReadFloats), out);  // squares
  for (size_t i = 0; i < readers.size(); ++i) {
    if (i == 0) {
      kind = readers[i].Number();
    } else {
      readers[i].ExpectNumber("memory", kind);
    }
  }
  out.Number(kind);
  const auto residual = [&](StateReader& state) { return ReadResidual(kind, state); };
  WriteResidual(kind, MeanOf(readers, residual), out);
  SaveKept(MeanOf(readers, ReadFloats), out);  // momenta
  for (const StateReader& reader : readers) reader.ExpectEnd();
  return out.Take();
}

void CheckExchange(const Unit& unit, int workers) {
  if (workers < 1) throw Error("workers", std::to_string(workers), "at least 1");
  if (unit.numel < 0 || unit.numel > kMaxUnitElements) {
    throw Error("elements of unit " + unit.name, std::to_string(unit.numel),
                "0 to " + std::to_string(kMaxUnitElements));
  }
}

ExchangeBase::ExchangeBase(std::string_view scheme, const Unit& unit, int workers,
                           const MemoryOptions& memory)
    : scheme_(scheme),
      unit_(Checked(unit, workers)),
      workers_(workers),
      memory_(memory, unit.numel, workers),
      codec_states_(workers) {}

int ExchangeBase::ActiveWorkers() const {
  return step_.info.active_workers.empty() ? workers_
                                           : static_cast<int>(step_.info.active_workers.size());
}

int ExchangeBase::ActiveWorker(int i) const {
  return step_.info.active_workers.empty() ? i : step_.info.active_workers[i];
}

CodecContext ExchangeBase::SharedContext() const {
  CodecContext context;
  context.unit = unit_.id;
  context.parameter = step_.parameter;
  context.random = {.seed = step_.info.seed,
                    .step = static_cast<uint64_t>(step_.info.step),
                    .worker = 0,
                    .layer = unit_.id,
                    .purpose = Purpose::kStochastic};
  return context;
}

CodecContext ExchangeBase::SenderContext(int worker) {
  CodecContext context = SharedContext();
  context.random.worker = step_.first_sender + static_cast<uint32_t>(worker);
  context.state = &codec_states_[worker];
  return context;
}

void ExchangeBase::RescaleResiduals(float factor) {
  memory_.Rescale(factor);
  const double squared = double{factor} * double{factor};
  for (CodecState& state : codec_states_) {
    for (float& square : state.squares) {
      constexpr double kLargest = std::numeric_limits<float>::max();
      square = static_cast<float>(std::min(double{square} * squared, kLargest));
    }
  }
}

void ExchangeBase::CheckShared(std::span<const float> shared) const {
  if (!shared.empty()) {
    throw Error("state: values that all workers share", std::to_string(shared.size()), "none");
  }
}

Bytes ExchangeBase::Save() const {
  StateWriter out;
  out.Number(kStateVersion);
  out.Text(scheme_);
  out.Number(unit_.id);
  out.Number(unit_.numel);
  out.Number(workers_);
  for (const CodecState& state : codec_states_) {
    for (const double number : state.numbers) out.Real(number);
    SaveKept(state.squares, out);
  }
  memory_.Save(out);
  out.Number(shared_.size());
  out.Floats(shared_);
  return out.Take();
}

void ExchangeBase::Load(ByteSpan state) {
  StateReader in(state);
  in.ExpectNumber("version", kStateVersion);
  in.ExpectText("scheme", scheme_);
  in.ExpectNumber("unit", unit_.id);
  in.ExpectNumber("elements", unit_.numel);
  in.ExpectNumber("workers", workers_);
  std::vector<CodecState> codec_states(codec_states_.size());
  for (CodecState& codec_state : codec_states) {
    for (double& number : codec_state.numbers) number = in.Real("number of a codec");
    codec_state.squares = LoadKept("squares of a codec", unit_.numel, in);
  }
  // State is loaded into a copy, so that refused bytes change nothing.
  Memory memory = memory_;
  memory.Load(in);
  std::vector<float> shared = in.Floats(in.Number("values that all workers share", unit_.numel));
  CheckShared(shared);
  in.ExpectEnd();
  codec_states_ = std::move(codec_states);
  memory_ = std::move(memory);
  shared_ = std::move(shared);
}

void ExchangeBase::SaveShared(StateWriter& out) const {
  out.Number(kStateVersion);
  out.Text(scheme_);
  out.Number(unit_.id);
  out.Number(static_cast<uint64_t>(unit_.numel));
  out.Number(shared_.size());
  out.Floats(shared_);
}

void ExchangeBase::LoadShared(StateReader& in) {
  in.ExpectNumber("version", kStateVersion);
  in.ExpectText("scheme", scheme_);
  in.ExpectNumber("unit", unit_.id);
  in.ExpectNumber("elements", static_cast<uint64_t>(unit_.numel));
  shared_ = in.Floats(in.Number("values that all workers share", unit_.numel));
  CheckShared(shared_);
}

void ExchangeBase::SaveWorker(int worker, StateWriter& out) const {
  const CodecState& state = codec_states_[worker];
  for (const double number : state.numbers) out.Real(number);
  SaveKept(state.squares, out);
  memory_.SaveWorker(worker, out);
}

void ExchangeBase::LoadWorker(int worker, StateReader& in) {
  CodecState& state = codec_states_[worker];
  for (double& number : state.numbers) number = in.Real("number of a codec");
  state.squares = LoadKept("squares of a codec", unit_.numel, in);
  memory_.LoadWorker(worker, in);
}

void SaveKept(std::span<const float> kept, StateWriter& out) {
  out.Number(kept.size());
  out.Floats(kept);
}

std::vector<float> LoadKept(const char* what, int64_t numel, StateReader& in) {
  const auto all = static_cast<uint64_t>(numel);
  const uint64_t count = in.Number(what, all);
  if (count != 0 && count != all) {
    throw Error(std::string("state: ") + what, std::to_string(count),
                "0 or " + std::to_string(all));
  }
  return in.Floats(count);
}

Message NumberMessage(uint32_t number) {
  Message message;
  message.bytes.resize(sizeof number);
  std::memcpy(message.bytes.data(), &number, sizeof number);
  return message;
}

uint32_t NumberOf(ByteSpan message) {
  CheckLength(message, sizeof(uint32_t));
  uint32_t number = 0;
  std::memcpy(&number, message.data(), sizeof number);
  return number;
}

}  // namespace legacy
