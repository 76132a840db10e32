#include "scenarios/federated/plan_files.h"

#include <algorithm>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/federated/plan_rows.h"

namespace legacy {
namespace {

constexpr const char* kPolicy = "plan";

template <class Row>
std::string LineOf(Row row, const PlanRequest& request) {
  row.policy = kPolicy;
  row.seed = request.seed;
  return analysis::RowLine(row);
}

}  // namespace

std::string RoundsCsv(const PlanRequest& request, const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::RoundRow>();
  for (const PlannedRound& round : plan.rounds) text += LineOf(RowOf(round), request);
  return text;
}

std::string TasksCsv(const PlanRequest& request, const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::TaskRow>();
  for (const fabric::TaskRow& task : plan.tasks) {
    TaskFigures figures;
    figures.samples = request.population.SamplesOf(task.client);
    figures.local_steps = LocalSteps(request.work, figures.samples);
    text += LineOf(RowOf(task, figures), request);
  }
  return text;
}

std::string ClientsCsv(const PlanRequest& request, const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::ClientRow>();
  for (size_t number = 0; number < plan.clients.size(); ++number) {
    text += LineOf(RowOf(request, plan, static_cast<int64_t>(number)), request);
  }
  return text;
}

std::string LinksCsv(const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::LinkRow>();
  for (const analysis::LinkRow& row : plan.links) text += analysis::RowLine(row);
  return text;
}

const PlannedRound& GanttRound(const Plan& plan, int64_t wanted) {
  const auto kept = static_cast<int64_t>(plan.tasks.size());
  std::vector<size_t> rounds;  // rounds whose tasks were kept
  std::vector<double> seconds;
  for (size_t i = 0; i < plan.rounds.size(); ++i) {
    const PlannedRound& round = plan.rounds[i];
    if (round.first_task + round.tasks > kept) continue;
    rounds.push_back(i);
    seconds.push_back(InSeconds(round.row.end - round.row.start));
  }
  if (rounds.empty() || wanted > static_cast<int64_t>(rounds.size())) {
    throw Error("--gantt", std::to_string(wanted),
                rounds.empty() ? "no round, as none ended"
                               : "a round from 1 to " + std::to_string(rounds.size()));
  }
  const size_t chosen =
      wanted > 0 ? static_cast<size_t>(wanted) - 1 : analysis::MedianPosition(seconds);
  return plan.rounds[rounds[chosen]];
}

analysis::RoundTasks TasksOf(const Plan& plan, const PlannedRound& round) {
  analysis::RoundTasks result{RowOf(round), {}};
  const auto end =
      std::min<int64_t>(round.first_task + round.tasks, static_cast<int64_t>(plan.tasks.size()));
  for (int64_t i = round.first_task; i < end; ++i) {
    result.tasks.push_back(RowOf(plan.tasks[static_cast<size_t>(i)], {}));
  }
  return result;
}

}  // namespace legacy
