// Sums in the switches of nodes: bytes, ways, closed forms and engines.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::nvls_test {
namespace {

CollectiveSpec NvlsSpec(int workers, int group, int64_t bytes) {
  CollectiveSpec spec = AnySpec(CollectiveAlgorithm::NvlsAllReduce, workers, bytes);
  spec.group = group;
  return spec;
}

// Nodes of GPUs whose switch sums, with a rail for each GPU.
struct NvlsFabric {
  NvlsFabric(int nodes, int gpus, int64_t node_rate, int64_t rail_rate)
      : topology(BuildRailOptimised(nodes, gpus, nodes, {node_rate, 300, 0}, {rail_rate, 700, 0},
                                    {rail_rate, 700, 0})),
        paths{{2, node_rate, 300}, {2, rail_rate, 700}},
        group(gpus) {
    PlacementRequest where;
    where.workers = nodes * gpus;
    where.aggregation = Aggregation::Nodes;
    placement = MakePlacement(where, topology);
    request.topology = &topology;
    request.placement = &placement;
  }

  CollectiveSpec Spec(int64_t bytes) const {
    CollectiveSpec spec;
    spec.algorithm = CollectiveAlgorithm::NvlsAllReduce;
    spec.bytes.assign(placement.Workers(), bytes);
    spec.group = group;
    spec.parents = placement.parents;
    spec.firstAggregator = placement.FirstAggregator();
    return spec;
  }

  Topology topology;
  Placement placement;
  NodePaths paths;
  EngineRequest request;
  int group;
};

// NCCL's volume inside a node: a worker sends its M, and as head stores its part of the sum; it
// receives its part, and M. With G heads that is (1 + 1/G) M each way.
TEST(Nvls, SendsAMessageAndAPartOfItOverTheSwitch) {
  for (int gpus : {2, 4, 8}) {
    const int64_t bytes = gpus * 1000;
    const CollectiveSpec spec = NvlsSpec(gpus, gpus, bytes);
    EXPECT_EQ(BytesSent(spec), std::vector<int64_t>(gpus, bytes + bytes / gpus));
    EXPECT_EQ(BytesReceived(spec), BytesSent(spec));
  }
  // Nine bytes have heads of 3, 2, 2 and 2.
  EXPECT_EQ(BytesSent(NvlsSpec(4, 4, 9)), (std::vector<int64_t>{12, 11, 11, 11}));
  // With Simple, 20 bytes travel for 17 in the node: NCCL's efficiency of 85 %.
  CollectiveSpec simple = NvlsSpec(4, 4, 4 * 17 * 100);
  simple.protocol = Protocol::Simple;
  EXPECT_EQ(BytesSent(simple), std::vector<int64_t>(4, 5 * 20 * 100));
}

// Between nodes each head has a part on its own rail: half of it over each link of two trees, up
// and down.
TEST(Nvls, SendsEachPartOverTheTreesOfItsRail) {
  for (const auto& shape : {std::pair{2, 4}, {3, 2}, {4, 4}, {5, 8}}) {
    const int nodes = shape.first;
    const int gpus = shape.second;
    const int workers = nodes * gpus;
    const int64_t bytes = 100'000 * gpus;
    const CollectiveSpec spec = NvlsSpec(workers, gpus, bytes);
    std::map<int, int64_t> rails;
    Trial trial;
    trial.on_send = [&](const Flow& flow) {
      const bool between = flow.source < workers && flow.destination < workers;
      if (!between) return;
      EXPECT_NE(flow.source / gpus, flow.destination / gpus) << "inside it goes by the switch";
      EXPECT_EQ(flow.source % gpus, flow.destination % gpus);
      rails[flow.source % gpus] += flow.bytes;
    };
    trial.Run(spec, workers);
    for (int rail = 0; rail < gpus; ++rail) EXPECT_EQ(rails[rail], 2 * (nodes - 1) * 100'000);
    const std::vector<int64_t> sent = BytesSent(spec);
    EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), int64_t{0}),
              workers * (bytes + 100'000) + gpus * 2 * (nodes - 1) * 100'000);
  }
}

