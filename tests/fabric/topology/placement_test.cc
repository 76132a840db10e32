#include "ns3-module/fabric/topology/placement.h"

#include <gtest/gtest.h>

#include <set>

#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::placement_test {
namespace {

TEST(Placement, PackedFillsHostsInOrder) {
  const Topology topology = BuildLeafSpine(2, 3, 1, {}, {});
  const Placement placement = MakePlacement({"packed", 4, 1}, topology);
  EXPECT_EQ(placement.hosts, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(placement.servers, std::vector<int>{4});
  EXPECT_EQ(placement.NodeOf(2), 2);
  EXPECT_EQ(placement.NodeOf(4), 4);
  EXPECT_EQ(placement.description, "packed");
  EXPECT_TRUE(MakePlacement({"packed", 4}, topology).servers.empty());
}

TEST(Placement, StridedChangesTheSwitchAtEveryStep) {
  EXPECT_EQ(MakePlacement({"strided", 5, 1}, BuildLeafSpine(3, 2, 1, {}, {})).hosts,
            (std::vector<int>{0, 2, 4, 1, 3}));
  // If the sides have different sizes, the rest comes at the end.
  EXPECT_EQ(MakePlacement({"strided", 4}, BuildDumbbell(1, 3, {}, {})).hosts,
            (std::vector<int>{0, 1, 2, 3}));
}

TEST(Placement, RandomIsAPermutationOfItsSeed) {
  const Topology topology = BuildStar(64, {});
  const Placement placement = MakePlacement({"random:7", 63, 1}, topology);
  std::set<int> used(placement.hosts.begin(), placement.hosts.end());
  used.insert(placement.servers[0]);
  EXPECT_EQ(used.size(), 64u);
  EXPECT_EQ(MakePlacement({"random:7", 63, 1}, topology).hosts, placement.hosts);
  EXPECT_NE(MakePlacement({"random:8", 63, 1}, topology).hosts, placement.hosts);
  // Every host comes first about equally often.
  std::vector<int> first(4, 0);
  for (int seed = 0; seed < 4000; ++seed) {
    ++first[MakePlacement({"random:" + std::to_string(seed), 1}, BuildStar(4, {})).hosts[0]];
  }
  for (int count : first) EXPECT_NEAR(count, 1000, 5 * 28);
}

PlacementRequest Summing(int workers, int servers = 0) {
  PlacementRequest request;
  request.workers = workers;
  request.servers = servers;
  request.aggregation = Aggregation::Tree;
  return request;
}

TEST(Placement, AggregatorsFormATreeOfLeastDepth) {
  const Topology topology = BuildFatTree(4, {}, {}, {});
  const Placement placement = MakePlacement(Summing(15, 1), topology);
  // The tree has one core, an aggregation switch for each of four pods, and all eight edge
  // switches.
  ASSERT_EQ(placement.aggregators.size(), 13u);
  ASSERT_EQ(placement.parents.size(), 15u + 13u);
  EXPECT_EQ(placement.parents[15], -1);
  EXPECT_EQ(placement.NodeOf(16), placement.aggregators[0]);  // after the server
  for (size_t node = 0; node < placement.parents.size(); ++node) {
    int depth = 0;
    for (int at = static_cast<int>(node); placement.parents[at] >= 0; ++depth) {
      const int above = placement.parents[at];
      const int from = at < 15 ? at : at + 1;  // endpoint
      EXPECT_EQ(topology.Route(placement.NodeOf(from), placement.NodeOf(above), 0).size(), 1u);
      at = above - 1;
    }
    EXPECT_LE(depth, 3);
    if (node < 15) {
      EXPECT_EQ(depth, 3);
    }
  }
  // Workers of one rack meet at its switch, those of one pod below the core.
  EXPECT_EQ(MakePlacement(Summing(2), topology).aggregators, std::vector<int>{16});
  EXPECT_EQ(MakePlacement(Summing(4), topology).aggregators.size(), 3u);
  EXPECT_EQ(MakePlacement(Summing(1), BuildStar(4, {})).parents, (std::vector<int>{1, -1}));
}

TEST(Placement, ColocatedServersShareTheWorkersHosts) {
  PlacementRequest request;
  request.workers = 3;
  request.servers = 4;
  request.colocated = true;
  EXPECT_EQ(MakePlacement(request, BuildStar(3, {})).servers, (std::vector<int>{0, 1, 2, 0}));
}

TEST(Placement, SaysWhatIsWrong) {
  const Topology topology = BuildStar(4, {});
  EXPECT_EQ(MessageOf([&] {
              MakePlacement({"packed", 4, 1}, topology);
            }),
            "placement: topology star has 4 hosts, but 5 are needed (4 workers and 1 parameter "
            "server(s))");
  EXPECT_EQ(MessageOf([&] {
              MakePlacement({"packed", 0}, topology);
            }),
            "workers: got '0'; allowed: 1 or more");
  Topology two_hosts;
  two_hosts.AddHost("a");
  two_hosts.AddHost("b");
  two_hosts.AddLink({0, 1, 0, {1'000'000'000}});
  EXPECT_NE(MessageOf([&] { MakePlacement(Summing(2), two_hosts); }).find("no switch"),
            std::string::npos);
  for (const char* text :
       {"", "spread", "random", "random:", "random:x", "random:1x", "random:-1"}) {
    EXPECT_NE(MessageOf([&] {
                MakePlacement({text, 2}, topology);
              }).find("packed, strided, random:SEED"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace legacy::fabric::placement_test