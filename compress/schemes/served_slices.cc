#include "compress/schemes/served_slices.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/state.h"
#include "compress/checks.h"
#include "compress/schemes/wrapped_scheme.h"

namespace legacy {
namespace {

// Returns the unit's slices, one for each server that has any.
std::vector<Unit> SlicesOf(const Unit& unit, int servers) {
  const int64_t count = std::clamp<int64_t>(unit.numel, 1, servers);
  std::vector<Unit> slices;
  int64_t begin = 0;
  for (int64_t s = 0; s < count; ++s) {
    const int64_t numel = unit.numel / count + (s < unit.numel % count ? 1 : 0);
    slices.push_back({unit.id, unit.name, {numel}, unit.offset + begin, numel});
    begin += numel;
  }
  return slices;
}

// The schemes of a step, which exchanges share.
struct Slicing {
  SliceSchemes schemes;
  int servers = 1;

  const std::shared_ptr<const Scheme>& Of(const Unit& unit, double parameter) const {
    return schemes.units->Compresses(unit, parameter) ? schemes.compressed : schemes.whole;
  }

  // Returns the planned calls of slices that `scheme` serves.
  static std::vector<PlannedCall> Calls(const Scheme& scheme, std::span<const Unit> slices,
                                        double parameter, int active_workers) {
    std::vector<PlannedCall> calls;
    for (const Unit& slice : slices) {
      calls.push_back(scheme.Plan(slice, parameter, active_workers).value().front());
    }
    return calls;
  }

  // Returns the call that the slices' calls are together. Workers encode and decode slices as they
  // do units of a bucket; each server works with launches of its own.
  PlannedCall Joined(std::span<const PlannedCall> calls) const {
    PlannedCall all;
    all.call.reduction = calls.front().call.reduction;
    all.call.collective = calls.front().call.collective;
    all.call.pull = 0;
    for (const PlannedCall& slice : calls) {
      all.bytes += slice.bytes;
      *all.call.pull += slice.call.pull.value();
      all.call.served.push_back({.sent = slice.bytes, .answered = *slice.call.pull});
      JoinWork(slice.call.encode, all.call.encode);
      JoinWork(slice.call.decode, all.call.decode);
      AddWork(slice.call.serve, all.call.serve);
    }
    all.call.served.resize(static_cast<size_t>(servers));
    return all;
  }

  PlannedCall Plan(const Unit& unit, double parameter, int active_workers) const {
    return Joined(Calls(*Of(unit, parameter), SlicesOf(unit, servers), parameter, active_workers));
  }
};

class ServedSlicesExchange : public Exchange {
 public:
  ServedSlicesExchange(const Slicing& slicing, const Unit& unit, int workers)
      : slicing_(slicing),
        scheme_(slicing.Of(unit, slicing.schemes.units->Parameter().fallback)),
        slices_(SlicesOf(unit, slicing.servers)),
        workers_(workers),
        begin_(unit.offset),
        residuals_(static_cast<size_t>(workers)) {
    for (const Unit& slice : slices_) exchanges_.push_back(scheme_->Open(slice, workers));
  }

  void Begin(const UnitStep& context) override {
    for (size_t s = 0; s < slices_.size(); ++s) {
      UnitStep step = context;
      if (s > 0) step.info.seed = HashWords({context.info.seed, s});
      exchanges_[s]->Begin(step);
    }
    calls_ = Slicing::Calls(*scheme_, slices_, context.parameter,
                            static_cast<int>(context.info.ActiveWorkers(workers_).size()));
    joined_ = slicing_.Joined(calls_);
    done_ = false;
  }

  std::optional<CollectiveCall> NextCall() override {
    if (done_) return std::nullopt;
    for (const auto& exchange : exchanges_) exchange->NextCall();
    return joined_.call;
  }

  Message Encode(int worker, std::span<const float> gradient) override {
    Message all;
    for (size_t s = 0; s < slices_.size(); ++s) {
      const Message message = exchanges_[s]->Encode(worker, Of(s, gradient));
      all.bytes.insert(all.bytes.end(), message.bytes.begin(), message.bytes.end());
    }
    return all;
  }

  void Accumulate(int worker, ByteSpan message) override {
    CheckLength(message, joined_.bytes);
    for (size_t s = 0; s < slices_.size(); ++s) {
      const auto length = static_cast<size_t>(calls_[s].bytes);
      exchanges_[s]->Accumulate(worker, message.first(length));
      message = message.subspan(length);
    }
  }

  void FinishCall() override {
    averaged_.clear();
    fed_.clear();
    for (const auto& exchange : exchanges_) {
      exchange->FinishCall();
      Append(exchange->Averaged(), averaged_);
      Append(exchange->AveragedFed(), fed_);
    }
    done_ = true;
  }

