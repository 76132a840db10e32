// SNDlib's networks, in its native text and in XML.
#include "ns3-module/fabric/import/network-map.h"
#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::sndlib_test {
namespace {

constexpr int64_t kMega = 1'000'000;

// A line of both directions, one of a single one, one without an installed capacity, and one with
// nothing.
constexpr const char* kNative = R"(?SNDlib native format; type: network; version: 1.0
# network tiny

META (
  time = 2004
  unit = MBITPERSEC
)

NODES (
  A ( -73.9667 40.7833 )
  B ( -77.026842 38.897303 )
  C ( -80.0 35.0 )
)

LINKS (
  L1 ( A B ) 100.00 0.00 0.00 0.00 ( 40000.00 133.00 )
  L2 ( B A ) 100.00 0.00 0.00 0.00 ( )
  L3 ( B C ) 0.00 0.00 0.00 0.00 ( 622.00 1.00 155.00 2.00 )
  L4 ( A C ) 0.00 0.00 0.00 0.00 ( )
)

DEMANDS (
  D1 ( A C ) 1 195.00 UNLIMITED
  D2 ( C A ) 2 5.50 3
)

ADMISSIBLE_PATHS (
  D1 (
    P_0 ( L1 L3 )
    P_1 ( L4 )
  )
)
)";

constexpr const char* kXml = R"(<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><unit>MBITPERSEC</unit></meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="A"><coordinates><x>-73.9667</x><y>40.7833</y></coordinates></node>
   <node id="B"><coordinates><x>-77.026842</x><y>38.897303</y></coordinates></node>
   <node id="C"><coordinates><x>-80.0</x><y>35.0</y></coordinates></node>
  </nodes>
  <links>
   <link id="L1"><source>A</source><target>B</target>
    <preInstalledModule><capacity>100.0</capacity><cost>0.0</cost></preInstalledModule></link>
   <link id="L2"><source>B</source><target>A</target>
    <preInstalledModule><capacity>100.0</capacity><cost>0.0</cost></preInstalledModule></link>
   <link id="L3"><source>B</source><target>C</target>
    <additionalModules><addModule><capacity>622.0</capacity><cost>1.0</cost></addModule>
     <addModule><capacity>155.0</capacity><cost>2.0</cost></addModule></additionalModules></link>
   <link id="L4"><source>A</source><target>C</target></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>A</source><target>C</target><demandValue>195.0</demandValue></demand>
  <demand id="D2"><source>C</source><target>A</target><routingUnit>2</routingUnit>
   <demandValue>5.5</demandValue></demand>
 </demands>
</network>
)";

std::string With(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Sndlib, UnitsHaveTwoSpellingsAndTheOneBehindThePathWins) {
  const ImportFiles files;
  for (const auto& [unit, scale] : std::vector<std::pair<std::string, int64_t>>{
           {"BITSPERSEC", 1}, {"KBITPERSEC", 1000}, {"GBITSPERSEC", 1000 * kMega}}) {
    const std::string native = files.Write("unit.txt", With(kNative, "MBITPERSEC", unit));
    const std::string xml = files.Write("unit.xml", With(kXml, "MBITPERSEC", unit));
    for (const std::string& path : {native, xml}) {
      EXPECT_EQ(LinkBetween(Import(path).topology, "A", "B").ports[0].rateBps, 100 * scale) << unit;
      const ImportedTopology given = Import(path + ",unit=2Mbps");
      EXPECT_EQ(LinkBetween(given.topology, "A", "B").ports[0].rateBps, 200 * kMega);
      EXPECT_DOUBLE_EQ(given.demands[0].bitsPerSecond, 390e6);
    }
  }
  const std::string path = files.Write("odd.txt", With(kNative, "MBITPERSEC", "FURLONGS"));
  EXPECT_EQ(LinkBetween(Import(path + ",unit=1Mbps").topology, "A", "B").ports[0].rateBps,
            100 * kMega);
}

TEST(Sndlib, SaysWhatNoTopologyHas) {
  const ImportFiles files;
  EXPECT_EQ(Import(files.Write("tiny.txt", kNative)).report.Unused(),
            "of links: cost of a module (3); of demands: longest path (1), lines of admissible "
            "paths (3)");
  EXPECT_EQ(Import(files.Write("tiny.xml", kXml)).report.Unused(), "of links: cost (4)");
}

