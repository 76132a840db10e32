#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/topology.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::topology_file_test {
namespace {

TopologyRequest Request(const std::string& text, int hosts_needed = 0) {
  TopologyRequest request;
  request.text = text;
  request.hostsNeeded = hosts_needed;
  return request;
}

std::string ErrorOf(const std::string& text, int hosts_needed = 0) {
  return MessageOf([&] { MakeTopology(Request(text, hosts_needed)); });
}

// Returns the message about a file with `content`, without its folder.
std::string FileErrorOf(const std::string& content) {
  const std::string folder = OwnFolder();
  const std::string path = folder + "topology_file_test.yaml";
  std::ofstream(path) << content;
  const std::string message = ErrorOf(path);
  std::filesystem::remove_all(folder);
  return message.rfind(folder, 0) == 0 ? message.substr(folder.size()) : message;
}

size_t Hosts(const std::string& text, int hosts_needed = 0) {
  return MakeTopology(Request(text, hosts_needed)).Hosts().size();
}

TEST(MakeTopology, SizesFollowFromTheHostsNeeded) {
  EXPECT_EQ(Hosts("fat-tree", 2), 16u);
  EXPECT_EQ(Hosts("fat-tree", 16), 16u);
  EXPECT_EQ(Hosts("fat-tree", 17), 54u);
  EXPECT_EQ(Hosts("leaf-spine", 17), 20u);
  EXPECT_EQ(Hosts("leaf-spine:leaves=2", 17), 18u);
  EXPECT_EQ(Hosts("dumbbell", 9), 9u);
  EXPECT_EQ(Hosts("dumbbell:right=2", 9), 9u);
  EXPECT_EQ(Hosts("star", 9), 9u);
  for (const char* type : {"fat-tree", "leaf-spine", "dumbbell", "star"})
    EXPECT_EQ(Hosts(type), 16u) << type;
}

TEST(MakeTopology, ParametersReachTheLinks) {
  const Topology dumbbell = MakeTopology(
      Request("dumbbell:left=1,right=1,rate=10Gbps,bottleneck.rate=100Mbps,bottleneck.delay=20ms,"
              "bottleneck.queue=512KiB"));
  ASSERT_EQ(dumbbell.Links().size(), 3u);
  EXPECT_EQ(dumbbell.Links()[0].ports[0].rateBps, 10'000'000'000);
  EXPECT_EQ(dumbbell.Links()[0].delay, 10'000);
  EXPECT_EQ(dumbbell.Links()[2].ports[0].rateBps, 100'000'000);
  EXPECT_EQ(dumbbell.Links()[2].delay, 20'000'000);
  EXPECT_EQ(dumbbell.Links()[2].ports[0].queueBytes, 512 * 1024);
  // A '/' in a rate does not make the text a path.
  EXPECT_EQ(MakeTopology(Request("star:rate=2Gbit/s")).Links()[0].ports[0].rateBps, 2'000'000'000);
}

TEST(MakeTopology, OversubscriptionIsHostRateOverUplinkRate) {
  const Topology topology =
      MakeTopology(Request("leaf-spine:leaves=2,hosts=8,spines=2,oversubscription=4"));
  int64_t down = 0;
  int64_t up = 0;
  for (const Link& link : topology.Links())
    (topology.IsHost(link.a) ? down : up) += link.ports[0].rateBps;
  EXPECT_EQ(down, 4 * up);
  // Without a number of spines, uplinks have the hosts' rate.
  EXPECT_EQ(MakeTopology(Request("leaf-spine:leaves=2,hosts=8,oversubscription=4"))
                .Links()
                .back()
                .ports[0]
                .rateBps,
            1'000'000'000);
}

TEST(MakeTopology, SaysWhatIsWrongWithTheText) {
  EXPECT_EQ(ErrorOf("fat-tree:k=4", 17),
            "topology: k: fat-tree has 16 hosts, but 17 are needed; allowed: k = 6 or more");
  EXPECT_EQ(ErrorOf("fat-tree:k=5"), "topology: k: got '5'; allowed: an even number");
  EXPECT_EQ(ErrorOf("fat-tree:k=four"),
            "topology: k: got 'four'; allowed: an integer from 2 to 64");
  EXPECT_EQ(
      ErrorOf("mesh"),
      "topology: got 'mesh'; allowed: fat-tree, leaf-spine, dumbbell, star, torus, "
      "dragonfly, rail-optimised, ring, nodes, or a file: .yaml, .txt or .topo (HPCC), .graphml, "
      ".gml, .json, .xml, or hpcc:PATH");
  EXPECT_EQ(
      ErrorOf("star:hots=3"),
      "topology: unknown key of star: got 'hots'; allowed: changes, delay, host.delay, host.queue, "
      "host.rate, hosts, name, "
      "queue, rate");
  EXPECT_EQ(ErrorOf("star:hosts=3,hosts=4"), "topology: hosts: got '4'; allowed: each key once");
  EXPECT_EQ(ErrorOf("star:16"),
            "topology: got 'star:16'; allowed: name:key=value,key=value; '16' is not key=value");
  EXPECT_EQ(ErrorOf("leaf-spine:spine.rate=1Gbps,oversubscription=2"),
            "topology: oversubscription: got '2'; allowed: either this or spine.rate, which follow "
            "from each other");
  EXPECT_NE(ErrorOf("leaf-spine:leaves=2,hosts=2", 5).find("has 4 hosts, but 5 are needed"),
            std::string::npos);
  EXPECT_NE(ErrorOf("leaf-spine:leaves=1000,hosts=1000").find("at most 65536"), std::string::npos);
  EXPECT_NE(ErrorOf("leaf-spine:oversubscription=nan").find("got 'nan'"), std::string::npos);
  EXPECT_NE(ErrorOf("dumbbell:left=2,right=2", 5).find("left + right of at least 5"),
            std::string::npos);
  EXPECT_NE(ErrorOf("none.yaml").find("got 'none.yaml'; allowed: a readable file"),
            std::string::npos);
}

TEST(TopologyFile, ErrorsCarryLineAndColumn) {
  EXPECT_EQ(FileErrorOf("type: star\nhost: {rate: 1Gx}\n"),
            "topology_file_test.yaml:2:8: host.rate: got '1Gx'; allowed: a rate with its unit, "
            "1bps to 1000Tbps, such as 1Gbps or 400 Mbit/s");
  EXPECT_NE(
      FileErrorOf("type: star\n\nhots: 3\n").find("yaml:3:1: unknown key of star: got 'hots'"),
      std::string::npos);
  EXPECT_NE(FileErrorOf("type: star\nhosts: 3\nhosts: 4\n").find("yaml:3:1: hosts: got '4'"),
            std::string::npos);
  EXPECT_NE(FileErrorOf("type: mesh\n").find("yaml:1:7: got 'mesh'"), std::string::npos);
  EXPECT_NE(
      FileErrorOf("type: star\nhosts: [1, 2]\n").find("yaml:2:1: hosts: got 'a list or a map'"),
      std::string::npos);
  EXPECT_NE(FileErrorOf("type: star\nhosts:\n").find("yaml:2:1: hosts: got 'nothing'"),
            std::string::npos);
  EXPECT_NE(FileErrorOf("type: star\nhost: {rate: {x: 1}}\n").find("yaml:2:8: host.rate"),
            std::string::npos);
  EXPECT_NE(FileErrorOf("type: star\nhosts: [1\n").find("yaml:3:1: "), std::string::npos);
  EXPECT_NE(FileErrorOf("hosts: 3\n").find("a map with the key 'type'"), std::string::npos);
  EXPECT_NE(FileErrorOf("").find("a map with the key 'type'"), std::string::npos);
  EXPECT_NE(FileErrorOf("- 1\n").find("a map with the key 'type'"), std::string::npos);
  EXPECT_NE(FileErrorOf("type: star\n? [a]\n: 1\n").find("a key must be a plain word"),
            std::string::npos);
}

TEST(TopologyFile, ShippedFilesMatchTheirNames) {
  const std::string folder = LEGACY_TOPOLOGIES "/";
  EXPECT_EQ(Hosts(folder + "fat-tree-k4.yaml"), 16u);
  EXPECT_EQ(Hosts(folder + "fat-tree-k8.yaml"), 128u);
  EXPECT_EQ(Hosts(folder + "leaf-spine-4to1.yaml"), 32u);
  EXPECT_EQ(Hosts(folder + "dumbbell-wan.yaml"), 16u);
  EXPECT_EQ(Hosts(folder + "star-16.yaml"), 16u);
  EXPECT_EQ(Hosts(folder + "torus-4x4.yaml"), 16u);
  EXPECT_EQ(Hosts(folder + "rail-4x8.yaml"), 32u);
  EXPECT_EQ(Hosts(folder + "two-sites.yaml"), 4u);
  EXPECT_EQ(Hosts(folder + "two-racks.topo"), 6u);
  EXPECT_EQ(Hosts(folder + "wan-regions.yaml"), 16u);
  EXPECT_EQ(MakeTopology(Request(folder + "star-16.yaml")).Name(), "star-16");
  EXPECT_EQ(MakeTopology(Request(folder + "fat-tree-k4.yaml")).Fingerprint(),
            MakeTopology(Request("fat-tree:k=4")).Fingerprint());
}

}  // namespace
}  // namespace legacy::fabric::topology_file_test