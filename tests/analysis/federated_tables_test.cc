#include "analysis/federated_tables.h"

#include <map>
#include <sstream>
#include <string>

#include "analysis/tables.h"
#include "base/programs/terminal.h"
#include "tests/analysis/fixture.h"

namespace legacy::analysis::federated_tables_test {
namespace {

// The cells of a table by name of row and column. Rows are named by their first `names` cells.
std::map<std::string, std::string> Cells(const Table& table, size_t names = 1) {
  std::map<std::string, std::string> cells;
  for (const auto& row : table.rows) {
    std::string name = row.at(0);
    for (size_t i = 1; i < names; ++i) name += "/" + row.at(i);
    for (size_t i = names; i < row.size(); ++i) cells[name + "/" + table.header.at(i)] = row[i];
  }
  return cells;
}

// A round of `seconds` from `start` on whose critical task takes 1 s down, 2 s of work, and `up` s.
RoundRow Round(const std::string& policy, int64_t version, double start, double seconds,
               double up) {
  RoundRow row;
  row.policy = policy;
  row.seed = 1;
  row.version = version;
  row.start = start;
  row.end = start + seconds;
  row.started = 4;
  row.counted = 2;
  row.lost = 1;
  row.late = 1;
  row.down_bytes = 8'000'000;
  row.up_bytes = 2'000'000;
  row.usd = 0.5;
  row.usd_hours = 0.25;
  row.client_seconds = 1800;
  row.critical_client = 1;
  row.critical_dispatched = start;
  row.critical_downloaded = start + 1;
  row.critical_worked = start + 3;
  row.critical_uploaded = start + 3 + up;
  return row;
}

ClientRow Client(const std::string& policy, int64_t number, const std::string& group,
                 double predicted, int64_t tasks, int64_t counted) {
  ClientRow row;
  row.policy = policy;
  row.seed = 1;
  row.client = number;
  row.group = group;
  row.predicted_seconds = predicted;
  row.tasks = tasks;
  row.counted = counted;
  row.down_bytes = 1'000'000;
  row.up_bytes = 500'000;
  row.usd = 0.125;
  return row;
}

TaskRow Task(const std::string& policy, int64_t client, double seconds, const std::string& end) {
  TaskRow row;
  row.policy = policy;
  row.seed = 1;
  row.client = client;
  row.dispatched = 10;
  row.ended = 10 + seconds;
  row.end = end;
  return row;
}

TEST(FederatedTables, OtherRunsHaveNone) {
  RunDirectory run = MakeRun({"dense"}, {1});
  AddTraining(run, "dense", 1, 1, {0.5, 0.6, 0.7});
  const Summary summary = Summarise(run);
  EXPECT_FALSE(summary.federated);
  EXPECT_TRUE(FederatedTables(run, summary).empty());
  EXPECT_EQ(TextTable(summary).find("client hours"), std::string::npos);
}

TEST(FederatedTables, RoundsAreOfTheCriticalTaskAndOfAllTasks) {
  RunDirectory run = MakeRun({"dense"}, {1});
  // Rounds of 5, 6 and 10 s; uploads of 2, 2 and 4 s; so 0, 1 and 3 s are spent waiting for others.
  run.rounds = {Round("dense", 1, 0, 5, 2), Round("dense", 2, 5, 6, 2),
                Round("dense", 3, 11, 10, 4)};
  const auto tables = FederatedTables(run, Summarise(run));
  const auto cells = Cells(tables.at(0));
  EXPECT_EQ(cells.at("dense/rounds"), "3");
  EXPECT_EQ(cells.at("dense/round s"), "6.000");
  EXPECT_EQ(cells.at("dense/95th percentile"), "9.600");
  EXPECT_EQ(cells.at("dense/download s"), "1.000");
  EXPECT_EQ(cells.at("dense/work s"), "2.000");
  EXPECT_EQ(cells.at("dense/upload s"), "2.000");
  EXPECT_EQ(cells.at("dense/wait s"), "1.000");
  const auto tasks = Cells(tables.at(1));
  EXPECT_EQ(tasks.at("dense/counted of started"), "6/12");
  EXPECT_EQ(tasks.at("dense/lost"), "3");
  EXPECT_EQ(tasks.at("dense/late"), "3");
  // 24 MB and 6 MB of twelve tasks that ended.
  EXPECT_EQ(tasks.at("dense/MB down a task"), "2.000");
  EXPECT_EQ(tasks.at("dense/MB up a task"), "0.5000");
  EXPECT_FALSE(tasks.contains("dense/staleness"));
  EXPECT_FALSE(tasks.contains("dense/stale"));
  EXPECT_FALSE(tasks.contains("dense/residual age"));
}

// Clients hold residuals from the second round on.
TEST(FederatedTables, ResidualsAreThoseThatClientsHold) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1});
  for (int64_t version = 1; version <= 4; ++version) {
    run.rounds.push_back(Round("dense", version, 0, 5, 2));
    run.rounds.push_back(Round("topk", version, 0, 5, 2));
    if (version == 1) continue;
    run.rounds.back().residuals = 2;
    run.rounds.back().residual_age = static_cast<double>(version);
    run.rounds.back().residual_norm = 0.5;
  }
  const auto tasks = Cells(FederatedTables(run, Summarise(run)).at(1));
  EXPECT_EQ(tasks.at("topk/residual age"), "3.000");
  EXPECT_EQ(tasks.at("topk/residual norm"), "0.5000");
  EXPECT_EQ(tasks.at("dense/residual age"), "-");
}

