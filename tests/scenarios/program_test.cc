// Whole-program runs of legacy-scenario: what a user types, what is left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/programs.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kCsvFiles[] = {"steps.csv", "evaluations.csv", "layers.csv", "links.csv",
                                     "network.csv"};

// A small run of every policy: seconds, not minutes.
constexpr const char* kShort =
    " --workers=4 --batch=8 --steps=6 --evaluate-every=2 --warmup-steps=2 --train-limit=400"
    " --test-limit=100 --pictures=off --model=small-cnn --dataset=glyphs --seeds=1 --networks=none";

const std::string kFidelity = "--fidelity=" LEGACY_DEFAULT_FIDELITY;

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(::testing::TempDir()) /
                 (std::string("legacy-program-") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string Out(const std::string& name) const { return (directory_ / name).string(); }
  Result Run(const std::string& arguments) const {
    return Shell(std::string(LEGACY_SCENARIO_PROGRAM) + " " + arguments + " 2>&1");
  }

  fs::path directory_;
};

TEST_F(ProgramTest, ComparesAllPoliciesAtTheDefaultFidelity) {
  const Result result =
      Run(kFidelity + " --topo=fat-tree --out=" + Out("run") + kShort + " --networks=auto");
  ASSERT_EQ(result.status, 0) << result.text;
  const json summary = json::parse(Read(Out("run") + "/summary.json"));
  ASSERT_EQ(summary["policies"].size(), 12u);
  std::string header;
  std::ifstream network(Out("run") + "/network.csv");
  std::getline(network, header);
  int rows = 0;
  for (std::string line; std::getline(network, line); ++rows) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    EXPECT_EQ(fields[2], LEGACY_DEFAULT_FIDELITY) << line;
    EXPECT_GT(std::stoll(fields[3]), 0) << "no events: " << line;
    if (std::string(LEGACY_DEFAULT_FIDELITY) == "packet") {
      EXPECT_GT(std::stoll(fields[4]), 0) << "no packets: " << line;
    }
    EXPECT_EQ(std::stoll(fields[5]) + std::stoll(fields[6]), 6) << line;
  }
  EXPECT_EQ(rows, 12);
  for (const char* name : {"10Gbps", "100Gbps", "wan"}) {
    EXPECT_GT(Read(directory_ / "run/networks" / name / "steps.csv").size(), 1000u) << name;
  }
  EXPECT_NE(result.text.find("Seconds to the target on each network"), std::string::npos)
      << result.text;
  // Equal volume: each rule of LEGACY sends what uniform Top-K sends, to a value per layer.
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

TEST_F(ProgramTest, RememberedStepsEqualFreshOnes) {
  const std::string common = kFidelity + " --policies=topk,legacy-phase --topo=fat-tree" + kShort;
  ASSERT_EQ(Run(common + " --out=" + Out("a")).status, 0);
  ASSERT_EQ(Run(common + " --memoise=off --out=" + Out("b")).status, 0);
  EXPECT_EQ(Read(Out("a") + "/evaluations.csv"), Read(Out("b") + "/evaluations.csv"));
  EXPECT_EQ(Read(Out("a") + "/links.csv"), Read(Out("b") + "/links.csv"));
  EXPECT_NE(Read(Out("a") + "/network.csv"), Read(Out("b") + "/network.csv"));
}

// Ends of steps in nanoseconds, of one policy.
std::vector<int64_t> EndsOfSteps(const fs::path& run, const std::string& policy) {
  std::istringstream lines(Read(run / "steps.csv"));
  std::string line;
  std::getline(lines, line);
  const auto fields_of = [](const std::string& text) {
    std::vector<std::string> fields;
    std::istringstream stream(text);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    return fields;
  };
  const std::vector<std::string> header = fields_of(line);
  const auto column = std::find(header.begin(), header.end(), "simulated_seconds") - header.begin();
  std::vector<int64_t> ends;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields[0] == policy) ends.push_back(std::llround(1e9 * std::stod(fields[column])));
  }
  return ends;
}

// Slices by process and track, in nanoseconds, in the order of their starts.
using Slices = std::vector<std::pair<int64_t, int64_t>>;
std::map<std::pair<int, int>, Slices> Tracks(const fs::path& file) {
  const auto ns = [](const json& us) { return std::llround(1e3 * us.get<double>()); };
  std::map<std::pair<int, int>, Slices> tracks;
  const json trace = json::parse(Read(file));
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int64_t start = ns(event["ts"]);
    tracks[{event["pid"], event["tid"]}].emplace_back(start, start + ns(event["dur"]));
  }
  for (auto& [track, slices] : tracks) std::sort(slices.begin(), slices.end());
  return tracks;
}

