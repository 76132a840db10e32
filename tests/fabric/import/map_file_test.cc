// Maps in GraphML and GML: what they contain, what is assumed, and the options after their paths.
#include <zlib.h>

#include <sstream>

#include "ns3-module/fabric/import/geo.h"
#include "ns3-module/fabric/topology/file.h"
#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::map_file_test {
namespace {

constexpr int64_t kGiga = 1'000'000'000;
constexpr TimeNs kMillisecond = 1'000'000;

// A map with everything that readers settle: a and c are placed, b stands between them, d is far
// from all, two nodes have one name, and x and y are another component.
constexpr const char* kGml = R"(# a comment
Creator "nobody"
graph [
  directed 0
  label "odd &amp; old"
  node [ id 0 label "a" Latitude 0.0 Longitude 0.0 graphics [ x 1 y [ z 2 ] ] ]
  node [ id 1 label "b" ]
  node [ id 2 label "c" Latitude 0.0 Longitude 2.0 ]
  node [ id 3 label "c" hyperedge 1 ]
  node [ id 8 label "x" ]
  node [ id 9 label "y" ]
  edge [ source 0 target 1 LinkSpeedRaw 1000000000.0 ]
  edge [ source 1 target 0 LinkLabel "2 x 1 Gbps" ]
  edge [ source 1 target 2 LinkLabel "old fibre" ]
  edge [ source 2 target 3 ]
  edge [ source 3 target 3 ]
  edge [ source 8 target 9 ]
]
)";

constexpr const char* kGraphml = R"(<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE graphml SYSTEM "nothing.dtd">
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" for="node" id="l"/>
  <key attr.name="Latitude" for="node" id="y"/>
  <key attr.name="Longitude" for="node" id="x"/>
  <key attr.name="hyperedge" for="node" id="h"/>
  <key attr.name="LinkSpeedRaw" for="edge" id="r"/>
  <key attr.name="LinkLabel" for="edge" id="t"/>
  <graph edgedefault="undirected">
    <node id="0"><data key="l">a</data><data key="y">0.0</data><data key="x">0.0</data></node>
    <node id="1"><data key="l">b</data></node>
    <node id="2"><data key="l">c</data><data key="y">0.0</data><data key="x">2.0</data></node>
    <node id="3"><data key="l">c</data><data key="h">1</data></node>
    <node id="8"><data key="l">x</data></node>
    <node id="9"><data key="l">y</data></node>
    <edge source="0" target="1"><data key="r">1000000000.0</data></edge>
    <edge source="1" target="0"><data key="t">2 x 1 Gbps</data></edge>
    <edge source="1" target="2"><data key="t">old fibre</data></edge>
    <edge source="2" target="3"/>
    <edge source="3" target="3"/>
    <edge source="8" target="9"/>
  </graph>
</graphml>
)";

// Degrees of the equator as a delay.
TimeNs Degrees(double degrees) { return FibreDelay({0, 0}, {0, degrees}, 1); }

