// Networks of htsim, ASTRA-sim and SimAI.
#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::data_centre_test {
namespace {

constexpr int64_t kGiga = 1'000'000'000;

// Two pods of two ToR and two aggregation switches; four cores, to which an aggregation switch has
// two links each.
constexpr const char* kHtsim =
    "# a comment\nNodes 8\nTiers 3\nPodsize 4\n\n"
    "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n"
    "Switch_Latency_ns 100\nOversubscribed 1\nQueue 5000\nQueue_Up 6000\n"
    "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\nDownlink_Latency_ns 2000\n"
    "Bundle 1\nSwitch_Latency_ns 40\n"
    "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 3000\nBundle 2\n";

// Returns the delay of the path between two hosts.
TimeNs PathDelay(const Topology& topology, int from, int to) {
  TimeNs delay = 0;
  for (const DirectedLink link : topology.Route(from, to, 0)) delay += topology.LinkOf(link).delay;
  return delay;
}

TEST(Htsim, IsAFatTreeWithItsRatesQueuesAndLatencies) {
  const ImportFiles files;
  const ImportedTopology imported = Import(files.Write("fat.topo", kHtsim));
  const Topology& topology = imported.topology;
  EXPECT_EQ(topology.Hosts().size(), 8);
  ASSERT_EQ(topology.NodeCount(), 8 + 4 + 4 + 4);
  ASSERT_EQ(topology.Links().size(), 8 + 8 + 16);
  const Link host = LinkBetween(topology, "host5", "tor2");
  EXPECT_EQ(host.ports[0].rateBps, 200 * kGiga);
  EXPECT_EQ(host.ports[1].queueBytes, 5000);
  const Link agg = LinkBetween(topology, "tor2", "agg3");
  EXPECT_EQ(agg.ports[0].queueBytes, 6000) << "up, of the ToR switch";
  EXPECT_EQ(agg.ports[1].queueBytes, 0) << "down, of the aggregation switch";
  EXPECT_EQ(LinkBetween(topology, "agg3", "core2").ports[0].rateBps, 100 * kGiga);
  // Links, and the latency of every switch on the path.
  EXPECT_EQ(PathDelay(topology, 0, 1), 2 * 1000 + 100);
  EXPECT_EQ(PathDelay(topology, 0, 3), 2 * (1000 + 2000) + 2 * 100 + 40);
  EXPECT_EQ(PathDelay(topology, 0, 7), 2 * (1000 + 2000 + 3000) + 2 * 100 + 2 * 40);
  EXPECT_EQ(imported.report.Count(Assumed::Latency), 2);
  EXPECT_EQ(Import("htsim:" + files.folder() + "fat.topo").topology.Fingerprint(),
            topology.Fingerprint());
}

TEST(Htsim, HasTwoTiersToo) {
  const ImportFiles files;
  const Topology topology =
      Import(files.Write("leaf.topo",
                         "nodes 32\ntiers 2\npodsize 32\ntier 0\ndownlink_speed_gbps 100\n"
                         "radix_down 8\nradix_up 2\ndownlink_latency_ns 1000\noversubscribed 4\n"
                         "tier 1\ndownlink_speed_gbps 100\nradix_down 4\ndownlink_latency_ns 1\n"))
          .topology;
  EXPECT_EQ(topology.Hosts().size(), 32);
  EXPECT_EQ(topology.NodeCount(), 32 + 4 + 2);
  EXPECT_EQ(topology.Links().size(), 32 + 4 * 2);
  LinkBetween(topology, "tor3", "agg1");
}

TEST(AstraSim, HasRingsMeshesAndSwitches) {
  const ImportFiles files;
  const auto make = [&](const std::string& text, const std::string& options = "") {
    return Import("astra-sim:" + files.Write("net.yml", text) + options).topology;
  };
  const Topology star = make(
      "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500 ]");
  EXPECT_EQ(star.NodeCount(), 9);
  EXPECT_EQ(LinkBetween(star, "npu7", "switch0").ports[0].rateBps, 400 * kGiga);
  EXPECT_EQ(LinkBetween(star, "npu7", "switch0").delay, 500);
  const Topology torus = make(
      "topology: [Ring, Ring]\nnpus_count: [4, 3]\nbandwidth: [50, 25]\nlatency: [500, 700.5]");
  EXPECT_EQ(torus.Links().size(), 12 + 12 + 12);
  EXPECT_EQ(LinkBetween(torus, "npu5", "router5").ports[0].rateBps, (800 + 400) * kGiga);
  EXPECT_EQ(LinkBetween(torus, "npu5", "router5").delay, 0);
  EXPECT_EQ(LinkBetween(torus, "router4", "router7").ports[0].rateBps, 400 * kGiga)
      << "the ring of the first dimension";
  EXPECT_EQ(LinkBetween(torus, "router1", "router9").ports[0].rateBps, 200 * kGiga);
  EXPECT_EQ(LinkBetween(torus, "router1", "router9").delay, 701);
  const Topology mixed = make(
      "topology: [FullyConnected, Switch]\nnpus_count: [4, 2]\nbandwidth: [1, 1]\nlatency: [1, 1]",
      ",unit=GiB");
  EXPECT_EQ(mixed.Links().size(), 8 + 2 * 6 + 4 * 2);
  EXPECT_EQ(LinkBetween(mixed, "router0", "router3").ports[0].rateBps, 8'589'934'592);
  LinkBetween(mixed, "router7", "switch3");
  EXPECT_EQ(make("topology: Ring\nnpus_count: 2\nbandwidth: 1\nlatency: 1").Links().size(), 3)
      << "a ring of two is one link";
}

// SimAI's header has the GPUs of a server, the NVSwitches and the type of GPU as well.
TEST(SimAi, IsReadAsHpccIs) {
  const ImportFiles files;
  const std::string links =
      "0 2 900Gbps 0.000025ms 0\n1 2 900Gbps 0.000025ms 0\n0 3 200Gbps 0.001ms 0\n"
      "1 3 200Gbps 0.001ms 0\n";
  const Topology simai = Import(files.Write("simai.txt", "4 2 1 1 4 H20\n2 3 \n" + links)).topology;
  EXPECT_EQ(simai.Hosts().size(), 2);
  EXPECT_EQ(LinkBetween(simai, "host1", "switch2").ports[0].rateBps, 900 * kGiga);
  EXPECT_EQ(LinkBetween(simai, "host1", "switch2").delay, 25);
  EXPECT_EQ(Import(files.Write("hpcc.txt", "4 2 4\n2 3\n" + links)).topology.Fingerprint(),
            simai.Fingerprint());
}

}  // namespace
}  // namespace legacy::fabric::data_centre_test
