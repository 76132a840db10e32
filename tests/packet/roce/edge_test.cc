// RoCEv2 at the edges: paths, sizes, rates and delays of all kinds, and messages that are
// withdrawn.
#include <algorithm>
#include <numeric>
#include <string>

#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::edge_test {
namespace {

using fabric::DirectedLink;

constexpr int64_t kGbps = 1'000'000'000;

// Every pair takes the links of Topology::Route, and its ACKs those of the way back.
TEST(RoceEdges, PathsAreThoseOfTheTopology) {
  Scenario scenario;
  scenario.topology = "fat-tree:k=4";
  scenario.workers = 16;
  const fabric::Topology topology = Fabric::MakeTopology(scenario);
  for (int source : {0, 5, 10}) {
    for (int destination : {1, 7, 15}) {
      RoceRun run(topology, "roce:cc=none");
      std::vector<DirectedLink> data;
      run.ports().SetDrop([&](DirectedLink link, const packet::Frame& frame) {
        if (frame.kind == packet::FrameKind::Data) data.push_back(link);
        return false;
      });
      run.Run({{source, destination, 100}});
      EXPECT_EQ(data, topology.Route(topology.Hosts()[source], topology.Hosts()[destination], 0));
    }
  }
}

// 65,536 messages on one queue pair at once arrive in their order.
TEST(RoceEdges, ManyMessagesOnOneQueuePair) {
  RoceRun run(Star(2, 100 * kGbps, 1000), "roce:cc=none");
  const std::vector<TimeNs> arrived =
      run.Run(std::vector<fabric::Flow>(65'536, fabric::Flow{0, 1, 1}));
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
  // A frame of 102 bytes each.
  EXPECT_NEAR(static_cast<double>(arrived.back()),
              2000 + Nanoseconds(102, 100 * kGbps) * (65'536 + 1), 3);
}

// Sends 2^40 bytes and then one byte, and continues with the last two frames of the former at once.
class EndOfALongMessage : public fabric::FlowGraph {
 public:
  explicit EndOfALongMessage(packet::QueuePairs& pairs) : pairs_(pairs) {}
  void OnStart(fabric::FlowSink& sink) override {
    sink.Send({0, 1, int64_t{1} << 40, 0});
    packet::QueuePair& pair = pairs_[0];
    pair.next = pair.sentTo = pair.acked = pair.expected = pair.end - 2;
    pair.inFlight = 0;
    sink.Send({0, 1, 1, 1});
  }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    EXPECT_EQ(flow.tag, arrived.size());
    arrived.push_back(sink.Now());
  }
  bool Done() const override { return arrived.size() == 2; }

  std::vector<TimeNs> arrived;

 private:
  packet::QueuePairs& pairs_;
};

// 2^40 bytes are 2^34 frames of 64: numbers of frames have more than 32 bits, as bytes have.
TEST(RoceEdges, TheLastFramesOfALongMessage) {
  constexpr uint64_t kFrames = uint64_t{1} << 34;
  for (const std::string options : {"", ",pfc=off"}) {
    for (const uint64_t lost : {uint64_t{0}, kFrames - 2, kFrames - 1}) {
      RoceRun run(Star(2, 100 * kGbps, 1000), "roce:cc=none,mtu=64" + options);
      uint64_t last = 0;
      run.ports().SetDrop([&, losses = 0](DirectedLink link, const packet::Frame& frame) mutable {
        if (frame.kind != packet::FrameKind::Data || link != 0) return false;
        last = std::max(last, frame.psn);
        return lost > 0 && frame.psn == lost && losses++ == 0;
      });
      EndOfALongMessage graph(run.pairs());
      run.Run(graph);
      RoceRun::Drain();
      EXPECT_EQ(last, kFrames);
      const packet::QueuePair& pair = run.pairs()[0];
      EXPECT_EQ(pair.acked, kFrames + 1) << options << " " << lost;
      EXPECT_EQ(pair.inFlight, 0) << options << " " << lost;
      EXPECT_EQ(run.Counters().roce.resent > 0, lost > 0);
      EXPECT_EQ(run.Counters().retransmitTimeouts, 0u);
      if (lost > 0) continue;
      // Frame 0 has 162 bytes, and the two that follow 146 each.
      EXPECT_NEAR(static_cast<double>(graph.arrived[0]),
                  2000 + Nanoseconds(2 * 162 + 2 * 146, 100 * kGbps), 2);
    }
  }
}

TEST(RoceEdges, RatesAndDelaysOfAllKinds) {
  for (const auto& [slow, delay] : {std::pair<int64_t, TimeNs>{1'000'000, 0},
                                    std::pair<int64_t, TimeNs>{10 * kGbps, 1'000'000'000}}) {
    fabric::Topology topology;
    topology.AddHost("a");
    topology.AddHost("b");
    topology.AddSwitch("s");
    topology.AddLink({0, 2, delay, fabric::Port{1'600 * kGbps}});
    topology.AddLink({1, 2, delay, fabric::Port{slow}});
    RoceRun run(topology, "roce:cc=dcqcn");
    const int64_t wire = run.transport().WireBytes(100'000);
    EXPECT_NEAR(static_cast<double>(run.Run({{0, 1, 100'000}}).front()),
                2.0 * static_cast<double>(delay) + Nanoseconds(4194, 1'600 * kGbps) +
                    Nanoseconds(wire, slow),
                10);
    EXPECT_EQ(run.Drops(), 0);
  }
}

// A thousand hosts send to one.
TEST(RoceEdges, AThousandPorts) {
  constexpr int kHosts = 1000;
  RoceRun run(Star(kHosts, 100 * kGbps, 1000), "roce:cc=none");
  std::vector<fabric::Flow> flows;
  for (int i = 1; i < kHosts; ++i) flows.push_back({i, 0, 100'000});
  const std::vector<TimeNs> arrived = run.Run(flows);
  const double expected =
      2000 + Nanoseconds(4194, 100 * kGbps) +
      (kHosts - 1) * Nanoseconds(run.transport().WireBytes(100'000), 100 * kGbps);
  EXPECT_NEAR(static_cast<double>(*std::max_element(arrived.begin(), arrived.end())) / expected, 1,
              1e-3);
  EXPECT_EQ(run.Drops(), 0);
  EXPECT_EQ(run.Counters().retransmitTimeouts, 0u);
}

// Every frame that waits is marked, and everything arrives all the same.
TEST(RoceEdges, AllFramesMarked) {
  for (const char* control : {"dcqcn", "dcqcn:parameters=mellanox", "hpcc", "timely", "swift"}) {
    RoceRun run(Star(5, 100 * kGbps, 1000), std::string("roce:ecn=0B/0B/1@25Gbps,cc=") + control);
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 4; ++i) flows.push_back({i, 4, 1'000'000});
    const std::vector<TimeNs> arrived = run.Run(flows);
    const double line = 4 * Nanoseconds(run.transport().WireBytes(1'000'000), 100 * kGbps);
    EXPECT_GT(static_cast<double>(*std::max_element(arrived.begin(), arrived.end())), line);
    EXPECT_GT(run.Marks(), 0) << control;
    EXPECT_EQ(run.Drops(), 0) << control;
  }
}

// Around a ring of switches, where pauses alone deadlock, HPCC's windows make pauses unnecessary.
TEST(RoceEdges, HpccNeedsNoPausesAroundARing) {
  Scenario scenario;
  scenario.topology = "ring:hosts=5";
  scenario.workers = 5;
  scenario.rate_bps = 100 * kGbps;
  scenario.delay = 1000;
  RoceRun run(Fabric::MakeTopology(scenario), "roce:cc=hpcc,buffer=2MiB");
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < 5; ++i) flows.push_back({i, (i + 2) % 5, 20'000'000});
  EXPECT_EQ(run.Failure(flows), "");
  EXPECT_EQ(run.Pauses(), 0);
}

// A message is withdrawn after 100 us; the frames that left before are carried and acknowledged,
// and the next message follows.
class Withdrawn : public fabric::FlowGraph {
 public:
  void OnStart(fabric::FlowSink& sink) override {
    for (const fabric::Flow& flow : flows) sink.Send(flow);
    sink.Wake(100'000, 0);
  }
  void OnWake(uint64_t, fabric::FlowSink& sink) override {
    carried = sink.Abort(flows[0]);
    unsent = sink.Abort(flows[1]);
    unknown = sink.Abort(flows[1]);
  }
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    EXPECT_EQ(flow.tag, 2u);
    arrived = sink.Now();
  }
  bool Done() const override { return arrived >= 0; }

  std::vector<fabric::Flow> flows = {
      {0, 1, 10'000'000, 0}, {0, 1, 10'000'000, 1}, {0, 1, 1'000'000, 2}};
  int64_t carried = -1;
  int64_t unsent = -1;
  int64_t unknown = -1;
  TimeNs arrived = -1;
};

// Withdraws from an engine with that transport. Only whole trains have begun to leave.
void Withdraw(const std::string& transport, Withdrawn& graph, int train = 1) {
  Scenario scenario;
  scenario.workers = 2;
  scenario.rate_bps = 100 * kGbps;
  scenario.delay = 1000;
  scenario.transport = fabric::MakeTransport(transport);
  const Fabric fabric(scenario);
  const auto engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(graph, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  EXPECT_EQ(graph.unknown, 0);
  EXPECT_EQ(graph.carried % 4096, 0);
  EXPECT_EQ(engine->Counters().retransmitTimeouts, 0u);
  const int64_t carried = graph.carried + graph.unsent;
  // 100 us are 299.2 frames. Each queue pair sends one more, if its last one asked for no ACK.
  EXPECT_GE(carried / 4096, 299);
  EXPECT_LE(carried / 4096, 299 + train + scenario.transport.queuePairs);
  const double sent = Nanoseconds(
      scenario.transport.WireBytes(carried) + scenario.transport.WireBytes(1'000'000), 100 * kGbps);
  EXPECT_NEAR(static_cast<double>(graph.arrived), sent + 2000 + Nanoseconds(4194, 100 * kGbps),
              100);
}

TEST(RoceEdges, MessagesAreWithdrawn) {
  for (const std::string recovery : {"go-back-n", "selective,window=256KB"}) {
    for (const std::string idle : {"reset", "message"}) {
      Withdrawn graph;
      Withdraw("roce:cc=none,recovery=" + recovery + ",idle=" + idle, graph);
      EXPECT_EQ(graph.unsent, 0);
    }
  }
  Withdrawn graph;
  Withdraw("roce:cc=none,train=8", graph, 8);
  EXPECT_EQ(graph.carried % (8 * 4096), 0);
}

// Those of two queue pairs are under way together, and the third is after the first.
TEST(RoceEdges, MessagesOfSeveralQueuePairsAreWithdrawn) {
  Withdrawn graph;
  Withdraw("roce:cc=none,qps=2", graph);
  EXPECT_NEAR(static_cast<double>(graph.unsent), static_cast<double>(graph.carried), 3 * 4096);
}

}  // namespace
}  // namespace legacy::packet_test::edge_test
