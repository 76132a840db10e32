#include "scenarios/network/cost_estimate.h"

#include <algorithm>
#include <sstream>

#include "analysis/recorded_table.h"
#include "network_testing.h"
#include "scenarios/network/engines/engines.h"

namespace legacy::cost_estimate_test {
namespace {

// "workers=4 bytes=1MB" as values.
Changes Values(const std::string& options) {
  Changes values = {{"fidelity", "packet"}};
  std::istringstream words(options);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return values;
}

double EstimateOf(const std::string& options) {
  return PacketSeconds(Prepare(ExperimentWith(Values(options))));
}

struct Row {
  std::string options;
  double ratio = 0;  // of the measured cost to the estimate
};

// The rows of packet-cost.csv with packets of ns-3, of RoCEv2 ("roce"), or of TCP ("").
std::vector<Row> Measured(const std::string& kind) {
  const auto table = ReadTable("packet-cost", LEGACY_VALIDATION "/packet-cost.csv");
  std::vector<Row> rows;
  for (const ValidationRow& row : table.rows) {
    const auto names = [&](const char* text) { return row[0].find(text) != std::string::npos; };
    if (kind != (names("ns3:") ? "ns3:" : names("roce") ? "roce" : "")) continue;
    rows.push_back({row[0], std::stod(row[2]) / EstimateOf(row[0])});
  }
  return rows;
}

// The processor on which it was measured may be faster or slower than that of the rates, and is the
// same for all rows.
TEST(CostEstimate, IsWithinAFactorOfTwoOfWhatWasMeasured) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  for (const char* kind : {"", "ns3:", "roce"}) {
    std::vector<Row> rows = Measured(kind);
    ASSERT_GE(rows.size(), 10u);
    std::sort(rows.begin(), rows.end(),
              [](const Row& one, const Row& other) { return one.ratio < other.ratio; });
    const double speed = rows[rows.size() / 2].ratio;
    for (const Row& row : rows) {
      EXPECT_GT(row.ratio / speed, 0.5) << row.options;
      EXPECT_LT(row.ratio / speed, 2) << row.options;
    }
  }
}

// A flow of a list costs what the same message of a collective does.
TEST(CostEstimate, OfAFlowIsThatOfAMessage) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "built without ns-3";
  const std::string path = "topo=star workers=2 bandwidth=10Gbps delay=50ms bytes=20MB ";
  const double collective = EstimateOf(path + "collective=broadcast");
  EXPECT_NEAR(EstimateOf(path + "pattern=incast:1"), collective, 0.01 * collective);
}

}  // namespace
}  // namespace legacy::cost_estimate_test
