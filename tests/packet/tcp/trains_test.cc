// Trains of TCP: segments that ports and switches forward as one frame.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "helper/roce-trial.h"
#include "helper/simulator-lease.h"
#include "model/packet-engine.h"
#include "model/tcp/segment-carrier.h"
#include "ns3/simulator.h"
#include "tests/message_of.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test::tcp_train_test {
namespace {

using fabric::DirectedLink;
using fabric::LinkCounters;
using packet::Frame;
using packet::FrameKind;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kSegment = 1448;

// An engine of TCP with its ports at hand.
class TcpRun {
 public:
  TcpRun(const fabric::Topology& topology, const fabric::Transport& transport)
      : topology_(topology),
        placement_(fabric::MakePlacement({"packed", static_cast<int>(topology.Hosts().size())},
                                         topology_)),
        engine_(ns3::CreateObject<packet::PacketEngine>()) {
    engine_->Build(&topology_, &placement_, transport, [&](packet::CarrierListener* listener) {
      auto carrier = std::make_unique<packet::SegmentCarrier>(&topology_, topology_.Hosts(),
                                                              transport, 1, 0, listener);
      carrier_ = carrier.get();
      return carrier;
    });
  }
  ~TcpRun() { engine_->Dispose(); }
  TcpRun(const TcpRun&) = delete;
  TcpRun& operator=(const TcpRun&) = delete;

