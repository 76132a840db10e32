// Links whose rates change, hosts that fail, flows that are withdrawn, lanes, new connections and
// background traffic, in the engines without packets.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "base/hash.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/engine/script.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::changing_network_test {
namespace {

constexpr int64_t kMega = 1'000'000;
constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kMilli = 1'000'000;

Transport Bare() {
  Transport transport;
  transport.headerBytes = 0;
  transport.ackBytes = 0;
  return transport;
}

// A topology with its engine.
struct Fabric {
  Fabric(Topology built, const EngineFactory& factory, const Transport& transport = Bare())
      : topology(std::move(built)),
        placement(MakePlacement({"packed", static_cast<int>(topology.Hosts().size())}, topology)) {
    EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = transport;
    engine = factory(request);
  }
  void Run(FlowGraph& graph) {
    engine->Submit(graph, engine->Now());
    EXPECT_TRUE(engine->RunUntil(kNever));
  }
  std::vector<TimeNs> Run(std::vector<Script::Entry> entries) {
    Script script(std::move(entries));
    Run(script);
    return script.arrivals;
  }
  Topology topology;
  Placement placement;
  std::unique_ptr<Engine> engine;
};

std::shared_ptr<const LinkSchedule> Schedule(std::vector<RatePoint> points,
                                             TimeNs period = kNever) {
  return std::make_shared<LinkSchedule>(std::move(points), period);
}

// Hosts 0 and 1 with one link, each direction of which has the schedule.
Topology Line(const std::shared_ptr<const LinkSchedule>& schedule, TimeNs delay = 0) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  topology.AddLink({0, 1, delay, {0, 0, 0, 0, schedule}});
  return topology;
}

Topology Plain(int64_t rate, TimeNs delay, double loss = 0) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  topology.AddLink({0, 1, delay, {rate, 0, loss}});
  return topology;
}

class EachEngine : public ::testing::TestWithParam<EngineFactory> {};
INSTANTIATE_TEST_SUITE_P(FlowAndAnalytic, EachEngine,
                         ::testing::Values(MakeFlowEngine, MakeAnalyticEngine));

