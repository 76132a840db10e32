#include "analysis/federated_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>

namespace legacy::analysis {
namespace {

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::string Median(const std::vector<double>& values) {
  return values.empty() ? "-" : Figure(Quantile(values, 0.5));
}

// A Column of the tables of rounds has a cell for each policy. It is shown if it says something
// about at least one of them.
struct Column {
  std::string name;
  bool (*shown)(const RoundFigures& figures);
  std::string (*cell)(const RoundFigures& figures);
};

bool Always(const RoundFigures&) { return true; }

template <std::vector<double> RoundFigures::*member>
bool Known(const RoundFigures& figures) {
  return !(figures.*member).empty();
}

template <std::vector<double> RoundFigures::*member>
bool Any(const RoundFigures& figures) {
  return std::ranges::any_of(figures.*member, [](double value) { return value != 0; });
}

template <std::vector<double> RoundFigures::*member>
std::string MedianOf(const RoundFigures& figures) {
  return Median(figures.*member);
}

template <std::vector<double> RoundFigures::*member>
std::string SumOf(const RoundFigures& figures) {
  return fmt::format("{:.0f}", Sum(figures.*member));
}

// Returns wire megabytes of a task that has ended, whether it was counted or not.
template <std::vector<double> RoundFigures::*member>
std::string OfTask(const RoundFigures& figures) {
  const double ended = Sum(figures.counted) + Sum(figures.lost) + Sum(figures.late) +
                       Sum(figures.interrupted) + Sum(figures.cancelled) + Sum(figures.stale);
  return ended > 0 ? Figure(Sum(figures.*member) / ended) : "-";
}

const Column kRoundColumns[] = {
    {"rounds", Always,
     [](const RoundFigures& figures) { return std::to_string(figures.seconds.size()); }},
    {"round s", Always, MedianOf<&RoundFigures::seconds>},
    {"95th percentile", Always,
     [](const RoundFigures& figures) {
       return figures.seconds.empty() ? std::string("-") : Figure(Quantile(figures.seconds, 0.95));
     }},
    {"download s", Known<&RoundFigures::down>, MedianOf<&RoundFigures::down>},
    {"work s", Known<&RoundFigures::work>, MedianOf<&RoundFigures::work>},
    {"upload s", Known<&RoundFigures::up>, MedianOf<&RoundFigures::up>},
    {"wait s", Any<&RoundFigures::wait>, MedianOf<&RoundFigures::wait>},
};

const Column kTaskColumns[] = {
    {"counted of started", Always,
     [](const RoundFigures& figures) {
       return fmt::format("{:.0f}/{:.0f}", Sum(figures.counted), Sum(figures.started));
     }},
    {"lost", Any<&RoundFigures::lost>, SumOf<&RoundFigures::lost>},
    {"late", Any<&RoundFigures::late>, SumOf<&RoundFigures::late>},
    {"interrupted", Any<&RoundFigures::interrupted>, SumOf<&RoundFigures::interrupted>},
    {"cancelled", Any<&RoundFigures::cancelled>, SumOf<&RoundFigures::cancelled>},
    {"stale", Any<&RoundFigures::stale>, SumOf<&RoundFigures::stale>},
    {"staleness", Any<&RoundFigures::staleness>, MedianOf<&RoundFigures::staleness>},
    {"residual age", Known<&RoundFigures::residual_age>, MedianOf<&RoundFigures::residual_age>},
    {"residual norm", Known<&RoundFigures::residual_norm>, MedianOf<&RoundFigures::residual_norm>},
    {"MB down a task", Always, OfTask<&RoundFigures::mb_down>},
    {"MB up a task", Always, OfTask<&RoundFigures::mb_up>},
};

// Returns a table with a row for each policy.
Table ColumnTable(const std::string& title, std::span<const Column> columns,
                  const std::vector<FederatedPolicy>& policies,
                  const std::vector<RoundFigures>& figures) {
  Table table{.title = title, .header = {"method"}, .rows = {}};
  for (const FederatedPolicy& policy : policies) table.rows.push_back({policy.name});
  for (const Column& column : columns) {
    if (std::ranges::none_of(figures, column.shown)) continue;
    table.header.push_back(column.name);
    for (size_t i = 0; i < figures.size(); ++i) table.rows[i].push_back(column.cell(figures[i]));
  }
  return table;
}

Table GroupsTable(const std::vector<FederatedPolicy>& policies) {
  Table table{.title = "Clients by group",
              .header = {"method", "group", "clients", "share of tasks", "share of counted",
                         "median task s", "never counted", "MB down", "MB up", "USD"},
              .rows = {}};
  for (const FederatedPolicy& policy : policies) {
    const auto trainings = static_cast<int64_t>(policy.counted.size());
    for (const ClientShare& group : SharesByGroup(policy.clients, policy.counted)) {
      table.rows.push_back({policy.name, group.name, std::to_string(group.clients / trainings),
                            Percent(group.task_share), Percent(group.counted_share),
                            Median(group.seconds), std::to_string(group.never),
                            Figure(group.down_bytes / 1e6), Figure(group.up_bytes / 1e6),
                            Figure(group.usd)});
    }
  }
  return table;
}

Table DecilesTable(const std::vector<FederatedPolicy>& policies) {
  Table table{.title = "Clients by decile of speed (predicted tasks, fast first)",
              .header = {"method", "of a decile"},
              .rows = {}};
  for (const FederatedPolicy& policy : policies) {
    const std::vector<ClientShare> deciles = SharesByDecile(policy.clients, policy.counted);
    if (deciles.empty()) continue;
    std::vector<std::string> tasks{policy.name, "share of tasks"},
        counted{policy.name, "share of counted"}, seconds{policy.name, "median task s"};
    table.header.resize(2);
    for (const ClientShare& decile : deciles) {
      table.header.push_back(decile.name);
      tasks.push_back(Percent(decile.task_share));
      counted.push_back(Percent(decile.counted_share));
      seconds.push_back(Median(decile.seconds));
    }
    table.rows.insert(table.rows.end(), {tasks, counted, seconds});
  }
  return table;
}

// Seeds over which a policy's means are taken.
std::set<uint64_t> CountedSeeds(const PolicySummary& policy) {
  std::set<uint64_t> seeds;
  for (const SeedSummary& seed : policy.seeds) {
    if (seed.finished || policy.finished == 0) seeds.insert(seed.seed);
  }
  return seeds;
}

}  // namespace

std::vector<FederatedPolicy> FederatedPolicies(const RunDirectory& run, const Summary& summary) {
  std::vector<FederatedPolicy> policies;
  if (run.rounds.empty()) return policies;
  for (const PolicySummary& policy : summary.policies) {
    FederatedPolicy rows{.name = policy.name};
    std::map<uint64_t, size_t> trainings;  // positions by seed
    const std::set<uint64_t> seeds = CountedSeeds(policy);
    const auto belongs = [&](const auto& row) {
      return row.policy == policy.name && seeds.contains(row.seed);
    };
    std::ranges::copy_if(run.rounds, std::back_inserter(rows.rounds), belongs);
    for (const ClientRow& row : run.clients) {
      if (!belongs(row)) continue;
      trainings.try_emplace(row.seed, trainings.size());
      rows.clients.push_back(row);
    }
    rows.counted.resize(trainings.size());
    for (const TaskRow& row : run.tasks) {
      if (!belongs(row) || row.end != "counted") continue;
      if (row.staleness) rows.staleness.push_back(*row.staleness);
      const auto training = trainings.find(row.seed);
      if (training == trainings.end()) continue;
      rows.counted[training->second].push_back({row.client, row.ended - row.dispatched});
    }
    policies.push_back(std::move(rows));
  }
  return policies;
}

std::vector<Table> FederatedTables(const RunDirectory& run, const Summary& summary) {
  std::vector<Table> tables;
  const std::vector<FederatedPolicy> policies = FederatedPolicies(run, summary);
  if (policies.empty()) return tables;
  std::vector<RoundFigures> figures;
  for (const FederatedPolicy& policy : policies) figures.push_back(FiguresOf(policy.rounds));
  tables.push_back(ColumnTable("Rounds: median time, and medians of the critical task's parts",
                               kRoundColumns, policies, figures));
  tables.push_back(ColumnTable("Tasks of all rounds, and medians of what a round found",
                               kTaskColumns, policies, figures));
  for (Table table : {GroupsTable(policies), DecilesTable(policies)}) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

std::string ExchangesWaitFor(std::span<const StepRow> versions) {
  double all = 0, work = 0, encode = 0, communication = 0, decode = 0, wait = 0;
  for (const StepRow& row : versions) {
    all += row.step_seconds;
    work += row.compute_seconds;
    encode += row.encode_seconds;
    communication += row.communication_seconds;
    decode += row.decode_seconds;
    wait += row.wait_seconds;
  }
  if (!(all > 0)) return "Versions take no time.";
  const auto share = [&](double part) { return fmt::format("{:.0f} %", 100 * part / all); };
  return fmt::format(
      "A version ends when all clients have everything: in the mean over them {} of it is local "
      "work, {} encoding, {} communication, {} decoding, and {} waiting for slower clients.",
      share(work), share(encode), share(communication), share(decode), share(wait));
}

}  // namespace legacy::analysis
