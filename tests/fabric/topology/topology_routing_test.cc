// Routes of every named topology against an all-pairs oracle, and shares of sprayed packets.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/shortest-paths.h"
#include "ns3-module/fabric/topology/topology.h"
#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/topology/topology_testing.h"

namespace legacy::fabric::topology_routing_test {
namespace {

Topology Make(const std::string& text) {
  TopologyRequest request;
  request.text = text;
  return MakeTopology(request);
}

// Returns the outgoing links of `node` that lead one hop closer to the destination.
std::vector<DirectedLink> OracleHops(const Topology& topology,
                                     const std::vector<std::vector<int>>& distance, int node,
                                     int destination) {
  std::vector<DirectedLink> hops;
  for (DirectedLink link : topology.Out(node)) {
    const int next = topology.To(link);
    const bool forwards = next == destination || !topology.IsHost(next);
    if (node != destination && distance[node][destination] < kFar && forwards &&
        distance[next][destination] == distance[node][destination] - 1) {
      hops.push_back(link);
    }
  }
  return hops;
}

void ExpectOracleHops(const Topology& topology) {
  const auto distance = AllDistances(topology);
  for (int node = 0; node < topology.NodeCount(); ++node) {
    for (int destination = 0; destination < topology.NodeCount(); ++destination) {
      const auto hops = OracleHops(topology, distance, node, destination);
      if (node != destination && hops.empty()) {
        ASSERT_NE(MessageOf([&] { topology.NextHops(node, destination); }), "");
        ASSERT_NE(MessageOf([&] { topology.NextHop(node, node, destination, 0); }), "");
        continue;
      }
      ASSERT_EQ(topology.NextHops(node, destination), hops)
          << topology.Name() << " " << topology.NodeName(node) << " to "
          << topology.NodeName(destination);
      if (node == destination) continue;
      const DirectedLink taken = topology.NextHop(node, node, destination, 3);
      ASSERT_EQ(std::count(hops.begin(), hops.end(), taken), 1);
    }
  }
}

class Named : public testing::TestWithParam<const char*> {};

TEST_P(Named, NextHopsAreThoseOfTheOracleBetweenAllNodes) { ExpectOracleHops(Make(GetParam())); }

TEST_P(Named, WalkTakesEveryLinkOfAShortestPathOnce) {
  const Topology topology = Make(GetParam());
  const auto distance = AllDistances(topology);
  for (int origin : topology.Hosts()) {
    std::map<DirectedLink, int> steps, expected;
    for (int node = 0; node < topology.NodeCount(); ++node) {
      if (distance[origin][node] >= kFar || (node != origin && topology.IsHost(node))) continue;
      for (DirectedLink link : topology.Out(node)) {
        if (distance[origin][topology.To(link)] == distance[origin][node] + 1) ++expected[link];
      }
    }
    std::map<int, int> arrived, reached;
    for (int host : topology.Hosts()) {
      if (host != origin && distance[origin][host] < kFar) reached[host] = distance[origin][host];
    }
    WalkShortestPaths(
        topology, origin, [&](int, DirectedLink link, int) { ++steps[link]; },
        [&](int host, int hops) { arrived[host] = hops; });
    ASSERT_EQ(steps, expected);
    ASSERT_EQ(arrived, reached);
  }
}

TEST_P(Named, SprayedSharesFlowFromSourceToDestination) {
  Topology topology = Make(GetParam());
  topology.SetMultipath(Multipath::Spray);
  const auto distance = AllDistances(topology);
  for (int source : topology.Hosts()) {
    for (int destination : topology.Hosts()) {
      const auto shares = topology.Shares(source, destination, 0);
      if (source == destination) {
        ASSERT_TRUE(shares.empty());
        continue;
      }
      std::map<int, double> in{{source, 1}};
      std::map<int, double> out{{destination, 1}};
      for (const LinkShare& share : shares) {
        ASSERT_GT(share.share, 0);
        in[topology.To(share.link)] += share.share;
        out[topology.From(share.link)] += share.share;
      }
      ASSERT_EQ(in.size(), out.size());
      for (const auto& [node, share] : in) ASSERT_NEAR(out[node], share, 1e-12);
      // Every next hop of a node carries the same fraction of the node's input.
      for (const LinkShare& share : shares) {
        const int from = topology.From(share.link);
        const auto hops = OracleHops(topology, distance, from, destination);
        ASSERT_EQ(std::count(hops.begin(), hops.end(), share.link), 1);
        ASSERT_NEAR(share.share, in[from] / static_cast<double>(hops.size()), 1e-12);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Named,
                         testing::Values("fat-tree:k=4", "leaf-spine:leaves=3,hosts=2,spines=3",
                                         "torus:x=4,y=3", "torus:x=3,y=2,z=3", "ring:hosts=7",
                                         "dragonfly:groups=5,routers=4,hosts=1,global=1",
                                         "dragonfly:groups=3,routers=3,hosts=2",
                                         "rail-optimised:nodes=3,gpus=4,spines=2",
                                         "nodes:nodes=3,gpus=2,leaves=2", "dumbbell:left=2,right=3",
                                         "star:hosts=5"));

// In these graphs hosts have several links or none, are linked to hosts, and links are parallel.
TEST(Routing, EqualsTheOracleOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    uint64_t draws = 0;
    const auto draw = [&](uint64_t bound) {
      return static_cast<int>(Reduce(HashWords({seed, draws++}), bound));
    };
    Topology topology;
    const int nodes = 2 + draw(12);
    for (int i = 0; i < nodes; ++i) draw(3) ? topology.AddSwitch("s") : topology.AddHost("h");
    for (int i = draw(3 * nodes); i > 0; --i) {
      const int a = draw(nodes);
      const int b = draw(nodes);
      if (a != b) topology.AddLink({a, b, 0, {1'000'000}});
    }
    ExpectOracleHops(topology);
  }
}

// Trees of switches and hosts, deeper than routing takes off, hang on a ring; some hang only on
// each other.
TEST(Routing, EqualsTheOracleWhereTreesHang) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    uint64_t draws = 0;
    const auto draw = [&](uint64_t bound) {
      return static_cast<int>(Reduce(HashWords({seed, draws++}), bound));
    };
    Topology topology;
    const int ring = draw(5);
    for (int i = 0; i < ring; ++i) topology.AddSwitch("r");
    for (int i = 0; ring > 2 && i < ring; ++i) {
      topology.AddLink({i, (i + 1) % ring, 0, {1'000'000}});
    }
    for (int i = 0; i < 16; ++i) {
      const int node = draw(3) ? topology.AddSwitch("s") : topology.AddHost("h");
      // A chain at times, so that trees are deep.
      if (node > 0) topology.AddLink({node, draw(2) ? node - 1 : draw(node), 0, {1'000'000}});
    }
    ExpectOracleHops(topology);
  }
}

// A table for each home, or a walk over all homes for each, would take many gigabytes and minutes.
TEST(Routing, ReachesHundredsOfThousandsOfHomesWithLinesOfTheirOwn) {
  constexpr int kHomes = 300'000;
  Topology topology;
  const int core = topology.AddSwitch("core");
  const int server = topology.AddHost("server");
  topology.AddLink({core, server, 0, {1'000'000}});
  for (int i = 0; i < kHomes; ++i) {
    const int line = topology.AddSwitch("line");
    topology.AddLink({core, line, 0, {1'000'000}});
    topology.AddLink({line, topology.AddHost("client"), 0, {1'000'000}});
  }
  for (int i = 0; i < kHomes; ++i) {
    const int client = 3 + 2 * i;
    ASSERT_EQ(topology.Route(server, client, 0).size(), 3u);
    ASSERT_EQ(topology.Route(client, server, 0).size(), 3u);
  }
}

// There are more candidates than a word of the tables has bits, at any offset.
TEST(Routing, FindsEveryNextHopAmongHundreds) {
  const Topology topology = Make("leaf-spine:leaves=3,hosts=1,spines=150");
  const int leaf = topology.To(topology.NextHops(1, 2)[0]);
  const auto hops = topology.NextHops(leaf, 2);
  EXPECT_EQ(hops.size(), 150u);
  std::map<DirectedLink, int> taken;
  for (uint32_t channel = 0; channel < 15'000; ++channel) {
    ++taken[topology.NextHop(leaf, 1, 2, channel)];
  }
  EXPECT_EQ(taken.size(), 150u);
  for (const auto& [link, count] : taken) EXPECT_NEAR(count, 100, 5 * 10) << "binomial, sd 10";
}

TEST(Routing, TablesFollowTheTopologyAndItsCopies) {
  Topology topology = Make("dumbbell:left=1,right=1");
  EXPECT_EQ(topology.Route(0, 1, 0).size(), 3u);
  Topology copy = topology;
  copy.AddLink({0, 1, 0, {1'000'000}});
  EXPECT_EQ(copy.Route(0, 1, 0).size(), 1u);
  EXPECT_EQ(topology.Route(0, 1, 0).size(), 3u);
  topology = copy;
  EXPECT_EQ(topology.Route(0, 1, 0).size(), 1u);
  const Topology moved = std::move(topology);
  EXPECT_EQ(moved.Route(1, 0, 0).size(), 1u);
}

TEST(Routing, ThreadsThatAskAtOnceGetTheSameRoutes) {
  const Topology alone = Make("fat-tree:k=6");
  const Topology shared = Make("fat-tree:k=6");
  std::vector<std::vector<DirectedLink>> routes[4];
  std::vector<std::thread> threads;
  for (auto& mine : routes) {
    threads.emplace_back([&shared, &mine] {
      for (int i = 0; i < 54 * 54; ++i) mine.push_back(shared.Route(i / 54, i % 54, 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 54 * 54; ++i) {
    for (const auto& mine : routes) ASSERT_EQ(mine[i], alone.Route(i / 54, i % 54, 0));
  }
}

}  // namespace
}  // namespace legacy::fabric::topology_routing_test