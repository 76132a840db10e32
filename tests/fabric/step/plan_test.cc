#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ns3-module/fabric/step/build-ddp.h"
#include "ns3-module/fabric/step/step.h"
#include "tests/fabric/step/plan_testing.h"

namespace legacy::fabric::plan_test {
namespace {

// Returns a step of two workers and two buckets, the second with two calls.
StepTraffic TwoBuckets() {
  StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {5'000, 600};
  traffic.buckets.resize(2);
  CallTraffic call;
  call.collective = Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000});
  traffic.buckets[0] = {{0, 500}, {call}, {300, 300}};
  traffic.buckets[1] = {{5'000, 600}, {call, call}, {0, 50}};
  traffic.buckets[1].calls[1].collective = Spec(CollectiveAlgorithm::Broadcast, {1000, 0});
  traffic.buckets[1].calls[1].computeBefore = {200, 100};
  return traffic;
}

TEST(BuildDdp, GivesThePlanOfAStep) {
  EXPECT_EQ(ToText(BuildDdp(TwoBuckets()).plan),
            "2 ranks\n"
            "stream compute, any order\n"
            "stream reduce, any order\n"
            "collective 0: ring-allgather of 1000 B among all\n"
            "collective 1: ring-allgather of 1000 B among all\n"
            "collective 2: broadcast of 1000, 0 B among all\n"
            "role 0: ranks 0-1\n"
            "  0: segment compute of 5000, 600 ns, on compute\n"
            "  1: collective 0, on reduce, from 0, 500 ns\n"
            "  2: segment decode of 300, 300 ns, on compute, after 1\n"
            "  3: collective 1, on reduce, from 5000, 600 ns\n"
            "  4: segment encode of 200, 100 ns, on compute, after 3\n"
            "  5: collective 2, on reduce, after 4\n"
            "  6: segment decode of 0, 50 ns, on compute, after 5\n");
}

TEST(PlanGraph, RunsMoreCollectivesThanSixteenBitsCount) {
  constexpr int kCollectives = 70'000;
  StepPlan plan = EmptyPlan(2);
  plan.roles.push_back({{0, 1}, {}});
  for (int c = 0; c < kCollectives; ++c) {
    plan.collectives.push_back(Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000}));
    StepOperation& operation = plan.roles[0].operations.emplace_back();
    operation.kind = OperationKind::Collective;
    operation.stream = kGather;
    operation.collective = {c};
  }
  EXPECT_EQ(Star(2).Time(plan).total, kCollectives * TimeNs{2} * (1000 + 1000));
}

TEST(BuildDdp, BucketsThatSendNothingDecodeOrAreReady) {
  StepTraffic traffic = TwoBuckets();
  traffic.buckets[0] = {{10, 20}, {}, {300, 300}};
  traffic.buckets[1] = {{30, 40}, {}, {}};
  const DdpPlan ddp = BuildDdp(traffic);
  EXPECT_EQ(ToText(ddp.plan),
            "2 ranks\n"
            "stream compute, any order\n"
            "stream reduce, any order\n"
            "role 0: ranks 0-1\n"
            "  0: segment compute of 5000, 600 ns, on compute\n"
            "  1: segment decode of 300, 300 ns, on compute, from 10, 20 ns\n"
            "  2: barrier, on compute, from 30, 40 ns\n");
  EXPECT_TRUE(ddp.buckets[0].calls.empty());
  EXPECT_EQ(ddp.buckets[1].last, 2);
}

// Plans of steps are run without a check, so that they must be ones that it would pass.
TEST(BuildDdp, PlansPassTheCheckAndTakeTheStepsTimes) {
  const Star star(5);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed);
    StepTraffic traffic;
    traffic.workers = 1 + draws.Below(5);
    const auto times = [&](int bound) {
      std::vector<TimeNs> all;
      for (int w = 0; w < traffic.workers; ++w) all.push_back(TimeNs{500} * draws.Below(bound));
      return all;
    };
    traffic.deviceFree = times(20);
    traffic.buckets.resize(draws.Below(5));
    for (BucketTraffic& bucket : traffic.buckets) {
      bucket.ready = times(30);
      bucket.calls.resize(draws.Below(4));
      for (size_t c = 0; c < bucket.calls.size(); ++c) {
        bucket.calls[c].collective =
            Spec(CollectiveAlgorithm::DirectAllGather,
                 std::vector<int64_t>(traffic.workers, 1000 * draws.Below(3)));
        if (c > 0 && draws.Below(2)) bucket.calls[c].computeBefore = times(3);
      }
      if (draws.Below(3)) bucket.decode = times(4);
    }
    const DdpPlan ddp = BuildDdp(traffic);
    EXPECT_EQ(MessageOf([&] { CheckPlan(ddp.plan); }), "") << seed;
    const PlanTiming plan = star.Time(ddp.plan);
    const StepTiming step = StepSimulator(MakeAnalyticEngine, star.request).Simulate(traffic, 0);
    EXPECT_EQ(plan.total, step.total) << seed;
    EXPECT_EQ(plan.finish, step.finish) << seed;
    for (size_t b = 0; b < ddp.buckets.size(); ++b) {
      EXPECT_EQ(plan.roles[0][ddp.buckets[b].last].end, step.buckets[b].done) << seed;
    }
  }
}

