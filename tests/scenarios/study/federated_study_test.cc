// Studies of federated runs: what is learnt is trained once, whatever the lines of clients.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "analysis/run_directory.h"
#include "scenarios/federated/run/run.h"
#include "scenarios/study/plan.h"
#include "scenarios/study/work.h"
#include "tests/message_of.h"

namespace legacy::federated_study_test {
namespace {

namespace fs = std::filesystem;

const std::string kSmall =
    "scenario:\n"
    "  training: {dataset: glyphs, model: logistic, evaluate_every: 2, train_limit: 600}\n"
    "  federated: {clients: 12, per_round: 4, rounds: 4}\n"
    "  compression: {policies: [dense, topk]}\n"
    "grid:\n";

// Rounds of all clients, and two collectives.
const std::string kCollectives =
    "  way:\n"
    "    cases:\n"
    "      rounds: {per-round: 12}\n"
    "      ring: {exchange: ring-allreduce, per-round: \"\"}\n"
    "      direct: {exchange: direct-allreduce, per-round: \"\"}\n";

StudyPlan Plan(const std::string& grid) { return PlanStudy(ParseStudy(kSmall + grid, "s.yaml")); }

int64_t Count(const StudyPlan& plan, const std::string& policy) {
  return std::ranges::count_if(plan.trainings, [&](const PlannedTraining& training) {
    return training.scenario.policies.front() == policy;
  });
}

TEST(FederatedStudy, TrainsOnceForAllLines) {
  const StudyPlan plan = Plan(
      "  population: [phones, \"broadband:up=5Mbps\"]\n"
      "  fidelity: [flow, analytic]\n"
      "  device-profile: [phone-assumed, cpu-reference]\n"
      "  server-price: [0, 0.09]\n"
      "  seeds: 2\n");
  EXPECT_EQ(plan.points.size(), 2u * 2 * 2 * 2 * 2 * 2);
  EXPECT_EQ(plan.trainings.size(), 2u * 2);
  EXPECT_EQ(plan.points.front().scenario.federated->population, "phones");
  EXPECT_EQ(plan.trainings.front().scenario.federated->clients, 12);
}

TEST(FederatedStudy, TrainsForWhatIsRead) {
  const StudyPlan plan = Plan(
      "  uplink-memory: [client, \"off\"]\n"
      "  local: [\"epochs:1\", \"steps:3\"]\n");
  EXPECT_EQ(Count(plan, "dense"), 2);  // it leaves nothing that a memory could keep
  EXPECT_EQ(Count(plan, "topk"), 4);
}

TEST(FederatedStudy, TrainsOnEachNetworkWhereTrainingsReadIt) {
  const StudyPlan plan = Plan(
      "  population: [phones, \"broadband:up=5Mbps\"]\n"
      "  rule: {cases: {rounds: {server: sync}, ahead: {over-select: 1.5}}}\n"
      "exclude: [{rule: rounds, policy: topk}]\n");
  EXPECT_EQ(Count(plan, "dense"), 1 + 2);
  EXPECT_EQ(Count(plan, "topk"), 2);
  for (const PlannedTraining& training : plan.trainings) {
    const bool rounds = training.scenario.federated->over_select == 1;
    EXPECT_EQ(training.refused.empty(), rounds) << training.refused;
    EXPECT_EQ(training.scenario.record, rounds);
  }
}

// A collective is a training other than that of a server, and all collectives share one.
TEST(FederatedStudy, TrainsOnceForAllCollectives) {
  const StudyPlan plan = Plan(kCollectives);
  EXPECT_EQ(Count(plan, "dense"), 2);
  EXPECT_TRUE(plan.trainings[plan.points[0].training].scenario.federated->HasServer());
  EXPECT_EQ(plan.points[2].training, plan.points[4].training);
  EXPECT_NE(plan.points[0].training, plan.points[2].training);
}

// Trains and times all points of a plan, and runs each of them.
void ExpectPointsOfRuns(const StudyPlan& plan, const std::string& name) {
  const fs::path folder = fs::path(::testing::TempDir()) / (name + std::to_string(getpid()));
  for (const PlannedTraining& training : plan.trainings) Train(folder, training);
  for (size_t id = 0; id < plan.points.size(); ++id) {
    const PlannedTraining& training = plan.trainings[plan.points[id].training];
    const analysis::StudyPoint point = TimePoint(plan, id, ReadTraining(folder, training));
    Scenario direct = ScenarioOf(plan.definition, plan.definition.points[id]);
    direct.out = (folder / ("direct" + std::to_string(id))).string();
    direct.pictures = false;
    StopFlag never = 0;
    std::FILE* log = std::fopen("/dev/null", "w");
    RunFederated(direct, "test", never, log);
    std::fclose(log);
    const analysis::RunDirectory run = analysis::ReadRunDirectory(direct.out);
    EXPECT_EQ(point.figures.simulated_seconds, run.steps.back().simulated_seconds) << id;
    EXPECT_EQ(point.figures.final_metric, run.evaluations.back().metrics.front()) << id;
  }
  fs::remove_all(folder);
}

TEST(FederatedStudy, APointEqualsTheRunOnItsLines) {
  ExpectPointsOfRuns(Plan("  population: [phones, \"broadband:up=5Mbps\"]\n"), "lines");
}

TEST(FederatedStudy, APointEqualsTheRunOfItsCollective) {
  ExpectPointsOfRuns(Plan(kCollectives), "collectives");
}

TEST(FederatedStudy, SaysWhatIsAllowed) {
  EXPECT_NE(MessageOf([] {
              Plan("  topo: [star]\n  algorithms: [\"fedavg,scaffold\"]\n");
            }).find("one algorithm for each point"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { Plan("  workers: [4, 8]\n"); }).find("unknown option 'workers'"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { Plan("  population: [houses]\n"); }).find("population"),
            std::string::npos);
  EXPECT_NE(
      MessageOf([] { Plan("  at: [moon]\n"); }).find("server: at: got 'moon'; allowed: no place"),
      std::string::npos);
}

// Texts are read where they are written: in the scenario, on an axis, and in a method.
TEST(FederatedStudy, MistakesInTextsHaveAPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"local: [\"step:3\"]", "allowed: epochs:2, epochs:2-5 or steps:20"},
      {"local: [\"epochs:5-2\"]", "local: got '2'"},
      {"partition: [\"dirichlet:alpha=-1\"]", "alpha"},
      {"partition: [\"labels:per_client=0\"]", "per_client"},
      {"partition: [diri]", "dirichlet"},
      {"algorithms: [\"fedprox:mu=x\"]", "mu"},
      {"downlink: [fp8]", "allowed: dense, fp16, or delta:CODEC"},
      {"server: [\"async:width=4\"]", "width"},
      {"selection: [\"oort:explore=2\"]", "explore"},
      {"selection: [uniform, \"tiers:count=13\"]", "count"},
      {"availability: [sometimes]", "always"},
      {"dropout: [\"2\"]", "dropout"},
      {"residual-decay: [2]", "allowed: a number from 0 to 1"},
      {"batchnorm: [mean]", "allowed: average, local"},
      {"secure-aggregation: [maybe]", "allowed: on, off"},
      {"population: [phones, houses]", "houses"},
      {"over-select: [1, 0.5]", "over_select"},
  };
  for (const auto& [axis, words] : cases) {
    const std::string message = MessageOf([&] { ParseStudy(kSmall + "  " + axis, "s.yaml"); });
    EXPECT_EQ(message.find("s.yaml:6:"), 0u) << axis << "\n" << message;
    EXPECT_NE(message.find(words), std::string::npos) << axis << "\n" << message;
  }
  const auto of_scenario = [](const std::string& text) {
    return MessageOf([&] {
      ParseStudy("scenario:\n  federated:\n    " + text + "grid: {rounds: [4]}\n", "s.yaml");
    });
  };
  EXPECT_EQ(of_scenario("local: steps\n").find("s.yaml:3:5: federated.local: got 'steps'"), 0u);
  const std::string method = of_scenario("rounds: 4\n  methods:\n    mine: {downlink: fp8}\n");
  EXPECT_EQ(method.find("s.yaml:5:12: methods.mine.downlink"), 0u) << method;
}

}  // namespace
}  // namespace legacy::federated_study_test
