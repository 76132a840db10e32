// What legacy-network writes about RoCEv2: queues over time, links, flows and counters.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/network/options/experiment_options.h"
#include "scenarios/network/outputs.h"
#include "scenarios/network/results.h"
#include "tests/network/network_testing.h"

namespace legacy::roce_outputs_test {
namespace {

class RoceOutputs : public testing::Test {
 protected:
  void SetUp() override {
    if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  }
  static ExperimentOptions Incast(const std::string& fidelity = "packet") {
    return With({{"topo", "star:hosts=5"},
                 {"workers", "5"},
                 {"bandwidth", "100Gbps"},
                 {"transport", "roce:buffer=600KB,ecn=5KB/50KB/1@100Gbps"},
                 {"pattern", "incast:4"},
                 {"bytes", "1MB"},
                 {"fidelity", fidelity}});
  }
  static std::vector<Measurement> Measured(const PreparedExperiment& prepared, TimeNs every) {
    MeasureOptions options;
    options.queues_every = every;
    return Measure(prepared, options);
  }
};

// Everything except the number of events, which sampling adds to.
std::string TextOf(const PreparedExperiment& prepared, std::vector<Measurement> measurements) {
  for (Measurement& m : measurements) m.timing.counters.events = 0;
  std::string text = LinksCsv(prepared, measurements) + FlowsCsv(prepared, measurements);
  for (const Row& row : ResultRows(ExperimentOptions(), prepared, measurements))
    text += row.dump() + "\n";
  return text;
}

TEST_F(RoceOutputs, SamplesOfQueuesChangeNothing) {
  for (const std::string transport :
       {"roce:buffer=600KB,ecn=5KB/50KB/1@100Gbps", "roce:cc=hpcc", "roce:cc=swift"}) {
    ExperimentOptions values = Incast();
    values.transport = {transport, "--transport"};
    const PreparedExperiment prepared = Prepare(ParseExperiment(values, {}));
    const std::vector<Measurement> plain = Measured(prepared, 0);
    EXPECT_TRUE(plain[0].queues.empty());
    for (const TimeNs every : {777, 10'000, 1'000'000'000}) {
      EXPECT_EQ(TextOf(prepared, Measured(prepared, every)), TextOf(prepared, plain))
          << transport << " every " << every;
    }
  }
}

TEST_F(RoceOutputs, SamplesHaveQueuesBuffersAndRates) {
  const PreparedExperiment prepared = Prepare(ParseExperiment(Incast(), {}));
  const Measurement m = Measured(prepared, 5'000).front();
  const fabric::Topology& topology = prepared.network->topology;
  const int hub = topology.From(topology.Out(prepared.network->placement.NodeOf(0)).front() ^ 1);
  int64_t longest = 0;
  int64_t fullest = 0;
  bool paused = false;
  bool slow = false;
  for (const TelemetrySample& sample : m.queues) {
    for (size_t i = 0; i < sample.links.size(); ++i) {
      longest = std::max(longest, sample.links[i].queueBytes);
      EXPECT_LE(sample.links[i].queueBytes, m.timing.links[i].maxQueueBytes);
      paused = paused || sample.links[i].paused;
    }
    fullest = std::max(fullest, sample.roce.buffers.at(hub));
    for (const fabric::RoceActivity::Pair& pair : sample.roce.pairs) {
      EXPECT_LE(pair.bitsPerSecond, 100e9);
      EXPECT_GE(pair.inFlight, 0);
      slow = slow || pair.bitsPerSecond < 50e9;
    }
  }
  EXPECT_TRUE(paused);
  EXPECT_TRUE(slow) << "DCQCN has cut rates";
  EXPECT_GT(longest, 100'000);
  EXPECT_GT(fullest, 100'000);
  EXPECT_LE(fullest, m.timing.counters.roce.maxBuffer);
  const std::string text = QueuesCsv(prepared, {m});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "repetition,seconds,kind,name,bytes,bits_per_second,paused");
  for (const char* line : {"\n0,0.000005,port,hub>host0,", "\n0,0.000005,switch,hub,",
                           "\n0,0.000005,pair,host1>host0,"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text.substr(0, 1000);
  }
}

TEST_F(RoceOutputs, FlowsSayWhatBecameOfThemWithPacketsAlone) {
  const PreparedExperiment prepared = Prepare(ParseExperiment(Incast("packet,flow"), {}));
  const std::vector<Measurement> measurements = Measured(prepared, 0);
  const std::string text = FlowsCsv(prepared, measurements);
  EXPECT_NE(text.find(",slowdown,rate_at_end,cnps,resent,paused_seconds,pause_root,victim\n"),
            std::string::npos);
  EXPECT_NE(text.find(",hub>host0,0\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",,,,,,\n"), std::string::npos) << text;
  const Measurement& packets = measurements.front();
  uint64_t cnps = 0;
  for (const RecordedFlow& flow : packets.flows) {
    ASSERT_TRUE(flow.roce);
    cnps += flow.roce->cnps;
    EXPECT_LE(flow.roce->paused, flow.end - flow.start);
  }
  EXPECT_EQ(cnps, packets.timing.counters.roce.cnps);
  EXPECT_GT(cnps, 0u);
}

TEST_F(RoceOutputs, TheTableAndRowsCountPauses) {
  const PreparedExperiment prepared = Prepare(ParseExperiment(Incast(), {}));
  const std::vector<Measurement> measurements = Measured(prepared, 0);
  const Row row = ResultRows(Incast(), prepared, measurements).at(0);
  EXPECT_GT(row["pauses"], 0);
  EXPECT_GT(row["paused_share"], 0);
  EXPECT_LT(row["paused_share"], 1);
  EXPECT_GT(row["cnps"], 0);
  EXPECT_GT(row["max_buffer_bytes"], 100'000);
  EXPECT_GT(row["max_headroom_share"], 0);
  EXPECT_LE(row["max_headroom_share"], 1);
  const std::string table = ResultTable(prepared, measurements);
  const std::string pauses = "roce: " + std::to_string(row["pauses"].get<int64_t>()) + " pauses, ";
  for (const std::string& part :
       {pauses, std::string("by the queue of hub>host0)"), std::string(" (hub>host0), buffer "),
        std::string(" of 600 kB, headroom ")}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
  EXPECT_EQ(table.find("e+0"), std::string::npos) << table;
}

}  // namespace
}  // namespace legacy::roce_outputs_test
