#include "ns3-module/fabric/engine/formula.h"

#include <gtest/gtest.h>

#include "tests/fabric/tasks/task_testing.h"

namespace legacy::fabric::formula_test {
namespace {

// FedScale's own figures: batch 20, 20 steps, 5 ms a sample take 6.0 s, and niid-cnn (44,426 fp32
// parameters) both ways at 10 Mbit/s .2843264 s.
TEST(Formula, HasTheTimesOfFedScale) {
  EXPECT_EQ(FormulaWork(20, 20, 5), 6 * kSecond);
  TaskCase wanted;
  wanted.clients = 30;
  wanted.population = "broadband:down=10Mbps,up=10Mbps,delay=20ms";
  wanted.engine = MakeFormulaEngine;
  SyncOptions options;
  options.perRound = 30;
  options.versions = 2;
  wanted.server = options;
  wanted.down = wanted.up = 44'426 * 4;
  wanted.work = [](int, int64_t) { return FormulaWork(20, 20, 5); };
  const TaskRun run = RunTasks(wanted);
  EXPECT_EQ(run.records.rounds[0].end, 6'284'326'400);  // nothing is shared, nothing has a delay
  EXPECT_EQ(run.end, 2 * 6'284'326'400);
}

TEST(Formula, CutTransfersCountWhatWasCarried) {
  TaskCase wanted;
  wanted.clients = 2;
  wanted.population = "broadband:down=8Mbps,up=8Mbps";
  wanted.engine = MakeFormulaEngine;
  SyncOptions options;
  options.perRound = 2;
  options.versions = 1;
  options.deadline = 5 * kSecond / 2;
  wanted.server = options;
  wanted.up = 2'000'000;
  wanted.work = [](int client, int64_t) { return client * kSecond; };
  const TaskRun run = RunTasks(wanted);
  EXPECT_EQ(run.end, 5 * kSecond / 2);
  EXPECT_EQ(run.records.rounds[0].carriedUp, 2'000'000 + 1'500'000);
}

}  // namespace
}  // namespace legacy::fabric::formula_test