  // Returns when each flow has arrived. What is in flight then arrives, too.
  std::vector<TimeNs> Run(const std::vector<fabric::Flow>& flows) {
    Burst burst(flows);
    engine_->Submit(burst, packet::PacketEngine::Now());
    EXPECT_TRUE(engine_->RunUntil(kNever));
    events_ = engine_->GetCounters().events;
    ns3::Simulator::Stop(ns3::NanoSeconds(1'000'000'000));
    ns3::Simulator::Run();
    EXPECT_EQ(carrier_->GetPorts().Frames().InUse(), 0u);
    EXPECT_EQ(carrier_->GetPorts().GetBuffered(), 0);
    return burst.arrived;
  }

  packet::RoceNetwork& ports() { return carrier_->GetPorts(); }
  uint64_t Events() const { return events_; }
  std::vector<LinkCounters> Links() const { return engine_->GetLinks(); }

 private:
  const packet::SimulatorLease lease_{true};
  const fabric::Topology topology_;
  const fabric::Placement placement_;
  ns3::Ptr<packet::PacketEngine> engine_;
  packet::SegmentCarrier* carrier_ = nullptr;
  uint64_t events_ = 0;
};

// Bytes, packets, drops and marks of a link.
using Counts = std::tuple<int64_t, int64_t, int64_t, int64_t>;

struct Figures {
  std::vector<TimeNs> arrived;
  std::vector<Counts> links;
  uint64_t events = 0;
};

Figures FiguresOf(const fabric::Topology& topology, const fabric::Transport& transport,
                  const std::vector<fabric::Flow>& flows) {
  TcpRun run(topology, transport);
  Figures figures;
  figures.arrived = run.Run(flows);
  figures.events = run.Events();
  for (const LinkCounters& link : run.Links()) {
    figures.links.emplace_back(link.bytes, link.packets, link.drops, link.marks);
  }
  return figures;
}

std::vector<fabric::Flow> Incast(int senders, int64_t bytes) {
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, bytes});
  return flows;
}

fabric::Topology Trunk(int64_t rate) { return fabric::RoceTrunk(1, 1, 10 * kGbps, rate, 1000); }

// A flow alone arrives as its segments would, with the same packets and bytes on all links, ACKs
// included.
TEST(TcpTrains, AFlowAloneKeepsItsTimeAndCounts) {
  for (const std::string preset : {"datacenter", "wan"}) {
    for (const int64_t bytes : {int64_t{1}, kSegment, kSegment + 1, int64_t{50'000},
                                int64_t{1'000'000}, int64_t{12'345'679}}) {
      const fabric::Transport one = fabric::MakeTransport(preset);
      const Figures single = FiguresOf(Trunk(10 * kGbps), one, {{0, 1, bytes}});
      for (const char* train : {"2", "5", "8", "64"}) {
        const fabric::Transport transport = fabric::MakeTransport(preset + ":train=" + train);
        const Figures trains = FiguresOf(Trunk(10 * kGbps), transport, {{0, 1, bytes}});
        const auto time = static_cast<double>(single.arrived[0]);
        EXPECT_NEAR(static_cast<double>(trains.arrived[0]), time, 0.002 * time)
            << preset << " " << bytes << " " << train;
        EXPECT_EQ(trains.links, single.links) << preset << " " << bytes << " " << train;
        // Cubic's window is hardly more than such a short path holds.
        if (bytes > 10'000'000 && std::string(train) == "8" && preset == "datacenter") {
          EXPECT_LT(4 * trains.events, single.events);
        }
      }
    }
  }
}

// Connections that share a link or a NIC make none in their queues: an incast is that of single
// segments, whatever is marked or dropped, and so are flows that leave one NIC.
TEST(TcpTrains, QueuesHaveNone) {
  for (const std::string control : {"dctcp", "reno", "cubic", "bbr"}) {
    for (const int64_t queue : {0, 100'000}) {
      if (control == "bbr" && queue > 0) continue;  // half of it is lost, and the last flow alone
      for (const bool out : {false, true}) {
        fabric::Transport transport = fabric::MakeTransport("datacenter");
        transport.congestionControl = control;
        transport.ecn = control == "dctcp";
        transport.queueBytes = queue;
        std::vector<fabric::Flow> flows = Incast(6, 1'000'000);
        if (out) {
          for (fabric::Flow& flow : flows) std::swap(flow.source, flow.destination);
        }
        const fabric::Topology star = fabric::RoceStar(7, 10 * kGbps, 1000);
        const Figures single = FiguresOf(star, transport, flows);
        transport.train = 8;
        const Figures trains = FiguresOf(star, transport, flows);
        for (size_t i = 0; i < flows.size(); ++i) {
          const auto time = static_cast<double>(single.arrived[i]);
          EXPECT_NEAR(static_cast<double>(trains.arrived[i]), time, 0.001 * time)
              << control << " " << queue << " " << out << " " << i;
        }
        EXPECT_EQ(trains.links, single.links) << control << " " << queue << " " << out;
      }
    }
  }
}

// What a short queue drops of a train, or a whole one, is sent again.
TEST(TcpTrains, LostPartsAreSentAgain) {
  fabric::Transport transport = fabric::MakeTransport("wan");
  transport.queueBytes = 9 * 1502;
  const Figures single = FiguresOf(Trunk(9 * kGbps), transport, {{0, 1, 5'000'000}});
  transport.train = 8;
  TcpRun run(Trunk(9 * kGbps), transport);
  int whole = 0, parts = 0;
  run.ports().SetTap([&](DirectedLink link, uint32_t frame, fabric::Picoseconds, bool arrives) {
    const Frame& seen = run.ports().Frames()[frame];
    if (arrives || seen.kind != FrameKind::Data || seen.frames == 1) return;
    whole += link == 0;
    parts += link != 0 && seen.frames < 8;
  });
  const std::vector<TimeNs> arrived = run.Run({{0, 1, 5'000'000}});
  int64_t drops = 0, dropped = 0;
  for (const LinkCounters& link : run.Links()) drops += link.drops;
  for (const Counts& link : single.links) dropped += std::get<2>(link);
  EXPECT_GT(whole, 5);
  EXPECT_GT(parts, 0);
  EXPECT_GT(drops, 0);
  EXPECT_GT(dropped, 0);
  const auto time = static_cast<double>(single.arrived[0]);
  EXPECT_NEAR(static_cast<double>(arrived[0]), time, 0.1 * time);
}

TEST(TcpTrains, ALostTrainIsSentAgain) {
  TcpRun run(fabric::RoceStar(2, 100 * kGbps, 1000), fabric::MakeTransport("datacenter:train=8"));
  int lost = 0, data = 0;
  run.ports().SetDrop([&](DirectedLink link, const Frame& frame) {
    if (link != 0 || frame.kind != FrameKind::Data) return false;
    data += frame.frames;
    if (lost > 0 || frame.frames < 8) return false;
    lost = frame.frames;
    return true;
  });
  run.Run({{0, 1, 3'000'000}});
  EXPECT_EQ(lost, 8);
  EXPECT_EQ(data, static_cast<int>(CeilDivide(3'000'000, kSegment)) + 1 + 8);  // with the SYN
}

// Whatever queues, rates, delays, controls, collectives and trains: everything arrives, and a
// second run has the same bits.
TEST(TcpTrains, DeliverEverythingOnAnyFabric) {
  using fabric::CollectiveAlgorithm;
  uint64_t state = 7;
  const auto draw = [&](uint64_t below) { return HashWords({++state}) % below; };
  const char* topologies[] = {"star", "dumbbell",
                              "leaf-spine:leaves=2,hosts=4,spines=2,spine.rate=3Gbps"};
  const CollectiveAlgorithm algorithms[] = {CollectiveAlgorithm::RingAllReduce,
                                            CollectiveAlgorithm::AllToAll,
                                            CollectiveAlgorithm::Broadcast};
  for (int run = 0; run < 200; ++run) {
    Scenario scenario;
    scenario.topology = topologies[draw(3)];
    scenario.workers = 2 + static_cast<int>(draw(6));
    scenario.rate_bps = static_cast<int64_t>(1e8 * std::pow(10, draw(3)));
    scenario.delay = 1 + static_cast<TimeNs>(draw(500'000));
    scenario.collective.algorithm = algorithms[draw(3)];
    scenario.collective.bytes.assign(scenario.workers, 1 + static_cast<int64_t>(draw(1'000'000)));
    scenario.transport = fabric::MakeTransport(draw(2) ? "wan" : "datacenter");
    scenario.transport.congestionControl =
        std::vector<std::string>{"reno", "cubic", "dctcp", "bbr"}[draw(4)];
    scenario.transport.queueBytes = draw(2) ? 5'000 + static_cast<int64_t>(draw(50'000)) : 0;
    scenario.transport.connections = static_cast<fabric::ConnectionKind>(draw(6));
    scenario.transport.train = 2 + static_cast<int>(draw(63));
    const fabric::StepTiming once = Simulate(scenario);
    const fabric::StepTiming twice = Simulate(scenario);
    EXPECT_EQ(once.total, twice.total) << run;
    EXPECT_EQ(once.counters.events, twice.counters.events) << run;
  }
}

TEST(TcpTrains, SayWhereTheyDoNotWork) {
  const auto refused = [](const std::function<void(fabric::Link&)>& link,
                          fabric::Multipath multipath = fabric::Multipath::Ecmp,
                          const std::map<std::string, std::string>& attributes = {}) {
    Scenario scenario;
    scenario.transport = fabric::MakeTransport("wan:train=4");
    scenario.transport.attributes = attributes;
    Fabric fabric(scenario);
    fabric.topology = fabric.topology.WithLinks([&](int index, fabric::Link& one) {
      if (index == 0) link(one);
    });
    fabric.topology.SetMultipath(multipath);
    fabric.request.transport = scenario.transport;
    return MessageOf([&] { fabric::MakePacketEngine(fabric.request); });
  };
  const auto same = [](fabric::Link&) {};
  EXPECT_EQ(refused([](fabric::Link& link) { link.ports[0].errorRate = 0.01; }),
            "train: got '4'; allowed: 1 beside host0>hub, which loses single segments");
  EXPECT_EQ(refused([](fabric::Link& link) { link.ports[1].burstBytes = 10'000; }),
            "train: got '4'; allowed: 1 beside hub>host0, whose token bucket passes single "
            "segments");
  EXPECT_EQ(refused([](fabric::Link& link) {
              link.ports[0].schedule = std::make_shared<const fabric::LinkSchedule>(
                  std::vector<fabric::RatePoint>{{0, 1'000'000}, {1'000, 2'000'000}}, 2'000);
            }),
            "train: got '4'; allowed: 1 beside links whose rates change over time");
  EXPECT_EQ(refused(same, fabric::Multipath::Spray),
            "train: got '4'; allowed: 1 beside multipath=spray, where each segment has a path of "
            "its own");
  EXPECT_EQ(
      refused(same, fabric::Multipath::Ecmp, {{"legacy::HostQueueDisc::Fair", "false"}}),
      "train: got '4'; allowed: 1 beside legacy::HostQueueDisc::Fair: a NIC with one queue takes "
      "single segments");
}

}  // namespace
}  // namespace legacy::packet_test::tcp_train_test
