#include "compress/schemes/compressed_mean.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "base/state.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/wrapped_scheme.h"

namespace legacy {
namespace {

std::string NameOf(Where where) { return std::string(kPlaces[static_cast<size_t>(where)]); }

// The schemes of a step, which exchanges share.
struct Parts {
  std::shared_ptr<const Scheme> first;  // of the workers' gradients
  std::shared_ptr<const Scheme> own;    // of the mean
  Where where = Where::kAfterMean;
  Again again = Again::kOff;

  // True if a policy can choose the parameter once the mean is known, and nothing is sent then.
  bool TakesCandidates() const {
    return where == Where::kAfterMean && again == Again::kOff && own->Traits().takes_candidates;
  }

  // Returns the parameter of what workers send.
  double FirstParameter(double parameter) const {
    return where == Where::kBoth ? parameter : first->Parameter().fallback;
  }

  // Returns the only call of that scheme. Throws Error if its length depends on the data.
  PlannedCall OnlyCall(const Scheme& scheme, const Unit& unit, double parameter,
                       int active_workers) const {
    const auto calls = scheme.Plan(unit, parameter, active_workers);
    if (!calls || calls->size() != 1) {
      throw Error("where of " + std::string(scheme.Name()), NameOf(where),
                  "worker; lengths of its messages depend on the data");
    }
    return calls->front();
  }

  // Returns the calls of a unit. Whoever compresses the mean does so after the first call.
  std::vector<PlannedCall> Calls(const Unit& unit, double parameter, int active_workers) const {
    PlannedCall sent = OnlyCall(*first, unit, FirstParameter(parameter), active_workers);
    PlannedCall mean = OnlyCall(*own, unit, parameter, 1);
    WorkList encode = std::exchange(mean.call.encode, {});
    if (where != Where::kAfterMean) {
      sent.call.serve = std::exchange(sent.call.decode, mean.call.decode);
      AddWork(encode, sent.call.serve);
      sent.call.reduction = Reduction::kServed;
      sent.call.pull = mean.bytes;
      return {sent};
    }
    std::vector<PlannedCall> calls = {sent};
    WorkList& after = calls.front().call.decode;
    AddWork(encode, after);
    if (again == Again::kGather) {
      mean.call.reduction = Reduction::kConcat;
      mean.call.collective = Collective::kAllGather;
      mean.call.decode = Times(std::move(mean.call.decode), active_workers);
      calls.push_back(std::move(mean));
      return calls;
    }
    AddWork(mean.call.decode, after);
    if (again == Again::kDense) calls.push_back(std::move(sent));
    return calls;
  }
};

class CompressedMeanExchange : public Exchange {
 public:
  CompressedMeanExchange(const Parts& parts, const Unit& unit, int workers)
      : parts_(parts),
        first_(parts.first->Open(unit, workers)),
        own_(parts.own->Open(unit, 1)),
        unit_(unit),
        workers_(workers) {}

  void Begin(const UnitStep& context) override {
    measures_ = !context.candidates.empty();
    if (measures_ && !parts_.TakesCandidates()) return Exchange::Choose(0);  // throws
    UnitStep first = context;
    first.parameter = parts_.FirstParameter(context.parameter);
    first.candidates.clear();
    first_->Begin(first);
    UnitStep own = context;
    own.info.active_workers.clear();
    if (parts_.where != Where::kAfterMean) own.first_sender = static_cast<uint32_t>(workers_);
    own_->Begin(own);
    const auto active = static_cast<int>(context.info.ActiveWorkers(workers_).size());
    calls_ = measures_ ? std::vector{parts_.OnlyCall(*parts_.first, unit_, first.parameter, active)}
                       : parts_.Calls(unit_, context.parameter, active);
    call_ = 0;
    chosen_.reset();
  }

  // All workers measure the mean, and draw, as worker 0 does.
  Probe Measure(int, std::span<const float>) override {
    assert(measures_ && call_ == 1);
    return own_->Measure(0, mean_);
  }
  void Choose(size_t index) override {
    own_->Choose(index);
    Compress();
  }
  void Complete(CollectiveCall& call) const override {
    if (!chosen_) return;
    AddWork(chosen_->encode, call.decode);
    AddWork(chosen_->decode, call.decode);
  }

  std::optional<CollectiveCall> NextCall() override {
    if (call_ == calls_.size()) return std::nullopt;
    if (call_ == 0) first_->NextCall();
    return calls_[call_].call;
  }

  Message Encode(int worker, std::span<const float> gradient) override {
    return call_ == 0 ? first_->Encode(worker, gradient) : message_;
  }

  void Accumulate(int worker, ByteSpan message) override {
    if (call_ == 0) return first_->Accumulate(worker, message);
    if (!std::ranges::equal(message, ByteSpan(message_.bytes))) {
      throw Error("message of the mean: it differs from that of other workers");
    }
  }

