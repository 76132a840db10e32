// Links in parallel, weights and explicit routes: which links flows take, and their files.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/hash.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/topology/file.h"
#include "ns3-module/fabric/topology/report.h"
#include "ns3-module/fabric/topology/shortest-paths.h"
#include "ns3-module/fabric/topology/topology.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::topology_paths_test {
namespace {

constexpr int64_t kFar = INT64_MAX / 4;

Topology FromYaml(const std::string& content) {
  const std::string path = OwnFolder() + "paths_test.yaml";
  std::ofstream(path) << "type: links\n" << content;
  TopologyRequest request;
  request.text = path;
  return MakeTopology(request);
}

std::string YamlError(const std::string& content) {
  const std::string message = MessageOf([&] { FromYaml(content); });
  const size_t at = message.find("paths_test.yaml:");
  return at == std::string::npos ? message : message.substr(at + 16);
}

std::string Written(const Topology& topology, TopologyFormat format) {
  std::ostringstream stream;
  WriteTopology(topology, format, stream);
  return stream.str();
}

std::vector<int> NodesOf(const Topology& topology, const std::vector<DirectedLink>& route) {
  std::vector<int> nodes{topology.From(route.front())};
  for (const DirectedLink link : route) nodes.push_back(topology.To(link));
  return nodes;
}

Link Weighted(int a, int b, int weight) {
  Link link(a, b, 1000, Port{1'000'000'000});
  link.weight = weight;
  return link;
}

// Returns a random graph of hosts, two links each at most, and switches, some links in parallel.
Topology RandomGraph(uint64_t seed, int most_weight) {
  Topology topology;
  constexpr int kHosts = 6;
  constexpr int kSwitches = 9;
  const auto draw = [&](uint64_t what, uint64_t i, int64_t below) {
    return static_cast<int>(Reduce(HashWords({seed, what, i}), static_cast<uint64_t>(below)));
  };
  const auto weight = [&](uint64_t i) { return 1 + draw(3, i, most_weight); };
  for (int h = 0; h < kHosts; ++h) topology.AddHost("h" + std::to_string(h));
  for (int s = 0; s < kSwitches; ++s) topology.AddSwitch("s" + std::to_string(s));
  for (int s = 1; s < kSwitches; ++s) {
    topology.AddLink(Weighted(kHosts + s, kHosts + draw(0, s, s), weight(s)));
  }
  for (int i = 0; i < 14; ++i) {
    const int a = kHosts + draw(1, i, kSwitches);
    const int b = kHosts + draw(2, i, kSwitches);
    if (a != b) topology.AddLink(Weighted(a, b, weight(100 + i)));
  }
  for (int h = 0; h < kHosts; ++h) {
    for (int i = 0; i <= h % 2; ++i) {
      topology.AddLink(
          Weighted(h, kHosts + draw(4, 2 * h + i, kSwitches), weight(200 + 2 * h + i)));
    }
  }
  return topology;
}

// Returns least weights between all nodes by Floyd and Warshall's algorithm; hosts do not forward.
std::vector<std::vector<int64_t>> Oracle(const Topology& topology) {
  const int nodes = topology.NodeCount();
  std::vector<std::vector<int64_t>> weight(nodes, std::vector<int64_t>(nodes, kFar));
  for (int n = 0; n < nodes; ++n) weight[n][n] = 0;
  for (const Link& link : topology.Links()) {
    const int64_t least = std::min<int64_t>(weight[link.a][link.b], link.weight);
    weight[link.a][link.b] = weight[link.b][link.a] = least;
  }
  for (int middle = 0; middle < nodes; ++middle) {
    if (topology.IsHost(middle)) continue;
    for (int a = 0; a < nodes; ++a) {
      for (int b = 0; b < nodes; ++b) {
        weight[a][b] = std::min(weight[a][b], weight[a][middle] + weight[middle][b]);
      }
    }
  }
  return weight;
}

TEST(Weights, NextHopsAreThoseOfTheOracle) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Topology topology = RandomGraph(seed, seed % 2 == 0 ? 4 : 100);
    ASSERT_TRUE(topology.Weighted());
    const auto weight = Oracle(topology);
    for (int to : topology.Hosts()) {
      for (int node = 0; node < topology.NodeCount(); ++node) {
        std::vector<DirectedLink> expected;
        for (DirectedLink link : topology.Out(node)) {
          const int next = topology.To(link);
          const bool forwards = next == to || !topology.IsHost(next);
          const int64_t rest = topology.LinkOf(link).weight + weight[next][to];
          if (node != to && forwards && rest == weight[node][to]) expected.push_back(link);
        }
        std::vector<DirectedLink> hops = topology.NextHops(node, to);
        std::sort(expected.begin(), expected.end());
        std::sort(hops.begin(), hops.end());
        ASSERT_EQ(hops, expected) << "seed " << seed << ", " << node << " to " << to;
      }
    }
    topology.SetMultipath(Multipath::Spray);
    for (int from : topology.Hosts()) {
      for (int to : topology.Hosts()) {
        int64_t length = 0;
        for (DirectedLink link : topology.Route(from, to, 0)) {
          length += topology.LinkOf(link).weight;
        }
        ASSERT_EQ(length, weight[from][to]);
        // What enters a node leaves it, each link occurs once, and everything arrives.
        std::map<int, double> balance{{from, 1}};
        std::set<DirectedLink> seen;
        for (const LinkShare& share : topology.Shares(from, to, 0)) {
          ASSERT_TRUE(seen.insert(share.link).second);
          balance[topology.From(share.link)] -= share.share;
          balance[topology.To(share.link)] += share.share;
        }
        for (const auto& [node, rest] : balance) ASSERT_NEAR(rest, node == to ? 1 : 0, 1e-12);
      }
    }
  }
}

// Links of one weight have the paths of fewest hops, by the other algorithm.
TEST(Weights, OfOneSizeChangeNothing) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Topology hops = RandomGraph(seed, 1);
    const Topology sevens = hops.WithLinks([](int, Link& link) { link.weight = 7; });
    EXPECT_FALSE(hops.Weighted());
    EXPECT_TRUE(sevens.Weighted());
    EXPECT_NE(hops.Fingerprint(), sevens.Fingerprint());
    EXPECT_FALSE(sevens.WithLinks([](int, Link& link) { link.weight = 1; }).Weighted());
    for (int from : hops.Hosts()) {
      for (int to : hops.Hosts()) {
        ASSERT_EQ(hops.Route(from, to, 0), sevens.Route(from, to, 0));
      }
      std::map<DirectedLink, int> few, light;
      WalkShortestPaths(
          hops, from, [&](int, DirectedLink l, int) { ++few[l]; }, [](int, int) {});
      WalkShortestPaths(
          sevens, from, [&](int, DirectedLink l, int) { ++light[l]; }, [](int, int) {});
      ASSERT_EQ(few, light);
    }
  }
}

