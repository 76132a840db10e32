#include "analysis/study/advice_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/study/words.h"
#include "analysis/study/words_parts.h"
#include "analysis/table_text.h"
#include "analysis/tables.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

using Cells = std::vector<std::string>;

std::string BoundText(const Outcome& outcome) {
  const StepSplit& step = outcome.step;
  const std::string bound = BoundOf(step);
  const double part = bound == "compute"         ? step.compute
                      : bound == "encode"        ? step.encode
                      : bound == "communication" ? step.communication
                      : bound == "decode"        ? step.decode
                                                 : step.wait;
  return fmt::format("{}, {:.0f} % {}", ShowQuantity(step.total, "s"), 100 * part / step.total,
                     bound);
}

// Returns how many seeds reached the target.
std::string ReachedText(const Outcome& outcome) {
  return fmt::format("{}/{} reached", outcome.reached, outcome.done);
}

std::string TimeText(const Outcome& outcome) {
  if (outcome.time_to_target.count > 0) return ShowSpread(outcome.time_to_target, "s");
  return ReachedText(outcome);
}

// Returns what the target costs, with its interval.
std::string CostText(const Outcome& outcome, const Spread& cost, const std::string& unit) {
  if (outcome.reached < outcome.done) return ReachedText(outcome);
  return ShowEstimate(cost.mean, CostInterval(cost), unit);
}

// Returns the final value: in per cent with one decimal, or with four significant digits.
std::string FinalText(const Metric& metric, double value) {
  return Fixed(value * metric.Scale(), metric.fraction ? 1 : MetricDecimals(metric, value));
}

// Returns the columns that all tables of policies have, after the name and the times.
Cells MetricHeaders(const Study& study) {
  const Metric metric = ShownMetric(study);
  return {"times sooner", MetricHeader("final", metric),
          (metric.fraction ? "points from " : "from ") + study.baseline};
}
Cells MetricCells(const Study& study, const Outcome& outcome) {
  const Metric metric = ShownMetric(study);
  const bool base = outcome.policy == study.baseline;
  return {base ? "baseline" : ShowSpeedup(outcome.speedup),
          FinalText(metric, outcome.final_metric.mean),
          base ? "baseline" : ShowDifference(metric, outcome.metric_difference)};
}

Cells Joined(Cells cells, const Cells& others) {
  cells.insert(cells.end(), others.begin(), others.end());
  return cells;
}

std::string TimeHeader(const Study& study) {
  return "time to " + ShowValue(ShownMetric(study), study.target->value);
}

std::vector<Cells> WorkersTable(const Study& study, const Place& place) {
  const bool priced =
      std::ranges::any_of(place.outcomes, [](const Outcome& o) { return o.egress_usd.count > 0; });
  std::vector<Cells> rows = {Joined({"method", TimeHeader(study)}, MetricHeaders(study))};
  rows.front() = Joined(rows.front(), {"sent by a worker", "a step, most of it"});
  if (priced) rows.front().push_back("egress USD");
  for (const Outcome& outcome : place.outcomes) {
    Cells row = Joined({MarkedName(outcome.policy, outcome.decisions), TimeText(outcome)},
                       MetricCells(study, outcome));
    row = Joined(row, {ShowQuantity(outcome.nic_bytes.mean, "B"), BoundText(outcome)});
    if (priced) row.push_back(ShowSpread(outcome.egress_usd, ""));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns the table of federated clients. Costs are those of the target.
std::vector<Cells> ClientsTable(const Study& study, const Place& place,
                                const AdviceClients& clients) {
  const bool priced = std::ranges::any_of(
      clients.rows, [](const AdviceRow& row) { return row.usd_to_target.count > 0; });
  std::vector<Cells> rows = {Joined({"method", TimeHeader(study)}, MetricHeaders(study))};
  rows.front() = Joined(rows.front(), {"client hours", "a task's bytes", "a round, most of it"});
  if (priced) rows.front().insert(rows.front().end() - 2, "USD");
  for (size_t p = 0; p < place.outcomes.size(); ++p) {
    const Outcome& outcome = place.outcomes[p];
    const AdviceRow& costs = clients.rows.at(p);
    Cells row = Joined({MarkedName(outcome.policy, outcome.decisions),
                        CostText(outcome, outcome.time_to_target, "s")},
                       MetricCells(study, outcome));
    row.push_back(CostText(outcome, costs.client_hours_to_target, ""));
    if (priced) row.push_back(CostText(outcome, costs.usd_to_target, ""));
    row = Joined(row,
                 {ShowQuantity(outcome.nic_bytes.mean / outcome.steps, "B"), BoundText(outcome)});
    rows.push_back(std::move(row));
  }
  return rows;
}

// Returns the rows as lines, with columns aligned to the left and two blanks apart.
std::string Aligned(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] + 2 - DisplayWidth(row[i]), ' ');
    }
    text += "  " + line.erase(line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string AdviceTable(const Study& study, const Advice& advice) {
  const auto& clients = advice.question.clients;
  return Aligned(clients ? ClientsTable(study, advice.place, *clients)
                         : WorkersTable(study, advice.place));
}

}  // namespace legacy::analysis
