// Endless flows: rates and fairness over time, against max-min shares.
#include "scenarios/network/endless.h"

#include <gtest/gtest.h>

#include <numeric>

#include "scenarios/network/endless_results.h"
#include "scenarios/network/results.h"
#include "tests/network/network_testing.h"

namespace legacy::endless_test {
namespace {

constexpr double kLine = 1e9;                                   // bits per second
constexpr double kPayload = kLine * 1448 / 1502;                // without headers
constexpr double kShared = kPayload / (1 + 54.0 / 1502 * 0.5);  // and half of the ACKs

std::string FlowFile(const std::string& text) {
  const std::string path = OwnFile("endless.csv");
  std::ofstream(path) << text;
  return path;
}

Changes Values(const std::string& flows, const Changes& changes = {}) {
  Changes values = {
      {"topo", "star:hosts=5"}, {"bandwidth", "1Gbps"}, {"duration", "1s"}, {"fidelity", "flow"}};
  if (!flows.empty()) values["flows"] = FlowFile(flows);
  for (const auto& [name, value] : changes) values[name] = value;
  return values;
}

std::vector<ThroughputWindow> WindowsOf(const std::string& flows, const Changes& changes = {}) {
  const PreparedExperiment prepared = Prepare(ExperimentWith(Values(flows, changes)));
  return Measure(prepared, {}).front().windows;
}

TEST(Endless, TwoFlowsShareALinkUntilAThirdComes) {
  const std::vector<ThroughputWindow> windows = WindowsOf("# to host 2\n0,2\n1,2,0\n3,host2,0.5\n");
  ASSERT_EQ(windows.size(), 20u);
  for (const ThroughputWindow& window : windows) {
    const bool three = window.start >= 500'000'000;
    EXPECT_EQ(window.active, (std::vector<bool>{true, true, three}));
    EXPECT_NEAR(window.Total() / kPayload, 1, 2e-3);
    EXPECT_NEAR(window.rates[0] / kPayload, three ? 1.0 / 3 : 0.5, 2e-3);
    EXPECT_NEAR(window.rates[2] / kPayload, three ? 1.0 / 3 : 0, 2e-3);
    EXPECT_NEAR(window.Fairness(), 1, 1e-5);
  }
  EXPECT_EQ(windows.back().end, 1'000'000'000);
}

// Link 2 has three flows, a third each. The fourth has what they leave of host 2's own link.
TEST(Endless, RatesAreMaxMinFair) {
  const ThroughputWindow window = WindowsOf("0,1\n4,1\n2,1\n2,3\n").at(10);
  for (int f = 0; f < 3; ++f) EXPECT_NEAR(window.rates[f] / kPayload, 1.0 / 3, 2e-3);
  EXPECT_NEAR(window.rates[3] / kPayload, 2.0 / 3, 2e-3);
  EXPECT_NEAR(window.Fairness(), 25.0 / 28, 1e-3);  // (5/3)^2 / (4 (3/9 + 4/9))
  EXPECT_NEAR(window.Least(), window.rates[0], 1e-3 * kPayload);
  EXPECT_EQ(window.Most(), window.rates[3]);
}

TEST(Endless, FairnessIsThatOfJain) {
  ThroughputWindow window;
  window.rates = {4, 0, 0, 0};
  window.active = {true, true, true, true};
  EXPECT_DOUBLE_EQ(window.Fairness(), 0.25);
  window.active = {true, false, false, false};
  EXPECT_DOUBLE_EQ(window.Fairness(), 1);
  window.active = {false, true, true, true};
  EXPECT_DOUBLE_EQ(window.Fairness(), 1) << "nothing arrives";
  EXPECT_DOUBLE_EQ(window.Least(), 0);
}

// Windows that do not divide the run, and that are shorter or longer than the path's round trip.
TEST(Endless, WindowsOfAnyLengthHaveTheSameTotal) {
  for (const std::string window : {"300ms", "7ms", "1s", "100us"}) {
    const std::vector<ThroughputWindow> windows =
        WindowsOf("0,1\n", {{"window-time", window}, {"delay", "1ms"}});
    double bits = 0;
    for (const ThroughputWindow& one : windows) {
      bits += one.rates[0] * static_cast<double>(one.end - one.start) * 1e-9;
    }
    EXPECT_NEAR(bits / kPayload, 1, 5e-3) << window;
    EXPECT_EQ(windows.back().end, 1'000'000'000);
  }
  const std::vector<ThroughputWindow> uneven = WindowsOf("0,1\n", {{"window-time", "300ms"}});
  ASSERT_EQ(uneven.size(), 4u);
  EXPECT_EQ(uneven[3].start, 900'000'000);
  EXPECT_NEAR(uneven[3].rates[0] / kPayload, 1, 1e-3);
}

TEST(Endless, PatternsHaveNoEnd) {
  for (const char* pattern : {"permutation", "incast:3", "all-to-all"}) {
    const bool incast = std::string(pattern).starts_with("incast");
    const ThroughputWindow window =
        WindowsOf("", {{"pattern", pattern}, {"topo", "star"}, {"workers", "4"}}).at(5);
    // ACKs of the data that a host receives take their part of its uplink.
    EXPECT_NEAR(window.Total() / ((incast ? 1 : 4) * (incast ? kPayload : kShared)), 1, 0.02)
        << pattern;
    EXPECT_NEAR(window.Fairness(), 1, 1e-4);
  }
}

TEST(Endless, ShareLinksWithBackgroundTraffic) {
  const ThroughputWindow quiet = WindowsOf("0,1\n").at(10);
  const ThroughputWindow busy =
      WindowsOf("0,1\n", {{"background", "poisson:load=0.5"}, {"duration", "200ms"}}).at(10);
  EXPECT_LT(busy.rates[0], 0.9 * quiet.rates[0]);
  EXPECT_GT(busy.rates[0], 0.1 * quiet.rates[0]);
}

TEST(Endless, RowsHaveEachFlowInEachWindow) {
  const ExperimentOptions values = With(Values("0,2\n1,2,0.5\n"));
  const PreparedExperiment prepared = Prepare(ParseExperiment(values, {}));
  const std::vector<Row> rows = ResultRows(values, prepared, Measure(prepared, {}));
  ASSERT_EQ(rows.size(), 40u);
  EXPECT_EQ(rows[21]["flow"], 1);
  EXPECT_EQ(rows[21]["source"], "host1");
  EXPECT_EQ(rows[21]["active"], 1);
  EXPECT_EQ(rows[19]["active"], 0);
  EXPECT_NEAR(rows[20]["bits_per_second"].get<double>() / kPayload, 0.5, 3e-3);
}

TEST(Endless, PacketsShareALinkToo) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  const std::vector<ThroughputWindow> windows = WindowsOf(
      "0,2\n1,2\n", {{"fidelity", "packet"}, {"duration", "200ms"}, {"window-time", "20ms"}});
  for (const ThroughputWindow& window : windows) {
    EXPECT_NEAR(window.Total() / kPayload, 1, 0.01);
    EXPECT_GT(window.Fairness(), 0.97);
  }
}

TEST(Endless, MistakesAreNamed) {
  const auto refusal = [](const std::string& flows, const Changes& changes) {
    return MessageOf([&] { WindowsOf(flows, changes); });
  };
  const std::string file = OwnFile("endless.csv");
  EXPECT_NE(refusal("0,1\n", {{"fidelity", "analytic"}}).find("allowed: packet, flow: at an"),
            std::string::npos);
  EXPECT_NE(refusal("", {}).find("--duration: got '1s'; allowed: nothing without --flows"),
            std::string::npos);
  EXPECT_NE(refusal("", {{"pattern", "poisson:load=0.5"}}).find("flows have sizes"),
            std::string::npos);
  EXPECT_NE(refusal("0,1,2,3\n", {}).find(file + ":1: got '4 fields'"), std::string::npos);
  EXPECT_NE(refusal("0,1,1\n", {}).find("start of flow 0: got '1 s'; allowed: a time before"),
            std::string::npos);
  EXPECT_NE(refusal("0,1\n", {{"window-time", "2s"}}).find("--window-time: got '2s'"),
            std::string::npos);
  EXPECT_NE(refusal("0,1\n", {{"window-time", "1ns"}}).find("allowed: 10 us to"),
            std::string::npos);
  EXPECT_NE(refusal("0,1\n", {{"duration", "0s"}}).find("--duration: got '0s'"), std::string::npos);
  EXPECT_NE(refusal("", {{"pattern", "permutation"}, {"bytes", "1MB"}}).find("--bytes: got '1MB'"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              ExperimentWith({{"window-time", "1s"}});
            }).find("--window-time: got '1s'; allowed: nothing without --duration"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::endless_test
