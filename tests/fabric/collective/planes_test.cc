// Nodes of several switches (planes), such as NVSwitches: rings and sums use them in parallel.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "ns3-module/fabric/engine/engine.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::planes_test {
namespace {

constexpr int64_t kGiga = 1'000'000'000;

// Nodes of GPUs, each linked to every switch of its node, and by a rail to the same of other nodes.
struct PlanesFabric {
  PlanesFabric(int nodes, int gpus, int planes, int64_t rate) {
    for (int gpu = 0; gpu < nodes * gpus; ++gpu) topology.AddHost("gpu" + std::to_string(gpu));
    for (int node = 0; node < nodes; ++node) {
      for (int plane = 0; plane < planes; ++plane) {
        const int its = topology.AddSwitch("nv" + std::to_string(node * planes + plane));
        for (int gpu = 0; gpu < gpus; ++gpu) {
          topology.AddLink({node * gpus + gpu, its, 500, {rate}});
        }
      }
    }
    for (int gpu = 0; nodes > 1 && gpu < gpus; ++gpu) {
      const int rail = topology.AddSwitch("rail" + std::to_string(gpu));
      for (int node = 0; node < nodes; ++node) {
        topology.AddLink({node * gpus + gpu, rail, 700, {400 * kGiga}});
      }
    }
    PlacementRequest where;
    where.workers = nodes * gpus;
    where.aggregation = Aggregation::Nodes;
    where.node = gpus;
    placement = MakePlacement(where, topology);
    request.topology = &topology;
    request.placement = &placement;
  }

  StepTiming Run(CollectiveAlgorithm algorithm, int64_t bytes, int channels,
                 EngineFactory engine) const {
    CollectiveSpec spec;
    spec.algorithm = algorithm;
    spec.bytes.assign(placement.Workers(), bytes);
    spec.group = placement.node;
    spec.channels = channels;
    spec.parents = placement.parents;
    spec.firstAggregator = placement.FirstAggregator();
    return TimeAlone(spec, engine, request);
  }

  Topology topology;
  Placement placement;
  EngineRequest request;
};

TEST(Planes, AreSwitchesThatLinkHostsAlone) {
  const PlanesFabric four(2, 4, 4, 900 * kGiga);
  EXPECT_EQ(four.topology.Planes(0, 1), 4);
  EXPECT_EQ(four.topology.Planes(3, 0), 4);
  EXPECT_EQ(four.topology.Planes(0, 4), 1) << "by the rail";
  EXPECT_EQ(four.topology.Planes(0, 0), 1);
  EXPECT_EQ(four.topology.MostPlanes(), 4);
  EXPECT_EQ(PlanesFabric(2, 4, 1, kGiga).topology.MostPlanes(), 1) << "a rail is no second plane";
  EXPECT_EQ(four.placement.parents.size(), 4u * 8);
  EXPECT_EQ(four.placement.aggregators.size(), 8u);
  // Two leaves with a spine above them are a network, whose connections are hashed.
  Topology dual;
  for (const char* host : {"a", "b"}) dual.AddHost(host);
  for (const char* node : {"leaf0", "leaf1", "spine"}) dual.AddSwitch(node);
  for (const int leaf : {2, 3}) {
    for (const int host : {0, 1}) dual.AddLink({host, leaf, 500, {kGiga}});
    dual.AddLink({leaf, 4, 500, {kGiga}});
  }
  EXPECT_EQ(dual.Planes(0, 1), 1);
}

// Four switches of a quarter of the rate take as long as one of the whole, whatever the channels.
TEST(Planes, AreAsFastAsOneSwitchOfTheirSum) {
  using Algorithm = CollectiveAlgorithm;
  const PlanesFabric four(1, 8, 4, 900 * kGiga);
  const PlanesFabric one(1, 8, 1, 3600 * kGiga);
  for (const auto& engine : {MakeFlowEngine, MakeAnalyticEngine}) {
    for (const auto& [algorithm, channels] : {std::pair{Algorithm::RingAllReduce, 1},
                                              {Algorithm::RingAllReduce, 8},
                                              {Algorithm::RingAllReduce, 16},
                                              {Algorithm::DoubleTreeAllReduce, 8},
                                              {Algorithm::AllToAll, 1},
                                              {Algorithm::NvlsAllReduce, 1}}) {
      const StepTiming planes = four.Run(algorithm, 256'000'000, channels, engine);
      const StepTiming whole = one.Run(algorithm, 256'000'000, channels, engine);
      EXPECT_NEAR(static_cast<double>(planes.total) / static_cast<double>(whole.total), 1, .06)
          << ToString(algorithm) << " " << channels;
      int64_t all = 0;
      std::vector<int64_t> by_plane(4, 0);
      for (size_t link = 0; link < planes.links.size(); ++link) {
        by_plane[link / 2 / 8] += planes.links[link].bytes;
        all += planes.links[link].bytes;
      }
      for (const int64_t bytes : by_plane) {
        EXPECT_NEAR(static_cast<double>(bytes) / static_cast<double>(all), .25, .01)
            << ToString(algorithm) << " " << channels;
      }
    }
  }
}

// Heads that are fewer than planes, or do not divide them, use all of them.
TEST(Planes, SumForHeadsOfAnyNumber) {
  for (const auto& [gpus, planes] : {std::pair{2, 4}, {3, 4}, {8, 6}, {4, 3}}) {
    const PlanesFabric several(1, gpus, planes, 600 * kGiga);
    const PlanesFabric one(1, gpus, 1, 600 * planes * kGiga);
    const auto time = [](const PlanesFabric& fabric) {
      return static_cast<double>(
          fabric.Run(CollectiveAlgorithm::NvlsAllReduce, 256'000'000, 1, MakeFlowEngine).total);
    };
    EXPECT_NEAR(time(several) / time(one), 1, .1) << gpus << " over " << planes;
  }
}

}  // namespace
}  // namespace legacy::fabric::planes_test
