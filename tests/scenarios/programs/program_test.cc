// Whole runs of legacy-scenario: checks what is printed and which files are left behind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/scenarios/programs/program_testing.h"

namespace legacy::program_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST_F(ProgramTest, ComparesAllPoliciesAtTheDefaultFidelity) {
  const Result result =
      Run(kFidelity + " --topo=fat-tree --out=" + Out("run") + kShort + " --networks=auto");
  ASSERT_EQ(result.status, 0) << result.text;
  const json summary = json::parse(Read(Out("run") + "/summary.json"));
  ASSERT_EQ(summary["policies"].size(), 12u);
  const auto network = CsvOf(Out("run") + "/network.csv");
  ASSERT_EQ(network.size(), 1u + 12);
  for (size_t i = 1; i < network.size(); ++i) {
    const std::vector<std::string>& fields = network[i];
    EXPECT_EQ(fields[2], LEGACY_DEFAULT_FIDELITY) << fields[0];
    EXPECT_GT(std::stoll(fields[3]), 0) << "no events: " << fields[0];
    if (std::string(LEGACY_DEFAULT_FIDELITY) == "packet") {
      EXPECT_GT(std::stoll(fields[4]), 0) << "no packets: " << fields[0];
    }
    EXPECT_EQ(std::stoll(fields[5]) + std::stoll(fields[6]), 6) << fields[0];
  }
  for (const char* name : {"10Gbps", "100Gbps", "wan"}) {
    EXPECT_GT(Read(directory_ / "run/networks" / name / "steps.csv").size(), 1000u) << name;
  }
  EXPECT_NE(result.text.find("Seconds to the target on each network"), std::string::npos)
      << result.text;
  // Equal volume: each rule of LEGACY sends as much as uniform Top-K, within a value per layer.
  const double uniform = summary["policies"][2]["element_ratio"]["mean"];
  for (const int policy : {4, 5, 6}) {
    const double ratio = summary["policies"][policy]["element_ratio"]["mean"];
    EXPECT_NEAR(ratio / uniform, 1, 0.01) << summary["policies"][policy]["name"];
  }
  EXPECT_NE(result.text.find("run directory: "), std::string::npos) << result.text;
}

TEST_F(ProgramTest, SameSeedSameBytesWhateverTheThreads) {
  const std::string common = kFidelity +
                             std::string(
                                 " --topo=fat-tree --stragglers=lognormal:sigma=0.2"
                                 " --policies=dense,topk,legacy-both,ar-topk") +
                             kShort;
  ASSERT_EQ(Run(common + " --threads=1 --out=" + Out("a")).status, 0);
  ASSERT_EQ(Run(common + " --threads=1 --out=" + Out("b")).status, 0);
  ASSERT_EQ(Run(common + " --threads=2 --out=" + Out("c")).status, 0);
  ASSERT_EQ(Run(common + " --threads=2 --seed=2 --out=" + Out("d")).status, 0);
  for (const char* file : kCsvFiles) {
    const std::string a = Read(directory_ / "a" / file);
    EXPECT_GT(a.size(), 100u) << file;
    EXPECT_EQ(a, Read(directory_ / "b" / file)) << file;
    EXPECT_EQ(a, Read(directory_ / "c" / file)) << file;
  }
  EXPECT_NE(Read(Out("a") + "/steps.csv"), Read(Out("d") + "/steps.csv"));
}

TEST_F(ProgramTest, MemoisedStepsEqualFreshOnes) {
  const std::string common = kFidelity + " --policies=topk,legacy-phase --topo=fat-tree" + kShort;
  ASSERT_EQ(Run(common + " --out=" + Out("a")).status, 0);
  ASSERT_EQ(Run(common + " --memoise=off --out=" + Out("b")).status, 0);
  EXPECT_EQ(Read(Out("a") + "/evaluations.csv"), Read(Out("b") + "/evaluations.csv"));
  EXPECT_EQ(Read(Out("a") + "/links.csv"), Read(Out("b") + "/links.csv"));
  EXPECT_NE(Read(Out("a") + "/network.csv"), Read(Out("b") + "/network.csv"));
}