constexpr const char* kDiamond =
    "hosts: [a, b, c]\nswitches: [x, y, z]\nlinks:\n"
    "  - {a: a, b: x}\n  - {a: c, b: x}\n  - {a: b, b: y}\n"
    "  - {a: x, b: y, count: 4}\n  - {a: x, b: z}\n  - {a: z, b: y, count: 2}\n";

TEST(Parallel, FlowsAreHashedOverLinks) {
  Topology topology = FromYaml(kDiamond);
  ASSERT_EQ(topology.Links().size(), 10u);
  EXPECT_EQ(topology.NextHops(3, 1).size(), 4u);
  std::map<DirectedLink, int> taken;
  for (uint32_t channel = 0; channel < 4000; ++channel) ++taken[topology.Route(0, 1, channel)[1]];
  ASSERT_EQ(taken.size(), 4u);
  for (const auto& [link, flows] : taken) EXPECT_NEAR(flows, 1000, 100) << link;
  topology.SetMultipath(Multipath::Spray);
  for (const LinkShare& share : topology.Shares(0, 1, 0)) {
    const bool inner = topology.From(share.link) == 3 && topology.To(share.link) == 4;
    EXPECT_EQ(share.share, inner ? 0.25 : 1);
  }
}

TEST(Routes, AreFollowedOneWay) {
  const Topology topology =
      FromYaml(std::string(kDiamond) + "routes:\n  - {from: a, to: b, via: [x, z, y]}\n");
  EXPECT_EQ(NodesOf(topology, topology.Route(0, 1, 0)), (std::vector<int>{0, 3, 5, 4, 1}));
  EXPECT_EQ(NodesOf(topology, topology.Route(1, 0, 0)), (std::vector<int>{1, 4, 3, 0}));
  EXPECT_EQ(NodesOf(topology, topology.Route(2, 1, 0)), (std::vector<int>{2, 3, 4, 1}));
  // Of two links between z and y, a hash takes one; sprayed packets take both.
  std::set<DirectedLink> taken;
  for (uint32_t channel = 0; channel < 100; ++channel) {
    taken.insert(topology.Route(0, 1, channel)[2]);
  }
  EXPECT_EQ(taken.size(), 2u);
  Topology sprayed = topology;
  sprayed.SetMultipath(Multipath::Spray);
  double last = 0;
  for (const LinkShare& share : sprayed.Shares(0, 1, 0)) {
    EXPECT_NE(sprayed.To(share.link), 0);
    last += sprayed.From(share.link) == 5 ? share.share : 0;
  }
  EXPECT_EQ(last, 1);
  EXPECT_NE(topology.Fingerprint(), FromYaml(kDiamond).Fingerprint());
}

