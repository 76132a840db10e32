// Definitions of results, and their files.
#include "scenarios/network/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "base/files/csv_file.h"
#include "scenarios/network/outputs.h"
#include "tests/network/network_testing.h"

namespace legacy::results_test {
namespace {

using fabric::CollectiveAlgorithm;

// Factors of nccl-tests, doc/PERFORMANCE.md, for 8 ranks.
TEST(Results, BusBandwidthFactors) {
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::RingAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::InNetworkAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::DirectAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::BruckAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::HalvingReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::AllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(*BusFactor(CollectiveAlgorithm::Broadcast, 8), 1);
  EXPECT_FALSE(BusFactor(CollectiveAlgorithm::ParameterServer, 8));
  const Experiment e = ExperimentWith({{"workers", "3"}, {"bytes", "100,200,300"}});
  EXPECT_EQ(CollectiveBytes(e, CollectiveAlgorithm::RingAllGather), 600);
  EXPECT_EQ(CollectiveBytes(e, CollectiveAlgorithm::AllToAll), 300);
  EXPECT_EQ(CollectiveBytes(e, CollectiveAlgorithm::Broadcast), 100);
}

TEST(Results, PercentilesAreNearestRanks) {
  const std::vector<double> values = {1, 2, 3, 4};
  EXPECT_EQ(Percentile(values, .5), 2);
  EXPECT_EQ(Percentile(values, .51), 3);
  EXPECT_EQ(Percentile(values, .99), 4);
  EXPECT_EQ(Percentile(values, 0), 1);
}

// A long ring on a fast star moves 2 (N - 1)/N of its bytes over each link. Its bus bandwidth is
// the link's, less headers and ACKs (1448 of 1502 + 54 bytes), and less the latency of its rounds.
TEST(Results, BusBandwidthOfARingIsTheLinkRate) {
  const ExperimentOptions values =
      With({{"topo", "star"}, {"bytes", "500MB"}, {"fidelity", "flow"}});
  const PreparedExperiment prepared = Prepare(ParseExperiment(values, {}));
  const Row row = ResultRows(values, prepared, Measure(prepared, {})).front();
  EXPECT_NEAR(row["bus_bits_per_second"].get<double>() / 10e9, 1448.0 / 1556, 0.01);
  EXPECT_EQ(row["finish_seconds"].size(), 16u);
  EXPECT_TRUE(row["difference"].is_null());
}

TEST(Results, TimeCountsFromTheFirstThatIsReady) {
  const ExperimentOptions values =
      With({{"compute", "5ms"}, {"workers", "2"}, {"stragglers", "fixed:count=1,factor=2"}});
  const PreparedExperiment prepared = Prepare(ParseExperiment(values, {}));
  const Row row = ResultRows(values, prepared, Measure(prepared, {})).front();
  EXPECT_DOUBLE_EQ(row["ready_first_seconds"].get<double>(), 0.005);
  EXPECT_DOUBLE_EQ(row["ready_last_seconds"].get<double>(), 0.010);
  EXPECT_DOUBLE_EQ(row["time_seconds"].get<double>(),
                   row["finish_max_seconds"].get<double>() - 0.005);
}

// Differences are relative to packet, in any position, or to the first fidelity.
TEST(Results, CsvHasOneRowForEachFidelity) {
  const ExperimentOptions values = With({{"bytes", "1KB"}, {"fidelity", "analytic,flow"}});
  const PreparedExperiment prepared = Prepare(ParseExperiment(values, {}));
  const std::vector<Row> rows = ResultRows(values, prepared, Measure(prepared, {}));
  const auto cells = CsvCells("results", CsvText(rows));
  ASSERT_EQ(cells.size(), 3u);
  const std::vector<std::string>& header = cells[0];
  EXPECT_EQ(header.size(), cells[2].size());
  const auto difference = std::ranges::find(header, "difference") - header.begin();
  EXPECT_EQ(cells[1][difference], "");
  EXPECT_DOUBLE_EQ(
      std::stod(cells[2][difference]),
      rows[1]["time_seconds"].get<double>() / rows[0]["time_seconds"].get<double>() - 1);
  EXPECT_EQ(std::ranges::count(header, "finish_seconds"), 0);
}

// By links.csv the hosts send what the collective sends, with headers and the ACKs of the received
// segments.
TEST(Results, LinksCarryTheCollective) {
  const PreparedExperiment prepared =
      Prepare(ExperimentWith({{"topo", "star"}, {"workers", "4"}, {"bytes", "579200"}}));
  const std::vector<Measurement> measurements = Measure(prepared, {});
  int from_hosts = 0;
  for (const auto& cells : CsvCells("links", LinksCsv(prepared, measurements))) {
    if (!cells[3].starts_with("host")) continue;
    ++from_hosts;
    EXPECT_EQ(cells[6], std::to_string(6 * 100 * (1448 + 54 + 54)));  // 6 rounds of 100 segments
  }
  EXPECT_EQ(from_hosts, 4);
}

// Four workers each finish after 190 years.
TEST(Results, MeansOfLongTimesDoNotOverflow) {
  const PreparedExperiment prepared = Prepare(ExperimentWith({{"topo", "star"},
                                                              {"workers", "4"},
                                                              {"bandwidth", "1bps"},
                                                              {"bytes", "450MB"},
                                                              {"delay", "0s"},
                                                              {"fidelity", "flow"}}));
  const Row row = ResultRows(ExperimentOptions(), prepared, Measure(prepared, {})).front();
  const double longest = row["finish_max_seconds"].get<double>();
  EXPECT_GT(longest, 5e9);
  EXPECT_NEAR(row["finish_mean_seconds"].get<double>(), longest, 1e-6 * longest);
}

}  // namespace
std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// On a narrow terminal no line is longer than it, and no column is missing.
TEST(Results, TablesFitANarrowTerminal) {
  for (const char* pattern : {"", "incast:15"}) {
    const Experiment e = ExperimentWith({{"topo", "leaf-spine:oversubscription=4"},
                                         {"fidelity", "flow,analytic"},
                                         {"pattern", pattern}});
    const PreparedExperiment prepared = Prepare(e);
    const std::vector<Measurement> measurements = Measure(prepared, {});
    const std::string narrow = ResultTable(prepared, measurements, 80);
    for (const std::string& line : LinesOf(narrow)) EXPECT_LE(DisplayWidth(line), 80u) << line;
    const std::vector<std::string> wide = LinesOf(ResultTable(prepared, measurements, SIZE_MAX));
    EXPECT_GT(LinesOf(narrow).size(), wide.size() + 3);
    const auto header = std::ranges::find_if(
        wide, [](const std::string& line) { return line.starts_with("fidelity"); });
    ASSERT_NE(header, wide.end());
    EXPECT_GT(DisplayWidth(*header), 80u);
    std::istringstream words(*header);
    for (std::string word; words >> word;) EXPECT_NE(narrow.find(word), std::string::npos) << word;
  }
}

// Values of a sweep are placed below their names, however long they are. If the fidelities have no
// room next to each other, each has a line.
TEST(Results, SweepsStandInColumns) {
  const std::vector<std::string> topologies = {"star", "dragonfly:groups=5,routers=4,hosts=2"};
  std::vector<ExperimentOptions> points;
  for (const std::string& topology : topologies) {
    points.push_back(With({{"topo", topology}, {"bytes", "1KB"}, {"fidelity", "flow,analytic"}}));
  }
  const PreparedExperiment prepared = Prepare(ParseExperiment(points.back(), {}));
  const std::vector<Measurement> measurements = Measure(prepared, {});
  const std::vector<Fidelity> fidelities = {Fidelity::kFlow, Fidelity::kAnalytic};
  for (const size_t columns : {SIZE_MAX, size_t{80}, size_t{70}}) {
    const SweepTable table({"bytes", "topo"}, points, fidelities, columns);
    const std::string header = table.Header();
    const size_t end = header.find("topo") + 4;
    const std::vector<std::string> lines =
        LinesOf(header + table.Lines(points.back(), prepared, measurements));
    ASSERT_EQ(lines.size(), columns > 80 ? 2u : 3u);
    for (const std::string& line : lines) {
      EXPECT_LE(DisplayWidth(line), columns);
      EXPECT_NE(line[end - 1], ' ') << line;
      EXPECT_EQ(line.substr(end, 2), "  ") << line;
    }
    EXPECT_EQ(lines.back().find(topologies.back()) != std::string::npos, columns > 80) << columns;
    EXPECT_EQ(header.find("analytic") != std::string::npos, columns > 80);
    EXPECT_EQ(lines.back().find("analytic") != std::string::npos, columns <= 80);
  }
}

}  // namespace legacy::results_test