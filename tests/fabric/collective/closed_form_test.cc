#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/step/step.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::closed_form_test {
namespace {

constexpr int kServers = 4;

// A star with a host for each worker and for some servers; its hub can sum.
struct Star {
  Star(int workers, int64_t rate, const Transport& transport)
      : topology(BuildStar(workers + kServers, {rate, 7'000, 0})), path{2, rate, 7'000} {
    PlacementRequest where;
    where.workers = workers;
    where.servers = kServers;
    where.aggregation = Aggregation::Tree;
    placement = MakePlacement(where, topology);
    request.topology = &topology;
    request.placement = &placement;
    request.transport = transport;
    request.transport.connections = ConnectionKind::Cold;
  }

  StepTiming Run(const CollectiveSpec& spec, EngineFactory engine = MakeAnalyticEngine) const {
    return TimeAlone(spec, std::move(engine), request);
  }

  Topology topology;
  Placement placement;
  EngineRequest request;
  UniformPath path;
};

// Returns a spec whose messages are cut evenly: N, G and S divide them.
CollectiveSpec EvenSpec(CollectiveAlgorithm algorithm, const Star& star, int64_t bytes) {
  const int workers = star.placement.Workers();
  CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.root = workers / 3;
  spec.bytes.assign(workers, bytes * workers * workers);
  spec.pullBytes = 3 * spec.bytes[0];
  spec.serve = 4'321;
  spec.servers = workers % kServers == 0 ? kServers : 1;
  spec.group = workers % 4 == 0 ? 4 : 1;
  spec.parents = star.placement.parents;
  spec.firstAggregator = workers + kServers;
  spec.pieceBytes = spec.bytes[0] / 8;
  if (algorithm == CollectiveAlgorithm::ScatterReduceAllGather) spec.sumBytes = {2 * spec.bytes[0]};
  if (algorithm == CollectiveAlgorithm::AllToAllV) {
    spec.pairBytes.assign(static_cast<size_t>(workers) * workers, 3 * bytes);
  }
  for (int m = 1; algorithm == CollectiveAlgorithm::SparseTree && m < workers; m *= 2) {
    spec.sumBytes.push_back((1 + m) * bytes);
  }
  return spec;
}

class ClosedFormOf : public testing::TestWithParam<CollectiveAlgorithm> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, ClosedFormOf, testing::ValuesIn(CollectiveAlgorithms()),
                         [](const auto& info) {
                           std::string name = ToString(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The times are equal to the nanosecond if a byte takes whole ones; else a nanosecond may be lost
// for each flow of a worker.
TEST_P(ClosedFormOf, IsTheAnalyticEnginesTimeOnAStar) {
  const bool nvls = GetParam() == CollectiveAlgorithm::NvlsAllReduce;
  const bool estimate = nvls || GetParam() == CollectiveAlgorithm::DoubleTreeAllReduce ||
                        GetParam() == CollectiveAlgorithm::BlockSparse;
  for (const int64_t rate : {int64_t{1'000'000'000}, int64_t{37'000'000'001}}) {
    for (const char* preset : {"datacenter", "wan"}) {
      for (int workers : {1, 2, 4, 8, 16, 32}) {
        const Star star(workers, rate, MakeTransport(preset));
        for (int64_t bytes : {0, 1, 24, 1448, 4000}) {
          const CollectiveSpec spec = EvenSpec(GetParam(), star, bytes);
          const auto expected =
              static_cast<double>(ClosedFormTime(spec, star.path, star.request.transport));
          const auto time = static_cast<double>(star.Run(spec).total);
          const double slack = rate == 1'000'000'000 ? 0 : 4 * workers + 32;
          if (estimate) {
            EXPECT_LE(time, (nvls ? 1.25 : 1.05) * expected) << workers << " workers, " << bytes;
            EXPECT_GE(time, 0.75 * expected) << workers << " workers, " << bytes;
          } else {
            EXPECT_NEAR(time, expected, slack) << workers << " workers, " << bytes;
          }
        }
      }
    }
  }
}

// For messages that are not cut evenly the closed form takes the larger parts. In halving-doubling,
// ACKs may delay messages where workers fold.
TEST_P(ClosedFormOf, IsAnUpperBoundWhereMessagesAreNotCutEvenly) {
  if (GetParam() == CollectiveAlgorithm::DoubleTreeAllReduce ||
      GetParam() == CollectiveAlgorithm::NvlsAllReduce ||
      GetParam() == CollectiveAlgorithm::BlockSparse) {
    return;
  }
  const Transport transport;
  for (int workers : {3, 5, 6, 7, 12, 13}) {
    if (!TakesWorkers(GetParam(), workers)) continue;
    const Star star(workers, 1'000'000'000, transport);
    for (int64_t bytes : {1, 1000, 77'777}) {
      CollectiveSpec spec = EvenSpec(GetParam(), star, 1);
      spec.bytes.assign(workers, bytes);
      for (int64_t& sum : spec.sumBytes) sum += bytes;
      for (size_t pair = 0; pair < spec.pairBytes.size(); ++pair) {
        spec.pairBytes[pair] = pair % 3 == 1 ? bytes : bytes / static_cast<int64_t>(1 + pair % 4);
      }
      const bool folds = GetParam() == CollectiveAlgorithm::HalvingDoublingAllReduce ||
                         GetParam() == CollectiveAlgorithm::HalvingReduceScatter ||
                         GetParam() == CollectiveAlgorithm::HopButterflyAllReduce;
      const double margin = folds ? 1.02 : 1;
      EXPECT_LE(static_cast<double>(star.Run(spec).total),
                margin * static_cast<double>(ClosedFormTime(spec, star.path, transport)))
          << workers << " workers, " << bytes;
    }
  }
}

// 10 GB at 1 bit/s take 2,500 years; delays of half the clock's range exceed it in sum.
TEST_P(ClosedFormOf, TimesBeyondTheClocksRangeAreRefused) {
  const std::string message = MessageOf([] { Later(kNever, kNever); });
  for (const auto& [rate, delay] :
       {std::pair<int64_t, TimeNs>{1, 0}, {1'000'000'000, kNever / 2}}) {
    Star star(4, rate, Transport());
    star.topology = BuildStar(4 + kServers, {rate, delay, 0});
    star.path = UniformPath{2, rate, delay};
    CollectiveSpec spec = EvenSpec(GetParam(), star, 625'000'000);
    for (int64_t& sum : spec.sumBytes) sum = spec.bytes[0];
    for (int64_t& bytes : spec.pairBytes) bytes = spec.bytes[0];
    EXPECT_EQ(MessageOf([&] { star.Run(spec); }), message);
    EXPECT_EQ(MessageOf([&] { star.Run(spec, MakeFlowEngine); }), message);
    EXPECT_EQ(MessageOf([&] { ClosedFormTime(spec, star.path, Transport()); }), message);
  }
}

// What workers compute delays their next messages: N - 1 times in a ring, log2 N times in a
// butterfly, of which the first has half of the bytes.
TEST(HopsTime, ComputingDelaysTheNextHop) {
  const Star star(4, 1'000'000'000, Transport());
  for (const bool ring : {true, false}) {
    CollectiveSpec spec = EvenSpec(
        ring ? CollectiveAlgorithm::HopRingAllReduce : CollectiveAlgorithm::HopButterflyAllReduce,
        star, 250);
    const TimeNs without = ClosedFormTime(spec, star.path, Transport());
    spec.hops.launch = 5000;
    EXPECT_EQ(ClosedFormTime(spec, star.path, Transport()) - without, ring ? 15000 : 10000);
    spec.hops.pace = 2;
    EXPECT_EQ(ClosedFormTime(spec, star.path, Transport()) - without,
              ring ? 3 * 7000 : 2 * 5000 + 2 * 3000);
    spec.hops.factors = {1, 1, 2, 1};
    EXPECT_EQ(ClosedFormTime(spec, star.path, Transport()) - without,
              2 * (ring ? 3 * 7000 : 2 * 5000 + 2 * 3000));
    spec.hops.factors.clear();
    // ACKs travel while workers compute, so that they delay nothing.
    const auto bound = static_cast<double>(ClosedFormTime(spec, star.path, Transport()));
    EXPECT_LE(static_cast<double>(star.Run(spec).total), bound);
    EXPECT_GE(static_cast<double>(star.Run(spec).total), 0.99 * bound);
  }
}

// In a reduce-scatter nobody encodes what the owner has: N - 2 times in a ring, log2 N - 1 times in
// halving, of half of the bytes.
TEST(HopsTime, OwnersComputeNothingAfterTheLastHop) {
  const Star star(4, 1'000'000'000, Transport());
  for (const bool ring : {true, false}) {
    CollectiveSpec spec = EvenSpec(ring ? CollectiveAlgorithm::HopRingReduceScatter
                                        : CollectiveAlgorithm::HopHalvingReduceScatter,
                                   star, 250);
    const TimeNs without = ClosedFormTime(spec, star.path, Transport());
    spec.hops.launch = 5000;
    spec.hops.pace = 2;
    spec.hops.factors = {1, 1, 2, 1};
    EXPECT_EQ(ClosedFormTime(spec, star.path, Transport()) - without,
              2 * (ring ? 2 * 7000 : 5000 + 2 * 2000));
    spec.hops.factors.clear();
    const auto bound = static_cast<double>(ClosedFormTime(spec, star.path, Transport()));
    EXPECT_LE(static_cast<double>(star.Run(spec).total), bound);
    EXPECT_GE(static_cast<double>(star.Run(spec).total), 0.98 * bound);
  }
}

TEST(HopsTime, SlicesOverlapTransferAndComputing) {
  const Star star(4, 1'000'000'000, Transport());
  CollectiveSpec spec = EvenSpec(CollectiveAlgorithm::HopRingAllReduce, star, 25'000);
  spec.hops.pace = 8;  // as long as the wire takes
  const TimeNs whole = star.Run(spec).total;
  spec.slices.assign(4, {{25'000, 25'000, 25'000, 25'000}, {0, 0, 0, 0}});
  const TimeNs cut = star.Run(spec).total;
  EXPECT_LT(cut, 0.8 * static_cast<double>(whole));
  EXPECT_GT(cut, 0.5 * static_cast<double>(whole));
}

// If N is not a power of two, messages to a worker that still receives a folded one would delay all
// others.
TEST(ClosedForm, OfHalvingDoublingIsBothEnginesTimeForAnyNumberOfWorkers) {
  const Transport transport;
  for (int workers = 3; workers <= 17; ++workers) {
    Star star(workers, 10'000'000'000, transport);
    star.request.transport.connections = ConnectionKind::Warm;
    for (int64_t bytes : {1'000, 20'000, 1'000'000}) {
      CollectiveSpec spec = EvenSpec(CollectiveAlgorithm::HalvingDoublingAllReduce, star, 1);
      spec.bytes.assign(workers, bytes);
      const auto expected = static_cast<double>(ClosedFormTime(spec, star.path, transport));
      EXPECT_NEAR(static_cast<double>(star.Run(spec).total) / expected, 1, 0.01)
          << workers << " workers, " << bytes;
      EXPECT_NEAR(static_cast<double>(star.Run(spec, MakeFlowEngine).total) / expected, 1, 0.03)
          << workers << " workers, " << bytes;
    }
  }
}

// HPCC's share of ports and its telemetry are the same in the engine and in the formula.
TEST(ClosedForm, OfRingsIsTheAnalyticEnginesTimeWithHpcc) {
  for (const CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::RingAllReduce, CollectiveAlgorithm::RingAllGather,
        CollectiveAlgorithm::RingReduceScatter}) {
    Star star(8, 100'000'000'000, MakeTransport("roce:cc=hpcc"));
    star.request.transport.connections = ConnectionKind::Warm;
    const Transport& hpcc = star.request.transport;
    const CollectiveSpec spec = EvenSpec(algorithm, star, 100'000);
    const TimeNs formula = ClosedFormTime(spec, star.path, hpcc);
    EXPECT_NEAR(static_cast<double>(star.Run(spec).total), static_cast<double>(formula), 100);
    Transport full = hpcc;
    full.utilisation = 1;
    EXPECT_GT(formula, 1.04 * ClosedFormTime(spec, star.path, full));
  }
}

// A NIC's ACKs pass together with the messages that its switch sends it at eta of the rate.
TEST(ClosedForm, OfSumsInSwitchesHoldsWithHpcc) {
  for (int64_t bytes : {1'000, 100'000}) {
    Star star(8, 100'000'000'000, MakeTransport("roce:cc=hpcc"));
    star.request.transport.connections = ConnectionKind::Warm;
    const CollectiveSpec spec = EvenSpec(CollectiveAlgorithm::InNetworkAllReduce, star, bytes);
    const auto formula =
        static_cast<double>(ClosedFormTime(spec, star.path, star.request.transport));
    for (const auto& engine : {MakeAnalyticEngine, MakeFlowEngine}) {
      const auto time = static_cast<double>(star.Run(spec, engine).total);
      EXPECT_LT(time, 1.002 * formula) << bytes;
      EXPECT_GT(time, 0.97 * formula) << bytes;
    }
  }
}

// If all workers start with worker 0, the last one waits for a frame to each of the others.
TEST(ClosedForm, OfAllToAllDependsLittleOnTheOrder) {
  for (const auto algorithm : {CollectiveAlgorithm::AllToAll, CollectiveAlgorithm::AllToAllV}) {
    for (int workers : {2, 3, 4, 9}) {
      const Star star(workers, 1'000'000'000, MakeTransport("datacenter"));
      CollectiveSpec spec = EvenSpec(algorithm, star, 100'000);
      const TimeNs rotated = ClosedFormTime(spec, star.path, star.request.transport);
      const TimeNs fair = star.Run(spec, MakeFlowEngine).total;
      spec.order = PeerOrder::Index;
      const TimeNs by_index = ClosedFormTime(spec, star.path, star.request.transport);
      EXPECT_EQ(star.Run(spec).total, by_index) << workers;
      EXPECT_EQ(star.Run(spec, MakeFlowEngine).total, fair) << workers;
      EXPECT_NEAR(static_cast<double>(fair) / static_cast<double>(rotated), 1, 0.07) << workers;
      EXPECT_EQ(by_index > rotated, workers > 2);
      EXPECT_NEAR(static_cast<double>(by_index) / static_cast<double>(rotated), 1, 0.02);
    }
  }
}

// If N is not a power of two, the messages of Bruck's last stage are shorter, and workers that
// folded have two blocks. At flow fidelity the ACKs of what a worker receives slow down what it
// sends by up to 4 %, and messages of workers that received their word early meet those of the
// stage before.
TEST(ClosedForm, OfBruckAndHalvingReduceScatterHoldsForAnyNumberOfWorkers) {
  const Transport transport;
  for (const auto algorithm :
       {CollectiveAlgorithm::BruckAllGather, CollectiveAlgorithm::HalvingReduceScatter}) {
    for (int workers = 2; workers <= 17; ++workers) {
      Star star(workers, 10'000'000'000, transport);
      star.request.transport.connections = ConnectionKind::Warm;
      for (int64_t bytes : {1'000, 20'000, 1'000'000}) {
        CollectiveSpec spec = EvenSpec(algorithm, star, 1);
        spec.bytes.assign(workers, bytes);
        const auto expected = static_cast<double>(ClosedFormTime(spec, star.path, transport));
        EXPECT_NEAR(static_cast<double>(star.Run(spec).total) / expected, 1, 0.01)
            << ToString(algorithm) << " of " << workers << " workers, " << bytes;
        EXPECT_NEAR(static_cast<double>(star.Run(spec, MakeFlowEngine).total) / expected, 1,
                    algorithm == CollectiveAlgorithm::BruckAllGather ? 0.04 : 0.06)
            << ToString(algorithm) << " of " << workers << " workers, " << bytes;
      }
    }
  }
}

// The engine's counters give the bytes that leave and reach a worker's NIC: payload, headers, and
// ACKs of the other direction.
TEST_P(ClosedFormOf, NicsCarryTheBytesOfTheFormula) {
  Transport transport;
  transport.headerBytes = 0;
  transport.ackBytes = 0;
  for (int workers : {3, 8}) {
    if (!TakesWorkers(GetParam(), workers)) continue;
    const Star star(workers, 1'000'000'000, transport);
    CollectiveSpec spec = EvenSpec(GetParam(), star, 11);
    const StepTiming timing = star.Run(spec);
    for (int w = 0; w < workers; ++w) {
      const DirectedLink out = star.topology.Out(star.placement.hosts[w]).front();
      EXPECT_EQ(timing.links[out].bytes, BytesSent(spec)[w]);
      EXPECT_EQ(timing.links[out ^ 1].bytes, BytesReceived(spec)[w]);
    }
  }
}

// Without headers and ACKs, and with frames of no length, only alpha-beta is left.
TEST_P(ClosedFormOf, TendsToAlphaBeta) {
  Transport transport;
  transport.headerBytes = 0;
  transport.ackBytes = 0;
  transport.segmentBytes = 1;
  const Star star(16, 8'000'000'000, transport);
  CollectiveSpec spec = EvenSpec(GetParam(), star, 100'000);
  if (GetParam() == CollectiveAlgorithm::SparseTree) spec.bytes.assign(16, 100'000);
  spec.pieceBytes = spec.bytes[0] / 256;
  const double closed = 1e-9 * static_cast<double>(ClosedFormTime(spec, star.path, transport));
  const double rule = AlphaBetaSeconds(spec, 14e-6, 1e9);
  // The rule for pipelined trees leaves out the time to fill the pipeline.
  const bool pipelined = GetParam() == CollectiveAlgorithm::DoubleTreeAllReduce ||
                         GetParam() == CollectiveAlgorithm::NvlsAllReduce;
  EXPECT_NEAR(closed / rule, 1, pipelined ? 0.05 : 0.02);
}

TEST(AlphaBeta, ByHand) {
  CollectiveSpec spec;
  spec.bytes.assign(8, 8000);
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 1, 1000), 14 + 14.0);
  spec.algorithm = CollectiveAlgorithm::HalvingDoublingAllReduce;
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 1, 1000), 6 + 14.0);
  spec.algorithm = CollectiveAlgorithm::RingAllGather;
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 1, 1000), 7 + 56.0);
  spec.algorithm = CollectiveAlgorithm::BruckAllGather;
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 1, 1000), 3 + 56.0);
  spec.algorithm = CollectiveAlgorithm::HalvingReduceScatter;
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 1, 1000), 3 + 7.0);
  spec.algorithm = CollectiveAlgorithm::AllToAllV;
  spec.pairBytes.assign(64, 0);
  for (int w = 1; w < 8; ++w) spec.pairBytes[8 * w] = 1000;  // all send to worker 0
  EXPECT_DOUBLE_EQ(AlphaBetaSeconds(spec, 1, 1000), 1 + 7.0);
  spec.pairBytes = {0};
  spec.bytes = {5};
  EXPECT_EQ(AlphaBetaSeconds(spec, 1, 1000), 0);
}

TEST(FastestCollective, DependsOnTheLengthOfTheMessages) {
  CollectiveSpec spec;
  spec.bytes.assign(64, 1 << 10);
  const UniformPath path{4, 10'000'000'000, 1'000};
  const std::vector<CollectiveAlgorithm> algorithms = {
      CollectiveAlgorithm::RingAllReduce, CollectiveAlgorithm::HalvingDoublingAllReduce,
      CollectiveAlgorithm::DoubleTreeAllReduce};
  const CollectiveChoice shorter = FastestCollective(algorithms, spec, path, {});
  EXPECT_NE(shorter.algorithm, CollectiveAlgorithm::RingAllReduce);
  spec.algorithm = shorter.algorithm;
  EXPECT_EQ(shorter.time, ClosedFormTime(spec, path, {}));
  EXPECT_NE(shorter.reason.find(std::string(ToString(shorter.algorithm)) + ": "),
            std::string::npos);
  EXPECT_NE(shorter.reason.find(", then "), std::string::npos);
  EXPECT_EQ(FastestCollective({CollectiveAlgorithm::DirectAllReduce}, spec, path, {}).algorithm,
            CollectiveAlgorithm::DirectAllReduce);
  EXPECT_NE(MessageOf([&] { FastestCollective({}, spec, path, {}); }), "");
}

TEST(TypicalPath, IsThatOfNeighbours) {
  const Tier host{1'000'000'000, 10, 0};
  const Tier spine{500'000'000, 30, 0};
  const Topology topology = BuildLeafSpine(2, 2, 1, host, spine);
  const UniformPath near = TypicalPath(topology, MakePlacement({"packed", 2}, topology), {});
  EXPECT_EQ(near.hops, 2);
  EXPECT_EQ(near.rateBps, 1'000'000'000);
  EXPECT_EQ(near.delay, 10);
  const UniformPath far = TypicalPath(topology, MakePlacement({"strided", 2}, topology), {});
  EXPECT_EQ(far.hops, 4);
  EXPECT_EQ(far.rateBps, 500'000'000);
  EXPECT_EQ(far.delay, 20);
  // Three of four links end at switches.
  const Transport slow = MakeTransport("roce:switch-delay=100ns");
  EXPECT_EQ(TypicalPath(topology, MakePlacement({"strided", 2}, topology), slow).delay, 95);
}

}  // namespace
}  // namespace legacy::fabric::closed_form_test