// A graph of one flow of 100 kB from the first worker to the second.
class OneFlow : public FlowGraph {
 public:
  void OnStart(FlowSink& sink) override { sink.Send({0, 1, 100'000, 0}); }
  void OnDelivered(const Flow&, FlowSink&) override { done_ = true; }
  void OnWake(uint64_t, FlowSink&) override {}
  bool Done() const override { return done_; }

 private:
  bool done_ = false;
};

// Bytes of links say where the flow and its ACKs went, whatever the engine.
TEST(Routes, BothEnginesFollowThem) {
  const Topology topology =
      FromYaml(std::string(kDiamond) + "routes:\n  - {from: a, to: b, via: [x, z, y]}\n");
  const Placement placement = MakePlacement({"packed", 2}, topology);
  EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  for (const auto& make : {MakeFlowEngine, MakeAnalyticEngine}) {
    const auto engine = make(request);
    OneFlow graph;
    engine->Submit(graph, 0);
    engine->RunUntil(kNever);
    std::set<DirectedLink> expected;
    for (DirectedLink link : topology.Route(0, 1, 0)) expected.insert(link);
    for (DirectedLink link : topology.Route(1, 0, 0)) expected.insert(link);
    std::set<DirectedLink> used;
    const std::vector<LinkCounters> links = engine->Links();
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i].bytes > 0) used.insert(static_cast<DirectedLink>(i));
    }
    EXPECT_EQ(used, expected) << engine->Name();
  }
}

TEST(Files, KeepWhatTheyRead) {
  const std::string yaml =
      std::string(kDiamond) +
      "  - {a: c, b: z, count: 1, weight: 3}\n  - {a: c, b: z, count: 2, rate: 2Gbps}\n"
      "routes:\n  - {from: a, to: b, via: [x, z, y]}\n  - {from: c, to: b, via: [z, y]}\n";
  const Topology topology = FromYaml(yaml);
  EXPECT_EQ(topology.Links().size(), 13u);
  const std::string written = Written(topology, TopologyFormat::Yaml);
  EXPECT_NE(written.find("{a: z, b: y, rate: 1Gbps, delay: 10us, count: 2}"), std::string::npos)
      << written;
  EXPECT_NE(written.find("{a: c, b: z, rate: 1Gbps, delay: 10us, count: 1, weight: 3}"),
            std::string::npos);
  EXPECT_NE(written.find("  - {from: c, to: b, via: [z, y]}\n"), std::string::npos);
  const Topology again = FromYaml(written.substr(written.find('\n') + 1));
  EXPECT_EQ(again.Fingerprint(), topology.Fingerprint());
  EXPECT_EQ(Written(again, TopologyFormat::Yaml).substr(written.find("hosts")),
            written.substr(written.find("hosts")));
  EXPECT_NE(Written(topology, TopologyFormat::Dot).find("weight 3"), std::string::npos);

  const auto refusal = [](const std::string& text) {
    return MessageOf([&] { Written(FromYaml(text), TopologyFormat::Hpcc); });
  };
  const std::string line = "hosts: [a, b]\nswitches: [s]\nlinks:\n  - {a: a, b: s}\n";
  EXPECT_EQ(refusal(line + "  - {a: b, b: s, count: 2}\n"),
            "links between b and s: got 'several'; allowed: one in the format hpcc; use yaml");
  EXPECT_EQ(refusal(line + "  - {a: b, b: s, weight: 2}\n"),
            "weight of b - s: got '2'; allowed: none in the format hpcc, which cannot say it; use "
            "yaml");
  EXPECT_EQ(refusal(line + "  - {a: b, b: s}\nroutes: [{from: a, to: b, via: [s]}]\n"),
            "explicit routes: got '1'; allowed: none in the format hpcc, which cannot say them; "
            "use yaml");
  EXPECT_EQ(refusal(line + "  - {a: b, b: s}\n"), "");
}

