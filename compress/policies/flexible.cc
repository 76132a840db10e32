// The search over ratios of flexible communication (Tyagi and Swany, "Flexible communication for
// optimal distributed learning over unpredictable networks", IEEE BigData 2023): from time to time
// worker 0 measures the network and its error-fed gradient e, and chooses one of five densities for
// all units, by three objectives:
//
//   t_comp   seconds of encoding and decoding: the work that the scheme charges at that density, at
//            the prices of the device's profile (LinkEstimate::work_seconds); the paper measures it
//   t_sync   seconds of the configured collectives, by their closed forms (schemes/call_cost.h), as
//            if all units travelled in one bucket
//   1/gain   |e|^2 / |C(e)|^2 over the units that are compressed, from one error table
//
// The paper approximates the Pareto front by NSGA-II. Here all five candidates are compared with
// each other, which is exact and takes no generations. The paper leaves open which point of the
// front is taken. Here it is the point nearest to the ideal point, with distances relative to the
// ideal's values (pareto.h). Distances relative to the objectives' ranges are as common, but with
// them a time that is linear in the density looks the same on every network, so that neither
// latency nor rate would matter.
//
// The policy measures in the first step after a dense start, and then every `interval` steps. It
// searches at the first measurement, and again if latency, seconds per byte or the gain of the
// present density moved by more than the fraction `change` since the last search. Every measurement
// is announced (announced_policy.h), because only worker 0 knows the gain, and takes the passes of
// the error table. Before the first announcement, the candidate nearest to the anchor is used.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/error.h"
#include "compress/cpu/vector.h"
#include "compress/policies/announced_policy.h"
#include "compress/policies/gradient_watch.h"
#include "compress/policies/pareto.h"
#include "compress/policies/policy_options.h"
#include "compress/schemes/call_cost.h"

namespace legacy {
namespace {

constexpr std::array kDensities = {0.001, 0.004, 0.011, 0.033, 0.1};

struct FlexibleOptions {
  int64_t interval = 10;
  double change = 0.1;
};

// The cost and the gain of a density at a measurement.
struct Outlook {
  double compute_seconds = 0;
  double sync_seconds = 0;
  double gain = 0;
};

// Values at the last search.
struct Sight {
  bool searched = false;
  double latency = 0;
  double seconds_per_byte = 0;
  double gain = 0;  // gain of the density that was chosen
};

bool HasMoved(double before, double now, double change) {
  return std::abs(now - before) > change * std::abs(before);
}

class Flexible : public AnnouncedPolicy {
 public:
  Flexible(const PolicyContext& context, ParameterGrid grid, Choices start,
           const FlexibleOptions& options)
      : AnnouncedPolicy(context, std::move(grid), std::move(start)),
        options_(options),
        gradient_(context.units) {}
  std::string_view Name() const override { return "flexible"; }
  bool ReadsLocalGradient() const override { return IsDue(); }
  void OnLocalGradient(size_t unit, std::span<const float>,
                       std::span<const float> error_fed) override {
    gradient_.Add(context().units[unit], error_fed);
    if (unit + 1 == context().units.size()) gradient_.CountStep();
  }
  // Decisions depend on the network's latency and rate.
  PolicyTraits Traits() const override { return {.reads_clock = true}; }
  // A measurement that keeps the density is a decision, too.
  std::optional<DecisionForecast> DecisionsIn(int64_t total_steps) const override {
    return DecisionForecast{EndsOfPeriods(total_steps, FirstLook() + 1, options_.interval),
                            "interval=5%"};
  }

 protected:
  bool IsDue() const override {
    const int64_t since = step().step - FirstLook();
    return since >= 0 && since % options_.interval == 0;
  }
  Choices Choose() override;
  DecisionGrounds GroundsOf(size_t unit) const override;
  WorkList ChoosingWork() const override;
  void SaveOwn(StateWriter& out) const override;
  void LoadOwn(StateReader& in) override;

