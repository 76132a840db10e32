// Lists of flows: files, patterns, sizes, and their graph.
#include "scenarios/network/flow_list.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "scenarios/network/engines/flow_sizes.h"
#include "tests/network/network_testing.h"

namespace legacy::flow_list_test {
namespace {

namespace fs = std::filesystem;

class FlowList : public ::testing::Test {
 protected:
  FlowList() {
    NetworkRequest request;
    request.topology.text = "star:hosts=8";
    request.placement.workers = 0;
    network_ = BuildNetwork(request);
  }
  void TearDown() override { fs::remove(path_); }

  std::vector<FlowRequest> Read(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadFlows(path_, *network_);
  }
  std::vector<FlowRequest> Pattern(const std::string& text, uint64_t seed = 1) {
    return MakePattern(text, 1000, seed, *network_);
  }

  std::unique_ptr<Network> network_;
  std::string path_ = ::testing::TempDir() + "flow_list_test-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
};

TEST_F(FlowList, ReadsHostsByNameOrNumberAndSkipsHeaderAndComments) {
  for (const char* header : {"", "source,destination,bytes,start\n"}) {
    const auto flows = Read(std::string(header) + "# a comment\n0,host3, 1.5KB ,0.001\n2,7,10\n");
    ASSERT_EQ(flows.size(), 2u);
    EXPECT_EQ(flows[0].destination, 3);
    EXPECT_EQ(flows[0].bytes, 1500);
    EXPECT_EQ(flows[0].start, 1'000'000);
    EXPECT_EQ(flows[1].start, 0);
  }
}

TEST_F(FlowList, ReadsConnectionMatricesOfHtsim) {
  const auto flows = Read(
      "# from a paper\nNodes 8\nConnections 3\nTriggers 0\n0->5 id 1 start 0 size 2000000\n"
      "7->1 start 1500000 size 10 prio 2\n5->0 id 3 start 0.000000 size 1\n");
  ASSERT_EQ(flows.size(), 3u);
  EXPECT_EQ(flows[0].source, 0);
  EXPECT_EQ(flows[0].destination, 5);
  EXPECT_EQ(flows[0].bytes, 2'000'000);
  EXPECT_EQ(flows[1].start, 1500) << "picoseconds";
  EXPECT_EQ(flows[2].start, 0);
  std::ofstream(path_) << "Nodes 8\nConnections 1\n0->5 start 0 size 0\n";
  EXPECT_EQ(ReadEndlessFlows(path_, *network_).size(), 1u);
}

TEST_F(FlowList, ReadsFlowsOfHpcc) {
  const auto flows = Read("2\n0 5 3 100 2000000 2.0\n7 1 3 101 10 0.000000001\n");
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].destination, 5);
  EXPECT_EQ(flows[0].bytes, 2'000'000);
  EXPECT_EQ(flows[0].start, 2'000'000'000);
  EXPECT_EQ(flows[1].start, 1);
}

// A list has the numbers of its simulator's topology, in which node 0 may be a switch.
TEST_F(FlowList, NumbersAreThoseOfTheTopologysFile) {
  const std::string topology = ::testing::TempDir() + "flow_list_numbers.txt";
  std::ofstream(topology) << "6 2 5\n0 3\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n3 4 10Gbps 1us 0\n"
                             "3 5 10Gbps 1us 0\n0 3 10Gbps 1us 0\n";
  NetworkRequest request;
  request.topology.text = topology;
  request.placement.workers = 0;
  network_ = BuildNetwork(request);
  for (const char* text : {"1\n1 5 3 100 10 0\n", "1,5,10\n", "host1,host5,10\n"}) {
    const auto flows = Read(text);
    EXPECT_EQ(network_->topology.NodeName(network_->placement.hosts[flows[0].source]), "host1");
    EXPECT_EQ(network_->topology.NodeName(network_->placement.hosts[flows[0].destination]),
              "host5");
  }
  for (const char* text : {"1\n0 5 3 100 10 0\n", "0,5,10\n", "switch0,5,10\n"}) {
    const std::string message = MessageOf([&] { Read(text); });
    EXPECT_NE(message.find("is a switch)"), std::string::npos) << message;
  }
  EXPECT_NE(MessageOf([&] {
              Read("1,6,10\n");
            }).find("got '6'; allowed: a host's number in the topology's file, or its name"),
            std::string::npos);
  // So are those of a storm.
  const auto storm = [&](const std::string& host) {
    request.transport = fabric::MakeTransport("roce:storm=host=" + host + "+for=1ms");
    return BuildNetwork(request)->request.transport.roce->storm->host;
  };
  EXPECT_EQ(storm("5"), "host5");
  EXPECT_EQ(storm("host4"), "host4");
  EXPECT_NE(MessageOf([&] { storm("0"); }).find("(0 is a switch)"), std::string::npos);
  request.transport = {};
  // The same fabric as YAML keeps the numbers in its names.
  std::ofstream(topology) << "?";
  const std::string yaml = ::testing::TempDir() + "flow_list_numbers.yaml";
  std::ofstream(yaml) << "type: links\nhosts: [host1, host5]\nswitches: [switch0]\n"
                         "links:\n- {a: host1, b: switch0}\n- {a: host5, b: switch0}\n";
  request.topology.text = yaml;
  network_ = BuildNetwork(request);
  EXPECT_EQ(Read("1\n1 5 3 100 10 0\n")[0].destination, 1);
  EXPECT_NE(MessageOf([&] { Read("1\n0 5 3 100 10 0\n"); }).find("got '0'"), std::string::npos);
  fs::remove(topology);
  fs::remove(yaml);
}

TEST_F(FlowList, LinesAfterTheAnnouncedFlowsAreNotRead) {
  EXPECT_EQ(Read("1\n0 5 3 100 20 2\n1 5 3 100 20 2\n\nFirst line: # of flows\n").size(), 1u);
}

TEST_F(FlowList, MistakesInOtherFormatsNameTheLineToo) {
  const std::string head = "Nodes 8\nConnections 1\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Nodes 9\nConnections 1\n0->1 start 0 size 1\n", ":1:7: Nodes: got '9'; allowed: at most 8"},
      {"Nodes 8\nConnections 2\n0->1 start 0 size 1\n", ":4: got '1 flows'; allowed: 2, as"},
      {"Nodes 8\n0->1 start 0 size 1\n", ":3: Connections: got 'none'"},
      {head + "0->8 start 0 size 1\n", ":3:1: destination: got '8'"},
      {head + "0->0 start 0 size 1\n", ":3:1: destination: got '0'; allowed: a host other"},
      {head + "0-5 start 0 size 1\n", ":3:1: got '0-5'; allowed: a connection such as 0->5"},
      {head + "x->5 start 0 size 1\n", ":3:1: source: got 'x'"},
      {head + "0->5 start 0 size 0\n", ":3:1: size: got '0'; allowed: 1 or more, or all 0"},
      {head + "0->5 start 0 size -4\n", ":3:19: size: got '-4'"},
      {head + "0->5 start nan size 4\n", ":3:12: start: got 'nan'"},
      {head + "0->5 size 4\n", ":3:1: start: got 'none'"},
      {head + "0->5 start\n", ":3:6: start: got 'nothing'"},
      {head + "0->5 start 0 size 4 colour 3\n", ":3:21: got 'colour'; allowed: start, size"},
      {head + "0->5 trigger 1 size 4\n", ":3:6: got 'trigger'; allowed: start: flows that other"},
      {head + "0->5 start 0 size 4 send_done_trigger 1\n", "got 'send_done_trigger'"},
      {"Nodes 8\nConnections 0\nTriggers 1\n", ":3:10: Triggers: got '1'; allowed: 0"},
      {head + "trigger id 1 oneshot\n", ":3:1: got 'trigger'; allowed: connections"},
      {head + "failure switch_type TOR\n", ":3:1: got 'failure'"},
      {"3\n0 5 3 100 20 2.0\n", ":3: got '1 flows'; allowed: 3, as the file announces"},
      {"1\n0 5 3 100 20\n", ":2:1: got '0 5 3 100 20'; allowed: source, destination, group"},
      {"1\n0 5 3 100 0 1\n", ":2:11: bytes: got '0'"},
      {"1\n0 5 3 100 10 -1\n", ":2:14: start: got '-1'"},
      {"1\n0 16 3 100 10 1\n", ":2:1: destination: got '16'"},
      {"0\n", "no flow"},
  };
  for (const auto& [text, expected] : cases) {
    try {
      Read(text);
      ADD_FAILURE() << text;
    } catch (const std::exception& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(expected), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

TEST_F(FlowList, MistakesNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0,1,10\n0,9,10\n", ":2: destination: got '9'; allowed: a host's number from 0 to 7"},
      {"0,1,10\nnobody,1,10\n", ":2: source: got 'nobody'"},
      {"0,1,10\n3,3,10\n", ":2: destination: got '3'; allowed: a host other than the source"},
      {"0,1,10\n0,1,-5\n", ":2: bytes: got '-5'"},
      {"0,1,10\n0,1,5,soon\n", ":2: start: got 'soon'"},
      {"0,1,10\n0,1,5,-1\n", ":2: start: got '-1'"},
      {"0,1,10\n0,1\n", ":2: got '2 fields'"},
      {"0,1,10\n\n0,1,1,1,1\n", ":3: got '5 fields'"},
      {"", "no flow"},
      {"source,destination,bytes\n", "no flow"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = MessageOf([&, &text = text] { Read(text); });
    EXPECT_NE(message.find(expected), std::string::npos) << text << message;
  }
}

TEST_F(FlowList, PatternsSendWhatTheySay) {
  std::set<int> sources, destinations;
  for (const FlowRequest& flow : Pattern("permutation", 3)) {
    EXPECT_NE(flow.source, flow.destination);
    sources.insert(flow.source);
    destinations.insert(flow.destination);
  }
  EXPECT_EQ(sources.size(), 8u);
  EXPECT_EQ(destinations.size(), 8u);
  for (const FlowRequest& flow : Pattern("incast:5")) EXPECT_EQ(flow.destination, 0);
  EXPECT_EQ(Pattern("incast:5").size(), 5u);
  std::set<std::pair<int, int>> pairs;
  for (const FlowRequest& flow : Pattern("all-to-all"))
    pairs.insert({flow.source, flow.destination});
  EXPECT_EQ(pairs.size(), 56u);
}

// 8 hosts of 1 Gbit/s at load 0.4 send 400 MB a second: the bytes of many flows, divided by the
// time of the last.
TEST_F(FlowList, PoissonOffersItsLoad) {
  const auto flows = Pattern("poisson:load=0.4,cdf=websearch,flows=40000", 5);
  double bytes = 0;
  std::map<int, int> by_source;
  for (const FlowRequest& flow : flows) {
    bytes += static_cast<double>(flow.bytes);
    ++by_source[flow.source];
    EXPECT_NE(flow.source, flow.destination);
  }
  const double seconds = static_cast<double>(flows.back().start) / 1e9;
  EXPECT_NEAR(bytes / seconds, 0.4e9, 0.02e9);
  for (const auto& [source, count] : by_source) EXPECT_NEAR(count, 5000, 300);
  EXPECT_NE(Pattern("poisson:flows=10", 1).back().start,
            Pattern("poisson:flows=10", 2).back().start);
}

TEST_F(FlowList, UnknownPatternsAreRefused) {
  for (const char* text : {"ring", "incast", "incast:0", "incast:8", "poisson:load=-1",
                           "poisson:rate=3", "poisson:cdf=nowhere.txt", "permutation:3"}) {
    EXPECT_NE(MessageOf([&] { Pattern(text); }).find("--pattern"), std::string::npos) << text;
  }
}

// The mean of a distribution equals that of its inverse over a fine grid.
TEST(FlowSizesTest, MeanIsThatOfTheDraws) {
  for (const char* name : {"websearch", "datamining"}) {
    const FlowSizes sizes = FlowSizes::FromText(name, "cdf");
    double sum = 0;
    constexpr int kDraws = 200'000;
    for (int i = 0; i < kDraws; ++i) {
      sum += static_cast<double>(sizes.At((i + 0.5) / kDraws));
    }
    EXPECT_NEAR(sum / kDraws / sizes.Mean(), 1, 1e-3) << name;
  }
}

TEST(FlowSizesTest, FilesInPercentOrFractions) {
  const std::string path = ::testing::TempDir() + "flow_sizes_test.txt";
  std::ofstream(path) << "# size cdf\n0 0\n1000 50\n3000 100\n";
  const FlowSizes sizes = FlowSizes::FromText(path, "cdf");
  EXPECT_DOUBLE_EQ(sizes.Mean(), 0.5 * 500 + 0.5 * 2000);
  EXPECT_EQ(sizes.At(0.75), 2000);
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"0 0\n10 0.5\n", "last probability"},
           {"0 0\n10 x\n", ":2: got '10 x'"},
           {"0 0.5\n10 0.4\n", ":2: got '10 0.4'"},
           {"inf 1\n", ":1: got 'inf 1'; allowed: bytes"},
           {"1e14 1\n", "allowed: bytes up to 64 TiB"},
           {"", "last probability"}}) {
    std::ofstream(path) << text;
    const std::string message = MessageOf([&] { FlowSizes::FromText(path, "cdf"); });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
  fs::remove(path);
}

// A flow alone takes its ideal time; of two flows from one host the second waits.
TEST_F(FlowList, FlowsStartWhenTheyShould) {
  const std::string path = ::testing::TempDir() + "flow_list_graph.csv";
  std::ofstream(path) << "0,1,100KB,0.001\n2,3,0,0.5\n4,5,30KB,0\n";
  Experiment e = ExperimentWith({{"topo", "star:hosts=8"}, {"flows", path}});
  const PreparedExperiment prepared = Prepare(e);
  fs::remove(path);
  const std::vector<Measurement> all = Measure(prepared, {});
  ASSERT_EQ(all.front().flows.size(), 3u);
  for (const RecordedFlow& flow : all.front().flows) {
    const FlowRequest& asked = prepared.flows[flow.flow.tag];
    EXPECT_EQ(flow.start, asked.start);
    EXPECT_NEAR(static_cast<double>(flow.end - flow.start),
                static_cast<double>(IdealTime(asked, *prepared.network)), 2);
  }
  EXPECT_EQ(all.front().timing.total, 500'000'000);
}

}  // namespace
}  // namespace legacy::flow_list_test