TEST(Files, MistakesAreNamed) {
  const std::string lines = kDiamond;  // 11 lines with the type
  const auto route = [&](const std::string& text) {
    return YamlError(lines + "routes:\n  - " + text + "\n");
  };
  EXPECT_EQ(route("{from: a, to: b, via: [x, y, z, y]}"),
            "12:5: route a > b: via: got 'y twice'; allowed: each switch once: a route has no "
            "loop");
  EXPECT_EQ(route("{from: a, to: b, via: [y]}"), "12:5: route a > b: a and y have no link");
  EXPECT_EQ(route("{from: a, to: b}"), "12:5: route a > b: a and b have no link");
  EXPECT_EQ(route("{from: a, to: b, via: [x, c, y]}"),
            "12:5: route a > b: via: got 'c'; allowed: switches; hosts do not forward");
  EXPECT_EQ(route("{from: a, to: x, via: [x]}"),
            "12:5: route a > x: ends: got 'a, x'; allowed: two different hosts");
  EXPECT_EQ(route("{from: a, to: b, via: [w]}"),
            "12:5: via: got 'w'; allowed: a name that hosts or switches declare");
  EXPECT_EQ(route("{from: a, via: [x]}"),
            "12:5: to: got ''; allowed: a name that hosts or switches declare");
  EXPECT_NE(route("{from: a, to: b, via: x}").find("12:5: via: got 'x'; allowed: two hosts"),
            std::string::npos);
  EXPECT_NE(route("a to b").find("12:5: routes: got 'a to b'"), std::string::npos);
  EXPECT_EQ(route("{from: a, to: b, via: [x, y]}\n  - {from: a, to: b, via: [x, y]}"),
            "13:5: route a > b: is given twice");
  EXPECT_NE(YamlError(lines + "routes: none\n").find("a list of routes"), std::string::npos);
  EXPECT_NE(YamlError(lines + "  - {a: x, b: y, count: 2}\n  - {a: x, b: y}\n")
                .find("each link once (in YAML several, by a count)"),
            std::string::npos);
  EXPECT_NE(YamlError(lines + "  - {a: c, b: z, weight: 0}\n").find("weight: got '0'"),
            std::string::npos);
  EXPECT_NE(YamlError(lines + "  - {a: c, b: z, count: 0}\n").find("count: got '0'"),
            std::string::npos);
}

TEST(Reports, TellOfParallelLinksWeightsAndRoutes) {
  const Topology topology = FromYaml(std::string(kDiamond) +
                                     "  - {a: c, b: y, weight: 9}\n"
                                     "routes:\n  - {from: a, to: b, via: [x, z, y]}\n");
  const std::string text = DescribeTopology(topology);
  EXPECT_NE(text.find("links in parallel: 6 between 2 pairs of nodes\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("weights of links: 1 to 9; shortest paths are by weight\n"),
            std::string::npos);
  EXPECT_NE(text.find("explicit routes: 1\n"), std::string::npos);
  EXPECT_NE(text.find("equal-cost paths of a host pair: 1 to 4\n"), std::string::npos) << text;
  std::vector<std::string> warnings = CheckTopology(topology);
  EXPECT_EQ(
      std::count(warnings.begin(), warnings.end(), "no path takes the link c - y, of weight 9"), 1);
  // The explicit route takes x - z and, by a hash, one of two z - y: there is no warning about
  // these.
  EXPECT_EQ(std::count_if(warnings.begin(), warnings.end(),
                          [](const std::string& w) { return w.starts_with("no path takes"); }),
            1);
  EXPECT_EQ(DescribeTopology(FromYaml("hosts: 2\nlinks: [{a: host0, b: host1}]\n")).find("weight"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::fabric::topology_paths_test
