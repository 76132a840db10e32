// Plans go out as traces and come in again: equal graphs, and equal times to the nanosecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ns3-module/fabric/step/build-ddp.h"
#include "ns3-module/fabric/step/build-sharded.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/graphs/goal_writer.h"
#include "tests/graphs/graph_testing.h"
#include "tests/message_of.h"

namespace legacy::graphs::export_test {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::CollectiveSpec;
using fabric::OperationKind;
using fabric::StepOperation;
using fabric::StepPlan;
using graph_test::Folder;
using graph_test::TimesOf;

StepPlan ThroughChakra(const StepPlan& plan, bool per_role = false) {
  const Folder folder;
  const std::string out = folder / "et";
  WriteChakra(plan, out, "step", per_role);
  return ImportTrace(out, "", {}).plan;  // with the groups beside it
}

StepPlan ThroughGoal(const StepPlan& plan) {
  const Folder folder;
  return ImportTrace(folder.Write("plan.goal", GoalText(plan)), "", {}).plan;
}

// Lists by rank may have one value for all or one for each, and `after` any order; a plan that came
// in has the shorter list, in order, and a duration for each segment.
StepPlan Normal(StepPlan plan) {
  const auto shorten = [](auto& values) {
    if (values.size() > 1 &&
        std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
      values.resize(1);
    }
  };
  for (fabric::StepRole& role : plan.roles) {
    for (StepOperation& operation : role.operations) {
      if (operation.kind == OperationKind::Segment && operation.duration.empty()) {
        operation.duration = {0};
      }
      std::ranges::sort(operation.after);
      shorten(operation.duration);
      shorten(operation.earliest);
      shorten(operation.collective);
      shorten(operation.peer);
    }
  }
  return plan;
}

// A random plan: segments with labels on two devices, collectives of several kinds in groups and
// among all ranks, and a message to the next rank, with random dependencies.
class RandomPlan {
 public:
  explicit RandomPlan(unsigned seed) : random_(seed) {}

  StepPlan Make() {
    plan_.ranks = 4;
    plan_.streams = {{"compute", false}, {"gather", true}, {"host", true, 1}, {"pipe", false}};
    plan_.communicators = {"data", "model"};
    plan_.contention = Below(2) == 0 ? 0 : 0.1;
    plan_.hostLimit = Below(3) == 0 ? 5 : 0;
    plan_.roles.push_back({{0, 1, 2, 3}, {}});
    operations_ = &plan_.roles[0].operations;
    for (int left = 12; left > 0; --left) Add(Below(3));
    Send();
    return plan_;
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  void Add(int kind) {
    StepOperation operation;
    operation.name = "op" + std::to_string(operations_->size());
    for (int before = 0; before < static_cast<int>(operations_->size()); ++before) {
      if (Below(4) == 0) operation.after.push_back(before);
    }
    if (kind == 0) {
      operation.kind = OperationKind::Barrier;
      operation.earliest = {Below(5000), Below(5000), Below(5000), 0};
    } else if (kind == 1) {
      operation.stream = Below(2) * 2;
      operation.label = static_cast<fabric::SegmentLabel>(Below(fabric::kSegmentLabels));
      operation.duration = {Below(9999), 1, 499, Below(3'000'000)};
    } else {
      SetCollective(operation);
    }
    operations_->push_back(std::move(operation));
  }

  void SetCollective(StepOperation& operation) {
    operation.kind = OperationKind::Collective;
    operation.stream = 1;
    operation.communicator = Below(2);
    operation.issue = issued_[operation.communicator]++;
    CollectiveSpec spec;
    const bool all = Below(2) == 0;
    const int members = all ? 4 : 2;
    switch (Below(4)) {
      case 0:
        spec.bytes.assign(members, 1000 + Below(9));
        spec.channels = 2;
        break;
      case 1:
        spec.algorithm = CollectiveAlgorithm::DirectAllGather;
        for (int m = 0; m < members; ++m) spec.bytes.push_back(Below(5000));
        break;
      case 2:
        spec.algorithm = CollectiveAlgorithm::HalvingReduceScatter;
        spec.bytes.assign(members, 4000);
        break;
      default:
        spec.algorithm = CollectiveAlgorithm::Broadcast;
        spec.root = 1;
        spec.bytes.assign(members, 700);
    }
    const auto first = static_cast<int>(plan_.collectives.size());
    if (all) {
      operation.collective = {first};
      plan_.collectives.push_back(spec);
      return;
    }
    operation.collective = {first, first + 1, first, first + 1};
    spec.members = {2, 0};
    plan_.collectives.push_back(spec);
    spec.members = {1, 3};
    plan_.collectives.push_back(spec);
  }

  void Send() {
    StepOperation send, receive;
    send.kind = OperationKind::Send;
    receive.kind = OperationKind::Receive;
    send.stream = receive.stream = 3;
    send.peer = {1, 2, 3, 0};
    receive.peer = {3, 0, 1, 2};
    send.tag = receive.tag = 5;
    send.bytes = 12345;
    send.after = {Below(static_cast<int>(operations_->size()))};
    operations_->push_back(send);
    operations_->push_back(receive);
  }

  std::mt19937 random_;
  StepPlan plan_;
  std::vector<StepOperation>* operations_ = nullptr;
  int issued_[2] = {0, 0};
};

TEST(Export, RandomPlansComeBackEqual) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const StepPlan plan = RandomPlan(seed).Make();
    const StepPlan again = ThroughChakra(plan);
    ASSERT_EQ(fabric::ToText(again), fabric::ToText(Normal(plan))) << seed;
    ASSERT_EQ(again.Canonical(), Normal(plan).Canonical()) << seed;
    ASSERT_EQ(ThroughChakra(plan, true).Canonical(), Normal(plan).Canonical()) << seed;
    const fabric::PlanTiming a = TimesOf(plan), b = TimesOf(again);
    ASSERT_EQ(a.finish, b.finish) << seed;
    for (size_t i = 0; i < a.roles[0].size(); ++i) {
      ASSERT_EQ(a.roles[0][i].begin, b.roles[0][i].begin) << seed << ", operation " << i;
      ASSERT_EQ(a.roles[0][i].end, b.roles[0][i].end) << seed << ", operation " << i;
    }
  }
}

