// Studies of federated runs: what is learnt is trained once, whatever the lines of clients.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "analysis/run_directory.h"
#include "scenarios/federated/run.h"
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
  EXPECT_EQ(plan.points.front().scenario.federated->at("population"), "phones");
  EXPECT_EQ(plan.trainings.front().scenario.federated->at("clients"), "12");
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
    const bool rounds = training.scenario.federated->at("over-select") == "1";
    EXPECT_EQ(training.refused.empty(), rounds) << training.refused;
    EXPECT_EQ(training.scenario.record, rounds);
  }
}

// A collective is another training than a server, and all collectives share one.
TEST(FederatedStudy, TrainsOnceForAllCollectives) {
  const StudyPlan plan = Plan(kCollectives);
  EXPECT_EQ(Count(plan, "dense"), 2);
  EXPECT_EQ(plan.trainings[plan.points[0].training].scenario.federated->at("exchange"), "server");
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
    RunFederated(direct, "test", {.stop = never}, log);
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
}

}  // namespace
}  // namespace legacy::federated_study_test
