#include "compress/schemes/after_mean.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/state.h"

namespace legacy {
namespace {

// The schemes of a step, which exchanges share.
struct Parts {
  std::shared_ptr<const Scheme> dense;
  std::shared_ptr<const Scheme> own;  // of the mean
  Again again = Again::kOff;

  // Returns the only call of the mean's scheme, as that of one worker. Throws Error if its length
  // depends on the data.
  PlannedCall OwnCall(const Unit& unit, double parameter) const {
    const auto calls = own->Plan(unit, parameter, 1);
    if (!calls || calls->size() != 1) {
      throw Error("where of " + std::string(own->Name()), "after-mean",
                  "worker; lengths of its messages depend on the data");
    }
    return calls->front();
  }

  // Returns the calls of a unit. The work of compressing the mean follows the dense call at every
  // worker.
  std::vector<PlannedCall> Calls(const Unit& unit, double parameter, int active_workers) const {
    const std::vector<PlannedCall> all =
        dense->Plan(unit, dense->Parameter().fallback, active_workers).value();
    std::vector<PlannedCall> calls = all;
    PlannedCall mean = OwnCall(unit, parameter);
    AddWork(std::exchange(mean.call.encode, {}), calls.front().call.decode);
    if (again == Again::kGather) {
      mean.call.reduction = Reduction::kConcat;
      mean.call.collective = Collective::kAllGather;
      mean.call.decode = Times(std::move(mean.call.decode), active_workers);
      calls.push_back(std::move(mean));
      return calls;
    }
    AddWork(mean.call.decode, calls.front().call.decode);
    if (again == Again::kDense) calls.insert(calls.end(), all.begin(), all.end());
    return calls;
  }
};

class AfterMeanExchange : public Exchange {
 public:
  AfterMeanExchange(const Parts& parts, const Unit& unit, int workers)
      : parts_(parts),
        dense_(parts.dense->Open(unit, workers)),
        own_(parts.own->Open(unit, 1)),
        unit_(unit),
        workers_(workers) {}

  void Begin(const UnitStep& context) override {
    if (!context.candidates.empty()) return Exchange::Choose(0);  // throws
    UnitStep dense = context;
    dense.parameter = parts_.dense->Parameter().fallback;
    dense_->Begin(dense);
    UnitStep own = context;
    own.info.active_workers.clear();
    own_->Begin(own);
    calls_ = parts_.Calls(unit_, context.parameter,
                          static_cast<int>(context.info.ActiveWorkers(workers_).size()));
    call_ = 0;
  }

  std::optional<CollectiveCall> NextCall() override {
    if (call_ == calls_.size()) return std::nullopt;
    if (call_ == 0) dense_->NextCall();
    return calls_[call_].call;
  }

  Message Encode(int worker, std::span<const float> gradient) override {
    return call_ == 0 ? dense_->Encode(worker, gradient) : message_;
  }

  void Accumulate(int worker, ByteSpan message) override {
    if (call_ == 0) return dense_->Accumulate(worker, message);
    if (!std::ranges::equal(message, ByteSpan(message_.bytes))) {
      throw Error("message of the mean: it differs from that of other workers");
    }
  }

  void FinishCall() override {
    if (call_++ > 0) return;
    dense_->FinishCall();
    mean_.resize(static_cast<size_t>(unit_.numel));
    dense_->Mean(mean_);
    fed_ = own_->ErrorFed(0, mean_);
    own_->NextCall();
    message_ = own_->Encode(0, mean_);
    own_->Accumulate(0, message_.bytes);
    own_->FinishCall();
    update_.resize(mean_.size());
    own_->Mean(update_);
    if (parts_.again == Again::kDense) message_ = DenseCodec().Encode(update_, {});
    if (own_->NextCall()) throw Error("scheme: after-mean takes those of one collective call");
  }

  void Mean(std::span<float> out) const override { std::ranges::copy(update_, out.begin()); }
  std::span<const float> Averaged() const override { return mean_; }
  std::span<const float> AveragedFed() const override { return fed_; }
  int64_t ElementsSent() const override { return own_->ElementsSent(); }
  void RescaleResiduals(float factor) override { own_->RescaleResiduals(factor); }
  std::span<const float> Residual(int) const override { return own_->Residual(0); }
  std::vector<float> ErrorFed(int, std::span<const float> gradient) const override {
    return own_->ErrorFed(0, gradient);
  }
  // All state is that of the mean, which all workers share.
  Bytes Save() const override {
    StateWriter out;
    out.Number(static_cast<uint64_t>(workers_));
    out.Blob(own_->Save());
    return out.Take();
  }
  void Load(ByteSpan state) override {
    StateReader in(state);
    if (in.Number() != static_cast<uint64_t>(workers_)) {
      throw Error("state of an exchange: it has another number of workers");
    }
    const ByteSpan own = in.Blob();
    in.ExpectEnd();
    own_->Load(own);
  }

 private:
  Parts parts_;
  std::unique_ptr<Exchange> dense_;
  std::unique_ptr<Exchange> own_;  // of the mean, as of one worker
  Unit unit_;
  int workers_;
  std::vector<PlannedCall> calls_;
  size_t call_ = 0;
  Message message_;            // that all workers send again
  std::vector<float> mean_;    // gbar
  std::vector<float> fed_;     // e
  std::vector<float> update_;  // u
};

class AfterMeanScheme : public Scheme {
 public:
  explicit AfterMeanScheme(Parts parts) : parts_(std::move(parts)) {}
  std::string_view Name() const override { return parts_.own->Name(); }
  const ParameterSpec& Parameter() const override { return parts_.own->Parameter(); }
  SchemeTraits Traits() const override {
    SchemeTraits traits = parts_.own->Traits();
    traits.takes_candidates = false;
    traits.compresses_mean = true;
    return traits;
  }
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    return parts_.own->ElementsSent(unit, parameter);
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    int64_t bytes = 0;
    for (const PlannedCall& call : parts_.Calls(unit, parameter, 1)) {
      bytes += call.bytes;
    }
    return bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    return parts_.Calls(unit, parameter, active_workers);
  }
  bool Compresses(const Unit& unit, double parameter) const override {
    return parts_.own->Compresses(unit, parameter);
  }
  bool UsesErrorFeedback(double parameter) const override {
    return parts_.own->UsesErrorFeedback(parameter);
  }
  std::optional<double> LocalClipNorm(int workers) const override {
    return parts_.own->LocalClipNorm(workers);
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    return parts_.own->SquaredErrors(unit, values, parameters, random);
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    return parts_.own->ErrorWork(unit, parameters);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<AfterMeanExchange>(parts_, unit, workers);
  }

 private:
  Parts parts_;
};

}  // namespace

std::unique_ptr<Scheme> AfterMean(std::unique_ptr<Scheme> scheme, Again again) {
  if (scheme->Traits().owns_momentum) {
    throw Error("where of " + std::string(scheme->Name()), "after-mean",
                "worker with memory=momentum");
  }
  if (scheme->Traits().depends_on_collective) {
    throw Error("where of " + std::string(scheme->Name()), "after-mean",
                "worker with sums that are rounded on the way");
  }
  Parts parts{.dense = MakeScheme("dense", {.error_feedback = false}),
              .own = std::move(scheme),
              .again = again};
  parts.OwnCall({.name = "one", .shape = {1}, .numel = 1}, parts.own->Parameter().fallback);
  return std::make_unique<AfterMeanScheme>(std::move(parts));
}

}  // namespace legacy
