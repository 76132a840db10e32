// Hosts share their line among their connections, whatever the order of the flows that they are
// given, and keep little data below TCP.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::Flow;

constexpr int kHosts = 4;
constexpr int64_t kBytes = 250'000;

Scenario FastStar() {
  Scenario scenario;
  scenario.workers = kHosts;
  scenario.rate_bps = 10'000'000'000;
  scenario.delay = 1'000;
  return scenario;
}

// Returns the flows from everyone to everyone else, destinations in index order.
std::vector<Flow> Everyone() {
  std::vector<Flow> flows;
  for (int from = 0; from < kHosts; ++from) {
    for (int to = 0; to < kHosts; ++to) {
      if (from != to) flows.push_back({from, to, kBytes, 0});
    }
  }
  return flows;
}

struct Timed {
  std::vector<TimeNs> took;  // time of each flow
  std::vector<fabric::LinkCounters> links;
  TimeNs Last() const { return *std::max_element(took.begin(), took.end()); }
};

// Runs the flows on warm connections: after one message of each pair.
Timed RunFlows(const Scenario& scenario, const std::vector<Flow>& flows) {
  const Fabric fabric(scenario);
  const auto engine = fabric::MakePacketEngine(fabric.request);
  Burst first(flows);
  engine->Submit(first, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  const TimeNs start = engine->Now();
  Burst second(flows);
  engine->Submit(second, start);
  EXPECT_TRUE(engine->RunUntil(kNever));
  Timed run{second.arrived, engine->Links()};
  for (TimeNs& when : run.took) when -= start;
  return run;
}

// The fluid answer: each host sends and receives three messages with their headers, and the ACKs of
// as many, on one line.
double FluidTime(const Scenario& scenario) {
  const double bytes = 3.0 * static_cast<double>(scenario.transport.WireBytes(kBytes) +
                                                 scenario.transport.AckWireBytes(kBytes));
  return bytes * 8e9 / static_cast<double>(scenario.rate_bps);
}

TEST(Hosts, AllToAllOfAnyOrderTakesTheFluidTime) {
  const Scenario scenario = FastStar();
  std::vector<Flow> flows = Everyone();
  const double fluid = FluidTime(scenario);
  const auto in_order = static_cast<double>(RunFlows(scenario, flows).Last());
  EXPECT_NEAR(in_order, fluid, 0.05 * fluid);
  std::reverse(flows.begin(), flows.end());
  EXPECT_NEAR(static_cast<double>(RunFlows(scenario, flows).Last()), in_order, 0.02 * in_order);
}

TEST(Hosts, ConnectionsShareTheLineEvenly) {
  const Scenario scenario = FastStar();
  const Timed run = RunFlows(scenario, {{0, 1, kBytes, 0}, {0, 2, kBytes, 0}, {0, 3, kBytes, 0}});
  const auto [first, last] = std::minmax_element(run.took.begin(), run.took.end());
  EXPECT_LT(static_cast<double>(*last - *first), 0.02 * static_cast<double>(*last));
}

// A connection sends its messages one after the other, so another one's single message arrives
// when the line has carried it twice: once for each of the two.
TEST(Hosts, AShortMessageDoesNotWaitForALongOne) {
  const Scenario scenario = FastStar();
  const Timed run = RunFlows(scenario, {{0, 1, 20 * kBytes, 0}, {0, 2, kBytes, 0}});
  const double line = 8e9 * static_cast<double>(scenario.transport.WireBytes(kBytes)) /
                      static_cast<double>(scenario.rate_bps);
  EXPECT_NEAR(static_cast<double>(run.took[1]), 2 * line, 0.1 * line);
}

// Two segments of each connection, the two frames of the NIC, and the last packet of a handshake.
TEST(Hosts, KeepTwoSegmentsOfAConnectionBelowTcp) {
  Scenario scenario = FastStar();
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  const Timed run = RunFlows(scenario, {{0, 1, 100 * kBytes, 0}, {0, 2, 100 * kBytes, 0}});
  const Fabric fabric(scenario);
  const int port = fabric.topology.Out(fabric.topology.Hosts()[0]).front();
  const int64_t most = run.links[port].maxQueueBytes;
  EXPECT_GT(most, 3 * scenario.transport.FrameBytes());
  EXPECT_LT(most, 7 * scenario.transport.FrameBytes());
}

// The first of three connections always has two packets in a queue of three frames, so the others
// find it full. With nothing in flight, whose ACK could tell them that there is room, they try
// again after the least RTO, both at once, and one of them finds it full again.
TEST(Hosts, AFullQueueRefusesDataAndDropsNone) {
  Scenario scenario = FastStar();
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  const TimeNs rto = scenario.transport.minRto;
  scenario.transport.attributes["legacy::HostQueueDisc::Fair"] = "false";
  const std::vector<Flow> flows = {{0, 1, kBytes, 0}, {0, 2, kBytes, 0}, {0, 3, kBytes, 0}};
  const TimeNs free = RunFlows(scenario, flows).Last();
  ASSERT_LT(2 * free, rto);
  scenario.transport.attributes["legacy::HostQueueDisc::Limit"] =
      std::to_string(3 * scenario.transport.FrameBytes());
  const Timed run = RunFlows(scenario, flows);
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(run.took[i], i * rto);
    EXPECT_LT(run.took[i], i * rto + free);
  }
  for (const fabric::LinkCounters& link : run.links) EXPECT_EQ(link.drops, 0);
}