TEST(MapFile, SettlesWhatTheFileLeavesOpen) {
  const ImportFiles files;
  const ImportedTopology imported = Import(files.Write("odd.gml", kGml));
  const Topology& topology = imported.topology;
  EXPECT_EQ(topology.Name(), "odd");
  ASSERT_EQ(topology.NodeCount(), 8);
  const char* names[] = {"a/0", "b/0", "c/0", "c#2/0", "a", "b", "c", "c#2"};
  for (int node = 0; node < 8; ++node) {
    EXPECT_EQ(topology.NodeName(node), names[node]);
    EXPECT_EQ(topology.IsHost(node), node < 4);
  }
  ASSERT_EQ(topology.Links().size(), 4 + 3);
  const Link ab = LinkBetween(topology, "a", "b");
  EXPECT_EQ(ab.ports[0].rateBps, 3 * kGiga) << "parallel lines add";
  EXPECT_EQ(ab.delay, Degrees(1)) << "b lies between a and c";
  const Link bc = LinkBetween(topology, "b", "c");
  EXPECT_EQ(bc.ports[0].rateBps, 10 * kGiga);
  EXPECT_NEAR(bc.delay, Degrees(1), 1);
  EXPECT_EQ(LinkBetween(topology, "c", "c#2").delay, 5000) << "the place of the only neighbour";
  const Link host = LinkBetween(topology, "a/0", "a");
  EXPECT_EQ(host.ports[0].rateBps, kGiga);
  EXPECT_EQ(host.delay, 10'000);

  const ImportReport& report = imported.report;
  EXPECT_EQ(report.Count(Assumed::Label), 1);
  EXPECT_EQ(report.Count(Assumed::Hyperedge), 1);
  EXPECT_EQ(report.Count(Assumed::Component), 2);
  EXPECT_EQ(report.Count(Assumed::Loop), 1);
  EXPECT_EQ(report.Count(Assumed::Parallel), 1);
  EXPECT_EQ(report.Count(Assumed::Speed), 2);
  EXPECT_EQ(report.Count(Assumed::LabelledSpeed), 1);
  EXPECT_EQ(report.Count(Assumed::Place), 2);
  EXPECT_EQ(report.Count(Assumed::Distance), 3);
  EXPECT_EQ(report.All().size(), 9);
  EXPECT_EQ(report.Short(),
            "1 changed name, 1 shared medium, 2 nodes left out, 1 dropped loop, 1 parallel line, "
            "2 speeds, 1 speed from a label, 2 places, 3 delays from distances");
}

TEST(MapFile, IsTheSameInBothFormatsAndPacked) {
  const ImportFiles files;
  const ImportedTopology gml = Import(files.Write("a.gml", kGml));
  const ImportedTopology graphml = Import(files.Write("b.graphml", kGraphml));
  EXPECT_EQ(gml.topology.Fingerprint(), graphml.topology.Fingerprint());
  EXPECT_EQ(gml.report.Short(), graphml.report.Short());
  const std::string packed = files.folder() + "c.graphml.gz";
  gzFile file = gzopen(packed.c_str(), "wb");
  gzputs(file, kGraphml);
  gzclose(file);
  EXPECT_EQ(Import(packed).topology.Fingerprint(), gml.topology.Fingerprint());
  EXPECT_EQ(Import("graphml:" + packed).report.Short(), gml.report.Short());
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  EXPECT_NE(MessageOf([&] { Import(packed); }).find("gzip"), std::string::npos);
}

// Names are written to CSV files and pictures, which are UTF-8.
TEST(MapFile, NamesAreUtf8WhateverTheFileIs) {
  const ImportFiles files;
  std::string map = kGml;
  map.replace(map.find("label \"a\""), 9, "label \"caf\xE9\"");
  EXPECT_EQ(Import(files.Write("latin.gml", map)).topology.NodeName(0), "caf\xC3\xA9/0");
  map.replace(map.find("caf\xE9"), 4, "caf\xC3\xA9");
  EXPECT_EQ(Import(files.Write("utf.gml", map)).topology.NodeName(0), "caf\xC3\xA9/0");
}

TEST(MapFile, ReadsItsOptions) {
  const ImportFiles files;
  const std::string path = files.Write("odd.gml", kGml);
  const Topology one = Import(path + ",hosts=a+c#2,host_rate=2Gbps,host_delay=1us").topology;
  ASSERT_EQ(one.Hosts().size(), 2);
  EXPECT_EQ(one.NodeName(1), "c#2/0");
  EXPECT_EQ(LinkBetween(one, "c#2/0", "c#2").ports[0].rateBps, 2 * kGiga);
  EXPECT_EQ(LinkBetween(one, "c#2/0", "c#2").delay, 1000);
  EXPECT_EQ(Import(path + ",hosts=3").topology.Hosts().size(), 12);
  EXPECT_EQ(Import(path + ",hosts=0").topology.NodeCount(), 4);
  const Topology slow = Import("gml:" + path + ",default_rate=5Mbps,stretch=1.5").topology;
  EXPECT_EQ(LinkBetween(slow, "b", "c").ports[0].rateBps, 5'000'000);
  EXPECT_NEAR(LinkBetween(slow, "a", "b").delay, 1.5 * Degrees(1), 1);
  const ImportedTopology fixed = Import(path + ",delay=7ms,queue=64KiB");
  EXPECT_EQ(LinkBetween(fixed.topology, "c", "c#2").delay, 7 * kMillisecond);
  EXPECT_EQ(LinkBetween(fixed.topology, "c", "c#2").ports[0].queueBytes, 65536);
  EXPECT_EQ(fixed.report.Count(Assumed::Place) + fixed.report.Count(Assumed::Distance), 0);

  const auto error = [&](const std::string& options) {
    return ImportError(path + options, files.folder());
  };
  EXPECT_EQ(error(",component=error"),
            "odd.gml:10: x: got 'a node that a cannot reach'; allowed: a connected map, or "
            "component=largest (2 components, the largest of 4 nodes)");
  EXPECT_EQ(error(",component=all"), "topology: component: got 'all'; allowed: largest, error");
  EXPECT_EQ(error(",hosts=a+x"),
            "topology: hosts: got 'x'; allowed: a number for each node, or names of switches "
            "joined by '+', such as a (that one is a host, or left out)");
  EXPECT_EQ(error(",hosts=20000"),
            "topology: hosts: got '80000 hosts in all'; allowed: at most 65536");
  EXPECT_EQ(error(",speed=1Gbps").substr(0, 44), "topology: unknown key of gml: got 'speed'; a");
  EXPECT_EQ(error(",stretch=-1"), "topology: stretch: got '-1'; allowed: a number from 0 to 1000");
  EXPECT_EQ(error(",hosts=1,hosts=2"), "topology: hosts: got '2'; allowed: each key once");
}

TEST(MapFile, TakesAMillisecondWithoutAnyPlace) {
  const ImportFiles files;
  const ImportedTopology imported = Import(
      files.Write("bare.gml", "graph [ node [ id 7 ] node [ id 8 ] edge [ source 7 target 8 ] ]"));
  EXPECT_EQ(LinkBetween(imported.topology, "7", "8").delay, kMillisecond);
  EXPECT_EQ(imported.report.Short(), "1 speed, 1 delay");
  // Two components of one size: that of the first node stays.
  const Topology first =
      Import(files.Write("two.gml",
                         "graph [ node [ id 1 ] node [ id 2 ] node [ id 3 ] node [ id 4 ] edge [ "
                         "source 3 target 4 ] edge [ source 2 target 1 ] ]"))
          .topology;
  EXPECT_EQ(first.NodeName(2), "1");
}

// The place of a node that no neighbour has follows in a later round.
TEST(MapFile, PlacesChainsRoundByRound) {
  const ImportFiles files;
  const Topology topology =
      Import(
          files.Write("chain.gml",
                      "graph [ node [ id 0 Latitude 0 Longitude 0 ] node [ id 1 ] node [ id 2 ] "
                      "node [ id 3 Latitude 0 Longitude 8 ] node [ id 4 ] edge [ source 0 target "
                      "1 ] edge [ source 1 target 2 ] edge [ source 2 target 4 ] edge [ source 4 "
                      "target 3 ] ]"))
          .topology;
  // Round 1: 1 at 0 and 4 at 8; round 2: 2 in their middle.
  EXPECT_EQ(LinkBetween(topology, "0", "1").delay, 5000);
  EXPECT_NEAR(LinkBetween(topology, "1", "2").delay, Degrees(4), 1);
  EXPECT_NEAR(LinkBetween(topology, "2", "4").delay, Degrees(4), 1);
}

TEST(MapFile, TakesOppositeDirectedLinesAsOne) {
  const ImportFiles files;
  const ImportedTopology imported = Import(files.Write("ways.gml", R"(graph [ directed 1
    node [ id 0 ] node [ id 1 ] node [ id 2 ]
    edge [ source 1 target 0 LinkSpeedRaw 1e9 ]
    edge [ source 0 target 1 LinkSpeedRaw 5e8 ]
    edge [ source 1 target 0 LinkSpeedRaw 2e9 ]
    edge [ source 1 target 2 LinkSpeedRaw 7e8 LinkSpeedRawBack 6e8 ]
    ])"));
  const Link ways = LinkBetween(imported.topology, "0", "1");
  EXPECT_EQ(imported.topology.NodeName(ways.a), "1");
  EXPECT_EQ(ways.ports[0].rateBps, 3 * kGiga);
  EXPECT_EQ(ways.ports[1].rateBps, kGiga / 2);
  const Link one = LinkBetween(imported.topology, "1", "2");
  EXPECT_EQ(one.ports[0].rateBps, 700'000'000) << "of a line in one direction";
  EXPECT_EQ(one.ports[1].rateBps, 700'000'000) << "the other has the same rate";
  EXPECT_EQ(imported.report.Count(Assumed::Parallel), 1);
}

TEST(MapFile, ReadsDefaultsOfKeysAndNames) {
  const ImportFiles files;
  const Topology topology =
      Import(files.Write("keys.graphml",
                         "<graphml><key id='r' for='edge' attr.name='LinkSpeedRaw'>"
                         "<default>5e6</default></key><key id='label' for='node'/>"
                         "<graph edgedefault='undirected'><node id='0'><data key='label'>S&amp;P\n"
                         "  &#233;toile</data></node><node id='1'/><edge source='0' target='1'/>"
                         "</graph></graphml>"))
          .topology;
  EXPECT_EQ(LinkBetween(topology, "S&P \xC3\xA9toile", "1").ports[0].rateBps, 5'000'000);
}

TEST(MapFile, GoesThroughGraphmlUnchanged) {
  const ImportFiles files;
  const Topology first = Import(files.Write("odd.gml", kGml)).topology;
  Topology second = Import("leaf-spine:leaves=2,hosts=2,spines=2").topology;
  second = second.WithLinks([](int index, Link& link) {
    for (int way = 0; way < 2; ++way) {
      link.ports[way].rateBps /= 1 + way;
      link.ports[way].queueBytes = 1000 * index + way;
      link.ports[way].errorRate = index == 2 ? 1e-5 * way : 0;
      link.ports[way].usdPerGb = index * 0.01 * way;
    }
  });
  for (const Topology* topology : std::initializer_list<const Topology*>{&first, &second}) {
    std::ostringstream text;
    WriteTopology(*topology, TopologyFormat::Graphml, text);
    const ImportedTopology read = Import(files.Write("again.graphml", text.str()));
    EXPECT_EQ(read.topology.Fingerprint(), topology->Fingerprint());
    EXPECT_TRUE(read.report.Empty()) << read.report.Short();
    for (int node = 0; node < topology->NodeCount(); ++node) {
      EXPECT_EQ(read.topology.NodeName(node), topology->NodeName(node));
    }
    for (size_t i = 0; i < topology->Links().size(); ++i) {
      for (int way = 0; way < 2; ++way) {
        EXPECT_EQ(read.topology.Links()[i].ports[way].usdPerGb,
                  topology->Links()[i].ports[way].usdPerGb);
      }
    }
  }
  Topology named;
  named.AddHost("bell\a");
  std::ostringstream text;
  EXPECT_NE(MessageOf([&] { WriteTopology(named, TopologyFormat::Graphml, text); }), "");
}

}  // namespace
}  // namespace legacy::fabric::map_file_test
