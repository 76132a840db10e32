#include "trainer/host_exchange.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/programs/patience.h"

namespace legacy {

HostModelExchange::HostModelExchange(const Scheme& scheme, std::span<const Unit> units, int workers,
                                     WorkerPool& pool, ProcessGroup& processes)
    : scheme_(scheme), workers_(workers), pool_(pool), processes_(processes) {
  for (const Unit& unit : units) {
    units_.push_back({.unit = unit,
                      .exchange = scheme.Open(unit, workers),
                      .messages = std::vector<Message>(static_cast<size_t>(workers))});
  }
}

void HostModelExchange::Begin(const ModelStep& step) {
  step_ = step.info.step;
  active_workers_ = step.info.ActiveWorkers(workers_);
  own_workers_ = processes_.Own(active_workers_);
  measures_ = !step.candidates.empty();
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    unit.parameter = step.parameters[u];
    unit.calls.clear();
    UnitStep context{.info = step.info,
                     .parameter = unit.parameter,
                     .candidates = {},
                     .estimate = step.estimate};
    const bool measured = Measured(static_cast<int>(u));
    if (measured) context.candidates.assign(step.candidates.begin(), step.candidates.end());
    unit.exchange->Begin(context);
    if (!measured || MeasuresMean()) OpenCall(unit);
  }
  probes_.assign(measures_ ? static_cast<size_t>(workers_) : 0, std::vector<Probe>(units_.size()));
}

bool HostModelExchange::Measured(int unit) const {
  return measures_ && scheme_.Compresses(units_[unit].unit, units_[unit].parameter);
}

void HostModelExchange::Encode(int worker, const float* gradient) {
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    const std::span part(gradient + unit.unit.offset, static_cast<size_t>(unit.unit.numel));
    if (Measured(static_cast<int>(u)) && !MeasuresMean()) {
      probes_[worker][u] = unit.exchange->Measure(worker, part);
    } else if (unit.open) {
      unit.messages[worker] = unit.exchange->Encode(worker, part);
    }
  }
}

void HostModelExchange::Choose(size_t index) {
  for (size_t u = 0; u < units_.size(); ++u) {
    if (!Measured(static_cast<int>(u))) continue;
    units_[u].exchange->Choose(index);
    if (MeasuresMean()) units_[u].exchange->Complete(units_[u].calls.back());
    OpenCall(units_[u]);
  }
  EncodeOpen(/*measured_alone=*/true);
}

template <class Write, class Read>
void HostModelExchange::Share(std::span<const int> workers, const Write& write, const Read& read) {
  if (processes_.Alone()) return;
  StateWriter out;
  for (const int worker : workers) {
    if (processes_.Owns(worker)) write(worker, out);
  }
  const std::vector<Bytes> all = processes_.AllGather(out.Take());
  std::vector<StateReader> in(all.begin(), all.end());
  for (const int worker : workers) {
    if (!processes_.Owns(worker)) read(worker, in[processes_.OwnerOf(worker)]);
  }
}

void HostModelExchange::ShareMessages() {
  Share(
      active_workers_,
      [&](int worker, StateWriter& out) {
        for (const UnitState& unit : units_) {
          if (!unit.open) continue;
          out.Blob(unit.messages[worker].bytes);
          unit.exchange->WriteNotes(worker, out);
        }
      },
      [&](int worker, StateReader& in) {
        for (UnitState& unit : units_) {
          if (!unit.open) continue;
          const ByteSpan message = in.Blob();
          unit.messages[worker].bytes.assign(message.begin(), message.end());
          unit.exchange->ReadNotes(worker, in);
        }
      });
}

std::span<const std::vector<Probe>> HostModelExchange::Probes() {
  const int units = static_cast<int>(units_.size());
  if (MeasuresMean()) {
    RunCalls();
    pool_.ForEach(units, [&](int64_t u, int) {
      if (Measured(static_cast<int>(u))) probes_[0][u] = units_[u].exchange->Measure(0, {});
    });
    return probes_;
  }
  Share(
      active_workers_,
      [&](int worker, StateWriter& out) {
        for (int u = 0; u < units; ++u) {
          if (!Measured(u)) continue;
          const Probe& probe = probes_[worker][u];
          out.Number(std::bit_cast<uint64_t>(probe.squared));
          out.Number(probe.kept.size());
          for (const double kept : probe.kept) out.Number(std::bit_cast<uint64_t>(kept));
        }
      },
      [&](int worker, StateReader& in) {
        for (int u = 0; u < units; ++u) {
          if (!Measured(u)) continue;
          Probe& probe = probes_[worker][u];
          probe.squared = std::bit_cast<double>(in.Number());
          probe.kept.resize(in.Number("candidates", in.Left()));
          for (double& kept : probe.kept) kept = std::bit_cast<double>(in.Number());
        }
      });
  return probes_;
}