fabric::StepTraffic Buckets() {
  fabric::StepTraffic traffic;
  traffic.workers = 4;
  traffic.deviceFree = {9'000, 9'500, 9'000, 9'001};
  for (int b = 0; b < 2; ++b) {
    fabric::BucketTraffic bucket;
    bucket.ready = {4'000 + b * 4'000, 4'100 + b * 4'000, 4'000 + b * 4'000, 4'000 + b * 4'000};
    CollectiveSpec sizes;
    sizes.algorithm = CollectiveAlgorithm::RingAllGather;
    sizes.bytes = {100, 200, 300, 50};
    CollectiveSpec sum;
    sum.bytes = {5000, 5000, 5000, 5000};
    bucket.calls = {{sizes, {}}, {sum, {700, 700, 800, 700}}};
    bucket.decode = {300, 300, 300, 301};
    traffic.buckets.push_back(bucket);
  }
  return traffic;
}

// DDP's backward pass goes out in segments, as traces know no times at which buckets are ready.
TEST(Export, BucketsTakeTheirTime) {
  const fabric::StepTraffic traffic = Buckets();
  const StepPlan segments = fabric::BuildDdpInSegments(traffic);
  const StepPlan again = ThroughChakra(segments);
  EXPECT_EQ(again.Canonical(), Normal(segments).Canonical());
  const fabric::PlanTiming direct = TimesOf(fabric::BuildDdp(traffic).plan);
  EXPECT_EQ(TimesOf(again).finish, direct.finish);
}

StepPlan Sharded() {
  fabric::StepTraffic traffic;
  traffic.workers = 4;
  fabric::ShardedTraffic& step = traffic.sharded.emplace();
  fabric::ShardedStage& stage = step.stages.emplace_back();
  stage.chunks.emplace_back();
  for (int u = 0; u < 3; ++u) {
    fabric::ShardedUnit unit;
    for (const auto& members : {std::vector<int>{0, 1}, {2, 3}}) {
      CollectiveSpec gather;
      gather.algorithm = CollectiveAlgorithm::RingAllGather;
      gather.bytes = {2000, 2001};
      gather.members = members;
      unit.gather.push_back(gather);
      CollectiveSpec reduce;
      reduce.algorithm = CollectiveAlgorithm::RingReduceScatter;
      reduce.bytes = {4001, 4001};
      reduce.members = members;
      unit.reduce.push_back(reduce);
    }
    for (const auto& members : {std::vector<int>{0, 2}, {1, 3}}) {
      CollectiveSpec sum;
      sum.bytes = {2000, 2000};
      sum.members = members;
      unit.replicas.push_back(sum);
    }
    unit.pack = {33};
    stage.units.push_back(unit);
    stage.chunks[0].push_back({u, {1000}, {}, {2000}});
  }
  stage.update = {500};
  return fabric::BuildSharded(traffic);
}

