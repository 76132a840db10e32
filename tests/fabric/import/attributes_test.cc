// Attributes of maps under the names that common writers give them, and those that no writer uses.
#include "ns3-module/fabric/import/attributes.h"

#include <cmath>

#include "ns3-module/fabric/import/geo.h"
#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::attributes_test {
namespace {

constexpr int64_t kMega = 1'000'000;

// Returns the import of two nodes, 0 and 1, and a line between them.
ImportedTopology Pair(const ImportFiles& files, const std::string& edge,
                      const std::string& node = "", const std::string& options = "") {
  return Import(files.Write("pair.gml", "graph [ directed 0 node [ id 0 " + node +
                                            " ] node [ id 1 ] edge [ source 0 target 1 " + edge +
                                            " ] ]") +
                options);
}

TEST(Attributes, ReadNumbersWithTheUnitsOfNamesAndTexts) {
  const double none = NAN;
  for (const auto& [text, quantity, expected] :
       std::vector<std::tuple<std::string, MapQuantity, double>>{
           {"50 ms", MapQuantity::Time, 50e6},
           {"1.5us", MapQuantity::Time, 1500},
           {"2 seconds", MapQuantity::Time, 2e9},
           {"3 Microseconds", MapQuantity::Time, 3e3},
           {"3 \xC2\xB5s", MapQuantity::Time, 3e3},
           {"3 parsec", MapQuantity::Time, none},
           {"soon", MapQuantity::Time, none},
           {"nan", MapQuantity::Time, none},
           {"100 Mbit", MapQuantity::Rate, 100e6},
           {"10 gigabits", MapQuantity::Rate, 10e9},
           {"10kbps", MapQuantity::Rate, 10e3},
           {"2 Gibit", MapQuantity::Rate, 2 * 0x1p30},
           {"10G", MapQuantity::Rate, 10e9},
           {"fast", MapQuantity::Rate, none},
           {"-5 Mbps", MapQuantity::Rate, none},
           {"12 km", MapQuantity::Length, 12},
           {"800 m", MapQuantity::Length, 0.8},
           {"0.5%", MapQuantity::Share, 0.005},
       }) {
    const auto value = ValueOf(text, quantity, 0);
    EXPECT_EQ(value.has_value(), !std::isnan(expected)) << text;
    if (!value) continue;
    EXPECT_NEAR(*value, expected, 1e-12 * expected) << text;
  }
}

TEST(Attributes, OfRatesDelaysAndLossesHaveManySpellings) {
  const ImportFiles files;
  const auto link = [&](const std::string& edge, const std::string& options = "") {
    const ImportedTopology imported = Pair(files, edge, "", options);
    EXPECT_EQ(imported.report.Unused(), "") << edge;
    return LinkBetween(imported.topology, "0", "1");
  };
  for (const char* edge :
       {"bandwidth \"100 Mbit\"", "capacity \"100Mbps\"", "bw \"0.1 Gbps\"", "capacity_mbps 100",
        "bandwidthMbps 100", "Capacity_Gbps 0.1", "link_speed \"100M\"", "rate_kbps 100000",
        "LinkSpeed \"100\" LinkSpeedUnits \"M\"", "label \"Fast, 100 Mbps\"",
        "LinkSpeed \"100\" LinkSpeedUnits \"M\" LinkSpeedRaw 100000000.0 LinkLabel \"100 Mbps\""}) {
    EXPECT_EQ(link(edge).ports[1].rateBps, 100 * kMega) << edge;
  }
  EXPECT_EQ(link("capacity 100", ",unit=1Mbps").ports[0].rateBps, 100 * kMega);
  for (const char* edge : {"latency \"50 ms\"", "delay \"0.05s\"", "delay_ms 50", "latencyMs 50",
                           "propagation_delay \"50000 us\"", "rtt_ms 100", "Delay_us 50000",
                           "LinkDelayNs 50000000", "delay_ms 50 rtt \"100 ms\""}) {
    EXPECT_EQ(link(edge).delay, 50 * kMega) << edge;
  }
  EXPECT_EQ(link("delay 50", ",delay_unit=1ms").delay, 50 * kMega);
  for (const char* edge : {"dist 1000", "distance_km 1000", "length \"1000 km\"",
                           "length_m 1000000", "distance_miles 621.371192237334"}) {
    EXPECT_NEAR(link(edge).delay, FibreDelay(1000.0), 1) << edge;
  }
  for (const char* edge : {"packet_loss 0.01", "loss \"1%\"", "packetLossRate 1e-2",
                           "loss_percent 1", "PacketLoss \"0.01\""}) {
    EXPECT_DOUBLE_EQ(link(edge).ports[0].errorRate, 0.01) << edge;
    EXPECT_DOUBLE_EQ(link(edge).ports[1].errorRate, 0.01) << edge;
  }
}

// As Shadow and topohub write them.
TEST(Attributes, OfNodesGivePlacesNamesAndRatesOfHosts) {
  const ImportFiles files;
  const ImportedTopology shadow =
      Pair(files, "latency \"50 ms\" packet_loss 0.0",
           "host_bandwidth_up \"18 Mbit\" host_bandwidth_down \"140 Mbit\"");
  EXPECT_EQ(shadow.report.Unused(), "");
  const Link host = LinkBetween(shadow.topology, "0/0", "0");
  EXPECT_EQ(shadow.topology.NodeName(host.a), "0/0");
  EXPECT_EQ(host.ports[0].rateBps, 18 * kMega) << "up";
  EXPECT_EQ(host.ports[1].rateBps, 140 * kMega);
  EXPECT_EQ(LinkBetween(shadow.topology, "1/0", "1").ports[0].rateBps, 1000 * kMega);
  const ImportedTopology given =
      Pair(files, "", "host_bandwidth_up \"18 Mbit\"", ",host_rate=2Gbps");
  EXPECT_EQ(LinkBetween(given.topology, "0/0", "0").ports[0].rateBps, 2000 * kMega);

  const ImportedTopology hub = Import(files.Write("hub.gml", R"(graph [ directed 0
    node [ id 0 label "0" name "Oslo" type "City" lon 10.75 lat 59.91 pos 10.75 pos 59.91 ]
    node [ id 1 label "1" name "Bergen" type "City" lon 5.32 lat 60.39 ]
    edge [ source 0 target 1 dist 500 ecmp_fwd [ uni 3.5 deg 2 ] weight 4 ]
  ])"));
  EXPECT_EQ(LinkBetween(hub.topology, "Oslo", "Bergen").delay, FibreDelay(500.0));
  EXPECT_TRUE(hub.topology.PositionOf(0).has_value());
  EXPECT_EQ(hub.report.Unused(), "of nodes: pos (1), type (2); of links: ecmp_fwd (1), weight (1)");
  EXPECT_EQ(hub.report.Short(), "1 speed, 1 delay from a length");
}

TEST(Attributes, WithoutUnitsOrWithOtherValuesAreNotUsedAndSaySo) {
  const ImportFiles files;
  const auto unused = [&](const std::string& edge) { return Pair(files, edge).report.Unused(); };
  EXPECT_EQ(unused("capacity 150 delay 1.2 port 3"),
            "of links: capacity (1, numbers without a unit), delay (1, numbers without a unit), "
            "port (1)");
  EXPECT_EQ(unused("length 40"), "of links: length (1, numbers without a unit)");
  EXPECT_EQ(unused("latency \"soon\" packet_loss 7 bandwidth 0"),
            "of links: bandwidth (1, no such quantity), latency (1, no such quantity), "
            "packet_loss (1, no such quantity)");
  EXPECT_EQ(unused("LinkSpeedRaw 1e9 capacity_mbps 10 LinkLabel \"old fibre\""),
            "of links: LinkLabel (1, no rate in it), capacity_mbps (1, another value is used)");
  EXPECT_EQ(unused("latency \"5 ms\" dist 3"), "of links: dist (1)");
  EXPECT_EQ(unused("latency [ a 1 ]"), "of links: latency (1, no such quantity)");
  EXPECT_EQ(unused("latency \"5 ms\" ] edge [ source 1 target 0 latency \"6 ms\""),
            "of links: longer delays between the same two nodes (1)");
}

TEST(Attributes, OfGraphmlAreReadAsThoseOfGml) {
  const ImportFiles files;
  const ImportedTopology imported = Import(files.Write("nx.graphml", R"(<graphml>
    <key id="d0" for="node" attr.name="lat"/><key id="d1" for="node" attr.name="lon"/>
    <key id="d2" for="edge" attr.name="bandwidth"/><key id="d3" for="edge" attr.name="latency"/>
    <key id="d4" for="node" yfiles.type="nodegraphics"/>
    <graph edgedefault="undirected">
    <node id="n0"><data key="d0">1.5</data><data key="d1">2</data><port name="p"/></node>
    <node id="n1"><data key="d4"><shape/></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d2">10 Gbps</data>
      <data key="d3">3 ms</data></edge></graph></graphml>)"));
  const Link link = LinkBetween(imported.topology, "n0", "n1");
  EXPECT_EQ(link.ports[0].rateBps, 10'000 * kMega);
  EXPECT_EQ(link.delay, 3 * kMega);
  EXPECT_EQ(imported.report.Unused(), "of nodes: port (1), d4 (1)");
}

// Attributes of the elements themselves are not GraphML's own, but some writers have them.
TEST(Attributes, OfXmlElementsAreReadOrReported) {
  const ImportFiles files;
  const ImportedTopology imported = Import(files.Write("xml.graphml", R"(<graphml>
    <key id="d0" for="graph" attr.name="latency"/><key id="d1" for="all" attr.name="loss">
    <default>0.01</default></key>
    <graph id="G" edgedefault="undirected" rate="5"><data key="d0">7 ms</data>
    <node id="n0" vendor="x"/><node id="n1"><data key="d1">0</data></node>
    <edge id="e0" source="n0" target="n1" latency="3 ms" colour="red"/></graph></graphml>)"));
  const Link link = LinkBetween(imported.topology, "n0", "n1");
  EXPECT_EQ(link.delay, 3 * kMega);
  EXPECT_DOUBLE_EQ(link.ports[0].errorRate, 0.01);
  EXPECT_EQ(imported.report.Unused(),
            "of nodes: loss (2), vendor (1); of links: colour (1); of the graph: latency (1), "
            "rate (1)");
}

TEST(Attributes, OfAGraphAreReported) {
  const ImportFiles files;
  const ImportedTopology imported =
      Import(files.Write("own.gml",
                         "Creator \"me\" graph [ label \"g\" default_latency \"9 ms\" directed 0 "
                         "list [ a 1 ] node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 "
                         "delay_ms 1 ] ]"));
  EXPECT_EQ(imported.report.Unused(), "of the graph: default_latency (1), label (1), list (1)");
}

// Node-link JSON, which topohub and networkx write, has attributes with the names of GML.
TEST(Attributes, OfNodeLinkJsonAreReadAsThoseOfGml) {
  const ImportFiles files;
  const std::string nodes = R"("nodes": [
    {"id": 0, "name": "Oslo", "type": "City", "lon": 10.75, "lat": 59.91, "pos": [10.75, 59.91]},
    {"id": "b", "label": "Bergen \u00d8\/", "lon": 5.32, "lat": 60.39, "population": null}])";
  const auto read = [&](const std::string& more) {
    return Import(files.Write("hub.json", "{" + nodes + ", " + more + "}"));
  };
  const ImportedTopology hub = read(
      "\"links\":\t[\n\t{\"source\": 0, \"target\": \"b\", \"dist\": 500, \"ecmp_fwd\": "
      "{\"uni\": 3.5}, \"bandwidth\": \"100 Mbit\", \"up\": true}], \"graph\": {\"name\": 7}");
  const Link link = LinkBetween(hub.topology, "Oslo", "Bergen \u00d8/");
  EXPECT_EQ(link.delay, FibreDelay(500.0));
  EXPECT_EQ(link.ports[1].rateBps, 100 * kMega);
  EXPECT_TRUE(hub.topology.PositionOf(0).has_value());
  EXPECT_EQ(hub.report.Unused(),
            "of nodes: pos (1), type (1); of links: ecmp_fwd (1), up (1); of the graph: name (1)");

  const ImportedTopology ways = read(
      R"("directed": true, "edges": [{"source": 0, "target": "b", "delay_ms": 1, "rate_gbps": 2},
         {"source": "b", "target": 0, "delay_ms": 1, "rate_gbps": 3, "key": 0}])");
  const Link both = LinkBetween(ways.topology, "Oslo", "Bergen \u00d8/");
  EXPECT_EQ(both.ports[0].rateBps + both.ports[1].rateBps, 5000 * kMega);
  EXPECT_NE(both.ports[0].rateBps, both.ports[1].rateBps);
  EXPECT_EQ(ways.report.Unused(), "of nodes: pos (1), type (1)");
}

TEST(Attributes, OfPlacesMustBeRight) {
  const ImportFiles files;
  for (const auto& [node, expected] : std::vector<std::pair<std::string, std::string>>{
           {"lat 1", "longitude: got 'none'; allowed: both or neither"},
           {"lng 1", "latitude: got 'none'; allowed: both or neither"},
           {"lat 91 lon 0", "lat: got '91'; allowed: a number from -90 to 90"}}) {
    const std::string message = MessageOf([&, &node = node] { Pair(files, "", node); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

// The file's numbers of nodes, which need not begin with 0, stand for the first host at each.
TEST(Attributes, NumbersOfNodesAreKept) {
  const ImportFiles files;
  const ImportedTopology imported = Import(
      files.Write("far.gml",
                  "graph [ node [ id 7 label \"a\" ] node [ id 3 label \"b\" ] node [ id 9 ] "
                  "edge [ source 3 target 7 ] ]") +
      ",hosts=2");
  const Topology& topology = imported.topology;
  EXPECT_EQ(imported.numbers,
            (std::map<int64_t, int>{{3, NodeOf(topology, "b/0")}, {7, NodeOf(topology, "a/0")}}));
  EXPECT_EQ(Import(files.folder() + "far.gml,hosts=3+a").topology.NodeName(0), "a/0");
}

}  // namespace
}  // namespace legacy::fabric::attributes_test