void HostModelExchange::Loaded() {
  std::vector<int> workers(static_cast<size_t>(workers_));
  std::iota(workers.begin(), workers.end(), 0);
  Share(
      workers,
      [&](int worker, StateWriter& out) {
        for (const UnitState& unit : units_) unit.exchange->WriteNotes(worker, out);
      },
      [&](int worker, StateReader& in) {
        for (UnitState& unit : units_) unit.exchange->ReadNotes(worker, in);
      });
}

void HostModelExchange::Finish(float* mean) {
  while (AnyOpen()) {
    RunCalls();
    if (AnyOpen()) EncodeOpen(/*measured_alone=*/false);
  }
  pool_.ForEach(std::ssize(units_), [&](int64_t u, int) {
    const Unit& unit = units_[u].unit;
    units_[u].exchange->Mean({mean + unit.offset, static_cast<size_t>(unit.numel)});
  });
}

void HostModelExchange::RunCalls() {
  ShareMessages();
  CountBytes();
  if (hook_) CallHook();
  // Units share nothing, so their messages are accumulated in parallel; within a unit, workers go
  // in order.
  pool_.ForEach(std::ssize(units_), [&](int64_t u, int) {
    UnitState& unit = units_[u];
    if (!unit.open) return;
    Accumulate(unit);
    unit.open = false;
    if (!Measured(static_cast<int>(u)) || !MeasuresMean()) OpenCall(unit);
  });
}

void HostModelExchange::RescaleResiduals(float factor) {
  for (UnitState& unit : units_) unit.exchange->RescaleResiduals(factor);
}

std::vector<float> HostModelExchange::CopyResidual(int unit, int worker) const {
  const std::span<const float> residual = units_[unit].exchange->Residual(worker);
  return {residual.begin(), residual.end()};
}

void HostModelExchange::SaveShared(StateWriter& out) const {
  for (const UnitState& unit : units_) unit.exchange->SaveShared(out);
}

void HostModelExchange::LoadShared(StateReader& in) {
  for (UnitState& unit : units_) unit.exchange->LoadShared(in);
}

void HostModelExchange::SaveWorker(int worker, StateWriter& out) const {
  for (const UnitState& unit : units_) unit.exchange->SaveWorker(worker, out);
}

void HostModelExchange::LoadWorker(int worker, StateReader& in) {
  for (UnitState& unit : units_) unit.exchange->LoadWorker(worker, in);
}

void HostModelExchange::OpenCall(UnitState& unit) {
  const std::optional<CollectiveCall> call = unit.exchange->NextCall();
  unit.open = call.has_value();
  if (call) unit.calls.push_back({*call, std::vector<int64_t>(static_cast<size_t>(workers_))});
}

void HostModelExchange::CountBytes() {
  for (UnitState& unit : units_) {
    if (!unit.open) continue;
    const bool parts = unit.calls.back().collective == Collective::kAllToAll;
    for (const int w : active_workers_) {
      const Message& message = unit.messages[w];
      SetSent(w, message.size(),
              parts ? unit.exchange->PartBytes(w, message.bytes) : std::vector<int64_t>(),
              active_workers_, unit.calls.back());
    }
  }
}

void HostModelExchange::CallHook() {
  for (size_t u = 0; u < units_.size(); ++u) {
    UnitState& unit = units_[u];
    if (!unit.open) continue;
    const int call = static_cast<int>(unit.calls.size()) - 1;
    for (const int w : active_workers_) {
      hook_({step_, static_cast<int>(u), call, w}, unit.messages[w].bytes);
    }
  }
}

void HostModelExchange::Accumulate(UnitState& unit) {
  for (const int w : active_workers_) {
    GiveUpIfLate();
    try {
      unit.exchange->Accumulate(w, unit.messages[w].bytes);
    } catch (const Error& error) {
      throw Error("worker " + std::to_string(w) + ", unit '" + unit.unit.name +
                  "': " + error.what());
    }
    unit.messages[w] = {};
  }
  unit.exchange->Complete(unit.calls.back());
  unit.exchange->FinishCall();
}

void HostModelExchange::EncodeOpen(bool measured_alone) {
  pool_.ForEach(std::ssize(own_workers_), [&](int64_t i, int) {
    const int worker = own_workers_[i];
    for (size_t u = 0; u < units_.size(); ++u) {
      UnitState& unit = units_[u];
      if (!unit.open || (measured_alone && !Measured(static_cast<int>(u)))) continue;
      unit.messages[worker] = unit.exchange->Encode(worker, {});
    }
  });
}

bool HostModelExchange::AnyOpen() const {
  return std::ranges::any_of(units_, [](const UnitState& unit) { return unit.open; });
}

}  // namespace legacy
