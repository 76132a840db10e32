#include "compress/schemes/owners/owned_hops.h"

#include <bit>
#include <cassert>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/hops/quantised_hops.h"
#include "compress/schemes/owners/owned_scheme.h"

namespace legacy {
namespace {

const CodecScheme& CodecSchemeOf(const Scheme& scheme) {
  return static_cast<const CodecScheme&>(scheme);
}

// Returns the ranges of the slices among the values of their unit, one for each owner.
std::vector<HopRange> RangesOf(const Unit& unit, std::span<const Unit> slices, int owners) {
  std::vector<HopRange> ranges;
  for (const Unit& slice : slices) {
    const int64_t begin = slice.offset - unit.offset;
    ranges.push_back({begin, begin + slice.numel});
  }
  ranges.resize(static_cast<size_t>(owners), {unit.numel, unit.numel});
  return ranges;
}

// Returns the only call of a unit. The owner of the first slice decodes the most.
PlannedCall CallOf(const CodecScheme& scheme, const Cut& cut, const Unit& unit,
                   std::span<const Unit> slices, double parameter) {
  const Codec& codec = *scheme.codec();
  const HopOrder order = HopOrderOf(scheme.options().summing).value();
  const std::vector<HopRange> ranges = RangesOf(unit, slices, cut.owners);
  PlannedCall planned;
  CollectiveCall& call = planned.call;
  call.reduction = Reduction::kOwned;
  call.collective = Collective::kAllToAll;
  call.owned = {.owners = cut.owners, .rows = cut.by_rows};
  for (const Unit& slice : slices) {
    call.owned->bytes.push_back(codec.MessageBytes(slice, parameter).value());
    planned.bytes += call.owned->bytes.back();
  }
  call.owned->bytes.resize(static_cast<size_t>(cut.owners));
  call.hops = QuantisedHops(codec, ranges, parameter, order, cut.owners, scheme.options().slice);
  if (cut.owners > 1) {
    call.encode = FirstHopWork(codec, FirstHopSize(order, cut.owners, ranges), parameter,
                               scheme.options().memory);
    call.decode = codec.DecodeWork(slices.front().numel, parameter);
  }
  AddWork(Work{"mean", slices.front().numel}, call.decode);
  return planned;
}

class OwnedHopsExchange : public SlicesExchange {
 public:
  OwnedHopsExchange(const std::shared_ptr<const Scheme>& scheme, const Unit& unit, const Cut& cut,
                    std::vector<Unit> slices, int workers)
      : SlicesExchange(Opened(CodecSchemeOf(*scheme), cut, slices, workers), unit, slices, workers),
        scheme_(scheme),
        unit_(unit),
        cut_(cut) {}

  void Begin(const UnitStep& context) override {
    SlicesExchange::Begin(context);
    parameter_ = context.parameter;
  }

  std::optional<CollectiveCall> NextCall() override {
    if (!OpenCalls().front()) return std::nullopt;
    return CallOf(CodecSchemeOf(*scheme_), cut_, unit_, slices(), parameter_).call;
  }

 private:
  static std::vector<std::unique_ptr<Exchange>> Opened(const CodecScheme& scheme, const Cut& cut,
                                                       std::span<const Unit> slices, int workers) {
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (const Unit& slice : slices) {
      exchanges.push_back(scheme.OpenForOwner(
          slice, workers, {.worker = static_cast<int>(exchanges.size()), .owners = cut.owners}));
    }
    return exchanges;
  }

  std::shared_ptr<const Scheme> scheme_;
  Unit unit_;
  Cut cut_;
  double parameter_ = 0;
};

// Units that the scheme sends whole are messages to owners.
class OwnedHopsScheme : public OwnedScheme {
 public:
  OwnedHopsScheme(std::shared_ptr<const Scheme> scheme, const Cut& cut)
      : OwnedScheme(scheme, cut), whole_(WithSlices(std::move(scheme), cut)) {}

  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return Plan(unit, parameter, 1)->front().bytes;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    if (!Compresses(unit, parameter)) return whole_->Plan(unit, parameter, active_workers);
    return std::vector<PlannedCall>{
        CallOf(CodecSchemeOf(*scheme()), cut(), unit, SlicesOf(unit), parameter)};
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    if (!Compresses(unit, Parameter().fallback)) return whole_->Open(unit, workers);
    // One worker stands for a copy.
    if (workers > 1 && workers % cut().owners != 0) {
      throw Error("option owners of " + std::string(Name()), std::to_string(cut().owners),
                  "a divisor of the " + std::to_string(workers) + " workers");
    }
    return std::make_unique<OwnedHopsExchange>(scheme(), unit, cut(), SlicesOf(unit), workers);
  }

 private:
  std::unique_ptr<Scheme> whole_;
};

}  // namespace

bool SumsByHops(const Scheme& scheme) {
  const auto* codec = dynamic_cast<const CodecScheme*>(&scheme);
  return codec && HopOrderOf(codec->options().summing).has_value();
}

std::string HopObstacleOf(const Scheme& scheme, const Cut& cut) {
  if (cut.node > 1 && cut.node < cut.owners) {
    return "reduction=gather with nodes, whose means are encoded again by themselves";
  }
  if (cut.by_unit) return "select=slice, as sums by hops select nothing";
  const bool halves = CodecSchemeOf(scheme).options().summing == Summing::kButterfly;
  if (halves && !std::has_single_bit(static_cast<unsigned>(cut.owners))) {
    return "a power of two with reduction=butterfly; reduction=ring takes any number";
  }
  return "";
}

std::unique_ptr<Scheme> WithOwnedHops(std::shared_ptr<const Scheme> scheme, const Cut& cut) {
  assert(SumsByHops(*scheme) && HopObstacleOf(*scheme, cut).empty());
  return std::make_unique<OwnedHopsScheme>(std::move(scheme), cut);
}

}  // namespace legacy
