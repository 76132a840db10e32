#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::flow_engine_test {
namespace {

constexpr int64_t kGbps = 1'000'000'000;

// A graph of flows that start at their own times, and keeps their arrival times.
class Schedule : public FlowGraph {
 public:
  struct Entry {
    TimeNs start = 0;
    Flow flow;  // its tag is its number
  };

  explicit Schedule(std::vector<Entry> entries)
      : entries_(std::move(entries)), arrivals_(entries_.size(), -1) {
    for (size_t i = 0; i < entries_.size(); ++i) entries_[i].flow.tag = i;
  }
  void OnStart(FlowSink& sink) override {
    for (size_t i = 0; i < entries_.size(); ++i) sink.Wake(entries_[i].start, i);
  }
  void OnWake(uint64_t token, FlowSink& sink) override { sink.Send(entries_[token].flow); }
  void OnDelivered(const Flow& flow, FlowSink& sink) override {
    EXPECT_EQ(arrivals_[flow.tag], -1) << "delivered twice";
    EXPECT_EQ(flow.bytes, entries_[flow.tag].flow.bytes);
    arrivals_[flow.tag] = sink.Now();
    ++delivered_;
  }
  bool Done() const override { return delivered_ == entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<TimeNs>& arrivals() const { return arrivals_; }

 private:
  std::vector<Entry> entries_;
  std::vector<TimeNs> arrivals_;
  size_t delivered_ = 0;
};

struct Fabric {
  explicit Fabric(Topology built, Transport given = {}, const std::string& order = "packed")
      : topology(std::move(built)),
        placement(MakePlacement({order, static_cast<int>(topology.Hosts().size())}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
    request.transport = std::move(given);
    engine = MakeFlowEngine(request);
  }
  std::vector<TimeNs> Run(std::vector<Schedule::Entry> entries) {
    Schedule schedule(std::move(entries));
    engine->Submit(schedule, engine->Now());
    EXPECT_TRUE(engine->RunUntil(kNever));
    return schedule.arrivals();
  }

  Topology topology;
  Placement placement;
  EngineRequest request;
  std::unique_ptr<Engine> engine;
};

// Returns a transport without headers and ACKs, with tiny frames: only payload bytes take time.
Transport Bare() {
  Transport transport;
  transport.headerBytes = 0;
  transport.ackBytes = 0;
  transport.segmentBytes = 1;
  return transport;
}

TEST(FlowEngine, AFlowAloneTakesTheClosedForm) {
  const Transport transport;
  for (int64_t bytes : {1, 100, 1448, 1449, 1'000'000}) {
    Fabric fabric(BuildFatTree(4, {kGbps, 10'000}, {kGbps, 10'000}, {kGbps, 10'000}));
    EXPECT_NEAR(fabric.Run({{0, {0, 15, bytes}}})[0],
                FlowTime({6, kGbps, 10'000}, bytes, transport), 6)
        << bytes;
  }
  Fabric fabric(BuildDumbbell(1, 1, {10 * kGbps, 1'000}, {kGbps, 5'000}));
  const double slow = 1502 * 8, fast = 1502 * 0.8;
  EXPECT_NEAR(fabric.Run({{0, {0, 1, 14'480}}})[0], 7'000 + 10 * slow + 2 * fast, 2);
}

// Two flows of 8 and 24 kB enter one host at 1 byte a nanosecond: both have half the rate until the
// first ends.
TEST(FlowEngine, TwoFlowsShareALinkByHand) {
  Fabric fabric(BuildStar(3, {8 * kGbps, 0}), Bare());
  EXPECT_EQ(fabric.Run({{0, {0, 2, 8'000}}, {0, {1, 2, 24'000}}}),
            (std::vector<TimeNs>{16'001, 32'001}));  // with a frame of one byte on the second link
  EXPECT_EQ(fabric.Run({{0, {0, 2, 8'000}}, {4'000, {1, 2, 24'000}}}),
            (std::vector<TimeNs>{32'001 + 12'001, 32'001 + 32'001}));
}

TEST(FlowEngine, MessagesOfOnePairKeepTheirOrder) {
  Fabric fabric(BuildStar(3, {8 * kGbps, 0}), Bare());
  EXPECT_EQ(fabric.Run({{0, {0, 1, 8'000}}, {0, {0, 1, 0}}, {0, {0, 1, 100}}, {0, {1, 0, 0}}}),
            (std::vector<TimeNs>{8'001, 8'001, 8'101, 0}));
}

TEST(FlowEngine, RingsTakeTheirClosedForms) {
  const Transport transport;
  for (int workers : {2, 5, 16}) {
    for (int64_t bytes : {int64_t{1'000'000}, int64_t{44'700'000}}) {
      Fabric fabric(BuildStar(workers, {10 * kGbps, 1'000}));
      CollectiveSpec spec;
      spec.bytes.assign(workers, bytes);
      CollectiveGraph ring(spec);
      fabric.engine->Submit(ring, 0);
      fabric.engine->RunUntil(kNever);
      const UniformPath path{2, 10 * kGbps, 1'000};
      // The closed form has no ACKs in the first round.
      const double rounds = 2.0 * (workers - 1);
      EXPECT_NEAR(ring.end() / RingAllReduceTime(workers, bytes, path, transport), 1,
                  0.001 + 0.036 / rounds)
          << workers << " " << bytes;
    }
  }
}

// The oracle computes all rates again at every event, by raising them together.
std::vector<double> SlowArrivals(const Topology& topology, const Placement& placement,
                                 const std::vector<Schedule::Entry>& entries) {
  struct Running {
    size_t flow;
    double left, rate;
    std::vector<DirectedLink> route;
  };
  std::vector<Running> running;
  std::vector<double> arrivals(entries.size());
  std::vector<bool> begun(entries.size());
  double now = 0;
  size_t finished = 0;
  while (finished < entries.size()) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!begun[i] && static_cast<double>(entries[i].start) <= now) {
        begun[i] = true;
        const Flow& flow = entries[i].flow;
        running.push_back(
            {i, static_cast<double>(flow.bytes), 0,
             topology.Route(placement.NodeOf(flow.source), placement.NodeOf(flow.destination), 0)});
      }
    }
    std::vector<bool> frozen(running.size());
    for (Running& r : running) r.rate = 0;
    for (size_t left = running.size(); left > 0;) {
      std::map<DirectedLink, double> room, open;
      for (size_t i = 0; i < running.size(); ++i) {
        for (DirectedLink link : running[i].route) {
          room.try_emplace(link, static_cast<double>(topology.PortOf(link).rateBps) / 8e9);
          room[link] -= running[i].rate;
          open[link] += frozen[i] ? 0 : 1;
        }
      }
      double raise = INFINITY;
      for (const auto& [link, n] : open) {
        if (n > 0) raise = std::min(raise, room[link] / n);
      }
      for (size_t i = 0; i < running.size(); ++i) {
        if (frozen[i]) continue;
        running[i].rate += raise;
        for (DirectedLink link : running[i].route) {
          if (room[link] - raise * open[link] < 1e-9 && !frozen[i]) {
            frozen[i] = true;
            --left;
          }
        }
      }
    }
    double next = INFINITY;
    for (const Running& r : running) next = std::min(next, now + r.left / r.rate);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!begun[i]) next = std::min(next, static_cast<double>(entries[i].start));
    }
    for (Running& r : running) r.left -= r.rate * (next - now);
    now = next;
    for (size_t i = running.size(); i > 0; --i) {
      if (running[i - 1].left < 1e-6) {
        arrivals[running[i - 1].flow] = now;
        running.erase(running.begin() + static_cast<long>(i) - 1);
        ++finished;
      }
    }
  }
  return arrivals;
}

// Returns flows of which each has a pair of its own, so that none waits for its connection.
std::vector<Schedule::Entry> RandomTraffic(unsigned seed, int hosts, int flows, TimeNs span) {
  std::mt19937 random(seed);
  std::vector<Schedule::Entry> entries;
  std::map<std::pair<int, int>, bool> used;
  while (static_cast<int>(entries.size()) < flows) {
    const int from = static_cast<int>(random() % hosts), to = static_cast<int>(random() % hosts);
    if (from == to || used[{from, to}]) continue;
    used[{from, to}] = true;
    entries.push_back({static_cast<TimeNs>(random() % span),
                       {from, to, 1'000 + static_cast<int64_t>(random() % 1'000'000)}});
  }
  return entries;
}

TEST(FlowEngine, EqualsASlowFluidSimulation) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Fabric fabric(BuildLeafSpine(4, 4, 2, {8 * kGbps, 0}, {4 * kGbps, 0}), Bare(),
                  "random:" + std::to_string(seed));
    const auto entries = RandomTraffic(seed, 16, 60, 300'000);
    const std::vector<double> expected = SlowArrivals(fabric.topology, fabric.placement, entries);
    const std::vector<TimeNs> arrivals = fabric.Run(entries);
    for (size_t i = 0; i < entries.size(); ++i) {
      // Ends are rounded to the nanosecond, and depend on rounded ends before them; a byte more
      // crosses the later links.
      EXPECT_NEAR(static_cast<double>(arrivals[i]), expected[i], 12) << seed << " flow " << i;
    }
  }
}

TEST(FlowEngine, ConservesBytesCapacityAndCausality) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Tier host{10 * kGbps, 1'000}, up{5 * kGbps, 1'000};
    Fabric fabric(BuildFatTree(4, host, up, host));
    const auto entries = RandomTraffic(100 + seed, 16, 120, 2'000'000);
    const std::vector<TimeNs> arrivals = fabric.Run(entries);
    const Transport& transport = fabric.request.transport;
    std::vector<int64_t> bytes(2 * fabric.topology.Links().size()), data(bytes.size());
    TimeNs end = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Flow& flow = entries[i].flow;
      const int from = fabric.placement.NodeOf(flow.source);
      const int to = fabric.placement.NodeOf(flow.destination);
      TimeNs alone = 0;
      for (DirectedLink link : fabric.topology.Route(from, to, 0)) {
        data[link] += transport.WireBytes(flow.bytes);
        bytes[link] += transport.WireBytes(flow.bytes);
        alone += fabric.topology.LinkOf(link).delay;
      }
      for (DirectedLink link : fabric.topology.Route(to, from, 0)) {
        bytes[link] += transport.AckWireBytes(flow.bytes);
      }
      alone += SerialisationTime(transport.WireBytes(flow.bytes), 10 * kGbps);
      EXPECT_GE(arrivals[i] - entries[i].start, alone);
      end = std::max(end, arrivals[i]);
    }
    const std::vector<LinkCounters> links = fabric.engine->Links();
    for (size_t l = 0; l < links.size(); ++l) {
      EXPECT_EQ(links[l].bytes, bytes[l]);
      const int64_t rate = fabric.topology.PortOf(static_cast<DirectedLink>(l)).rateBps;
      EXPECT_LE(SerialisationTime(data[l], rate), end);
      // ACKs are only estimated.
      EXPECT_LE(static_cast<double>(links[l].busy), 1.02 * static_cast<double>(end));
      EXPECT_LE(links[l].peak, 1 + 1e-9);
    }
    EXPECT_EQ(fabric.engine->Counters().flows, entries.size());
    Fabric again(BuildFatTree(4, host, up, host));
    EXPECT_EQ(again.Run(entries), arrivals);
  }
}

// A cold connection starts with a window of 10 frames, which doubles with every round trip until
// the path is full.
TEST(FlowEngine, AColdConnectionPaysHandshakeAndSlowStart) {
  Transport cold;
  cold.connections = ConnectionKind::Cold;
  Fabric warm(BuildStar(2, {kGbps, 1'000'000})), slow(BuildStar(2, {kGbps, 1'000'000}), cold);
  const double frame = 1502 * 8, round = 4e6 + 2 * frame + 2 * 54 * 8;
  const TimeNs fast = warm.Run({{0, {0, 1, 1'000'000}}})[0];
  double lost = round;
  for (double window = 10 * frame; window < round; window *= 2) lost += round - window;
  EXPECT_NEAR(slow.Run({{0, {0, 1, 1'000'000}}})[0], fast + lost, 2);
  const TimeNs second = slow.engine->Now();
  EXPECT_NEAR(slow.Run({{0, {0, 1, 1'000'000}}})[0] - second, fast, 1);
  Fabric short_one(BuildStar(2, {kGbps, 1'000'000}), cold);
  EXPECT_NEAR(short_one.Run({{0, {0, 1, 1'000}}})[0],
              FlowTime({2, kGbps, 1'000'000}, 1'000, cold) + round, 2);
  const TimeNs later = short_one.engine->Now();
  EXPECT_NEAR(short_one.Run({{0, {0, 1, 1'000}}})[0] - later,
              FlowTime({2, kGbps, 1'000'000}, 1'000, cold), 2);  // one handshake only
}

TEST(FlowEngine, LossLimitsAsMathisSays) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  topology.AddLink({0, 1, 5'000'000, {kGbps, 0, 1e-3}});
  Fabric fabric(std::move(topology));
  const double round = 10e6 + 1502 * 8 + 54 * 8;
  const double expected = 1e8 / (1448 / round * std::sqrt(1.5 / 1e-3));
  EXPECT_NEAR(static_cast<double>(fabric.Run({{0, {0, 1, 100'000'000}}})[0]) / expected, 1, 0.01);
}

// Cubic's average window is the larger one of RFC 9438, section 5.1, and Reno's: at 200 ms and
// p = 1e-4 317 segments, where Reno has 122; at 10 ms Reno's.
TEST(FlowEngine, LossLimitsCubicAsItsRfcSays) {
  for (const auto& [delay, segments] :
       {std::pair<TimeNs, double>{100'000'000, 1.054 * std::pow(0.2 / 1e-4, 0.75)},
        std::pair<TimeNs, double>{5'000'000, std::sqrt(1.5 / 1e-4)}}) {
    Topology topology;
    topology.AddHost("a");
    topology.AddHost("b");
    topology.AddLink({0, 1, delay, {100 * kGbps, 0, 1e-4}});
    Transport cubic;
    cubic.congestionControl = "cubic";
    Fabric fabric(std::move(topology), cubic);
    const double rate = segments * 1448 / (2.0 * static_cast<double>(delay));
    const auto took = static_cast<double>(fabric.Run({{0, {0, 1, 1'000'000'000}}})[0]);
    EXPECT_NEAR(took * rate / 1e9, 1, 0.01) << delay;
  }
}

// Losses of new connections are drawn. A short flow rarely meets one. In the long run Reno's window
// is 1.31 / sqrt(p) on average where losses come at random (Ott, Kemperman, Mathis, 1996).
TEST(FlowEngine, NewConnectionsDrawTheirLosses) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  topology.AddLink({0, 1, 50'000'000, {100 * kGbps, 0, 1e-3}});
  Transport cold;
  cold.connections = ConnectionKind::Cold;
  const auto run = [&](int64_t frames, uint64_t seed) {
    Fabric fabric(topology, cold);
    fabric.request.seed = seed;
    fabric.engine = MakeFlowEngine(fabric.request);
    EXPECT_TRUE(fabric.engine->Random());
    return static_cast<double>(fabric.Run({{0, {0, 1, 1448 * frames}}})[0]) / 1e8;  // round trips
  };
  std::vector<double> times;
  for (uint64_t seed = 1; seed <= 41; ++seed) times.push_back(run(630, seed));
  std::ranges::sort(times);
  EXPECT_NEAR(times.front(), 1 + 5 + 0.5, 0.01);  // handshake, 5 rounds, and the last window's way
  EXPECT_NEAR(times[10], times.front(), 0.01);
  EXPECT_GT(times[35], times.front() + 0.5);  // 1 - exp(-0.63) of them lose a packet
  EXPECT_EQ(run(630, 1), run(630, 1));
  EXPECT_NEAR(run(5'000'000, 1) * 1.31 / std::sqrt(1e-3) / 5'000'000, 1, 0.03);
}

// A bucket of 3,000 bytes at 1 byte a microsecond: a flow that finds it full is 3 ms earlier.
TEST(FlowEngine, TokensSendAtOnceAndComeBackWhileIdle) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  Port port{8'000'000};
  port.burstBytes = 3000;
  topology.AddLink({0, 1, 1'000, port});
  Fabric fabric(std::move(topology), Bare());
  const TimeNs millisecond = 1'000'000;
  const auto arrivals = fabric.Run({{0, {0, 1, 10'000}},
                                    {0, {0, 1, 10'000}},
                                    {20 * millisecond, {0, 1, 2'000}},
                                    {30 * millisecond, {0, 1, 10'000}}});
  EXPECT_EQ(arrivals[0], 7 * millisecond + 1'000);
  EXPECT_EQ(arrivals[1], 17 * millisecond + 1'000);  // no time for tokens
  EXPECT_EQ(arrivals[2], 20 * millisecond + 1'000);  // 3 ms of tokens
  EXPECT_EQ(arrivals[3], 37 * millisecond + 1'000);
}

// Four spines have a quarter of the hosts' rate: one flow takes one of them, or all.
TEST(FlowEngine, SprayTakesAllPaths) {
  const auto time = [](Multipath multipath) {
    Topology topology = BuildLeafSpine(2, 1, 4, {8 * kGbps, 0}, {2 * kGbps, 0});
    topology.SetMultipath(multipath);
    Fabric fabric(std::move(topology), Bare());
    return fabric.Run({{0, {0, 1, 1'000'000}}})[0];
  };
  EXPECT_NEAR(time(Multipath::Ecmp), 4'000'000, 10);
  EXPECT_NEAR(time(Multipath::Spray), 1'000'000, 10);
}

// Thousands of flows end one by one. With exactly fair rates it takes 595.39 us.
TEST(FlowEngine, ADirectAllGatherAmong128WorkersTakesItsTime) {
  TopologyRequest wanted;
  wanted.text = "rail-optimised:nodes=16,gpus=8";
  wanted.rateBps = 100 * kGbps;
  wanted.delay = 1'000;
  wanted.hostsNeeded = 128;
  const auto time = [&] {
    Fabric fabric(MakeTopology(wanted), MakeTransport("roce"));
    CollectiveSpec spec;
    spec.algorithm = CollectiveAlgorithm::DirectAllGather;
    spec.bytes.assign(128, 53'500);
    CollectiveGraph graph(spec);
    fabric.engine->Submit(graph, 0);
    EXPECT_TRUE(fabric.engine->RunUntil(kNever));
    return graph.end();
  };
  const TimeNs once = time();
  EXPECT_NEAR(static_cast<double>(once), 595'390, 5'953);
  EXPECT_EQ(time(), once);
}

// ACKs take their part of a link that carries data both ways, and nothing of a link that does not.
TEST(FlowEngine, AcksShareTwoWayLinks) {
  const int64_t bytes = 1448 * 10'000;
  Fabric fabric(BuildStar(2, {kGbps, 0}));
  const double one_way = static_cast<double>(fabric.Run({{0, {0, 1, bytes}}})[0]);
  const double start = static_cast<double>(fabric.engine->Now());
  const auto both = fabric.Run({{0, {0, 1, bytes}}, {0, {1, 0, bytes}}});
  EXPECT_NEAR(one_way, 1502 * 8 * 10'001.0, 10);
  EXPECT_NEAR(static_cast<double>(both[0]) - start, 1556 * 8 * 10'000.0 + 1502 * 8, 10);
  EXPECT_EQ(both[0], both[1]);
}

}  // namespace
}  // namespace legacy::fabric::flow_engine_test