#include "compress/schemes/owners/owned_slices.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/owners/owned_hops.h"
#include "compress/schemes/owners/owned_nodes.h"
#include "compress/schemes/owners/owned_scheme.h"
#include "compress/schemes/owners/owned_unit.h"

namespace legacy {
namespace {

constexpr int kMostOwners = 65536;
constexpr std::array<std::string_view, 2> kCuts = {"rows", "values"};
constexpr std::array<std::string_view, 2> kSelects = {"slice", "unit"};

// Returns the work of the owner of a slice, of which `work` is that for the messages of `workers`:
// it decodes those of the workers of its copy. One worker stands for all.
WorkList OwnersWork(WorkList work, int owners, int workers) {
  if (owners >= workers) return work;
  for (Work& entry : work) {
    entry.elements = entry.elements * owners / workers;
    entry.launches = std::max<int64_t>(1, entry.launches * owners / workers);
  }
  return work;
}

// Returns the owned call that the calls of the slices are together. Every worker decodes one slice,
// of which the first is the largest.
CollectiveCall Joined(const Cut& cut, std::span<const CollectiveCall> calls, int workers) {
  CollectiveCall all{.reduction = Reduction::kOwned, .collective = Collective::kAllToAll};
  all.owned = {.owners = cut.owners, .rows = cut.by_rows};
  for (const CollectiveCall& call : calls) JoinWork(call.encode, all.encode);
  all.decode = OwnersWork(calls.front().decode, cut.owners, workers);
  return all;
}

// Adds the bytes of messages whose lengths all workers know.
void SetLengths(const Cut& cut, std::span<const int64_t> lengths, CollectiveCall& call) {
  call.owned->bytes.assign(lengths.begin(), lengths.end());
  call.owned->bytes.resize(static_cast<size_t>(cut.owners));
}

class OwnedSlicesExchange : public SlicesExchange {
 public:
  OwnedSlicesExchange(std::shared_ptr<const Scheme> scheme, const Unit& unit, const Cut& cut,
                      int workers)
      : SlicesExchange(*scheme, unit, CutUnit(unit, cut), workers),
        scheme_(std::move(scheme)),
        cut_(cut),
        workers_(workers) {}

  void Begin(const UnitStep& context) override {
    SlicesExchange::Begin(context);
    planned_.clear();
    if (!context.candidates.empty()) return;
    const auto active = static_cast<int>(context.info.ActiveWorkers(workers_).size());
    for (const Unit& slice : slices()) {
      const auto plan = scheme_->Plan(slice, context.parameter, active);
      if (!plan) return planned_.clear();
      planned_.push_back(plan->front().bytes);
    }
  }

  std::optional<CollectiveCall> NextCall() override {
    std::vector<CollectiveCall> calls;
    for (const std::optional<CollectiveCall>& call : OpenCalls()) {
      if (call) calls.push_back(*call);
    }
    if (calls.empty()) return std::nullopt;
    CollectiveCall all = Joined(cut_, calls, workers_);
    if (!planned_.empty()) SetLengths(cut_, planned_, all);
    return all;
  }

  std::vector<int64_t> PartBytes(int worker, ByteSpan) const override {
    if (!planned_.empty()) return {};
    std::vector<int64_t> parts(Lengths(worker).begin(), Lengths(worker).end());
    parts.resize(static_cast<size_t>(cut_.owners));
    return parts;
  }

