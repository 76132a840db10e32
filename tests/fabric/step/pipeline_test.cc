#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "ns3-module/fabric/step/alone-steps.h"
#include "ns3-module/fabric/step/build-sharded.h"
#include "tests/fabric/step/plan_testing.h"

namespace legacy::fabric::pipeline_test {
namespace {

using plan_test::Spec;
using plan_test::Star;

using Kind = PipelineStep::Kind;
using Schedule = PipelineSchedule;

constexpr TimeNs kForward = 300, kBackward = 600, kWeights = 300;

std::string TextOf(const std::vector<PipelineStep>& order) {
  std::string text;
  for (const PipelineStep& step : order) {
    text += (step.kind == Kind::Forward    ? "F"
             : step.kind == Kind::Backward ? "B"
                                           : "W") +
            std::to_string(step.pass) +
            (step.chunk > 0 ? std::string(static_cast<size_t>(step.chunk), '\'') : "") + " ";
  }
  return text;
}

TEST(PipelineOrder, IsThatOfTheSchedule) {
  const auto order = [](Schedule schedule, int chunks, int passes, int stage) {
    return TextOf(PipelineOrder(schedule, 2, chunks, passes, stage));
  };
  EXPECT_EQ(order(Schedule::OneForwardOneBackward, 1, 3, 0), "F0 F1 B0 F2 B1 B2 ");
  EXPECT_EQ(order(Schedule::OneForwardOneBackward, 1, 3, 1), "F0 B0 F1 B1 F2 B2 ");
  EXPECT_EQ(order(Schedule::GPipe, 1, 3, 1), "F0 F1 F2 B0 B1 B2 ");
  EXPECT_EQ(order(Schedule::ZeroBubbleH1, 1, 3, 0), "F0 F1 B0 W0 F2 B1 W1 B2 W2 ");
  EXPECT_EQ(order(Schedule::ZeroBubbleH1, 1, 3, 1), "F0 B0 F1 B1 W0 F2 B2 W1 W2 ");
  EXPECT_EQ(order(Schedule::OneForwardOneBackward, 2, 4, 0),
            "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3 ");
  EXPECT_EQ(order(Schedule::OneForwardOneBackward, 2, 4, 1),
            "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3 ");
}

TEST(PipelineOrder, HasEachPassOnce) {
  for (const auto& [schedule, chunks] :
       std::vector<std::pair<Schedule, int>>{{Schedule::OneForwardOneBackward, 1},
                                             {Schedule::OneForwardOneBackward, 3},
                                             {Schedule::GPipe, 1},
                                             {Schedule::ZeroBubbleH1, 1}}) {
    for (int stage = 0; stage < 4; ++stage) {
      std::set<std::tuple<Kind, int, int>> seen;
      for (const PipelineStep& step : PipelineOrder(schedule, 4, chunks, 8, stage)) {
        EXPECT_TRUE(seen.emplace(step.kind, step.pass, step.chunk).second);
      }
      const size_t kinds = schedule == Schedule::ZeroBubbleH1 ? 3 : 2;
      EXPECT_EQ(seen.size(), kinds * 8 * static_cast<size_t>(chunks));
    }
  }
}

TEST(PipelineOrder, RefusesWhatNoScheduleHas) {
  EXPECT_EQ(MessageOf([] { PipelineOrder(Schedule::GPipe, 2, 2, 4, 0); }),
            "pipeline: schedule: got 'several chunks'; allowed: 1f1b, the only one that has "
            "chunks");
  EXPECT_EQ(MessageOf([] { PipelineOrder(Schedule::OneForwardOneBackward, 4, 2, 6, 0); }),
            "pipeline: microbatches: got '6'; allowed: a multiple of the 4 stages with several "
            "chunks");
}

// A step of equal stages of `each` workers, whose messages take `message` where they are alone.
StepTraffic Pipeline(int stages, int chunks, int passes, int64_t message_bytes, int each = 1) {
  StepTraffic traffic;
  traffic.workers = stages * each;
  ShardedTraffic& step = traffic.sharded.emplace();
  step.passes = passes;
  step.reducesEach = false;
  step.messageBytes = message_bytes;
  step.gathers = GatherTime::StepEnd;
  for (int s = 0; s < stages; ++s) {
    ShardedStage& stage = step.stages.emplace_back();
    for (int i = 0; i < each; ++i) stage.workers.push_back(s * each + i);
    for (int c = 0; c < chunks; ++c) {
      stage.units.emplace_back();
      stage.chunks.push_back({{c, {kForward}, {}, {kBackward}, {kWeights}}});
    }
  }
  return traffic;
}

TimeNs Total(const StepTraffic& traffic) {
  return Star(traffic.workers).Time(BuildSharded(traffic)).total;
}

// Narayanan et al. (SC'21), 2.2, and Qi et al. (2023), table 2.
TEST(Pipeline, TakesItsClosedFormWhereLinksAreFree) {
  for (const auto& [p, m] : std::vector<std::pair<int, int>>{{2, 2}, {2, 6}, {4, 4}, {4, 12}}) {
    const TimeNs pass = kForward + kBackward;
    StepTraffic traffic = Pipeline(p, 1, m, 0);
    EXPECT_EQ(Total(traffic), (m + p - 1) * pass) << p << " " << m;
    traffic.sharded->schedule = Schedule::GPipe;
    EXPECT_EQ(Total(traffic), (m + p - 1) * pass);
    traffic.sharded->schedule = Schedule::ZeroBubbleH1;
    EXPECT_EQ(Total(traffic), m * pass + (p - 1) * (pass - 2 * kWeights));
    for (int v = 2; v <= 4; ++v) EXPECT_EQ(Total(Pipeline(p, v, m, 0)), (v * m + p - 1) * pass);
  }
}

// A message of time a delays 1f1b by 2 (p - 1) m / p + 2 (p - 2) times a, and the interleaved
// schedule by 2 (v p - 1) times a, while a is shorter than a forward pass.
TEST(Pipeline, TakesItsClosedFormWithMessages) {
  constexpr TimeNs kMessage = 100;
  const auto alone = [](const StepTraffic& traffic) {
    AloneTimes times;
    times.messages.assign(traffic.sharded->stages.size(), {{{kMessage}, {kMessage}}});
    times.folded = true;
    return TimeWithoutNetwork(BuildSharded(traffic, &times).plan).total;
  };
  const TimeNs pass = kForward + kBackward;
  for (const auto& [p, m] : std::vector<std::pair<int, int>>{{2, 4}, {4, 8}, {4, 12}, {8, 16}}) {
    EXPECT_EQ(alone(Pipeline(p, 1, m, 1)),
              (m + p - 1) * pass + (2 * (p - 1) * m / p + 2 * (p - 2)) * kMessage);
    for (int v = 2; v <= 4; ++v) {
      EXPECT_EQ(alone(Pipeline(p, v, m, 1)), (v * m + p - 1) * pass + 2 * (v * p - 1) * kMessage);
    }
  }
}

TEST(Pipeline, PartsAreComputeMessagesAndTheSchedule) {
  const StepTraffic traffic = Pipeline(2, 1, 4, 500);
  const StepPlan plan = BuildSharded(traffic);
  const PlanTiming timing = Star(2).Time(plan);
  const StepParts parts = PartsOf(plan, timing)[0];
  EXPECT_EQ(parts.Total(), timing.total);
  EXPECT_EQ(parts.segments[0], 4 * (kForward + kBackward));
  EXPECT_GT(parts.exposed[static_cast<size_t>(ShardedStream::Pipe)], 0);
  EXPECT_GT(parts.scheduled, 0) << "until the other stage has sent";
}

// The sums of a segment stand at equal distances in it, and what remains of a division is not lost.
TEST(Pipeline, SegmentsWaitForTheSumsOfTheirTensors) {
  StepTraffic traffic = Pipeline(1, 1, 1, 0, 2);
  ShardedSegment& segment = traffic.sharded->stages[0].chunks[0][0];
  CollectiveSpec sum = Spec(CollectiveAlgorithm::RingAllReduce, {1000, 1000});
  sum.times = {40, 40};
  segment.sums = {{{sum}, 2, 1, 3}};
  segment.forward = {301};
  segment.recompute = {100};
  const StepPlan plan = BuildSharded(traffic);
  const PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(timing.total, 301 + 100 + kBackward + 6 * 40);
  const StepParts parts = PartsOf(plan, timing)[1];
  EXPECT_EQ(parts.exposed[static_cast<size_t>(ShardedStream::Tensor)], 6 * 40);
  std::string names;
  for (const StepOperation& operation : plan.roles[0].operations) names += operation.name + " ";
  EXPECT_EQ(names,
            "forward(0) tensor(0) forward(0) tensor(0) recompute(0) tensor(0) backward(0) "
            "tensor(0) backward(0) tensor(0) backward(0) tensor(0) update ");
}

// Each kind of collective of activations has a stream, and the device waits for all of them.
TEST(Pipeline, SegmentsWaitForContextsAndExperts) {
  StepTraffic traffic = Pipeline(1, 1, 1, 0, 2);
  ShardedSegment& segment = traffic.sharded->stages[0].chunks[0][0];
  CollectiveSpec sum = Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000});
  sum.times = {40, 40};
  segment.sums = {{{sum}, 1, 0, 2, ShardedStream::Context},
                  {{sum}, 2, 0, 2, ShardedStream::Expert}};
  const StepPlan plan = BuildSharded(traffic);
  const PlanTiming timing = Star(2).Time(plan);
  EXPECT_EQ(timing.total, kForward + kBackward + 7 * 40);
  const StepParts parts = PartsOf(plan, timing)[0];
  EXPECT_EQ(parts.exposed[static_cast<size_t>(ShardedStream::Context)], 3 * 40);
  EXPECT_EQ(parts.exposed[static_cast<size_t>(ShardedStream::Expert)], 4 * 40);
  std::string names;
  for (const StepOperation& operation : plan.roles[0].operations) names += operation.name + " ";
  EXPECT_EQ(names,
            "forward(0) context(0) forward(0) expert(0) forward(0) expert(0) backward(0) "
            "context(0) backward(0) context(0) backward(0) expert(0) backward(0) expert(0) "
            "update ");
}

