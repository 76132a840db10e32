#include "scenarios/federated/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

// Returns the table of these measures. Measures of what never happens have no row.
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

std::string WaitsFor(const PlanRequest& request, const Plan& plan) {
  return analysis::WaitsFor(RoundRows(plan), ClientRows(request, plan));
}

}  // namespace legacy