TEST(Export, ShardedStepsComeBackEqual) {
  const StepPlan plan = Sharded();
  const StepPlan again = ThroughChakra(plan);
  EXPECT_EQ(fabric::ToText(again), fabric::ToText(Normal(plan)));
  EXPECT_EQ(again.Canonical(), Normal(plan).Canonical());
  EXPECT_EQ(TimesOf(again).finish, TimesOf(plan).finish);
}

// In GOAL collectives are messages, which take the collective's time. A rank ends when its messages
// have arrived, and engines do not know that another one follows, which moves their windows a bit.
TEST(Export, GoalTakesTheTimeOfThePlan) {
  const StepPlan sharded = Sharded();
  EXPECT_EQ(TimesOf(ThroughGoal(sharded)).finish, TimesOf(sharded).finish);
  const StepPlan ddp = fabric::BuildDdpInSegments(Buckets());
  const auto plan = static_cast<double>(TimesOf(ddp).total);
  EXPECT_NEAR(static_cast<double>(TimesOf(ThroughGoal(ddp)).total) / plan, 1, 2e-3);
}

TEST(Export, GoalSaysWhatItCannotSay) {
  StepPlan plan = Sharded();
  plan.contention = 0.1;
  EXPECT_EQ(MessageOf([&] { GoalText(plan); }),
            "GOAL: got 'a plan whose collectives slow compute'; allowed: a plan without "
            "contention");
  StepPlan server = Sharded();
  server.collectives[0].algorithm = CollectiveAlgorithm::ParameterServer;
  server.collectives[0].root = 4;
  EXPECT_NE(MessageOf([&] { GoalText(server); }).find("with servers"), std::string::npos);
}

TEST(Export, FoldersWithTracesStayAsTheyAre) {
  const Folder folder;
  folder.Write("a.0.et", "x");
  EXPECT_NE(MessageOf([&] {
              WriteChakra(Sharded(), folder.Path(), "step", false);
            }).find("a folder without traces; it has a.0.et"),
            std::string::npos);
  WriteChakra(Sharded(), folder / "new", "step", true);
  EXPECT_TRUE(std::filesystem::exists(folder / "new/step.0.et"));
  EXPECT_FALSE(std::filesystem::exists(folder / "new/step.1.et"));
  EXPECT_NE(MessageOf([&] {
              WriteChakra(Sharded(), folder / "new", "step", true);
            }).find("a folder without traces"),
            std::string::npos);
}

TEST(Export, OneFileARoleComesBackEqual) {
  const StepPlan plan = Sharded();
  EXPECT_EQ(ThroughChakra(plan, true).Canonical(), Normal(plan).Canonical());
  // Rank 1 has nothing in place of a time that rank 0 has, and so a file of its own.
  StepPlan late = plan;
  std::ranges::find(late.roles[0].operations, "update", &StepOperation::name)->duration = {5, 0, 5,
                                                                                           5};
  EXPECT_EQ(ThroughChakra(late, true).Canonical(), Normal(late).Canonical());
  const Folder folder;
  WriteChakra(late, folder / "late", "step", true);
  EXPECT_TRUE(std::filesystem::exists(folder / "late/step.1.et"));
  WriteChakra(plan, folder / "et", "step", true);
  EXPECT_LT(2 * std::filesystem::file_size(folder / "et/step.3.et-diff"),
            std::filesystem::file_size(folder / "et/step.0.et"));
  std::filesystem::rename(folder / "et/step.1.et-diff", folder / "et/step.0.et-diff");
  std::filesystem::rename(folder / "et/step.0.et", folder / "et/step.1.et");
  EXPECT_NE(MessageOf([&] {
              ImportTrace(folder / "et", "", {});
            }).find("step.0.et-diff: differs from a file of rank 0, which is not there"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::graphs::export_test