// What is computed beside a collective begins with it; the longer of the two counts. Two of three
// sums of the backward pass run beside 100 ns of it each.
TEST(Pipeline, SumsRunBesideAPartOfTheirPass) {
  for (const TimeNs carried : {TimeNs{0}, TimeNs{40}, TimeNs{100}, TimeNs{250}}) {
    StepTraffic traffic = Pipeline(1, 1, 1, 0, 2);
    ShardedSegment& segment = traffic.sharded->stages[0].chunks[0][0];
    CollectiveSpec sum = Spec(CollectiveAlgorithm::RingAllGather, {1000, 1000});
    sum.times = {carried, carried};
    segment.sums = {{{sum}, 1, 0, 1}, {{sum}, 0, 0, 2, ShardedStream::Tensor, {100}}};
    const StepPlan plan = BuildSharded(traffic);
    const PlanTiming timing = Star(2).Time(plan);
    const TimeNs late = std::max<TimeNs>(0, carried - 100);
    EXPECT_EQ(timing.total, kForward + kBackward + 2 * carried + 2 * late) << carried;
    const StepParts parts = PartsOf(plan, timing)[0];
    EXPECT_EQ(parts.segments[0], kForward + kBackward) << carried;
    EXPECT_EQ(parts.exposed[static_cast<size_t>(ShardedStream::Tensor)], 2 * carried + 2 * late);
    EXPECT_EQ(parts.hidden[static_cast<size_t>(ShardedStream::Tensor)], 2 * (carried - late));
  }
}

