// The doctor, on steps whose bound is known by construction.
#include <gtest/gtest.h>

#include <algorithm>

#include "ns3-module/fabric/topology/builders.h"
#include "scenarios/network/step_doctor.h"
#include "tests/network/network_testing.h"

namespace legacy::doctor_test {
namespace {

using fabric::StepTraffic;
using fabric::Topology;

constexpr int64_t kGbps = 1'000'000'000;
constexpr TimeNs kMs = 1'000'000;

struct Bench {
  explicit Bench(Topology built, int workers = 4)
      : topology(std::move(built)),
        placement(fabric::MakePlacement({"packed", workers}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
  }
  TimeNs Time(const StepTraffic& traffic) const {
    return fabric::StepSimulator(fabric::MakeFlowEngine, request).Simulate(traffic, 0).total;
  }
  StepDiagnosis Ask(const StepTraffic& traffic, const EncodeTimes& encode = {}) const {
    return Diagnose({&traffic, encode, 0}, request, fabric::MakeFlowEngine);
  }

  Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;
};

Topology Star(int64_t rate = 10 * kGbps, TimeNs delay = 1'000) {
  return fabric::BuildStar(4, {rate, delay, 0});
}

Topology Dumbbell(int64_t bottleneck) {
  return fabric::BuildDumbbell(2, 2, {10 * kGbps, 1'000, 0}, {bottleneck, 1'000, 0});
}

// Returns a ring all-gather among as many workers as there are times.
StepTraffic Gather(int64_t bytes, const std::vector<TimeNs>& ready) {
  StepTraffic traffic;
  traffic.workers = static_cast<int>(ready.size());
  traffic.deviceFree = ready;
  fabric::BucketTraffic bucket;
  bucket.ready = ready;
  bucket.calls.resize(1);
  bucket.calls[0].collective.algorithm = fabric::CollectiveAlgorithm::RingAllGather;
  bucket.calls[0].collective.bytes.assign(ready.size(), bytes);
  bucket.decode.assign(ready.size(), 0);
  traffic.buckets = {bucket};
  return traffic;
}

const Remedy& Find(const StepDiagnosis& diagnosis, const std::string& name) {
  const auto& all = diagnosis.remedies;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Remedy& r) { return r.name == name; });
  if (found == all.end()) throw std::runtime_error("no remedy " + name);
  return *found;
}

std::string VerdictName(const StepDiagnosis& diagnosis) { return diagnosis.Verdict().name; }

// Remedies of bandwidth that save 30, 41 and 45 of 100 ns, and one of delays that saves 2.
Diagnosis Tried(double as_good) {
  Diagnosis diagnosis;
  diagnosis.as_it_is.total = 100;
  diagnosis.Add({Bound::kLatency, "delays", "", 98});
  diagnosis.Add({Bound::kBandwidth, "link", "", 70});
  diagnosis.Add({Bound::kBandwidth, "tier", "", 59});
  diagnosis.Add({Bound::kBandwidth, "links", "", 55});
  diagnosis.Add({Bound::kBandwidth, "endless", "", 0});
  diagnosis.Decide(as_good);
  return diagnosis;
}

TEST(Doctor, NamesTheNarrowestRemedyThatIsAsGood) {
  const Diagnosis diagnosis = Tried(kAsGood);
  EXPECT_EQ(diagnosis.Verdict().name, "tier");
  EXPECT_EQ(diagnosis.remedies.front().name, "links");
  EXPECT_DOUBLE_EQ(diagnosis.remedies.front().gain, .45);
  EXPECT_EQ(diagnosis.remedies.back().name, "endless");
  EXPECT_EQ(diagnosis.remedies.back().gain, 0);
  EXPECT_EQ(Tried(1).Verdict().name, "links");
}

TEST(Doctor, OneSlowLinkIsNamedAndDoublingItIsSimulated) {
  const StepTraffic traffic = Gather(1'000'000, {0, 0, 0, 0});
  const StepDiagnosis diagnosis = Bench(Dumbbell(kGbps)).Ask(traffic);
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kBandwidth);
  EXPECT_EQ(VerdictName(diagnosis), "busiest-link") << DoctorText(diagnosis);
  const Topology& built = Dumbbell(kGbps);
  bool between_switches = false;
  for (int i = 0; i < 2 * static_cast<int>(built.Links().size()); ++i) {
    const int from = built.From(i);
    const int to = built.To(i);
    if (built.NodeName(from) + ">" + built.NodeName(to) != diagnosis.busiest_link) continue;
    between_switches = !built.IsHost(from) && !built.IsHost(to);
  }
  EXPECT_TRUE(between_switches) << diagnosis.busiest_link;
  EXPECT_GT(diagnosis.busiest_utilisation, .9);
  EXPECT_LE(diagnosis.busiest_utilisation, 1);
  EXPECT_EQ(diagnosis.as_it_is.total, Bench(Dumbbell(kGbps)).Time(traffic));
  const Remedy& link = Find(diagnosis, "busiest-link");
  EXPECT_EQ(link.total, Bench(Dumbbell(2 * kGbps)).Time(traffic));
  EXPECT_DOUBLE_EQ(link.gain, 1 - link.total / static_cast<double>(diagnosis.as_it_is.total));
  EXPECT_GT(link.gain, .45);
}