TEST(PlanGraph, ADeviceRunsOneSegmentAtATime) {
  StepPlan plan = EmptyPlan(1);
  plan.roles = {{{0},
                 {Segment({100}), Segment({50}), Segment({10}, {1}), Segment({0}, {0}),
                  Segment({5}, {3, 2})}}};
  plan.roles[0].operations[1].stream = kGather;
  const PlanTiming timing = Star(1).Time(plan);
  const std::vector<OperationTiming>& times = timing.roles[0];
  EXPECT_EQ(times[0].end[0], 100);
  EXPECT_EQ(times[1].begin[0], 100) << "of another stream, on the same device";
  EXPECT_EQ(times[1].end[0], 150);
  EXPECT_EQ(times[2].end[0], 160);
  EXPECT_EQ(times[3].end[0], 100) << "no duration needs no device";
  EXPECT_EQ(times[4].begin[0], 160);
  EXPECT_EQ(timing.total, 165);
  EXPECT_EQ(timing.finish, (std::vector<TimeNs>{165}));
}

// A collective of 1000 bytes from member to member takes 4000 ns on the star.
TEST(PlanGraph, StreamsAndCommunicatorsKeepTheirOrder) {
  StepPlan plan = EmptyPlan(2);
  plan.collectives.assign(3, Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000}));
  plan.roles = {{{0, 1},
                 {Segment({700}), CollectiveOf({0}, {0}), CollectiveOf({1}),
                  CollectiveOf({2}, {}, kGather)}}};
  PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(timing.roles[0][1].begin, (std::vector<TimeNs>{700, 700}));
  EXPECT_EQ(timing.roles[0][2].begin, (std::vector<TimeNs>{5'000, 5'000}))
      << "ready at 0, behind the other in its stream, which found the NIC busy until 1000";
  EXPECT_EQ(timing.roles[0][3].begin, (std::vector<TimeNs>{0, 0}));
  plan.streams[kReduce].ordered = false;
  timing = Star(2).Time(plan);
  EXPECT_EQ(timing.roles[0][2].begin, (std::vector<TimeNs>{0, 0}));
  for (int number : {1, 2, 3}) {
    plan.roles[0].operations[number].communicator = 0;
    plan.roles[0].operations[number].issue = 10 - number;
  }
  timing = Star(2).Time(plan);
  EXPECT_EQ(timing.roles[0][3].begin, (std::vector<TimeNs>{0, 0}));
  EXPECT_EQ(timing.roles[0][2].begin, (std::vector<TimeNs>{4'000, 4'000}));
  EXPECT_EQ(timing.roles[0][1].begin, (std::vector<TimeNs>{8'000, 8'000}));
}

