#include "ns3-module/fabric/topology/topology.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/topology/topology_testing.h"

namespace legacy::fabric::topology_test {
namespace {

class FatTree : public testing::TestWithParam<int> {};

TEST_P(FatTree, HasTheCountsAndPathLengthsOfThePaper) {
  const int k = GetParam();
  const int half = k / 2;
  const Topology topology = BuildFatTree(k, {}, {}, {});
  const int hosts = static_cast<int>(topology.Hosts().size());
  EXPECT_EQ(hosts, k * k * k / 4);
  EXPECT_EQ(topology.NodeCount() - hosts, 5 * k * k / 4);
  EXPECT_EQ(topology.Links().size(), 3u * hosts);  // a host's, and as many at each of two tiers up
  std::map<int, int> ports;
  for (const Link& link : topology.Links()) {
    ++ports[link.a];
    ++ports[link.b];
  }
  for (int node = 0; node < topology.NodeCount(); ++node) {
    EXPECT_EQ(ports[node], topology.IsHost(node) ? 1 : k);
  }
  for (int a = 0; a < hosts; ++a) {
    for (int b = 0; b < hosts; b += 3) {
      const size_t hops = a == b                                   ? 0
                          : a / half == b / half                   ? 2
                          : a / (half * half) == b / (half * half) ? 4
                                                                   : 6;
      ASSERT_EQ(topology.Route(a, b, 0).size(), hops) << a << " to " << b;
    }
  }
  // There are k/2 ways up at the edge and at the aggregation, and one way down.
  const auto up = topology.NextHops(0, hosts - 1);
  ASSERT_EQ(up.size(), 1u);
  const auto& edge = topology.NextHops(topology.To(up[0]), hosts - 1);
  EXPECT_EQ(edge.size(), static_cast<size_t>(half));
  const auto& aggregation = topology.NextHops(topology.To(edge[0]), hosts - 1);
  EXPECT_EQ(aggregation.size(), static_cast<size_t>(half));
  EXPECT_EQ(topology.NextHops(topology.To(aggregation[0]), hosts - 1).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FatTree, testing::Values(4, 6, 8));

TEST(Topology, RoutesAreShortestLoopFreeAndMadeOfNextHops) {
  for (const Topology& topology : {BuildFatTree(4, {}, {}, {}), BuildLeafSpine(3, 2, 2, {}, {}),
                                   BuildDumbbell(2, 3, {}, {})}) {
    const auto distance = AllDistances(topology);
    for (int a : topology.Hosts()) {
      for (int b : topology.Hosts()) {
        for (uint32_t channel : {0u, 7u}) {
          const auto route = topology.Route(a, b, channel);
          ASSERT_EQ(route.size(), static_cast<size_t>(distance[a][b]));
          std::set<int> seen{a};
          int node = a;
          for (DirectedLink link : route) {
            ASSERT_EQ(topology.From(link), node);
            ASSERT_EQ(topology.NextHop(node, a, b, channel), link);
            node = topology.To(link);
            ASSERT_TRUE(seen.insert(node).second);
          }
          ASSERT_EQ(node, b);
        }
      }
    }
  }
}

TEST(Topology, EcmpSpreadsEvenlyAndIsAFunctionOfItsKey) {
  Topology topology = BuildLeafSpine(2, 64, 8, {}, {});
  const int leaf = topology.To(topology.NextHops(0, 127)[0]);
  std::map<DirectedLink, int> flows;
  std::vector<DirectedLink> taken;
  for (int source = 0; source < 64; ++source) {
    for (int destination = 64; destination < 128; ++destination) {
      const DirectedLink link = topology.NextHop(leaf, source, destination, 0);
      ++flows[link];
      taken.push_back(link);
    }
  }
  ASSERT_EQ(flows.size(), 8u);
  for (const auto& [link, count] : flows) {
    EXPECT_NEAR(count, 512, 5 * 21) << "binomial, sd 21";
  }
  const Topology again = BuildLeafSpine(2, 64, 8, {}, {});
  int moved_by_channel = 0;
  int moved_by_seed = 0;
  topology.SetEcmpSeed(2);
  for (int i = 0; i < 64 * 64; ++i) {
    const int source = i / 64;
    const int destination = 64 + i % 64;
    ASSERT_EQ(again.NextHop(leaf, source, destination, 0), taken[i]);
    moved_by_channel += again.NextHop(leaf, source, destination, 1) != taken[i];
    moved_by_seed += topology.NextHop(leaf, source, destination, 0) != taken[i];
  }
  EXPECT_NEAR(moved_by_channel / 4096.0, 7.0 / 8, 0.03);
  EXPECT_NEAR(moved_by_seed / 4096.0, 7.0 / 8, 0.03);
}

TEST(Topology, ChoicesOfSuccessiveSwitchesAreIndependent) {
  const Topology topology = BuildFatTree(8, {}, {}, {});
  std::map<int, int> flows;  // by core switch, the third hop
  for (int source = 0; source < 64; ++source) {
    for (int destination = 64; destination < 128; ++destination) {
      ++flows[topology.From(topology.Route(source, destination, 0)[3])];
    }
  }
  ASSERT_EQ(flows.size(), 16u);
  for (const auto& [core, count] : flows) EXPECT_NEAR(count, 256, 5 * 16) << "binomial, sd 15.5";
}

TEST(Topology, HostsDoNotForward) {
  Topology topology;
  topology.SetName("bridge");
  const int a = topology.AddHost("a");
  const int middle = topology.AddHost("middle");
  const int b = topology.AddHost("b");
  topology.AddLink({a, middle, 0, {1'000'000}});
  topology.AddLink({middle, b, 0, {1'000'000}});
  EXPECT_EQ(topology.Route(a, middle, 0).size(), 1u);
  EXPECT_EQ(MessageOf([&] { topology.Route(a, b, 0); }), "topology bridge: no path from a to b");
  // A shorter path through a host must not hide the longer one around it.
  const int left = topology.AddSwitch("left");
  const int right = topology.AddSwitch("right");
  topology.AddLink({a, left, 0, {1'000'000}});
  topology.AddLink({left, right, 0, {1'000'000}});
  topology.AddLink({right, b, 0, {1'000'000}});
  EXPECT_EQ(topology.Route(a, b, 0), (std::vector<DirectedLink>{4, 6, 8}));
}

TEST(Topology, RefusesInvalidLinks) {
  Topology topology;
  topology.AddHost("a");
  topology.AddHost("b");
  EXPECT_EQ(MessageOf([&] {
              topology.AddLink({0, 2, 0, {1}});
            }),
            "link: got '0-2'; allowed: two different nodes below 2");
  EXPECT_NE(MessageOf([&] { topology.AddLink({1, 1, 0, {1}}); }), "");
  EXPECT_NE(MessageOf([&] { topology.AddLink({0, 1, 0, {0}}); }), "");
  EXPECT_NE(MessageOf([&] { topology.AddLink({0, 1, -1, {1}}); }), "");
  EXPECT_NE(MessageOf([&] { topology.AddLink({0, 1, 0, {1, -1}}); }), "");
  EXPECT_TRUE(topology.Links().empty());
}

TEST(Topology, FingerprintSeesEveryLinkAndTheSeed) {
  const std::string base = BuildStar(4, {}).Fingerprint();
  EXPECT_EQ(BuildStar(4, {}).Fingerprint(), base);
  std::set<std::string> all{base, BuildStar(5, {}).Fingerprint(),
                            BuildStar(4, {2'000'000'000, 10'000, 0}).Fingerprint(),
                            BuildStar(4, {1'000'000'000, 9'999, 0}).Fingerprint(),
                            BuildStar(4, {1'000'000'000, 10'000, 1}).Fingerprint()};
  Topology reseeded = BuildStar(4, {});
  reseeded.SetEcmpSeed(2);
  all.insert(reseeded.Fingerprint());
  EXPECT_EQ(all.size(), 6u);
}

TEST(Topology, OtherLinksKeepTheRoutes) {
  const Topology topology = BuildFatTree(4, {}, {}, {});
  const Topology fast = topology.WithLinks([](int index, Link& link) {
    if (index == 3) link.SpeedUp(2);
    link.a = 0;  // the ends stay
  });
  for (size_t i = 0; i < topology.Links().size(); ++i) {
    EXPECT_EQ(fast.Links()[i].ports[0].rateBps,
              topology.Links()[i].ports[0].rateBps * (i == 3 ? 2 : 1));
    EXPECT_EQ(fast.Links()[i].a, topology.Links()[i].a);
  }
  for (const int a : topology.Hosts()) {
    for (const int b : topology.Hosts()) {
      EXPECT_EQ(fast.Route(a, b, 7), topology.Route(a, b, 7));
    }
  }
  EXPECT_NE(fast.Fingerprint(), topology.Fingerprint());
  EXPECT_EQ(topology.WithLinks([](int, Link&) {}).Fingerprint(), topology.Fingerprint());
  const std::string message =
      MessageOf([&] { topology.WithLinks([](int, Link& link) { link.ports[0].rateBps = 0; }); });
  EXPECT_NE(message.find("rate of link"), std::string::npos) << message;
}

}  // namespace
}  // namespace legacy::fabric::topology_test