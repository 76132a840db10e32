#include "compress/schemes/ef21.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "base/state.h"
#include "compress/cpu/vector.h"
#include "compress/schemes/exchange_base.h"
#include "compress/schemes/wrapped_scheme.h"

namespace legacy {
namespace {

constexpr double kLeastEta = 1e-6;
constexpr uint64_t kEf21StateVersion = 1;

// Returns true if a scheme sends a unit whole with every parameter. (If it does so with some, it
// sends the difference whole.)
bool SendsWhole(const Scheme& scheme, const Unit& unit) {
  const ParameterSpec& spec = scheme.Parameter();
  return !scheme.Compresses(unit, spec.minimum) && !scheme.Compresses(unit, spec.maximum);
}

// The pass reads g and m, and writes m and the difference.
Work DifferenceWork(const Unit& unit) { return {"copy", 2 * unit.numel}; }
// H is read and written.
Work MeanWork(const Unit& unit) { return {"accumulate", unit.numel}; }

class Ef21Exchange : public Exchange {
 public:
  Ef21Exchange(std::shared_ptr<const Scheme> dense, std::shared_ptr<const Scheme> scheme,
               const Ef21Options& options, const Unit& unit, int workers)
      : schemes_{std::move(dense), std::move(scheme)},
        whole_(schemes_[0]->Open(unit, workers)),
        rest_(schemes_[1]->Open(unit, workers)),
        options_(options),
        unit_(unit),
        numel_(static_cast<size_t>(unit.numel)),
        workers_(workers),
        momenta_(static_cast<size_t>(workers)) {}

  void Begin(const UnitStep& context) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override { active_->Accumulate(worker, message); }
  void WriteNotes(int worker, StateWriter& out) const override { rest_->WriteNotes(worker, out); }
  void ReadNotes(int worker, StateReader& in) override { rest_->ReadNotes(worker, in); }
  void FinishCall() override { active_->FinishCall(); }
  void Mean(std::span<float> out) const override { std::ranges::copy(mean_, out.begin()); }
  std::span<const float> Known() const override {
    return KeepsWhole() ? std::span<const float>() : mean_;
  }
  int64_t ElementsSent() const override { return active_->ElementsSent(); }
  // Residuals are what the estimates of gradients lack, whatever the learning rate.
  void RescaleResiduals(float) override {}
  std::span<const float> Residual(int worker) const override { return rest_->Residual(worker); }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override;
  Bytes Save() const override;
  void Load(ByteSpan state) override;
  void SaveShared(StateWriter& out) const override;
  void LoadShared(StateReader& in) override;
  void SaveWorker(int worker, StateWriter& out) const override;
  void LoadWorker(int worker, StateReader& in) override;

 private:
  // KeepsWhole is true if the unit is always sent whole, and Whole if it is in this step.
  bool KeepsWhole() const { return SendsWhole(*schemes_[1], unit_); }
  bool Whole() const { return active_ == whole_.get(); }
  // Returns true if m_i is kept. Without momentum, a unit that is sent whole needs none.
  bool KeepsMomenta() const { return options_.eta < 1 || !KeepsWhole(); }
  Work MomentumWork() const;
  void Advance(std::span<const float> gradient, std::vector<float>& momentum,
               std::span<float> increment) const;
  void UpdateMean();
  void Start();

