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

TEST(AstraSim, WithoutItsPrefixIsTold) {
  const ImportFiles files;
  EXPECT_EQ(ImportError(files.Write("net.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]\n"),
                        files.folder()),
            "net.yml:1: got 'a network file of ASTRA-sim'; allowed: astra-sim:net.yml");
  EXPECT_EQ(ImportError(files.Write("four.yaml", "matrix: wan.csv\n"), files.folder()),
            "four.yaml:1: got 'a file of regions of clouds'; allowed: regions:four.yaml");
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

// Text after the announced links is not read, as by HPCC itself.
TEST(Hpcc, LeavesTextAfterItsLinksAndSaysSo) {
  const ImportFiles files;
  const ImportedTopology imported =
      Import(files.Write("default.txt",
                         "3 1 2\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n"
                         "0 7 25Gbps 0.001ms 0\n\nFirst line: total node #\n...\n"));
  EXPECT_EQ(imported.topology.Links().size(), 2);
  EXPECT_EQ(imported.report.Unused(), "of the file: lines after the 2 links announced (3)");
  EXPECT_EQ(imported.numbers, (std::map<int64_t, int>{{0, 2}, {1, 0}, {2, 1}}))
      << "the switch is number 0";
}

// ns3-datacenter counts its ToRs and gives the rates of both layers, in bare bit/s; simulators with
// optical switches count them apart.
TEST(Hpcc, ReadsTheFirstLinesOfItsDescendants) {
  const ImportFiles files;
  const auto read = [&](const std::string& head) {
    return Import(files.Write("net.txt", head +
                                             "0 3 25000000000.0 1us 0\n1 3 25000000000 0.000001 0\n"
                                             "2 4 25Gb/s 1us 0\n3 4 12.5GB/s 1us 0\n"));
  };
  const ImportedTopology four = read("5 2 1 4\n3 4\n");
  EXPECT_EQ(four.report.Unused(), "of the file: number of ToRs (1)");
  EXPECT_EQ(four.topology.Hosts().size(), 3);
  EXPECT_EQ(four.server, 0) << "no GPUs";
  EXPECT_EQ(LinkBetween(four.topology, "host0", "switch3").ports[0].rateBps, 25 * kGiga);
  EXPECT_EQ(LinkBetween(four.topology, "host1", "switch3").delay, 1000) << "seconds";
  EXPECT_EQ(LinkBetween(four.topology, "host2", "switch4").ports[0].rateBps, 25 * kGiga);
  EXPECT_EQ(LinkBetween(four.topology, "switch3", "switch4").ports[0].rateBps, 100 * kGiga);
  const ImportedTopology six = read("5 2 1 4 25000000000 100000000000\n3 4\n");
  EXPECT_EQ(six.topology.Fingerprint(), four.topology.Fingerprint());
  EXPECT_EQ(six.server, 0);
  EXPECT_EQ(six.report.Unused(), "of the file: number of ToRs (1), rates of leaves and spines (1)");
  const ImportedTopology optical = read("5 1 1 4\n4 3\n");
  EXPECT_EQ(optical.topology.Fingerprint(), four.topology.Fingerprint());
  EXPECT_EQ(optical.report.Unused(), "of the file: kind of switches (1)");
}

}  // namespace
}  // namespace legacy::fabric::data_centre_test
