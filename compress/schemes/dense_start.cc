#include "compress/schemes/dense_start.h"

#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

class DenseStartExchange : public Exchange {
 public:
  DenseStartExchange(std::unique_ptr<Exchange> dense, std::unique_ptr<Exchange> rest, int64_t steps)
      : dense_(std::move(dense)), rest_(std::move(rest)), steps_(steps), active_(rest_.get()) {}

  void Begin(const UnitStep& context) override {
    // Errors that would be thrown later are thrown from the first step on.
    rest_->Begin(context);
    active_ = rest_.get();
    if (context.info.step >= steps_) return;
    active_ = dense_.get();
    active_->Begin(context);
  }
  std::optional<CollectiveCall> NextCall() override { return active_->NextCall(); }
  Message Encode(int worker, std::span<const float> gradient) override {
    return active_->Encode(worker, gradient);
  }
  void Accumulate(int worker, ByteSpan message) override { active_->Accumulate(worker, message); }
  void WriteNotes(int worker, StateWriter& out) const override { rest_->WriteNotes(worker, out); }
  void ReadNotes(int worker, StateReader& in) override { rest_->ReadNotes(worker, in); }
  void FinishCall() override { active_->FinishCall(); }
  void Mean(std::span<float> out) const override { active_->Mean(out); }
  int64_t ElementsSent() const override { return active_->ElementsSent(); }
  // All state belongs to the scheme, because dense steps leave no residual.
  void RescaleResiduals(float factor) override { rest_->RescaleResiduals(factor); }
  std::span<const float> Residual(int worker) const override { return rest_->Residual(worker); }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
    return rest_->ErrorFed(worker, gradient);
  }
  Bytes Save() const override { return rest_->Save(); }
  void Load(ByteSpan state) override { rest_->Load(state); }
  void SaveShared(StateWriter& out) const override { rest_->SaveShared(out); }
  void LoadShared(StateReader& in) override { rest_->LoadShared(in); }
  void SaveWorker(int worker, StateWriter& out) const override { rest_->SaveWorker(worker, out); }
  void LoadWorker(int worker, StateReader& in) override { rest_->LoadWorker(worker, in); }

 private:
  std::unique_ptr<Exchange> dense_;
  std::unique_ptr<Exchange> rest_;
  int64_t steps_;
  Exchange* active_;
};

class DenseStartScheme : public Scheme {
 public:
  DenseStartScheme(std::unique_ptr<Scheme> scheme, int64_t steps)
      : dense_(MakeScheme("dense", {.error_feedback = false})),
        scheme_(std::move(scheme)),
        steps_(steps) {}
  std::string_view Name() const override { return scheme_->Name(); }
  const ParameterSpec& Parameter() const override { return scheme_->Parameter(); }
  // Describes the steps after the start, as do the functions below.
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    return scheme_->ElementsSent(unit, parameter);
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return scheme_->MessageBytes(unit, parameter);
  }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override {
    return scheme_->ExpectedCalls(unit, parameter, active_workers, link);
  }
  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme_->Traits();
    traits.takes_candidates = false;
    traits.dense_steps = steps_;
    return traits;
  }
  bool Compresses(const Unit& unit, double parameter) const override {
    return scheme_->Compresses(unit, parameter);
  }
  bool UsesErrorFeedback(double parameter) const override {
    return scheme_->UsesErrorFeedback(parameter);
  }
  std::optional<double> LocalClipNorm(int workers) const override {
    return scheme_->LocalClipNorm(workers);
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    return scheme_->SquaredErrors(unit, values, parameters, random);
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    return scheme_->ErrorWork(unit, parameters);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<DenseStartExchange>(dense_->Open(unit, workers),
                                                scheme_->Open(unit, workers), steps_);
  }

 private:
  std::unique_ptr<Scheme> dense_;
  std::unique_ptr<Scheme> scheme_;
  int64_t steps_;
};

}  // namespace

const OptionSpec& DenseStartOption() {
  static const OptionSpec option = {
      "dense_start", "0", "0 to 2^53",
      "number of first steps that send everything uncompressed, by all-reduce"};
  return option;
}

std::unique_ptr<Scheme> WithDenseStart(std::unique_ptr<Scheme> scheme, int64_t steps) {
  if (steps == 0 || scheme->Traits().starts_dense) return scheme;
  if (scheme->Traits().owns_momentum) {
    throw Error("option dense_start of " + std::string(scheme->Name()), std::to_string(steps),
                "0, as momentum is applied before compression; policy warmup:form=dense starts so");
  }
  return std::make_unique<DenseStartScheme>(std::move(scheme), steps);
}

}  // namespace legacy
