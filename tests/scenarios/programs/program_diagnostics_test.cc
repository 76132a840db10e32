// Whole runs of legacy-scenario with diagnostics: traces, the doctor, files and limits of ns-3.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/scenarios/programs/program_testing.h"

namespace legacy::program_diagnostics_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns the ends of one policy's steps, in nanoseconds.
std::vector<int64_t> EndsOfSteps(const fs::path& run, const std::string& policy) {
  const auto steps = CsvOf(run / "steps.csv");
  const size_t column = ColumnOf(steps, "simulated_seconds");
  std::vector<int64_t> ends;
  for (const std::vector<std::string>& fields : steps) {
    if (fields[0] == policy) ends.push_back(std::llround(1e9 * std::stod(fields[column])));
  }
  return ends;
}

// Start and end of slices in nanoseconds, by process and track, in the order of their starts.
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
    std::vector<int64_t> filled(4);  // time that a worker's device works or waits
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

// Each worker's device works or waits in every nanosecond of a traced step, and streams are shown.
TEST_F(ProgramTest, TracesShowStreamsOfDividedModels) {
  const std::string model = " --layers=bert-base --batch=1 --steps=1 --stragglers=none";
  struct Case {
    std::string options;
    size_t workers;
    std::set<std::string> streams;
  };
  const Case cases[] = {
      {kFidelity + " --policies=dense,topk --sharding=fsdp --units=20kB" + kShort,
       4,
       {"gather", "reduce"}},
      {"--policies=dense --sharding=zero2 --parallel=tp=2,pp=2 --accumulate=3 --workers=8 "
       "--collectives=alone --fidelity=flow" +
           model,
       8,
       {"gather", "reduce", "tensor", "pipe"}}};
  for (const auto& [options, workers, streams] : cases) {
    const Result result = Run(
        options + " --overwrite=on --trace-steps=0 --trace-workers=all --out=" + Out("divided"));
    ASSERT_EQ(result.status, 0) << result.text;
    const fs::path file = directory_ / "divided" / "trace-dense-seed1.json";
    std::map<int, int64_t> filled;
    for (const auto& [track, slices] : Tracks(file)) {
      for (size_t i = 0; i < slices.size(); ++i) {
        if (i > 0) {
          EXPECT_LE(slices[i - 1].second, slices[i].first + 1) << track.second;
        }
        if (track.second < 2) filled[track.first] += slices[i].second - slices[i].first;
      }
    }
    const int64_t step = EndsOfSteps(directory_ / "divided", "dense")[0];
    EXPECT_EQ(filled.size(), workers);
    for (const auto& [worker, time] : filled) EXPECT_NEAR(time, step, 1) << worker;
    std::set<std::string> names;
    const json trace = json::parse(Read(file));
    for (const json& event : trace["traceEvents"]) {
      if (event["name"] == "thread_name") names.insert(event["args"]["name"]);
    }
    for (const std::string& stream : streams) EXPECT_TRUE(names.contains(stream)) << stream;
  }
}

TEST_F(ProgramTest, DiagnosticsRefuseInvalidOptions) {
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
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.text.find(message), std::string::npos) << result.text;
  }
  EXPECT_FALSE(fs::exists(Out("no")));
}

TEST_F(ProgramTest, LeavesFilesOfNs3) {
  if (std::string(LEGACY_DEFAULT_FIDELITY) != "packet") GTEST_SKIP() << "built without ns-3";
  const Result result =
      Run("--policies=topk --topo=star --transport=ns3:datacenter --pcap=" + Out("p") +
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
    EXPECT_EQ(result.text.find("warning: a frame of 1502 bytes lasts") != std::string::npos, warns)
        << result.text;
  }
}

// Eight workers of two leaves send over one link each way, whose queues pause their NICs.
TEST_F(ProgramTest, PausesOfRoceAreInTheFilesOfRunsAndReplays) {
  if (std::string(LEGACY_DEFAULT_FIDELITY) != "packet") GTEST_SKIP() << "built without ns-3";
  const Result result =
      Run("--fidelity=packet --transport=roce:cc=none,buffer=600KB --bandwidth=100Gbps --delay=1us"
          " --topo=leaf-spine:leaves=2,hosts=4,spines=1,oversubscription=4 --placement=strided"
          " --policies=dense --doctor --doctor-fidelity=packet --record" +
          std::string(kShort) + " --workers=8 --out=" + Out("run"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_NE(result.text.find("pauses  paused %"), std::string::npos) << result.text;
  std::istringstream network(Read(directory_ / "run" / "network.csv"));
  std::string header;
  std::string line;
  std::getline(network, header);
  std::getline(network, line);
  EXPECT_TRUE(header.ends_with(
      ",pauses,paused_share,cnps,naks,resent,reordered,max_buffer_bytes,max_headroom_share"))
      << header;
  EXPECT_EQ(line.find(",0,0,0,0,0,0,"), std::string::npos)
      << line;  // a pause, and a buffer's bytes
  EXPECT_NE(Read(directory_ / "run" / "links.csv").find(",leaf0>spine0\n"), std::string::npos);
  const json congestion = json::parse(Read(directory_ / "run" / "doctor.json"))[0]["congestion"];
  EXPECT_GT(congestion["waiting"], 0);
  EXPECT_GE(congestion["flows"], congestion["waiting"]);
  const Result replay =
      Shell(LEGACY_REPLAY_PROGRAM " " + Out("run") + " --out=" + Out("replay") + " 2>&1");
  ASSERT_EQ(replay.status, 0) << replay.text;
  for (const char* file : {"network.csv", "links.csv"}) {
    EXPECT_EQ(Read(directory_ / "run" / file), Read(directory_ / "replay" / file)) << file;
  }
}

}  // namespace
}  // namespace legacy::program_diagnostics_test