TEST(Sndlib, ReadsCapacitiesPlacesAndDemandsOfBothFormats) {
  const ImportFiles files;
  for (const std::string& path :
       {files.Write("tiny.txt", kNative), files.Write("tiny.xml", kXml)}) {
    const ImportedTopology imported = Import(path);
    const Topology& topology = imported.topology;
    EXPECT_EQ(topology.Hosts().size(), 3);
    ASSERT_EQ(topology.Links().size(), 3 + 3) << path;
    EXPECT_EQ(LinkBetween(topology, "A", "B").ports[0].rateBps, 100 * kMega)
        << "two directions of a line";
    EXPECT_NEAR(LinkBetween(topology, "A", "B").delay * 1e-6, 1.676, 0.0005);
    EXPECT_EQ(LinkBetween(topology, "B", "C").ports[0].rateBps, 155 * kMega)
        << "the smallest module";
    EXPECT_EQ(LinkBetween(topology, "A", "C").ports[0].rateBps, 10'000 * kMega);
    EXPECT_EQ(imported.report.Short(), "1 speed, 1 speed from a module, 3 delays from distances");
    ASSERT_EQ(imported.demands.size(), 2);
    EXPECT_EQ(topology.NodeName(imported.demands[1].source), "C");
    EXPECT_EQ(topology.NodeName(imported.demands[1].destination), "A");
    EXPECT_DOUBLE_EQ(imported.demands[0].bitsPerSecond, 195e6);
    EXPECT_DOUBLE_EQ(imported.demands[1].bitsPerSecond, 11e6);
  }
}

TEST(Sndlib, NeedsAUnitWhereTheFileHasNone) {
  const ImportFiles files;
  std::string text = kNative;
  text.erase(text.find("META"), text.find("NODES") - text.find("META"));
  const std::string path = files.Write("bare.txt", text);
  const Topology topology = Import("sndlib:" + path + ",unit=1kbps").topology;
  EXPECT_EQ(LinkBetween(topology, "A", "B").ports[0].rateBps, 100'000);
  EXPECT_NE(ImportError(path, files.folder()).find("unit=1Mbps after the path"), std::string::npos);
}

TEST(Sndlib, DoesNotTakePixelsForPlaces) {
  const ImportFiles files;
  std::string text = kNative;
  text.replace(text.find("-80.0 35.0"), 10, "243.0 574.0");
  const ImportedTopology imported = Import(files.Write("pixels.txt", text));
  EXPECT_EQ(imported.report.Count(Assumed::Delay), 3);
  EXPECT_EQ(LinkBetween(imported.topology, "A", "B").delay, 1'000'000);
  text = kXml;
  text.replace(text.find("geographical"), 12, "pixel");
  EXPECT_EQ(Import(files.Write("pixels.xml", text)).report.Count(Assumed::Delay), 3);
}

struct Known {
  const char* name;
  int nodes;
  int links;
  size_t demands;
  size_t different;  // links once both directions are one
};

TEST(Sndlib, HasTheSizesThatAreKnown) {
  const std::filesystem::path folder = RealData() / "sndlib";
  if (RealData().empty() || !std::filesystem::exists(folder)) GTEST_SKIP() << "no SNDlib";
  const Known all[] = {
      {"abilene.txt", 12, 15, 132, 15},       {"abilene.xml", 12, 15, 132, 15},
      {"geant.txt", 22, 36, 462, 36},         {"geant.xml", 22, 36, 462, 36},
      {"cost266.txt", 37, 57, 1332, 57},      {"germany50.txt", 50, 88, 662, 88},
      {"janos-us-ca.txt", 39, 122, 1482, 61}, {"janos-us.txt", 26, 84, 650, 42},
      {"nobel-eu.txt", 28, 41, 378, 41},      {"nobel-germany.txt", 17, 26, 121, 26},
      {"nobel-us.txt", 14, 21, 91, 21},       {"polska.txt", 12, 18, 66, 18},
      {"ta2.txt", 65, 108, 1869, 108}};
  for (const Known& known : all) {
    const std::string path = (folder / known.name).string();
    const NetworkMap map =
        path.back() == 'l' ? ReadSndlibXml(path, 1'000'000) : ReadSndlibNative(path, 1'000'000);
    EXPECT_EQ(map.nodes.size(), static_cast<size_t>(known.nodes)) << known.name;
    EXPECT_EQ(map.lines.size(), static_cast<size_t>(known.links)) << known.name;
    const ImportedTopology imported = Import(path + ",unit=1Mbps,hosts=0");
    EXPECT_EQ(imported.topology.NodeCount(), known.nodes) << known.name;
    EXPECT_EQ(imported.topology.Links().size(), known.different) << known.name;
    EXPECT_EQ(imported.demands.size(), known.demands) << known.name;
  }
}

TEST(Sndlib, HasAbilenesDistances) {
  const std::filesystem::path path = RealData() / "sndlib" / "abilene.txt";
  if (RealData().empty() || !std::filesystem::exists(path)) GTEST_SKIP() << "no SNDlib";
  const ImportedTopology abilene = Import(path.string());
  const Topology& topology = abilene.topology;
  EXPECT_NEAR(LinkBetween(topology, "NYCMng", "WASHng").delay * 1e-6, 1.676, 0.0005);
  EXPECT_NEAR(LinkBetween(topology, "STTLng", "SNVAng").delay * 1e-6, 5.684, 0.0005);
  EXPECT_EQ(LinkBetween(topology, "ATLAng", "IPLSng").ports[0].rateBps, 2480 * kMega);
  EXPECT_EQ(abilene.report.Count(Assumed::ModuleSpeed), 0) << "all are installed";
  EXPECT_EQ(Import((RealData() / "sndlib" / "abilene.xml").string()).topology.Fingerprint(),
            topology.Fingerprint());
}

}  // namespace
}  // namespace legacy::fabric::sndlib_test
