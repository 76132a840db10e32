#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "ns3-module/fabric/tasks/task-graph.h"
#include "tests/fabric/tasks/task_testing.h"

namespace legacy::fabric::task_graph_test {
namespace {

SyncOptions Rounds(int64_t per_round, int64_t versions) {
  SyncOptions options;
  options.perRound = per_round;
  options.versions = versions;
  return options;
}

class Engines : public ::testing::TestWithParam<std::pair<const char*, EngineFactory>> {};

// N equal lines behind a server line of rate R: a fluid download takes M max(1/r, N/R) and the
// latency. Headers are 54 bytes a segment of 1,448.
TEST_P(Engines, ARoundOnAStarTakesItsFluidTime) {
  // The analytic engine serves the flows of a line one after the other.
  const bool shares = GetParam().first == std::string("flow");
  for (const int64_t clients : {1, shares ? 40 : 1}) {
    TaskCase wanted;
    wanted.clients = clients;
    wanted.engine = GetParam().second;
    wanted.population = "broadband:down=100Mbps,up=100Mbps,delay=10ms";
    wanted.server = Rounds(clients, 1);
    wanted.down = 14'480'000;
    wanted.up = 1'448'000;
    Population people = MakePopulation([&] {
      PopulationRequest request;
      request.text = wanted.population;
      request.clients = clients;
      return request;
    }());
    ServerSite site;
    site.rateBps = 1'000'000'000;
    people.SetServer(site);
    wanted.people = people;
    const TaskRun run = RunTasks(wanted);
    ASSERT_EQ(run.version, 1);
    const TaskTimes& times = run.records.rounds[0].critical->times;
    const double wire = 1502. / 1448;
    const double slow = std::max(8 / 100e6, static_cast<double>(clients) * 8 / 1e9);
    const double down = static_cast<double>(times.downloaded) / 1e9;
    const double up = static_cast<double>(times.ended - times.worked) / 1e9;
    EXPECT_NEAR(down, 14'480'000 * wire * slow + .010, .03 * down);
    EXPECT_NEAR(up, 1'448'000 * wire * slow + .010, .03 * up + .002);
    EXPECT_EQ(times.worked - times.downloaded, kSecond);
  }
}

TEST_P(Engines, RatesAreThoseOfEachDirectionAndSchedule) {
  TaskCase wanted;
  wanted.clients = 1;
  wanted.engine = GetParam().second;
  wanted.server = Rounds(1, 1);
  wanted.down = 1'448'000;
  wanted.up = 1'448'000;
  wanted.population = "broadband:down=10Mbps,up=2Mbps,delay=5ms";
  const double megabits = 1'448'000 * 1502. / 1448 * 8 / 1e6;
  TaskRun run = RunTasks(wanted);
  TaskTimes times = run.records.rounds[0].critical->times;
  EXPECT_NEAR(static_cast<double>(times.downloaded) / 1e9, megabits / 10 + .005, .06);
  EXPECT_NEAR(static_cast<double>(times.ended - times.worked) / 1e9, megabits / 2 + .005, .2);
  // Both directions carry nothing from 0.5 s to 10.5 s of each 20 s.
  const std::string path = OwnFolder() + "task_graph_test.csv";
  std::ofstream(path) << "time_s,mbps\n0,10\n.5,0\n10.5,10\n20,10\n20.5,10\n";
  const std::string yaml = OwnFolder() + "task_graph_test.yaml";
  std::ofstream(yaml) << "- {down: 10Mbps, up: 10Mbps, delay: 5ms, trace: {csv: " << path << "}}\n";
  PopulationRequest request;
  request.text = yaml;
  wanted.people = MakePopulation(request);
  run = RunTasks(wanted);
  times = run.records.rounds[0].critical->times;
  const Client client = wanted.people->At(0);
  const LinkSchedule& schedule = *client.down.schedule;
  const double expected = static_cast<double>(schedule.Finish(0, megabits * 1e6)) / 1e9;
  EXPECT_NEAR(static_cast<double>(times.downloaded) / 1e9, expected + .005, .06);
}

TEST_P(Engines, LanesAndHandshakesAreThoseOfTheTransport) {
  TaskCase wanted;
  wanted.clients = 3;
  wanted.engine = GetParam().second;
  wanted.server = Rounds(3, 4);
  wanted.down = 100'001;
  wanted.up = 50'001;
  const TaskRun warm = RunTasks(wanted);
  wanted.lanes = 4;
  const TaskRun lanes = RunTasks(wanted);
  const TaskTimes& one = warm.records.rounds[0].critical->times;
  const TaskTimes& four = lanes.records.rounds[0].critical->times;
  EXPECT_NEAR(static_cast<double>(four.downloaded), static_cast<double>(one.downloaded),
              .05 * static_cast<double>(one.downloaded));
  EXPECT_EQ(four.carriedDown, 100'001);
  EXPECT_EQ(four.carriedUp, 50'001);
}

TEST_P(Engines, CancelledTasksFreeTheirLinesAndAreCarriedInPart) {
  TaskCase wanted;
  wanted.clients = 10;
  wanted.engine = GetParam().second;
  SyncOptions options = Rounds(10, 3);
  options.deadline = 3 * kSecond;
  wanted.server = options;
  wanted.down = 100'000;
  wanted.up = 5'000'000;  // 2.1 s at 20 Mbit/s
  wanted.work = [](int client, int64_t) { return client < 5 ? 0 : 2 * kSecond; };
  const TaskRun run = RunTasks(wanted);
  EXPECT_EQ(run.version, 3);
  EXPECT_EQ(run.end, 9 * kSecond);
  EXPECT_EQ(run.records.Count(TaskFate::Counted), 15);
  EXPECT_EQ(run.records.Count(TaskFate::Late), 15);
  for (const RoundRow& row : run.records.rounds) {
    EXPECT_EQ(row.fates[0], 5);
    EXPECT_EQ(row.carriedDown, 1'000'000);
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Engines,
                         ::testing::Values(std::pair{"flow", &MakeFlowEngine},
                                           std::pair{"analytic", &MakeAnalyticEngine}),
                         [](const auto& info) { return info.param.first; });

}  // namespace
}  // namespace legacy::fabric::task_graph_test