  void Mean(std::span<float> out) const override {
    for (size_t s = 0; s < slices_.size(); ++s) exchanges_[s]->Mean(Of(s, out));
  }
  std::span<const float> Averaged() const override { return averaged_; }
  std::span<const float> AveragedFed() const override { return fed_; }
  int64_t ElementsSent() const override {
    int64_t sent = 0;
    for (const auto& exchange : exchanges_) sent += exchange->ElementsSent();
    return sent;
  }
  void RescaleResiduals(float factor) override {
    for (const auto& exchange : exchanges_) exchange->RescaleResiduals(factor);
  }
  std::span<const float> Residual(int worker) const override {
    std::vector<float>& residual = residuals_[static_cast<size_t>(worker)];
    residual.clear();
    for (const auto& exchange : exchanges_) Append(exchange->Residual(worker), residual);
    return residual;
  }
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const override {
    std::vector<float> fed;
    for (size_t s = 0; s < slices_.size(); ++s) {
      Append(exchanges_[s]->ErrorFed(worker, Of(s, gradient)), fed);
    }
    return fed;
  }

  Bytes Save() const override {
    StateWriter out;
    for (const auto& exchange : exchanges_) out.Blob(exchange->Save());
    return out.Take();
  }
  void Load(ByteSpan state) override {
    StateReader in(state);
    std::vector<ByteSpan> slices(slices_.size());
    for (ByteSpan& slice : slices) slice = in.Blob();
    in.ExpectEnd();
    for (size_t s = 0; s < slices.size(); ++s) exchanges_[s]->Load(slices[s]);
  }
  void SaveShared(StateWriter& out) const override {
    for (const auto& exchange : exchanges_) exchange->SaveShared(out);
  }
  void LoadShared(StateReader& in) override {
    for (const auto& exchange : exchanges_) exchange->LoadShared(in);
  }
  void SaveWorker(int worker, StateWriter& out) const override {
    for (const auto& exchange : exchanges_) exchange->SaveWorker(worker, out);
  }
  void LoadWorker(int worker, StateReader& in) override {
    for (const auto& exchange : exchanges_) exchange->LoadWorker(worker, in);
  }

 private:
  // Returns the part of the unit's values that belongs to a slice.
  template <class Value>
  std::span<Value> Of(size_t slice, std::span<Value> values) const {
    return values.subspan(static_cast<size_t>(slices_[slice].offset - begin_),
                          static_cast<size_t>(slices_[slice].numel));
  }
  static void Append(std::span<const float> values, std::vector<float>& all) {
    all.insert(all.end(), values.begin(), values.end());
  }

  Slicing slicing_;
  std::shared_ptr<const Scheme> scheme_;
  std::vector<Unit> slices_;
  int workers_;
  int64_t begin_;                                     // offset of the unit
  std::vector<std::unique_ptr<Exchange>> exchanges_;  // by slice
  std::vector<PlannedCall> calls_;                    // of the step, by slice
  PlannedCall joined_;
  bool done_ = true;
  std::vector<float> averaged_, fed_;
  mutable std::vector<std::vector<float>> residuals_;  // by worker, as they were last asked for
};

class ServedSlicesScheme : public WrappedScheme {
 public:
  explicit ServedSlicesScheme(const Slicing& slicing)
      : WrappedScheme(slicing.schemes.units), slicing_(slicing) {}
  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.servers = slicing_.servers;
    return traits;
  }
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    int64_t sent = 0;
    for (const Unit& slice : SlicesOf(unit, slicing_.servers)) {
      sent += slicing_.Of(unit, parameter)->ElementsSent(slice, parameter);
    }
    return sent;
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return slicing_.Plan(unit, parameter, 1).bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    return std::vector{slicing_.Plan(unit, parameter, active_workers)};
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    std::vector<double> errors(parameters.size());
    const auto& scheme = slicing_.Of(unit, slicing_.schemes.units->Parameter().fallback);
    for (const Unit& slice : SlicesOf(unit, slicing_.servers)) {
      const auto part = values.subspan(static_cast<size_t>(slice.offset - unit.offset),
                                       static_cast<size_t>(slice.numel));
      const std::vector<double> own = scheme->SquaredErrors(slice, part, parameters, random);
      for (size_t i = 0; i < errors.size(); ++i) errors[i] += own[i];
    }
    return errors;
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    WorkList work;
    const auto& scheme = slicing_.Of(unit, slicing_.schemes.units->Parameter().fallback);
    for (const Unit& slice : SlicesOf(unit, slicing_.servers)) {
      JoinWork(scheme->ErrorWork(slice, parameters), work);
    }
    return work;
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<ServedSlicesExchange>(slicing_, unit, workers);
  }

 private:
  Slicing slicing_;
};

}  // namespace

std::unique_ptr<Scheme> ServedSlices(const SliceSchemes& schemes, int servers) {
  return std::make_unique<ServedSlicesScheme>(Slicing{schemes, servers});
}

}  // namespace legacy