TEST(Doctor, WhereManyLinksAreAlikeTheirTierIsNamed) {
  const fabric::Tier host{10 * kGbps, 1'000, 0};
  const auto build = [&](int64_t uplinks, int64_t scale) {
    return fabric::BuildLeafSpine(2, 2, 2, {scale * host.rateBps, host.delay, 0},
                                  {scale * uplinks, 1'000, 0});
  };
  // All workers send to all, so that several uplinks are in use whatever the hash picks.
  StepTraffic traffic = Gather(4'000'000, {0, 0, 0, 0});
  traffic.buckets[0].calls[0].collective.algorithm = fabric::CollectiveAlgorithm::DirectAllGather;
  const StepDiagnosis diagnosis = Bench(build(kGbps, 1)).Ask(traffic);
  EXPECT_EQ(VerdictName(diagnosis), "tier") << DoctorText(diagnosis);
  EXPECT_EQ(Find(diagnosis, "tier").change, "4 links between tiers 1 and 2 twice as fast");
  EXPECT_EQ(Find(diagnosis, "all-links").total, Bench(build(kGbps, 2)).Time(traffic));
}

// Returns a step of four workers with three sharded units, whose shards have so many bytes when
// weights are gathered and when gradients are reduced. Passes take `pass` a unit.
StepTraffic Shards(int64_t gather, int64_t reduction, TimeNs pass = kMs) {
  const auto collective = [](fabric::CollectiveAlgorithm algorithm, int64_t bytes) {
    fabric::CollectiveSpec spec;
    spec.algorithm = algorithm;
    spec.bytes.assign(4, bytes);
    return spec;
  };
  StepTraffic traffic;
  traffic.workers = 4;
  fabric::ShardedTraffic& step = traffic.sharded.emplace();
  fabric::ShardedStage& stage = step.stages.emplace_back();
  stage.chunks.emplace_back();
  for (int u = 0; u < 3; ++u) {
    fabric::ShardedUnit& unit = stage.units.emplace_back();
    unit.gather = {collective(fabric::CollectiveAlgorithm::RingAllGather, gather)};
    unit.reduce = {collective(fabric::CollectiveAlgorithm::RingReduceScatter, reduction)};
    stage.chunks[0].push_back({u, {pass}, {}, {2 * pass}});
  }
  return traffic;
}

TEST(Doctor, TheStreamThatBoundsAShardedStepIsNamed) {
  const Bench bench{Star()};
  const StepTraffic traffic = Shards(20'000'000, 1'000'000);
  const StepDiagnosis diagnosis = bench.Ask(traffic);
  EXPECT_EQ(VerdictName(diagnosis), "gathers") << DoctorText(diagnosis);
  EXPECT_NE(diagnosis.waits.find("devices wait for gathers of weights for "), std::string::npos)
      << diagnosis.waits;
  StepTraffic changed = traffic;
  for (fabric::ShardedUnit& unit : changed.sharded->stages[0].units) unit.kept = true;
  EXPECT_EQ(Find(diagnosis, "reshard-off").total, bench.Time(changed));
  for (fabric::ShardedUnit& unit : changed.sharded->stages[0].units) unit.gather.clear();
  EXPECT_EQ(Find(diagnosis, "gathers").total, bench.Time(changed));
  EXPECT_THROW(Find(diagnosis, "tensors"), std::runtime_error) << "there are no such sums";

  EXPECT_EQ(VerdictName(bench.Ask(Shards(1'000'000, 60'000'000))), "reductions");
  EXPECT_EQ(VerdictName(bench.Ask(Shards(1'000, 1'000))), "compute");
}

TEST(Doctor, LongDelaysAreNamed) {
  const StepTraffic traffic = Gather(1'000, {0, 0, 0, 0});
  const StepDiagnosis diagnosis = Bench(Star(10 * kGbps, 10 * kMs)).Ask(traffic);
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kLatency);
  EXPECT_EQ(VerdictName(diagnosis), "delays");
  EXPECT_EQ(Find(diagnosis, "delays").total, Bench(Star(10 * kGbps, 5 * kMs)).Time(traffic));
}

TEST(Doctor, OneSlowWorkerIsNamed) {
  const std::vector<TimeNs> ready{10 * kMs, 11 * kMs, 40 * kMs, 12 * kMs};
  const StepDiagnosis diagnosis = Bench(Star()).Ask(Gather(10'000, ready));
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kStraggler);
  EXPECT_EQ(VerdictName(diagnosis), "slowest-worker") << DoctorText(diagnosis);
  EXPECT_EQ(diagnosis.slowest_worker, 2);
  EXPECT_EQ(diagnosis.slowest_time, 40 * kMs);
  EXPECT_EQ(diagnosis.median_time, 11 * kMs);
  EXPECT_EQ(Find(diagnosis, "slowest-worker").total,
            Bench(Star()).Time(Gather(10'000, {10 * kMs, 11 * kMs, 11 * kMs, 12 * kMs})));
}

TEST(Doctor, TwoSlowWorkersAreNamedTogether) {
  const StepDiagnosis diagnosis =
      Bench(Star()).Ask(Gather(10'000, {10 * kMs, 40 * kMs, 10 * kMs, 40 * kMs}));
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kStraggler);
  EXPECT_EQ(VerdictName(diagnosis), "slow-workers");
  EXPECT_LT(Find(diagnosis, "slowest-worker").gain, .01);
  // At a factor of 1.5 faster devices help more, so that the bound is the compute of all workers.
  EXPECT_EQ(
      Bench(Star()).Ask(Gather(10'000, {10 * kMs, 15 * kMs, 10 * kMs, 15 * kMs})).Verdict().bound,
      Bound::kCompute);
}

TEST(Doctor, HeavyDecodingIsNamed) {
  StepTraffic traffic = Gather(10'000, {kMs, kMs, kMs, kMs});
  traffic.buckets[0].decode.assign(4, 20 * kMs);
  const StepDiagnosis diagnosis = Bench(Star()).Ask(traffic);
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kCodec);
  EXPECT_EQ(VerdictName(diagnosis), "decode");
  traffic.buckets[0].decode.assign(4, 10 * kMs);
  EXPECT_EQ(Find(diagnosis, "decode").total, Bench(Star()).Time(traffic));
}

TEST(Doctor, HeavyEncodingIsDistinguishedFromCompute) {
  const std::vector<TimeNs> ready(4, 20 * kMs);
  const StepDiagnosis compute = Bench(Star()).Ask(Gather(10'000, ready));
  EXPECT_EQ(compute.Verdict().bound, Bound::kCompute);
  EXPECT_EQ(VerdictName(compute), "compute");
  EXPECT_EQ(Find(compute, "compute").total,
            Bench(Star()).Time(Gather(10'000, std::vector<TimeNs>(4, 10 * kMs))));
  const EncodeTimes encode{{std::vector<TimeNs>(4, 16 * kMs)}};
  const StepDiagnosis codec = Bench(Star()).Ask(Gather(10'000, ready), encode);
  EXPECT_EQ(codec.Verdict().bound, Bound::kCodec);
  EXPECT_EQ(VerdictName(codec), "encode");
  EXPECT_EQ(Find(codec, "encode").total,
            Bench(Star()).Time(Gather(10'000, std::vector<TimeNs>(4, 12 * kMs))));
}

// One worker computes while the other encodes: if one gets faster, the other is still as late.
TEST(Doctor, EquallyLongPathsAreBalanced) {
  const StepTraffic traffic = Gather(0, {10 * kMs, 10 * kMs});
  const StepDiagnosis diagnosis = Bench(Star(), 2).Ask(traffic, {{{0, 10 * kMs}}});
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kBalanced);
  EXPECT_TRUE(diagnosis.as_it_is.verdict);
  EXPECT_EQ(VerdictText(diagnosis), "balanced: nothing that was tried saves 5 % of 10 ms");
  EXPECT_EQ(diagnosis.remedies.size(), 2u);  // no flows: only devices were tried
  EXPECT_EQ(DoctorRows(diagnosis, {}).front()["verdict"], 1);
}

TEST(Doctor, ScalesEachPartOfADevicesTime) {
  StepTraffic traffic = Gather(10, {50, 60});
  traffic.buckets.push_back(traffic.buckets.front());
  traffic.buckets[1].ready = {100, 110};
  traffic.buckets[1].calls.push_back(traffic.buckets[1].calls[0]);
  traffic.buckets[1].calls[1].computeBefore = {30, 40};
  traffic.buckets[1].decode = {20, 24};
  traffic.deviceFree = {120, 130};
  const EncodeTimes encode{{{10, 20}}, {{6, 8}, {10, 20}}};
  EXPECT_EQ(DeviceTime(traffic, 0), 170);
  const StepTraffic scaled = ScaleDevices(traffic, encode, {{.5, 2, 10}, {}});
  EXPECT_EQ(scaled.buckets[0].ready, (std::vector<TimeNs>{20 + 20, 60}));
  EXPECT_EQ(scaled.buckets[1].ready, (std::vector<TimeNs>{42 + 32, 110}));
  EXPECT_EQ(scaled.deviceFree, (std::vector<TimeNs>{52 + 32, 130}));
  EXPECT_EQ(scaled.buckets[1].calls[1].computeBefore, (std::vector<TimeNs>{20 + 200, 40}));
  EXPECT_EQ(scaled.buckets[1].decode, (std::vector<TimeNs>{200, 24}));
  EXPECT_EQ(ScaleDevices(traffic, encode, {{}, {}}).Canonical(), traffic.Canonical());
  // What workers encode between the messages of a sum by hops is encoding, too.
  traffic.buckets[0].calls[0].collective.hops.launch = 5;
  EXPECT_EQ(
      ScaleDevices(traffic, encode, {{.5, 2, 10}, {}}).buckets[0].calls[0].collective.hops.factors,
      (std::vector<double>{2, 1}));
  const auto message = [&](const EncodeTimes& wrong) {
    return MessageOf([&] { ScaleDevices(traffic, wrong, {{}, {}}); });
  };
  EXPECT_EQ(message({{{10}}}),
            "times of encoding: one for each bucket, call and worker of the step");
  EXPECT_EQ(message({{{51, 0}}, {{0, 0}, {0, 0}}}),
            "encoding of bucket 0 at worker 0: got '51 ns'; allowed: 0 to 50 ns");
}

TEST(Doctor, DescribesADiagnosisInTwelveLines) {
  StepTraffic traffic = Gather(100'000, {10 * kMs, 15 * kMs, 10 * kMs, 14 * kMs});
  traffic.buckets[0].decode.assign(4, kMs);
  const EncodeTimes encode{{std::vector<TimeNs>(4, kMs)}};
  const StepDiagnosis diagnosis = Bench(Dumbbell(kGbps)).Ask(traffic, encode);
  EXPECT_EQ(diagnosis.remedies.size(), 9u);  // a dumbbell's middle is one link, not a tier
  const std::string text = DoctorText(diagnosis);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 11) << text;
  EXPECT_TRUE(std::is_sorted(diagnosis.remedies.begin(), diagnosis.remedies.end(),
                             [](const Remedy& a, const Remedy& b) { return a.gain > b.gain; }));
  const auto rows = DoctorRows(diagnosis, {{"policy", "topk"}});
  ASSERT_EQ(rows.size(), 10u);
  int verdicts = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row.begin().key(), "policy");
    verdicts += row["verdict"].get<int>();
  }
  EXPECT_EQ(verdicts, 1);
}

// Of three flows, two share a link and the third has one of its own. What is judged is the mean of
// their times, however late they start.
TEST(Doctor, JudgesListsOfFlowsByTheirMeanTime) {
  constexpr int64_t kBytes = 10'000'000;
  const Bench bench(Star(10 * kGbps, 0));
  const std::vector<FlowRequest> flows = {
      {0, 1, kBytes, 0}, {2, 1, kBytes, 0}, {0, 3, kBytes, 500 * kMs}};
  DoctorCase list;
  list.flows = &flows;
  const StepDiagnosis diagnosis = Diagnose(list, bench.request, fabric::MakeFlowEngine);
  const std::string text = DoctorText(diagnosis);
  const FlowListTiming timing = SimulateFlows(flows, bench.request, fabric::MakeFlowEngine);
  ASSERT_EQ(timing.flows.size(), 3U);
  double sum = 0;
  for (const RecordedFlow& flow : timing.flows) sum += static_cast<double>(flow.end - flow.start);
  EXPECT_NEAR(static_cast<double>(diagnosis.as_it_is.total), sum / 3, 1);
  EXPECT_GT(timing.timing.total, 500 * kMs);
  EXPECT_TRUE(diagnosis.of_flows);
  EXPECT_EQ(diagnosis.Verdict().bound, Bound::kBandwidth) << text;
  const Remedy& best = diagnosis.remedies.front();
  EXPECT_EQ(best.name, "all-links") << text;
  EXPECT_NEAR(best.gain, .5, .01) << text;
  for (const Remedy& remedy : diagnosis.remedies) {
    EXPECT_TRUE(remedy.bound == Bound::kBandwidth || remedy.bound == Bound::kLatency) << text;
  }
  EXPECT_NE(text.find("the flows' mean completion time"), std::string::npos) << text;
}

}  // namespace
}  // namespace legacy::doctor_test