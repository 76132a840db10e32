#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/step/alone-steps.h"
#include "ns3-module/fabric/step/step.h"
#include "tests/fabric/step/plan_testing.h"

namespace legacy::fabric::alike_groups_test {
namespace {

using plan_test::Draws;
using plan_test::Spec;

constexpr int kStages = 4, kEach = 4;  // workers of a stage

Topology Make(const std::string& text) {
  TopologyRequest request;
  request.text = text;
  request.hostsNeeded = kStages * kEach;
  return MakeTopology(request);
}

// A network of the workers of all stages.
struct Fabric {
  explicit Fabric(Topology made)
      : topology(std::move(made)), placement(MakePlacement({"packed", kStages * kEach}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
  }
  Topology topology;
  Placement placement;
  EngineRequest request;
};

// A step whose stages have sums among pairs, and among all of their workers, of the same bytes or
// of others.
StepTraffic RandomStep(uint64_t seed) {
  Draws draws(seed);
  StepTraffic traffic;
  traffic.workers = kStages * kEach;
  ShardedTraffic& step = traffic.sharded.emplace();
  step.passes = 4;
  step.messageBytes = 5'000;
  step.gathers = GatherTime::StepEnd;
  step.alone = true;
  for (int s = 0; s < kStages; ++s) {
    ShardedStage& stage = step.stages.emplace_back();
    for (int i = 0; i < kEach; ++i) stage.workers.push_back(s * kEach + i);
    stage.units.emplace_back();
    stage.chunks.push_back({{0, {300}, {}, {600}, {300}}});
    const int64_t bytes = 10'000 * (1 + draws.Below(2));
    const int first = s * kEach;
    const int apart = 1 + draws.Below(2);  // pairs of neighbours, or of every other worker
    const int other = apart == 1 ? first + 2 : first + 1;
    const auto pair = [&](int worker) {
      return Spec(CollectiveAlgorithm::RingAllReduce, {bytes, bytes}, {worker, worker + apart});
    };
    stage.units[0].reduce = {pair(first), pair(other)};
    stage.units[0].gather = {Spec(CollectiveAlgorithm::DirectAllGather,
                                  std::vector<int64_t>(kEach, bytes), stage.workers)};
  }
  return traffic;
}

// What a step of collectives that run alone takes, and how many simulations that needed.
struct Outcome {
  StepTiming timing;
  int simulations = 0;
};

Outcome Time(const Fabric& fabric, const EngineFactory& make, uint64_t seed, bool find) {
  Outcome outcome;
  outcome.timing = AloneSteps().Time(
      RandomStep(seed),
      [&](const StepTraffic& traffic) {
        ++outcome.simulations;
        StepGraph graph(traffic);
        const std::unique_ptr<Engine> engine = make(fabric.request);
        engine->Submit(graph, 0);
        EXPECT_TRUE(engine->RunUntil(kNever));
        StepTiming timing = graph.Timing();
        timing.links = engine->Links();
        timing.counters = engine->Counters();
        return timing;
      },
      find ? &fabric.request : nullptr);
  return outcome;
}

auto Figures(const LinkCounters& link) {
  return std::tuple(link.bytes, link.packets, link.busy, link.peak, link.maxQueueBytes);
}

// Times steps with and without looking for alike collectives, which is to change nothing. Returns
// how many simulations were spared.
int Spared(const Fabric& fabric) {
  int spared = 0;
  for (const EngineFactory& make :
       {EngineFactory(MakeAnalyticEngine), EngineFactory(MakeFlowEngine)}) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      const Outcome all = Time(fabric, make, seed, false);
      const Outcome found = Time(fabric, make, seed, true);
      EXPECT_EQ(found.timing.finish, all.timing.finish);
      EXPECT_EQ(found.timing.total, all.timing.total);
      EXPECT_EQ(found.timing.counters.events, all.timing.counters.events);
      EXPECT_EQ(found.timing.counters.flows, all.timing.counters.flows);
      EXPECT_EQ(found.timing.links.size(), all.timing.links.size());
      for (size_t i = 0; i < all.timing.links.size(); ++i) {
        EXPECT_EQ(Figures(found.timing.links[i]), Figures(all.timing.links[i])) << i;
      }
      spared += all.simulations - found.simulations;
    }
  }
  return spared;
}

TEST(AlikeGroups, AreSimulatedOnce) {
  EXPECT_GT(Spared(Fabric(Make("nodes:nodes=4,gpus=4,node.rate=8Gbps"))), 0);
  EXPECT_GT(Spared(Fabric(Make("nodes:nodes=8,gpus=2,node.rate=8Gbps"))), 0);
  EXPECT_GT(Spared(Fabric(Make("star"))), 0);
}

TEST(AlikeGroups, AreNoneWhereEachLinkDiffers) {
  const Topology equal = Make("nodes:nodes=4,gpus=4,node.rate=8Gbps");
  EXPECT_EQ(Spared(Fabric(equal.WithLinks([](int index, Link& link) {
              for (Port& port : link.ports) port.rateBps += index * 1'000'000;
            }))),
            0);
  EXPECT_EQ(Spared(Fabric(equal.WithLinks([](int index, Link& link) { link.delay += index; }))), 0);
}

// Links that differ somewhere leave the other groups alike.
TEST(AlikeGroups, SeeOneSlowLink) {
  const Topology equal = Make("nodes:nodes=4,gpus=4,node.rate=8Gbps");
  const auto slow = [](int index, Link& link) {
    if (index == 0) link.ports[1].rateBps /= 2;
  };
  const int spared = Spared(Fabric(equal.WithLinks(slow)));
  EXPECT_GT(spared, 0);
  EXPECT_LT(spared, Spared(Fabric(equal)));
}

// Where hashes choose among ways, groups may meet on a link or not: only pairs below one switch are
// alike.
TEST(AlikeGroups, KeepToOnlyWays) {
  const int spared = Spared(Fabric(Make("fat-tree:k=4")));
  EXPECT_GT(spared, 0);
  EXPECT_LT(spared, Spared(Fabric(Make("star"))));
}

}  // namespace
}  // namespace legacy::fabric::alike_groups_test