// Whatever happens in a run, its tables are as wide as others.
TEST(FederatedTables, FitIntoTheWidthOfText) {
  RunDirectory run = MakeRun({"fedprox:mu=0.01 legacy-both", "dense"}, {1});
  for (const std::string& policy : run.manifest.policies) {
    AddTraining(run, policy, 1, 1, {0.7, 0.8, 0.9, 0.9});
    for (int64_t version = 1; version <= 40; ++version) {
      RoundRow row = Round(policy, version, 10'000'000. * static_cast<double>(version), 6e6, 2);
      row.started = 100'000;
      row.counted = 90'000;
      row.interrupted = row.cancelled = row.stale = 10'000;
      row.staleness_mean = 12.5;
      row.residual_age = row.residual_norm = 123.4;
      run.rounds.push_back(row);
    }
    for (int64_t i = 0; i < 20; ++i) run.clients.push_back(Client(policy, i, "phones", 1, 1, 1));
  }
  const Summary summary = Summarise(run);
  std::string text = TextTable(summary);
  for (const Table& table : FederatedTables(run, summary)) text += RenderText(table);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
  }
  EXPECT_NE(text.find("\nfedprox:mu=0.01 legacy-both  "), std::string::npos) << text;
}

TEST(FederatedTables, TasksOfAnAsynchronousServerBeginBeforeTheirRound) {
  RunDirectory run = MakeRun({"dense"}, {1});
  RoundRow row = Round("dense", 1, 0, 5, 2);
  row.start = 4;  // after the dispatch of its critical task
  row.staleness_mean = 1.5;
  row.lost = row.late = 0;
  run.rounds = {row};
  const auto tables = FederatedTables(run, Summarise(run));
  const auto cells = Cells(tables.at(0)), tasks = Cells(tables.at(1));
  EXPECT_EQ(cells.at("dense/round s"), "1.000");
  EXPECT_EQ(tasks.at("dense/staleness"), "1.500");
  EXPECT_FALSE(cells.contains("dense/wait s"));
  EXPECT_FALSE(tasks.contains("dense/lost"));
}

