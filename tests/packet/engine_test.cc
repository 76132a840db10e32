// The packet engine keeps the contract of fabric/engine/engine.h: causality, determinism,
// standstills, state, errors.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <stdexcept>

#include "base/error.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::CollectiveAlgorithm;
using fabric::Flow;

Scenario Star(int workers) {
  Scenario scenario;
  scenario.workers = workers;
  return scenario;
}

// Returns all results in which runs can differ, as text.
std::string Describe(const fabric::Engine& engine, const Burst& burst) {
  std::string text = std::to_string(engine.Now()) + " " + std::to_string(engine.Counters().events);
  for (TimeNs when : burst.arrived) text += " " + std::to_string(when);
  for (const fabric::LinkCounters& link : engine.Links()) {
    text += " " + std::to_string(link.bytes) + "/" + std::to_string(link.packets) + "/" +
            std::to_string(link.marks) + "/" + std::to_string(link.maxQueueBytes);
  }
  return text;
}

std::vector<Flow> Incast(int senders, int64_t bytes) {
  std::vector<Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, bytes, 0});
  return flows;
}

int64_t Marks(const fabric::Engine& engine) {
  int64_t marks = 0;
  for (const fabric::LinkCounters& link : engine.Links()) marks += link.marks;
  return marks;
}

TEST(PacketEngine, FlowsOfARingArriveInCausalOrder) {
  Scenario scenario = Star(4);
  scenario.topology = "fat-tree:k=4";
  scenario.collective.algorithm = CollectiveAlgorithm::RingAllReduce;
  scenario.collective.bytes.assign(4, 40'000);
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  struct Event {
    Flow flow;
    TimeNs when;
    bool delivered;
  };
  std::vector<Event> events;
  engine->SetFlowTrace([&](const Flow& flow, TimeNs when, bool delivered) {
    events.push_back({flow, when, delivered});
  });
  fabric::StepGraph graph(OneCollective(4, scenario.collective));
  engine->Submit(graph, 5'000);
  ASSERT_TRUE(engine->RunUntil(kNever));

  std::map<std::pair<int, uint64_t>, TimeNs> started;
  std::vector<int> sent(4), received(4);
  TimeNs last = 0;
  for (const Event& event : events) {
    EXPECT_GE(event.when, last);  // the trace is in the order of time
    last = event.when;
    if (!event.delivered) {
      // A worker sends round r only after it has received rounds 0 .. r-1.
      EXPECT_GE(received[event.flow.source], sent[event.flow.source]);
      ++sent[event.flow.source];
      started[{event.flow.source, event.flow.tag}] = event.when;
      continue;
    }
    ++received[event.flow.destination];
    const auto found = started.find({event.flow.source, event.flow.tag});
    ASSERT_NE(found, started.end());
    // A flow takes at least two hops of 10 us, and the time on the slowest link.
    EXPECT_GE(event.when - found->second,
              20'000 + SerialisationTime(event.flow.bytes, scenario.rate_bps));
  }
  EXPECT_EQ(events.front().when, 5'000);
  for (int worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(sent[worker], 6);
    EXPECT_EQ(received[worker], 6);
  }
  EXPECT_EQ(engine->Counters().flows, 24u);
}

TEST(PacketEngine, LinksCarryPayloadHeadersAndAcks) {
  const Fabric fabric(Star(2));
  Burst burst({{0, 1, 14'480, 0}});  // ten full segments
  auto engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(burst, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const int data =
      fabric.topology.Route(fabric.topology.Hosts()[0], fabric.topology.Hosts()[1], 0)[0];
  const fabric::LinkCounters link = engine->Links()[data];
  EXPECT_EQ(link.packets, 11);  // a SYN and ten segments, the first of which ends the handshake
  // A SYN has 20 bytes of options, where segments have 12 for timestamps.
  EXPECT_EQ(link.bytes, 10 * fabric.request.transport.FrameBytes() + 62);
  EXPECT_EQ(link.busy, SerialisationTime(link.bytes, 1'000'000'000));
  EXPECT_GE(engine->Links()[data ^ 1].packets, 10);  // SYN-ACK and most of ten ACKs
  EXPECT_EQ(link.drops, 0);
}

TEST(PacketEngine, TheHandshakeIsPaidOnceForEachPair) {
  const Fabric fabric(Star(2));
  auto engine = fabric::MakePacketEngine(fabric.request);
  Burst cold({{0, 1, 1'000, 0}}), warm({{0, 1, 1'000, 0}});
  engine->Submit(cold, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const TimeNs between = engine->Now();
  engine->Submit(warm, between);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const TimeNs first = cold.arrived[0], second = warm.arrived[0] - between;
  EXPECT_GT(first - second, 40'000);  // a round trip over two links of 10 us
  EXPECT_LT(first - second, 50'000);
}

// RED between two thresholds draws random numbers; runs A, B, A must give A twice.
TEST(PacketEngine, RunsLeaveNoTraceInLaterRuns) {
  Scenario scenario = Star(9);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  scenario.transport.attributes = {{"ns3::RedQueueDisc::MinTh", "5000"},
                                   {"ns3::RedQueueDisc::MaxTh", "60000"},
                                   {"ns3::RedQueueDisc::LInterm", "5"}};
  const Fabric fabric(scenario);
  Scenario other_scenario = Star(5);
  other_scenario.transport = fabric::MakeTransport("ns3:wan");
  other_scenario.transport.attributes = {{"ns3::TcpSocket::InitialCwnd", "2"}};
  const Fabric other(other_scenario);
  auto run = [](const Fabric& which, int senders, uint64_t seed, uint64_t draw) {
    fabric::EngineRequest request = which.request;
    request.seed = seed;
    request.run = draw;
    auto engine = fabric::MakePacketEngine(request);
    Burst burst(Incast(senders, 300'000));
    engine->Submit(burst, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return Describe(*engine, burst) + " random " + std::to_string(engine->Random());
  };
  const std::string first = run(fabric, 8, 3, 0);
  const std::string between = run(other, 4, 9, 4);
  EXPECT_EQ(run(fabric, 8, 3, 0), first);
  EXPECT_EQ(run(other, 4, 9, 4), between);
  EXPECT_NE(run(fabric, 8, 4, 0), first);   // the seed matters here,
  EXPECT_NE(run(fabric, 8, 3, 1), first);   // and the run,
  EXPECT_EQ(run(other, 4, 8, 5), between);  // and neither if nothing is drawn
  EXPECT_NE(first.find("random 1"), std::string::npos);
  EXPECT_NE(between.find("random 0"), std::string::npos);
}

TEST(PacketEngine, TheDatacenterPresetMarksAndDrawsNothing) {
  const Fabric fabric(Star(9));
  std::string texts[2];
  for (uint64_t seed : {1, 2}) {
    fabric::EngineRequest request = fabric.request;
    request.seed = seed;
    auto engine = fabric::MakePacketEngine(request);
    EXPECT_FALSE(engine->Random());
    EXPECT_FALSE(engine->DependsOnTime());
    Burst burst(Incast(8, 300'000));
    engine->Submit(burst, 0);
    ASSERT_TRUE(engine->RunUntil(kNever));
    EXPECT_GT(Marks(*engine), 0);
    texts[seed - 1] = Describe(*engine, burst);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

// Splitting a run into pieces changes only the count of events that look at the clock.
TEST(PacketEngine, RunsInPiecesUpToAndIncludingATime) {
  const Fabric fabric(Star(3));
  Burst whole(Incast(2, 50'000));
  auto engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(whole, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const TimeNs end = engine->Now();
  engine.reset();

  Burst pieces(Incast(2, 50'000));
  engine = fabric::MakePacketEngine(fabric.request);
  engine->Submit(pieces, 0);
  EXPECT_FALSE(engine->RunUntil(0));
  for (TimeNs until = 100'000; until < end; until += 100'000) {
    EXPECT_FALSE(engine->RunUntil(until));
    EXPECT_EQ(engine->Now(), until);
  }
  EXPECT_FALSE(engine->RunUntil(end - 1));
  EXPECT_TRUE(engine->RunUntil(end));  // includes the arrival at `end` itself
  EXPECT_EQ(pieces.arrived, whole.arrived);
}

TEST(PacketEngine, LocalAndEmptyFlowsTakeNoTime) {
  Scenario scenario = Star(2);
  const Fabric fabric(scenario);
  fabric::Placement together = fabric.placement;
  together.hosts[1] = together.hosts[0];
  fabric::EngineRequest request = fabric.request;
  request.placement = &together;
  auto engine = fabric::MakePacketEngine(request);
  Burst local({{0, 1, 1'000'000, 0}});
  engine->Submit(local, 700);
  ASSERT_TRUE(engine->RunUntil(kNever));
  EXPECT_EQ(local.arrived[0], 700);
  EXPECT_EQ(engine->Counters().packets, 0u);
  engine.reset();

  engine = fabric::MakePacketEngine(fabric.request);
  Burst empty({{0, 1, 0, 0}, {1, 0, 1, 0}});
  engine->Submit(empty, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  EXPECT_EQ(empty.arrived[0], 0);
  EXPECT_GT(empty.arrived[1], 0);
}

// A graph that waits for an event that never comes, or throws.
class Odd : public fabric::FlowGraph {
 public:
  explicit Odd(bool throws) : throws_(throws) {}
  void OnStart(fabric::FlowSink& sink) override { sink.Wake(1'000, 0); }
  void OnDelivered(const Flow&, fabric::FlowSink&) override {}
  void OnWake(uint64_t, fabric::FlowSink&) override {
    if (throws_) throw std::logic_error("thrown by the graph");
  }
  bool Done() const override { return false; }

 private:
  bool throws_;
};

TEST(PacketEngine, StandstillsAndExceptionsAreThrownByTheRun) {
  const Fabric fabric(Star(2));
  auto engine = fabric::MakePacketEngine(fabric.request);
  Odd waits(false);
  engine->Submit(waits, 0);
  EXPECT_THROW(engine->RunUntil(kNever), Error);
  engine.reset();
  engine = fabric::MakePacketEngine(fabric.request);
  Odd throws(true);
  engine->Submit(throws, 0);
  EXPECT_THROW(engine->RunUntil(kNever), std::logic_error);
  EXPECT_EQ(engine->Now(), 1'000);
}

TEST(PacketEngine, TheWatchdogNamesTheBlockedFlow) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  // At this rate a segment arrives every 3.3 hours.
  scenario.rate_bps = 1;
  scenario.transport.attributes = {{"legacy::PacketEngine::StallTimeout", "10s"},
                                   {"ns3::TcpSocket::ConnTimeout", "1h"}};
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  Burst burst({{0, 1, 4'321, 0}});
  engine->Submit(burst, 0);
  try {
    engine->RunUntil(kNever);
    FAIL() << "the stall was not noticed";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("endpoint 0 to 1: 0 of 4321 bytes"), std::string::npos) << what;
    EXPECT_NE(what.find("SYN_SENT"), std::string::npos) << what;
    EXPECT_NE(what.find(fabric.topology.NodeName(fabric.placement.hosts[0])), std::string::npos);
  }
  EXPECT_EQ(engine->Now(), 10'000'000'000);
}

TEST(PacketEngine, RestoredStateContinuesToTheSameDraws) {
  Scenario scenario = Star(9);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  scenario.transport.attributes = {{"ns3::RedQueueDisc::MinTh", "5000"},
                                   {"ns3::RedQueueDisc::MaxTh", "60000"}};
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  Burst first(Incast(8, 100'000));
  engine->Submit(first, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const std::string state = engine->Save();
  const TimeNs now = engine->Now();
  engine.reset();

  std::vector<std::string> texts;
  for (int repeat = 0; repeat < 2; ++repeat) {
    engine = fabric::MakePacketEngine(fabric.request);
    engine->Restore(state);
    EXPECT_EQ(engine->Now(), now);
    EXPECT_EQ(engine->Save(), state);
    Burst second(Incast(8, 100'000));
    engine->Submit(second, now);
    ASSERT_TRUE(engine->RunUntil(kNever));
    for (TimeNs& when : second.arrived) when -= now;
    texts.push_back(std::to_string(Marks(*engine)));
    EXPECT_NE(second.arrived, first.arrived);  // draws differ from those of the first step
    engine.reset();
  }
  EXPECT_EQ(texts[0], texts[1]);
  engine = fabric::MakePacketEngine(fabric.request);
  EXPECT_THROW(engine->Restore("packet 2 0 0"), Error);
  EXPECT_THROW(engine->Restore("packet 1 0"), Error);
}

// Sockets belong to the one simulator that a process has.
TEST(PacketEngine, OnlyOneSimulationOfSocketsExistsAtATime) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  EXPECT_THROW(fabric::MakePacketEngine(fabric.request), Error);
  Burst burst({{0, 1, 10, 0}});
  engine->Submit(burst, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));  // the first still works
  EXPECT_THROW(engine->Submit(burst, engine->Now() - 1), Error);
}

struct BadAttribute {
  const char* name;
  const char* value;
  const char* expected;  // text that the message contains
};

void PrintTo(const BadAttribute& bad, std::ostream* out) { *out << bad.name << "=" << bad.value; }

class AttributeTest : public testing::TestWithParam<BadAttribute> {};

TEST_P(AttributeTest, IsRefusedWithWhatIsAllowed) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  scenario.transport.attributes = {{GetParam().name, GetParam().value}};
  const Fabric fabric(scenario);
  try {
    fabric::MakePacketEngine(fabric.request);
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(GetParam().name), std::string::npos) << what;
    EXPECT_NE(what.find(GetParam().value), std::string::npos) << what;
    EXPECT_NE(what.find(GetParam().expected), std::string::npos) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Bad, AttributeTest,
    testing::Values(
        BadAttribute{"ns3::TcpSocket::SegmentSise", "1000", "SegmentSize"},
        BadAttribute{"ns3::TcpSoket::SegmentSize", "1000", "ns3::TcpSocket"},
        BadAttribute{"SegmentSize", "1000", "ns3::TcpSocket::SegmentSize"},
        BadAttribute{"ns3::TcpSocketBase::SegmentSize", "1000", "ns3::TcpSocket::SegmentSize"},
        BadAttribute{"ns3::TcpSocket::SegmentSize", "many", "uint32_t"},
        BadAttribute{"ns3::TcpSocketBase::MinRto", "soon", "Minimum retransmit timeout"},
        BadAttribute{"ns3::TcpL4Protocol::SocketType", "ns3::TcpNothing", "ns3::TcpCubic"},
        BadAttribute{"ns3::PointToPointNetDevice::DataRate", "1Gbps", "--bandwidth"},
        BadAttribute{"ns3::PointToPointNetDevice::Mtu", "9000", "--mtu"},
        BadAttribute{"ns3::PointToPointChannel::Delay", "1ms", "--delay"},
        BadAttribute{"ns3::DropTailQueue<Packet>::MaxSize", "9p", "--queue"},
        BadAttribute{"legacy::HostQueueDisc::Quantum", "9", "no effect"},
        BadAttribute{"ns3::RateErrorModel::ErrorRate", "0.1", "'error'"}));

TEST(Times, BeyondTheClocksRangeAreRefused) {
  Scenario scenario = Star(2);
  scenario.delay = 9'000'000'000'000'000'000;
  const Fabric fabric(scenario);
  try {
    fabric::MakePacketEngine(fabric.request);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("more than 292 years"), std::string::npos);
  }
}

// Jumbo frames are not cut up, and both engines save the same headers.
TEST(Mtu, IsTheSameForPacketsAndFlows) {
  constexpr int64_t kBytes = 4'000'000;
  for (const int64_t mtu : {576, 1500, 9000, 65535}) {
    Scenario scenario = Star(4);
    scenario.rate_bps = 10'000'000'000;
    scenario.transport.SetMtu(mtu);
    scenario.collective.bytes.assign(4, kBytes);
    const fabric::StepTiming packets = Simulate(scenario);
    const Fabric fabric(scenario);
    fabric::StepSimulator flows(fabric::MakeFlowEngine, fabric.request);
    const auto expected = flows.Simulate(OneCollective(4, scenario.collective), 0);
    EXPECT_NEAR(static_cast<double>(packets.total) / static_cast<double>(expected.total), 1, 0.02)
        << "MTU " << mtu;
    EXPECT_EQ(packets.counters.retransmitTimeouts, 0u) << "MTU " << mtu;
    // Each worker sends six messages of a quarter, and as many ACKs as segments.
    const int64_t segments = 6 * scenario.transport.Segments(kBytes / 4);
    EXPECT_NEAR(static_cast<double>(packets.links[0].packets), 2 * static_cast<double>(segments),
                0.02 * static_cast<double>(segments) + 12);
  }
}

TEST(Mtu, BoundsTheUsersSegments) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  scenario.transport.attributes = {{"ns3::TcpSocket::SegmentSize", "8948"}};
  const Fabric standard(scenario);
  EXPECT_THROW(fabric::MakePacketEngine(standard.request), Error);
  scenario.transport.SetMtu(9000);
  const Fabric jumbo(scenario);
  EXPECT_NO_THROW(fabric::MakePacketEngine(jumbo.request));
}

// A frame of 1,502 bytes takes 1.2 ns at 10 Tbit/s, which ns-3's devices would round to 1 ns, or
// 12 Tbit/s. At 1 Tbit/s it takes 12.016 ns.
TEST(Times, FramesOfAFewNanosecondsAreSentAtTheLinksRateOrNotAtAll) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  scenario.rate_bps = 10'000'000'000'000;
  const Fabric fast(scenario);
  EXPECT_THROW(fabric::MakePacketEngine(fast.request), Error);
  scenario.rate_bps = 1'000'000'000'000;
  scenario.delay = 100;
  constexpr int64_t kBytes = 20'000'000;
  const Fabric slower(scenario);
  auto engine = fabric::MakePacketEngine(slower.request);
  Burst one({{0, 1, kBytes, 0}});
  engine->Submit(one, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  const double goodput = 8e9 * kBytes / static_cast<double>(one.arrived[0]);
  EXPECT_LT(goodput, 1e12 * 1448 / 1502 * 1.01);
  EXPECT_GT(goodput, 0.9e12);
}

// Each round trip, of 4 ms and some frames, sends at most the buffer's bytes.
TEST(Attributes, TheSendBufferIsTheUsers) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  scenario.delay = 1'000'000;
  scenario.transport.attributes = {{"ns3::TcpSocket::SndBufSize", "28960"}};  // 20 segments
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  Burst one({{0, 1, 100 * 28'960, 0}});
  engine->Submit(one, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  EXPECT_GT(one.arrived[0], 99 * 4'000'000);
  EXPECT_LT(one.arrived[0], 120 * 4'000'000);
}

TEST(Attributes, WinOverThePresetAndEndWithTheEngine) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  auto packets = [&](const std::map<std::string, std::string>& attributes) {
    scenario.transport.attributes = attributes;
    const Fabric fabric(scenario);
    auto engine = fabric::MakePacketEngine(fabric.request);
    Burst one({{0, 1, 100'000, 0}});
    engine->Submit(one, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return engine->Links()[0].packets + engine->Links()[1].packets;
  };
  const int64_t plain = packets({});
  EXPECT_GT(packets({{"ns3::TcpSocket::SegmentSize", "500"}}), 2 * plain);
  EXPECT_EQ(packets({}), plain);
}

TEST(Attributes, AnUnknownCongestionControlListsTheKnown) {
  Scenario scenario = Star(2);
  scenario.transport = fabric::MakeTransport("ns3:datacenter");
  const auto refusal = [&](const std::string& name) {
    scenario.transport.congestionControl = name;
    const Fabric fabric(scenario);
    try {
      fabric::MakePacketEngine(fabric.request);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* known : {"ns3::TcpDctcp", "ns3::TcpCubic"}) {
    EXPECT_NE(refusal("ns3::TcpDctp").find(known), std::string::npos);
    EXPECT_EQ(refusal(known), "");
  }
  EXPECT_EQ(refusal("TcpCubic"), "");
  EXPECT_NE(refusal("TcpBbr").find("BBR"), std::string::npos);
  scenario.transport.attributes = {{"ns3::TcpL4Protocol::SocketType", "TcpBbr"}};
  EXPECT_NE(refusal("ns3::TcpDctcp").find("BBR"), std::string::npos);
  scenario.transport.attributes = {{"ns3::TcpL4Protocol::SocketType", "TcpCubic"}};
  EXPECT_EQ(refusal("ns3::TcpDctcp"), "");
}

}  // namespace
}  // namespace legacy::packet_test