TEST_F(ProgramTest, RecordHoldsTheTrainingWhateverTheNetwork) {
  const std::string common =
      std::string("--policies=topk,ar-topk --record=on --fidelity=analytic") + kShort;
  ASSERT_EQ(Run(common + " --bandwidth=1Gbps --out=" + Out("a")).status, 0);
  ASSERT_EQ(Run(common + " --bandwidth=10Mbps --topo=star --out=" + Out("b")).status, 0);
  ASSERT_EQ(Run(common + " --density=2% --out=" + Out("c")).status, 0);
  const std::string a = Read(Out("a") + "/traffic.jsonl");
  EXPECT_EQ(a, Read(Out("b") + "/traffic.jsonl"));
  std::istringstream lines(a);
  std::string line;
  std::getline(lines, line);
  const json header = json::parse(line);
  const json other = json::parse(
      Read(Out("c") + "/traffic.jsonl").substr(0, Read(Out("c") + "/traffic.jsonl").find('\n')));
  EXPECT_NE(header["hash"], other["hash"]);
  int steps = 0;
  int64_t works = 0;
  while (std::getline(lines, line)) {
    const json entry = json::parse(line);
    if (entry.contains("buckets")) {
      EXPECT_EQ(entry["work"], works++);
      for (const json& bucket : entry["buckets"]) {
        for (const json& call : bucket["rounds"]) EXPECT_EQ(call["bytes"].size(), 4u);
      }
    } else {
      EXPECT_LT(entry["work"].get<int64_t>(), works);
      ++steps;
    }
  }
  EXPECT_EQ(steps, 12);
}

TEST_F(ProgramTest, StepsDoNotWaitForDroppedWorkers) {
  const std::string common =
      "--policies=dense,topk,ar-topk --fidelity=analytic --topo=star --record=on"
      " --stragglers=fixed:workers=1,factor=50 --bandwidth=100Gbps" +
      std::string(kShort);
  const auto run = [&](const std::string& name, const std::string& sync) {
    const Result result = Run(common + " --sync=" + sync + " --out=" + Out(name));
    EXPECT_EQ(result.status, 0) << result.text;
    return CsvOf(Out(name) + "/steps.csv");
  };
  const auto barrier = run("barrier", "barrier");
  run("none", "backup:k=0");
  run("long", "deadline:factor=60");
  for (const char* file : kCsvFiles) {
    const std::string expected = Read(directory_ / "barrier" / file);
    EXPECT_EQ(Read(directory_ / "none" / file), expected) << file;
    EXPECT_EQ(Read(directory_ / "long" / file), expected) << file;
  }
  const auto seconds = ColumnOf(barrier, "step_seconds");
  const auto active_workers = ColumnOf(barrier, "participants");
  const auto sent = ColumnOf(barrier, "message_bytes");
  const std::vector<std::pair<std::string, std::string>> droppers = {
      {"backup", "backup:k=1"},
      {"factor", "deadline:factor=1.5"},
      {"minimum", "deadline:time=1us,min=3"}};
  for (const auto& [name, sync] : droppers) {
    const auto dropped = run(name, sync);
    ASSERT_EQ(dropped.size(), barrier.size());
    for (size_t i = 1; i < dropped.size(); ++i) {
      EXPECT_EQ(barrier[i][active_workers], "4");
      EXPECT_EQ(dropped[i][active_workers], "3") << sync;
      EXPECT_LT(std::stod(dropped[i][seconds]), 0.9 * std::stod(barrier[i][seconds])) << sync;
      EXPECT_LT(std::stod(dropped[i][sent]), std::stod(barrier[i][sent])) << sync;
    }
  }
  const std::string record = Read(Out("backup") + "/traffic.jsonl");
  const json header = json::parse(record.substr(0, record.find('\n')));
  ASSERT_EQ(header["replay_refused"].size(), 1u);
  EXPECT_EQ(header["training"]["participation"]["sync"], "backup:k=1");
  EXPECT_NE(record.find("\"participants\":[0,2,3]"), std::string::npos);
  const json manifest = json::parse(Read(Out("backup") + "/manifest.json"));
  EXPECT_EQ(manifest["replay_refused"], header["replay_refused"]);
  EXPECT_EQ(Read(Out("barrier") + "/traffic.jsonl"), Read(Out("none") + "/traffic.jsonl"));
  EXPECT_EQ(json::parse(Read(Out("none") + "/manifest.json"))["replay_refused"].size(), 0u);
}