TEST(FederatedTables, RoundsWithoutCountedTasksHaveNoParts) {
  RunDirectory run = MakeRun({"dense"}, {1});
  RoundRow row;
  row.policy = "dense";
  row.seed = 1;
  row.version = 1;
  row.end = 3;
  run.rounds = {row};
  run.clients = {Client("dense", 0, "all", 3, 0, 0)};
  const auto tables = FederatedTables(run, Summarise(run));
  ASSERT_EQ(tables.size(), 3u);  // one client has no deciles
  const auto rounds = Cells(tables[0]);
  EXPECT_EQ(rounds.at("dense/round s"), "3.000");
  EXPECT_FALSE(rounds.contains("dense/work s"));
  EXPECT_EQ(Cells(tables[1]).at("dense/MB up a task"), "-");
  const auto groups = Cells(tables[2], 2);
  EXPECT_EQ(groups.at("dense/all/share of tasks"), "-");
  EXPECT_EQ(groups.at("dense/all/share of counted"), "-");
  EXPECT_EQ(groups.at("dense/all/median task s"), "-");
  EXPECT_EQ(groups.at("dense/all/never counted"), "1");
}

TEST(FederatedTables, GroupsAndDecilesShareTasks) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1});
  run.rounds = {Round("dense", 1, 0, 5, 2), Round("topk", 1, 0, 5, 2)};
  // Twenty clients, of which the last is the fastest: deciles are pairs from the end on.
  for (const std::string& policy : run.manifest.policies) {
    for (int64_t i = 0; i < 20; ++i) {
      const bool fast = i >= 18;
      run.clients.push_back(Client(policy, i, fast ? "silos" : "phones",
                                   20 - static_cast<double>(i), fast ? 11 : 1, fast ? 9 : 0));
    }
  }
  run.tasks = {Task("dense", 18, 2, "counted"), Task("dense", 18, 4, "counted"),
               Task("dense", 19, 9, "counted"), Task("dense", 19, 99, "late"),
               Task("topk", 19, 1, "counted")};
  const auto tables = FederatedTables(run, Summarise(run));
  ASSERT_EQ(tables.size(), 4u);
  const auto groups = Cells(tables[2], 2);
  EXPECT_EQ(groups.at("dense/phones/clients"), "18");
  EXPECT_EQ(groups.at("dense/phones/share of tasks"), "45.0 %");
  EXPECT_EQ(groups.at("dense/phones/share of counted"), "0.0 %");
  EXPECT_EQ(groups.at("dense/phones/median task s"), "-");
  EXPECT_EQ(groups.at("dense/phones/never counted"), "18");
  EXPECT_EQ(groups.at("dense/silos/share of tasks"), "55.0 %");
  EXPECT_EQ(groups.at("dense/silos/share of counted"), "100.0 %");
  EXPECT_EQ(groups.at("dense/silos/median task s"), "4.000");
  EXPECT_EQ(groups.at("topk/silos/median task s"), "1.000");
  EXPECT_EQ(groups.at("dense/silos/MB down"), "2.000");
  EXPECT_EQ(groups.at("dense/silos/USD"), "0.2500");
  const auto deciles = Cells(tables[3], 2);
  EXPECT_EQ(deciles.at("dense/share of tasks/1"), "55.0 %");
  EXPECT_EQ(deciles.at("dense/share of tasks/10"), "5.0 %");
  EXPECT_EQ(deciles.at("dense/share of counted/1"), "100.0 %");
  EXPECT_EQ(deciles.at("dense/share of counted/2"), "0.0 %");
  EXPECT_EQ(deciles.at("dense/median task s/1"), "4.000");
  EXPECT_EQ(deciles.at("dense/median task s/2"), "-");
}

