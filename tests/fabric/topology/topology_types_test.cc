// The named topologies: their links, their sizes from the hosts needed, their tiers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/builders.h"
#include "ns3-module/fabric/topology/report.h"
#include "ns3-module/fabric/topology/topology.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::topology_types_test {
namespace {

Topology Make(const std::string& text, int hosts_needed = 0) {
  TopologyRequest request;
  request.text = text;
  request.hostsNeeded = hosts_needed;
  return MakeTopology(request);
}

std::string ErrorOf(const std::string& text, int hosts_needed = 0) {
  return MessageOf([&] { Make(text, hosts_needed); });
}

size_t Hosts(const std::string& text, int hosts_needed = 0) {
  return Make(text, hosts_needed).Hosts().size();
}

// Returns the links of `topology` as pairs of nodes, the smaller number first. Fails on parallel
// links.
std::set<std::pair<int, int>> Pairs(const Topology& topology) {
  std::set<std::pair<int, int>> pairs;
  for (const Link& link : topology.Links()) {
    EXPECT_TRUE(pairs.insert(std::minmax(link.a, link.b)).second)
        << topology.Name() << " " << link.a << " " << link.b;
  }
  return pairs;
}

// Returns the number of links of a node to hosts and to switches.
std::pair<int, int> Degrees(const Topology& topology, int node) {
  std::pair<int, int> degrees;
  for (DirectedLink link : topology.Out(node)) {
    ++(topology.IsHost(topology.To(link)) ? degrees.first : degrees.second);
  }
  return degrees;
}

TEST(Torus, NeighboursDifferByOneInOneCoordinate) {
  for (const auto& [x, y, z] : {std::tuple{4, 3, 1}, {2, 3, 5}, {1, 1, 1}, {2, 1, 1}, {3, 2, 2}}) {
    const Topology topology = BuildTorus(x, y, z, {}, {});
    const int count = x * y * z;
    ASSERT_EQ(topology.Hosts().size(), static_cast<size_t>(count));
    std::set<std::pair<int, int>> expected;
    const auto router = [&, x = x, y = y, z = z](int i, int j, int k) {
      return count + i % x + x * (j % y + y * (k % z));
    };
    for (int i = 0; i < x; ++i) {
      for (int j = 0; j < y; ++j) {
        for (int k = 0; k < z; ++k) {
          const int here = router(i, j, k);
          expected.emplace(here - count, here);
          for (int there : {router(i + 1, j, k), router(i, j + 1, k), router(i, j, k + 1)}) {
            if (here != there) expected.insert(std::minmax(here, there));
          }
        }
      }
    }
    EXPECT_EQ(Pairs(topology), expected);
    EXPECT_EQ(topology.Links().size(), expected.size());
  }
}

TEST(Ring, IsATorusOfOneDimension) {
  EXPECT_EQ(Pairs(BuildRing(5, {}, {})), Pairs(BuildTorus(5, 1, 1, {}, {})));
  EXPECT_EQ(Make("ring:hosts=6").Route(0, 3, 0).size(), 5u);
}

TEST(Dragonfly, GroupsAreMeshesAndEveryTwoAreJoined) {
  for (const DragonflySize& size : {DragonflySize{9, 4, 2, 1}, DragonflySize{4, 4, 2, 2},
                                    DragonflySize{5, 3, 1, 3}, DragonflySize{1, 3, 1, 1}}) {
    const Topology topology = BuildDragonfly(size, {}, {}, {});
    const int hosts = size.groups * size.routers * size.hosts;
    std::map<std::pair<int, int>, int> joined;  // links between groups
    std::map<int, int> global;                  // links to other groups, by router
    int local = 0;
    for (const auto& [a, b] : Pairs(topology)) {
      if (a < hosts) {
        EXPECT_EQ(b - hosts, a / size.hosts);
        continue;
      }
      const auto groups = std::minmax({(a - hosts) / size.routers, (b - hosts) / size.routers});
      if (groups.first == groups.second) {
        ++local;
      } else {
        ++joined[groups];
        ++global[a];
        ++global[b];
      }
    }
    EXPECT_EQ(local, size.groups * size.routers * (size.routers - 1) / 2);
    EXPECT_EQ(joined.size(), static_cast<size_t>(size.groups * (size.groups - 1) / 2));
    for (const auto& [groups, links] : joined) EXPECT_EQ(links, size.global);
    // Global links are spread over the routers: no router of a group has two more than another.
    const int ports = (size.groups - 1) * size.global;
    for (const auto& [router, links] : global) {
      EXPECT_GE(links, ports / size.routers);
      EXPECT_LE(links, (ports + size.routers - 1) / size.routers);
    }
  }
}

TEST(RailOptimised, RailsKeepToTheirOwnGpu) {
  const Topology topology = Make("rail-optimised:nodes=4,gpus=2,spines=3,rate=1Gbps");
  EXPECT_EQ(topology.Hosts().size(), 8u);
  EXPECT_EQ(topology.Links().size(), 8u + 8u + 2u * 3u);
  for (int host : topology.Hosts()) EXPECT_EQ(Degrees(topology, host), std::pair(0, 2));
  EXPECT_EQ(topology.Route(0, 1, 0).size(), 2u);  // inside a node
  EXPECT_EQ(topology.Route(1, 7, 0).size(), 2u);  // on a rail
  EXPECT_EQ(topology.Route(0, 7, 0).size(), 4u);  // from rail to rail
  const auto name_after = [&](int a, int b) {
    return topology.NodeName(topology.To(topology.Route(a, b, 0)[0]));
  };
  EXPECT_EQ(name_after(0, 1), "node0");
  EXPECT_EQ(name_after(1, 7), "rail1");
  EXPECT_EQ(name_after(0, 7), "rail0");
  EXPECT_EQ(topology.PortOf(topology.Route(0, 1, 0)[0]).rateBps, 8'000'000'000);
  EXPECT_EQ(topology.PortOf(topology.Route(1, 7, 0)[0]).rateBps, 1'000'000'000);
  const Topology narrow = Make("rail-optimised:nodes=8,gpus=2,spines=2,oversubscription=2");
  EXPECT_EQ(narrow.Links().back().ports[0].rateBps, 2'000'000'000);  // 8 / (2 x 2)
}

TEST(Nodes, EveryNodeReachesEveryLeaf) {
  const Topology topology = Make("nodes:nodes=3,gpus=4,leaves=2,node.rate=5Gbps");
  EXPECT_EQ(topology.Hosts().size(), 12u);
  EXPECT_EQ(topology.Links().size(), 12u + 6u);
  EXPECT_EQ(topology.Links().front().ports[0].rateBps, 5'000'000'000);
  EXPECT_EQ(topology.Links().back().ports[0].rateBps, 1'000'000'000);
  EXPECT_EQ(topology.Route(0, 3, 0).size(), 2u);
  EXPECT_EQ(topology.Route(0, 4, 0).size(), 4u);
  EXPECT_EQ(topology.NextHops(12, 4).size(), 2u);
  EXPECT_EQ(Make("nodes:nodes=2,gpus=2").NodeCount(), 4 + 2 + 1);
}

TEST(FatTree, OversubscriptionDividesTheUplinksItNames) {
  // Sums of the rates at the three tiers.
  const auto tiers = [](const std::string& text) {
    const Topology topology = Make(text);
    const size_t count = topology.Hosts().size();
    std::vector<int64_t> sums(3);
    for (const Link& link : topology.Links()) {
      const bool core = topology.NodeName(link.b).rfind("core", 0) == 0;
      sums[topology.IsHost(link.a) ? 0 : core ? 2 : 1] += link.ports[0].rateBps;
    }
    EXPECT_EQ(topology.Links().size(), 3 * count);
    return sums;
  };
  constexpr int64_t kAll = 16'000'000'000;
  EXPECT_EQ(tiers("fat-tree:k=4"), (std::vector<int64_t>{kAll, kAll, kAll}));
  EXPECT_EQ(tiers("fat-tree:k=4,oversubscription=4"),
            (std::vector<int64_t>{kAll, kAll / 4, kAll / 4}));
  EXPECT_EQ(tiers("fat-tree:k=4,core.oversubscription=4"),
            (std::vector<int64_t>{kAll, kAll, kAll / 4}));
  EXPECT_EQ(tiers("fat-tree:k=4,oversubscription=2,core.oversubscription=4"),
            (std::vector<int64_t>{kAll, kAll / 2, kAll / 8}));
  EXPECT_EQ(ErrorOf("fat-tree:core.rate=1Gbps,core.oversubscription=2"),
            "topology: core.oversubscription: got '2'; allowed: either this or core.rate, which "
            "follow from each other");
  EXPECT_NE(ErrorOf("fat-tree:aggregation.rate=1Gbps,oversubscription=2").find("aggregation.rate"),
            std::string::npos);
}

TEST(FatTree, GpusOfANodeAreOnOneEdgeSwitchEach) {
  const Topology topology = Make("fat-tree:k=8,gpus=2,rate=1Gbps");
  EXPECT_EQ(topology.Hosts().size(), 128u);
  EXPECT_EQ(topology.Links().size(), 4u * 128u);
  for (int host : topology.Hosts()) EXPECT_EQ(Degrees(topology, host), std::pair(0, 2));
  const auto name_after = [&](int a, int b) {
    return topology.NodeName(topology.To(topology.Route(a, b, 0)[0]));
  };
  EXPECT_EQ(topology.Route(0, 1, 0).size(), 2u);
  EXPECT_EQ(name_after(0, 1), "node0");
  EXPECT_EQ(topology.PortOf(topology.Route(0, 1, 0)[0]).rateBps, 8'000'000'000);
  EXPECT_EQ(topology.Route(1, 7, 0).size(), 2u);  // the fourth node: GPU 1 of each on an edge
  EXPECT_EQ(name_after(1, 7), "edge1");
  EXPECT_EQ(topology.PortOf(topology.Route(1, 7, 0)[0]).rateBps, 1'000'000'000);
  EXPECT_EQ(topology.Route(0, 7, 0).size(), 4u);
  EXPECT_EQ(name_after(8, 0), "edge2");
  EXPECT_EQ(topology.Route(0, 8, 0).size(), 4u);   // the same pod
  EXPECT_EQ(topology.Route(0, 16, 0).size(), 6u);  // the next one
  EXPECT_EQ(ErrorOf("fat-tree:k=8,gpus=3"),
            "topology: gpus: got '3'; allowed: a divisor of k/2 = 4");
}

TEST(Types, SizesFollowFromTheHostsNeeded) {
  EXPECT_EQ(Hosts("torus", 1024), 1024u);  // 16 x 8 x 8
  EXPECT_EQ(Make("torus", 1024).NodeName(2047), "router15.7.7");
  EXPECT_EQ(Hosts("torus", 16), 16u);      // 4 x 2 x 2
  EXPECT_EQ(Hosts("torus", 17), 18u);      // 3 x 3 x 2
  EXPECT_EQ(Hosts("torus:x=4", 14), 16u);  // 4 x 4
  EXPECT_EQ(Hosts("torus:y=5", 14), 15u);  // 3 x 5
  EXPECT_EQ(Hosts("torus:z=2", 30), 30u);  // 5 x 3 x 2
  EXPECT_EQ(Hosts("torus:x=2,z=2", 9), 12u);
  EXPECT_EQ(Hosts("ring", 1), 2u);
  EXPECT_EQ(Hosts("dragonfly", 6), 6u);    // p = 1
  EXPECT_EQ(Hosts("dragonfly", 72), 72u);  // p = 2, all nine groups
  EXPECT_EQ(Hosts("dragonfly", 17), 24u);  // p = 2, three groups of eight
  EXPECT_EQ(Hosts("rail-optimised", 20), 24u);
  EXPECT_EQ(Hosts("nodes", 3), 4u);
  EXPECT_EQ(Hosts("nodes:nodes=2", 7), 8u);
  EXPECT_EQ(ErrorOf("torus:x=2,y=2", 5).substr(0, 58),
            "topology: x: torus has 4 hosts, but 5 are needed; allowed:");
  EXPECT_NE(ErrorOf("dragonfly:groups=2,routers=2,hosts=2", 9).find("8 hosts"), std::string::npos);
  EXPECT_NE(ErrorOf("nodes:nodes=2,gpus=2", 5).find("4 hosts"), std::string::npos);
  EXPECT_NE(ErrorOf("rail-optimised:gpus=65536,nodes=2").find("at most 65536"), std::string::npos);
  EXPECT_NE(ErrorOf("torus:x=65536,y=65536,z=65536").find("at most 65536"), std::string::npos);
  EXPECT_NE(ErrorOf("dragonfly:groups=32000,routers=1,hosts=1").find("at most 4194304"),
            std::string::npos);
  EXPECT_EQ(ErrorOf("dragonfly:routers=2,global=3"),
            "topology: global: got '3'; allowed: an integer from 1 to 2");
}

TEST(Types, EachMakesTheHostsNeededAndNamesItsParameters) {
  for (const TopologyType& type : TopologyTypes()) {
    for (int needed : {1, 2, 5, 8, 31, 64, 100}) {
      const Topology topology = Make(type.name, needed);
      const size_t hosts = topology.Hosts().size();
      EXPECT_GE(hosts, static_cast<size_t>(needed)) << type.name;
      EXPECT_EQ(topology.Hosts().back(), static_cast<int>(hosts) - 1) << type.name;
      EXPECT_EQ(Pairs(topology).size(), topology.Links().size());
      EXPECT_TRUE(CheckTopology(topology).empty()) << type.name << CheckTopology(topology)[0];
      EXPECT_EQ(topology.Name(), type.name);
    }
    // The reader accepts the listed keys: its message names every one.
    const std::string message = ErrorOf(type.name + ":nonsense=1");
    std::string words = type.parameters + ", " + type.tiers;
    std::replace(words.begin(), words.end(), ',', ' ');
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
      EXPECT_NE(message.find(word), std::string::npos) << type.name << " " << word;
    }
  }
}

}  // namespace
}  // namespace legacy::fabric::topology_types_test