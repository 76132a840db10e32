// Traffic that shares a host's link. If ACKs wait behind a host's own data, links idle, and
// retransmission time-outs occur without a loss.
#include <gtest/gtest.h>

#include <ostream>

#include "ns3-module/fabric/collective/closed-form.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::CollectiveAlgorithm;

// Simulates ring all-reduces of these sizes, all started at once, one in each bucket.
fabric::StepTiming SimulateRings(const Scenario& scenario, const std::vector<int64_t>& sizes) {
  fabric::StepTraffic traffic;
  for (const int64_t bytes : sizes) {
    fabric::CollectiveSpec ring;
    ring.algorithm = CollectiveAlgorithm::RingAllReduce;
    ring.bytes.assign(scenario.workers, bytes);
    const fabric::StepTraffic one = OneCollective(scenario.workers, ring);
    if (traffic.buckets.empty()) {
      traffic = one;
    } else {
      traffic.buckets.push_back(one.buckets.front());
    }
  }
  const Fabric fabric(scenario);
  fabric::StepSimulator simulator(fabric::MakePacketEngine, fabric.request);
  return simulator.Simulate(traffic, 0);
}

// Returns the time relative to that of one ring of `bytes` over one switch.
double Ratio(const fabric::StepTiming& timing, const Scenario& scenario, int64_t bytes) {
  const fabric::UniformPath path{2, scenario.rate_bps, scenario.delay};
  return static_cast<double>(timing.total) /
         static_cast<double>(
             fabric::RingAllReduceTime(scenario.workers, bytes, path, scenario.transport));
}

void ExpectNoLoss(const fabric::StepTiming& timing) {
  int64_t drops = 0;
  for (const fabric::LinkCounters& link : timing.links) drops += link.drops;
  EXPECT_EQ(drops, 0);
  EXPECT_EQ(timing.counters.retransmitTimeouts, 0u);
}

// The closed form is a star's: paths between the pods add 0.4 %. With ACKs behind data the ratio
// would be 1.15.
TEST(ConcurrentRings, OnAFatTreeTakeTheTimeOfTheirSum) {
  Scenario scenario;
  scenario.topology = "fat-tree:k=4";
  scenario.workers = 8;
  const fabric::StepTiming timing = SimulateRings(scenario, {3'222'632, 75'328});
  EXPECT_NEAR(Ratio(timing, scenario, 3'222'632 + 75'328), 1.0, 0.03);
  ExpectNoLoss(timing);
}

struct LongRing {
  int64_t rate_bps;
  int64_t bytes;
  bool warm;
};

void PrintTo(const LongRing& ring, std::ostream* out) {
  *out << ring.bytes << " bytes at " << ring.rate_bps << " bit/s, "
       << (ring.warm ? "warm" : "cold");
}

class LongRingTest : public testing::TestWithParam<LongRing> {};

// With ACKs behind data, 5 MB on cold connections would give 1.15 and 24 time-outs, as ACKs would
// wait longer than the minimum time-out.
TEST_P(LongRingTest, OfEightWorkersTakesTheClosedFormAndTimesNothingOut) {
  Scenario scenario;
  scenario.workers = 8;
  scenario.rate_bps = GetParam().rate_bps;
  scenario.transport.connections =
      GetParam().warm ? fabric::ConnectionKind::Warm : fabric::ConnectionKind::Cold;
  const fabric::StepTiming timing = SimulateRings(scenario, {GetParam().bytes});
  EXPECT_NEAR(Ratio(timing, scenario, GetParam().bytes), 1.0, 0.03);
  ExpectNoLoss(timing);
  RecordProperty("ratio", std::to_string(Ratio(timing, scenario, GetParam().bytes)));
}

INSTANTIATE_TEST_SUITE_P(Stars, LongRingTest,
                         testing::Values(LongRing{1'000'000'000, 5'000'000, false},
                                         LongRing{10'000'000'000, 5'000'000, true},
                                         LongRing{10'000'000'000, 10'000'000, false}));

// The server's backlog to many workers stays below the minimum time-out. If hosts did not mark
// packets, it would grow to 2 MB, with 374 time-outs.
TEST(ParameterServer, SendsToManyWithoutTimeOuts) {
  Scenario scenario;
  scenario.workers = 16;
  scenario.server = true;
  scenario.collective.algorithm = CollectiveAlgorithm::ParameterServer;
  scenario.collective.root = scenario.workers;
  scenario.collective.bytes.assign(scenario.workers, 1'000'000);
  scenario.collective.pullBytes = 1'000'000;
  ExpectNoLoss(Simulate(scenario));
}

}  // namespace
}  // namespace legacy::packet_test
