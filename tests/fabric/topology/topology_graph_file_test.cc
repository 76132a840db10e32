// Files of any graph, read and written: YAML of `type: links`, and the HPCC simulator's text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/file.h"
#include "ns3-module/fabric/topology/report.h"
#include "ns3-module/fabric/topology/topology.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::topology_graph_file_test {
namespace {

// A file that exists as long as the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content) : path(OwnFolder() + name) {
    std::ofstream(path) << content;
  }
  ~TemporaryFile() {
    std::error_code not_empty;
    std::filesystem::remove(path);
    std::filesystem::remove(OwnFolder(), not_empty);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string path;
};

Topology Make(const std::string& text, int hosts_needed = 0) {
  TopologyRequest request;
  request.text = text;
  request.hostsNeeded = hosts_needed;
  return MakeTopology(request);
}

Topology FromYaml(const std::string& content) {
  return Make(TemporaryFile("graph_test.yaml", content).path);
}

Topology FromHpcc(const std::string& content) {
  return Make(TemporaryFile("graph_test.txt", content).path);
}

// Returns a message without the folder of the file.
std::string Stripped(std::string message) {
  const std::string folder = OwnFolder();
  for (size_t at; (at = message.find(folder)) != std::string::npos;) {
    message.erase(at, folder.size());
  }
  return message;
}

std::string YamlError(const std::string& content) {
  return Stripped(MessageOf([&] { FromYaml(content); }));
}

std::string HpccError(const std::string& content) {
  return Stripped(MessageOf([&] { FromHpcc(content); }));
}

std::string Written(const Topology& topology, TopologyFormat format) {
  std::ostringstream stream;
  WriteTopology(topology, format, stream);
  return stream.str();
}

