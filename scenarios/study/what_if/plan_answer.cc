#include "scenarios/study/what_if/plan_answer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/run_directory.h"
#include "base/number.h"
#include "ns3-module/fabric/tasks/selection.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/federated/plan_rows.h"
#include "scenarios/study/shell.h"
#include "trainer/federated/aggregator.h"

namespace legacy {
namespace {

// Returns the mean seconds of work of a run's tasks, for a client with a slowdown of 1.
double WorkSeconds(const analysis::RunDirectory& run) {
  std::map<int64_t, double> slowdowns;
  for (const analysis::ClientRow& row : run.clients) slowdowns[row.client] = row.slowdown;
  double sum = 0;
  int64_t tasks = 0;
  for (const analysis::TaskRow& row : run.tasks) {
    if (!row.worked || !row.downloaded) continue;
    sum += (*row.worked - *row.downloaded) / slowdowns.at(row.client);
    ++tasks;
  }
  return tasks > 0 ? sum / static_cast<double>(tasks) : 0;
}

// Returns the text of a plan's server. An asynchronous server makes a version of as many updates as
// the algorithm specifies.
std::string ServerText(const Scenario& scenario) {
  const auto& asynchronous = *scenario.federated->server;
  if (!asynchronous) return scenario.federated->server.text();
  const int64_t clients = RequestOf(scenario, scenario.seed).population.Clients();
  const auto algorithm = MakeAggregator(FederatedMethodsOf(scenario).front().algorithm,
                                        {.numel = 1, .clients = clients});
  std::string server = "async:concurrency=" +
                       std::to_string(asynchronous->ConcurrencyAmong(clients, "federated.server")) +
                       ",buffer=" + std::to_string(algorithm->Traits().buffer);
  const int64_t staleness = algorithm->Traits().max_staleness;
  return staleness > 0 ? server + ",max-staleness=" + std::to_string(staleness) : server;
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0 : Sum(values) / static_cast<double>(values.size());
}

// Returns the end times of evenly spaced versions.
std::vector<std::pair<double, double>> CurveOf(const std::vector<analysis::RoundRow>& rounds) {
  const size_t stride = (rounds.size() + kMostPlannedPoints - 1) / kMostPlannedPoints;
  std::vector<std::pair<double, double>> curve;
  for (size_t left = rounds.size(); left > 0; left -= std::min(stride, left)) {
    const analysis::RoundRow& row = rounds[left - 1];
    curve.emplace_back(row.end, static_cast<double>(row.version));
  }
  std::ranges::reverse(curve);
  return curve;
}

WhatIfPlan PlanOf(const PlanRequest& request, const Plan& plan,
                  const analysis::RoundFigures& figures) {
  WhatIfPlan result;
  result.stopped = plan.stop;
  result.versions = plan.versions;
  result.wanted = request.Versions();
  if (plan.rounds.empty()) return result;
  result.round_median = analysis::Quantile(figures.seconds, 0.5);
  result.round_95 = analysis::Quantile(figures.seconds, 0.95);
  result.mb_down = Sum(figures.mb_down);
  result.mb_up = Sum(figures.mb_up);
  result.usd = Sum(figures.usd) + Sum(figures.usd_hours);
  for (const PlannedRound& round : plan.rounds) {
    result.started += round.row.started;
    result.counted += round.row.fates[static_cast<size_t>(fabric::TaskFate::Counted)];
  }
  result.never_counted = std::ranges::count(plan.clients, 0, &ClientTotals::counted);
  result.tables = PlanTables(request, plan);
  return result;
}

}  // namespace

bool HasServer(const Scenario& scenario) {
  return scenario.federated && scenario.federated->HasServer();
}

std::optional<MeanTask> TaskToPlan(const Scenario& scenario,
                                   const std::filesystem::path& directory) {
  if (!HasServer(scenario)) return std::nullopt;
  // Selections by losses depend on what is learnt.
  if (fabric::FindSelection(scenario.federated->selection, "--selection").readsLosses) {
    return std::nullopt;
  }
  const analysis::RunDirectory run = analysis::ReadRunDirectory(directory);
  if (run.steps.empty() || run.tasks.empty()) return std::nullopt;
  double up = 0, both = 0;
  for (const analysis::StepRow& row : run.steps) {
    up += row.message_bytes / static_cast<double>(run.steps.size());
    both += row.nic_bytes / static_cast<double>(run.steps.size());
  }
  return MeanTask{std::llround(both - up), std::llround(up), WorkSeconds(run)};
}

PlanOptions PlanOptionsFor(const WhatIfTraining& training, const Scenario& asked) {
  PlanOptions options = PlanOptionsOf(asked, asked.seed);
  options.federated.server = {ServerText(asked), "--server"};
  options.federated.down_bytes = {std::to_string(training.planned->down_bytes), "--down-bytes"};
  options.federated.up_bytes = {std::to_string(training.planned->up_bytes), "--up-bytes"};
  const double faster = asked.device_speed / training.scenario.device_speed;
  options.federated.client_seconds = training.planned->work_seconds / faster;
  return options;
}

std::string PlanLine(const PlanOptions& options) {
  auto words = WordsOfOptions(PlanRows(), options, PlanOptions(),
                              [](const Option<PlanOptions>& row) { return row.Has(kReadByPlans); });
  words.insert(words.begin(), "plan");
  return ProgramLine("legacy-federated", words);
}

WhatIfSeed PlanAnswer(const WhatIfTraining& training, const Scenario& asked,
                      const std::function<void()>& check) {
  const PlanOptions options = PlanOptionsFor(training, asked);
  const PlanRequest request = ParsePlan(options);
  PlanNetworks networks(request);
  const Plan plan =
      RunToEnd(*StartPlan(networks, {.on_transfer = check}), [&](int64_t) { check(); });
  std::vector<analysis::RoundRow> rounds;
  for (const PlannedRound& round : plan.rounds) rounds.push_back(RowOf(round));
  const analysis::RoundFigures figures = analysis::FiguresOf(rounds);
  WhatIfSeed seed;
  seed.seed = asked.seed;
  seed.simulated_seconds = rounds.empty() ? 0 : rounds.back().end;
  seed.step.total = Mean(figures.seconds);
  seed.round = RoundOf(figures, seed.step.total);
  seed.curve = CurveOf(rounds);
  seed.plan = PlanOf(request, plan, figures);
  seed.plan->command = PlanLine(options);
  return seed;
}

WhatIfRound RoundOf(const analysis::RoundFigures& figures, double total) {
  WhatIfRound round;
  round.download = Mean(figures.down);
  round.work = Mean(figures.work);
  round.upload = Mean(figures.up);
  round.wait = std::max(0.0, total - round.download - round.work - round.upload);
  return round;
}

}  // namespace legacy
