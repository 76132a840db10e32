// Paths of RoCEv2: frames that take any, several queue pairs of a pair, and settings of pairs,
// marks and pauses.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::paths_test {
namespace {

using fabric::DirectedLink;
using packet::Frame;
using packet::FrameKind;

constexpr int64_t kGbps = 1'000'000'000;

// Two leaves of four hosts, four spines, links of 100 Gbit/s.
fabric::Topology TwoLeaves(fabric::Multipath multipath, uint64_t seed = 1) {
  Scenario scenario;
  scenario.topology = "leaf-spine:leaves=2,hosts=4,spines=4";
  scenario.workers = 8;
  scenario.rate_bps = 100 * kGbps;
  scenario.delay = 1000;
  fabric::Topology topology = Fabric::MakeTopology(scenario);
  topology.SetMultipath(multipath);
  topology.SetEcmpSeed(seed);
  return topology;
}

// Each host of the first leaf sends to one of the second.
std::vector<fabric::Flow> Across(int64_t bytes) {
  return {{0, 4, bytes}, {1, 5, bytes}, {2, 6, bytes}, {3, 7, bytes}};
}

// Returns a number below `below`.
uint64_t Drawn(uint64_t seed, uint64_t draw, uint64_t below) {
  return HashWords({seed, draw}) % below;
}

TimeNs Last(const std::vector<TimeNs>& arrived) {
  return *std::max_element(arrived.begin(), arrived.end());
}

TEST(RocePaths, SprayPlacesFramesAndResendsNone) {
  constexpr int64_t kBytes = 4'000'000;
  for (const std::string pfc : {"on", "off"}) {
    const std::string options = "roce:cc=none,recovery=selective,pfc=" + pfc;
    RoceRun run(TwoLeaves(fabric::Multipath::Spray), options);
    // One more flow, so that paths have queues of different lengths.
    std::vector<fabric::Flow> flows = Across(kBytes);
    flows.push_back({0, 5, kBytes});
    const std::vector<TimeNs> arrived = run.Run(flows);
    EXPECT_GT(arrived.front(), 0);
    EXPECT_EQ(run.Counters().roce.resent, 0u);
    EXPECT_EQ(run.Counters().roce.naks, 0u);
    EXPECT_EQ(run.Counters().retransmitTimeouts, 0u);
    EXPECT_GT(run.Counters().roce.reordered, 0u);
    EXPECT_EQ(run.Drops(), 0);
  }
}

// If ECMP puts flows on one link, spray uses all links.
TEST(RocePaths, SprayBeatsCollisionsOfEcmp) {
  constexpr int64_t kBytes = 4'000'000;
  const std::string options = "roce:cc=none,pfc=off";
  const auto last = [&](fabric::Multipath multipath) {
    RoceRun run(TwoLeaves(multipath), options);
    return static_cast<double>(Last(run.Run(Across(kBytes))));
  };
  const double line = Nanoseconds(fabric::MakeTransport(options).WireBytes(kBytes), 100 * kGbps);
  EXPECT_GT(last(fabric::Multipath::Ecmp), 1.9 * line);  // two or more share a link
  EXPECT_LT(last(fabric::Multipath::Spray), 1.1 * line);
}

// Next hops take turns: each of the four links up carries a quarter of each flow.
TEST(RocePaths, SprayTakesNextHopsInTurn) {
  const fabric::Topology topology = TwoLeaves(fabric::Multipath::Spray);
  RoceRun run(topology, "roce:cc=none,pfc=off");
  run.Run({{0, 4, 400 * 4096}});
  int used = 0;
  const std::vector<fabric::LinkCounters> links = run.Links();
  for (size_t link = 0; link < links.size(); ++link) {
    const auto at = static_cast<DirectedLink>(link);
    if (topology.IsHost(topology.From(at)) || topology.IsHost(topology.To(at))) continue;
    if (links[link].bytes < 100'000) continue;  // ACKs
    EXPECT_EQ(links[link].packets, 100);
    ++used;
  }
  EXPECT_EQ(used, 8);  // to four spines, and from them
}

// A gap is a loss when a frame that was sent a window later has come.
TEST(RocePaths, SprayRecoversFromLosses) {
  for (const std::string reorder : {"", ",reorder=64"}) {
    const fabric::Topology topology = TwoLeaves(fabric::Multipath::Spray);
    RoceRun run(Lossy(topology, 0, 0.005), "roce:cc=none,pfc=off" + reorder);
    const auto time = static_cast<double>(run.Run({{0, 4, 8'000'000}}).front());
    EXPECT_GT(run.Drops(), 0);
    EXPECT_EQ(run.Counters().roce.resent, static_cast<uint64_t>(run.Drops())) << reorder;
    EXPECT_GT(time, Nanoseconds(8'000'000, 100 * kGbps));
  }
}

TEST(RocePaths, WhatSprayDoesNotTakeIsRefused) {
  const auto refusal = [](const std::string& text, fabric::Multipath multipath) {
    try {
      RoceRun run(TwoLeaves(multipath), text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal("roce", fabric::Multipath::Spray).find("takes frames that overtake others"),
            std::string::npos);
  EXPECT_NE(refusal("roce:pfc=off,cc=hpcc", fabric::Multipath::Spray).find("hpcc"),
            std::string::npos);
  EXPECT_NE(refusal("roce:pfc=off,reorder=9", fabric::Multipath::Ecmp).find("multipath=spray"),
            std::string::npos);
  EXPECT_EQ(refusal("roce:pfc=off,reorder=9", fabric::Multipath::Spray), "");
}

// The same steps again on one engine and on a new one.
TEST(RocePaths, StepsDoNotDependOnThoseBefore) {
  for (const std::string options : {"", ",qps=3", ",marking=random"}) {
    const fabric::Topology topology = TwoLeaves(fabric::Multipath::Spray);
    RoceRun run(topology, "roce:cc=dcqcn,pfc=off" + options);
    const auto flows = Across(1'000'000);
    const auto first = run.Run(flows);
    RoceRun::Drain();
    const auto start = packet::PacketEngine::Now();
    auto second = run.Run(flows);
    for (TimeNs& time : second) time -= start;
    EXPECT_EQ(second, first) << options;
  }
}

// Queue pairs of a pair of nodes take messages in turn, each on the path of its channel, and the
// messages are handed over in their order.
TEST(RocePaths, QueuePairsTakeMessagesInTurn) {
  constexpr int kPairs = 4;
  const fabric::Topology topology = TwoLeaves(fabric::Multipath::Ecmp);
  RoceRun run(topology, "roce:cc=none,qps=4");
  std::vector<std::vector<DirectedLink>> ways(kPairs);
  std::vector<int64_t> payload(kPairs);
  run.ports().SetDrop([&](DirectedLink link, const Frame& frame) {
    if (frame.kind == FrameKind::Data && frame.psn == 0) ways[frame.pair].push_back(link);
    payload[frame.pair] += frame.kind == FrameKind::Data && frame.hop == 0 ? frame.payload : 0;
    return false;
  });
  std::vector<fabric::Flow> flows;
  for (const int64_t bytes : {900'000, 100, 200, 50'000, 7}) flows.push_back({0, 4, bytes});
  const std::vector<TimeNs> arrived = run.Run(flows);
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
  EXPECT_EQ(payload, (std::vector<int64_t>{900'007, 100, 200, 50'000}));
  std::set<std::vector<DirectedLink>> all;
  for (uint32_t i = 0; i < kPairs; ++i) {
    EXPECT_EQ(ways[i], topology.Route(topology.Hosts()[0], topology.Hosts()[4], i));
    all.insert(ways[i]);
  }
  EXPECT_GT(all.size(), 1u);
}

// The other fidelities give messages the queue pairs that packets give them, so that links carry
// the same, and hand them over in their order. A second run begins with the first queue pair again.
TEST(RocePaths, QueuePairsTakeMessagesInTurnAtAllFidelities) {
  const fabric::Topology topology = TwoLeaves(fabric::Multipath::Ecmp);
  const fabric::Placement placement =
      fabric::MakePlacement({"packed", static_cast<int>(topology.Hosts().size())}, topology);
  const std::string transport = "roce:cc=none,qps=3";
  std::vector<fabric::Flow> flows;
  for (uint64_t i = 0; i < 40; ++i) {
    const auto from = static_cast<int>(Drawn(1, 2 * i, 4));
    const auto to = static_cast<int>(4 + Drawn(1, 2 * i + 1, 4));
    flows.push_back({from, to, i % 9 == 0 ? 0 : static_cast<int64_t>(4096 * (1 + i % 16))});
  }
  RoceRun run(topology, transport);
  for (int i = 0; i < 2; ++i) {
    run.Run(flows);
    RoceRun::Drain();
  }
  for (const auto& make : {fabric::MakeFlowEngine, fabric::MakeAnalyticEngine}) {
    fabric::EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport(transport);
    const auto engine = make(request);
    std::map<std::pair<int, int>, uint64_t> last;
    engine->SetFlowTrace([&](const fabric::Flow& flow, TimeNs, bool delivered) {
      if (!delivered) return;
      const auto entry = last.try_emplace({flow.source, flow.destination}, flow.tag).first;
      EXPECT_LE(entry->second, flow.tag) << engine->Name();
      entry->second = flow.tag;
    });
    for (int i = 0; i < 2; ++i) {
      last.clear();
      Burst burst(flows);
      engine->Submit(burst, engine->Now());
      EXPECT_TRUE(engine->RunUntil(kNever));
    }
    const auto links = engine->Links();
    const auto packets = run.Links();
    for (size_t link = 0; link < links.size(); ++link) {
      EXPECT_EQ(links[link].bytes, packets[link].bytes)
          << engine->Name() << " " << topology.LinkName(static_cast<DirectedLink>(link));
    }
  }
}

// A message that is withdrawn does not hold up those after it.
TEST(RocePaths, WithdrawnMessagesOfSeveralQueuePairsHoldNothingUp) {
  class Withdrawing : public fabric::FlowGraph {
   public:
    void OnStart(fabric::FlowSink& sink) override {
      for (uint64_t tag = 0; tag < 3; ++tag) sink.Send({0, 4, tag == 0 ? 50'000'000 : 1'000, tag});
      sink.Wake(100'000, 0);
    }
    void OnWake(uint64_t, fabric::FlowSink& sink) override {
      EXPECT_TRUE(tags.empty());
      carried = sink.Abort({0, 4, 50'000'000, 0});
      waited = sink.Abort({0, 4, 1'000, 1});
      unknown = sink.Abort({0, 4, 1'000, 1});
    }
    void OnDelivered(const fabric::Flow& flow, fabric::FlowSink&) override {
      tags.push_back(flow.tag);
    }
    bool Done() const override { return !tags.empty(); }
    std::vector<uint64_t> tags;
    int64_t carried = -1, waited = -1, unknown = -1;
  };
  const fabric::Topology topology = TwoLeaves(fabric::Multipath::Ecmp);
  const fabric::Placement placement =
      fabric::MakePlacement({"packed", static_cast<int>(topology.Hosts().size())}, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport("roce:cc=none,qps=2");
  for (const auto& make : {fabric::MakeFlowEngine, fabric::MakeAnalyticEngine}) {
    const auto engine = make(request);
    Withdrawing graph;
    engine->Submit(graph, 0);
    EXPECT_TRUE(engine->RunUntil(kNever)) << engine->Name();
    EXPECT_EQ(graph.tags, std::vector<uint64_t>{2});
    EXPECT_GT(graph.carried, 0);
    EXPECT_EQ(graph.waited, 1'000);
    EXPECT_EQ(graph.unknown, 0);
  }
}

// The class of data is in pauses.
TEST(RocePaths, PausesNameTheClassOfData) {
  RoceRun run(Star(5, 100 * kGbps, 1000), "roce:cc=none,buffer=2MiB,priority=5");
  std::set<uint64_t> classes;
  run.ports().SetDrop([&](DirectedLink, const Frame& frame) {
    if (frame.kind == FrameKind::Pause) classes.insert(frame.psn);
    return false;
  });
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < 4; ++i) flows.push_back({i, 4, 2'000'000});
  run.Run(flows);
  EXPECT_EQ(classes, std::set<uint64_t>{1u << 5});
}

// Drawn marks differ by seed and step, those of the hash only by seed; the engine says so.
TEST(RocePaths, MarksMayBeDrawn) {
  const auto marks = [](const std::string& marking, uint64_t seed) {
    RoceRun run(Star(5, 100 * kGbps, 1000), "roce:cc=none,ecn=10KB/4MB/0.5,marking=" + marking,
                seed);
    EXPECT_EQ(run.IsRandom(), marking == "random");
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 4; ++i) flows.push_back({i, 4, 1'000'000});
    std::vector<int64_t> counts;
    for (int step = 0; step < 2; ++step) {
      const int64_t before = run.Marks();
      run.Run(flows);
      RoceRun::Drain();
      counts.push_back(run.Marks() - before);
    }
    return counts;
  };
  const auto hashed = marks("hash", 1);
  EXPECT_GT(hashed[0], 0);
  EXPECT_EQ(hashed[0], hashed[1]);
  const auto drawn = marks("random", 1);
  EXPECT_NE(drawn[0], drawn[1]);
  EXPECT_EQ(drawn, marks("random", 1));
  EXPECT_NE(drawn, marks("random", 2));
}

// All pairs have the round trip of those that are farthest from each other.
TEST(RocePaths, RoundTripsMayBeTheFabrics) {
  const fabric::Topology topology = TwoLeaves(fabric::Multipath::Ecmp);
  const auto trips = [&](const std::string& base) {
    RoceRun run(topology, "roce:cc=hpcc,base-rtt=" + base);
    run.Run({{0, 1, 100}, {0, 4, 100}});
    return std::vector{run.pairs()[0].course->path.roundTrip,
                       run.pairs()[1].course->path.roundTrip};
  };
  const auto own = trips("pair");
  EXPECT_LT(own[0], own[1]);
  EXPECT_EQ(trips("fabric"), (std::vector{own[1], own[1]}));
}

// Telemetry in its bits tells HPCC nearly the same; rates without codes are refused at once.
TEST(RocePaths, TelemetryMayHaveTheBitsOfTheWire) {
  const auto last = [](const std::string& precision) {
    RoceRun run(Star(5, 100 * kGbps, 1000), "roce:cc=hpcc:int=" + precision);
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 4; ++i) flows.push_back({i, 4, 2'000'000});
    return static_cast<double>(Last(run.Run(flows)));
  };
  EXPECT_NE(last("wire"), last("full"));
  EXPECT_NEAR(last("wire") / last("full"), 1, 0.05);
  try {
    RoceRun run(Star(2, 7 * kGbps, 1000), "roce:cc=hpcc:int=wire");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rate of host0>switch: got '7 Gbit/s'"),
              std::string::npos)
        << error.what();
  }
}

// Any settings, losses and traffic: everything arrives in the order of its pair, buffers are empty
// and pauses over at the end, and each frame that left its NIC has arrived or was lost.
TEST(RocePaths, AnySettingsCarryEverything) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    uint64_t draws = 0;
    const auto draw = [&](uint64_t below) { return Drawn(seed, ++draws, below); };
    const auto pick = [&](const std::vector<std::string>& of) { return of[draw(of.size())]; };
    const bool spray = draw(2) == 0;
    const std::string options =
        "roce:cc=" +
        pick(spray ? std::vector<std::string>{"none", "dcqcn", "timely", "swift"}
                   : std::vector<std::string>{"none", "dcqcn", "hpcc", "timely", "swift"}) +
        ",mtu=" + pick({"256", "1000", "4096"}) + ",pfc=" + pick({"on", "off"}) +
        ",recovery=" + (spray ? "selective" : pick({"selective", "go-back-n"})) +
        ",qps=" + pick({"1", "3"}) + ",marking=" + pick({"hash", "random"}) +
        ",base-rtt=" + pick({"pair", "fabric"}) + ",buffer=" + pick({"1500KB", "8MiB"}) +
        ",idle=" + pick({"reset", "keep", "message"}) + ",rto=" + pick({"auto", "50us"}) +
        ",retries=50";
    const fabric::Topology plain =
        TwoLeaves(spray ? fabric::Multipath::Spray : fabric::Multipath::Ecmp, seed);
    const double loss = draw(3) == 0 ? 0 : 0.01;
    RoceRun run(Lossy(plain, static_cast<int>(draw(plain.Links().size())), loss), options, seed);
    int64_t data = 0;
    run.ports().SetDrop([&](DirectedLink, const Frame& frame) {
      data += frame.kind == FrameKind::Data && frame.hop == 0 ? 1 : 0;
      return false;
    });
    std::vector<fabric::Flow> flows;
    int64_t frames = 0;
    for (int i = 0; i < 12; ++i) {
      const int source = static_cast<int>(draw(8));
      const auto destination = static_cast<int>((source + 1 + draw(7)) % 8);
      flows.push_back({source, destination, static_cast<int64_t>(1 + draw(300'000))});
      frames += (flows.back().bytes + run.transport().roce->mtu - 1) / run.transport().roce->mtu;
    }
    std::vector<TimeNs> arrived;
    ASSERT_NO_THROW(arrived = run.Run(flows)) << options;
    for (size_t i = 0; i < flows.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const bool same =
            flows[i].source == flows[j].source && flows[i].destination == flows[j].destination;
        EXPECT_TRUE(!same || arrived[j] <= arrived[i]) << options;
      }
    }
    RoceRun::Drain(100'000'000);
    EXPECT_EQ(run.ports().GetBuffered(), 0) << options;
    const auto [pauses, resumes, expired] = run.ports().GetPauses();
    EXPECT_EQ(pauses, resumes + expired) << options;
    EXPECT_EQ(data, frames + static_cast<int64_t>(run.Counters().roce.resent)) << options;
  }
}

// Sends two messages, and calls a function between them.
class TwoMessages : public fabric::FlowGraph {
 public:
  TwoMessages(int64_t first, int64_t second, std::function<void()> between)
      : first_(first), second_(second), between_(std::move(between)) {}
  void OnStart(fabric::FlowSink& sink) override {
    sink.Send({0, 1, first_, 0});
    between_();
    sink.Send({0, 1, second_, 1});
  }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  void OnDelivered(const fabric::Flow&, fabric::FlowSink& sink) override {
    arrived.push_back(sink.Now());
  }
  bool Done() const override { return arrived.size() == 2; }

  std::vector<TimeNs> arrived;

 private:
  int64_t first_;
  int64_t second_;
  std::function<void()> between_;
};

// The last frames of a message of 2^40 bytes, whose numbers end at 2^32, and one after it.
TEST(RocePaths, LargeMessagesEnd) {
  constexpr int64_t kBytes = int64_t{1} << 40;
  constexpr uint64_t kFrames = uint64_t{1} << 32;
  for (const std::string recovery : {"go-back-n", "selective"}) {
    RoceRun run(Star(2, 100 * kGbps, 1000), "roce:cc=none,mtu=256,recovery=" + recovery);
    const auto skip = [&] {
      packet::QueuePair& pair = run.pairs()[0];
      EXPECT_EQ(pair.end, kFrames);
      EXPECT_EQ(run.pairs().PayloadOf(pair.messages.front(), kFrames - 1), 256);
      EXPECT_EQ(pair.next, 1u);  // its first frame is on the line
      pair.acked = pair.next = pair.sentTo = pair.expected = kFrames - 2;
      pair.inFlight = 0;
    };
    TwoMessages graph(kBytes, 300, skip);
    run.Run(graph);
    EXPECT_EQ(run.pairs()[0].expected, kFrames + 2);
    const int64_t large = 354 + 2 * 338;
    EXPECT_NEAR(static_cast<double>(graph.arrived[0]), 2000 + Nanoseconds(large + 338, 100 * kGbps),
                2);
    EXPECT_NEAR(static_cast<double>(graph.arrived[1]),
                2000 + Nanoseconds(large + 2 * 354 + 126, 100 * kGbps), 2);
    EXPECT_EQ(run.Counters().roce.resent, 0u);
  }
}

}  // namespace
}  // namespace legacy::packet_test::paths_test