TEST_P(EachEngine, AScheduleThatNeverChangesEqualsNone) {
  const Topology plain = BuildLeafSpine(2, 4, 2, {1'000 * kMega, 1'000}, {500 * kMega, 1'000});
  const Topology scheduled = plain.WithLinks([](int, Link& link) {
    for (Port& port : link.ports) {
      port.schedule = Schedule({{0, port.rateBps}, {kMilli, port.rateBps}}, 2 * kMilli);
    }
  });
  EXPECT_FALSE(plain.HasSchedules());
  EXPECT_TRUE(scheduled.HasSchedules());
  EXPECT_NE(plain.Fingerprint(), scheduled.Fingerprint());
  std::vector<Script::Entry> entries;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto draw = [&](uint64_t key, uint64_t bound) {
      return static_cast<int>(Reduce(HashWords({i, key}), bound));
    };
    const int source = draw(0, 8);
    Script::Entry entry;
    entry.start = draw(1, 20'000'000);
    entry.flow.source = source;
    entry.flow.destination = (source + 1 + draw(2, 7)) % 8;
    entry.flow.bytes = draw(3, 2'000'000);
    entries.push_back(entry);
  }
  Fabric first(plain, GetParam(), {});
  Fabric second(scheduled, GetParam(), {});
  EXPECT_EQ(first.Run(entries), second.Run(entries));
  EXPECT_FALSE(first.engine->DependsOnTime());
  EXPECT_TRUE(second.engine->DependsOnTime());
  for (size_t i = 0; i < first.engine->Links().size(); ++i) {
    EXPECT_EQ(first.engine->Links()[i].bytes, second.engine->Links()[i].bytes);
  }
}

TEST_P(EachEngine, FollowsTheScheduleThroughOutages) {
  const auto schedule =
      Schedule({{0, 2 * kMega}, {kSecond, 0}, {2 * kSecond, 8 * kMega}}, 3 * kSecond);
  const auto end = [&](TimeNs start, int64_t bytes, TimeNs time = 0) {
    Fabric fabric(Line(schedule), GetParam());
    fabric.engine->SetScheduleTime(time);
    return fabric.Run({{start, {0, 1, bytes}}})[0];
  };
  EXPECT_NEAR(end(0, 125'000), kSecond / 2, 2);
  EXPECT_NEAR(end(kSecond / 2, 250'000), 2'125 * kMilli, 2);
  EXPECT_NEAR(end(1'200 * kMilli, 1'000'000), 3 * kSecond, 2);
  EXPECT_NEAR(end(0, 5'000'000), 12 * kSecond, 2);
  // The same, if the engine's clock is 0 half a second later.
  EXPECT_NEAR(end(0, 250'000, kSecond / 2), 1'625 * kMilli, 2);
  // A, B and A again in one process.
  EXPECT_EQ(end(0, 5'000'000), end(0, 5'000'000));
}

TEST_P(EachEngine, SaysWhichLinkIsDownForEver) {
  const auto schedule =
      std::make_shared<LinkSchedule>(LinkSchedule({{0, 8 * kMega}}).Without({kSecond, kForEver}));
  Fabric fabric(Line(schedule), GetParam());
  Script script({{0, {0, 1, 500'000}}, {0, {0, 1, 5'000'000}}});
  fabric.engine->Submit(script, 0);
  const std::string message = MessageOf([&] { fabric.engine->RunUntil(kNever); });
  EXPECT_NE(message.find("link a > b"), std::string::npos) << message;
  EXPECT_NE(message.find("5 MB"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(FlowEngineChanges, CancelledFlowsLeaveTheirShareAtOnce) {
  // Ten uploads share one line: each has a tenth. Half of them end at half time.
  Fabric fabric(BuildStar(11, {80 * kMega, 0}), MakeFlowEngine);
  std::vector<Script::Entry> entries;
  for (int i = 1; i <= 10; ++i) {
    entries.push_back({0, {i, 0, 1'000'000}, i > 5 ? kSecond / 2 : kNever});
  }
  const std::vector<TimeNs> arrivals = fabric.Run(entries);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(arrivals[i], 750 * kMilli, 1'000'000) << i;
  for (int i = 5; i < 10; ++i) EXPECT_EQ(arrivals[i], kNever) << i;
  const std::vector<LinkCounters> links = fabric.engine->Links();
  EXPECT_EQ(links[1].bytes, 7'500'000);  // to host 0
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(links[2 * i].bytes, i > 5 ? 500'000 : 1'000'000) << i;
}

TEST(FlowEngineChanges, AbortFindsFlowsInEveryState) {
  Fabric fabric(Plain(8 * kMega, 100 * kMilli), MakeFlowEngine);
  // 1 MB takes a second. Flow 0 is withdrawn in its last latency, 1 while it is sent, 2 while it
  // waits; 3 and 4 continue without them.
  const std::vector<TimeNs> arrivals = fabric.Run({
      {0, {0, 1, 1'000'000}, 1'050 * kMilli},
      {0, {0, 1, 1'000'000}, 1'500 * kMilli},
      {0, {0, 1, 1'000'000}, 200 * kMilli},
      {0, {0, 1, 1'000'000}},
      {0, {0, 1, 1'000'000}},
  });
  EXPECT_EQ(arrivals[0], kNever);
  EXPECT_EQ(arrivals[1], kNever);
  EXPECT_EQ(arrivals[2], kNever);
  EXPECT_NEAR(arrivals[3], 2'600 * kMilli, 10'000);
  EXPECT_NEAR(arrivals[4], 3'600 * kMilli, 10'000);
  EXPECT_EQ(fabric.engine->Links()[0].bytes, 3'500'000);
}

TEST_P(EachEngine, RandomAbortsLeaveNothingBehind) {
  Fabric fabric(BuildStar(20, {800 * kMega, 10'000}), GetParam(), {});
  for (uint64_t round = 0; round < 20; ++round) {
    std::vector<Script::Entry> entries;
    for (uint64_t i = 0; i < 1'000; ++i) {
      const auto draw = [&](uint64_t key, uint64_t bound) {
        return static_cast<int>(Reduce(HashWords({round, i, key}), bound));
      };
      const int source = draw(0, 20);
      Script::Entry entry;
      entry.start = draw(1, 50'000'000);
      entry.flow.source = source;
      entry.flow.destination = (source + 1 + draw(2, 19)) % 20;
      entry.flow.bytes = draw(3, 100'000);
      if (draw(4, 2)) entry.abort = entry.start + draw(5, 100'000'000);
      entries.push_back(entry);
    }
    fabric.Run(entries);
  }
  // Nothing is left: one more flow takes the time that it takes alone.
  const TimeNs start = fabric.engine->Now();
  const TimeNs alone =
      Fabric(BuildStar(20, {800 * kMega, 10'000}), GetParam(), {}).Run({{0, {3, 4, 1'000'000}}})[0];
  EXPECT_NEAR(fabric.Run({{kSecond, {3, 4, 1'000'000}}})[0] - start - kSecond, alone, 5);
}

TEST(FlowEngineChanges, LanesHaveLimitsOfTheirOwn) {
  Transport transport = MakeTransport("wan");
  const auto time = [&](int lanes) {
    Fabric fabric(Plain(10'000 * kMega, 20 * kMilli, 1e-4), MakeFlowEngine, transport);
    std::vector<Script::Entry> entries;
    for (int lane = 0; lane < lanes; ++lane) {
      Script::Entry entry{0, {0, 1, 100'000'000 / lanes}};
      entry.flow.lane = static_cast<uint16_t>(lane);
      entries.push_back(entry);
    }
    const std::vector<TimeNs> arrivals = fabric.Run(entries);
    return static_cast<double>(*std::max_element(arrivals.begin(), arrivals.end()));
  };
  EXPECT_NEAR(time(1) / time(8), 8, 0.2);
}

TEST(FlowEngineChanges, NewConnectionsPayForWhatTheirKindNeeds) {
  const auto time = [](ConnectionKind kind, Opening opening) {
    Transport transport = MakeTransport("wan");
    transport.connections = kind;
    Fabric fabric(Plain(100 * kMega, 20 * kMilli), MakeFlowEngine, transport);
    Script::Entry first{0, {0, 1, 10'000'000}};
    Script::Entry second{10 * kSecond, {0, 1, 1'000}};
    second.flow.opening = opening;
    return fabric.Run({first, second})[1] - 10 * kSecond;
  };
  const TimeNs open = time(ConnectionKind::Cold, Opening::Kept);
  const TimeNs established = time(ConnectionKind::Cold, Opening::Established);
  EXPECT_EQ(established, open);  // less than a window
  const double trip = 40 * kMilli;
  EXPECT_NEAR(static_cast<double>(time(ConnectionKind::Cold, Opening::New) - open), trip, 2e5);
  EXPECT_NEAR(static_cast<double>(time(ConnectionKind::Tls, Opening::New) - open), 2 * trip, 4e5);
  EXPECT_NEAR(static_cast<double>(time(ConnectionKind::Quic, Opening::New) - open), trip, 2e5);
  EXPECT_NEAR(static_cast<double>(time(ConnectionKind::QuicZeroRtt, Opening::New) - open), 0, 1);
}

TEST(FlowEngineChanges, IdleWindowsShrinkWherePersistent) {
  const auto time = [](ConnectionKind kind, TimeNs idle) {
    Transport transport = MakeTransport("wan");
    transport.connections = kind;
    Fabric fabric(Plain(100 * kMega, 50 * kMilli), MakeFlowEngine, transport);
    const TimeNs start = 10 * kSecond + idle;
    return fabric.Run({{0, {0, 1, 125'000'000}}, {start, {0, 1, 1'000'000}}})[1] - start;
  };
  const TimeNs warm = time(ConnectionKind::Warm, 60 * kSecond);
  EXPECT_GT(time(ConnectionKind::Persistent, 60 * kSecond), warm + 100 * kMilli);
  EXPECT_EQ(time(ConnectionKind::Cold, 60 * kSecond), warm);  // it stays open once it was
}

TEST(FlowEngineChanges, HostsThatFailLoseTheirConnections) {
  Topology topology = BuildStar(3, {8 * kMega, kMilli});
  topology.AddFailure(topology.Hosts()[1], {kSecond, 3 * kSecond});
  Fabric fabric(std::move(topology), MakeFlowEngine);
  Script script(
      {{0, {0, 1, 10'000'000}}, {0, {0, 2, 1'000'000}}, {kSecond + kMilli, {2, 1, 1'000'000}}});
  script.fails = true;
  fabric.Run(script);
  EXPECT_EQ(script.failed.size(), 1u);
  EXPECT_EQ(script.failed[0], kSecond);
  EXPECT_NE(script.arrivals[1], kNever);
  EXPECT_GT(script.arrivals[2], 4 * kSecond);  // after the host is back

  Script refused(std::vector<Script::Entry>{{0, {0, 1, 10'000'000}}});
  Topology again = BuildStar(3, {8 * kMega, kMilli});
  again.AddFailure(again.Hosts()[1], {kSecond, 3 * kSecond});
  Fabric second(std::move(again), MakeFlowEngine);
  second.engine->Submit(refused, 0);
  const std::string message = MessageOf([&] { second.engine->RunUntil(kNever); });
  EXPECT_NE(message.find("from endpoint 0 to 1 was lost at 1 s"), std::string::npos) << message;
}

// Sends flows one after the other, for ever.
class Endless : public FlowGraph {
 public:
  void OnStart(FlowSink& sink) override { sink.Send({0, 1, 100'000}); }
  void OnDelivered(const Flow& flow, FlowSink& sink) override { sink.Send(flow); }
  void OnWake(uint64_t, FlowSink&) override {}
  bool Done() const override { return false; }
};

TEST(FlowEngineChanges, BackgroundKeepsNoRunWaiting) {
  Fabric fabric(Plain(8 * kMega, 0), MakeFlowEngine);
  Endless background;
  fabric.engine->SubmitBackground(background, 0);
  const std::vector<TimeNs> arrivals = fabric.Run({{0, {0, 1, 1'000'000}}});
  EXPECT_NEAR(arrivals[0], 2 * kSecond, 200 * kMilli);  // half of the line
  const LinkCounters link = fabric.engine->Links()[0];
  EXPECT_NEAR(static_cast<double>(link.backgroundBytes), 1e6, 2e5);
  EXPECT_EQ(link.bytes, 1'000'000 + link.backgroundBytes);
  EXPECT_TRUE(fabric.engine->DependsOnTime());
}

// What links carry never exceeds what their schedules let through.
TEST(FlowEngineChanges, CarriesNoMoreThanSchedulesAllow) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto draw = [&](uint64_t key, uint64_t bound) {
      return static_cast<int>(Reduce(HashWords({seed, key}), bound));
    };
    uint64_t keys = 0;
    const Topology topology = BuildStar(6, {100 * kMega, 1'000}).WithLinks([&](int, Link& link) {
      for (Port& port : link.ports) {
        std::vector<RatePoint> points;
        for (int i = 0; i < 5; ++i) {
          points.push_back({i * 3 * kMilli, draw(keys++, 4) * 25 * kMega});
        }
        points.front().rateBps += kMega;
        port.schedule = Schedule(points, 15 * kMilli);
      }
    });
    std::vector<Script::Entry> entries;
    for (int i = 0; i < 60; ++i) {
      const int source = draw(keys++, 6);
      Script::Entry entry;
      entry.start = draw(keys++, 50'000'000);
      entry.flow = {source, (source + 1 + draw(keys++, 5)) % 6, draw(keys++, 200'000)};
      entries.push_back(entry);
    }
    Fabric fabric(topology, MakeFlowEngine);
    const std::vector<TimeNs> arrivals = fabric.Run(entries);
    const std::vector<LinkCounters> links = fabric.engine->Links();
    for (DirectedLink link = 0; link < 12; ++link) {
      const double most = topology.PortOf(link).schedule->Bits(0, fabric.engine->Now());
      EXPECT_LE(8 * static_cast<double>(links[link].bytes), most + 100) << seed << " " << link;
    }
    for (size_t i = 0; i < arrivals.size(); ++i) EXPECT_NE(arrivals[i], kNever) << seed << " " << i;
  }
}

}  // namespace
}  // namespace legacy::fabric::changing_network_test
