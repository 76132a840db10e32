// Links beyond in-order delivery: loss, packet spray, several links of a host, endpoints at
// switches, and their counters.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <ostream>
#include <tuple>

#include "ns3-module/helper/reference-cases.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {
using fabric::LinkCounters;

constexpr int64_t kGigabit = 1'000'000'000;

// A topology with endpoints and a transport, which tests fill in.
struct Custom {
  fabric::EngineRequest Request() const {
    fabric::EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = transport;
    return request;
  }

  fabric::Topology topology;
  fabric::Placement placement;
  fabric::Transport transport = fabric::MakeTransport("datacenter");
};

LinkCounters Sum(const fabric::Engine& engine) {
  LinkCounters sum;
  for (const LinkCounters& link : engine.Links()) {
    sum.packets += link.packets;
    sum.bytes += link.bytes;
    sum.drops += link.drops;
    sum.marks += link.marks;
  }
  return sum;
}

// ---------------------------------------------------------------------------------------------
// Links in parallel, weights and explicit routes
// ---------------------------------------------------------------------------------------------

// Packets take the links of Topology's routes: by weight the long way there, explicitly another
// one back, and both of two links in parallel where they are sprayed.
TEST(Paths, PacketsFollowWeightsAndRoutes) {
  for (const auto multipath : {fabric::Multipath::Ecmp, fabric::Multipath::Spray}) {
    Custom custom;
    const fabric::Port port{kGigabit};
    fabric::Topology& topology = custom.topology;
    for (const char* host : {"a", "b"}) topology.AddHost(host);
    for (const char* name : {"x", "y", "z"}) topology.AddSwitch(name);
    const auto link = [&](int from, int to, int weight) {
      fabric::Link one(from, to, 1'000, port);
      one.weight = weight;
      topology.AddLink(one);
    };
    link(0, 2, 1);  // a - x
    link(1, 3, 1);  // b - y
    link(2, 3, 5);  // x - y, costly
    link(2, 4, 2);  // x - z, twice
    link(2, 4, 2);
    link(4, 3, 2);  // z - y
    topology.AddRoute(1, 0, {3, 2});
    topology.SetMultipath(multipath);
    custom.placement.hosts = {0, 1};
    Burst burst({{0, 1, 200'000, 0}});
    const auto engine = fabric::MakePacketEngine(custom.Request());
    engine->Submit(burst, 0);
    ASSERT_TRUE(engine->RunUntil(kNever));
    const std::vector<LinkCounters> links = engine->Links();
    std::map<std::string, int64_t> bytes;
    for (size_t i = 0; i < links.size(); ++i) {
      const std::string name = topology.LinkName(static_cast<int>(i));
      if (links[i].bytes > 0) bytes[name] = links[i].bytes;
    }
    std::vector<std::string> names;
    for (const auto& [name, count] : bytes) names.push_back(name);
    if (multipath == fabric::Multipath::Spray) {
      EXPECT_EQ(names, (std::vector<std::string>{"a>x", "b>y", "x>a", "x>z", "x>z#2", "y>b", "y>x",
                                                 "z>y"}));
      EXPECT_NEAR(static_cast<double>(bytes["x>z"]) / static_cast<double>(bytes["x>z#2"]), 1, 0.1);
    } else {
      EXPECT_EQ(names.size(), 7u);
      EXPECT_EQ(bytes.count("x>z") + bytes.count("x>z#2"), 1u);
    }
    EXPECT_EQ(bytes["x>z"] + bytes["x>z#2"], bytes["z>y"]);
    // ACKs take the explicit route; the last one is under way when the flow has arrived.
    EXPECT_NEAR(static_cast<double>(bytes["y>x"]), static_cast<double>(bytes["b>y"]), 100);
    EXPECT_EQ(bytes.count("x>y"), 0u);
  }
}

// ---------------------------------------------------------------------------------------------
// Loss
// ---------------------------------------------------------------------------------------------

struct Lossy {
  const char* preset;
  const char* congestion_control;
  double rate;
};

void PrintTo(const Lossy& lossy, std::ostream* out) {
  *out << lossy.preset << " " << lossy.congestion_control << " at " << lossy.rate;
}

class LossTest : public testing::TestWithParam<Lossy> {
 protected:
  // Three hosts sit on a switch whose links all lose packets; each sends to all others.
  static Custom Make() {
    Custom custom;
    custom.transport = fabric::MakeTransport(GetParam().preset);
    custom.transport.congestionControl = GetParam().congestion_control;
    const int hub = custom.topology.AddSwitch("switch");
    for (const char* name : {"a", "b", "c"}) {
      const int host = custom.topology.AddHost(name);
      custom.topology.AddLink(
          fabric::Link(host, hub, 10'000, fabric::Port{kGigabit, 0, GetParam().rate}));
      custom.placement.hosts.push_back(host);
    }
    return custom;
  }

  static std::string Run(const Custom& custom, uint64_t seed) {
    fabric::EngineRequest request = custom.Request();
    request.seed = seed;
    auto engine = fabric::MakePacketEngine(request);
    EXPECT_TRUE(engine->Random());
    std::vector<fabric::Flow> flows;
    for (int from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        if (from != to) flows.push_back({from, to, 400'000, 0});
      }
    }
    Burst burst(flows);
    engine->Submit(burst, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    EXPECT_EQ(engine->Counters().flows, flows.size());
    const LinkCounters sum = Sum(*engine);
    // Every packet crosses two links. The binomial's standard deviation is below 0.15 of its mean
    // here.
    const double expected = static_cast<double>(sum.packets) * GetParam().rate;
    EXPECT_NEAR(static_cast<double>(sum.drops) / expected, 1.0, 0.6);
    std::string text = std::to_string(sum.bytes) + "/" + std::to_string(sum.drops);
    for (TimeNs when : burst.arrived) text += " " + std::to_string(when);
    return text;
  }
};

TEST_P(LossTest, EverythingArrivesAndTheSeedDecidesWhen) {
  const Custom custom = Make();
  const std::string first = Run(custom, 1);
  EXPECT_EQ(Run(custom, 1), first);
  EXPECT_NE(Run(custom, 2), first);
}

INSTANTIATE_TEST_SUITE_P(Transports, LossTest,
                         testing::Values(Lossy{"ns3:datacenter", "ns3::TcpNewReno", 0.02},
                                         Lossy{"ns3:datacenter", "ns3::TcpLinuxReno", 0.02},
                                         Lossy{"ns3:datacenter", "ns3::TcpDctcp", 0.02},
                                         Lossy{"ns3:datacenter", "ns3::TcpNewReno", 0.1},
                                         Lossy{"ns3:datacenter", "ns3::TcpDctcp", 0.1},
                                         Lossy{"datacenter", "reno", 0.02},
                                         Lossy{"datacenter", "cubic", 0.02},
                                         Lossy{"datacenter", "dctcp", 0.02},
                                         Lossy{"datacenter", "reno", 0.1},
                                         Lossy{"datacenter", "bbr", 0.1}));

// Mathis et al., CCR 27(3), 1997: the rate is within the 20 % of the model's accuracy.
TEST(MathisTest, LossSetsTheRate) {
  for (const TimeNs round_trip : {TimeNs{50'000'000}, TimeNs{10'000'000}}) {
    fabric::MathisCase reference;
    reference.lossRate = 1e-2;
    reference.roundTrip = round_trip;
    reference.duration = 60'000'000'000;
    reference.warmUp = 5'000'000'000;
    const fabric::MathisResult result = fabric::RunMathisCase(reference);
    EXPECT_EQ(result.roundTrip, round_trip);
    EXPECT_NEAR(result.goodputBps / result.formulaBps, 1.0, 0.2);
    RecordProperty("ratio", std::to_string(result.goodputBps / result.formulaBps));
  }
}

// ---------------------------------------------------------------------------------------------
// Several paths, and ends at switches
// ---------------------------------------------------------------------------------------------

// Returns two hosts, each with one link to its leaf, and four spines between the leaves.
Custom LeafSpine(fabric::Multipath multipath, int64_t spine_rate) {
  Custom custom;
  custom.topology.SetMultipath(multipath);
  const int a = custom.topology.AddHost("a");
  const int b = custom.topology.AddHost("b");
  const int left = custom.topology.AddSwitch("left");
  const int right = custom.topology.AddSwitch("right");
  custom.topology.AddLink({a, left, 10'000, {kGigabit}});
  custom.topology.AddLink({b, right, 10'000, {kGigabit}});
  for (int i = 0; i < 4; ++i) {
    const int spine = custom.topology.AddSwitch("spine");
    custom.topology.AddLink({left, spine, 10'000, {spine_rate}});
    custom.topology.AddLink({spine, right, 10'000, {spine_rate}});
  }
  custom.placement.hosts = {a, b};
  return custom;
}

TimeNs OneFlow(fabric::Engine& engine, int64_t bytes) {
  Burst burst({{0, 1, bytes, 0}});
  engine.Submit(burst, 0);
  EXPECT_TRUE(engine.RunUntil(kNever));
  return burst.arrived[0];
}

TEST(SprayTest, OnePairUsesAllEqualPathsAlikeAndDrawsNothing) {
  const Custom custom = LeafSpine(fabric::Multipath::Spray, kGigabit);
  auto engine = fabric::MakePacketEngine(custom.Request());
  EXPECT_FALSE(engine->Random());
  OneFlow(*engine, 1'000'000);
  const std::vector<LinkCounters> links = engine->Links();
  // Link 2 + 2 i leads up to spine i, link 3 + 2 i down from it.
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(links[2 * (2 + 2 * i)].packets), links[0].packets / 4.0, 1.0);
    EXPECT_EQ(links[2 * (3 + 2 * i)].packets, links[2 * (2 + 2 * i)].packets);
  }
}

// Spines have a quarter of the host's rate: one flow fills all of them by spray, and one by hash.
TEST(SprayTest, FourSlowPathsAreOneFastOne) {
  const int64_t bytes = 5'000'000;
  TimeNs times[2];
  for (const fabric::Multipath multipath : {fabric::Multipath::Ecmp, fabric::Multipath::Spray}) {
    const Custom custom = LeafSpine(multipath, kGigabit / 4);
    auto engine = fabric::MakePacketEngine(custom.Request());
    times[multipath == fabric::Multipath::Spray] = OneFlow(*engine, bytes);
    EXPECT_EQ(engine->Counters().retransmitTimeouts, 0u);
  }
  EXPECT_NEAR(static_cast<double>(times[0]) / static_cast<double>(times[1]), 4.0, 0.5);
}

// Under spray a loss takes a hundred duplicate ACKs, so that one near the end waits for the timer.
TEST(SprayTest, LossIsRepaired) {
  Custom custom;
  custom.topology.SetMultipath(fabric::Multipath::Spray);
  const Custom clean = LeafSpine(fabric::Multipath::Spray, kGigabit);
  for (int node = 0; node < clean.topology.NodeCount(); ++node) {
    const std::string& name = clean.topology.NodeName(node);
    clean.topology.IsHost(node) ? custom.topology.AddHost(name) : custom.topology.AddSwitch(name);
  }
  for (fabric::Link link : clean.topology.Links()) {
    for (fabric::Port& port : link.ports) port.errorRate = 0.005;
    custom.topology.AddLink(link);
  }
  custom.placement = clean.placement;
  auto engine = fabric::MakePacketEngine(custom.Request());
  EXPECT_TRUE(engine->Random());
  EXPECT_GT(OneFlow(*engine, 1'000'000), 0);
  EXPECT_GT(Sum(*engine).drops, 0);
}

// Four hosts each have a link to each of two switches, as where every NIC has its own rail.
// ns-3's stack sprays at hosts, and connections of ours keep to a port of their NIC.
TEST(MultiHomedTest, HostsUseBothLinksByHashOrByPacket) {
  for (const auto& [multipath, preset, least] :
       {std::tuple{fabric::Multipath::Ecmp, "datacenter", 8},
        std::tuple{fabric::Multipath::Spray, "datacenter", 8},
        std::tuple{fabric::Multipath::Ecmp, "ns3:datacenter", 8},
        std::tuple{fabric::Multipath::Spray, "ns3:datacenter", 15}}) {
    Custom custom;
    custom.transport = fabric::MakeTransport(preset);
    custom.topology.SetMultipath(multipath);
    for (const char* name : {"a", "b", "c", "d"}) {
      custom.placement.hosts.push_back(custom.topology.AddHost(name));
    }
    for (const char* name : {"rail 0", "rail 1"}) {
      const int rail = custom.topology.AddSwitch(name);
      for (int host : custom.placement.hosts) {
        custom.topology.AddLink({host, rail, 10'000, {kGigabit}});
      }
    }
    auto engine = fabric::MakePacketEngine(custom.Request());
    std::vector<fabric::Flow> flows;
    for (int from = 0; from < 4; ++from) {
      for (int to = 0; to < 4; ++to) {
        if (from != to) flows.push_back({from, to, 100'000, 0});
      }
    }
    Burst burst(flows);
    engine->Submit(burst, 0);
    ASSERT_TRUE(engine->RunUntil(kNever));
    int used = 0;
    for (const LinkCounters& link : engine->Links()) used += link.packets > 0 ? 1 : 0;
    // There are 16 directions of links; one rail alone has 8.
    EXPECT_GT(used, least) << preset;
  }
}

// Partial sums go up to a switch, and the sum comes down again.
TEST(AggregatorTest, SwitchesSendAndReceive) {
  Custom custom;
  const int a = custom.topology.AddHost("a");
  const int b = custom.topology.AddHost("b");
  const int leaf = custom.topology.AddSwitch("leaf");
  const int root = custom.topology.AddSwitch("root");
  custom.topology.AddLink({a, leaf, 10'000, {kGigabit}});
  custom.topology.AddLink({b, leaf, 10'000, {kGigabit}});
  custom.topology.AddLink({leaf, root, 10'000, {kGigabit}});
  custom.placement.hosts = {a, b};
  custom.placement.aggregators = {leaf, root};
  custom.placement.parents = {2, 2, 3, -1};
  auto engine = fabric::MakePacketEngine(custom.Request());
  const int64_t bytes = 144'800;  // 100 segments
  Burst burst({{0, 2, bytes, 0}, {2, 3, bytes, 0}, {3, 2, bytes, 0}, {2, 1, bytes, 0}});
  engine->Submit(burst, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const TimeNs light = SerialisationTime(custom.transport.WireBytes(bytes), kGigabit);
  for (TimeNs when : burst.arrived) {
    EXPECT_GT(when, light);  // all at once, each over its own direction of a link
    EXPECT_LT(when, light * 1.3);
  }
  const std::vector<LinkCounters> links = engine->Links();
  EXPECT_GE(links[0].packets, 100);               // a to leaf
  EXPECT_EQ(links[4].packets, links[5].packets);  // leaf to root, and back
  EXPECT_EQ(engine->Counters().packets, links[1].packets + links[3].packets);
}

// ---------------------------------------------------------------------------------------------
// Peak
// ---------------------------------------------------------------------------------------------

TEST(PeakTest, IsTheBusiestMillisecond) {
  Scenario scenario;
  scenario.workers = 2;
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  Burst small({{0, 1, 14'480, 0}});  // a tenth of a millisecond
  engine->Submit(small, 0);
  ASSERT_TRUE(engine->RunUntil(kNever));
  const LinkCounters before = engine->Links()[0];
  EXPECT_DOUBLE_EQ(before.peak, static_cast<double>(before.busy) / fabric::kPeakWindow);

  Burst large({{0, 1, 1'000'000, 0}});  // eight milliseconds
  engine->Submit(large, engine->Now());
  ASSERT_TRUE(engine->RunUntil(kNever));
  EXPECT_GT(engine->Links()[0].peak, 0.99);
  EXPECT_LE(engine->Links()[0].peak, 1.0);
  EXPECT_LT(engine->Links()[1].peak, 0.1);  // ACKs only
}

// A packet that takes 12 milliseconds fills windows in which no other packet starts.
TEST(PeakTest, OfABusySlowLinkIsOne) {
  Scenario scenario;
  scenario.workers = 2;
  scenario.rate_bps = 1'000'000;
  scenario.transport = fabric::MakeTransport("wan");
  const Fabric fabric(scenario);
  auto engine = fabric::MakePacketEngine(fabric.request);
  OneFlow(*engine, 1'448);
  EXPECT_DOUBLE_EQ(engine->Links()[0].peak, 1.0);
  EXPECT_LT(engine->Links()[1].peak, 1.0);  // SYN-ACK and ACKs: half a millisecond each
}

}  // namespace
}  // namespace legacy::packet_test
