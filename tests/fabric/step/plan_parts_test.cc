#include <gtest/gtest.h>

#include <map>

#include "ns3-module/fabric/step/build-ddp.h"
#include "ns3-module/fabric/step/plan-parts.h"
#include "tests/fabric/step/plan_testing.h"

namespace legacy::fabric::plan_test {
namespace {

using Label = SegmentLabel;

TimeNs Of(const StepParts& parts, Label label) {
  return parts.segments[static_cast<size_t>(label)];
}

// The step of two workers in step_test.cc, whose times are worked out there.
TEST(PlanParts, OfDdpByHand) {
  StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {5'000, 600};
  CallTraffic call;
  call.collective = Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000});
  traffic.buckets = {{{0, 500}, {call}, {300, 300}}, {{5'000, 600}, {call, call}, {0, 50}}};
  traffic.buckets[1].calls[1].collective = Spec(CollectiveAlgorithm::Broadcast, {1000, 0});
  traffic.buckets[1].calls[1].computeBefore = {200, 100};
  const StepPlan plan = BuildDdp(traffic).plan;
  const PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(CriticalRank(timing), 1);
  // Idle until bucket 0's call is done at 4000; until bucket 1's first, which worker 0 begins at
  // 5000, is done at 9000; and from 9100 until the broadcast has come at 10000.
  const StepParts slow = PartsOf(plan, timing, 1);
  EXPECT_EQ(Of(slow, Label::Compute), 600);
  EXPECT_EQ(Of(slow, Label::Encode), 100);
  EXPECT_EQ(Of(slow, Label::Decode), 350);
  EXPECT_EQ(slow.exposed, (std::vector<TimeNs>{0, 3'400 + 4'000 + 900}));
  EXPECT_EQ(slow.wait, 700);
  EXPECT_EQ(slow.scheduled, 0);
  EXPECT_EQ(slow.hidden, (std::vector<TimeNs>{0, 100})) << "from 500 to 600";
  EXPECT_EQ(slow.Total(), 10'050);
  // Worker 0 has finished at 5700, when it has sent the broadcast.
  const StepParts fast = PartsOf(plan, timing, 0);
  EXPECT_EQ(Of(fast, Label::Compute), 5'000);
  EXPECT_EQ(Of(fast, Label::Encode), 200);
  EXPECT_EQ(Of(fast, Label::Decode), 300);
  EXPECT_EQ(fast.exposed, (std::vector<TimeNs>{0, 200}));
  EXPECT_EQ(fast.wait, 10'050 - 5'700);
  EXPECT_EQ(fast.hidden, (std::vector<TimeNs>{0, 4'000 + 300}));
  EXPECT_EQ(fast.Total(), 10'050);
}

// A processor computes for 3000 ns beside the device, which does so for 1000 and then waits for it,
// also where collectives slow the device.
TEST(PlanParts, OtherDevicesRunBesideTheFirst) {
  for (const double contention : {0.0, 0.5}) {
    StepPlan plan = EmptyPlan(1);
    plan.contention = contention;
    plan.streams.push_back({"cpu", false, 1});
    StepOperation first = Segment({2'000}), second = Segment({1'000});
    first.stream = second.stream = static_cast<int>(plan.streams.size()) - 1;
    plan.roles = {{{0}, {Segment({1'000}), first, second, Segment({200}, {0, 1, 2})}}};
    const PlanTiming timing = Star(1).Time(plan);
    EXPECT_EQ(timing.total, 3'200);
    EXPECT_EQ(timing.roles[0][2].begin[0], 2'000) << "one after the other";
    const StepParts parts = PartsOf(plan, timing, 0);
    EXPECT_EQ(Of(parts, Label::Compute), 1'200);
    EXPECT_EQ(parts.exposed.back(), 2'000);
    EXPECT_EQ(parts.hidden.back(), 1'000);
    EXPECT_EQ(parts.Total(), 3'200);
    plan.streams.back().device = kMostDevices;
    EXPECT_NE(MessageOf([&] {
                CheckPlan(plan);
              }).find("stream cpu: device: got '256'; allowed: 0 to 255"),
              std::string::npos);
  }
}

// Two streams run while the device waits for the later one: the other is hidden behind it.
TEST(PlanParts, IdleTimeGoesToTheStreamThatWasWaitedFor) {
  StepPlan plan = EmptyPlan(2);
  plan.collectives = {Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000}),
                      Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000})};
  plan.roles = {{{0, 1},
                 {Segment({500}, {}, Label::Recompute), CollectiveOf({0}, {}, kGather),
                  CollectiveOf({1}, {}, kReduce), Segment({70}, {0, 1, 2}, Label::Update)}}};
  const PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(timing.roles[0][1].end[0], 4'000);
  EXPECT_EQ(timing.roles[0][2].end[0], 5'000) << "behind the other at the NIC";
  const StepParts parts = PartsOf(plan, timing, 0);
  EXPECT_EQ(Of(parts, Label::Recompute), 500);
  EXPECT_EQ(Of(parts, Label::Update), 70);
  EXPECT_EQ(parts.exposed, (std::vector<TimeNs>{0, 0, 4'500, 0}));
  EXPECT_EQ(parts.hidden, (std::vector<TimeNs>{0, 4'000, 500, 0}));
  EXPECT_EQ(parts.Total(), 5'070);
}

// A collective that waits for its communicator: the time before it began goes to the other one.
TEST(PlanParts, WhatACollectiveWaitedForIsChargedInItsPlace) {
  StepPlan plan = EmptyPlan(2);
  plan.collectives.assign(2, Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000}));
  plan.roles = {
      {{0, 1},
       {CollectiveOf({0}, {}, kReduce), CollectiveOf({1}, {}, kGather), Segment({70}, {1})}}};
  plan.roles[0].operations[0].communicator = 0;
  plan.roles[0].operations[1].communicator = 0;
  plan.roles[0].operations[1].issue = 1;
  plan.roles[0].operations[0].earliest = {90};
  const StepParts parts = PartsOf(plan, Star(2).Time(plan), 1);
  EXPECT_EQ(parts.scheduled, 90);
  EXPECT_EQ(parts.exposed, (std::vector<TimeNs>{0, 4'000, 4'000, 0}));
  EXPECT_EQ(parts.Total(), 90 + 8'000 + 70);
}

// A pipeline of p stages and m microbatches whose messages take no time is idle for p - 1 of
// m + p - 1 turns: before its first microbatch, or after its last.
TEST(PlanParts, BubblesAreIdleBySchedule) {
  constexpr int kStages = 3;
  constexpr int kMicrobatches = 4;
  constexpr TimeNs kTurn = 1'000;
  for (const int64_t bytes : {0, 500}) {
    StepPlan plan = EmptyPlan(kStages);
    for (int stage = 0; stage < kStages; ++stage) {
      StepRole role{{stage}, {}};
      const auto add = [&role](const StepOperation& operation) {
        role.operations.push_back(operation);
        return static_cast<int>(role.operations.size()) - 1;
      };
      for (int m = 0; m < kMicrobatches; ++m) {
        std::vector<int> after;
        if (stage > 0) after = {add(Message(OperationKind::Receive, {stage - 1}, m, 0))};
        const int computed = add(Segment({kTurn}, after));
        if (stage + 1 < kStages) {
          add(Message(OperationKind::Send, {stage + 1}, m, bytes, {computed}));
        }
      }
      plan.roles.push_back(role);
    }
    const PlanTiming timing = Star(kStages).Time(plan);
    const TimeNs message = bytes == 0 ? 0 : 2 * (1'000 + bytes);
    EXPECT_EQ(timing.total, (kMicrobatches + kStages - 1) * kTurn + (kStages - 1) * message);
    for (int stage = 0; stage < kStages; ++stage) {
      const StepParts parts = PartsOf(plan, timing, stage);
      EXPECT_EQ(Of(parts, Label::Compute), kMicrobatches * kTurn);
      EXPECT_EQ(parts.Total(), timing.total);
      if (bytes > 0) continue;
      EXPECT_EQ(parts.scheduled, stage * kTurn);
      EXPECT_EQ(parts.wait, (kStages - 1 - stage) * kTurn);
      EXPECT_EQ(parts.exposed, std::vector<TimeNs>(4, 0));
    }
    const StepParts last = PartsOf(plan, timing, kStages - 1);
    // Of the way to the last stage, the last message alone was on the way while it waited for it.
    EXPECT_EQ(last.exposed[kPipe], message);
    EXPECT_EQ(last.scheduled, (kStages - 1) * kTurn + (kStages - 2) * message);
  }
}

// Returns the time in which a stream carried something at a rank, nanosecond by nanosecond.
TimeNs BusyTime(const StepPlan& plan, const PlanTiming& timing, int rank, int stream) {
  std::map<TimeNs, int> changes;
  const auto latest = [&](auto matches, TimeNs begin) {
    for (size_t r = 0; r < plan.roles.size(); ++r) {
      for (size_t o = 0; o < plan.roles[r].operations.size(); ++o) {
        if (matches(plan.roles[r], plan.roles[r].operations[o])) {
          begin = std::max(begin, timing.roles[r][o].begin[0]);
        }
      }
    }
    return begin;
  };
  for (size_t r = 0; r < plan.roles.size(); ++r) {
    if (plan.roles[r].ranks[0] != rank) continue;
    int received[6][2] = {};
    for (size_t o = 0; o < plan.roles[r].operations.size(); ++o) {
      const StepOperation& operation = plan.roles[r].operations[o];
      TimeNs begin = timing.roles[r][o].begin[0];
      const TimeNs end = timing.roles[r][o].end[0];
      if (operation.kind == OperationKind::Receive) {
        int number = received[operation.peer[0]][operation.tag]++;
        begin = latest(
            [&](const StepRole& role, const StepOperation& other) {
              return role.ranks[0] == operation.peer[0] && other.kind == OperationKind::Send &&
                     other.peer[0] == rank && other.tag == operation.tag && number-- == 0;
            },
            begin);
      }
      if (operation.kind == OperationKind::Collective) {
        begin = latest(
            [&](const StepRole&, const StepOperation& other) {
              return other.kind == OperationKind::Collective &&
                     other.collective == operation.collective;
            },
            begin);
      }
      const bool carries = operation.kind == OperationKind::Collective ||
                           operation.kind == OperationKind::Send ||
                           operation.kind == OperationKind::Receive;
      if (operation.stream != stream || !carries || begin >= end) continue;
      ++changes[begin];
      --changes[end];
    }
  }
  TimeNs busy = 0;
  TimeNs since = 0;
  int running = 0;
  for (const auto& [time, change] : changes) {
    if (running > 0) busy += time - since;
    running += change;
    since = time;
  }
  return busy;
}

TEST(PlanParts, OfRandomPlansAddUp) {
  const Star star(6);
  int plans = 0;
  TimeNs exposed = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    const StepPlan plan = RandomPlan(seed);
    if (!MessageOf([&] { CheckPlan(plan); }).empty()) continue;
    ++plans;
    const PlanTiming timing = star.Time(plan);
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const StepParts parts = PartsOf(plan, timing, rank);
      ASSERT_EQ(parts.Total(), timing.total) << seed << ", rank " << rank;
      ASSERT_GE(parts.scheduled, 0);
      ASSERT_GE(parts.wait, timing.total - timing.finish[rank]);
      for (size_t stream = 0; stream < plan.streams.size(); ++stream) {
        exposed += parts.exposed[stream];
        ASSERT_GE(parts.exposed[stream], 0);
        ASSERT_GE(parts.hidden[stream], 0) << seed << ", rank " << rank << ", " << stream;
        ASSERT_EQ(parts.exposed[stream] + parts.hidden[stream],
                  BusyTime(plan, timing, rank, static_cast<int>(stream)))
            << seed << ", rank " << rank << ", stream " << stream;
      }
    }
  }
  EXPECT_GT(plans, 500);
  EXPECT_GT(exposed, 0);
}

TEST(PlanParts, MistakesAreNamed) {
  const StepPlan plan = ShardedPlan(2, 2);
  PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(MessageOf([&] { PartsOf(plan, timing, 2); }),
            "parts of a step: rank: got '2'; allowed: 0 to 1");
  timing.roles[0].pop_back();
  EXPECT_EQ(MessageOf([&] { PartsOf(plan, timing, 1); }),
            "parts of a step: the times are not those of this plan");
}

}  // namespace
}  // namespace legacy::fabric::plan_test
