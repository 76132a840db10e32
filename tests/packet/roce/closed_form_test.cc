// RoCEv2 on idle fabrics and in incasts, compared with what can be computed by hand.
#include <algorithm>
#include <utility>

#include "ns3-module/fabric/collective/closed-form.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::closed_form_test {
namespace {

constexpr int64_t kGbps = 1'000'000'000;

// Hosts at both ends of a line of switches: `links` links of one rate.
fabric::Topology Line(int links, int64_t rate, TimeNs delay) {
  fabric::Topology topology;
  topology.SetName("line");
  topology.AddHost("a");
  topology.AddHost("b");
  int last = 0;
  for (int i = 1; i < links; ++i) {
    const int next = topology.AddSwitch("s" + std::to_string(i));
    topology.AddLink({last, next, delay, fabric::Port{rate}});
    last = next;
  }
  topology.AddLink({last, 1, delay, fabric::Port{rate}});
  return topology;
}

// h (d + F / r) + (W - F) / r, F the first frame: within 1 ns a link.
TEST(RoceClosedForm, OneFlowIsExact) {
  for (const int64_t rate : {25 * kGbps, 100 * kGbps, 400 * kGbps, int64_t{7'300'000'001}}) {
    for (const int links : {1, 2, 5}) {
      for (const int64_t bytes : {1, 3, 4096, 4097, 1'000'003}) {
        for (const TimeNs delay : {0, 1000}) {
          RoceRun run(Line(links, rate, delay), "roce:cc=none");
          const int64_t padded = (bytes + 3) / 4 * 4;
          const int64_t wire = padded + (bytes + 4095) / 4096 * 82 + 16;
          const int64_t first = std::min<int64_t>(wire, 4096 + 98);
          const double expected = links * (static_cast<double>(delay) + Nanoseconds(first, rate)) +
                                  Nanoseconds(wire - first, rate);
          EXPECT_NEAR(static_cast<double>(run.Run({{0, 1, bytes}}).front()), expected, links)
              << rate << " bit/s, " << links << " links, " << bytes << " bytes";
          EXPECT_EQ(run.transport().WireBytes(bytes), wire);
        }
      }
    }
  }
}

// The fidelities agree on the time of a flow on an idle path, with the delay of each switch.
TEST(RoceClosedForm, SwitchesDelayFlowsAtAllFidelities) {
  for (const int links : {1, 2, 5}) {
    for (const int64_t bytes : {1, 4096, 1'000'003}) {
      const auto time = [&](const fabric::EngineFactory& make, const std::string& delay) {
        const packet::SimulatorLease lease(true);
        const fabric::Topology topology = Line(links, 100 * kGbps, 1000);
        const fabric::Placement placement = fabric::MakePlacement({"packed", 2}, topology);
        fabric::EngineRequest request;
        request.topology = &topology;
        request.placement = &placement;
        request.transport = fabric::MakeTransport("roce:cc=none,switch-delay=" + delay);
        const auto engine = make(request);
        Burst burst({{0, 1, bytes}});
        engine->Submit(burst, 0);
        EXPECT_TRUE(engine->RunUntil(kNever));
        return static_cast<double>(burst.arrived.front());
      };
      const double packet = time(fabric::MakePacketEngine, "700ns");
      EXPECT_NEAR(packet - time(fabric::MakePacketEngine, "0ns"), 700 * (links - 1), 1);
      EXPECT_NEAR(time(fabric::MakeFlowEngine, "700ns"), packet, links) << links << " " << bytes;
      EXPECT_NEAR(time(fabric::MakeAnalyticEngine, "700ns"), packet, links)
          << links << " " << bytes;
    }
  }
}

// A long flow gets r x mtu / (mtu + 82), with and without a window of its round trip.
TEST(RoceClosedForm, LongFlowsFillTheLine) {
  constexpr int64_t kBytes = 20'000'000;
  for (const int64_t rate : {25 * kGbps, 800 * kGbps}) {
    for (const int mtu : {256, 4096}) {
      for (const std::string window : {"off", "bdp"}) {
        RoceRun run(Line(3, rate, 1000),
                    "roce:cc=none,mtu=" + std::to_string(mtu) + ",window=" + window);
        const double path = 3 * (1000 + Nanoseconds(mtu + 98, rate));
        const double time = static_cast<double>(run.Run({{0, 1, kBytes}}).front()) - path;
        const double goodput = 8.0 * (kBytes - mtu) / time;  // of all but the first frame
        EXPECT_NEAR(goodput / (static_cast<double>(rate) / 1e9 * mtu / (mtu + 82.0)), 1, 1e-4)
            << rate << " " << mtu << " " << window;
      }
    }
  }
}

// N to 1: the receiver's link is busy from the first frame on.
TEST(RoceClosedForm, IncastKeepsTheReceiversLinkBusy) {
  for (const int senders : {2, 8, 15}) {
    for (const std::string pfc : {",buffer=64MiB", ",buffer=2MiB"}) {
      RoceRun run(Star(senders + 1, 100 * kGbps, 1000), "roce:cc=none" + pfc);
      std::vector<fabric::Flow> flows;
      for (int i = 0; i < senders; ++i) flows.push_back({i, senders, 1'000'000});
      const std::vector<TimeNs> arrived = run.Run(flows);
      const int64_t wire = run.transport().WireBytes(1'000'000);
      const double expected =
          2 * 1000 + Nanoseconds(4096 + 98, 100 * kGbps) + senders * Nanoseconds(wire, 100 * kGbps);
      const auto [first, last] = std::minmax_element(arrived.begin(), arrived.end());
      EXPECT_NEAR(static_cast<double>(*last) / expected, 1, 1e-3) << senders << pfc;
      // Frames take turns: all end with their last ones, except that pauses move them.
      if (pfc == ",buffer=64MiB") {
        EXPECT_LE(static_cast<double>(*last - *first),
                  senders * Nanoseconds(4096 + 98, 100 * kGbps));
      }
      EXPECT_EQ(run.Drops(), 0);
      EXPECT_EQ(run.Pauses() > 0, pfc == ",buffer=2MiB") << senders;
      EXPECT_EQ(run.Counters().retransmitTimeouts, 0u);
    }
  }
}

// Each round of a ring waits for the last one's message; the ACK goes ahead of the next message.
TEST(RoceClosedForm, RingAllReduce) {
  for (const int workers : {2, 4, 8}) {
    Scenario scenario;
    scenario.workers = workers;
    scenario.rate_bps = 100 * kGbps;
    scenario.delay = 1000;
    scenario.transport = fabric::MakeTransport("roce:cc=none");
    scenario.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
    scenario.collective.bytes.assign(workers, 8'000'000);
    const TimeNs expected = fabric::RingAllReduceTime(
        workers, 8'000'000, {2, scenario.rate_bps, scenario.delay}, scenario.transport);
    EXPECT_NEAR(static_cast<double>(Simulate(scenario).total) / static_cast<double>(expected), 1,
                2e-3)
        << workers;
  }
}

// HPCC leaves a part of each port unused, and its telemetry takes bytes: without either, flows
// would be 7 to 10 % too fast.
TEST(RoceClosedForm, FlowsAndFormulaFollowHpccOnALongRing) {
  for (const int mtu : {1024, 4096}) {
    Scenario scenario;
    scenario.workers = 8;
    scenario.rate_bps = 100 * kGbps;
    scenario.delay = 1000;
    scenario.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
    scenario.collective.bytes.assign(scenario.workers, 16'000'000);
    for (const char* topology : {"star", "ring"}) {
      scenario.topology = topology;
      const auto time = [&](fabric::EngineFactory engine, const fabric::Transport& transport) {
        scenario.transport = transport;
        const Fabric fabric(scenario);
        fabric::StepSimulator simulator(std::move(engine), fabric.request);
        const auto traffic = OneCollective(scenario.workers, scenario.collective);
        return static_cast<double>(simulator.Simulate(traffic, 0).total);
      };
      const auto hpcc = fabric::MakeTransport("roce:cc=hpcc,mtu=" + std::to_string(mtu));
      fabric::Transport blind = hpcc;
      blind.utilisation = 1;
      blind.telemetry = false;
      const double packet = time(fabric::MakePacketEngine, hpcc);
      EXPECT_NEAR(time(fabric::MakeFlowEngine, hpcc) / packet, 1, 0.02) << topology << mtu;
      EXPECT_NEAR(time(fabric::MakeAnalyticEngine, hpcc) / packet, 1, 0.02) << topology << mtu;
      EXPECT_LT(time(fabric::MakeFlowEngine, blind) / packet, 0.95) << topology << mtu;
      if (scenario.topology == "star") {
        const TimeNs formula = fabric::RingAllReduceTime(
            scenario.workers, 16'000'000, {2, scenario.rate_bps, scenario.delay}, hpcc);
        EXPECT_NEAR(static_cast<double>(formula) / packet, 1, 0.02) << mtu;
      }
    }
  }
}

// Steps start warm and are remembered: a step is simulated once.
TEST(RoceClosedForm, StepsAreSimulatedOnceAndRemembered) {
  Scenario scenario;
  scenario.transport = fabric::MakeTransport("roce:cc=none");
  scenario.collective.algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
  scenario.collective.bytes.assign(scenario.workers, 1'000'000);
  const Fabric fabric(scenario);
  fabric::StepSimulator simulator(fabric::MakePacketEngine, fabric.request);
  const auto traffic = OneCollective(scenario.workers, scenario.collective);
  const TimeNs first = simulator.Simulate(traffic, 0).total;
  const uint64_t packets = simulator.Totals().packets;
  EXPECT_EQ(simulator.Simulate(traffic, 1).total, first);
  EXPECT_EQ(simulator.FreshSteps(), 1);
  EXPECT_EQ(simulator.MemoisedSteps(), 1);
  // 2 (N - 1) messages of 250,000 bytes from each host: 62 frames and 4 ACKs, of which the last
  // ones are under way at the end.
  EXPECT_EQ(packets, 4u * 6u * (62u + 4u) - 4u);
}

}  // namespace
}  // namespace legacy::packet_test::closed_form_test