// Evaluations are at versions 10, 20, 30 and 40.
TEST(FederatedSummary, CountsWhatTheTargetTook) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1});
  AddTraining(run, "dense", 1, 1, {0.7, 0.8, 0.9, 0.9});
  AddTraining(run, "topk", 1, 1, {0.1, 0.1, 0.1, 0.1});
  for (const std::string& policy : run.manifest.policies) {
    for (int64_t version = 1; version <= 40; ++version) {
      // Version 7 took two rounds.
      if (version == 7) run.rounds.push_back(Round(policy, version, 0, 5, 2));
      run.rounds.push_back(Round(policy, version, 0, 5, 2));
    }
  }
  const Summary summary = Summarise(run);
  EXPECT_TRUE(summary.federated && summary.priced);
  const PolicySummary& dense = summary.policies[0];  // reaches 80 % at version 30
  EXPECT_EQ(dense.rounds_to_target.spread.mean, 31);
  EXPECT_DOUBLE_EQ(dense.usd_to_target.spread.mean, 31 * 0.75);
  EXPECT_DOUBLE_EQ(dense.client_hours_to_target.spread.mean, 31 * 0.5);
  EXPECT_EQ(summary.policies[1].rounds_to_target.reached, 0);
  EXPECT_EQ(ToJson(summary)["policies"][0]["seeds"][0]["rounds_to_target"], 31);
  EXPECT_TRUE(ToJson(summary)["policies"][1]["seeds"][0]["usd_to_target"].is_null());
  const std::string text = TextTable(summary);
  EXPECT_NE(text.find("What the target took\nmethod       rounds          USD  client hours\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\ndense            31        23.25         15.50\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\ntopk    0/1 reached  0/1 reached   0/1 reached\n"), std::string::npos);
}

TEST(WaitsFor, SaysWhereClientsAreEqual) {
  const std::vector<RoundRow> rounds = {Round("dense", 1, 0, 8, 4)};
  std::vector<ClientRow> clients;
  for (int64_t i = 0; i < 30; ++i) clients.push_back(Client("dense", i, "phones", 1, 1, 1));
  const auto ends = [&](const std::string& text) {
    return WaitsFor(rounds, clients).ends_with(text);
  };
  EXPECT_TRUE(ends("\nAll clients are equal: none is predicted to be slower than others."))
      << WaitsFor(rounds, clients);
  for (int64_t i = 0; i < 15; ++i) clients[static_cast<size_t>(i)].predicted_seconds = 2;
  EXPECT_TRUE(ends("\nThe slowest 50 % of the clients ends 100 % of the rounds."))
      << WaitsFor(rounds, clients);
  for (int64_t i = 0; i < 30; ++i) {
    clients[static_cast<size_t>(i)].predicted_seconds = static_cast<double>(30 - i);
  }
  EXPECT_TRUE(ends("\nThe slowest tenth of the clients ends 100 % of the rounds."))
      << WaitsFor(rounds, clients);
  clients.resize(19);
  EXPECT_EQ(WaitsFor(rounds, clients).find("slowest"), std::string::npos);
}

TEST(WaitsFor, NamesPartsGroupAndSlowTenth) {
  // Of 8 s, the critical task of client 1 downloads 1 s, works 2 s and uploads 4 s.
  const std::vector<RoundRow> rounds = {Round("dense", 1, 0, 8, 4)};
  std::vector<ClientRow> clients;
  for (int64_t i = 0; i < 20; ++i) {
    clients.push_back(Client("dense", i, i < 2 ? "phones" : "silos", i == 1 ? 5 : 1, 1, 1));
  }
  EXPECT_EQ(WaitsFor(rounds, clients),
            "A round waits for its last counted task: 12 % downloads, 25 % work, 50 % uploads, "
            "12 % after its arrival.\n"
            "25 % of that is handshakes, slow start, rates below the mean, and sharing lines.\n"
            "The slowest 5 % of the clients ends 100 % of the rounds.\n"
            "Group phones ends 100 % of the rounds.");
  // Predictions with handshakes and slow start tell them apart.
  clients[1].opening_seconds = 2;
  EXPECT_NE(
      WaitsFor(rounds, clients)
          .find("\n25 % of that is handshakes and slow start, and 25 % rates below the mean and "
                "sharing lines.\n"),
      std::string::npos);
  EXPECT_EQ(WaitsFor({}, clients), "No arrival of an update ended a round.");
}

}  // namespace
}  // namespace legacy::analysis::federated_tables_test