TEST_F(ProgramTest, TracesAndDoctorLookAtStepsWithoutChangingThem) {
  const std::string common =
      kFidelity + " --policies=dense,topk,ar-topk --topo=fat-tree --seeds=2" + kShort;
  ASSERT_EQ(Run(common + " --out=" + Out("plain")).status, 0);
  const Result result =
      Run(common + " --doctor --trace-steps=0,3-4 --trace-workers=all --out=" + Out("seen"));
  ASSERT_EQ(result.status, 0) << result.text;
  for (const char* file : kCsvFiles) {
    EXPECT_EQ(Read(directory_ / "plain" / file), Read(directory_ / "seen" / file)) << file;
  }
  const json diagnoses = json::parse(Read(Out("seen") + "/doctor.json"));
  ASSERT_EQ(diagnoses.size(), 3u);  // of the first seed
  for (const json& diagnosis : diagnoses) {
    EXPECT_EQ(diagnosis["seed"], 1);
    EXPECT_NE(result.text.find(diagnosis["verdict"].get<std::string>()), std::string::npos);
    EXPECT_GT(diagnosis["remedies"].size(), 5u);
  }
  for (const std::string policy : {"dense", "topk", "ar-topk"}) {
    const std::vector<int64_t> ends = EndsOfSteps(directory_ / "seen", policy);
    const auto tracks = Tracks(directory_ / "seen" / ("trace-" + policy + "-seed1.json"));
    std::vector<int64_t> filled(4);  // what a worker's device does and waits for
    for (const auto& [track, slices] : tracks) {
      for (size_t i = 0; i < slices.size(); ++i) {
        if (i > 0) {
          EXPECT_LE(slices[i - 1].second, slices[i].first) << policy << track.second;
        }
        if (track.second < 2) filled[track.first] += slices[i].second - slices[i].first;
      }
      EXPECT_LE(slices.back().second, ends[4]) << policy;
    }
    for (const int64_t time : filled) {  // steps 0, 3 and 4, exactly
      EXPECT_NEAR(time, ends[0] + ends[4] - ends[2], 1) << policy;
    }
  }
}

TEST_F(ProgramTest, ObservingRefusesWhatThereIsNot) {
  const std::string common =
      std::string("--fidelity=flow --policies=topk --out=") + Out("no") + kShort;
  const std::pair<const char*, const char*> cases[] = {
      {" --trace-steps=6", "network.trace_steps: got '6'; allowed: "},
      {" --trace-steps=0 --trace-workers=4", "network.trace_workers: got '4'; allowed: "},
      {" --doctor=2-9", "network.doctor: got '9'; allowed: "},
      {" --doctor --doctor-fidelity=guess", "--doctor-fidelity: got 'guess'; allowed: "},
      {" --netanim=a.xml", "network.fidelity: got 'flow'; allowed: packet"}};
  for (const auto& [options, message] : cases) {
    const Result result = Run(common + options);
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.text.find(message), std::string::npos) << result.text;
  }
  EXPECT_FALSE(fs::exists(Out("no")));
}

TEST_F(ProgramTest, LeavesFilesOfNs3) {
  if (std::string(LEGACY_DEFAULT_FIDELITY) != "packet") GTEST_SKIP() << "built without ns-3";
  const Result result = Run("--policies=topk --topo=star --pcap=" + Out("p") +
                            " --flow-monitor=" + Out("m.xml") + " --out=" + Out("run") + kShort);
  ASSERT_EQ(result.status, 0) << result.text;
  int captures = 0;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    captures += entry.path().extension() == ".pcap" ? 1 : 0;
  }
  EXPECT_GE(captures, 4);
  EXPECT_NE(Read(Out("m.xml")).find("<FlowMonitor"), std::string::npos);
}

TEST_F(ProgramTest, WarnsWhereFramesAreTooShortForNs3) {
  if (std::string(LEGACY_DEFAULT_FIDELITY) != "packet") GTEST_SKIP() << "built without ns-3";
  for (const auto& [rate, warns] : {std::pair("200Gbps", true), std::pair("1Gbps", false)}) {
    const Result result = Run("--policies=dense --topo=star --delay=1us --out=" + Out(rate) +
                              kShort + " --bandwidth=" + rate);
    ASSERT_EQ(result.status, 0) << result.text;
    EXPECT_EQ(result.text.find("warning: a frame of 1500 bytes lasts") != std::string::npos, warns)
        << result.text;
  }
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
        for (const json& round : bucket["rounds"]) EXPECT_EQ(round["bytes"].size(), 4u);
      }
    } else {
      EXPECT_LT(entry["work"].get<int64_t>(), works);
      ++steps;
    }
  }
  EXPECT_EQ(steps, 12);
}

