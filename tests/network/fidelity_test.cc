#include "scenarios/network/fidelity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ns3-module/fabric/topology/builders.h"
#include "scenarios/network/engines/engines.h"

namespace legacy::fidelity_test {
namespace {

bool HasPackets() { return Fidelities().front() == Fidelity::kPacket; }

TEST(Fidelity, PacketsWhereTheyAreAffordable) {
  if (!HasPackets()) {
    EXPECT_EQ(ChooseFidelity(1, 10, 60).fidelity, Fidelity::kFlow);
    return;
  }
  EXPECT_EQ(ChooseFidelity(60, 10, 60).fidelity, Fidelity::kPacket);
  const FidelityChoice some = ChooseFidelity(600, 100, 60);
  EXPECT_EQ(some.fidelity, Fidelity::kFlow);
  EXPECT_EQ(some.samples, 10);
  EXPECT_EQ(
      some.reason,
      "packets take about 10 minutes of wall time, 60 seconds are allowed: 10 of 100 different "
      "steps are simulated with packets too");
  EXPECT_EQ(ChooseFidelity(6'100, 100, 60).samples, 0);
}

// The analytic engine stands in for the packet engine.
TEST(Fidelity, SamplesEveryMthStepAndReportsTheDifference) {
  const fabric::Topology topology = fabric::BuildStar(2, {8'000'000'000, 0, 0});
  const fabric::Placement placement = fabric::MakePlacement({"packed", 2}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  PacketSampler sampler(request, fabric::MakeAnalyticEngine, 3, 7);
  EXPECT_EQ(sampler.Text(), "no step was simulated at packet fidelity");
  for (uint64_t step = 0; step < 9; ++step) {
    fabric::StepTraffic traffic;
    traffic.workers = 2;
    traffic.deviceFree = {0, 0};
    fabric::BucketTraffic bucket;
    bucket.ready = {0, 0};
    fabric::CallTraffic call;
    call.collective.bytes = {1'000'000 + static_cast<int64_t>(step), 1'000'000};
    call.collective.algorithm = fabric::CollectiveAlgorithm::RingAllGather;
    bucket.calls.push_back(call);
    traffic.buckets.push_back(bucket);
    fabric::StepSimulator truth(fabric::MakeAnalyticEngine, request);
    const TimeNs time = truth.Simulate(traffic, step).total;
    EXPECT_EQ(sampler.Offer("topk", step, traffic, 0, step == 3 ? time / 2 : time), step % 3 == 0);
  }
  std::vector<uint64_t> steps;
  for (const PacketSampler::Sample& sample : sampler.Samples()) steps.push_back(sample.step);
  EXPECT_EQ(steps, (std::vector<uint64_t>{0, 3, 6}));
  EXPECT_EQ(
      sampler.Text(),
      "flow against packet fidelity on 3 of 9 different steps: median +0.0 %, largest -50.0 % "
      "(topk, step 3)");
}

}  // namespace
}  // namespace legacy::fidelity_test