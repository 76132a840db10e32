#include "scenarios/federated/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "scenarios/federated/exchange_report.h"
#include "scenarios/federated/plan_rows.h"

namespace legacy {
namespace {

using analysis::Percent;
using analysis::Table;
using fabric::TaskFate;

double Median(const std::vector<double>& values) { return Quantile(values, 0.5); }

// The rows of a plan.
std::vector<analysis::RoundRow> RoundRows(const Plan& plan) {
  std::vector<analysis::RoundRow> rows;
  for (const PlannedRound& round : plan.rounds) rows.push_back(RowOf(round));
  return rows;
}

std::vector<analysis::ClientRow> ClientRows(const PlanRequest& request, const Plan& plan) {
  std::vector<analysis::ClientRow> rows;
  for (size_t client = 0; client < plan.clients.size(); ++client) {
    rows.push_back(RowOf(request, plan, static_cast<int64_t>(client)));
  }
  return rows;
}

// Returns the table of these measures. What never happens has no row.
Table MeasureTable(const std::vector<analysis::Measure>& measures) {
  Table table{.title = "Rounds (parts are of the critical task)",
              .header = {"of a round", "median", "95th percentile", "all"},
              .rows = {}};
  for (const analysis::Measure& measure : measures) {
    const bool happens =
        std::ranges::any_of(measure.values, [](double value) { return value != 0; });
    if (!happens && &measure != &measures.front()) continue;
    if (measure.values.empty()) {
      table.rows.push_back({measure.name, "-", "-", "-"});
      continue;
    }
    const double sum = std::accumulate(measure.values.begin(), measure.values.end(), 0.0);
    table.rows.push_back({measure.name, Figure(Quantile(measure.values, 0.5)),
                          Figure(Quantile(measure.values, 0.95)),
                          measure.summed ? Figure(sum) : "-"});
  }
  return table;
}

Table RoundsTable(const Plan& plan) {
  std::vector<analysis::Measure> measures =
      analysis::MeasuresOf(analysis::FiguresOf(RoundRows(plan)));
  analysis::Measure down{"USD down", {}, true}, up{"USD up", {}, true},
      utilisation{"utilisation", {}, false};
  for (const PlannedRound& planned : plan.rounds) {
    down.values.push_back(planned.cost.usd_down);
    up.values.push_back(planned.cost.usd_up);
    if (planned.counted_seconds > 0) {
      utilisation.values.push_back(planned.work_seconds / planned.counted_seconds);
    }
  }
  measures.insert(measures.end(), {down, up, utilisation});
  return MeasureTable(measures);
}

Table GroupsTable(const std::vector<analysis::ClientShare>& groups) {
  Table table{.title = "Clients by group",
              .header = {"group", "clients", "share of tasks", "share of counted", "median task s",
                         "MB down", "MB up", "USD"},
              .rows = {}};
  for (const analysis::ClientShare& group : groups) {
    table.rows.push_back({group.name, std::to_string(group.clients), Percent(group.task_share),
                          Percent(group.counted_share),
                          group.seconds.empty() ? "-" : Figure(Median(group.seconds)),
                          Figure(static_cast<double>(group.down_bytes) / 1e6),
                          Figure(static_cast<double>(group.up_bytes) / 1e6), Figure(group.usd)});
  }
  return table;
}

Table DecileTable(const std::vector<analysis::ClientShare>& deciles) {
  Table table{.title = "Participation by decile of speed (predicted tasks, fast first)",
              .header = {"decile", "clients", "predicted task s", "share of tasks",
                         "share of counted", "never counted"},
              .rows = {}};
  for (const analysis::ClientShare& decile : deciles) {
    table.rows.push_back({decile.name, std::to_string(decile.clients), Figure(decile.predicted),
                          Percent(decile.task_share), Percent(decile.counted_share),
                          std::to_string(decile.never)});
  }
  return table;
}

std::vector<double> Durations(const Plan& plan) {
  std::vector<double> seconds;
  for (const PlannedRound& planned : plan.rounds) {
    seconds.push_back(Seconds(planned.row.end - planned.row.start));
  }
  return seconds;
}

}  // namespace

std::vector<Table> PlanTables(const PlanRequest& request, const Plan& plan) {
  if (plan.exchange) return ExchangeTables(request, plan);
  const std::vector<analysis::ClientRow> clients = ClientRows(request, plan);
  std::vector<analysis::TaskSeconds> seconds;
  for (const ShortTask& task : plan.short_tasks) {
    if (task.fate == TaskFate::Counted) seconds.push_back({task.client, task.seconds});
  }
  std::vector<Table> tables{RoundsTable(plan),
                            GroupsTable(analysis::SharesByGroup(clients, {&seconds, 1}))};
  const auto deciles = analysis::SharesByDecile(clients, {&seconds, 1});
  if (!deciles.empty()) tables.push_back(DecileTable(deciles));
  return tables;
}

std::vector<std::pair<std::string, PlanRemedy>> RemediesFor(const PlanRequest& request) {
  if (request.exchange) return ExchangeRemedies(request);
  std::vector<std::pair<std::string, PlanRemedy>> remedies{
      {"downlinks of clients twice as fast", {.down_rates = 2}},
      {"uplinks of clients twice as fast", {.up_rates = 2}},
      {"server's line twice as fast", {.server_rate = 2}},
      {"half the bytes", {.bytes = 0.5}},
      {"work in half the time", {.work = 0.5}},
  };
  if (request.population.Clients() >= 20) {
    remedies.emplace_back("without the slowest tenth", PlanRemedy{.no_slow_tenth = true});
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
      remedies.emplace_back("server at " + place, PlanRemedy{.at = place});
    }
  }
  return remedies;
}