  std::shared_ptr<const Scheme> schemes_[2];  // dense, and the one that compresses
  std::unique_ptr<Exchange> whole_;
  std::unique_ptr<Exchange> rest_;
  Ef21Options options_;
  Unit unit_;
  size_t numel_;
  int workers_;
  Exchange* active_ = nullptr;
  std::vector<int> active_workers_;
  bool first_ = false;        // true in steps that start m_i, h_i and H
  bool begun_ = false;        // true until the mean of the step is known
  bool opens_ = false;        // true until the first call of the step
  size_t calls_left_ = 0;     // calls of the step that are expected
  std::vector<float> mean_;   // H
  std::vector<float> start_;  // h_i of workers that were not active in the first step; or empty
  std::vector<std::vector<float>> momenta_;  // m_i by worker; empty before its first gradient
};

void Ef21Exchange::Begin(const UnitStep& context) {
  if (!context.candidates.empty()) return Exchange::Choose(0);  // throws
  // Errors that would be thrown later are thrown from the first step on.
  rest_->Begin(context);
  first_ = context.info.step <= options_.dense_start;
  active_ = first_ || KeepsWhole() ? whole_.get() : rest_.get();
  if (Whole()) {
    UnitStep dense = context;
    dense.parameter = schemes_[0]->Parameter().fallback;
    whole_->Begin(dense);
  }
  active_workers_ = context.info.ActiveWorkers(workers_);
  const auto calls = schemes_[1]->ExpectedCalls(
      unit_, context.parameter, static_cast<int>(active_workers_.size()), context.info.link);
  calls_left_ = calls.value().size();
  mean_.resize(numel_);
  begun_ = true;
  opens_ = true;
}

std::optional<CollectiveCall> Ef21Exchange::NextCall() {
  if (!begun_) return std::nullopt;
  std::optional<CollectiveCall> call = active_->NextCall();
  if (!call) {
    UpdateMean();
    begun_ = false;
    return call;
  }
  if (std::exchange(opens_, false) && KeepsMomenta()) {
    call->encode.insert(call->encode.begin(), MomentumWork());
  }
  if (--calls_left_ == 0 && !Whole()) AddWork(MeanWork(unit_), call->decode);
  return call;
}

// The first gradient is copied. A unit that is sent whole needs no difference.
Work Ef21Exchange::MomentumWork() const {
  if (first_) return {"copy", unit_.numel};
  return Whole() ? Work{"accumulate", unit_.numel} : DifferenceWork(unit_);
}

Message Ef21Exchange::Encode(int worker, std::span<const float> gradient) {
  if (!KeepsMomenta() || (gradient.empty() && numel_ > 0)) {
    return active_->Encode(worker, gradient);
  }
  assert(gradient.size() == numel_);
  if (first_) momenta_[worker].clear();
  if (Whole()) {
    Advance(gradient, momenta_[worker], {});
    return active_->Encode(worker, momenta_[worker]);
  }
  std::vector<float> increment(numel_);
  Advance(gradient, momenta_[worker], increment);
  return active_->Encode(worker, increment);
}

// Makes m_i of m_i before, which is empty before the worker's first gradient. If `increment` is not
// empty, it becomes the difference, or at first that to h_i.
void Ef21Exchange::Advance(std::span<const float> gradient, std::vector<float>& momentum,
                           std::span<float> increment) const {
  if (momentum.empty()) {
    momentum.assign(gradient.begin(), gradient.end());
    if (increment.empty()) return;
    std::ranges::copy(gradient, increment.begin());
    for (size_t i = 0; i < start_.size(); ++i) increment[i] -= start_[i];
    return;
  }
  const auto eta = static_cast<float>(options_.eta);
  for (size_t i = 0; i < numel_; ++i) {
    const float before = momentum[i];
    momentum[i] = eta == 1 ? gradient[i] : before + eta * (gradient[i] - before);
    if (!increment.empty()) increment[i] = momentum[i] - before;
  }
}

void Ef21Exchange::UpdateMean() {
  if (Whole()) {
    active_->Mean(mean_);
    if (first_) Start();
    return;
  }
  std::vector<float> change(numel_);
  active_->Mean(change);
  const auto active = static_cast<int>(active_workers_.size());
  if (active < workers_) {
    cpu::Scale(change, static_cast<float>(active) / static_cast<float>(workers_));
  }
  cpu::Add(change, mean_);
}

// Starts the workers that are absent from the first step at the mean of the others.
void Ef21Exchange::Start() {
  start_.clear();
  if (static_cast<int>(active_workers_.size()) == workers_ || KeepsWhole()) return;
  start_ = mean_;
  for (int worker = 0; worker < workers_; ++worker) {
    if (!std::ranges::binary_search(active_workers_, worker)) momenta_[worker].clear();
  }
}

std::vector<float> Ef21Exchange::ErrorFed(int worker, std::span<const float> gradient) const {
  std::vector<float> momentum = momenta_[worker];
  std::vector<float> increment(KeepsWhole() ? 0 : numel_);
  Advance(gradient, momentum, increment);
  return KeepsWhole() ? momentum : rest_->ErrorFed(worker, increment);
}

Bytes Ef21Exchange::Save() const {
  StateWriter out;
  out.Number(kEf21StateVersion);
  out.Number(static_cast<uint64_t>(workers_));
  out.Blob(rest_->Save());
  SaveKept(mean_, out);
  SaveKept(start_, out);
  for (const auto& momentum : momenta_) SaveKept(momentum, out);
  return out.Take();
}

void Ef21Exchange::Load(ByteSpan state) {
  StateReader in(state);
  in.ExpectNumber("version of ef21", kEf21StateVersion);
  in.ExpectNumber("workers", static_cast<uint64_t>(workers_));
  const ByteSpan rest = in.Blob();
  std::vector<float> mean = LoadKept("estimate of the mean", unit_.numel, in);
  std::vector<float> start = LoadKept("estimate of absent workers", unit_.numel, in);
  std::vector<std::vector<float>> momenta(momenta_.size());
  for (auto& momentum : momenta) momentum = LoadKept("momentum of a worker", unit_.numel, in);
  in.ExpectEnd();
  rest_->Load(rest);
  mean_ = std::move(mean);
  start_ = std::move(start);
  momenta_ = std::move(momenta);
}

void Ef21Exchange::SaveShared(StateWriter& out) const {
  out.Number(kEf21StateVersion);
  rest_->SaveShared(out);
  SaveKept(mean_, out);
  SaveKept(start_, out);
}

void Ef21Exchange::LoadShared(StateReader& in) {
  in.ExpectNumber("version of ef21", kEf21StateVersion);
  rest_->LoadShared(in);
  mean_ = LoadKept("estimate of the mean", unit_.numel, in);
  start_ = LoadKept("estimate of absent workers", unit_.numel, in);
}

void Ef21Exchange::SaveWorker(int worker, StateWriter& out) const {
  rest_->SaveWorker(worker, out);
  SaveKept(momenta_[worker], out);
}

void Ef21Exchange::LoadWorker(int worker, StateReader& in) {
  rest_->LoadWorker(worker, in);
  momenta_[worker] = LoadKept("momentum of a worker", unit_.numel, in);
}

// It describes the steps after the first.
class Ef21Scheme : public WrappedScheme {
 public:
  Ef21Scheme(std::unique_ptr<Scheme> scheme, const Ef21Options& options)
      : WrappedScheme(std::move(scheme)),
        dense_(MakeScheme("dense", {.error_feedback = false})),
        options_(options) {}
  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.takes_candidates = false;
    traits.sends_values = false;
    traits.needs_error_feedback = true;
    traits.dense_steps = options_.dense_start + 1;
    traits.starts_dense = true;
    return traits;
  }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override {
    auto calls = scheme()->ExpectedCalls(unit, parameter, active_workers, link);
    if (!calls || SendsWhole(*scheme(), unit)) return calls;
    WorkList before = {DifferenceWork(unit)};
    AddWork(calls->front().call.encode, before);
    calls->front().call.encode = std::move(before);
    AddWork(MeanWork(unit), calls->back().call.decode);
    return calls;
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<Ef21Exchange>(dense_, scheme(), options_, unit, workers);
  }

