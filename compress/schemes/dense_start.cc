#include "compress/schemes/dense_start.h"

#include <utility>

#include "base/error.h"
#include "compress/schemes/wrapped_scheme.h"

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
  std::vector<int64_t> PartBytes(int worker, ByteSpan message) const override {
    return active_->PartBytes(worker, message);
  }
  void Complete(CollectiveCall& call) const override { active_->Complete(call); }
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

// It describes the steps after the start.
class DenseStartScheme : public WrappedScheme {
 public:
  DenseStartScheme(std::unique_ptr<Scheme> scheme, int64_t steps)
      : WrappedScheme(std::move(scheme)),
        dense_(MakeScheme("dense", {.error_feedback = false})),
        steps_(steps) {}
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override {
    return scheme()->ExpectedCalls(unit, parameter, active_workers, link);
  }
  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.takes_candidates = false;
    traits.dense_steps = steps_;
    return traits;
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<DenseStartExchange>(dense_->Open(unit, workers),
                                                scheme()->Open(unit, workers), steps_);
  }

 private:
  std::unique_ptr<Scheme> dense_;
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