Table RemedyTable(const std::vector<std::pair<std::string, PlanRemedy>>& remedies, const Plan& base,
                  const std::vector<Plan>& plans) {
  Table table{
      .title = fmt::format("Remedies (simulated anew, {} rounds each)", base.rounds.size()),
      .header = {"remedy", "median round s", "saves", "95th percentile s", "all rounds s", "USD"},
      .rows = {}};
  const double median = Median(Durations(base));
  const auto add = [&](const std::string& name, const Plan& plan) {
    const std::vector<double> seconds = Durations(plan);
    if (seconds.empty()) {
      table.rows.push_back({name, "-", "-", "-", "-", "-"});
      return;
    }
    const double own = Median(seconds);
    table.rows.push_back({name, Figure(own), median > 0 ? Percent(1 - own / median) : "-",
                          Figure(Quantile(seconds, 0.95)),
                          Figure(Seconds(plan.rounds.back().row.end)), Figure(plan.link_usd)});
  };
  add("as it is", base);
  for (size_t i = 0; i < remedies.size(); ++i) add(remedies[i].first, plans[i]);
  return table;
}

std::string RemedyVerdict(const std::vector<std::pair<std::string, PlanRemedy>>& remedies,
                          const Plan& base, const std::vector<Plan>& plans) {
  constexpr double kLeastSaving = 0.05;
  if (base.rounds.empty()) return "No round ended.";
  const double median = Median(Durations(base));
  double most = 0;
  std::string name;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].rounds.empty() || median <= 0) continue;
    const double saving = 1 - Median(Durations(plans[i])) / median;
    if (saving <= most) continue;
    most = saving;
    name = remedies[i].first;
  }
  if (most < kLeastSaving) return "Balanced: no remedy saves 5 % of the median round.";
  return fmt::format("Most is saved by: {}, {} of the median round.", name, Percent(most));
}

std::string WaitsFor(const PlanRequest& request, const Plan& plan) {
  return analysis::WaitsFor(RoundRows(plan), ClientRows(request, plan));
}

}  // namespace legacy