// With or without a GPU, the run records the device that was chosen, and can be replayed.
TEST_F(ProgramTest, TheChosenDeviceIsReported) {
  const std::string common =
      " --fidelity=analytic --topo=star --policies=topk --record=on" + std::string(kShort);
  const Result automatic = Run("--device=auto --out=" + Out("auto") + common);
  ASSERT_EQ(automatic.status, 0) << automatic.text;
  EXPECT_NE(automatic.text.find("device auto: "), std::string::npos) << automatic.text;
  const json device = json::parse(Read(Out("auto") + "/manifest.json"))["device"];
  EXPECT_FALSE(device["reason"].get<std::string>().empty());
  ASSERT_EQ(Run("--out=" + Out("cpu") + common).status, 0);
  EXPECT_EQ(json::parse(Read(Out("cpu") + "/manifest.json"))["device"], json({{"name", "cpu"}}));
  const auto hash = [&](const std::string& run) {
    std::ifstream file(Out(run) + "/traffic.jsonl");
    std::string line;
    std::getline(file, line);
    return json::parse(line)["hash"];
  };
  EXPECT_NE(hash("auto"), hash("cpu")) << "on another machine it may be another training";
  if (device["name"] != "cpu") return;
  EXPECT_EQ(Read(Out("auto") + "/steps.csv"), Read(Out("cpu") + "/steps.csv"));
  const Result refused = Run("--device=cuda --out=" + Out("cuda") + common);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.text.find("device: got 'cuda'; allowed: cpu, or auto: "), std::string::npos)
      << refused.text;
  EXPECT_FALSE(fs::exists(Out("cuda")));
}

TEST_F(ProgramTest, AutoTakesPacketsWhereTheyAreAffordableAndSamplesThemElsewhere) {
  const std::string common = std::string("--topo=star --policies=topk --fidelity=auto") +
                             " --stragglers=lognormal:sigma=0.3" + kShort;
  const Result flows = Run(common + " --packet-budget=0s --out=" + Out("flow"));
  ASSERT_EQ(flows.status, 0) << flows.text;
  EXPECT_NE(flows.text.find("auto: flow fidelity; "), std::string::npos) << flows.text;
  EXPECT_FALSE(std::filesystem::exists(Out("flow") + "/fidelity.csv"));
  if (kFidelity != "--fidelity=packet") return;  // a build without ns-3
  const Result packets = Run(common + " --packet-budget=1000s --out=" + Out("packet"));
  ASSERT_EQ(packets.status, 0) << packets.text;
  EXPECT_NE(packets.text.find("auto: packet fidelity; "), std::string::npos) << packets.text;
  const Result both = Run(common + " --packet-budget=100us --out=" + Out("both"));
  ASSERT_EQ(both.status, 0) << both.text;
  EXPECT_NE(both.text.find("flow against packet fidelity on "), std::string::npos) << both.text;
  std::ifstream samples(Out("both") + "/fidelity.csv");
  std::string header, row;
  ASSERT_TRUE(std::getline(samples, header) && std::getline(samples, row));
  EXPECT_EQ(header, "policy,seed,step,flow_seconds,packet_seconds,difference");
  EXPECT_EQ(row.rfind("topk,1,0,", 0), 0u) << row;
  EXPECT_LT(std::abs(std::stod(row.substr(row.rfind(',') + 1))), 0.05);
}

// The two fidelities agree on an idle star up to the time that TCP adds.
TEST_F(ProgramTest, FidelitiesAgreeOnAnIdleStar) {
  if (std::string(LEGACY_DEFAULT_FIDELITY) != "packet") GTEST_SKIP() << "built without ns-3";
  const auto seconds = [&](const std::string& fidelity) {
    EXPECT_EQ(Run("--policies=dense --topo=star --stragglers=none --fidelity=" + fidelity +
                  " --out=" + Out(fidelity) + kShort)
                  .status,
              0);
    return json::parse(Read(Out(fidelity) + "/summary.json"))["policies"][0]["step_seconds"]["mean"]
        .get<double>();
  };
  EXPECT_NEAR(seconds("packet") / seconds("analytic"), 1, 0.05);
}

TEST_F(ProgramTest, RefusesTrainingsThatNeedMoreMemoryThanTheyMayTake) {
  const std::string common = kFidelity + " --policies=dense,topk --topo=star" + kShort;
  const Result result = Run(common + " --memory=4MiB --out=" + Out("run"));
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.text.find("--memory"), std::string::npos) << result.text;
  EXPECT_NE(result.text.find("for method topk"), std::string::npos) << result.text;  // the larger
  EXPECT_NE(result.text.find("at most 4 MiB"), std::string::npos) << result.text;
  EXPECT_FALSE(std::filesystem::exists(Out("run")));
  EXPECT_EQ(Run(common + " --memory=1GiB --out=" + Out("run")).status, 0);
}

}  // namespace
}  // namespace legacy::program_test