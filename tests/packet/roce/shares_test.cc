// How flows of RoCEv2 share links under pauses and under congestion controls.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "helper/roce-trial.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::shares_test {
namespace {

using fabric::LinkCounters;
using fabric::RoceTrial;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kLine = 100 * kGbps;
constexpr TimeNs kMs = 1'000'000;
constexpr int64_t kEndless = int64_t{1} << 40;

// Returns the shares of the first flows, each alone on its sender's link, between two times.
std::vector<double> SharesBetween(RoceTrial& trial, int flows, TimeNs from, TimeNs until) {
  trial.RunUntil(from);
  const std::vector<LinkCounters> before = trial.Links();
  trial.RunUntil(until);
  const std::vector<LinkCounters> after = trial.Links();
  std::vector<double> shares;
  for (int i = 0; i < flows; ++i) {
    shares.push_back(static_cast<double>(after[2 * i].bytes - before[2 * i].bytes));
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

// Flows 0 to 2 come through the trunk, flow 3 through a port of its own, whose link is longer by
// `longer`, all to host 4.
std::vector<double> TwoPorts(const std::string& transport, int64_t trunk, TimeNs from,
                             TimeNs longer = 0) {
  const auto lengthen = [=](int index, fabric::Link& link) {
    link.delay += index == 3 ? longer : 0;
  };
  RoceTrial trial(fabric::RoceTrunk(3, 2, kLine, trunk, 1000).WithLinks(lengthen), transport);
  for (int i = 0; i < 4; ++i) trial.Send({i, 4, kEndless});
  return SharesBetween(trial, 4, from, 2 * from);
}

// Ports share an outgoing link in proportion to their thresholds, flows do not. A port of four
// times the rate has four times the alpha.
TEST(RoceShares, PausesAreFairToPortsAndControlsToFlows) {
  const std::vector<double> equal = TwoPorts("roce:cc=none,buffer=1MiB", kLine, kMs);
  EXPECT_NEAR(equal[3], 1.0 / 2, 0.05 / 2);
  EXPECT_NEAR(equal[0], 1.0 / 6, 0.05 / 6);
  const std::vector<double> faster = TwoPorts("roce:cc=none,buffer=2MiB", 4 * kLine, kMs);
  EXPECT_NEAR(faster[3], 1.0 / 5, 0.05 / 5);
  EXPECT_NEAR(faster[0], 4.0 / 15, 0.2 / 15);
  // HPCC is fair to flows of one round trip.
  for (const double share : TwoPorts("roce:mtu=1000,cc=hpcc:wai=500B", kLine, 10 * kMs, 1047)) {
    EXPECT_NEAR(share, 0.25, 0.15 * 0.25);
  }
}

// Flows that ECMP puts on one link share it, and rates rise again when it is free: TIMELY as it is
// by default takes at most half as long again as pauses alone. (With segments of 64 KB, all of
// whose updates count, it took 7.2 times as long.)
TEST(RoceShares, TimelyRisesAgainAfterCollisions) {
  const fabric::Topology topology = fabric::MakeTopology({"fat-tree:k=4,rate=100Gbps,delay=1us"});
  const auto finished = [&](const std::string& control) {
    RoceTrial trial(topology, "roce:cc=" + control);
    for (int i = 0; i < 16; ++i) trial.Send({i, (i + 5) % 16, 10'000'000});
    trial.RunUntil();
    return static_cast<double>(trial.Last());
  };
  EXPECT_LE(finished("timely"), 1.5 * finished("none"));
}

// A flow of DCQCN that starts 1 ms after another comes to the same rate.
TEST(RoceShares, DcqcnIsFairToALateFlow) {
  RoceTrial trial(fabric::RoceStar(3, 40 * kGbps, 1000),
                  "roce:mtu=918,message-header=0,ecn=5KB/200KB/0.01,cc=dcqcn");
  trial.Send({0, 2, kEndless});
  trial.Send({1, 2, kEndless}, kMs);
  const std::vector<double> shares = SharesBetween(trial, 2, 25 * kMs, 50 * kMs);
  const double squares = shares[0] * shares[0] + shares[1] * shares[1];
  EXPECT_GE(1 / (2 * squares), 0.99);
}

// Congestion controls that need no pauses have no victims: the sixth flow gets more than its fair
// share of the line between the switches, as the other five have a fifth of a link.
TEST(RoceShares, HpccHasNoVictims) {
  RoceTrial trial(fabric::RoceTrunk(6, 2, kLine, 4 * kLine, 1000), "roce:cc=hpcc,buffer=32MiB");
  for (int i = 0; i < 5; ++i) trial.Send({i, 6, 2'000'000});
  trial.Send({5, 7, 2'000'000});
  trial.RunUntil();
  const double line = Nanoseconds(trial.GetTransport().WireBytes(2'000'000), kLine);
  EXPECT_GT(line / static_cast<double>(trial.Arrived().back()), 0.85);
  EXPECT_EQ(trial.Sum(&LinkCounters::pauses), 0);
}

// A lost CNP costs nothing but a cut of the rate: all arrives, sooner.
TEST(RoceShares, LostNotificationsChangeRatesAlone) {
  const auto time = [](bool lose) {
    RoceRun run(Star(9, kLine, 1000), "roce:cc=dcqcn,buffer=32MiB");
    run.ports().SetDrop([=](fabric::DirectedLink, const packet::Frame& frame) {
      return lose && frame.kind == packet::FrameKind::Cnp;
    });
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 8; ++i) flows.push_back({i, 8, 5'000'000});
    const std::vector<TimeNs> arrived = run.Run(flows);
    EXPECT_EQ(run.Counters().retransmitTimeouts, 0u);
    EXPECT_GT(run.Counters().roce.cnps, 0u);
    return *std::max_element(arrived.begin(), arrived.end());
  };
  EXPECT_LT(time(true), time(false));
}

// A storm stops the hosts that send to the host, and then those behind them: host 2 sends to
// another host over the trunk that is paused.
TEST(RoceShares, AStormSpreads) {
  RoceTrial trial(fabric::RoceTrunk(3, 2, kLine, kLine, 1000),
                  "roce:cc=none,ecn=off,buffer=2MiB,storm=host=3+from=10us+for=2ms");
  trial.Send({0, 3, 10'000'000});
  trial.Send({1, 4, 10'000'000});
  trial.Send({2, 1, 1'000'000});
  trial.RunUntil();
  EXPECT_GT(trial.Arrived()[0], 2 * kMs);
  EXPECT_GT(trial.Arrived()[1], 2 * kMs);  // a victim
  EXPECT_LT(trial.Arrived()[2], kMs);      // not over the trunk
}

// Both links of a host carry a flow at line rate.
TEST(RoceShares, AHostWithTwoLinks) {
  fabric::Topology topology;
  for (const char* name : {"a", "b", "c"}) topology.AddHost(name);
  topology.AddLink({0, 1, 1000, fabric::Port{kLine}});
  topology.AddLink({0, 2, 1000, fabric::Port{kLine}});
  RoceTrial trial(topology, "roce:cc=dcqcn");
  trial.Send({0, 1, 10'000'000});
  trial.Send({0, 2, 10'000'000});
  trial.RunUntil();
  const double line = Nanoseconds(trial.GetTransport().WireBytes(10'000'000), kLine) + 1000;
  EXPECT_NEAR(static_cast<double>(trial.Arrived()[0]), line, 2);
  EXPECT_NEAR(static_cast<double>(trial.Arrived()[1]), line, 2);
}

// Two endpoints of one host touch no link, and neither does a message of nothing.
TEST(RoceShares, EndpointsOfOneHost) {
  Scenario scenario;
  scenario.workers = 2;
  scenario.transport = fabric::MakeTransport("roce");
  const fabric::Topology topology = Star(2, kLine, 1000);
  fabric::Placement placement;
  placement.hosts = {0, 0, 1};
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = scenario.transport;
  const auto engine = fabric::MakePacketEngine(request);
  Burst burst({{0, 1, 1'000'000}, {0, 2, 0}});
  engine->Submit(burst, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  EXPECT_EQ(burst.arrived, (std::vector<TimeNs>{0, 0}));
  for (const LinkCounters& link : engine->Links()) EXPECT_EQ(link.packets, 0);
}

// Sizes beyond 32 bits, in bytes and in frames: 2^40 bytes of 64 are 2^34 frames.
TEST(RoceShares, MessagesBeyond32Bits) {
  const fabric::Transport transport = fabric::MakeTransport("roce:mtu=64");
  EXPECT_EQ(transport.WireBytes(kEndless), kEndless + (kEndless / 64) * 82 + 16);
  RoceTrial trial(Star(2, kLine, 1000), "roce:mtu=64,cc=none");
  trial.Send({0, 1, kEndless});
  trial.Send({0, 1, kEndless});
  EXPECT_FALSE(trial.RunUntil(kMs));
  EXPECT_NEAR(static_cast<double>(trial.Links()[0].bytes) / (1e6 * 100 / 8), 1, 0.001);
  EXPECT_EQ(trial.Counters().retransmitTimeouts, 0u);
}

}  // namespace
}  // namespace legacy::packet_test::shares_test
