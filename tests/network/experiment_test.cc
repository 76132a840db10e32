// From option values to traffic: sizes, ready times, networks, and the record of them.
#include "scenarios/network/options/experiment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "tests/network/network_testing.h"

namespace legacy::experiment_test {
namespace {

using fabric::CollectiveAlgorithm;

TEST(Experiment, OneSizeForAllOrOneForEach) {
  EXPECT_EQ(ExperimentWith({{"workers", "3"}, {"bytes", "1KB"}}).bytes,
            (std::vector<int64_t>{1000, 1000, 1000}));
  EXPECT_EQ(ExperimentWith({{"workers", "3"}, {"bytes", "1KB,2KB,0"}}).bytes,
            (std::vector<int64_t>{1000, 2000, 0}));
  EXPECT_NE(MessageOf([] {
              ExperimentWith({{"workers", "3"}, {"bytes", "1KB,2KB"}});
            }).find("one for each of 3 workers (there are 2)"),
            std::string::npos);
}

// Of 300 values of 4 bytes, 1 % are 3 values of 8 bytes; at least one is sent.
TEST(Experiment, DensityKeepsWholeValues) {
  const auto bytes = [](const std::string& density) {
    return ExperimentWith({{"workers", "2"}, {"bytes", "1200"}, {"density", density}}).bytes;
  };
  EXPECT_EQ(bytes("1%"), (std::vector<int64_t>{24, 24}));
  EXPECT_EQ(bytes("1%,50%"), (std::vector<int64_t>{24, 1200}));
  EXPECT_EQ(bytes("0.0001"), (std::vector<int64_t>{8, 8}));
}

// Four workers each send half of 1000 values: unions of 2 and 4 hold 750 and 937.5 values on
// average, and never take more bytes than the dense form.
TEST(Experiment, SumsOfSparseMessagesGrowToTheDenseSize) {
  const Experiment half = ExperimentWith(
      {{"workers", "4"}, {"bytes", "4000"}, {"density", "0.5"}, {"collective", "sparse-tree"}});
  const auto network = BuildNetwork(NetworkFor(half, *half.algorithm));
  EXPECT_EQ(SpecOf(half, *half.algorithm, *network, 0).sumBytes,
            (std::vector<int64_t>{4000, 4000}));
  const Experiment tenth = ExperimentWith(
      {{"workers", "4"}, {"bytes", "4000"}, {"density", "0.1"}, {"collective", "sparse-tree"}});
  // 1000 (1 - 0.9^2) = 190 and 1000 (1 - 0.9^4) = 343.9
  EXPECT_EQ(SpecOf(tenth, *tenth.algorithm, *network, 0).sumBytes,
            (std::vector<int64_t>{8 * 190, 8 * 344}));
}

// A file of SimAI's with two servers of four GPUs, their NVSwitches, four rails and a spine:
// channels find the nodes by the GPUs' first switch, and take the time of the same fabric by name.
TEST(Experiment, ChannelsFindTheNodesOfSimAiFiles) {
  const std::string path = OwnFile("simai.topo");
  std::ofstream file(path);
  file << "15 4 2 5 20 H100\n8 9 10 11 12 13 14\n";
  for (int gpu = 0; gpu < 8; ++gpu) file << gpu << " " << 8 + gpu / 4 << " 80Gbps 1us 0\n";
  for (int gpu = 0; gpu < 8; ++gpu) file << gpu << " " << 10 + gpu % 4 << " 10Gbps 1us 0\n";
  for (int rail = 10; rail < 14; ++rail) file << rail << " 14 10Gbps 1us 0\n";
  file.close();
  const auto time = [](const std::string& topology, const std::string& channels) {
    const Experiment experiment = ExperimentWith(
        {{"workers", "8"}, {"bytes", "8MB"}, {"channels", channels}, {"topo", topology}});
    const auto network = BuildNetwork(NetworkFor(experiment, *experiment.algorithm));
    EXPECT_EQ(SpecOf(experiment, *experiment.algorithm, *network, 0).group, 4);
    EXPECT_EQ(SpecOf(experiment, *experiment.algorithm, *network, 0).channels, 4);
    return Measure(Prepare(experiment), {}).front().Time();
  };
  // The header says how many GPUs a server has: group and channels follow, even if the links to the
  // rails come first.
  const std::string rails_first = OwnFile("rails-first.topo");
  std::ofstream other(rails_first);
  other << "15 4 2 5 20 H100\n8 9 10 11 12 13 14\n";
  for (int gpu = 0; gpu < 8; ++gpu) other << gpu << " " << 10 + gpu % 4 << " 10Gbps 1us 0\n";
  for (int gpu = 0; gpu < 8; ++gpu) other << gpu << " " << 8 + gpu / 4 << " 80Gbps 1us 0\n";
  for (int rail = 10; rail < 14; ++rail) other << rail << " 14 10Gbps 1us 0\n";
  other.close();
  const TimeNs named = time("rail-optimised:nodes=2,gpus=4,spines=1,node.rate=80Gbps", "4");
  EXPECT_EQ(time(path, "4"), named);
  EXPECT_EQ(time(path, "0"), named);
  EXPECT_EQ(time(rails_first, "0"), named);
  // NVLS finds the servers' switches.
  const Experiment nvls = ExperimentWith({{"workers", "8"},
                                          {"bytes", "8MB"},
                                          {"collective", "nvls-allreduce"},
                                          {"topo", rails_first}});
  const auto network = BuildNetwork(NetworkFor(nvls, *nvls.algorithm));
  EXPECT_EQ(network->topology.NodeName(network->placement.aggregators.at(1)), "switch9");
}

// ASTRA-sim's first dimension is a server's, whose switch is next to the GPUs' routers; the second
// one has a rail for each of them.
TEST(Experiment, NodesAreThoseOfAstraSimsFirstDimension) {
  const std::string path = OwnFile("rails.yml");
  std::ofstream(path) << "topology: [ Switch, Switch ]\nnpus_count: [ 4, 2 ]\n"
                         "bandwidth: [ 100.0, 12.5 ]\nlatency: [ 500, 1000 ]\n";
  const Experiment e = ExperimentWith({{"workers", "8"},
                                       {"bytes", "8MB"},
                                       {"collective", "nvls-allreduce"},
                                       {"topo", "astra-sim:" + path}});
  const auto network = BuildNetwork(NetworkFor(e, *e.algorithm));
  const fabric::CollectiveSpec nvls = SpecOf(e, *e.algorithm, *network, 0);
  EXPECT_EQ(nvls.group, 4);
  EXPECT_EQ(network->placement.aggregators.size(), 2u);
  // A GPU's router sends 5/4 of the message to the server's switch, and a quarter over its rail.
  const fabric::StepTiming timing = Measure(Prepare(e), {}).front().timing;
  EXPECT_GT(timing.total, 5 * 8'000'000 / 4 / 100);
  const Experiment rings = ExperimentWith(
      {{"workers", "8"}, {"bytes", "8MB"}, {"channels", "4"}, {"topo", "astra-sim:" + path}});
  const Experiment one =
      ExperimentWith({{"workers", "8"}, {"bytes", "8MB"}, {"topo", "astra-sim:" + path}});
  EXPECT_EQ(SpecOf(one, *one.algorithm, *network, 0).channels, 1);
  EXPECT_GT(Measure(Prepare(one), {}).front().Time(), Measure(Prepare(rings), {}).front().Time());
}

// Channels, protocols and relays are the same flows at every fidelity: as many, over the same
// links, and in about the same time.
TEST(Experiment, ChannelsProtocolsAndRelaysAreTheSameInPackets) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  const Changes cases[] = {
      {{"channels", "4"}},
      {{"channels", "4"}, {"protocol", "ll128"}},
      {{"channels", "2"}, {"protocol", "simple"}, {"collective", "ring-reduce-scatter"}},
      {{"collective", "all-to-all"}, {"pxn", "on"}}};
  for (Changes values : cases) {
    values["workers"] = "8";
    values["bytes"] = "2MB";
    values["topo"] = "rail-optimised:nodes=2,gpus=4,node.rate=80Gbps";
    values["fidelity"] = "packet,flow";
    const PreparedExperiment prepared = Prepare(ExperimentWith(values));
    const std::vector<Measurement> measured = Measure(prepared, {});
    ASSERT_EQ(measured.size(), 2u);
    EXPECT_NEAR(static_cast<double>(measured[1].Time()) / static_cast<double>(measured[0].Time()),
                1, 0.1);
    const fabric::CollectiveSpec spec =
        SpecOf(prepared.experiment, prepared.algorithm, *prepared.network, 0);
    for (const Measurement& one : measured) {
      EXPECT_EQ(static_cast<double>(one.timing.counters.flows), fabric::EstimatedFlows(spec));
    }
    for (size_t link = 0; link < measured[0].timing.links.size(); ++link) {
      EXPECT_EQ(measured[0].timing.links[link].bytes > 0, measured[1].timing.links[link].bytes > 0);
    }
  }
}

// A matrix has the bytes of each pair, and buckets share each of them; without a matrix the pairs
// are those of an all-to-all.
TEST(Experiment, MatricesHaveTheBytesOfPairs) {
  const std::string path = OwnFile("matrix.csv");
  const auto experiment = [&](const std::string& text, const Changes& changes = {}) {
    std::ofstream(path) << text;
    Changes values = {{"workers", "3"}, {"collective", "all-to-allv"}, {"matrix", path}};
    for (const auto& [name, value] : changes) values[name] = value;
    return ExperimentWith(values);
  };
  const Experiment e =
      experiment("# to 0, 1, 2\n7,1KB,0\n 5 , 9,11\n\n0,0,99\n", {{"buckets", "2"}});
  EXPECT_EQ(e.pair_bytes, (std::vector<int64_t>{0, 1000, 0, 5, 0, 11, 0, 0, 0}));
  EXPECT_EQ(e.bytes, (std::vector<int64_t>{1000, 16, 0}));
  const auto network = BuildNetwork(NetworkFor(e, *e.algorithm));
  EXPECT_EQ(SpecOf(e, *e.algorithm, *network, 1).pairBytes,
            (std::vector<int64_t>{0, 500, 0, 2, 0, 5, 0, 0, 0}));
  const Experiment even =
      ExperimentWith({{"workers", "3"}, {"collective", "all-to-allv"}, {"bytes", "10,20,30"}});
  EXPECT_EQ(SpecOf(even, *even.algorithm, *network, 0).pairBytes,
            (std::vector<int64_t>{0, 3, 3, 7, 0, 6, 10, 10, 0}));
  const auto refusal = [&](const std::string& text, const Changes& changes = {}) {
    return MessageOf([&] { experiment(text, changes); });
  };
  const std::string square = "1,1,1\n1,1,1\n1,1,1\n";
  EXPECT_EQ(refusal("1,1,1\n1,1\n1,1,1\n"),
            path + ":2: got '2 sizes'; allowed: 3, one for each of the workers (--workers)");
  EXPECT_EQ(refusal("1,1,1\n"),
            path + ": got '1 lines'; allowed: 3, one for each of the workers (--workers)");
  EXPECT_EQ(refusal(square + "1,1,1\n"), path + ":4: got 'one more line'; allowed: 3 lines");
  EXPECT_NE(refusal("1,1,1\n1,1,x\n1,1,1\n").find(path + ":2: bytes to worker 2: got 'x'"),
            std::string::npos);
  EXPECT_NE(refusal("").find("0 lines"), std::string::npos);
  EXPECT_NE(refusal(square, {{"bytes", "1KB"}}).find("--bytes: got '1KB'"), std::string::npos);
  EXPECT_NE(refusal(square, {{"collective", "all-to-all"}}).find("all-to-allv does"),
            std::string::npos);
  EXPECT_NE(refusal(square, {{"order", "random"}}).find("rotated, index"), std::string::npos);
  EXPECT_NE(MessageOf([] {
              ExperimentWith({{"order", "index"}});
            }).find("--order: got 'index'; allowed: nothing beside --collective=ring-allreduce"),
            std::string::npos);
}

TEST(Experiment, BucketsShareTheMessageAndTheComputeTime) {
  const Experiment e = ExperimentWith({{"workers", "2"},
                                       {"bytes", "1001"},
                                       {"buckets", "4"},
                                       {"compute", "8ms"},
                                       {"stragglers", "fixed:workers=1,factor=1.5"}});
  const auto network = BuildNetwork(NetworkFor(e, *e.algorithm));
  const fabric::StepTraffic traffic = TrafficOf(e, *e.algorithm, *network, 0);
  ASSERT_EQ(traffic.buckets.size(), 4u);
  int64_t bytes = 0;
  for (const fabric::BucketTraffic& bucket : traffic.buckets) {
    bytes += bucket.calls[0].collective.bytes[1];
  }
  EXPECT_EQ(bytes, 1001);
  EXPECT_EQ(traffic.buckets[0].ready, (std::vector<int64_t>{2'000'000, 3'000'000}));
  EXPECT_EQ(traffic.deviceFree, (std::vector<int64_t>{8'000'000, 12'000'000}));
}

TEST(Experiment, ServersAndAggregatorsExistWhereTheyAreNeeded) {
  for (const CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    const Experiment e = ExperimentWith(
        {{"workers", "6"}, {"servers", "3"}, {"collective", fabric::ToString(algorithm)}});
    const auto network = BuildNetwork(NetworkFor(e, algorithm));
    const size_t servers = algorithm == CollectiveAlgorithm::ParameterServer          ? 1
                           : algorithm == CollectiveAlgorithm::ShardedParameterServer ? 3
                                                                                      : 0;
    EXPECT_EQ(network->placement.servers.size(), servers) << fabric::ToString(algorithm);
    EXPECT_EQ(!network->placement.aggregators.empty(),
              fabric::AggregationOf(algorithm) != fabric::Aggregation::None);
  }
}

// Every algorithm runs, and the recorder sees its flows start and arrive within the step.
TEST(Measure, EveryAlgorithmRunsAndIsRecorded) {
  for (const CollectiveAlgorithm algorithm : fabric::CollectiveAlgorithms()) {
    const bool any = fabric::TakesWorkers(algorithm, 5);
    const PreparedExperiment prepared =
        Prepare(ExperimentWith({{"workers", any ? "5" : "4"},
                                {"bytes", "10KB"},
                                {"fidelity", "flow,analytic"},
                                {"collective", fabric::ToString(algorithm)}}));
    MeasureOptions options;
    options.record_flows = true;
    for (const Measurement& m : Measure(prepared, options)) {
      ASSERT_FALSE(m.flows.empty()) << fabric::ToString(algorithm);
      TimeNs last = 0;
      for (const RecordedFlow& flow : m.flows) {
        EXPECT_GE(flow.start, 0);
        EXPECT_LE(flow.start, flow.end);
        last = std::max(last, flow.end);
      }
      EXPECT_LE(last, m.timing.total) << fabric::ToString(algorithm);
      EXPECT_EQ(m.flows.size(), m.timing.counters.flows) << fabric::ToString(algorithm);
    }
  }
}

// The warm-up step is not recorded: for an engine without connection state, the records of a warm
// and a cold step are equal.
TEST(Measure, RecordsTheMeasuredStepOnly) {
  const auto flows = [](const char* connections) {
    const PreparedExperiment prepared =
        Prepare(ExperimentWith({{"workers", "4"}, {"connections", connections}}));
    return Measure(prepared, {true, {}}).front().flows;
  };
  const std::vector<RecordedFlow> warm = flows("warm");
  const std::vector<RecordedFlow> cold = flows("cold");
  ASSERT_EQ(warm.size(), cold.size());
  for (size_t i = 0; i < warm.size(); ++i) {
    EXPECT_EQ(warm[i].start, cold[i].start);
    EXPECT_EQ(warm[i].end, cold[i].end);
  }
}

// The ring's closed form is the analytic engine's time on a star, within a nanosecond for each
// round.
TEST(Measure, ClosedFormWhereThereIsOne) {
  const PreparedExperiment star =
      Prepare(ExperimentWith({{"topo", "star"}, {"workers", "8"}, {"bytes", "800KB"}}));
  ASSERT_TRUE(ClosedForm(star));
  EXPECT_NEAR(static_cast<double>(Measure(star, {}).front().timing.total),
              static_cast<double>(*ClosedForm(star)), 14);
  EXPECT_FALSE(ClosedForm(Prepare(ExperimentWith({{"topo", "fat-tree"}}))));
  EXPECT_FALSE(ClosedForm(Prepare(ExperimentWith({{"topo", "star"}, {"buckets", "2"}}))));
}

TEST(Measure, AutoTakesTheFastest) {
  for (const char* bytes : {"1KB", "10MB"}) {
    const PreparedExperiment chosen =
        Prepare(ExperimentWith({{"collective", "auto"}, {"bytes", bytes}, {"fidelity", "flow"}}));
    const TimeNs best = Measure(chosen, {}).front().timing.total;
    for (const CollectiveAlgorithm algorithm : AutomaticAlgorithms(chosen.experiment)) {
      const PreparedExperiment other = Prepare(ExperimentWith(
          {{"collective", fabric::ToString(algorithm)}, {"bytes", bytes}, {"fidelity", "flow"}}));
      EXPECT_LE(best, Measure(other, {}).front().timing.total) << fabric::ToString(algorithm);
    }
    EXPECT_NE(chosen.reason.find(fabric::ToString(chosen.algorithm)), std::string::npos);
  }
}

TEST(Measure, RepetitionsDrawTheirOwnStragglers) {
  const PreparedExperiment prepared = Prepare(
      ExperimentWith({{"compute", "1ms"}, {"stragglers", "lognormal:sigma=0.5"}, {"repeat", "3"}}));
  const std::vector<Measurement> first = Measure(prepared, {});
  const std::vector<Measurement> second = Measure(prepared, {});
  ASSERT_EQ(first.size(), 3u);
  EXPECT_NE(first[0].timing.total, first[1].timing.total);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first[i].timing.finish, second[i].timing.finish);
}

}  // namespace
}  // namespace legacy::experiment_test