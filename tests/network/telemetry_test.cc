// Telemetry of links: what it sums up to, what it chooses, and that it changes nothing.
#include "scenarios/network/telemetry.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/network/outputs.h"
#include "tests/network/network_testing.h"

namespace legacy::telemetry_test {
namespace {

constexpr double kLine = 1e9;  // bits per second

std::vector<Measurement> MeasuredWith(const PreparedExperiment& prepared, TimeNs every) {
  MeasureOptions options;
  options.telemetry_every = every;
  options.record_flows = true;
  return Measure(prepared, options);
}

PreparedExperiment FlowsOnAStar(const std::string& flows, const std::string& fidelity) {
  const std::string path = OwnFile("telemetry.csv");
  std::ofstream(path) << flows;
  return Prepare(ExperimentWith({{"topo", "star:hosts=4"},
                                 {"bandwidth", "1Gbps"},
                                 {"delay", "0s"},
                                 {"flows", path},
                                 {"fidelity", fidelity}}));
}

fabric::DirectedLink LinkCalled(const PreparedExperiment& prepared, const std::string& name) {
  return ChooseLinks(name, "test", prepared.network->topology, {}).at(0);
}

// Host 0 sends 120 MB to host 2, alone for half a second. Then host 1 sends as much: each has a
// half of the link until host 0 is done, and host 1 is alone for the rest.
TEST(Telemetry, RatesAreThoseOfSharedLinks) {
  const PreparedExperiment prepared = FlowsOnAStar("0,2,120MB,0\n1,2,120MB,0.5\n", "flow");
  const Measurement m = MeasuredWith(prepared, 10'000'000).front();
  const double wire = 1502.0 / 1448 * 120e6 * 8 / kLine;  // seconds of a flow alone
  ASSERT_EQ(m.telemetry.size(), static_cast<size_t>(std::ceil(2 * wire / 0.01)));
  const fabric::DirectedLink first = LinkCalled(prepared, "host0>hub");
  const fabric::DirectedLink second = LinkCalled(prepared, "host1>hub");
  const fabric::DirectedLink shared = LinkCalled(prepared, "hub>host2");
  const auto rate = [&](size_t sample, fabric::DirectedLink link) {
    const double mean = m.telemetry[sample].Rate(link) / kLine;
    EXPECT_NEAR(m.telemetry[sample].links[link].bitsPerSecond / kLine, mean, 1e-6);
    EXPECT_EQ(m.telemetry[sample].links[link].queueBytes, 0);
    return mean;
  };
  EXPECT_NEAR(rate(20, first), 1, 1e-6);
  EXPECT_EQ(rate(20, second), 0);
  EXPECT_NEAR(rate(70, first), 0.5, 1e-6);
  EXPECT_NEAR(rate(70, second), 0.5, 1e-6);
  EXPECT_NEAR(rate(70, shared), 1, 1e-6);
  EXPECT_EQ(rate(170, first), 0);
  EXPECT_NEAR(rate(170, second), 1, 1e-6);
  EXPECT_NEAR(rate(70, LinkCalled(prepared, "host2>hub")), 54.0 / 1502, 1e-4) << "ACKs";
}

// Windows of any length sum up to what the links counted, and nothing else changes.
TEST(Telemetry, SumsToTheCountersAndChangesNothing) {
  for (const Fidelity fidelity : Fidelities()) {
    if (fidelity == Fidelity::kAnalytic) continue;
    const PreparedExperiment prepared =
        Prepare(ExperimentWith({{"topo", "leaf-spine:leaves=2,hosts=2,oversubscription=2"},
                                {"workers", "4"},
                                {"bytes", "300KB"},
                                {"collective", "direct-allgather"},
                                {"repeat", "2"},
                                {"fidelity", NameOf(fidelity)}}));
    const std::vector<Measurement> plain = MeasuredWith(prepared, 0);
    for (const TimeNs every : {20'011, 50'000, 1'000'000'000}) {
      const std::vector<Measurement> sampled = MeasuredWith(prepared, every);
      ASSERT_EQ(sampled.size(), 2u);
      for (size_t r = 0; r < 2; ++r) {
        const std::string where = NameOf(fidelity) + " every " + std::to_string(every);
        EXPECT_EQ(sampled[r].timing.finish, plain[r].timing.finish) << where;
        EXPECT_TRUE(plain[r].telemetry.empty());
        TimeNs end = 0;
        std::vector<double> bytes(plain[r].timing.links.size(), 0);
        for (const TelemetrySample& sample : sampled[r].telemetry) {
          EXPECT_EQ(sample.start, end);
          end = sample.end;
          for (size_t i = 0; i < bytes.size(); ++i) {
            const auto link = static_cast<fabric::DirectedLink>(i);
            const auto capacity =
                static_cast<double>(prepared.network->topology.PortOf(link).rateBps);
            bytes[i] += sample.links[i].bytes;
            EXPECT_LE(sample.Rate(link), capacity * 1.001) << where;
            EXPECT_LE(sample.links[i].queueBytes, plain[r].timing.links[i].maxQueueBytes) << where;
          }
        }
        EXPECT_EQ(end, sampled[r].timing.total) << where;
        for (size_t i = 0; i < bytes.size(); ++i) {
          EXPECT_EQ(sampled[r].timing.links[i].bytes, plain[r].timing.links[i].bytes);
          // The last ACKs may be on their way.
          EXPECT_NEAR(bytes[i], static_cast<double>(plain[r].timing.links[i].bytes), 200) << where;
        }
      }
    }
  }
}

TEST(Telemetry, ShowsQueuesOfPackets) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  const PreparedExperiment prepared = FlowsOnAStar("0,2,500KB\n1,2,500KB\n3,2,500KB\n", "packet");
  const Measurement m = MeasuredWith(prepared, 500'000).front();
  const fabric::DirectedLink shared = LinkCalled(prepared, "hub>host2");
  int64_t most = 0;
  for (const TelemetrySample& sample : m.telemetry) {
    most = std::max(most, sample.links[shared].queueBytes);
    EXPECT_EQ(sample.links[shared].bitsPerSecond, 0);
  }
  EXPECT_GT(most, 10'000);
  EXPECT_NEAR(m.telemetry[5].Rate(shared) / kLine, 1, 1e-4);
}

TEST(Telemetry, AnalyticHasNone) {
  const PreparedExperiment prepared = FlowsOnAStar("0,2,1MB\n", "analytic");
  EXPECT_TRUE(MeasuredWith(prepared, 1000).front().telemetry.empty());
}

TEST(Telemetry, LinksAreChosenByNameOrByBytes) {
  const PreparedExperiment prepared = FlowsOnAStar("0,2,3MB\n1,2,1MB\n", "flow");
  const std::vector<Measurement> measurements = MeasuredWith(prepared, 1'000'000);
  const fabric::Topology& topology = prepared.network->topology;
  const auto names = [&](const std::string& text) {
    std::vector<std::string> chosen;
    for (const int link :
         ChooseLinks(text, "--telemetry-links", topology, measurements.front().telemetry)) {
      chosen.push_back(topology.LinkName(link));
    }
    return chosen;
  };
  EXPECT_EQ(names("all").size(), 8u);
  EXPECT_EQ(names("busiest:3"), (std::vector<std::string>{"hub>host2", "host0>hub", "host1>hub"}));
  EXPECT_EQ(names("busiest:99").size(), 8u);
  EXPECT_EQ(names("host1>hub,hub>host0"), (std::vector<std::string>{"host1>hub", "hub>host0"}));
  EXPECT_NE(MessageOf([&] { names("spine"); }).find("--telemetry-links: got 'spine'"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] { names("busiest:0"); }).find("busiest: got '0'"), std::string::npos);

  const std::string csv = TelemetryCsv(prepared, measurements, "busiest:2");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            static_cast<ptrdiff_t>(1 + 2 * measurements.front().telemetry.size()));
  const auto trace = nlohmann::json::parse(TraceJson(prepared, measurements, {0}, "hub>host2"));
  size_t counters = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    EXPECT_EQ(event["name"], "hub>host2 rate");
    ++counters;
  }
  EXPECT_EQ(counters, measurements.front().telemetry.size() + 1);
  // Without telemetry the trace has no counters.
  EXPECT_EQ(TraceJson(prepared, MeasuredWith(prepared, 0), {0}).find(R"("ph":"C")"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::telemetry_test
