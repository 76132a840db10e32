#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/error.h"
#include "ns3-module/fabric/step/build-sharded.h"
#include "ns3-module/fabric/step/plan-parts.h"
#include "tests/fabric/step/plan_testing.h"

namespace legacy::fabric::plan_test {
namespace {

using Label = SegmentLabel;

constexpr TimeNs kForward = 300, kBackward = 700, kUpdate = 50;

// A collective among two workers that takes `time`, whatever the network.
CollectiveSpec Timed(CollectiveAlgorithm algorithm, TimeNs time) {
  CollectiveSpec spec = Spec(algorithm, {1000, 1000});
  spec.times = {time, time};
  return spec;
}

// A step of two workers with equal units, each with one segment, and times for their collectives.
StepTraffic Step(int units, TimeNs gather, TimeNs reduction) {
  StepTraffic traffic;
  traffic.workers = 2;
  ShardedTraffic& step = traffic.sharded.emplace();
  step.oneReduction = true;
  ShardedStage& stage = step.stages.emplace_back();
  stage.chunks.emplace_back();
  for (int u = 0; u < units; ++u) {
    ShardedUnit& unit = stage.units.emplace_back();
    unit.gather = {Timed(CollectiveAlgorithm::RingAllGather, gather)};
    unit.reduce = {Timed(CollectiveAlgorithm::RingReduceScatter, reduction)};
    stage.chunks[0].push_back({u, {kForward}, {}, {kBackward}});
  }
  stage.update = {kUpdate};
  return traffic;
}

PlanTiming Time(const StepTraffic& traffic) { return Star(2).Time(BuildSharded(traffic)); }

// A transformer: unit 0 has the embedding and the head, and keeps its weights.
TEST(ShardedStep, OfARootAndTwoBlocks) {
  StepTraffic traffic = Step(3, 100, 200);
  ShardedTraffic& step = *traffic.sharded;
  step.stages[0].chunks[0].push_back({0, {10}, {}, {20}});
  step.stages[0].chunks[0][1].recompute = {kForward};
  step.stages[0].units[0].kept = true;
  EXPECT_EQ(ToText(BuildSharded(traffic)), R"(2 ranks
stream compute
stream gather
stream reduce
stream replica
stream tensor
stream pipe, any order
stream context
stream expert
collective 0: ring-allgather of 1000 B among all
collective 1: ring-allgather of 1000 B among all
collective 2: ring-allgather of 1000 B among all
collective 3: ring-allgather of 1000 B among all
collective 4: ring-allgather of 1000 B among all
collective 5: ring-reduce-scatter of 1000 B among all
collective 6: ring-reduce-scatter of 1000 B among all
collective 7: ring-reduce-scatter of 1000 B among all
role 0: ranks 0-1
  0 AG(0): collective 0, issue 0 of shards, on gather
  1 AG(1): collective 1, issue 1 of shards, on gather
  2 unpack(0): segment compute of 0 ns, on compute, after 0
  3 forward(0): segment compute of 300 ns, on compute
  4 AG(2): collective 2, issue 2 of shards, on gather, after 2
  5 unpack(1): segment compute of 0 ns, on compute, after 1
  6 forward(1): segment compute of 300 ns, on compute
  7 AG(2): collective 3, issue 3 of shards, on gather, after 5
  8 unpack(2): segment compute of 0 ns, on compute, after 4
  9 forward(2): segment compute of 300 ns, on compute
  10 forward(0): segment compute of 10 ns, on compute
  11 backward(0): segment compute of 20 ns, on compute
  12 AG(1): collective 4, issue 4 of shards, on gather, after 8
  13 unpack(2): segment compute of 0 ns, on compute, after 7
  14 backward(2): segment compute of 700 ns, on compute
  15 pack(2): segment compute of 0 ns, on compute
  16 RS(2): collective 5, issue 5 of shards, on reduce, after 15
  17 unpack(1): segment compute of 0 ns, on compute, after 12
  18 recompute(1): segment recompute of 300 ns, on compute
  19 backward(1): segment compute of 700 ns, on compute
  20 pack(1): segment compute of 0 ns, on compute, after 16
  21 RS(1): collective 6, issue 6 of shards, on reduce, after 20
  22 backward(0): segment compute of 700 ns, on compute
  23 pack(0): segment compute of 0 ns, on compute, after 21
  24 RS(0): collective 7, issue 7 of shards, on reduce, after 23
  25 update: segment update of 50 ns, on compute, after 24
)");
  EXPECT_EQ(Time(traffic).total, 100 + 3 * kForward + 30 + kForward + 3 * kBackward + 200 + 50);
}

// Messages to owners: they are encoded, lengths travel, then they, and the owner sums what it
// got before it packs the next unit, or after the backward pass. Announcements come last.
TEST(ShardedStep, OfMessagesToOwners) {
  StepTraffic traffic = Step(2, 100, 200);
  ShardedTraffic& step = *traffic.sharded;
  for (ShardedUnit& unit : step.stages[0].units) {
    unit.gather.clear();
    unit.encode = {40};
    unit.sum = {60};
    unit.replicas = {Timed(CollectiveAlgorithm::RingAllReduce, 30)};
  }
  step.stages[0].units[1].first = {Timed(CollectiveAlgorithm::AllToAll, 5)};
  step.announcements = {Timed(CollectiveAlgorithm::Broadcast, 7)};
  step.announce = {3};
  const auto names = [&] {
    std::string text;
    const StepPlan plan = BuildSharded(traffic);
    for (const StepOperation& operation : plan.roles[0].operations) text += operation.name + " ";
    return text;
  };
  EXPECT_EQ(names(),
            "forward(0) forward(1) backward(1) pack(1) encode(1) first(1) RS(1) backward(0) "
            "sum(1) AR(1) pack(0) encode(0) RS(0) sum(0) AR(0) announce announcement update ");
  // 205 ns of transfers hide behind the backward pass of unit 0.
  EXPECT_EQ(Time(traffic).total, 2 * kForward + kBackward + 40 + kBackward + 60 + 40 + 200 + 60 +
                                     std::max(30, 3 + 7) + kUpdate);
  // The device waits for messages inside nodes, because it compresses their means again.
  step.stages[0].units[1].between = {15};
  EXPECT_EQ(Time(traffic).total, 2 * kForward + kBackward + 40 + 5 + 15 + kBackward + 60 + 40 +
                                     200 + 60 + std::max(30, 3 + 7) + kUpdate);
  step.stages[0].units[1].between.clear();
  step.oneReduction = false;
  EXPECT_EQ(names(),
            "forward(0) forward(1) backward(1) pack(1) encode(1) first(1) RS(1) backward(0) "
            "pack(0) encode(0) RS(0) sum(1) AR(1) sum(0) AR(0) announce announcement update ");
  step.reductionsBlock = true;
  EXPECT_EQ(names(),
            "forward(0) forward(1) backward(1) pack(1) encode(1) first(1) RS(1) wait(1) sum(1) "
            "AR(1) backward(0) pack(0) encode(0) RS(0) wait(0) sum(0) AR(0) announce "
            "announcement update ");
  // All messages wait for an agreement, which follows the backward pass.
  step.reductionsBlock = false;
  step.oneReduction = true;
  step.agreement = {Timed(CollectiveAlgorithm::RingAllReduce, 9)};
  step.agree = {4};
  EXPECT_EQ(names(),
            "forward(0) forward(1) backward(1) backward(0) agree agreement pack(1) encode(1) "
            "first(1) RS(1) sum(1) AR(1) pack(0) encode(0) RS(0) sum(0) AR(0) announce "
            "announcement update ");
  EXPECT_EQ(Time(traffic).total, 2 * (kForward + kBackward) + 4 + 9 + 40 + 5 + 200 + 60 + 40 + 200 +
                                     60 + std::max(30, 3 + 7) + kUpdate);
  step.passes = 2;
  EXPECT_NE(MessageOf([&] { BuildSharded(traffic); }).find("after the last one"),
            std::string::npos);
  step.reducesEach = false;
  EXPECT_EQ(Time(traffic).total, 4 * (kForward + kBackward) + 4 + 9 + 40 + 5 + 200 + 60 + 40 + 200 +
                                     60 + std::max(30, 3 + 7) + kUpdate);
}

// Gathers that take longer than the device computes follow each other, and shorter ones hide.
TEST(ShardedStep, TakesItsClosedForm) {
  constexpr int kUnits = 12;
  const auto forward = [](const StepTraffic& traffic) {
    const StepPlan plan = BuildSharded(traffic);
    const PlanTiming timing = Star(2).Time(plan);
    TimeNs end = 0;
    for (size_t i = 0; i < plan.roles[0].operations.size(); ++i) {
      if (plan.roles[0].operations[i].name.starts_with("forward")) {
        end = std::max(end, timing.roles[0][i].end[0]);
      }
    }
    return end;
  };
  for (const TimeNs gather : {TimeNs{0}, TimeNs{100}, kForward, TimeNs{900}}) {
    EXPECT_EQ(forward(Step(kUnits, gather, 10)),
              gather + (kUnits - 1) * std::max(kForward, gather) + kForward);
  }
  // Once steady, a unit of the backward pass takes the longer of its computing and its transfers.
  for (const auto& [gather, reduction] : std::map<TimeNs, TimeNs>{{100, 200}, {400, 900}}) {
    const TimeNs longer = Time(Step(kUnits + 10, gather, reduction)).total -
                          Time(Step(kUnits, gather, reduction)).total;
    EXPECT_EQ(longer, 10 * (std::max(kForward, gather) + std::max(kBackward, gather + reduction)));
  }
  EXPECT_EQ(Time(Step(kUnits, 0, 0)).total, kUnits * (kForward + kBackward) + kUpdate);
}

TEST(ShardedStep, WithoutPrefetchEachGatherIsExposed) {
  StepTraffic traffic = Step(4, 100, 10);
  traffic.sharded->prefetch = 0;
  traffic.sharded->oneReduction = false;
  const StepPlan plan = BuildSharded(traffic);
  const PlanTiming timing = Star(2).Time(plan);
  const StepParts parts = PartsOf(plan, timing).front();
  EXPECT_EQ(parts.exposed[static_cast<size_t>(ShardedStream::Gather)], 8 * 100);
  EXPECT_EQ(timing.total, 4 * (kForward + kBackward) + 8 * 100 + 3 * 10 + 10 + kUpdate)
      << "a gather waits for the reduction before it";
}

TEST(ShardedStep, WeightsThatStayAreGatheredOnce) {
  const auto gathers = [](GatherTime when, bool kept, int passes) {
    StepTraffic traffic = Step(3, 100, 200);
    for (ShardedUnit& unit : traffic.sharded->stages[0].units) unit.kept = kept;
    traffic.sharded->gathers = when;
    traffic.sharded->passes = passes;
    traffic.sharded->reducesEach = false;
    int count = 0;
    ForEachCollective(traffic, [&](const CollectiveSpec& spec, int64_t times) {
      if (spec.algorithm == CollectiveAlgorithm::RingAllGather) count += static_cast<int>(times);
    });
    EXPECT_EQ(PlanGraph(BuildSharded(traffic)).Plan().collectives.size(), count + 3u)
        << "one reduction for each unit";
    return count;
  };
  EXPECT_EQ(gathers(GatherTime::EachUse, false, 2), 3 * 2 * 2);
  EXPECT_EQ(gathers(GatherTime::EachUse, true, 2), 3 * 2);
  EXPECT_EQ(gathers(GatherTime::StepBegin, false, 2), 3);
  EXPECT_EQ(gathers(GatherTime::StepEnd, false, 2), 3);
}

TEST(ShardedStep, GathersAfterTheUpdateOrBeforeTheFirstUse) {
  StepTraffic traffic = Step(3, 100, 200);
  traffic.sharded->gathers = GatherTime::StepEnd;
  EXPECT_EQ(Time(traffic).total, 3 * (kForward + kBackward) + 200 + kUpdate + 3 * 100);
  traffic.sharded->gathers = GatherTime::StepBegin;
  EXPECT_EQ(Time(traffic).total, 100 + 3 * (kForward + kBackward) + 200 + kUpdate);
}

TEST(ShardedStep, TheDeviceMayWaitForEachReduction) {
  StepTraffic traffic = Step(3, 0, 200);
  traffic.sharded->reductionsBlock = true;
  EXPECT_EQ(Time(traffic).total, 3 * (kForward + kBackward + 200) + kUpdate);
}

// Sums over copies run beside the next gather and reduction, in a communicator of their own.
TEST(ShardedStep, SumsOverCopies) {
  StepTraffic traffic = Step(2, 100, 200);
  for (ShardedUnit& unit : traffic.sharded->stages[0].units) {
    unit.replicas = {Timed(CollectiveAlgorithm::RingAllReduce, 500)};
  }
  const StepPlan plan = BuildSharded(traffic);
  const PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(timing.total, 100 + 2 * (kForward + kBackward) + 200 + 500 + kUpdate);
  const StepParts parts = PartsOf(plan, timing).front();
  EXPECT_EQ(parts.exposed[static_cast<size_t>(ShardedStream::Replica)], 500);
  EXPECT_EQ(parts.hidden[static_cast<size_t>(ShardedStream::Replica)], 500);
  EXPECT_EQ(parts.Total(), timing.total);
}

// Each worker takes part in the collective of its group.
TEST(ShardedStep, GroupsOfWorkers) {
  StepTraffic traffic;
  traffic.workers = 4;
  ShardedStage& stage = traffic.sharded.emplace().stages.emplace_back();
  stage.chunks = {{{0, {kForward}, {}, {10, 20, 30, 40}}}};
  const auto pair = [](int a, int b) {
    return Spec(CollectiveAlgorithm::RingAllGather, {500, 500}, {a, b});
  };
  ShardedUnit& unit = stage.units.emplace_back();
  unit.gather = {pair(0, 2), pair(1, 3)};
  unit.kept = true;
  Star star(4);
  PlanGraph graph(BuildSharded(traffic));
  EXPECT_EQ(graph.Plan().roles[0].operations[0].collective, (std::vector<int>{0, 1, 0, 1}));
  const PlanTiming timing = star.Time(graph.Plan());
  EXPECT_EQ(timing.finish[3] - timing.finish[0], 30);
  EXPECT_EQ(PartsOf(graph.Plan(), timing)[0].wait, 30);
}

// Where nothing shares a link, a step with collectives that were timed alone takes the same time.
TEST(ShardedStep, CollectivesTimedAloneTakeAsLongAsTogether) {
  StepTraffic traffic = Step(4, 0, 0);
  for (ShardedUnit& unit : traffic.sharded->stages[0].units) {
    unit.gather[0].times.clear();
    unit.reduce[0].times.clear();
  }
  const Star star(2);
  StepSimulator simulator(MakeAnalyticEngine, star.request);
  const StepTiming together = simulator.Simulate(traffic, 0);
  traffic.sharded->alone = true;
  const StepTiming alone = simulator.Simulate(traffic, 0);
  EXPECT_GT(together.total, 8 * 4'000);
  EXPECT_EQ(alone.total, together.total);
  EXPECT_EQ(alone.parts.front().exposed, together.parts.front().exposed);
  ASSERT_EQ(alone.links.size(), together.links.size());
  for (size_t i = 0; i < alone.links.size(); ++i) {
    EXPECT_EQ(alone.links[i].bytes, together.links[i].bytes);
  }
  EXPECT_EQ(simulator.FreshSteps(), 2);
}

TEST(ShardedStep, PartsAddUpWhereWorkersDiffer) {
  StepTraffic traffic = Step(5, 150, 80);
  for (ShardedSegment& segment : traffic.sharded->stages[0].chunks[0]) segment.forward = {100, 260};
  const StepPlan plan = BuildSharded(traffic);
  const PlanTiming timing = Star(2).Time(plan);
  for (const StepParts& parts : PartsOf(plan, timing)) EXPECT_EQ(parts.Total(), timing.total);
  EXPECT_GT(PartsOf(plan, timing)[0].wait, 0);
}

TEST(ShardedStep, CanonicalTextSeesEveryField) {
  std::set<std::string> seen{Step(2, 100, 200).Canonical()};
  const auto is_new = [&](const auto& change) {
    StepTraffic traffic = Step(2, 100, 200);
    change(*traffic.sharded, traffic.sharded->stages[0].units[1]);
    return seen.insert(traffic.Canonical()).second;
  };
  using Traffic = ShardedTraffic;
  using Unit = ShardedUnit;
  EXPECT_FALSE(is_new([](Traffic&, Unit&) {}));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.stages[0].units.pop_back(); }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.stages[0].chunks[0][0].unit = 1; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.stages[0].chunks[0][0].forward = {1}; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.stages[0].chunks[0][0].recompute = {1}; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.stages[0].chunks[0][0].backward = {1}; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.stages[0].update = {1}; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.passes = 2; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.reducesEach = false; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.gathers = GatherTime::StepEnd; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.prefetch = 2; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.freesAfterUse = true; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.oneReduction = false; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.reductionsBlock = true; }));
  EXPECT_TRUE(is_new([](Traffic& s, Unit&) { s.alone = true; }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.gather[0].times = {1, 2}; }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.gatherAgain = u.gather; }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.kept = true; }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.unpack = {1}; }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.pack = {1}; }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.reduce.clear(); }));
  EXPECT_TRUE(is_new([](Traffic&, Unit& u) { u.replicas = u.reduce; }));
}

