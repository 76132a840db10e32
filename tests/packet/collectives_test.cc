// Every algorithm over TCP, by ns-3's sockets and by segments of our own, compared with its closed
// form.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "ns3-module/fabric/collective/alpha-beta.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

using fabric::CollectiveAlgorithm;

class CollectiveOverTcp
    : public testing::TestWithParam<std::tuple<CollectiveAlgorithm, const char*>> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, CollectiveOverTcp,
                         testing::Combine(testing::ValuesIn(fabric::CollectiveAlgorithms()),
                                          testing::Values("ns3:datacenter", "datacenter")),
                         [](const auto& info) {
                           const bool own = std::get<1>(info.param) != std::string("datacenter");
                           std::string name = fabric::ToString(std::get<0>(info.param)) +
                                              std::string(own ? "_segments" : "_sockets");
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// 8 workers and two servers sit on a star whose hub sums. TCP needs windows to open, and shares a
// NIC between flows where the closed form sends them in turn.
TEST_P(CollectiveOverTcp, TakesAboutItsClosedForm) {
  const fabric::Topology topology = fabric::MakeTopology({"star:hosts=10"});
  fabric::PlacementRequest where;
  where.workers = 8;
  where.servers = 2;
  where.aggregation = fabric::Aggregation::Tree;
  const fabric::Placement placement = fabric::MakePlacement(where, topology);
  fabric::EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = fabric::MakeTransport(std::get<1>(GetParam()));

  fabric::CollectiveSpec spec;
  spec.algorithm = std::get<0>(GetParam());
  spec.bytes.assign(8, 400'000);
  spec.pullBytes = 400'000;
  spec.servers = 2;
  spec.group = 4;
  spec.parents = placement.parents;
  if (spec.algorithm == CollectiveAlgorithm::AllToAllV) spec.pairBytes.assign(64, 50'000);
  spec.firstAggregator = 10;
  if (spec.algorithm == CollectiveAlgorithm::SparseTree)
    spec.sumBytes = {500'000, 600'000, 700'000};
  if (spec.algorithm == CollectiveAlgorithm::ScatterReduceAllGather) spec.sumBytes = {400'000};

  fabric::StepSimulator simulator(fabric::MakePacketEngine, request);
  const fabric::StepTiming timing = simulator.Simulate(OneCollective(8, spec), 0);
  // The forms of NVLS and of blocks are estimates: there packets are compared with the analytic
  // engine. Windows of TCP are open for few pieces of blocks at a time.
  const double near = spec.algorithm == CollectiveAlgorithm::BlockSparse ? 0.2 : 0.05;
  const auto expected = static_cast<double>(
      spec.algorithm == CollectiveAlgorithm::NvlsAllReduce ||
              spec.algorithm == CollectiveAlgorithm::BlockSparse
          ? fabric::StepSimulator(fabric::MakeAnalyticEngine, request)
                .Simulate(OneCollective(8, spec), 0)
                .total
          : fabric::ClosedFormTime(spec,
                                   fabric::TypicalPath(topology, placement, request.transport),
                                   request.transport));
  EXPECT_NEAR(timing.total / expected, 1.0, near);
  EXPECT_EQ(timing.counters.retransmitTimeouts, 0u);
  RecordProperty("ratio", std::to_string(timing.total / expected));
}

// If N is not a power of two, workers without a message to fold must not send to workers that still
// receive one. With 5 workers, one tells all others; with 7, three tell one; 11 lies between the
// two.
TEST(CollectiveOverTcp, HalvingDoublingTakesItsClosedFormForAnyNumberOfWorkers) {
  for (const int workers : {5, 7, 11}) {
    Scenario scenario;
    scenario.workers = workers;
    scenario.rate_bps = 10'000'000'000;
    scenario.collective.algorithm = CollectiveAlgorithm::HalvingDoublingAllReduce;
    scenario.collective.bytes.assign(workers, 400'000);
    const Fabric fabric(scenario);
    const auto expected = static_cast<double>(fabric::ClosedFormTime(
        scenario.collective,
        fabric::TypicalPath(fabric.topology, fabric.placement, scenario.transport),
        scenario.transport));
    EXPECT_NEAR(static_cast<double>(Simulate(scenario).total) / expected, 1, 0.05) << workers;
  }
}

}  // namespace
}  // namespace legacy::packet_test
