#include "scenarios/federated/plan_doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "analysis/federated/round_figures.h"
#include "base/median.h"

namespace legacy {
namespace {

using analysis::Figure;

PlanRemedies ExchangeRemedies(const PlanRequest& request) {
  PlanRemedies remedies{
      {{Bound::kBandwidth, "client-lines", "lines of clients twice as fast"},
       {.down_rates = 2, .up_rates = 2}},
      {{Bound::kBytes, "bytes", "half the bytes"}, {.bytes = 0.5}},
      {{Bound::kCompute, "work", "work in half the time"}, {.work = 0.5}},
      {{Bound::kStraggler, "slowest-tenth", "the slowest tenth works like the median"},
       {.no_slow_tenth = true}},
  };
  if (request.core) {
    remedies.insert(remedies.begin() + 1,
                    {{Bound::kBandwidth, "topology-links", "links of the topology twice as fast"},
                     {.core_rates = 2}});
  }
  return remedies;
}

// Returns the remedy with the times of its plan; without times if no round ended.
Remedy Timed(Remedy remedy, const Plan& plan) {
  std::vector<double> seconds;
  for (const PlannedRound& planned : plan.rounds) {
    seconds.push_back(InSeconds(planned.row.end - planned.row.start));
  }
  remedy.figures = {"-", "-", "-"};
  if (seconds.empty()) return remedy;
  remedy.total = std::llround(Median(seconds) * 1e9);
  remedy.figures = {Figure(analysis::Quantile(seconds, 0.95)),
                    Figure(InSeconds(plan.rounds.back().row.end)), Figure(plan.link_usd)};
  return remedy;
}

}  // namespace

PlanRemedies RemediesFor(const PlanRequest& request) {
  if (request.exchange) return ExchangeRemedies(request);
  PlanRemedies remedies{
      {{Bound::kBandwidth, "client-downlinks", "downlinks of clients twice as fast"},
       {.down_rates = 2}},
      {{Bound::kBandwidth, "client-uplinks", "uplinks of clients twice as fast"}, {.up_rates = 2}},
      {{Bound::kBandwidth, "server-line", "server's line twice as fast"}, {.server_rate = 2}},
      {{Bound::kBytes, "bytes", "half the bytes"}, {.bytes = 0.5}},
      {{Bound::kCompute, "work", "work in half the time"}, {.work = 0.5}},
  };
  if (request.population.Clients() >= 20) {
    remedies.push_back({{Bound::kStraggler, "slowest-tenth", "without the slowest tenth"},
                        {.no_slow_tenth = true}});
  }
  if (request.core) {
    constexpr size_t kMostPlaces = 8;
    std::set<std::string> places;
    for (const fabric::Group& group : request.population.Groups()) {
      for (const std::string& place : group.at.Words()) places.insert(place);
    }
    places.erase(request.population.Server().at);
    for (const std::string& place : places) {
      if (remedies.size() >= 6 + kMostPlaces) break;
      remedies.push_back(
          {{Bound::kPlacement, "server-place", "server at " + place}, {.at = place}});
    }
  }
  return remedies;
}

Diagnosis DiagnoseRounds(
    const Plan& base, const PlanRemedies& remedies,
    const std::function<Plan(const Remedy& remedy, const PlanRemedy& change)>& simulate,
    const StopFlag& stop) {
  Diagnosis diagnosis{.time_of = "the median round",
                      .time_key = "median_round_seconds",
                      .rounds = base.rounds.size(),
                      .as_it_is = Timed({.name = "none", .change = "as it is"}, base)};
  for (const auto& [remedy, change] : remedies) {
    PlanRemedy limited = change;
    limited.versions = base.versions;
    const Plan plan = simulate(remedy, limited);
    if (stop != 0) return {};
    diagnosis.Add(Timed(remedy, plan));
  }
  diagnosis.Decide(1);
  return diagnosis;
}

std::string RoundsVerdict(const Diagnosis& diagnosis) {
  return "Rounds are " + VerdictText(diagnosis) + ".";
}

analysis::Table RemedyTable(const Diagnosis& diagnosis) {
  analysis::Table table{
      .title = fmt::format("Remedies (simulated again, {} rounds each)", diagnosis.rounds),
      .header = {"remedy", "median round s", "saves", "95th percentile s", "all rounds s", "USD"},
      .rows = {}};
  const auto add = [&](const Remedy& remedy) {
    const bool known = remedy.total > 0;
    std::vector<std::string> row{remedy.change, known ? Figure(InSeconds(remedy.total)) : "-",
                                 known ? analysis::Percent(remedy.gain) : "-"};
    std::ranges::copy(remedy.figures, std::back_inserter(row));
    table.rows.push_back(std::move(row));
  };
  add(diagnosis.as_it_is);
  for (const Remedy& remedy : diagnosis.remedies) add(remedy);
  return table;
}

}  // namespace legacy
