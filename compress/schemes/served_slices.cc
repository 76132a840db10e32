#include "compress/schemes/served_slices.h"

#include <algorithm>
#include <utility>

#include "compress/schemes/slices.h"

namespace legacy {
namespace {

// Returns the unit's slices, one for each server that has any.
std::vector<Unit> CutEvenly(const Unit& unit, int servers) {
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

  const std::shared_ptr<const Scheme>& Of(const Unit& unit) const {
    return schemes.units->Compresses(unit, schemes.units->Parameter().fallback) ? schemes.compressed
                                                                                : schemes.whole;
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
    return Joined(Calls(*Of(unit), CutEvenly(unit, servers), parameter, active_workers));
  }
};

class ServedSlicesExchange : public SlicesExchange {
 public:
  ServedSlicesExchange(const Slicing& slicing, std::shared_ptr<const Scheme> scheme,
                       const Unit& unit, int workers)
      : SlicesExchange(*scheme, unit, CutEvenly(unit, slicing.servers), workers),
        slicing_(slicing),
        scheme_(std::move(scheme)),
        workers_(workers) {}

  void Begin(const UnitStep& context) override {
    SlicesExchange::Begin(context);
    const auto active = static_cast<int>(context.info.ActiveWorkers(workers_).size());
    joined_ = slicing_.Joined(Slicing::Calls(*scheme_, slices(), context.parameter, active)).call;
    done_ = false;
  }

  std::optional<CollectiveCall> NextCall() override {
    if (done_) return std::nullopt;
    OpenCalls();
    return joined_;
  }

  void FinishCall() override {
    SlicesExchange::FinishCall();
    done_ = true;
  }

 private:
  Slicing slicing_;
  std::shared_ptr<const Scheme> scheme_;
  int workers_;
  CollectiveCall joined_;  // of the step
  bool done_ = true;
};

class ServedSlicesScheme : public SlicedScheme {
 public:
  explicit ServedSlicesScheme(const Slicing& slicing)
      : SlicedScheme(slicing.schemes.units), slicing_(slicing) {}
  SchemeTraits Traits() const override {
    SchemeTraits traits = scheme()->Traits();
    traits.servers = slicing_.servers;
    return traits;
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return slicing_.Plan(unit, parameter, 1).bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    return std::vector{slicing_.Plan(unit, parameter, active_workers)};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<ServedSlicesExchange>(slicing_, slicing_.Of(unit), unit, workers);
  }

 protected:
  std::vector<Unit> SlicesOf(const Unit& unit) const override {
    return CutEvenly(unit, slicing_.servers);
  }
  const Scheme& Serving(const Unit& unit) const override { return *slicing_.Of(unit); }

 private:
  Slicing slicing_;
};

}  // namespace

std::unique_ptr<Scheme> ServedSlices(const SliceSchemes& schemes, int servers) {
  return std::make_unique<ServedSlicesScheme>(Slicing{schemes, servers});
}

}  // namespace legacy