 private:
  std::shared_ptr<const Scheme> scheme_;
  Cut cut_;
  int workers_;
  std::vector<int64_t> planned_;  // lengths of the only call, by slice; empty: messages have them
};

class OwnedSlicesScheme : public OwnedScheme {
 public:
  using OwnedScheme::OwnedScheme;
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    int64_t sum = 0;
    for (const Unit& slice : SlicesOf(unit)) {
      const std::optional<int64_t> bytes = scheme()->MessageBytes(slice, parameter);
      if (!bytes) return std::nullopt;
      sum += *bytes;
    }
    return sum;
  }
  std::optional<std::vector<PlannedCall>> Plan(const Unit& unit, double parameter,
                                               int active_workers) const override {
    return JoinedPlan(unit, active_workers, [&](const Unit& slice) {
      return scheme()->Plan(slice, parameter, active_workers);
    });
  }
  std::optional<std::vector<PlannedCall>> ExpectedCalls(const Unit& unit, double parameter,
                                                        int active_workers,
                                                        const LinkEstimate& link) const override {
    return JoinedPlan(unit, active_workers, [&](const Unit& slice) {
      return scheme()->ExpectedCalls(slice, parameter, active_workers, link);
    });
  }
  WorkList SelectWork(int64_t numel, double parameter) const override {
    return scheme()->SelectWork(numel, parameter);
  }
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override {
    return std::make_unique<OwnedSlicesExchange>(scheme(), unit, cut(), workers);
  }

 private:
  template <class PlanOf>
  std::optional<std::vector<PlannedCall>> JoinedPlan(const Unit& unit, int active_workers,
                                                     const PlanOf& plan_of) const {
    std::vector<std::vector<CollectiveCall>> calls;  // by number of the call
    std::vector<std::vector<int64_t>> lengths;       // by number of the call, and slice
    const std::vector<Unit> slices = SlicesOf(unit);
    for (size_t s = 0; s < slices.size(); ++s) {
      const std::optional<std::vector<PlannedCall>> plan = plan_of(slices[s]);
      if (!plan) return std::nullopt;
      calls.resize(std::max(calls.size(), plan->size()));
      lengths.resize(calls.size(), std::vector<int64_t>(slices.size()));
      for (size_t i = 0; i < plan->size(); ++i) {
        calls[i].push_back((*plan)[i].call);
        lengths[i][s] = (*plan)[i].bytes;
      }
    }
    std::vector<PlannedCall> joined;
    for (size_t i = 0; i < calls.size(); ++i) {
      PlannedCall& call = joined.emplace_back();
      call.call = Joined(cut(), calls[i], active_workers);
      SetLengths(cut(), lengths[i], call.call);
      for (const int64_t length : lengths[i]) call.bytes += length;
    }
    return joined;
  }
};

// Returns what keeps a scheme from sending to owners; empty: nothing.
std::string ObstacleOf(const Scheme& scheme) {
  const SchemeTraits traits = scheme.Traits();
  if (traits.compresses_mean || traits.servers > 0) return "it compresses the mean of all slices";
  if (traits.momentum_from) return "all workers need the momentum that it exchanges";
  const auto* codec = dynamic_cast<const CodecScheme*>(&scheme);
  if (codec && codec->options().summing != Summing::kPlain) {
    return "its sums are not formed by whoever needs them (those of reduction=gather, ring and "
           "butterfly are)";
  }
  if (traits.reads_network) return "it chooses between collectives of whole units";
  const Unit any{.id = 0, .name = "any", .shape = {64, 64}, .offset = 0, .numel = 64 * 64};
  const auto calls = scheme.ExpectedCalls(any, scheme.Parameter().fallback, 2, {});
  if (!calls || calls->empty()) return "its calls are not known beforehand";
  const bool announced = !scheme.Plan(any, scheme.Parameter().fallback, 2) && calls->size() == 2;
  if (calls->size() > 1 && !announced) {
    return "its " + std::to_string(calls->size()) + " calls need the sums of whole units";
  }
  for (const PlannedCall& planned : *calls) {
    const Reduction how = planned.call.reduction;
    const bool gathers = planned.call.collective == Collective::kAllGather ||
                         planned.call.collective == Collective::kAllReduce;
    const bool sums =
        how == Reduction::kConcat || how == Reduction::kSum || how == Reduction::kVote;
    if (!gathers || !sums) return "its calls need more than the messages of a slice";
  }
  return "";
}

}  // namespace