// A step of two stages of two workers with every kind of collective.
StepTraffic Everything() {
  StepTraffic traffic = Pipeline(2, 1, 4, 700, 2);
  ShardedTraffic& step = *traffic.sharded;
  for (ShardedStage& stage : step.stages) {
    const auto among = [&](CollectiveAlgorithm algorithm, int64_t bytes) {
      return CollectiveGroups{Spec(algorithm, {bytes, bytes}, stage.workers)};
    };
    stage.units[0].gather = among(CollectiveAlgorithm::RingAllGather, 4000);
    stage.units[0].reduce = among(CollectiveAlgorithm::RingReduceScatter, 8000);
    stage.chunks[0][0].sums = {
        {among(CollectiveAlgorithm::RingAllReduce, 200), 2, 0, 2},
        {among(CollectiveAlgorithm::RingAllGather, 200), 0, 0, 2, ShardedStream::Tensor, {20}},
        {among(CollectiveAlgorithm::RingReduceScatter, 400),
         1,
         0,
         1,
         ShardedStream::Tensor,
         {110}}};
    stage.update = {50};
  }
  step.tied = {Spec(CollectiveAlgorithm::RingAllReduce, {600, 600}, {0, 2}),
               Spec(CollectiveAlgorithm::RingAllReduce, {600, 600}, {1, 3})};
  step.announcements = {Spec(CollectiveAlgorithm::Broadcast, {8, 8, 8, 8})};
  step.announce = {5};
  return traffic;
}

// Where workers of a stage do the same, a step of one worker of each stage has the same times. The
// star shares no link between what runs at the same time.
TEST(Pipeline, FoldedStepsTakeTheTimesOfWholeOnes) {
  StepTraffic traffic = Everything();
  const Star star(traffic.workers);
  StepSimulator simulator(MakeAnalyticEngine, star.request);
  traffic.sharded->alone = true;
  const StepTiming folded = simulator.Simulate(traffic, 0);
  ASSERT_EQ(folded.parts.size(), 4u);
  for (const StepParts& parts : folded.parts) EXPECT_EQ(parts.Total(), folded.total);
  EXPECT_EQ(folded.finish[0], folded.finish[1]);
  // Times that differ by a nanosecond forbid folding, and change little more.
  traffic.sharded->stages[1].update = {50, 51};
  const StepTiming whole = simulator.Simulate(traffic, 1);
  EXPECT_EQ(whole.finish[0], folded.finish[0]);
  EXPECT_EQ(whole.finish[2], folded.finish[2] + 1) << "the gather after it waits for both";
  EXPECT_EQ(whole.finish[3], folded.finish[3] + 1);
  ASSERT_EQ(whole.links.size(), folded.links.size());
  for (size_t i = 0; i < whole.links.size(); ++i) {
    EXPECT_EQ(whole.links[i].bytes, folded.links[i].bytes);
  }
  EXPECT_EQ(whole.counters.flows, folded.counters.flows);
}

