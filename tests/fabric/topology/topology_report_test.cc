#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/builders.h"
#include "ns3-module/fabric/topology/report.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::topology_report_test {
namespace {

Topology Make(const std::string& text) {
  TopologyRequest request;
  request.text = text;
  return MakeTopology(request);
}

void AddNodes(Topology& topology, int hosts, int switches) {
  const std::string names[] = {"h", "s"};
  for (int i = 0; i < hosts; ++i) topology.AddHost(names[0] + std::to_string(i));
  for (int i = 0; i < switches; ++i) topology.AddSwitch(names[1] + std::to_string(i));
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DescribeTopology, GivesTheFactsOfAFatTree) {
  EXPECT_EQ(DescribeTopology(Make("fat-tree:k=4,oversubscription=2")),
            "fat-tree: 16 hosts, 20 switches, 48 links\n"
            "links of hosts: 16 of 1 Gbit/s, 10 us\n"
            "links between switches: 32 of 500 Mbit/s, 10 us\n"
            "sum of rates: 16 Gbit/s from hosts, 16 Gbit/s between switches each way\n"
            "tier 1: 8 switches, 16 Gbit/s down, 8 Gbit/s up, oversubscription 2\n"
            "tier 2: 8 switches, 8 Gbit/s down, 8 Gbit/s up, oversubscription 1\n"
            "tier 3: 4 switches, 8 Gbit/s down\n"
            "longest shortest path: 6 hops\n"
            "equal-cost paths of a host pair: 1 to 4\n");
}

TEST(DescribeTopology, CountsPathsThatDoNotGoThroughHosts) {
  // Opposite corners of a 4 x 4 torus are two steps apart either way in both dimensions: (4 choose
  // 2) orders of four combinations of directions.
  EXPECT_NE(DescribeTopology(Make("torus:x=4,y=4")).find("paths of a host pair: 1 to 24\n"),
            std::string::npos);
  EXPECT_NE(DescribeTopology(Make("torus:x=4,y=4")).find("32 Gbit/s within the tier\n"),
            std::string::npos);
  const std::string rails = DescribeTopology(Make("rail-optimised:nodes=2,gpus=2,spines=5"));
  EXPECT_NE(rails.find("longest shortest path: 4 hops\nequal-cost paths of a host pair: 1 to 5\n"),
            std::string::npos);
  EXPECT_NE(DescribeTopology(Make("star:hosts=500")).find("2 hops (to 64 hosts out of 500)"),
            std::string::npos);
}

TEST(DescribeTopology, DescribesOddTopologies) {
  EXPECT_EQ(DescribeTopology(Topology()),
            ": 0 hosts, 0 switches, 0 links\n"
            "sum of rates: 0 bit/s from hosts, 0 bit/s between switches each way\n");
}

TEST(CheckTopology, NamesOddities) {
  Topology topology;
  EXPECT_EQ(CheckTopology(topology), (std::vector<std::string>{"there are no hosts"}));
  AddNodes(topology, 6, 4);
  topology.AddLink({0, 6, 10, {1'000'000'000}});
  topology.AddLink({1, 7, 10, {2'000'000'000}});
  topology.AddLink({6, 7, 0, {1'000'000'000}});
  topology.AddLink({7, 8, 0, {1'000'000'000}});
  EXPECT_EQ(CheckTopology(topology),
            (std::vector<std::string>{"hosts without a link: h2, h3, h4 and 1 more",
                                      "hosts have different rates: 1 Gbit/s: h0; 2 Gbit/s: h1",
                                      "h0 and h2 cannot reach each other (hosts do not forward)",
                                      "switches with fewer than two links lead nowhere: s2, s3"}));
  topology.AddLink({8, 6, 0, {1'000'000'000}});
  EXPECT_EQ(CheckTopology(topology).back(),
            "links without delay form a loop, which s2 - s0 closes");
}

TEST(CheckTopology, HostsOfSeveralIslandsReachEachOtherOnlyThroughSwitches) {
  // The two switches are joined by a host, which does not forward.
  Topology topology;
  AddNodes(topology, 3, 2);
  for (const auto& [a, b] : {std::pair{0, 3}, {1, 3}, {1, 4}, {2, 4}}) {
    topology.AddLink({a, b, 10, {1'000'000'000}});
  }
  const auto warnings = CheckTopology(topology);
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(),
                       "h0 and h2 cannot reach each other (hosts do not forward)"),
            1);
  topology.AddLink({3, 4, 10, {1'000'000'000}});
  EXPECT_EQ(CheckTopology(topology).size(), 1u);  // only the rates
}

TEST(DrawTopology, ShowsEveryNodeAndBothDirectionsOfEveryLink) {
  for (const TopologyType& type : TopologyTypes()) {
    const Topology topology = Make(type.name);
    const std::string svg = DrawTopology(topology);
    const size_t hosts = topology.Hosts().size();
    EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
    EXPECT_EQ(Count(svg, "<circle"), hosts) << type.name;
    EXPECT_EQ(Count(svg, "<rect"), topology.NodeCount() - hosts + 1) << type.name;
    EXPECT_EQ(Count(svg, "<path"), 2 * topology.Links().size()) << type.name;
    EXPECT_EQ(Count(svg, "<title>"), topology.NodeCount() + 2 * topology.Links().size());
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_EQ(svg, DrawTopology(Make(type.name)));
  }
}

// Returns the number after the next `key` from `at` on, and moves `at` there; to the end if there
// is none.
double NumberAfter(const std::string& text, const std::string& key, size_t& at) {
  at = text.find(key, at);
  if (at == std::string::npos) return 0;
  at += key.size();
  return std::stod(text.substr(at, 16));
}

// Nodes are apart from each other and inside the picture.
TEST(DrawTopology, KeepsNodesApart) {
  for (const TopologyType& type : TopologyTypes()) {
    const std::string svg = DrawTopology(Make(type.name));
    size_t head = 0;
    const double width = NumberAfter(svg, "width=\"", head);
    const double height = NumberAfter(svg, "height=\"", head);
    std::vector<std::pair<double, double>> hosts;
    for (size_t at = 0;;) {
      const double x = NumberAfter(svg, "<circle cx=\"", at);
      if (at == std::string::npos) break;
      hosts.emplace_back(x, NumberAfter(svg, "cy=\"", at));
    }
    ASSERT_EQ(hosts.size(), Make(type.name).Hosts().size());
    for (size_t i = 0; i < hosts.size(); ++i) {
      EXPECT_LT(hosts[i].first, width);
      EXPECT_LT(hosts[i].second, height);
      for (size_t j = 0; j < i; ++j) {
        EXPECT_GT(
            std::abs(hosts[i].first - hosts[j].first) + std::abs(hosts[i].second - hosts[j].second),
            10)
            << type.name;
      }
    }
  }
  EXPECT_EQ(Count(DrawTopology(Topology()), "<title>"), 0u);
}

TEST(DrawTopology, ShowsTheLoadOfEachDirection) {
  const Topology topology = BuildStar(2, {});
  Drawing drawing;
  drawing.title = "a < b";
  drawing.utilisation = {0, 1, 0.5, 7};
  drawing.bytes = {0, 1500, 2'000'000, 1};
  const std::string svg = DrawTopology(topology, drawing);
  EXPECT_NE(svg.find(">a &lt; b</text>"), std::string::npos);
  for (const char* part :
       {"stroke=\"#cfd8dc\" stroke-width=\"2\"><title>host0 to hub: 1 Gbit/s, 10 us, 0 B, 0.0 %<",
        "stroke=\"#b71c1c\" stroke-width=\"2\"><title>hub to host0: 1 Gbit/s, 10 us, 1.5 kB, 100.0 "
        "%<",
        "stroke=\"#fdae61\" stroke-width=\"2\"><title>host1 to hub: 1 Gbit/s, 10 us, 2 MB, 50.0 %<",
        "100 %</text>"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part << "\n" << svg;
  }
  EXPECT_EQ(Count(svg, "#b71c1c\" stroke-width"), 2u);  // loads beyond 1 are shown as 1
  EXPECT_EQ(Count(DrawTopology(topology), " %"), 0u);
  drawing.utilisation.pop_back();
  EXPECT_EQ(MessageOf([&] { DrawTopology(topology, drawing); }),
            "drawing of star: utilisation: got '3 values'; allowed: none, or 4, one for each "
            "directed link");
}

}  // namespace
}  // namespace legacy::fabric::topology_report_test