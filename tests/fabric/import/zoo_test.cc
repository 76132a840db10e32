// All maps of the Internet Topology Zoo, if they are available.
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "ns3-module/fabric/import/network-map.h"
#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::zoo_test {
namespace {

// Counts over all files.
struct Facts {
  int64_t files = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
  std::map<Assumed, int64_t> count;  // sums
  std::map<Assumed, int64_t> in;     // files with at least one
  int64_t raw = 0, raw_everywhere = 0, raw_somewhere = 0;
  int64_t labelled = 0, named = 0;  // edges without a raw speed: with a label, whose words name one
  int64_t same_labels = 0;          // files
  int64_t placed = 0, unplaced = 0;  // files
};

void Add(const std::string& path, Facts& facts) {
  const RawGraph raw = ReadRawGraphml(path);
  Settings none("zoo", "graphml");
  const NetworkMap map = MapOfGraph(raw, none);
  ++facts.files;
  facts.nodes += static_cast<int64_t>(raw.nodes.size());
  facts.edges += static_cast<int64_t>(raw.edges.size());
  size_t with_raw = 0;
  for (size_t i = 0; i < raw.edges.size(); ++i) {
    const auto& values = raw.edges[i].values;
    const bool has_raw = values.count("LinkSpeedRaw") > 0;
    with_raw += has_raw;
    if (has_raw || values.count("LinkLabel") == 0) continue;
    ++facts.labelled;
    facts.named += map.lines[i].rateSource == Assumed::LabelledSpeed;
  }
  facts.raw += static_cast<int64_t>(with_raw);
  facts.raw_everywhere += with_raw == raw.edges.size();
  facts.raw_somewhere += with_raw > 0;
  std::set<std::string> labels;
  for (const RawGraph::Node& node : raw.nodes) labels.insert(node.values.at("label"));
  facts.same_labels += labels.size() < raw.nodes.size();
  size_t places = 0;
  for (const MapNode& node : map.nodes) places += node.place.has_value();
  facts.placed += places == map.nodes.size();
  facts.unplaced += places == 0;

  const ImportedTopology imported = Import(path);
  const Topology& topology = imported.topology;
  const int64_t left_out = imported.report.Count(Assumed::Component);
  EXPECT_EQ(topology.Hosts().size(), raw.nodes.size() - left_out) << path;
  EXPECT_EQ(topology.NodeCount(), 2 * static_cast<int>(topology.Hosts().size())) << path;
  std::set<std::string> names;
  for (int node = 0; node < topology.NodeCount(); ++node) names.insert(topology.NodeName(node));
  EXPECT_EQ(names.size(), static_cast<size_t>(topology.NodeCount())) << path;
  for (const Link& link : topology.Links()) {
    EXPECT_GE(link.delay, 5000);
    // Half of the globe is 100 ms away.
    EXPECT_LE(link.delay, 101'000'000) << path;
  }
  for (const Assumption& assumption : imported.report.All()) {
    facts.count[assumption.kind] += assumption.count;
    ++facts.in[assumption.kind];
  }
}

// Returns the links, by names of their ends: files of one map differ in the order of edges and
// ends.
std::multiset<std::string> LinksOf(const Topology& topology) {
  std::multiset<std::string> links;
  for (const Link& link : topology.Links()) {
    const auto [low, high] = std::minmax(topology.NodeName(link.a), topology.NodeName(link.b));
    links.insert(low + " - " + high + ": " + std::to_string(link.ports[0].rateBps) + " bit/s, " +
                 std::to_string(link.delay) + " ns");
  }
  return links;
}

class Zoo : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = RealData() / "topology_zoo";
    if (RealData().empty() || !std::filesystem::exists(folder_)) {
      GTEST_SKIP() << "no Internet Topology Zoo";
    }
  }

  // Returns what the map has: "nodes/lines/different lines".
  std::string SizeOf(const std::string& name) const {
    const std::string path = (folder_ / "graphml" / (name + ".graphml")).string();
    const RawGraph raw = ReadRawGraphml(path);
    const Topology topology = Import(path + ",hosts=0").topology;
    return std::to_string(raw.nodes.size()) + "/" + std::to_string(raw.edges.size()) + "/" +
           std::to_string(topology.Links().size());
  }

  std::filesystem::path folder_;
};

TEST_F(Zoo, HasTheFactsThatAreKnownOfAll) {
  const ImportFiles files;
  const std::string unpack =
      "tar -xzf '" + (folder_ / "all_graphml.tar.gz").string() + "' -C '" + files.folder() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  Facts facts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(files.folder())) {
    if (entry.path().extension() == ".graphml") Add(entry.path().string(), facts);
  }
  EXPECT_EQ(facts.files, 276);
  EXPECT_EQ(facts.nodes, 10952);
  EXPECT_EQ(facts.edges, 13976);
  EXPECT_EQ(facts.count[Assumed::Parallel], 654);
  EXPECT_EQ(facts.in[Assumed::Parallel], 96);
  EXPECT_EQ(facts.count[Assumed::Loop], 2);
  EXPECT_EQ(facts.in[Assumed::Loop], 1);
  EXPECT_EQ(facts.in[Assumed::Component], 23);
  EXPECT_EQ(facts.same_labels, 120);
  EXPECT_EQ(facts.in[Assumed::Label], 117) << "three repeat the empty label alone: ids name those";
  EXPECT_EQ(facts.count[Assumed::Hyperedge], 226);
  EXPECT_EQ(facts.in[Assumed::Hyperedge], 52);
  EXPECT_EQ(facts.raw, 3928);
  EXPECT_EQ(facts.raw_everywhere, 29);
  EXPECT_EQ(facts.raw_somewhere, 115);
  EXPECT_EQ(facts.labelled, 4430);
  EXPECT_NEAR(static_cast<double>(facts.named) / 4430, 0.3, 0.05);
  EXPECT_EQ(facts.placed, 85);
  EXPECT_EQ(facts.unplaced, 16);
  EXPECT_EQ(facts.in[Assumed::Delay], 17) << "those, and JanetExternal, whose place is left out";
}

TEST_F(Zoo, HasTheSizesThatAreKnownOfSome) {
  EXPECT_EQ(SizeOf("Abilene"), "11/14/14");
  EXPECT_EQ(SizeOf("Geant2012"), "40/61/61");
  EXPECT_EQ(SizeOf("Cogentco"), "197/245/243");
  EXPECT_EQ(SizeOf("Kdl"), "754/899/895");
  EXPECT_EQ(SizeOf("Deltacom"), "113/183/161");
  const ImportedTopology geant = Import((folder_ / "graphml" / "Geant2012.graphml").string());
  EXPECT_EQ(geant.report.Count(Assumed::Speed), 61 - 39);
}

TEST_F(Zoo, IsTheSameInGml) {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "gml")) {
    const std::string name = entry.path().stem().string();
    const ImportedTopology gml = Import(entry.path().string());
    const ImportedTopology graphml = Import((folder_ / "graphml" / (name + ".graphml")).string());
    EXPECT_EQ(LinksOf(gml.topology), LinksOf(graphml.topology)) << name;
    EXPECT_EQ(gml.report.Short(), graphml.report.Short()) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 17);
}

}  // namespace
}  // namespace legacy::fabric::zoo_test
