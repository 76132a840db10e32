// Stars from matrices of round-trip times.
#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::rtt_matrix_test {
namespace {

constexpr const char* kMatrix = "0\t2\t0\t5\n2\t0\t7\t8\n4\t7\t0\t9.5\n5\t8\t9.5\t0\n";

TEST(RttMatrix, IsAStarAroundTheServer) {
  const ImportFiles files;
  const std::string path = "rtt-matrix:" + files.Write("m.txt", kMatrix);
  const ImportedTopology star = Import(path + ",unit=ms,server=3,rate=20Mbps,server_rate=1Gbps");
  const Topology& topology = star.topology;
  ASSERT_EQ(topology.Hosts().size(), 4);
  EXPECT_TRUE(star.report.Empty());
  EXPECT_EQ(LinkBetween(topology, "host0", "hub").delay, 2'500'000);
  EXPECT_EQ(LinkBetween(topology, "host2", "hub").delay, 4'750'000);
  EXPECT_EQ(LinkBetween(topology, "host3", "hub").delay, 0);
  EXPECT_EQ(LinkBetween(topology, "host0", "hub").ports[0].rateBps, 20'000'000);
  EXPECT_EQ(LinkBetween(topology, "host3", "hub").ports[0].rateBps, 1'000'000'000);
  EXPECT_EQ(LinkBetween(Import(path + ",unit=s,server=1").topology, "host0", "hub").delay,
            1'000'000'000);
}

TEST(RttMatrix, TakesTheMedianOfWhatIsMissingOnDemand) {
  const ImportFiles files;
  const std::string path = "rtt-matrix:" + files.Write("m.txt", kMatrix);
  const ImportedTopology star = Import(path + ",unit=ms,missing=median");
  EXPECT_EQ(LinkBetween(star.topology, "host2", "hub").delay, 1'750'000) << "median of 2 and 5";
  EXPECT_EQ(star.report.Count(Assumed::RoundTrip), 1);
  EXPECT_EQ(ImportError(path + ",unit=ms", files.folder()),
            "m.txt:1:1: round-trip time of row 0 and column 2: got '0'; allowed: a time above 0, "
            "or missing=median");
}

TEST(RttMatrix, RefusesOptionsThatAreNone) {
  const ImportFiles files;
  const std::string path = "rtt-matrix:" + files.Write("m.txt", kMatrix);
  const auto error = [&](const std::string& options) {
    return ImportError(path + options, files.folder());
  };
  EXPECT_EQ(error(""), "topology: unit: got 'nothing'; allowed: unit=ms, unit=s");
  EXPECT_EQ(error(",unit=h"), "topology: unit: got 'h'; allowed: unit=ms, unit=s");
  EXPECT_EQ(error(",unit=ms,server=4"),
            "topology: server: got '4'; allowed: a row of m.txt, 0 to 3");
  EXPECT_EQ(error(",unit=ms,missing=guess"),
            "topology: missing: got 'guess'; allowed: error, median");
}

TEST(RttMatrix, ReadsThoseThatWereMeasured) {
  const std::filesystem::path folder = RealData() / "rtt_matrices";
  if (RealData().empty() || !std::filesystem::exists(folder)) GTEST_SKIP() << "no matrices";
  const ImportedTopology planet =
      Import("rtt-matrix:" + (folder / "PlanetLabData_1.gz").string() + ",unit=ms");
  EXPECT_EQ(planet.topology.Hosts().size(), 490);
  EXPECT_TRUE(planet.report.Empty()) << "a complete row";
  EXPECT_EQ(LinkBetween(planet.topology, "host2", "hub").delay, 2'553'000 / 2);
  for (const char* slice : {"1", "172", "344", "516", "688"}) {
    const std::string path =
        "rtt-matrix:" + (folder / ("SeattleData_" + std::string(slice) + ".gz")).string();
    EXPECT_EQ(Import(path + ",unit=s,missing=median").topology.Hosts().size(), 99);
  }
}

}  // namespace
}  // namespace legacy::fabric::rtt_matrix_test