 private:
  std::shared_ptr<const Scheme> dense_;
  Ef21Options options_;
};

}  // namespace

const OptionSpec& EtaOption() {
  static const OptionSpec option = {"eta", "0.1", "1e-6 to 1",
                                    "share of the gradient in the momentum of memory=ef21m"};
  return option;
}

std::optional<Ef21Options> ReadEf21(std::string_view memory, const OptionReader& reader,
                                    const SchemeOptions& options) {
  const double eta = reader.Number("eta", kLeastEta, 1);
  if (memory != kEf21 && memory != kEf21Momentum) return std::nullopt;
  if (!options.error_feedback) {
    throw Error("memory", std::string(memory), "residual; it is a form of error feedback");
  }
  return Ef21Options{.eta = memory == kEf21 ? 1 : eta, .dense_start = options.dense_start};
}

std::unique_ptr<Scheme> WithEf21(std::unique_ptr<Scheme> scheme, const Ef21Options& options) {
  const SchemeTraits traits = scheme->Traits();
  const auto refuse = [&](const char* allowed) {
    throw Error("memory of " + std::string(scheme->Name()),
                std::string(options.eta < 1 ? kEf21Momentum : kEf21), allowed);
  };
  if (traits.compresses_mean) refuse("residual with where=after-mean");
  if (traits.residual_decay != 1) refuse("residual with a decay of it");
  return std::make_unique<Ef21Scheme>(std::move(scheme), options);
}

}  // namespace legacy
