// Links whose rates change, hosts that fail, flows that are withdrawn, lanes, new connections and
// background traffic, with packets.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/fabric/engine/script.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::ConnectionKind;
using fabric::Flow;
using fabric::LinkSchedule;
using fabric::Opening;
using fabric::Script;

constexpr int64_t kMega = 1'000'000;
constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kMilli = 1'000'000;

// Two hosts on one link, over the preset `wan`.
struct Line {
  explicit Line(const fabric::Port& port, TimeNs delay = 10 * kMilli,
                ConnectionKind kind = ConnectionKind::Cold) {
    topology.AddHost("a");
    topology.AddHost("b");
    topology.AddLink(fabric::Link(0, 1, delay, port));
    Connect(kind);
  }
  void Connect(ConnectionKind kind) {
    placement.hosts = topology.Hosts();
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport("wan");
    request.transport.connections = kind;
  }
  std::vector<TimeNs> Run(std::vector<Script::Entry> entries,
                          const fabric::EngineFactory& make = fabric::MakePacketEngine) {
    const auto engine = make(request);
    Script script(std::move(entries));
    engine->Submit(script, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    links = engine->Links();
    return script.arrivals;
  }
  fabric::Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;
  std::vector<fabric::LinkCounters> links;
};

fabric::Port Scheduled(const LinkSchedule& schedule) {
  fabric::Port port;
  port.schedule = std::make_shared<LinkSchedule>(schedule);
  return port;
}

TEST(ChangingPackets, AScheduleThatNeverChangesEqualsNone) {
  Line plain({20 * kMega});
  Line scheduled(Scheduled(LinkSchedule({{0, 20 * kMega}, {kMilli, 20 * kMega}}, 2 * kMilli)));
  const std::vector<Script::Entry> entries = {
      {0, {0, 1, 500'000}}, {kMilli, {1, 0, 300'000}}, {700 * kMilli, {0, 1, 100'000}}};
  EXPECT_EQ(plain.Run(entries), scheduled.Run(entries));
  EXPECT_EQ(plain.links[0].bytes, scheduled.links[0].bytes);
}

TEST(ChangingPackets, FollowTheSchedule) {
  // 40, then 4 Mbit/s: 1 MB takes a quarter of a second and then 2.5 MB take 5 s more.
  Line line(Scheduled(LinkSchedule({{0, 40 * kMega}, {kSecond, 4 * kMega}})));
  const LinkSchedule& schedule = *line.topology.PortOf(0).schedule;
  const TimeNs end = line.Run({{0, {0, 1, 6'000'000}}})[0];
  const double bits = 8.0 * static_cast<double>(line.request.transport.WireBytes(6'000'000));
  // A tenth of the rate is a queue of a second, in which packets are lost.
  const auto fluid = static_cast<double>(schedule.Finish(0, bits));
  EXPECT_NEAR(static_cast<double>(end), fluid, 0.2 * fluid);
  EXPECT_NEAR(static_cast<double>(line.links[0].busy), static_cast<double>(end), 0.1 * end);
}

// However long the link is out, no frame passes, and the flow continues when it is back: frames
// that wait in the queue leave at once. The fidelities packet and flow differ by the time that TCP
// takes to grow again.
TEST(ChangingPackets, StopInAnOutageOfAnyLength) {
  for (const TimeNs length : {3 * kSecond, 200 * kSecond, 7'200 * kSecond}) {
    const TimeNs back = kSecond + length;
    Line line(Scheduled(LinkSchedule({{0, 10 * kMega}}).Without({kSecond, back})));
    const auto engine = fabric::MakePacketEngine(line.request);
    Script script(std::vector<Script::Entry>{{0, {0, 1, 5'000'000}}});
    engine->Submit(script, 0);
    const auto at = [&](TimeNs time) {
      EXPECT_FALSE(engine->RunUntil(time));
      return std::pair{engine->Links()[0].bytes, engine->Counters().events};
    };
    const auto begin = at(kSecond + 2 * kMilli);  // the last frame has left
    const auto end = at(back - 1);
    EXPECT_EQ(begin.first, end.first);
    EXPECT_LT(end.second - begin.second, 600u) << "the outage is waited for by polling";
    EXPECT_GT(at(back + 2 * kMilli).first, end.first);
    EXPECT_TRUE(engine->RunUntil(kNever));
    const TimeNs fluid = line.Run({{0, {0, 1, 5'000'000}}}, fabric::MakeFlowEngine)[0];
    EXPECT_GT(script.arrivals[0], fluid - 100 * kMilli);
    EXPECT_LT(script.arrivals[0], fluid + kSecond);
    EXPECT_EQ(engine->Counters().rateFloors, 0u);
  }
}

// The same behind a switch, whose ports mark with `datacenter`, with flows both ways, and with the
// first handshake waiting.
TEST(ChangingPackets, StopAtEveryKindOfPort) {
  for (const std::string preset : {"wan", "datacenter"}) {
    for (const int outage : {0, 1}) {
      for (const TimeNs from : {TimeNs{0}, 40 * kMilli}) {
        const fabric::Port port =
            Scheduled(LinkSchedule({{0, 100 * kMega}}).Without({from, from + 10 * kSecond}));
        Line line({100 * kMega});
        line.topology = fabric::Topology();
        line.topology.AddHost("a");
        line.topology.AddHost("b");
        line.topology.AddSwitch("s");
        for (const int host : {0, 1}) {
          const fabric::Port steady{100 * kMega};
          line.topology.AddLink(fabric::Link(host, 2, kMilli, host == outage ? port : steady));
        }
        line.Connect(ConnectionKind::Cold);
        line.request.transport = fabric::MakeTransport(preset);
        line.request.transport.connections = ConnectionKind::Cold;
        std::vector<Script::Entry> entries;
        for (int i = 0; i < 4; ++i) entries.push_back({0, {i % 2, 1 - i % 2, 1'000'000}});
        const std::vector<TimeNs> packets = line.Run(entries);
        const std::vector<TimeNs> fluid = line.Run(entries, fabric::MakeFlowEngine);
        const TimeNs last = *std::max_element(packets.begin(), packets.end());
        const TimeNs expected = *std::max_element(fluid.begin(), fluid.end());
        EXPECT_GT(last, expected - 50 * kMilli) << preset << outage << " " << from;
        EXPECT_LT(last, expected + kSecond) << preset << outage << " " << from;
      }
    }
  }
}

// A step that begins again at its time finds the link as it was then, though an ACK waits for it.
TEST(ChangingPackets, AStepAfterOneThatEndedInAnOutageBeginsWithTheLinkBack) {
  const auto total = [](TimeNs from, ConnectionKind kind) {
    Line line(Scheduled(LinkSchedule({{0, 100 * kMega}}).Without({from, from + 3'600 * kSecond})),
              10 * kMilli, kind);
    fabric::CollectiveSpec spec;
    spec.algorithm = fabric::CollectiveAlgorithm::Broadcast;
    spec.bytes = {1'000'000, 1'000'000};
    fabric::StepSimulator simulator(fabric::MakePacketEngine, line.request);
    return simulator.Simulate(OneCollective(2, spec), 0, 0).total;
  };
  const TimeNs cold = total(1'000 * kSecond, ConnectionKind::Cold);
  const TimeNs warm = total(1'000 * kSecond, ConnectionKind::Warm);
  ASSERT_LT(warm, cold - 20 * kMilli);
  // All data of the first of the two steps has left when the link goes out, and no ACK of the last.
  for (const TimeNs before : {kMilli, 5 * kMilli, 9 * kMilli}) {
    EXPECT_NEAR(static_cast<double>(total(cold - before, ConnectionKind::Warm)),
                static_cast<double>(warm), kMilli);
  }
}

// A frame holds a port for 100 ms at most: less than one frame in that time is one.
TEST(ChangingPackets, SendOneFrameInATenthOfASecondAtLeast) {
  const auto end = [](int64_t rate) {
    Line line(
        Scheduled(LinkSchedule({{0, 10 * kMega}, {kSecond, rate}, {4 * kSecond, 10 * kMega}})));
    return line.Run({{0, {0, 1, 5'000'000}}})[0];
  };
  EXPECT_EQ(end(1'000), end(100'000));
  EXPECT_LT(end(kMega), end(1'000));
  EXPECT_LT(end(1'000), end(0));
}

TEST(ChangingPackets, StepsBeginAtTheirOwnTime) {
  // With warm connections the step runs twice, and both begin at the schedule's time.
  Line line(Scheduled(LinkSchedule({{0, 100 * kMega}, {10 * kSecond, 10 * kMega}})), kMilli,
            ConnectionKind::Warm);
  fabric::StepTraffic traffic;
  fabric::CollectiveSpec spec;
  spec.algorithm = fabric::CollectiveAlgorithm::Broadcast;
  spec.bytes = {1'000'000, 1'000'000};
  traffic = OneCollective(2, spec);
  fabric::StepSimulator simulator(fabric::MakePacketEngine, line.request);
  const auto time = [&](TimeNs start) {
    return static_cast<double>(simulator.Simulate(traffic, 0, start).total);
  };
  const double fast = time(0);
  EXPECT_NEAR(time(20 * kSecond) / fast, 10, 1);
  EXPECT_EQ(time(0), fast);
}

TEST(ChangingPackets, SayWhichLinkIsDownForEver) {
  for (const TimeNs until : {kNever, 9'000'000'000 * kSecond}) {
    Line line(Scheduled(LinkSchedule({{0, 10 * kMega}}).Without({kSecond, until})));
    std::string message;
    try {
      line.Run({{0, {0, 1, 5'000'000}}});
    } catch (const std::exception& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("link a > b carries nothing any more"), std::string::npos) << message;
  }
}

TEST(ChangingPackets, WithdrawnFlowsStop) {
  Line line({8 * kMega});
  // Of 4 MB, what has left after a second and what the send buffer holds is sent.
  const std::vector<TimeNs> arrivals =
      line.Run({{0, {0, 1, 4'000'000}, kSecond}, {0, {0, 1, 500'000}}});
  EXPECT_EQ(arrivals[0], kNever);
  EXPECT_LT(arrivals[1], 3'500 * kMilli);
  EXPECT_LT(line.links[0].bytes, 3'400'000);
}

TEST(ChangingPackets, LanesHaveLossesOfTheirOwn) {
  // Returns the sum of the rates of `lanes` flows, in flows per nanosecond.
  const auto rate = [](int lanes, uint64_t seed) {
    Line line({1'000 * kMega, 0, 1e-3}, 20 * kMilli);
    line.request.seed = seed;
    std::vector<Script::Entry> entries;
    for (int lane = 0; lane < lanes; ++lane) {
      Script::Entry entry{0, {0, 1, 4'000'000}};
      entry.flow.lane = static_cast<uint16_t>(lane);
      entries.push_back(entry);
    }
    double sum = 0;
    for (const TimeNs arrival : line.Run(entries)) sum += 1 / static_cast<double>(arrival);
    return sum;
  };
  double alone = 0;
  for (uint64_t seed = 1; seed <= 16; ++seed) alone += rate(1, seed) / 2;
  EXPECT_NEAR(rate(8, 1) / alone, 1, 0.2);
}

TEST(ChangingPackets, NewConnectionsPayForWhatTheirKindNeeds) {
  const auto time = [](ConnectionKind kind, Opening opening) {
    Line line({100 * kMega}, 20 * kMilli, kind);
    Script::Entry down{0, {0, 1, 1'000}};
    down.flow.opening = opening;
    Script::Entry second{5 * kSecond, {0, 1, 1'000}};
    second.flow.opening = opening;
    return static_cast<double>(line.Run({down, second})[1] - 5 * kSecond);
  };
  const double open = time(ConnectionKind::Cold, Opening::Kept);
  const double trip = 40 * kMilli;
  EXPECT_NEAR(time(ConnectionKind::Cold, Opening::New) - open, trip, kMilli);
  EXPECT_NEAR(time(ConnectionKind::Tls, Opening::New) - open, 2 * trip, kMilli);
  EXPECT_NEAR(time(ConnectionKind::Quic, Opening::New) - open, trip, kMilli);
  EXPECT_NEAR(time(ConnectionKind::QuicZeroRtt, Opening::New) - open, 0, kMilli);
}

TEST(ChangingPackets, TheWayBackOfANewConnectionIsEstablished) {
  Line line({100 * kMega}, 20 * kMilli);
  Script::Entry down{0, {0, 1, 1'000}};
  down.flow.opening = Opening::New;
  Script::Entry up{kSecond, {1, 0, 1'000}};
  up.flow.opening = Opening::Established;
  const std::vector<TimeNs> arrivals = line.Run({down, up});
  EXPECT_NEAR(static_cast<double>(arrivals[0]), 60 * kMilli, kMilli);            // with a handshake
  EXPECT_NEAR(static_cast<double>(arrivals[1] - kSecond), 20 * kMilli, kMilli);  // without
}

TEST(ChangingPackets, HostsThatFailLoseTheirConnections) {
  Line line({8 * kMega});
  line.topology.AddFailure(1, {kSecond, 3 * kSecond});
  line.Connect(ConnectionKind::Cold);
  Script script(
      std::vector<Script::Entry>{{0, {0, 1, 10'000'000}}, {5 * kSecond, {0, 1, 100'000}}});
  script.fails = true;
  const auto engine = fabric::MakePacketEngine(line.request);
  engine->Submit(script, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  ASSERT_EQ(script.failed.size(), 1u);
  EXPECT_EQ(script.failed[0], kSecond);
  EXPECT_NE(script.arrivals[1], kNever);
}

// Sends flows one after the other, for ever.
class Endless : public fabric::FlowGraph {
 public:
  void OnStart(fabric::FlowSink& sink) override { sink.Send({0, 1, 100'000}); }
  void OnDelivered(const Flow& flow, fabric::FlowSink& sink) override { sink.Send(flow); }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  bool Done() const override { return false; }
};

TEST(ChangingPackets, BackgroundKeepsNoRunWaiting) {
  Line line({8 * kMega});
  const auto engine = fabric::MakePacketEngine(line.request);
  Endless background;
  engine->SubmitBackground(background, 0);
  Script script(std::vector<Script::Entry>{{0, {0, 1, 2'000'000}}});
  engine->Submit(script, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  EXPECT_NEAR(static_cast<double>(script.arrivals[0]), 4.2 * kSecond, 0.5 * kSecond);
  const fabric::LinkCounters link = engine->Links()[0];
  EXPECT_GT(link.backgroundBytes, 1'500'000);
  // A flow counts when it starts, and the run ends with one on its way.
  EXPECT_LT(link.backgroundBytes, link.bytes - 2'000'000 + 110'000);
}

}  // namespace
}  // namespace legacy::packet_test