// Lines of a CSV file as cells.
std::vector<std::vector<std::string>> Cells(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

TEST_F(ProgramTest, StepsDoNotWaitForWhomTheyDrop) {
  const std::string common =
      "--policies=dense,topk,ar-topk --fidelity=analytic --topo=star --record=on"
      " --stragglers=fixed:workers=1,factor=50 --bandwidth=100Gbps" +
      std::string(kShort);
  const auto run = [&](const std::string& name, const std::string& sync) {
    const Result result = Run(common + " --sync=" + sync + " --out=" + Out(name));
    EXPECT_EQ(result.status, 0) << result.text;
    return Cells(Read(Out(name) + "/steps.csv"));
  };
  const auto column = [](const std::vector<std::string>& header, const std::string& name) {
    return std::find(header.begin(), header.end(), name) - header.begin();
  };
  const auto barrier = run("barrier", "barrier");
  run("none", "backup:k=0");
  run("long", "deadline:factor=60");
  for (const char* file : kCsvFiles) {
    const std::string expected = Read(directory_ / "barrier" / file);
    EXPECT_EQ(Read(directory_ / "none" / file), expected) << file;
    EXPECT_EQ(Read(directory_ / "long" / file), expected) << file;
  }
  const auto seconds = column(barrier[0], "step_seconds");
  const auto participants = column(barrier[0], "participants");
  const auto sent = column(barrier[0], "message_bytes");
  const std::vector<std::pair<std::string, std::string>> droppers = {
      {"backup", "backup:k=1"},
      {"factor", "deadline:factor=1.5"},
      {"minimum", "deadline:time=1us,min=3"}};
  for (const auto& [name, sync] : droppers) {
    const auto dropped = run(name, sync);
    ASSERT_EQ(dropped.size(), barrier.size());
    for (size_t i = 1; i < dropped.size(); ++i) {
      EXPECT_EQ(barrier[i][participants], "4");
      EXPECT_EQ(dropped[i][participants], "3") << sync;
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

// With a GPU or without: what was chosen is said, and replays anywhere.
TEST_F(ProgramTest, TheDeviceIsChosenAndSaid) {
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
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.text.find("device: got 'cuda'; allowed: cpu, or auto: "), std::string::npos)
      << refused.text;
  EXPECT_FALSE(fs::exists(Out("cuda")));
}

TEST_F(ProgramTest, PrintedConfigurationIsAScenarioFile) {
  const Result printed = Run("--density=0.5% --topo=star --print-config");
  ASSERT_EQ(printed.status, 0);
  std::ofstream(Out("scenario.yaml")) << printed.text;
  EXPECT_EQ(Run("--scenario=" + Out("scenario.yaml") + " --print-config").text, printed.text);
}

// Each kind of mistake: a message with where, what and what is allowed; nothing is left behind.
TEST_F(ProgramTest, BrokenScenariosSayWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--topo=fat-tree:k=3", "k"},
      {"--topo=moebius", "fat-tree"},
      {"--topo=missing.yaml", "missing.yaml"},
      {"--topo=fat-tree:k=4 --workers=17", "17"},
      {"--bandwidth=quick", "--bandwidth: got 'quick'"},
      {"--placement=diagonal", "packed"},
      {"--stragglers=often", "lognormal"},
      {"--stragglers=fixed:workers=99,factor=2", "99"},
      {"--stragglers=trace:file=missing.csv", "missing.csv"},
      {"--sync=async", "--sync: got 'async'; allowed: barrier, backup:k=2"},
      {"--sync=backup:k=4", "k below the number of 4 workers"},
      {"--sync=deadline:factor=2,min=5", "min at most the number of 4 workers"},
      {"--density=150%", "--density: got '150%'"},
      {"--policies=dense,zip", "legacy-both"},
      {"--levels=5%,1%/1%", "levels"},
      {"--levels=0.1%,50% --splits=10,20", "split"},
      {"--model=vgg99", "resnet20"},
      {"--model=resnet9 --dataset=imagenet", "fashion-mnist"},
      {"--dataset=mnist --data-root=" + Out("empty"), "legacy-data fetch"},
      {"--device-profile=abacus", "a100-datasheet"},
      {"--ns3::TcpSocket::SegmentSize=large", "SegmentSize"},
      {"--mtu=575", "mtu: got '575'"},
      {"--bandwidth=10", "a rate with its unit"},
      {"--ns3::TcpSocket::SegmentSise=1000", "SegmentSize"},
      {"--scenario=missing.yaml", "missing.yaml"},
      {"--learning-rate=0", "rate"},
  };
  fs::create_directories(Out("empty"));
  for (const auto& [arguments, expected] : cases) {
    const bool needs_ns3 = arguments.find("--ns3::") != std::string::npos;
    if (needs_ns3 && std::string(LEGACY_DEFAULT_FIDELITY) != "packet") continue;
    const Result result = Run(kFidelity + kShort + " --out=" + Out("run") + " " + arguments);
    EXPECT_EQ(result.status, 1) << arguments << "\n" << result.text;
    EXPECT_NE(result.text.find(expected), std::string::npos) << arguments << "\n" << result.text;
    EXPECT_FALSE(fs::exists(Out("run"))) << arguments;
  }
}

TEST_F(ProgramTest, AnExistingRunIsKept) {
  const std::string common =
      std::string("--policies=fp16 --fidelity=analytic --out=") + Out("run") + kShort;
  ASSERT_EQ(Run(common).status, 0);
  const std::string before = Read(Out("run") + "/steps.csv");
  const Result again = Run(common + " --seed=5");
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.text.find("--overwrite=on"), std::string::npos);
  EXPECT_EQ(Read(Out("run") + "/steps.csv"), before);
  EXPECT_EQ(Run(common + " --seed=5 --overwrite=on").status, 0);
  EXPECT_NE(Read(Out("run") + "/steps.csv"), before);
}

TEST_F(ProgramTest, InterruptLeavesAConsistentDirectory) {
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(9);
    const std::string out = "--out=" + Out("run");
    execl(LEGACY_SCENARIO_PROGRAM, LEGACY_SCENARIO_PROGRAM, "--policies=dense,topk",
          "--fidelity=analytic", "--steps=100000", "--workers=2", "--batch=4", "--evaluate-every=5",
          "--train-limit=400", "--test-limit=50", "--pictures=off", out.c_str(), nullptr);
    _exit(9);
  }
  for (int i = 0; i < 3000 && Read(Out("run") + "/evaluations.csv").size() < 300; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(fs::exists(Out("run") + "/summary.json"));
  for (const char* file : {"steps.csv", "evaluations.csv"}) {
    EXPECT_EQ(Read(directory_ / "run" / file).back(), '\n') << file;
  }
  const Result report =
      Shell(std::string(LEGACY_REPORT_PROGRAM) + " --no-pictures " + Out("run") + " 2>&1");
  EXPECT_EQ(report.status, 0) << report.text;
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
  const Result both = Run(common + " --packet-budget=5ms --out=" + Out("both"));
  ASSERT_EQ(both.status, 0) << both.text;
  EXPECT_NE(both.text.find("flow against packet fidelity on "), std::string::npos) << both.text;
  std::ifstream samples(Out("both") + "/fidelity.csv");
  std::string header, row;
  ASSERT_TRUE(std::getline(samples, header) && std::getline(samples, row));
  EXPECT_EQ(header, "policy,seed,step,flow_seconds,packet_seconds,difference");
  EXPECT_EQ(row.rfind("topk,1,0,", 0), 0u) << row;
  EXPECT_LT(std::abs(std::stod(row.substr(row.rfind(',') + 1))), 0.05);
}

// Every command of the README names programs, options and files that exist.
TEST_F(ProgramTest, CommandsOfTheReadmeAreUnderstood) {
  const struct {
    std::string start;  // of the commands
    std::string program;
    std::string more;  // so that it only says what it would do
    int least;         // number of commands
  } programs[] = {
      {"legacy-scenario ", LEGACY_SCENARIO_PROGRAM " ", " --print-config", 8},
      {"legacy-replay scenarios/", LEGACY_REPLAY_PROGRAM " scenarios/", " --print-config", 1},
      {"legacy-study run ", LEGACY_STUDY_PROGRAM " run ", " --dry-run", 1}};
  for (const auto& [start, program, more, least] : programs) {
    const std::string command = "./waf --run " + start;
    std::istringstream readme(Read(LEGACY_README));
    int commands = 0;
    for (std::string line; std::getline(readme, line);) {
      if (line.rfind(command, 0) != 0) continue;
      const Result result =
          Shell("cd " LEGACY_ROOT " && " + program + line.substr(command.size()) + more + " 2>&1");
      EXPECT_EQ(result.status, 0) << line << "\n" << result.text;
      ++commands;
    }
    EXPECT_GE(commands, least) << start;
  }
}

// The two fidelities agree on an idle star to what TCP adds.
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

}  // namespace
}  // namespace legacy