TEST(ShardedStep, RefusesWhatIsNoStep) {
  const auto message = [](const auto& spoil) {
    StepTraffic traffic = Step(2, 100, 200);
    spoil(*traffic.sharded);
    return MessageOf([&] { BuildSharded(traffic); });
  };
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[0].chunks[0][1].unit = 2; }),
            "sharded step: segment 1: unit: got '2'; allowed: 0 to 1");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[0].chunks[0].pop_back(); }),
            "sharded step: unit 1: got 'no segment'; allowed: one that uses it");
  EXPECT_EQ(message([](ShardedTraffic& s) {
              s.stages[0].chunks[0][0].forward = {1, 2, 3};
            }),
            "sharded step: segment 0: forward: got '3 times'; allowed: one for each of 2 workers, "
            "or one for all");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[0].update = {-1}; }),
            "sharded step: update: got '-1 ns'; allowed: 0 ns or more");
  EXPECT_EQ(message([](ShardedTraffic& s) {
              s.stages[0].units[1].reduce[0].members = {1, 1};
            }),
            "sharded step: unit 1: reduce: got 'worker 1 in group 0'; allowed: workers 0 to 1, "
            "each once");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.passes = 0; }),
            "sharded step: passes: got '0'; allowed: 1 to 2097152");
}

}  // namespace
}  // namespace legacy::fabric::plan_test