std::vector<Unit> CutUnit(const Unit& unit, const Cut& cut) {
  const bool by_rows = cut.by_rows && !unit.shape.empty() && unit.shape.front() > 0 &&
                       unit.numel % unit.shape.front() == 0;
  const int64_t rows = by_rows ? unit.shape.front() : unit.numel;
  const int64_t row = rows > 0 ? unit.numel / rows : 0;
  const int64_t most = (rows + cut.owners - 1) / cut.owners;
  std::vector<Unit> slices;
  for (int64_t begin = 0; begin < rows; begin += most) {
    const int64_t own = std::min(most, rows - begin);
    Unit& slice = slices.emplace_back(unit);
    slice.shape = {own * row};
    if (by_rows) {
      slice.shape = unit.shape;
      slice.shape.front() = own;
    }
    slice.offset = unit.offset + begin * row;
    slice.numel = own * row;
  }
  return slices;
}

std::span<const OptionSpec> OwnedSlicesOptions() {
  static const std::vector<OptionSpec> options = {
      {"owners", "0", "0 to 65536",
       "number of workers that own a slice of each unit; 0: messages go to all workers"},
      {"cut", "rows", "rows, values", "slices have as many rows, or as many values"},
      {"node", "0", "0 to 65536, auto",
       "workers of a node, whose means are compressed again before they cross nodes; 0: none; "
       "auto: "
       "as many as a node of the network has, in a scenario that shards"},
      {"inner", "0", "0, or a parameter", "parameter of messages inside a node; 0: that of others"},
      {"select", "slice", "slice, unit",
       "sparsifiers select from each owner's slice, or from the whole unit, as without owners"}};
  return options;
}

Cut ReadCut(const OptionReader& options) {
  return {.owners = static_cast<int>(options.Integer("owners", 0, kMostOwners)),
          .by_rows = options.Choice("cut", kCuts) == 0,
          .node = options.Text("node") == kAutoNode
                      ? 0
                      : static_cast<int>(options.Integer("node", 0, kMostOwners)),
          .inner = options.Number("inner", 0, 1e9),
          .by_unit = options.Choice("select", kSelects) == 1};
}

std::unique_ptr<Scheme> WithSlices(std::shared_ptr<const Scheme> scheme, const Cut& cut) {
  return std::make_unique<OwnedSlicesScheme>(std::move(scheme), cut);
}

std::unique_ptr<Scheme> WithOwners(std::unique_ptr<Scheme> scheme, const Cut& cut) {
  if (cut.owners == 0) return scheme;
  const auto refuse = [&](const char* option, int value, const std::string& allowed) {
    throw Error(std::string("option ") + option + " of " + std::string(scheme->Name()),
                std::to_string(value), allowed);
  };
  if (SumsByHops(*scheme)) {
    if (const std::string allowed = HopObstacleOf(*scheme, cut); !allowed.empty()) {
      refuse("owners", cut.owners, allowed);
    }
    return WithOwnedHops(std::move(scheme), cut);
  }
  if (const std::string obstacle = ObstacleOf(*scheme); !obstacle.empty()) {
    refuse("owners", cut.owners, "0: " + obstacle);
  }
  if (cut.by_unit) {
    if (const std::string obstacle = UnitObstacleOf(*scheme, cut); !obstacle.empty()) {
      throw Error("option select of " + std::string(scheme->Name()), "unit", "slice: " + obstacle);
    }
    return WithUnitSelection(std::move(scheme), cut);
  }
  if (cut.node < 2 || cut.node >= cut.owners) {
    return WithSlices(std::move(scheme), cut);
  }
  if (cut.owners % cut.node != 0) {
    refuse("node", cut.node, "a divisor of the " + std::to_string(cut.owners) + " owners");
  }
  const Unit any{.id = 0, .name = "any", .shape = {64, 64}, .offset = 0, .numel = 64 * 64};
  if (!scheme->Plan(any, scheme->Parameter().fallback, 2)) {
    refuse("node", cut.node, "0 with lengths that depend on the data");
  }
  return WithNodes(std::move(scheme), cut);
}

}  // namespace legacy