 private:
  int64_t FirstLook() const { return context().scheme->Traits().dense_steps; }
  uint8_t Holding() const;
  Outlook CostsOf(uint8_t option) const;
  void Look();
  std::string ReasonToSearch() const;
  uint8_t Search();

  FlexibleOptions options_;
  GradientSum gradient_;  // gradient of the measuring step
  Sight last_;
  // Results of the last measurement, for the search and for the log.
  std::vector<Outlook> outlooks_;  // one per option
  ChoiceTable errors_{0, 0};
  std::vector<double> energies_;  // energy of each unit; 0 for units sent whole
  std::string reason_;
};

// Returns the present option, which is the same for all units that are compressed.
uint8_t Flexible::Holding() const {
  for (size_t unit = 0; unit < grid().Units(); ++unit) {
    if (grid().Compressed(unit)) return choices()[unit];
  }
  return 0;
}

// Calls of the same position, collective and reduction carry all units' messages together, as in a
// bucket.
Outlook Flexible::CostsOf(uint8_t option) const {
  struct Joint {
    PlannedCall planned;
    int64_t elements = 0;
  };
  std::map<std::tuple<size_t, Collective, Reduction>, Joint> joints;
  const LinkEstimate& link = step().link;
  for (size_t u = 0; u < grid().Units(); ++u) {
    const Unit& unit = context().units[u];
    const auto calls =
        context().scheme->ExpectedCalls(unit, grid().Parameter(u, option), context().workers, link);
    for (size_t i = 0; i < calls->size(); ++i) {
      const PlannedCall& planned = calls->at(i);
      const CollectiveCall& call = planned.call;
      Joint& joint = joints[{i, call.collective, call.reduction}];
      joint.planned.call.collective = call.collective;
      joint.planned.call.reduction = call.reduction;
      JoinWork(call.encode, joint.planned.call.encode);
      JoinWork(call.decode, joint.planned.call.decode);
      joint.planned.bytes += planned.bytes;
      joint.elements += unit.numel;
    }
  }
  Outlook costs;
  for (const auto& [kind, joint] : joints) {
    const CollectiveCall& call = joint.planned.call;
    if (link.work_seconds) {
      costs.compute_seconds += link.work_seconds(call.encode) + link.work_seconds(call.decode);
    }
    costs.sync_seconds +=
        CallsSeconds(link, {&joint.planned, 1}, joint.elements, context().workers);
  }
  return costs;
}

// Measures costs and gains. The gain of an all-zero gradient is 1.
void Flexible::Look() {
  const std::span<const float> gradient = gradient_.TakeMean();
  errors_ = SquaredErrors(gradient);
  energies_.assign(grid().Units(), 0.0);
  double energy = 0;
  for (size_t u = 0; u < grid().Units(); ++u) {
    if (!grid().Compressed(u)) continue;
    const Unit& unit = context().units[u];
    energies_[u] = cpu::SquaredNorm(gradient.subspan(unit.offset, unit.numel));
    energy += energies_[u];
  }
  gradient_.Clear();
  outlooks_.clear();
  for (size_t option = 0; option < grid().Options(); ++option) {
    outlooks_.push_back(CostsOf(static_cast<uint8_t>(option)));
    const double lost = SumOf(errors_, Choices(grid().Units(), static_cast<uint8_t>(option)));
    outlooks_.back().gain = energy > 0 ? std::max(0.0, 1 - lost / energy) : 1;
  }
}

std::string Flexible::ReasonToSearch() const {
  const double gain = outlooks_[Holding()].gain;
  const LinkEstimate& link = step().link;
  if (!last_.searched) return "first search";
  if (HasMoved(last_.latency, link.latency_seconds, options_.change)) return "the latency moved";
  if (HasMoved(last_.seconds_per_byte, link.seconds_per_byte, options_.change)) {
    return "the rate moved";
  }
  return HasMoved(last_.gain, gain, options_.change) ? "the gain moved" : "";
}

uint8_t Flexible::Search() {
  std::vector<Objectives> points;
  for (const Outlook& outlook : outlooks_) {
    points.push_back({outlook.compute_seconds, outlook.sync_seconds, 1 / outlook.gain});
  }
  // If no candidate keeps anything, there is nothing to choose.
  const std::vector<size_t> front = ParetoFront(points);
  const auto chosen =
      front.empty() ? Holding() : static_cast<uint8_t>(NearestToIdeal(points, front));
  last_ = {.searched = true,
           .latency = step().link.latency_seconds,
           .seconds_per_byte = step().link.seconds_per_byte,
           .gain = outlooks_[chosen].gain};
  return chosen;
}

Choices Flexible::Choose() {
  // If worker 0 was not active in the step, its choice is not announced.
  if (gradient_.steps() == 0) return choices();
  Look();
  reason_ = ReasonToSearch();
  if (!reason_.empty()) return Choices(grid().Units(), Search());
  reason_ = "kept: neither the network nor the gain moved";
  return choices();
}

DecisionGrounds Flexible::GroundsOf(size_t unit) const {
  const uint8_t option = choices()[unit];
  const Outlook& outlook = outlooks_[option];
  return {.error = energies_[unit] > 0 ? errors_.At(unit, option) / energies_[unit] : 0,
          .budget = options_.change,
          .gain = outlook.gain,
          .seconds = outlook.compute_seconds + outlook.sync_seconds,
          .reason = reason_};
}

WorkList Flexible::ChoosingWork() const {
  WorkList norms;
  for (size_t u = 0; u < grid().Units(); ++u) {
    if (grid().Compressed(u)) JoinWork({{"norm", context().units[u].numel}}, norms);
  }
  WorkList work = Clearing();
  AddWork(grid().ErrorWork(), work);
  AddWork(norms, work);
  return work;
}

void Flexible::SaveOwn(StateWriter& out) const {
  out.Number(last_.searched ? 1 : 0);
  for (const double number : {last_.latency, last_.seconds_per_byte, last_.gain}) out.Real(number);
}

void Flexible::LoadOwn(StateReader& in) {
  Sight last;
  last.searched = in.Number("searched", 1) == 1;
  last.latency = in.Real("latency");
  last.seconds_per_byte = in.Real("seconds per byte");
  last.gain = in.Real("gain");
  in.ExpectEnd();
  last_ = last;
}

void CheckScheme(const Scheme& scheme) {
  if (scheme.Parameter().Kind() == ParameterKind::kDensity) return;
  const std::string& name = scheme.Parameter().name;
  throw Error("policy flexible with scheme " + std::string(scheme.Name()),
              name.empty() ? "no parameter" : "parameter " + name, "schemes with a density");
}

std::unique_ptr<Policy> MakeFlexible(const OptionReader& options, const PolicyContext& context) {
  CheckScheme(*context.scheme);
  const double scale = options.Number("scale", 0.01, 10);
  std::vector<double> densities;
  for (const double density : kDensities) densities.push_back(scale * density);
  ParameterGrid grid(*context.scheme, context.units, context.parameter, densities);
  const FlexibleOptions read = {.interval = options.Steps("interval", 1, context.total_steps),
                                .change = options.Number("change", 0, 1e6)};
  Choices start = grid.Nearest(1);
  return std::make_unique<Flexible>(context, std::move(grid), std::move(start), read);
}

}  // namespace

PolicyRow FlexibleRow() {
  return {{.name = "flexible",
           .help = "chooses the one of five densities that best balances compression time, "
                   "communication time and gain",
           .paper = "Tyagi and Swany, Flexible communication for optimal distributed learning over "
                    "unpredictable networks, IEEE BigData 2023",
           .options = {{"interval", "10", "1 to 2^53, or a part of the run",
                        "number of steps between measurements"},
                       {"change", "0.1", "0 to 1e6",
                        "relative change of latency, rate or gain that starts a new search"},
                       {"scale", "1", "0.01 to 10",
                        "factor on the five densities 0.1, 0.033, 0.011, 0.004 and 0.001"}}},
          MakeFlexible,
          {{"scale", VolumeRule::kMultiplied, 0.01, 10}}};
}

}  // namespace legacy
