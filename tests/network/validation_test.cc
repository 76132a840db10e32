#include "scenarios/network/validation/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "ns3-module/fabric/collective/collective.h"
#include "scenarios/network/contention.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/validation/fork_map.h"
#include "scenarios/network/validation/linux_cases.h"
#include "scenarios/network/validation/validation_sections.h"
#include "tests/message_of.h"
#ifdef LEGACY_WITH_NS3
#include "scenarios/network/validation/validation_ns3.h"
#endif

namespace legacy::validation_test {
namespace {

#ifdef LEGACY_WITH_NS3
[[maybe_unused]] const bool kWithNs3 = (UseNs3(), true);
#endif

// Runs the sections without showing progress.
bool RunValidation(const ValidationOptions& options, std::ostream& text) {
  std::ostringstream progress;
  return legacy::RunValidation(options, text, progress);
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The quick cases of every section give the results recorded in docs/results/validation.
TEST(Validation, SampleIsAsRecorded) {
  ValidationOptions options;
  options.out_directory = LEGACY_VALIDATION;
  options.sample = true;
  options.processes = 2;
  std::ostringstream text;
  EXPECT_TRUE(RunValidation(options, text)) << text.str();
}

// Analytic times are near those of flows, for every collective on fabrics with and without nodes.
TEST(Validation, AnalyticIsNearFlow) {
  SectionRun run;
  run.processes = 2;
  run.progress = [](const std::string&) {};
  const SectionResult result = ValidateAnalytic(run);
  EXPECT_THAT(result.misses, IsEmpty());
  EXPECT_EQ(result.csv.rows.size(), 9 * fabric::CollectiveAlgorithms().size());
}

TEST(Validation, ASampleThatDiffersFails) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("validation" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "astra-sim.csv") << "figure,ns\nits model as a closed form,99999\n";
  ValidationOptions options;
  options.out_directory = folder.string();
  options.sections = {"astra-sim"};
  options.sample = true;
  std::ostringstream text;
  EXPECT_FALSE(RunValidation(options, text));
  EXPECT_THAT(text.str(), HasSubstr("its model as a closed form: ns is 117780, recorded 99999"));
  EXPECT_THAT(text.str(), HasSubstr("ASTRA-sim's regression constant: not recorded"));
  std::filesystem::remove_all(folder);
}

// Every measured row is there once, with times in order. Only our own packets have BBR.
TEST(LinuxCases, AreTheMeasuredRows) {
  std::set<std::string> names;
  int left_out = 0;
  for (const LinuxCase& one : LinuxCases()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_TRUE(0 < one.least && one.least <= one.seconds && one.seconds <= one.largest)
        << one.name;
    EXPECT_TRUE(one.RunsOn(LinuxEngine::kSegments)) << one.name;
    left_out += one.RunsOn(LinuxEngine::kSockets) ? 0 : 1;
    EXPECT_GE(one.hosts.size(), 2u) << one.name;
  }
  EXPECT_EQ(names.size(), 152u);
  EXPECT_EQ(left_out, 26);
}

// A single flow over one bottleneck, with nothing that is random, is within 3 % of Linux for
// packets and flows: token buckets, headers, slow start and recovery all count.
TEST(LinuxCases, SingleFlowsTakeTheMeasuredTime) {
  int simulated = 0;
  for (const LinuxCase& one : LinuxCases()) {
    const bool quick = one.operation == "single" && one.bytes != 100'000 && one.bytes <= 1'000'000;
    const bool lossless =
        std::ranges::all_of(one.hosts, [](const LinuxHost& host) { return host.loss == 0; });
    if (!quick || !lossless || one.congestion == "bbr") continue;
    if (one.name == "cold_rtt50_r50_q0.25bdp_1000000_reno") continue;  // overruns its queue
    for (const LinuxEngine engine :
         {LinuxEngine::kSockets, LinuxEngine::kSegments, LinuxEngine::kFlow}) {
      const Fidelity fidelity = engine == LinuxEngine::kFlow ? Fidelity::kFlow : Fidelity::kPacket;
      if (std::ranges::count(Fidelities(), fidelity) == 0) continue;  // a build without ns-3
      EXPECT_NEAR(SimulateLinuxCase(one, engine) / one.seconds, 1, 0.03) << one.name;
    }
    ++simulated;
  }
  EXPECT_GE(simulated, 5);
}

TEST(Validation, WritesCsvAndTheDocumentsTable) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("validation-out" + std::to_string(getpid()));
  ValidationOptions options;
  options.out_directory = (folder / "csv").string();
  options.document = (folder / "page.md").string();
  options.sections = {"astra-sim"};
  std::ostringstream text;
  EXPECT_THAT(MessageOf([&] { RunValidation(options, text); }), HasSubstr("page.md"));
  std::filesystem::create_directories(folder);
  std::ofstream(options.document) << "# T\n<!-- table: astra-sim -->\nold\n<!-- end -->\ntail\n";
  EXPECT_TRUE(RunValidation(options, text));
  std::ostringstream page;
  page << std::ifstream(options.document).rdbuf();
  EXPECT_THAT(page.str(), HasSubstr("| ASTRA-sim's regression constant | 117780 |"));
  EXPECT_THAT(page.str(), HasSubstr("<!-- end -->\ntail\n"));
  EXPECT_EQ(page.str().find("old"), std::string::npos);
  EXPECT_THAT(text.str(), testing::EndsWith("\nall that has a limit holds: 2 of 2\n"));
  options.sample = true;
  EXPECT_TRUE(RunValidation(options, text));
  EXPECT_THAT(text.str(), testing::EndsWith("\nall that has a limit holds: 5 of 5\n"));
  std::filesystem::remove_all(folder);
}

TEST(Validation, RefusesUnknownSectionsAndInvalidCounts) {
  ValidationOptions options;
  std::ostringstream text;
  options.sections = {"astrasim"};
  EXPECT_THAT(MessageOf([&] { RunValidation(options, text); }), HasSubstr("astra-sim"));
  options.sections = {"astra-sim"};
  options.processes = 0;
  EXPECT_THAT(MessageOf([&] { RunValidation(options, text); }), HasSubstr("--processes"));
}

TEST(AstraRing, StepsAndMemoryByHand) {
  AstraRing ring;
  ring.workers = 2;
  ring.bytes = 4000;
  ring.splits = 2;
  ring.latency_ns = 100;
  ring.link_gib_per_second = 1e9 / 0x1p30;  // 1 byte a nanosecond
  ring.memory_gb_per_second = 4;
  // Chunks of 1,000 bytes take steps of 1,110 ns and 3 x 250 ns of memory.
  EXPECT_EQ(AstraRingAllReduceNs(ring), 2 * (2 * 1110 + 10 + 750));
}

TEST(ValidationTable, DifferencesAreRelativeForNumbersOnly) {
  const ValidationTable recorded{"t", {"key", "s"}, {{"a", "2.00"}, {"b", "x"}, {"d", "0"}}};
  EXPECT_THAT(Differences({"t", {"key", "s"}, {{"a", "2.01"}, {"d", "0.0"}}}, recorded, 0.01),
              IsEmpty());
  EXPECT_THAT(
      Differences({"t", {"key", "s"}, {{"a", "2.03"}, {"b", "y"}, {"c", "1"}}}, recorded, 0.01),
      ElementsAre("t, a: s is 2.03, recorded 2.00", "t, b: s is y, recorded x",
                  "t, c: not recorded"));
  EXPECT_THAT(Differences({"t", {"key"}, {}}, recorded, 0.01), testing::SizeIs(1));
}

TEST(ForkMap, KeepsTheOrderAndRunsEachInItsOwnProcess) {
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  int calls = 0;
  std::vector<int> ended;
  const auto results = ForkMap(
      names, 2,
      [&](int i) { return std::to_string(++calls) + std::string(i * 20'000, 'x') + names[i]; },
      [&](int i) { ended.push_back(i); });
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(ended, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(results[i], "1" + std::string(i * 20'000, 'x') + names[i]);
}

TEST(ForkMap, ChildrenEndWithTheirParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(ends[0]);
    const auto stay = [&](int) -> std::string {
      [[maybe_unused]] const ssize_t said = write(ends[1], "x", 1);
      for (;;) pause();
    };
    ForkMap({"a"}, 1, stay, [](int) {});
  }
  close(ends[1]);
  char begun = 0;
  ASSERT_EQ(read(ends[0], &begun, 1), 1);
  kill(parent, SIGTERM);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read(ends[0], &begun, 1), 0);  // no process holds the other end any more
  close(ends[0]);
}

TEST(ForkMap, NamesTheFailedCall) {
  const auto done = [](int) {};
  const auto throws = [](int i) -> std::string {
    if (i == 1) throw Error("no such thing");
    return "";
  };
  EXPECT_EQ(MessageOf([&] { ForkMap({"a", "b", "c"}, 3, throws, done); }), "b: no such thing");
  const auto dies = [](int) -> std::string { std::_Exit(3); };
  EXPECT_THAT(MessageOf([&] { ForkMap({"a"}, 1, dies, done); }), HasSubstr("without a result"));
}

// Returns a network of workers on one switch.
std::unique_ptr<Network> Star(int workers) {
  NetworkRequest request;
  request.topology.text = "star";
  request.placement.workers = workers;
  return BuildNetwork(request);
}

TEST(ContendedFraction, CountsOverlapOfDifferentConnectionsOnOneLink) {
  const auto network = Star(3);
  const auto flow = [](int from, int to, TimeNs start, TimeNs end) {
    return RecordedFlow{{from, to, 1, 0}, start, end};
  };
  EXPECT_EQ(ContendedFraction({}, *network), 0);
  // Flows follow each other, use other links, or are twice on one connection.
  EXPECT_EQ(ContendedFraction({flow(0, 1, 0, 50), flow(0, 2, 50, 100)}, *network), 0);
  EXPECT_EQ(ContendedFraction({flow(0, 1, 0, 100), flow(1, 0, 0, 100)}, *network), 0);
  EXPECT_EQ(ContendedFraction({flow(0, 1, 0, 100), flow(0, 1, 0, 50)}, *network), 0);
  // A source link is shared for 30 of 100.
  EXPECT_DOUBLE_EQ(ContendedFraction({flow(0, 1, 0, 80), flow(0, 2, 50, 100)}, *network), 0.3);
  // A destination link is shared throughout.
  EXPECT_DOUBLE_EQ(ContendedFraction({flow(0, 2, 0, 100), flow(1, 2, 0, 100)}, *network), 1);
}

}  // namespace
}  // namespace legacy::validation_test