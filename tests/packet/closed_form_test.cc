// Packet runs compared with the closed forms of fabric/collective/closed-form.h, and with ideal
// transfers.
#include <gtest/gtest.h>

#include <algorithm>

#include "ns3-module/fabric/collective/closed-form.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::CollectiveAlgorithm;

fabric::UniformPath StarPath(const Scenario& scenario) {
  return {2, scenario.rate_bps, scenario.delay};
}

class RingTest : public testing::TestWithParam<int> {};

TEST_P(RingTest, AllReduceIsWithinThreePercentOfTheClosedForm) {
  Scenario scenario;
  scenario.workers = GetParam();
  scenario.collective.algorithm = CollectiveAlgorithm::RingAllReduce;
  scenario.collective.bytes.assign(scenario.workers, 1'600'000);
  const fabric::StepTiming timing = Simulate(scenario);
  const auto expected = static_cast<double>(fabric::RingAllReduceTime(
      scenario.workers, 1'600'000, StarPath(scenario), scenario.transport));
  EXPECT_NEAR(timing.total / expected, 1.0, 0.03);
  EXPECT_EQ(timing.counters.retransmitTimeouts, 0u);
  RecordProperty("ratio", std::to_string(timing.total / expected));
}

TEST_P(RingTest, AllGatherIsWithinThreePercentOfTheClosedForm) {
  Scenario scenario;
  scenario.workers = GetParam();
  const int64_t block = 2'000'000 / scenario.workers;
  scenario.collective.algorithm = CollectiveAlgorithm::RingAllGather;
  scenario.collective.bytes.assign(scenario.workers, block);
  const fabric::StepTiming timing = Simulate(scenario);
  const auto expected = static_cast<double>(
      fabric::RingAllGatherTime(scenario.workers, block, StarPath(scenario), scenario.transport));
  EXPECT_NEAR(timing.total / expected, 1.0, 0.03);
  EXPECT_EQ(timing.counters.retransmitTimeouts, 0u);
  RecordProperty("ratio", std::to_string(timing.total / expected));
}

INSTANTIATE_TEST_SUITE_P(Workers, RingTest, testing::Values(4, 8, 16));

// With full duplex, each direction gets the link's rate less the ACKs of the other.
TEST(OppositeFlowsTest, FillBothDirections) {
  Scenario scenario;
  scenario.workers = 2;
  const int64_t bytes = 10'000'000;
  const Fabric fabric(scenario);
  Burst burst({{0, 1, bytes, 0}, {1, 0, bytes, 0}});
  auto engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(burst, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const int64_t wire = scenario.transport.WireBytes(bytes) + scenario.transport.AckWireBytes(bytes);
  const auto ideal = static_cast<double>(SerialisationTime(wire, scenario.rate_bps));
  EXPECT_LE(engine->Now() / ideal, 1.05);
  EXPECT_GE(engine->Now() / ideal, 1.0);
  int64_t drops = 0;
  for (const fabric::LinkCounters& link : engine->Links()) drops += link.drops;
  EXPECT_EQ(drops, 0);
}

// Several senders send 1 MB each to one receiver, whose link is the bottleneck.
class IncastTest : public testing::TestWithParam<int> {};

TEST_P(IncastTest, IsWithinTenPercentOfTheReceiversLink) {
  const int senders = GetParam();
  Scenario scenario;
  scenario.workers = senders + 1;
  scenario.rate_bps = 10'000'000'000;
  const Fabric fabric(scenario);
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, 1'000'000, 0});
  Burst burst(flows);
  auto engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(burst, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const double ideal = static_cast<double>(
      SerialisationTime(senders * scenario.transport.WireBytes(1'000'000), scenario.rate_bps));
  EXPECT_LE(engine->Now() / ideal, 1.10);
  EXPECT_GE(engine->Now() / ideal, 1.0);
  EXPECT_EQ(engine->Counters().retransmitTimeouts, 0u);
  RecordProperty("ratio", std::to_string(engine->Now() / ideal));
}

INSTANTIATE_TEST_SUITE_P(Senders, IncastTest, testing::Values(8, 15));

TEST(WanTest, OneLongFlowTakesTransferAndSlowStart) {
  Scenario scenario;
  scenario.workers = 2;
  scenario.delay = 25'000'000;  // two links each way: 100 ms
  scenario.transport = fabric::MakeTransport("wan");
  const int64_t bytes = 45'000'000;
  const Fabric fabric(scenario);
  Burst burst({{0, 1, bytes, 0}});
  auto engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(burst, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  // After the handshake, windows of 10, 20, 40, ... segments take a round trip each until one fills
  // the path. Each such round trip wastes the link's capacity beyond its window.
  const double rtt = 0.1;
  const double rate = 1e9 / 8;
  const double frame = static_cast<double>(scenario.transport.FrameBytes());
  const double wire = static_cast<double>(scenario.transport.WireBytes(bytes));
  double expected = rtt + rtt / 2;
  double sent = 0;
  for (double window = 10 * frame; window < rate * rtt; window *= 2) {
    sent += window;
    expected += rtt;
  }
  expected += (wire - sent) / rate;
  EXPECT_NEAR(engine->Now() / 1e9 / expected, 1.0, 0.15);
  EXPECT_EQ(engine->Counters().retransmitTimeouts, 0u);
  RecordProperty("ratio", std::to_string(engine->Now() / 1e9 / expected));
}

}  // namespace
}  // namespace legacy::packet_test