TEST(LinksFile, ReadsNodesLinksAndDefaults) {
  const Topology topology = FromYaml(
      "type: links\nname: tiny\nrate: 2Gbps\ndelay: 3us\nhosts: [a, b]\nswitches: 1\nlinks:\n"
      "  - {a: switch0, b: a, rate: 10Gbps, delay: 1us, queue: 64KiB, error: 1e-3}\n"
      "  - {a: b, b: switch0}\n");
  EXPECT_EQ(topology.Name(), "tiny");
  EXPECT_EQ(topology.Hosts(), (std::vector<int>{0, 1}));
  EXPECT_EQ(topology.NodeName(1), "b");
  EXPECT_EQ(topology.NodeName(2), "switch0");
  ASSERT_EQ(topology.Links().size(), 2u);
  const Link& first = topology.Links()[0];
  EXPECT_EQ(first.a, 2);
  EXPECT_EQ(first.b, 0);
  EXPECT_EQ(first.ports[0].rateBps, 10'000'000'000);
  EXPECT_EQ(first.delay, 1'000);
  EXPECT_EQ(first.ports[0].queueBytes, 65536);
  EXPECT_EQ(first.ports[0].errorRate, 1e-3);
  const Link& second = topology.Links()[1];
  EXPECT_EQ(second.ports[0].rateBps, 2'000'000'000);
  EXPECT_EQ(second.delay, 3'000);
  EXPECT_EQ(second.ports[0].errorRate, 0);
  // Two hosts and a cable are given; the rest comes from the request, the name from the file.
  const Topology cable = FromYaml("type: links\nhosts: 2\nlinks: [{a: host0, b: host1}]\n");
  EXPECT_EQ(cable.Name(), "graph_test");
  EXPECT_EQ(cable.Links()[0].ports[0].rateBps, 1'000'000'000);
  EXPECT_EQ(cable.Links()[0].delay, 10'000);
}

TEST(TopologyGraphFileTest, DirectionsMayDiffer) {
  const Topology topology = FromYaml(
      "type: links\nhosts: [a, b]\nlinks:\n"
      "  - {a: a, b: b, rate: 50Mbit/s/10Mbps, queue: 64KiB/1MiB, error: 1e-3/0, price: 0.1/0}\n");
  EXPECT_EQ(topology.PortOf(0).rateBps, 50'000'000);
  EXPECT_EQ(topology.PortOf(1).rateBps, 10'000'000);
  EXPECT_EQ(topology.PortOf(0).queueBytes, 65536);
  EXPECT_EQ(topology.PortOf(1).queueBytes, 1 << 20);
  EXPECT_EQ(topology.PortOf(0).errorRate, 1e-3);
  EXPECT_EQ(topology.PortOf(1).errorRate, 0);
  EXPECT_FALSE(topology.Links()[0].Symmetric());
  std::ostringstream yaml;
  WriteTopology(topology, TopologyFormat::Yaml, yaml);
  EXPECT_EQ(FromYaml(yaml.str()).Fingerprint(), topology.Fingerprint());
  std::ostringstream hpcc;
  EXPECT_NE(MessageOf([&] { WriteTopology(topology, TopologyFormat::Hpcc, hpcc); }).find("yaml"),
            std::string::npos);
  const std::string swapped =
      "type: links\nhosts: [a, b]\nlinks:\n"
      "  - {a: a, b: b, rate: 10Mbps/50Mbps, queue: 64KiB/1MiB, error: 1e-3/0}\n";
  EXPECT_NE(FromYaml(swapped).Fingerprint(), topology.Fingerprint());
}

TEST(LinksFile, BurstsAreOfADirection) {
  const Topology topology =
      FromYaml("type: links\nhosts: [a, b]\nlinks:\n  - {a: a, b: b, rate: 1Mbps, burst: 3KB/0}\n");
  EXPECT_EQ(topology.PortOf(0).burstBytes, 3000);
  EXPECT_EQ(topology.PortOf(1).burstBytes, 0);
  EXPECT_FALSE(topology.Links()[0].Symmetric());
  const std::string written = Written(topology, TopologyFormat::Yaml);
  EXPECT_EQ(FromYaml(written).Fingerprint(), topology.Fingerprint());
  const Topology plain = topology.WithLinks(
      [](int, Link& link) { link.ports[0].burstBytes = link.ports[1].burstBytes = 0; });
  EXPECT_NE(plain.Fingerprint(), topology.Fingerprint());
  EXPECT_EQ(Written(plain, TopologyFormat::Yaml).find("burst"), std::string::npos);
  for (const TopologyFormat format : {TopologyFormat::Hpcc, TopologyFormat::Graphml}) {
    EXPECT_NE(MessageOf([&] { Written(topology, format); }).find("burst of a - b"),
              std::string::npos);
  }
  EXPECT_THROW(topology.WithLinks([](int, Link& link) { link.ports[0].burstBytes = -1; }), Error);
}

TEST(LinksFile, PricesAreOfADirectionAndNoPartOfTime) {
  const std::string text =
      "type: links\nhosts: [a, b, c]\nlinks:\n  - {a: a, b: b, price: 0.02}\n"
      "  - {a: c, b: a, price: 0.01/0.09}\n  - {a: b, b: c}\n";
  const Topology topology = FromYaml(text);
  const std::vector<double> prices = {0.02, 0.02, 0.01, 0.09, 0, 0};
  const Topology again = FromYaml(Written(topology, TopologyFormat::Yaml));
  for (DirectedLink link = 0; link < 6; ++link) {
    EXPECT_EQ(topology.PortOf(link).usdPerGb, prices[link]) << link;
    EXPECT_EQ(again.PortOf(link).usdPerGb, prices[link]) << link;
  }
  EXPECT_EQ(topology.PortOf(2).usdPerGb, 0.01);  // the direction from c, where the link begins
  EXPECT_EQ(topology.NodeName(topology.From(2)), "c");
  const Topology free = topology.WithLinks([](int, Link& link) {
    for (Port& port : link.ports) port.usdPerGb = 0;
  });
  EXPECT_EQ(free.Fingerprint(), topology.Fingerprint());
  EXPECT_EQ(Written(free, TopologyFormat::Yaml).find("price"), std::string::npos);
  EXPECT_NE(
      DescribeTopology(topology).find("prices: 0.01 to 0.09 USD/GB on 4 directions of links\n"),
      std::string::npos);
  EXPECT_EQ(DescribeTopology(free).find("price"), std::string::npos);
  EXPECT_NE(DrawTopology(topology).find("c to a: 1 Gbit/s, 10 us, 0.01 USD/GB"), std::string::npos);
  EXPECT_NE(MessageOf([&] { Written(topology, TopologyFormat::Hpcc); }).find("price of a - b"),
            std::string::npos);
  EXPECT_THROW(topology.WithLinks([](int, Link& link) { link.ports[1].usdPerGb = std::nan(""); }),
               Error);
}

TEST(LinksFile, ErrorsSayWhereWhatAndWhatIsAllowed) {
  const std::string nodes = "type: links\nhosts: [a, b]\nswitches: [s]\n";
  const std::string both = "links:\n  - {a: a, b: s}\n  - {a: b, b: s}\n";
  ASSERT_EQ(YamlError(nodes + both), "");
  EXPECT_EQ(YamlError(nodes + both + "  - {a: s, b: a}\n"),
            "graph_test.yaml:7:5: link: got 's - a'; allowed: each link once (in YAML several, by "
            "a count); it is also at "
            "graph_test.yaml:5:5");
  EXPECT_EQ(YamlError(nodes + both + "  - {a: a, b: c}\n"),
            "graph_test.yaml:7:12: b: got 'c'; allowed: a name that hosts or switches declares");
  EXPECT_EQ(YamlError(nodes + both + "  - {a: a, b: a}\n"),
            "graph_test.yaml:7:5: link: got 'a - a'; allowed: two different nodes");
  EXPECT_EQ(YamlError(nodes + both + "  - {a: a, rate: 1Gbps}\n"),
            "graph_test.yaml:7:5: b: got ''; allowed: a name that hosts or switches declares");
  EXPECT_NE(YamlError(nodes + both + "  - {a: a, b: b, rate: fast}\n")
                .find("graph_test.yaml:7:18: rate: got 'fast'; allowed: a rate with its unit"),
            std::string::npos);
  EXPECT_EQ(YamlError(nodes + both + "  - {a: a, b: b, error: 1}\n"),
            "graph_test.yaml:7:18: error: got '1'; allowed: a number from 0 to 0.999999, or two "
            "there/back");
  EXPECT_EQ(
      YamlError(nodes + both + "  - {a: a, b: b, speed: 1}\n"),
      "graph_test.yaml:7:18: unknown key of a link: got 'speed'; allowed: a, b, burst, count, "
      "delay, error, price, queue, rate, schedule, "
      "schedule_back, weight");
  EXPECT_EQ(YamlError(nodes + both + "  - {a: a, b: b, price: 0.02/free}\n"),
            "graph_test.yaml:7:18: price: got '0.02/free'; allowed: USD per GB, 0 to 1e+06: 0.02 "
            "each way, or 0.02/0.09 from a to b and from b to a");
  for (const char* price : {"-1", "0.02/-1", "nan", "inf", "0.02/", "/0.02", "1/2/3", "''"}) {
    EXPECT_NE(YamlError(nodes + both + "  - {a: a, b: b, price: " + price + "}\n")
                  .find("graph_test.yaml:7:18: price: got"),
              std::string::npos)
        << price;
  }
  EXPECT_EQ(YamlError(nodes + both + "  - a b\n"),
            "graph_test.yaml:7:5: links: got 'a b'; allowed: maps such as {a: x, b: y}");
  EXPECT_EQ(YamlError(nodes + "links:\n  - {a: a, b: s}\n"),
            "graph_test.yaml:2:12: links of b: got 'none'; allowed: at least one for each host");
  EXPECT_EQ(YamlError("type: links\nhosts: 4\nlinks: [{a: host0, b: host1}, {a: host2, b: host3}]"),
            "graph_test.yaml:2:8: host0 and host2 cannot reach each other (hosts do not forward)");
  EXPECT_EQ(YamlError("type: links\nhosts: [a, a]\nlinks: []\n"),
            "graph_test.yaml:2:12: got 'a'; allowed: each name once; it is also at "
            "graph_test.yaml:2:9");
  EXPECT_EQ(YamlError("type: links\nhosts: many\nlinks: []\n"),
            "graph_test.yaml:2:1: hosts: got 'many'; allowed: an integer from 1 to 65536");
  EXPECT_NE(YamlError("type: links\nhosts: [[a]]\nlinks: []\n").find("yaml:2:9: hosts: got"),
            std::string::npos);
  EXPECT_EQ(YamlError("type: links\nlinks: []\n"),
            "graph_test.yaml: hosts: got 'none'; allowed: at least one");
  EXPECT_NE(YamlError(nodes).find("links: got 'nothing'; allowed: a list of links"),
            std::string::npos);
  EXPECT_EQ(YamlError(nodes + both + "extra: [1]\n"),
            "graph_test.yaml:7:1: unknown key of links: got 'extra'; allowed: changes, delay, "
            "hosts, links, "
            "name, queue, rate, routes, switches, type");
  EXPECT_NE(YamlError(nodes + both + "rate: 1\nrate: 2\n").find("yaml:8:1: rate: got '2'"),
            std::string::npos);
}

TEST(HpccFile, RenumbersHostsFirstInAscendingOrder) {
  // Switches 1 and 3 lie between the hosts; spacing and line ends are odd.
  const Topology topology = FromHpcc(
      "5 2 4\r\n3 1\n\n0 1 100Gbps 1000ns 0.000000\n2  3\t1.5Gbps 0.001ms 0.25\r\n"
      "4 3 25Gbps 1us 1e-9\n1 3 400Gbps 0s 0\n\n");
  EXPECT_EQ(topology.Hosts(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(topology.NodeName(0), "host0");
  EXPECT_EQ(topology.NodeName(1), "host2");
  EXPECT_EQ(topology.NodeName(2), "host4");
  EXPECT_EQ(topology.NodeName(3), "switch1");
  EXPECT_EQ(topology.NodeName(4), "switch3");
  EXPECT_EQ(topology.Name(), "graph_test");
  const Link& second = topology.Links()[1];
  EXPECT_EQ(second.a, 1);
  EXPECT_EQ(second.b, 4);
  EXPECT_EQ(second.ports[0].rateBps, 1'500'000'000);
  EXPECT_EQ(second.delay, 1'000);
  EXPECT_EQ(second.ports[0].errorRate, 0.25);
  EXPECT_EQ(topology.Route(0, 1, 0).size(), 3u);
  const TemporaryFile other("graph_test.hpcc", "2 0 1\n0 1 1Gbps 1us 0\n");
  EXPECT_EQ(Make("hpcc:" + other.path).NodeCount(), 2);
}

TEST(HpccFile, ErrorsSayWhereWhatAndWhatIsAllowed) {
  const std::string link = "0 2 1Gbps 1us 0\n";
  const std::string head = "3 1 2\n2\n";
  ASSERT_EQ(HpccError(head + link + "1 2 1Gbps 1us 0\n"), "");
  EXPECT_EQ(HpccError(""),
            "graph_test.txt:1: got 'the end of the file'; allowed: the numbers of nodes, switches "
            "and links");
  EXPECT_EQ(HpccError("3 1 2 H100\n"),
            "graph_test.txt:1:7: got '3 1 2 H100'; allowed: the numbers of nodes, switches and "
            "links");
  EXPECT_EQ(HpccError("3 3 2\n"),
            "graph_test.txt:1:3: switches: got '3'; allowed: an integer from 0 to 2");
  EXPECT_EQ(HpccError("3 x 2\n"),
            "graph_test.txt:1:3: switches: got 'x'; allowed: an integer from 0 to 2");
  EXPECT_EQ(HpccError("3 1 2\n3\n"),
            "graph_test.txt:2:1: switch: got '3'; allowed: an integer from 0 to 2");
  EXPECT_EQ(HpccError("4 2 2\n3 3\n"),
            "graph_test.txt:2:3: switch: got '3'; allowed: each switch once");
  EXPECT_EQ(HpccError("3 1 2\n2 1\n"),
            "graph_test.txt:2:3: switches: got '1'; allowed: 1 of them, as the first line says");
  EXPECT_EQ(HpccError("3 1 2\n"),
            "graph_test.txt:2: got 'the end of the file'; allowed: 1 switches");
  EXPECT_EQ(HpccError(head + link),
            "graph_test.txt:4: got 'the end of the file'; allowed: link 2 of 2 as source, "
            "destination, rate, delay and error rate");
  EXPECT_EQ(HpccError(head + link + "1 2 1Gbps 1us\n"),
            "graph_test.txt:4:11: got '1 2 1Gbps 1us'; allowed: link 2 of 2 as source, "
            "destination, rate, delay and error rate");
  EXPECT_EQ(HpccError(head + link + "1 7 1Gbps 1us 0\n"),
            "graph_test.txt:4:3: destination: got '7'; allowed: an integer from 0 to 2");
  EXPECT_NE(HpccError(head + link + "1 2 1Gx 1us 0\n").find("txt:4:5: rate: got '1Gx'"),
            std::string::npos);
  EXPECT_NE(HpccError(head + link + "1 2 1Gbps -1us 0\n").find("txt:4:11: delay: got '-1us'"),
            std::string::npos);
  EXPECT_EQ(HpccError(head + link + "1 2 1Gbps 1us nan\n"),
            "graph_test.txt:4:15: error rate: got 'nan'; allowed: 0 to below 1");
  EXPECT_EQ(HpccError("3 1 3\n2\n" + link + "1 2 1Gbps 1us 0\n2 0 1Gbps 1us 0\n"),
            "graph_test.txt:5:1: link: got 'switch2 - host0'; allowed: each link once (in YAML "
            "several, by a count); it is also "
            "at graph_test.txt:3:1");
  EXPECT_EQ(HpccError("3 1 1\n2\n" + link),
            "graph_test.txt:1: links of host1: got 'none'; allowed: at least one for each host");
  EXPECT_EQ(HpccError("4 0 2\n0 1 1Gbps 1us 0\n2 3 1Gbps 1us 0\n"),
            "graph_test.txt: host0 and host2 cannot reach each other (hosts do not forward)");
}

// A million nodes would take seconds and hundreds of megabytes.
TEST(HpccFile, ReadingCostsByContentNotByAnnouncedCounts) {
  EXPECT_EQ(HpccError("1048576 1 1\n2\n0 2 1Gbps 1us 0\n"),
            "graph_test.txt:1: links of host1: got 'none'; allowed: at least one for each host");
  const auto begin = std::clock();
  for (int i = 0; i < 20; ++i) HpccError("1048576 0 0\n");
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1);
}

TEST(GraphFile, MustHaveTheHostsNeeded) {
  const TemporaryFile file("graph_test.txt", "2 0 1\n0 1 1Gbps 1us 0\n");
  EXPECT_EQ(Make(file.path, 2).Hosts().size(), 2u);
  EXPECT_EQ(Stripped(MessageOf([&] { Make(file.path, 3); })),
            "topology: got 'graph_test.txt with 2 hosts'; allowed: at least 3 hosts");
  EXPECT_EQ(MessageOf([] { Make("hpcc:none"); }),
            "topology: got 'none'; allowed: a readable file, or a topology's name (no such file or "
            "folder)");
}

TEST(GraphFile, WhatWasWrittenReadsBackTheSame) {
  std::vector<Topology> topologies;
  for (const TopologyType& type : TopologyTypes()) topologies.push_back(Make(type.name, 12));
  topologies.push_back(Make("dumbbell:bottleneck.rate=123456789bps,bottleneck.delay=1234567ns"));
  Topology odd;
  odd.SetName("true: \"x\"");
  odd.AddHost("null");
  odd.AddHost("1");
  odd.AddSwitch("a, b: \\\"}");
  odd.AddLink({0, 2, 0, {999, 0, 0.1}});
  odd.AddLink({2, 1, 1, {1'000'000'007, 0, 1.0 / 3}});
  topologies.push_back(odd);
  for (const Topology& topology : topologies) {
    const std::string yaml = Written(topology, TopologyFormat::Yaml);
    const Topology from_yaml = FromYaml(yaml);
    EXPECT_EQ(from_yaml.Fingerprint(), topology.Fingerprint()) << topology.Name();
    EXPECT_EQ(Written(from_yaml, TopologyFormat::Yaml), yaml);
    EXPECT_EQ(from_yaml.Name(), topology.Name());
    EXPECT_EQ(from_yaml.NodeName(topology.NodeCount() - 1),
              topology.NodeName(topology.NodeCount() - 1));
    const std::string hpcc = Written(topology, TopologyFormat::Hpcc);
    EXPECT_EQ(FromHpcc(hpcc).Fingerprint(), topology.Fingerprint()) << topology.Name();
    EXPECT_EQ(Written(FromHpcc(hpcc), TopologyFormat::Hpcc), hpcc);
  }
}

TEST(GraphFile, QueuesAreForYamlOnly) {
  const Topology topology = Make("star:hosts=2,queue=64KiB");
  EXPECT_EQ(FromYaml(Written(topology, TopologyFormat::Yaml)).Fingerprint(),
            topology.Fingerprint());
  EXPECT_NE(
      MessageOf([&] { Written(topology, TopologyFormat::Hpcc); }).find("queue of host0 - hub"),
      std::string::npos);
}

TEST(GraphFile, DotNamesEveryNodeAndLink) {
  EXPECT_EQ(Written(Make("star:hosts=2"), TopologyFormat::Dot),
            "graph \"star\" {\n"
            "  n0 [label=\"host0\", shape=ellipse];\n"
            "  n1 [label=\"host1\", shape=ellipse];\n"
            "  n2 [label=\"hub\", shape=box];\n"
            "  n0 -- n2 [label=\"1 Gbit/s, 10 us\"];\n"
            "  n1 -- n2 [label=\"1 Gbit/s, 10 us\"];\n"
            "}\n");
  EXPECT_EQ(ParseTopologyFormat("dot"), TopologyFormat::Dot);
  EXPECT_EQ(MessageOf([] { ParseTopologyFormat("gml"); }),
            "topology format: got 'gml'; allowed: yaml, hpcc, graphml, dot");
}

}  // namespace
}  // namespace legacy::fabric::topology_graph_file_test