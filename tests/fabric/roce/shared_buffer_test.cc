// Buffers of switches: what is admitted where, thresholds, and when ports pause.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/roce/pfc-check.h"
#include "ns3-module/fabric/roce/shared-buffer.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric {
namespace {

constexpr auto kData = RoceClass::Data;

TEST(SharedBuffer, FillsReserveThenSharedThenHeadroom) {
  // Two ports: 16 KiB of reserves, 2,000 of headrooms, 8,000 to share.
  SharedBuffer buffer("s", 16'384 + 2'000 + 8'000, {{1000, 0.5}, {1000, 0.5}}, true, 500);
  EXPECT_EQ(buffer.Shared(), 8'000);
  EXPECT_TRUE(buffer.Admit(0, kData, 4096));
  EXPECT_EQ(buffer.SharedOf(0), 0);
  EXPECT_FALSE(buffer.WantsPause(0));
  EXPECT_TRUE(buffer.Admit(0, kData, 2000));  // 2,000 <= 4,000
  EXPECT_EQ(buffer.Threshold(0.5), 3'000);
  EXPECT_FALSE(buffer.WantsPause(0));
  EXPECT_TRUE(buffer.Admit(0, kData, 700));  // 2,700 <= 3,000, and 2,700 >= 2,650
  EXPECT_TRUE(buffer.WantsPause(0));
  EXPECT_TRUE(buffer.Admit(0, kData, 900));
  EXPECT_EQ(buffer.HeadroomOf(0), 900);
  EXPECT_FALSE(buffer.Admit(0, kData, 101));  // a drop
  EXPECT_EQ(buffer.Used(), 4096 + 3600);
  EXPECT_DOUBLE_EQ(buffer.MaxHeadroomShare(), 0.9);
  // Headroom empties first, then the shared part.
  buffer.Release(0, kData, 1000);
  EXPECT_EQ(buffer.HeadroomOf(0), 0);
  EXPECT_EQ(buffer.SharedOf(0), 2600);
  EXPECT_FALSE(buffer.WantsResume(0));  // 2,600 + 500 > 2,700
  buffer.Release(0, kData, 500);
  EXPECT_TRUE(buffer.WantsResume(0));
  // The other port is not touched.
  EXPECT_FALSE(buffer.WantsPause(1));
}

TEST(SharedBuffer, LossyClassesHaveNoHeadroom) {
  SharedBuffer buffer("s", 8'192 + 1'000, {{0, 1}}, false, 500);
  EXPECT_TRUE(buffer.Admit(0, kData, 4096));
  EXPECT_TRUE(buffer.Admit(0, kData, 1000));
  EXPECT_FALSE(buffer.Admit(0, kData, 1));
  EXPECT_FALSE(buffer.WantsPause(0));
  EXPECT_TRUE(buffer.Admit(0, RoceClass::Control, 1000));  // a reserve of its own
}

TEST(SharedBuffer, NothingToShareIsRefused) {
  EXPECT_EQ(MessageOf([] {
              SharedBuffer("s", 10'000, {{3000, 1}}, true, 1);
            }),
            "buffer of s: got '10000 bytes'; allowed: more than its 1 ports need: 3000 bytes of "
            "headroom and 8192 of reserves, which leaves -1192 to share");
}

// Frames of 4,194 bytes at 100 Gbit/s, 1 us: 25,000 bytes are on both ways of the wire, behind four
// frames and a pause.
TEST(SharedBuffer, HeadroomIsWhatIsUnderWay) {
  constexpr int64_t kRate = 100'000'000'000;
  const int64_t headroom = HeadroomBytes(kRate, kRate, 1000, 0, 4194);
  EXPECT_GE(headroom, 25'000 + 3 * 4194 + 84);
  EXPECT_LE(headroom, 25'000 + 3 * 4194 + 84 + 50);  // nanoseconds of clocks
  EXPECT_GT(HeadroomBytes(kRate, kRate, 0, 0, 4194), 3 * 4194);
  EXPECT_EQ(HeadroomBytes(kRate, kRate, 1000, 1000, 4194) - headroom, 12'500);
  EXPECT_GT(HeadroomBytes(1'600'000'000'000, kRate, 1'000'000'000, 0, 4194), 400'000'000'000);
}

Topology TopologyOf(const std::string& text) {
  TopologyRequest request;
  request.text = text;
  return MakeTopology(request);
}

// Up and down routes of trees have no cycle; shortest paths around a ring do.
TEST(PfcCheck, RingsHaveCyclesAndTreesHaveNone) {
  for (const char* tree : {"star:hosts=8", "fat-tree:k=4", "leaf-spine:oversubscription=4"}) {
    const Topology topology = TopologyOf(tree);
    EXPECT_TRUE(FindBufferCycle(topology, topology.Hosts()).empty()) << tree;
  }
  const Topology ring = TopologyOf("ring:hosts=5");
  const std::vector<BufferDependency> cycle = FindBufferCycle(ring, ring.Hosts());
  ASSERT_EQ(cycle.size(), 5u);
  for (size_t i = 0; i < cycle.size(); ++i) {
    // Each link ends where the next begins, and the route has both in a row.
    const DirectedLink next = cycle[(i + 1) % cycle.size()].link;
    EXPECT_EQ(ring.To(cycle[i].link), ring.From(next));
    const auto [source, destination] = cycle[i].route;
    const std::vector<DirectedLink> route = ring.Route(source, destination, 0);
    const std::vector<DirectedLink> both = {cycle[i].link, next};
    EXPECT_NE(std::search(route.begin(), route.end(), both.begin(), both.end()), route.end());
  }
  // Around four routers there are two ways between opposite ones. Whichever way the first
  // connection of a pair takes, others take the other one and close both circles.
  Topology square = TopologyOf("ring:hosts=4");
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    square.SetEcmpSeed(seed);
    for (const Multipath multipath : {Multipath::Ecmp, Multipath::Spray}) {
      square.SetMultipath(multipath);
      EXPECT_EQ(FindBufferCycle(square, square.Hosts()).size(), 4u) << seed;
    }
  }
  Topology tree = TopologyOf("fat-tree:k=4");
  tree.SetMultipath(Multipath::Spray);
  EXPECT_TRUE(FindBufferCycle(tree, tree.Hosts()).empty());
  // Traffic between neighbours never passes one router after another.
  EXPECT_TRUE(FindBufferCycle(ring, {ring.Hosts()[0], ring.Hosts()[1]}).empty());
}

}  // namespace
}  // namespace legacy::fabric
