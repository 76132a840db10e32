#include <gtest/gtest.h>

#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::analytic_test {
namespace {

// A graph of flows that all leave at the start.
class Burst : public FlowGraph {
 public:
  explicit Burst(std::vector<Flow> flows, size_t expected = SIZE_MAX)
      : flows_(std::move(flows)),
        expected_(std::min(expected, flows_.size() + (expected != SIZE_MAX))) {}
  void OnStart(FlowSink& sink) override {
    for (const Flow& flow : flows_) sink.Send(flow);
  }
  void OnDelivered(const Flow&, FlowSink& sink) override { arrivals_.push_back(sink.Now()); }
  void OnWake(uint64_t, FlowSink&) override {}
  bool Done() const override { return arrivals_.size() == expected_; }
  const std::vector<TimeNs>& arrivals() const { return arrivals_; }

 private:
  std::vector<Flow> flows_;
  size_t expected_;
  std::vector<TimeNs> arrivals_;
};

// A fabric with a worker on every host but the last, which holds the server.
struct Fabric {
  explicit Fabric(Topology built, Transport given = {})
      : topology(std::move(built)),
        placement(
            MakePlacement({"packed", static_cast<int>(topology.Hosts().size()) - 1, 1}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
    request.transport = std::move(given);
    engine = MakeAnalyticEngine(request);
  }
  TimeNs Time(const CollectiveSpec& spec) {
    CollectiveGraph graph(spec);
    const TimeNs start = engine->Now();
    engine->Submit(graph, start);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return graph.end() - start;
  }

  Topology topology;
  Placement placement;
  EngineRequest request;
  std::unique_ptr<Engine> engine;
};

CollectiveSpec Spec(CollectiveAlgorithm algorithm, int workers, int64_t bytes, int64_t pull = 0) {
  CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.bytes.assign(workers, bytes);
  spec.pullBytes = pull;
  return spec;
}

TEST(ClosedForm, ByHand) {
  const Transport transport;
  const UniformPath star{2, 1'000'000'000, 10'000};
  EXPECT_EQ(FlowTime(star, 0, transport), 0);
  EXPECT_EQ(FlowTime(star, 100, transport), 2 * (10'000 + 154 * 8));
  EXPECT_EQ(FlowTime(star, 1448, transport), 2 * (10'000 + 1502 * 8));
  EXPECT_EQ(FlowTime(star, 1549, transport), 2 * (10'000 + 1502 * 8) + 155 * 8);
  // Two workers send one segment each way, twice: 2 T and the ACK between.
  EXPECT_EQ(RingAllReduceTime(2, 2896, star, transport), 2 * 2 * (10'000 + 1502 * 8) + 54 * 8);
  EXPECT_EQ(RingAllGatherTime(2, 1448, star, transport), 2 * (10'000 + 1502 * 8));
  // Ranks 1, 2, 3 receive after one, two, two steps; rank 3 waits behind rank 1's ACK.
  EXPECT_EQ(BroadcastTime(4, 1448, star, transport), 2 * 2 * (10'000 + 1502 * 8) + 54 * 8);
  EXPECT_EQ(ParameterServerTime(3, 1448, 1448, star, transport),
            2 * (2 * (10'000 + 1502 * 8) + 2 * 1502 * 8) + 54 * 8);
}

TEST(ClosedForm, TendsToAlphaBetaForLongMessages) {
  const double seconds =
      1e-9 * static_cast<double>(RingAllReduceTime(16, 160'000'000, {2, 1'000'000'000, 1000}, {}));
  const double beta = 8e-9 * (1502 + 54) / 1448;  // seconds per payload byte, with headers and ACKs
  EXPECT_NEAR(seconds / (2 * 15 / 16.0 * 160e6 * beta), 1, 1e-3);
}

class AnalyticEngine : public testing::TestWithParam<std::tuple<int64_t, int>> {};

TEST_P(AnalyticEngine, EqualsTheClosedFormsOnAnIdleFabric) {
  const auto [rate, hops] = GetParam();
  const Tier tier{rate, 7'000, 0};
  for (const char* preset : {"datacenter", "wan"}) {
    const Transport transport = MakeTransport(preset);
    for (int workers : {1, 2, 3, 5, 8, 16}) {
      Fabric fabric(
          hops == 2 ? BuildStar(workers + 1, tier) : BuildLeafSpine(workers + 1, 1, 2, tier, tier),
          transport);
      const UniformPath path{hops, rate, 7'000};
      // Each flow may be a nanosecond off if a byte takes a fraction of one.
      const auto slack = rate == 1'000'000'000 ? 0 : 4 * workers;
      for (int64_t bytes : {0, 1, 100, 1448, 1449, 14'480, 1'000'003}) {
        EXPECT_NEAR(fabric.Time(Spec(CollectiveAlgorithm::RingAllReduce, workers, bytes * workers)),
                    RingAllReduceTime(workers, bytes * workers, path, transport), slack);
        EXPECT_NEAR(fabric.Time(Spec(CollectiveAlgorithm::RingAllGather, workers, bytes)),
                    RingAllGatherTime(workers, bytes, path, transport), slack);
        EXPECT_NEAR(fabric.Time(Spec(CollectiveAlgorithm::Broadcast, workers, bytes)),
                    BroadcastTime(workers, bytes, path, transport), slack);
        EXPECT_NEAR(
            fabric.Time(Spec(CollectiveAlgorithm::ParameterServer, workers, bytes, 2 * bytes)),
            ParameterServerTime(workers, bytes, 2 * bytes, path, transport), slack);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, AnalyticEngine,
                         testing::Combine(testing::Values(1'000'000'000, 10'000'000'000,
                                                          37'000'000'001),
                                          testing::Values(2, 4)));

TEST(Analytic, SlowestLinkSetsTheRateAndTheServersLinkServesInTurn) {
  Transport transport;
  transport.headerBytes = 0;
  transport.ackBytes = 0;
  transport.segmentBytes = 1000;
  // At 8 Gbit/s a byte takes a nanosecond; the middle link is ten times slower.
  Fabric slow(BuildDumbbell(2, 2, {8'000'000'000, 100, 0}, {800'000'000, 5'000, 0}), transport);
  Burst one({{0, 2, 10'000, 0}});
  slow.engine->Submit(one, 50);
  ASSERT_TRUE(slow.engine->RunUntil(kNever));
  // The first frame takes 100 + 1000, 5000 + 10000 and 100 + 1000 ns; nine more follow at 10 us
  // each.
  EXPECT_EQ(one.arrivals()[0], 50 + 1'100 + 15'000 + 1'100 + 90'000);

  Fabric star(BuildStar(4, {8'000'000'000, 100, 0}), transport);
  Burst incast({{0, 3, 4'000, 0}, {1, 3, 3'000, 0}, {2, 3, 5'000, 0}});
  star.engine->Submit(incast, 0);
  ASSERT_TRUE(star.engine->RunUntil(kNever));
  EXPECT_EQ(incast.arrivals(), (std::vector<TimeNs>{1'200 + 4'000, 1'200 + 7'000, 1'200 + 12'000}));

  Burst fan_out({{3, 0, 4'000, 0}, {3, 1, 3'000, 0}});
  const TimeNs start = star.engine->Now();
  star.engine->Submit(fan_out, start);
  ASSERT_TRUE(star.engine->RunUntil(kNever));
  EXPECT_EQ(fan_out.arrivals(),
            (std::vector<TimeNs>{start + 1'200 + 4'000, start + 1'200 + 7'000}));
}

TEST(Analytic, FlowsOfOnePairKeepTheirOrderBehindASlowLink) {
  Fabric slow(BuildDumbbell(1, 2, {10'000'000'000, 100, 0}, {100'000'000, 100, 0}));
  slow.placement.hosts = {0, 1};
  std::vector<int64_t> arrived;
  slow.engine->SetFlowTrace([&](const Flow& flow, TimeNs, bool delivered) {
    if (delivered) arrived.push_back(flow.bytes);
  });
  Burst burst({{0, 1, 100'000, 0}, {0, 1, 1, 0}});
  slow.engine->Submit(burst, 0);
  ASSERT_TRUE(slow.engine->RunUntil(kNever));
  EXPECT_EQ(arrived, (std::vector<int64_t>{100'000, 1}));
}

TEST(Analytic, EndpointsOnOneNodeReachEachOtherAtOnce) {
  Fabric star(BuildStar(3, {}));
  star.placement.servers = {star.placement.hosts[1]};
  Burst burst({{1, 2, 1'000'000, 0}, {2, 1, 1'000'000, 0}});
  star.engine->Submit(burst, 5);
  ASSERT_TRUE(star.engine->RunUntil(kNever));
  EXPECT_EQ(burst.arrivals(), (std::vector<TimeNs>{5, 5}));
  for (const LinkCounters& link : star.engine->Links()) EXPECT_EQ(link.bytes, 0);
}

TEST(Analytic, CountsBytesOnEveryLinkOfTheRoute) {
  Fabric fabric(BuildStar(3, {}));
  std::vector<std::pair<TimeNs, bool>> trace;
  fabric.engine->SetFlowTrace(
      [&](const Flow&, TimeNs when, bool delivered) { trace.emplace_back(when, delivered); });
  Burst burst({{0, 1, 2'000, 0}, {1, 2, 0, 0}});
  fabric.engine->Submit(burst, 0);
  ASSERT_TRUE(fabric.engine->RunUntil(kNever));
  // The empty flow arrives at once; the other one after its first frame on two links, and its rest.
  const TimeNs arrival = 2 * (10'000 + 1502 * 8) + (552 + 54) * 8;
  EXPECT_EQ(trace, (std::vector<std::pair<TimeNs, bool>>{
                       {0, false}, {0, false}, {0, true}, {arrival, true}}));
  const auto links = fabric.engine->Links();
  ASSERT_EQ(links.size(), 6u);
  for (int link : {0, 3}) {  // host 0 -> hub, hub -> host 1
    EXPECT_EQ(links[link].bytes, 2'000 + 2 * 54);
    EXPECT_EQ(links[link].packets, 2);
    EXPECT_EQ(links[link].busy, (2'000 + 2 * 54) * 8);
  }
  for (int link : {1, 2}) EXPECT_EQ(links[link].bytes, 2 * 54);  // ACKs
  for (int link : {4, 5}) EXPECT_EQ(links[link].bytes, 0);
  EXPECT_EQ(fabric.engine->Counters().flows, 2u);
}

TEST(Analytic, StopsAtTheGivenTimeAndContinues) {
  Fabric fabric(BuildStar(3, {}));
  Burst burst({{0, 1, 1448, 0}});
  fabric.engine->Submit(burst, 1'000);
  EXPECT_FALSE(fabric.engine->RunUntil(2'000));
  EXPECT_EQ(fabric.engine->Now(), 2'000);
  EXPECT_TRUE(fabric.engine->RunUntil(kNever));
  EXPECT_EQ(burst.arrivals()[0], 1'000 + 2 * (10'000 + 1502 * 8));
}

TEST(Analytic, SavedStateContinuesIdentically) {
  const CollectiveSpec spec = Spec(CollectiveAlgorithm::RingAllReduce, 4, 100'000);
  Fabric straight(BuildStar(5, {}));
  const TimeNs first = straight.Time(spec);
  Fabric resumed(BuildStar(5, {}));
  resumed.engine->Restore(straight.engine->Save());
  EXPECT_EQ(resumed.engine->Now(), straight.engine->Now());
  EXPECT_EQ(resumed.Time(spec), first);
  EXPECT_EQ(straight.Time(spec), first);
  for (const char* text : {"", "packet 3", "analytic", "analytic -1"}) {
    EXPECT_NE(MessageOf([&] { resumed.engine->Restore(text); }), "") << text;
  }
}

TEST(Analytic, AGraphThatWaitsForNothingIsAnError) {
  Fabric fabric(BuildStar(3, {}));
  Burst waits_for_one_more({{0, 1, 10, 0}}, 2);
  fabric.engine->Submit(waits_for_one_more, 0);
  EXPECT_EQ(MessageOf([&] { fabric.engine->RunUntil(kNever); }),
            "analytic engine: nothing can happen any more, no flow is in flight, and 1 submitted "
            "graph(s) are not done");
}

TEST(Analytic, AParameterServerNeedsAHost) {
  Fabric fabric(BuildStar(3, {}));
  fabric.placement = MakePlacement({"packed", 3}, fabric.topology);
  EXPECT_EQ(
      MessageOf([&] { fabric.Time(Spec(CollectiveAlgorithm::ParameterServer, 3, 10)); }),
      "placement packed: has 3 workers, 0 parameter servers and 0 aggregators, but traffic asks "
      "for endpoint 3");
}

}  // namespace
}  // namespace legacy::fabric::analytic_test