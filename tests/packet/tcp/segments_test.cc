// TCP by segments of our own, beside ns-3's sockets, and in fabrics of all kinds.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::CollectiveAlgorithm;

Scenario Of(const std::string& topology, int workers, CollectiveAlgorithm algorithm, int64_t bytes,
            int64_t rate_bps, TimeNs delay) {
  Scenario scenario;
  scenario.topology = topology;
  scenario.workers = workers;
  scenario.server = algorithm == CollectiveAlgorithm::ParameterServer;
  scenario.rate_bps = rate_bps;
  scenario.delay = delay;
  scenario.collective.algorithm = algorithm;
  scenario.collective.bytes.assign(workers, bytes);
  if (scenario.server) {
    scenario.collective.root = workers;
    scenario.collective.pullBytes = bytes;
  }
  return scenario;
}

fabric::StepTiming Time(Scenario scenario, const std::string& transport,
                        fabric::ConnectionKind kind = fabric::ConnectionKind::Warm) {
  scenario.transport = fabric::MakeTransport(transport);
  scenario.transport.connections = kind;
  return Simulate(scenario);
}

// Without losses both stacks send the same segments; they differ by the nanoseconds to which ns-3's
// devices round, and by the order in which hosts serve connections and ACKs.
TEST(Segments, TakeTheTimeOfSocketsWhereNothingIsLost) {
  constexpr int64_t kGigabit = 1'000'000'000;
  struct Case {
    Scenario scenario;
    std::string preset;
    fabric::ConnectionKind kind = fabric::ConnectionKind::Warm;
  };
  const Case cases[] = {
      {Of("star", 4, CollectiveAlgorithm::RingAllReduce, 1'000'000, 10 * kGigabit, 5'000),
       "datacenter"},
      {Of("fat-tree", 16, CollectiveAlgorithm::RingAllReduce, 400'000, 10 * kGigabit, 5'000),
       "datacenter"},
      {Of("star", 8, CollectiveAlgorithm::DirectAllGather, 200'000, 10 * kGigabit, 5'000),
       "datacenter"},
      {Of("star", 8, CollectiveAlgorithm::ParameterServer, 300'000, 10 * kGigabit, 5'000),
       "datacenter"},
      {Of("star", 4, CollectiveAlgorithm::RingAllReduce, 500'000, kGigabit, 5'000'000), "wan",
       fabric::ConnectionKind::Cold},
      {Of("star", 3, CollectiveAlgorithm::Broadcast, 2'000'000, kGigabit, 5'000'000), "wan",
       fabric::ConnectionKind::Tls},
      {Of("star", 3, CollectiveAlgorithm::RingAllReduce, 500'000, kGigabit, 5'000'000), "wan",
       fabric::ConnectionKind::QuicZeroRtt}};
  for (const Case& one : cases) {
    const fabric::StepTiming sockets = Time(one.scenario, "ns3:" + one.preset, one.kind);
    const fabric::StepTiming segments = Time(one.scenario, one.preset, one.kind);
    const std::string what = one.scenario.topology + " " + one.preset + " " +
                             fabric::ToString(one.scenario.collective.algorithm);
    EXPECT_NEAR(segments.total / static_cast<double>(sockets.total), 1, 0.01) << what;
    EXPECT_EQ(segments.counters.retransmitTimeouts, 0u) << what;
    EXPECT_NEAR(segments.counters.packets / static_cast<double>(sockets.counters.packets), 1, 0.02)
        << what;
  }
}

// A handshake is one round trip of headers, TLS two.
TEST(Segments, PayForHandshakes) {
  Scenario scenario =
      Of("star", 2, CollectiveAlgorithm::Broadcast, 1'000, 1'000'000'000, 10'000'000);
  const TimeNs open = Time(scenario, "wan", fabric::ConnectionKind::QuicZeroRtt).total;
  const TimeNs cold = Time(scenario, "wan", fabric::ConnectionKind::Cold).total;
  const TimeNs tls = Time(scenario, "wan", fabric::ConnectionKind::Tls).total;
  EXPECT_NEAR(static_cast<double>(cold - open), 40e6, 2e3) << "and four times 54 bytes";
  EXPECT_NEAR(static_cast<double>(tls - open), 80e6, 4e3);
}

// An incast of DCTCP: marks keep the queue of the receiver's port near its threshold.
TEST(Segments, MarksKeepQueuesShort) {
  const Scenario scenario =
      Of("star", 8, CollectiveAlgorithm::ParameterServer, 4'000'000, 10'000'000'000, 5'000);
  const fabric::StepTiming timing = Time(scenario, "datacenter");
  int64_t marks = 0, longest = 0, drops = 0;
  for (const fabric::LinkCounters& link : timing.links) {
    marks += link.marks;
    drops += link.drops;
    longest = std::max(longest, link.maxQueueBytes);
  }
  EXPECT_GT(marks, 500);
  EXPECT_EQ(drops, 0);
  const int64_t threshold = scenario.transport.PortMarkBytes(scenario.rate_bps);
  EXPECT_GT(longest, threshold);
  EXPECT_LT(longest, 8 * threshold);  // the first windows of eight senders
}

// Whatever queues, rates, delays, losses, controls and collectives: everything arrives, links carry
// at least the payload, and a second run has the same bits.
TEST(Segments, DeliverEverythingOnAnyFabric) {
  uint64_t state = 1;
  const auto draw = [&](uint64_t below) { return HashWords({++state}) % below; };
  const char* topologies[] = {"star", "dumbbell", "leaf-spine:leaves=2,hosts=4,spines=2"};
  const CollectiveAlgorithm algorithms[] = {
      CollectiveAlgorithm::RingAllReduce, CollectiveAlgorithm::DirectAllGather,
      CollectiveAlgorithm::AllToAll, CollectiveAlgorithm::Broadcast,
      CollectiveAlgorithm::ParameterServer};
  for (int run = 0; run < 500; ++run) {
    const auto rate = static_cast<int64_t>(1e7 * std::pow(10, draw(4)));
    Scenario scenario =
        Of(topologies[draw(3)], 2 + static_cast<int>(draw(6)), algorithms[draw(5)],
           1 + static_cast<int64_t>(draw(200'000)), rate, 1 + static_cast<TimeNs>(draw(5'000'000)));
    scenario.transport = fabric::MakeTransport(draw(2) ? "wan" : "datacenter");
    scenario.transport.congestionControl =
        std::vector<std::string>{"reno", "cubic", "dctcp", "bbr"}[draw(4)];
    scenario.transport.queueBytes = draw(2) ? 5'000 + static_cast<int64_t>(draw(50'000)) : 0;
    scenario.transport.connections = static_cast<fabric::ConnectionKind>(draw(6));
    const fabric::StepTiming once = Simulate(scenario);
    const fabric::StepTiming twice = Simulate(scenario);
    EXPECT_EQ(once.total, twice.total) << run;
    EXPECT_EQ(once.counters.events, twice.counters.events) << run;
    int64_t bytes = 0;
    for (const fabric::LinkCounters& link : once.links) bytes += link.bytes;
    int64_t least = 0;
    for (const int64_t payload : fabric::BytesSent(scenario.collective)) least += payload;
    EXPECT_GE(bytes, 2 * least) << run;  // each crosses two links or more
  }
}

// Four slow paths carry what one of four times the rate does, though segments overtake each other.
TEST(Segments, SprayUsesAllPaths) {
  const auto time = [](const std::string& topology, fabric::Multipath multipath) {
    Scenario scenario =
        Of(topology, 2, CollectiveAlgorithm::Broadcast, 10'000'000, 10'000'000'000, 1'000);
    scenario.transport = fabric::MakeTransport("datacenter");
    Fabric fabric(scenario);
    fabric.topology.SetMultipath(multipath);
    fabric::StepSimulator simulator(fabric::MakePacketEngine, fabric.request);
    return simulator.Simulate(OneCollective(2, scenario.collective), 0);
  };
  const std::string four = "leaf-spine:leaves=2,hosts=1,spines=4,spine.rate=2.5Gbps";
  const fabric::StepTiming spray = time(four, fabric::Multipath::Spray);
  const fabric::StepTiming ecmp = time(four, fabric::Multipath::Ecmp);
  const fabric::StepTiming fast =
      time("leaf-spine:leaves=2,hosts=1,spines=1,spine.rate=10Gbps", fabric::Multipath::Ecmp);
  EXPECT_NEAR(spray.total / static_cast<double>(fast.total), 1, 0.05);
  EXPECT_NEAR(ecmp.total / static_cast<double>(fast.total), 4, 0.2);
  EXPECT_EQ(spray.counters.retransmitTimeouts, 0u);
  EXPECT_NEAR(spray.counters.packets / static_cast<double>(fast.counters.packets), 1, 0.02);
}

TEST(Segments, SayWhatTheyDoNotHave) {
  const auto error = [](const std::string& control) {
    Scenario scenario = Of("star", 4, CollectiveAlgorithm::RingAllReduce, 1'000, 1'000'000, 1);
    scenario.transport = fabric::MakeTransport("wan");
    scenario.transport.congestionControl = control;
    const Fabric fabric(scenario);
    try {
      fabric::MakePacketEngine(fabric.request);
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
    return std::string();
  };
  EXPECT_EQ(error("ns3::TcpVegas"),
            "congestion control: got 'ns3::TcpVegas'; allowed: reno, cubic, dctcp, bbr");
  Scenario scenario = Of("star", 2, CollectiveAlgorithm::Broadcast, 1'000, 1'000'000, 1);
  scenario.transport = fabric::MakeTransport("wan");
  scenario.transport.attributes = {{"legacy::HostQueueDisc::Fair", "false"}};
  EXPECT_GT(Simulate(scenario).total, 0);
  scenario.transport.attributes = {{"ns3::TcpSocket::SegmentSize", "500"}};
  try {
    Simulate(scenario);
    FAIL();
  } catch (const Error& thrown) {
    EXPECT_STREQ(thrown.what(),
                 "ns3::TcpSocket::SegmentSize: got '500'; allowed: nothing beside packets of our "
                 "own; ns3:datacenter and ns3:wan have those of ns-3");
  }
}

}  // namespace
}  // namespace legacy::packet_test