TEST(PlanGraph, GroupsOfARoleHaveCollectivesOfTheirOwn) {
  StepPlan plan = EmptyPlan(4);
  plan.collectives = {Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000}, {0, 2}),
                      Spec(CollectiveAlgorithm::RingAllGather, {500, 500}, {1, 3})};
  plan.roles = {{{3, 2, 1, 0}, {CollectiveOf({1, 0, 1, 0})}}};
  const PlanTiming timing = Star(4).Time(plan);
  EXPECT_EQ(timing.roles[0][0].end, (std::vector<TimeNs>{3'000, 4'000, 3'000, 4'000}));
  EXPECT_EQ(timing.finish, (std::vector<TimeNs>{4'000, 3'000, 4'000, 3'000})) << "by rank";
}

TEST(PlanGraph, MessagesLeaveWithTheirSender) {
  StepPlan plan = EmptyPlan(2);
  plan.roles = {{{0},
                 {Segment({100}), Message(OperationKind::Send, {1}, 5, 1000, {0}),
                  Message(OperationKind::Send, {1}, 5, 200), Segment({1}, {1})}},
                {{1},
                 {Message(OperationKind::Receive, {0}, 5, 0), Segment({9'000}),
                  Message(OperationKind::Receive, {0}, 5, 0, {1}), Segment({10}, {0})}}};
  const PlanTiming timing = Star(2).Time(plan);
  // The later one in the list leaves first, and is the one that is received after the segment.
  EXPECT_EQ(timing.roles[0][2].end[0], 2'400);
  EXPECT_EQ(timing.roles[0][1].begin[0], 100);
  EXPECT_EQ(timing.roles[0][1].end[0], 200 + 4'000) << "the NIC was busy until 200";
  EXPECT_EQ(timing.roles[1][0].end[0], 200 + 4'000);
  EXPECT_EQ(timing.roles[1][2].begin[0], 9'000);
  EXPECT_EQ(timing.roles[1][2].end[0], 9'000) << "it was there";
  EXPECT_EQ(timing.roles[1][3].begin[0], 9'000) << "the device was busy";
}

TEST(PlanGraph, AHostLimitBoundsWhatIsIssued) {
  StepPlan plan = EmptyPlan(1);
  plan.streams.push_back({"copy", true});
  plan.roles = {{{0}, {Segment({100}), Segment({100}), Segment({0}), Segment({0}, {0})}}};
  EXPECT_EQ(Star(1).Time(plan).roles[0][2].end[0], 0);
  plan.hostLimit = 2;
  const PlanTiming timing = Star(1).Time(plan);
  EXPECT_EQ(timing.roles[0][2].end[0], 100) << "issued when the first had ended";
  EXPECT_EQ(timing.total, 200);
}

// Collectives slow the segments of their rank, from its arrival until it is done.
TEST(PlanGraph, ContentionSlowsSegmentsWhileCollectivesRun) {
  StepPlan plan = EmptyPlan(2);
  plan.collectives.assign(2, Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000}));
  plan.roles = {
      {{0, 1}, {Segment({10'000}), Segment({10'000}), CollectiveOf({0}), CollectiveOf({1}, {2})}}};
  plan.contention = 0.25;
  plan.roles[0].operations[2].earliest = {1'000};
  PlanTiming timing = Star(2).Time(plan);
  // Collectives run from 1000 to 9000, in which 6400 ns of compute pass.
  EXPECT_EQ(timing.roles[0][3].end, (std::vector<TimeNs>{9'000, 9'000}));
  EXPECT_EQ(timing.roles[0][0].end, (std::vector<TimeNs>{11'600, 11'600}));
  EXPECT_EQ(timing.roles[0][1].begin, (std::vector<TimeNs>{11'600, 11'600}));
  EXPECT_EQ(timing.total, 21'600);
  plan.roles[0].operations[0].duration = {2'000};
  timing = Star(2).Time(plan);
  EXPECT_EQ(timing.roles[0][0].end, (std::vector<TimeNs>{2'250, 2'250})) << "1000, and 1000 slowed";
  EXPECT_EQ(timing.total, 2'250 + (9'000 - 2'250) + 10'000 - 5'400);
  plan.contention = 0;
  EXPECT_EQ(Star(2).Time(plan).total, 12'000);
}

// Returns all times of a plan, by rank, in the order of each rank's operations.
std::vector<std::vector<TimeNs>> TimesByRank(const StepPlan& plan, const PlanTiming& timing) {
  std::vector<std::vector<TimeNs>> all(plan.ranks);
  for (size_t r = 0; r < plan.roles.size(); ++r) {
    for (const OperationTiming& operation : timing.roles[r]) {
      for (size_t i = 0; i < plan.roles[r].ranks.size(); ++i) {
        all[plan.roles[r].ranks[i]].push_back(operation.begin[i]);
        all[plan.roles[r].ranks[i]].push_back(operation.end[i]);
      }
    }
  }
  return all;
}

// Some ends, in which case all operations have, or the ranks that wait for each other are named.
TEST(PlanGraph, RandomPlansEndOrAreRefused) {
  const Star star(6);
  int ended = 0;
  int deadlocks = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    StepPlan plan = RandomPlan(seed);
    const std::string message = MessageOf([&] { CheckPlan(plan); });
    if (!message.empty()) {
      ++deadlocks;
      EXPECT_EQ(message.find("step plan: deadlock: rank "), 0u) << message;
      EXPECT_EQ(MessageOf([&] { PlanGraph graph(plan); }), message);
      continue;
    }
    ++ended;
    const auto times = TimesByRank(plan, star.Time(plan));
    if (seed % 10 == 0) star.Time(plan, MakeFlowEngine);
    for (StepRole& role : plan.roles) {
      for (StepOperation& operation : role.operations) {
        std::reverse(operation.after.begin(), operation.after.end());
        if (!operation.after.empty()) operation.after.push_back(operation.after[0]);
      }
    }
    EXPECT_EQ(TimesByRank(plan, star.Time(plan)), times) << "the order of `after`: " << seed;
  }
  EXPECT_GT(ended, 1'000);
  EXPECT_GT(deadlocks, 100);
}

TEST(PlanGraph, RolesOfOneRankEachTakeTheSameTime) {
  for (int ranks : {2, 4, 5}) {
    for (const double contention : {0.0, 0.1}) {
      const Star star(ranks);
      StepPlan plan = ShardedPlan(ranks, 4);
      plan.contention = contention;
      StepPlan split = plan;
      split.roles.clear();
      for (int r = 0; r < ranks; ++r) {
        split.roles.push_back({{r}, plan.roles[0].operations});
        for (StepOperation& operation : split.roles[r].operations) {
          if (operation.duration.size() > 1) operation.duration = {operation.duration[r]};
        }
      }
      EXPECT_EQ(TimesByRank(split, star.Time(split)), TimesByRank(plan, star.Time(plan)));
      EXPECT_EQ(star.Time(split, MakeFlowEngine).total, star.Time(plan, MakeFlowEngine).total);
    }
  }
}

TEST(PlanGraph, ALateRankDelaysTheStepByNoMore) {
  for (int ranks : {2, 3, 4}) {
    const Star star(ranks);
    StepPlan plan = ShardedPlan(ranks, 3);
    const TimeNs total = star.Time(plan).total;
    for (const TimeNs late : {1, 100, 2'500, 40'000}) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (StepOperation& operation : plan.roles[0].operations) {
          operation.earliest.assign(ranks, 0);
          operation.earliest[rank] = late;
        }
        const TimeNs delayed = star.Time(plan).total;
        EXPECT_LE(delayed, total + late) << ranks << " ranks, " << rank << " late by " << late;
        EXPECT_GE(delayed, total);
      }
    }
  }
}

// Ten thousand operations that end at once neither overflow the stack nor lose their order.
TEST(PlanGraph, LongChainsOfNothingEnd) {
  StepPlan plan = EmptyPlan(1);
  plan.roles = {{{0}, {}}};
  for (int number = 0; number < 10'000; ++number) {
    plan.roles[0].operations.push_back(
        Segment({0}, number == 0 ? std::vector<int>{} : std::vector<int>{number - 1}));
  }
  plan.roles[0].operations.push_back(Segment({5}, {9'999}));
  EXPECT_EQ(Star(1).Time(plan).total, 5);
}

}  // namespace
}  // namespace legacy::fabric::plan_test
