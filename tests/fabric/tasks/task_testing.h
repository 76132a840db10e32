// Helpers of tests about tasks: a population, its network, a server and an engine in one place.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/population/client-network.h"
#include "ns3-module/fabric/tasks/server.h"
#include "ns3-module/fabric/tasks/task-graph.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric {

inline constexpr TimeNs kSecond = 1'000'000'000;

// Works that a test computes.
class TestWorks : public TaskWorks {
 public:
  std::function<TaskWork(int client, int64_t version)> work;
  std::function<int64_t(uint64_t task)> up_bytes = [](uint64_t) { return 0; };
  TaskWork WorkOf(const TaskStart& start) override { return work(start.client, start.version); }
  int64_t UpBytesOf(uint64_t task) override { return up_bytes(task); }
  TimeNs Predicted(int client) override { return work(client, 0).work; }
};

class Records : public TaskListener {
 public:
  std::vector<TaskRow> tasks;
  std::vector<RoundRow> rounds;
  void OnTask(const TaskRow& row) override { tasks.push_back(row); }
  void OnRound(const RoundRow& row) override { rounds.push_back(row); }
  int64_t Count(TaskFate fate) const {
    return std::count_if(tasks.begin(), tasks.end(),
                         [&](const TaskRow& row) { return row.fate == fate; });
  }
};

// The settings that a test varies. Without bytes the network is infinite.
struct TaskCase {
  int64_t clients = 10;
  std::string population = "broadband";
  std::string availability = "always";
  std::string dropout = "off";
  std::string selection = "uniform";
  TimeNs detection = 0;
  uint64_t seed = 1;
  int64_t down = 0;
  int64_t up = 0;
  int lanes = 1;
  std::function<TimeNs(int client, int64_t version)> work = [](int, int64_t) { return kSecond; };
  std::variant<SyncOptions, AsyncOptions> server;
  ConnectionKind connections = ConnectionKind::Warm;
  EngineFactory engine = MakeFlowEngine;
  std::optional<Population> people;  // instead of `population`
};

struct TaskRun {
  Records records;
  std::string stop;
  int64_t version = 0;
  TimeNs end = 0;
  size_t most_live = 0;
  std::vector<LinkCounters> links;
};

inline TaskRun RunTasks(const TaskCase& wanted) {
  PopulationRequest request;
  request.text = wanted.population;
  request.clients = wanted.clients;
  request.seed = wanted.seed;
  const Population population = wanted.people ? *wanted.people : MakePopulation(request);
  const ClientNetwork network = MakeClientNetwork(population, nullptr, nullptr);
  const ClientAvailability availability(population, wanted.availability, wanted.seed);
  const auto selection = MakeSelection(wanted.selection, wanted.seed, "selection");
  std::vector<int64_t> weights;
  for (int64_t k = 0; selection->ReadsWeights() && k < population.Clients(); ++k) {
    weights.push_back(population.SamplesOf(k));
  }
  Candidates candidates(population.Clients(), availability, weights);
  TestWorks works;
  works.work = [&](int client, int64_t version) {
    return TaskWork{wanted.down, wanted.up, wanted.work(client, version), wanted.lanes};
  };
  TaskRun run;
  const auto* sync = std::get_if<SyncOptions>(&wanted.server);
  const auto server = sync ? MakeSyncServer(*sync, candidates, *selection, works, run.records)
                           : MakeAsyncServer(std::get<AsyncOptions>(wanted.server), candidates,
                                             *selection, works, run.records);
  const ClientRisks risks(availability, Dropout::Parse(wanted.dropout, wanted.seed, "dropout"),
                          wanted.detection);
  TaskGraph graph(*server, &risks, network.serverEndpoint, wanted.connections);
  EngineRequest engine_request;
  engine_request.topology = &network.topology;
  engine_request.placement = &network.placement;
  engine_request.transport = MakeTransport("wan");
  engine_request.transport.connections = wanted.connections;
  const auto engine = wanted.engine(engine_request);
  engine->Submit(graph, 0);
  while (!graph.Done()) engine->RunUntil(kNever - 1);  // it pauses after each round
  run.stop = server->StopReason();
  run.version = server->Version();
  run.end = run.records.rounds.empty() ? 0 : run.records.rounds.back().end;
  run.most_live = graph.MostLive();
  run.links = engine->Links();
  EXPECT_TRUE(graph.Done());
  EXPECT_EQ(graph.Live(), 0u);
  EXPECT_EQ(server->TasksStarted(), run.records.tasks.size());
  return run;
}

}  // namespace legacy::fabric