// A connection has what its pace sends in a millisecond in the queue of its host, two segments at
// least (Linux: tcp_small_queue_check; the pace is that of tcp_update_pacing_rate, or BBR's).
TEST(Hosts, ConnectionsQueueAMillisecondOfTheirPace) {
  const auto longest = [](int64_t rate_bps, TimeNs delay, int64_t bytes) {
    Scenario scenario = FastStar();
    scenario.rate_bps = rate_bps;
    scenario.delay = delay;
    scenario.transport = fabric::MakeTransport("wan");
    scenario.transport.attributes["legacy::HostQueueDisc::Fair"] = "false";
    int64_t most = 0;
    for (const fabric::LinkCounters& link : RunFlows(scenario, {{0, 1, bytes, 0}}).links) {
      most = std::max(most, link.maxQueueBytes);
    }
    return static_cast<double>(most) / scenario.transport.FrameBytes();
  };
  EXPECT_LE(longest(10'000'000, 10'000'000, 300'000), 3);           // 1,250 bytes in a millisecond
  const double fast = longest(1'000'000'000, 100'000, 10'000'000);  // 125 kB
  EXPECT_GT(fast, 1.2 * 125e3 / 2408 * 0.9);
  EXPECT_LT(fast, 4 * 125e3 / 2408);
}

// A connection with nothing in flight that finds the queue of its host full probes it after a
// time-out, and if it is full then, after half a second (Linux: tcp_send_probe0 and its
// TCP_RESOURCE_PROBE_INTERVAL).
TEST(Hosts, AFullQueueIsProbedOnceMoreAfterHalfASecond) {
  constexpr TimeNs kHalfASecond = 500'000'000;
  Scenario scenario = FastStar();
  scenario.rate_bps = 1'000'000'000;
  scenario.transport.attributes["legacy::HostQueueDisc::Fair"] = "false";
  scenario.transport.attributes["legacy::HostQueueDisc::Limit"] =
      std::to_string(3 * scenario.transport.FrameBytes());
  const Timed run =
      RunFlows(scenario, {{0, 1, 4'000'000, 0}, {0, 2, 4'000'000, 0}, {0, 3, 1'000, 0}});
  ASSERT_GT(run.took[1], 2 * scenario.transport.minRto);  // the queue is full for so long
  EXPECT_NEAR(static_cast<double>(run.took[2]), kHalfASecond + scenario.transport.minRto, 1e5);
}

// After a pause of more than a time-out the first 16 segments are answered one by one, the others
// two at a time (Linux: tcp_event_data_recv, TCP_MAX_QUICKACKS).
TEST(Hosts, TheFirstSegmentsAfterAPauseAreAnsweredOneByOne) {
  Scenario scenario = FastStar();
  scenario.transport = fabric::MakeTransport("wan");
  ASSERT_EQ(scenario.transport.segmentsPerAck, 2);
  constexpr int kMore = 100;
  const int64_t segment = scenario.transport.segmentBytes;
  const auto packets = [&](int64_t segments) {
    int64_t sum = 0;
    for (const fabric::LinkCounters& link :
         RunFlows(scenario, {{0, 1, segments * segment, 0}}).links) {
      sum += link.packets;
    }
    return sum;
  };
  constexpr int kLinks = 2;
  constexpr int kRuns = 2;  // without a pause between them
  EXPECT_EQ(packets(6) - packets(5), kLinks * kRuns * 2);
  EXPECT_EQ(packets(8 + kMore) - packets(8), kLinks * kRuns * kMore * 3 / 2);
}

}  // namespace
}  // namespace legacy::packet_test