TEST(Pipeline, RunsOnTheNetwork) {
  StepTraffic traffic = Everything();
  const Star star(traffic.workers);
  StepSimulator simulator(MakeAnalyticEngine, star.request);
  const TimeNs together = simulator.Simulate(traffic, 0).total;
  const auto bytes = [](const StepTiming& timing) {
    int64_t sum = 0;
    for (const LinkCounters& link : timing.links) sum += link.bytes;
    return sum;
  };
  const int64_t carried = bytes(simulator.Simulate(traffic, 0));
  traffic.sharded->alone = true;
  EXPECT_EQ(bytes(simulator.Simulate(traffic, 1)), carried);
  EXPECT_GT(together, 5 * (kForward + kBackward));
}

TEST(Pipeline, CanonicalTextSeesEveryField) {
  std::set<std::string> seen{Everything().Canonical()};
  const auto is_new = [&](const auto& change) {
    StepTraffic traffic = Everything();
    change(*traffic.sharded, traffic.sharded->stages[1]);
    return seen.insert(traffic.Canonical()).second;
  };
  using Step = ShardedTraffic;
  using Stage = ShardedStage;
  EXPECT_FALSE(is_new([](Step&, Stage&) {}));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.schedule = Schedule::GPipe; }));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.messageBytes = 1; }));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.tied.pop_back(); }));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.announcements.clear(); }));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.agree = {1}; }));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.agreement = s.announcements; }));
  EXPECT_TRUE(is_new([](Step& s, Stage&) { s.stages.pop_back(); }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.workers = {3, 2}; }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks.push_back(s.chunks[0]); }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks[0][0].weights = {1}; }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks[0][0].sums[0].forward = 1; }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks[0][0].sums[0].recompute = 1; }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks[0][0].sums[0].backward = 1; }));
  EXPECT_TRUE(
      is_new([](Step&, Stage& s) { s.chunks[0][0].sums[0].stream = ShardedStream::Expert; }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks[0][0].sums[1].beside = {21}; }));
  EXPECT_TRUE(is_new([](Step&, Stage& s) { s.chunks[0][0].sums.clear(); }));
}

TEST(Pipeline, RefusesWhatIsNoPipeline) {
  const auto message = [](const auto& spoil) {
    StepTraffic traffic = Everything();
    spoil(*traffic.sharded);
    return MessageOf([&] { BuildSharded(traffic); });
  };
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages.clear(); }),
            "sharded step: stages: got 'none'; allowed: 1 or more");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[1].workers = {2}; }),
            "sharded step: stage 1: workers: got '1'; allowed: 2");
  EXPECT_EQ(message([](ShardedTraffic& s) {
              s.stages[1].workers = {2, 1};
            }),
            "sharded step: stage 1: workers: got '1'; allowed: 0 to 3, each once");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[1].chunks.clear(); }),
            "sharded step: stage 1: chunks: got '0'; allowed: 1, as in stage 0");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[1].chunks[0][0].sums[0].sum.clear(); }),
            "sharded step: stage 1, segment 0: sums: got 'no group with worker 2'; allowed: each "
            "worker in one");
  EXPECT_EQ(message([](ShardedTraffic& s) {
              s.stages[0].chunks[0][0].sums[0].stream = ShardedStream::Pipe;
            }),
            "sharded step: stage 0, segment 0: sums: got 'stream 5'; allowed: those of tensors, "
            "contexts and experts");
  EXPECT_EQ(message([](ShardedTraffic& s) { s.stages[0].chunks[0][0].sums[1].beside = {-1}; }),
            "sharded step: stage 0, segment 0: sums: beside: got '-1 ns'; allowed: 0 ns or more");
  EXPECT_EQ(message([](ShardedTraffic& s) {
              for (ShardedStage& stage : s.stages) stage.chunks.push_back(stage.chunks[0]);
            }),
            "sharded step: stage 0, chunk 1, segment 0: unit: got '0 of chunk 0'; allowed: a unit "
            "of this chunk alone");
}

}  // namespace
}  // namespace legacy::fabric::pipeline_test