  void FinishCall() override {
    if (call_++ > 0) return;
    first_->FinishCall();
    mean_.resize(static_cast<size_t>(unit_.numel));
    first_->Mean(mean_);
    if (!CompressesFirst()) fed_ = own_->ErrorFed(0, mean_);
    if (!measures_) Compress();
  }

  void Mean(std::span<float> out) const override { std::ranges::copy(update_, out.begin()); }
  std::span<const float> Averaged() const override { return mean_; }
  std::span<const float> AveragedFed() const override { return fed_; }
  int64_t ElementsSent() const override { return Selecting().ElementsSent(); }
  void RescaleResiduals(float factor) override {
    first_->RescaleResiduals(factor);
    own_->RescaleResiduals(factor);
  }
  std::span<const float> Residual(int worker) const override {
    return Selecting().Residual(CompressesFirst() ? worker : 0);
  }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
    return Selecting().ErrorFed(CompressesFirst() ? worker : 0, gradient);
  }

  Bytes Save() const override {
    StateWriter out;
    out.Blob(first_->Save());
    out.Blob(own_->Save());
    return out.Take();
  }
  void Load(ByteSpan state) override {
    StateReader in(state);
    const ByteSpan first = in.Blob();
    const ByteSpan own = in.Blob();
    in.ExpectEnd();
    first_->Load(first);
    own_->Load(own);
  }
  // The state of the mean is shared.
  void SaveShared(StateWriter& out) const override {
    first_->SaveShared(out);
    out.Blob(own_->Save());
  }
  void LoadShared(StateReader& in) override {
    first_->LoadShared(in);
    own_->Load(in.Blob());
  }
  void SaveWorker(int worker, StateWriter& out) const override { first_->SaveWorker(worker, out); }
  void LoadWorker(int worker, StateReader& in) override { first_->LoadWorker(worker, in); }

 private:
  bool CompressesFirst() const { return parts_.where == Where::kBoth; }
  // Makes the update of the mean, and the message that all send again.
  void Compress() {
    const std::optional<CollectiveCall> call = own_->NextCall();
    if (measures_) chosen_ = call;
    message_ = own_->Encode(0, measures_ ? std::span<const float>() : mean_);
    own_->Accumulate(0, message_.bytes);
    own_->FinishCall();
    update_.resize(mean_.size());
    own_->Mean(update_);
    if (parts_.again == Again::kDense) message_ = DenseCodec().Encode(update_, {});
  }
  // Returns the exchange that selects what workers send, or else what the mean keeps.
  const Exchange& Selecting() const { return CompressesFirst() ? *first_ : *own_; }

  Parts parts_;
  std::unique_ptr<Exchange> first_;
  std::unique_ptr<Exchange> own_;  // of the mean, as of one worker
  Unit unit_;
  int workers_;
  std::vector<PlannedCall> calls_;
  size_t call_ = 0;
  bool measures_ = false;                 // true where the step has candidates
  std::optional<CollectiveCall> chosen_;  // with the work of the candidate that was chosen
  Message message_;                       // of the mean, or what all workers send again
  std::vector<float> mean_;               // what the first call has formed
  std::vector<float> fed_;                // e
  std::vector<float> update_;             // u
};

class CompressedMeanScheme : public WrappedScheme {
 public:
  explicit CompressedMeanScheme(const Parts& parts) : WrappedScheme(parts.own), parts_(parts) {}
  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.takes_candidates = parts_.TakesCandidates();
    traits.compresses_mean = parts_.where != Where::kBoth;
    traits.servers = parts_.where == Where::kAfterMean ? 0 : 1;
    return traits;
  }
  WorkList SelectWork(int64_t numel, double parameter) const override {
    return scheme()->SelectWork(numel, parameter);
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
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<CompressedMeanExchange>(parts_, unit, workers);
  }

 private:
  Parts parts_;
};

}  // namespace

std::unique_ptr<Scheme> CompressedMean(std::unique_ptr<Scheme> scheme, Where where, Again again) {
  const auto refuse = [&](const std::string& allowed) {
    throw Error("where of " + std::string(scheme->Name()), NameOf(where), allowed);
  };
  if (scheme->Traits().owns_momentum) refuse("worker with memory=momentum");
  if (scheme->Traits().depends_on_collective)
    refuse("worker with sums that are rounded on the way");
  Parts parts{.first = nullptr, .own = std::move(scheme), .where = where, .again = again};
  parts.first = where == Where::kBoth
                    ? parts.own
                    : std::shared_ptr(MakeScheme("dense", {.error_feedback = false}));
  const Unit one{.name = "one", .shape = {1}, .numel = 1};
  parts.OnlyCall(*parts.own, one, parts.own->Parameter().fallback, 1);
  return std::make_unique<CompressedMeanScheme>(parts);
}

}  // namespace legacy