// Whatever the nodes are, every worker gets everything and the counted bytes are those that are
// sent.
TEST(Nvls, DeliversEverythingInNodesOfAnySize) {
  for (int workers : {2, 3, 8, 13}) {
    for (int group : {1, 2, 4, 5, 12, 20}) {
      for (Protocol protocol : {Protocol::None, Protocol::Simple}) {
        for (int64_t bytes : {0, 1, 1003, 100'003}) {
          CollectiveSpec spec = NvlsSpec(workers, group, bytes);
          spec.protocol = protocol;
          spec.pieceBytes = 4000;
          Trial trial;
          trial.Run(spec, workers + group + bytes);
          EXPECT_EQ(EstimatedFlows(spec), static_cast<double>(trial.flows));
          for (int w = 0; w < workers; ++w) {
            EXPECT_EQ(trial.heard_when_done[w].count(), static_cast<size_t>(workers));
          }
        }
      }
    }
  }
}

// Each engine takes about the closed form of rails.
TEST(Nvls, TakesAboutItsClosedForm) {
  for (const auto& [nodes, gpus] : {std::pair{2, 4}, {4, 4}, {4, 8}, {8, 2}}) {
    const NvlsFabric fabric(nodes, gpus, 800'000'000'000, 100'000'000'000);
    for (Protocol protocol : {Protocol::None, Protocol::Simple}) {
      for (int64_t bytes : {4'000, 400'000, 64'000'000}) {
        CollectiveSpec spec = fabric.Spec(bytes);
        spec.protocol = protocol;
        const auto form =
            static_cast<double>(RailNvlsTime(spec, fabric.paths, fabric.request.transport));
        for (const auto& engine : {MakeAnalyticEngine, MakeFlowEngine}) {
          const auto time = static_cast<double>(TimeAlone(spec, engine, fabric.request).total);
          EXPECT_GT(time / form, 0.8) << nodes << " x " << gpus << ", " << bytes;
          EXPECT_LT(time / form, 1.2) << nodes << " x " << gpus << ", " << bytes;
        }
      }
    }
  }
}

// HPCC slows the form as it slows the flows: telemetry between nodes, and eta where a switch sends.
TEST(Nvls, FollowsHpccInItsClosedForm) {
  for (const int64_t node_rate : {50'000'000'000, 800'000'000'000}) {  // either part is the longer
    for (const auto& [nodes, gpus] : {std::pair{1, 8}, {2, 4}, {4, 4}}) {
      NvlsFabric fabric(nodes, gpus, node_rate, 100'000'000'000);
      const CollectiveSpec spec = fabric.Spec(64'000'000);
      const auto times = [&](const std::string& transport) {
        fabric.request.transport = MakeTransport(transport);
        return std::pair{
            static_cast<double>(TimeAlone(spec, MakeFlowEngine, fabric.request).total),
            static_cast<double>(RailNvlsTime(spec, fabric.paths, fabric.request.transport))};
      };
      const auto [flow, form] = times("roce:cc=none,mtu=1024");
      const auto [hpcc_flow, hpcc_form] = times("roce:cc=hpcc,mtu=1024");
      EXPECT_GT(hpcc_flow / flow, 1.04);
      EXPECT_NEAR(hpcc_form / form, hpcc_flow / flow, 0.02)
          << nodes << " x " << gpus << ", " << node_rate;
    }
  }
}

// In one node nothing but the order differs between the engines.
TEST(Nvls, OfOneNodeTakesTheSameAtAllFidelities) {
  const Topology star = BuildStar(8, {100'000'000'000, 1'000, 0});
  PlacementRequest where;
  where.workers = 8;
  where.aggregation = Aggregation::Nodes;
  const Placement placement = MakePlacement(where, star);
  EngineRequest request;
  request.topology = &star;
  request.placement = &placement;
  CollectiveSpec spec = NvlsSpec(8, 8, 80'000'000);
  spec.parents = placement.parents;
  spec.firstAggregator = placement.FirstAggregator();
  const auto analytic = static_cast<double>(TimeAlone(spec, MakeAnalyticEngine, request).total);
  const auto flow = static_cast<double>(TimeAlone(spec, MakeFlowEngine, request).total);
  EXPECT_NEAR(flow / analytic, 1, 0.03);
  // A worker's link carries nine eighths of the message, and ACKs of as much.
  const double wire = 9.0 / 8 * 80e6 * 8 / 100;
  EXPECT_GT(analytic / wire, 1);
  EXPECT_LT(analytic / wire, 1.15);
}

}  // namespace
}  // namespace legacy::fabric::nvls_test
