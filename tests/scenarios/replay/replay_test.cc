// Replays: a training that was recorded on one network and timed on another leaves exactly the
// files of a training there.
#include "scenarios/replay/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/options/network_schedule.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/run/workers/comparison.h"
#include "tests/arguments.h"
#include "tests/message_of.h"
#include "tests/programs.h"

namespace legacy::replay_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

using Options = std::vector<std::pair<std::string, std::string>>;

// Returns the built-in methods whose trainings are the same on every network.
std::vector<std::string> Replayable() {
  std::vector<std::string> names;
  for (const std::string& name : BuiltInMethods()) {
    Scenario scenario;
    scenario.policies = {name};
    if (ReplayRefusals(scenario).empty()) names.push_back(name);
  }
  return names;
}

// Methods that exchange in each of the ways that there are.
constexpr const char* kMethods = "dense,topk,qsgd,powersgd,legacy-both,lgreco,local-sgd";

// Records a run of two seeds on an idle star, once for all tests.
class ReplayTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::path(::testing::TempDir()) / ("legacy-replay-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    Scenario scenario = Small();
    scenario.record = true;
    Run(scenario, "recorded");
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static Scenario Small() {
    Scenario scenario;
    for (const auto& [key, value] : Options{{"training.workers", "4"},
                                            {"training.batch", "4"},
                                            {"training.steps", "4"},
                                            {"training.evaluate_every", "2"},
                                            {"training.warmup_steps", "2"},
                                            {"training.train_limit", "200"},
                                            {"training.test_limit", "40"},
                                            {"compression.policies", kMethods},
                                            {"run.seeds", "2"},
                                            {"run.pictures", "off"},
                                            {"network.topology", "star"},
                                            {"network.stragglers", "none"},
                                            {"network.fidelity", "analytic"}}) {
      SetOption(scenario, key, value);
    }
    return scenario;
  }

  static void Run(Scenario scenario, const std::string& name) {
    scenario.out = (folder_ / name).string();
    RunComparison(scenario, "legacy-scenario", "test", never);
  }

  static Scenario With(Scenario scenario, const Options& options) {
    for (const auto& [key, value] : options) SetOption(scenario, key, value);
    return scenario;
  }

  // Trains with `small` and `options`, and expects the files that a replay of `recorded` leaves.
  static void ExpectEqualFiles(const Options& options, const Scenario& small = Small(),
                               const std::string& recorded = "recorded") {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    Run(With(small, options), name + "-direct");
    const Recording recording = ReadRecording((folder_ / recorded).string());
    Scenario scenario = With(ReplayDefaults(recording), options);
    scenario.out = (folder_ / (name + "-replay")).string();
    Replay(recording, scenario, "legacy-replay", "test", never);
    for (const char* file : {"steps.csv", "evaluations.csv", "layers.csv", "decisions.csv",
                             "links.csv", "network.csv"}) {
      const std::string direct = Read(folder_ / (name + "-direct") / file);
      EXPECT_GT(direct.size(), 200u) << file;
      EXPECT_EQ(direct, Read(scenario.out / fs::path(file))) << file;
    }
    EXPECT_NE(Read(folder_ / recorded / "steps.csv"), Read(scenario.out + "/steps.csv"));
  }

  // Returns the message about a copy of the recording in which `old` (which must be there) is
  // replaced by `fresh`.
  static std::string Changed(const std::string& file, const std::string& old,
                             const std::string& fresh) {
    const fs::path copy = folder_ / "changed";
    fs::remove_all(copy);
    fs::copy(folder_ / "recorded", copy);
    std::string text = Read(copy / file);
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << file << " has no " << old;
    std::ofstream(copy / file) << text.replace(at, old.size(), fresh);
    return MessageOf([&] { ReadRecording(copy.string()); });
  }

  static std::string Refusal(const Options& options) {
    const Recording recording = ReadRecording((folder_ / "recorded").string());
    return MessageOf([&] { CheckReplay(recording, With(ReplayDefaults(recording), options)); });
  }

  static fs::path folder_;
};

fs::path ReplayTest::folder_;

TEST_F(ReplayTest, OfEveryMethod) {
  Scenario scenario = With(Small(), {{"compression.policies", Join(Replayable(), ",")},
                                     {"run.seeds", "1"},
                                     {"run.record", "on"}});
  Run(scenario, "every-method");
  scenario.record = false;
  ExpectEqualFiles({{"network.fidelity", "flow"}, {"network.bandwidth", "100Mbps"}}, scenario,
                   "every-method");
}

TEST_F(ReplayTest, RatesAndFailuresOverTime) {
  ExpectEqualFiles({{"network.fidelity", "flow"},
                    {"network.bandwidth", "100Mbps"},
                    {"network.changes",
                     "host1<>hub@steps:0s=20Mbps,100ms=100Mbps,period=300ms | "
                     "host2@outage:from=90s,for=1s | host3<>*@outage:from=50ms,for=200ms"}});
}

TEST_F(ReplayTest, BackgroundAndStreams) {
  ExpectEqualFiles({{"network.fidelity", "flow"},
                    {"network.bandwidth", "100Mbps"},
                    {"network.streams", "3"},
                    {"network.connections", "tls"},
                    {"network.background", "poisson:load=0.3"}});
}

// Returns the duration of each dense step of the first seed.
std::vector<double> DenseSteps(const fs::path& file) {
  const auto steps = CsvOf(file);
  const size_t policy = ColumnOf(steps, "policy"), seed = ColumnOf(steps, "seed");
  const size_t time = ColumnOf(steps, "step_seconds");
  std::vector<double> seconds;
  for (const std::vector<std::string>& fields : steps) {
    if (fields[policy] == "dense" && fields[seed] == steps[1][seed]) {
      seconds.push_back(std::stod(fields[time]));
    }
  }
  return seconds;
}

// Steps are simulated at their own time: the one in which a link is out takes as much longer.
TEST_F(ReplayTest, AnOutageDelaysTheStepThatItFallsInto) {
  const Options plain = {{"compression.policies", "dense"},
                         {"network.fidelity", "flow"},
                         {"network.bandwidth", "100Mbps"}};
  Run(With(Small(), plain), "without-outage");
  const std::vector<double> before = DenseSteps(folder_ / "without-outage/steps.csv");
  ASSERT_EQ(before.size(), 4u);
  const double middle = before[0] + before[1] + 0.5 * before[2];
  const auto from = std::to_string(static_cast<int64_t>(middle * 1e9)) + "ns";
  Run(With(With(Small(), plain),
           {{"network.changes", "host1<>hub@outage:from=" + from + ",for=3s"}}),
      "with-outage");
  const std::vector<double> after = DenseSteps(folder_ / "with-outage/steps.csv");
  ASSERT_EQ(after.size(), 4u);
  for (const size_t step : {0, 1, 3}) EXPECT_NEAR(after[step], before[step], 1e-6) << step;
  EXPECT_GT(after[2], before[2] + 2.5);
  EXPECT_LT(after[2], before[2] + 3.01);
}

TEST_F(ReplayTest, AnalyticWithTransientStragglersAndOtherDevices) {
  ExpectEqualFiles({{"network.topology", "fat-tree"},
                    {"network.bandwidth", "10Gbps"},
                    {"network.stragglers", "lognormal:sigma=0.3"},
                    {"clock.device_profile", "cpu-reference"}});
}

TEST_F(ReplayTest, FlowsOverAnOversubscribedFabricWithAnotherPlacement) {
  ExpectEqualFiles({{"network.fidelity", "flow"},
                    {"network.topology", "leaf-spine:leaves=4,hosts=2,oversubscription=4"},
                    {"network.placement", "random:1"},
                    {"network.stragglers", "fixed:count=1,factor=2"}});
}

TEST_F(ReplayTest, ParameterServer) {
  ExpectEqualFiles({{"network.fidelity", "flow"},
                    {"network.aggregation", "parameter-server"},
                    {"network.pull", "dense"},
                    {"network.stragglers", "slow:probability=0.3,factor=2"}});
}

// Servers that compress belong to the training, as do the slices that they share.
TEST_F(ReplayTest, ServersThatCompress) {
  const Options servers = {{"network.aggregation", "sharded-parameter-server"},
                           {"network.servers", "3"},
                           {"compression.policies", "topk:where=server,topk:where=both,lgreco"},
                           {"run.seeds", "1"}};
  Scenario scenario = With(Small(), servers);
  scenario.record = true;
  Run(scenario, "served");
  scenario.record = false;
  ExpectEqualFiles({{"network.fidelity", "flow"}, {"network.bandwidth", "100Mbps"}}, scenario,
                   "served");
  const Recording recording = ReadRecording((folder_ / "served").string());
  for (const Options& other :
       {Options{{"network.servers", "2"}}, Options{{"network.aggregation", "parameter-server"}},
        Options{{"network.aggregation", "collective"}}}) {
    Scenario changed = With(ReplayDefaults(recording), other);
    changed.out = (folder_ / "refused").string();
    EXPECT_NE(MessageOf([&] {
                Replay(recording, changed, "legacy-replay", "test", never);
              }).find("sharded-parameter-server with 3 servers"),
              std::string::npos);
  }
}

TEST_F(ReplayTest, OtherCollectives) {
  ExpectEqualFiles({{"network.allreduce", "halving-doubling-allreduce"},
                    {"network.allgather", "direct-allgather"},
                    {"network.memoise", "off"}});
}

// The record was trained over one ring.
TEST_F(ReplayTest, SeveralChannelsWithAProtocol) {
  ExpectEqualFiles({{"network.topology", "rail-optimised:nodes=2,gpus=2"},
                    {"network.fidelity", "flow"},
                    {"network.channels", "2"},
                    {"network.protocol", "ll128"}});
}

TEST_F(ReplayTest, ANetworkThatChangesAndDevicesOfOtherSpeed) {
  ExpectEqualFiles({{"network.fidelity", "flow"},
                    {"network.phases", "0%:bandwidth=10Gbps;50%:bandwidth=2Gbps,delay=1ms"},
                    {"network.allreduce", "auto"},
                    {"clock.device_speed", "2"},
                    {"clock.codec_speed", "0.5"}});
}

// A rate that changes when a step begins is another entry of the phases.
TEST_F(ReplayTest, AScheduleThatChangesAtAStepEqualsPhases) {
  const Recording recording = ReadRecording((folder_ / "recorded").string());
  const auto dense = [&](const Options& options) {
    std::vector<double> seconds;
    const auto rows = ReplayRows(recording, With(ReplayDefaults(recording), options), never).steps;
    for (const auto& row : rows) {
      if (row.policy == "dense" && row.seed == rows.front().seed)
        seconds.push_back(row.step_seconds);
    }
    return seconds;
  };
  const std::vector<double> phases =
      dense({{"network.fidelity", "flow"},
             {"network.phases", "0%:bandwidth=1Gbps;50%:bandwidth=50Mbps"}});
  ASSERT_EQ(phases.size(), 4u);
  const auto begin = std::to_string(static_cast<int64_t>((phases[0] + phases[1]) * 1e9)) + "ns";
  const std::vector<double> schedule =
      dense({{"network.fidelity", "flow"},
             {"network.bandwidth", "1Gbps"},
             {"network.changes", "host*<>hub@steps:0s=1Gbps," + begin + "=50Mbps"}});
  ASSERT_EQ(schedule.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(schedule[i], phases[i], 1e-6 * phases[i]) << i;
  EXPECT_GT(phases[2], 2 * phases[1]);
}

// Steps take the times of the network of their schedule entry.
TEST_F(ReplayTest, ScheduleEntriesAreNetworks) {
  const Recording recording = ReadRecording((folder_ / "recorded").string());
  const auto steps = [&](const Options& options) {
    return ReplayRows(recording, With(ReplayDefaults(recording), options), never).steps;
  };
  const auto changing = steps({{"network.phases", "0%:bandwidth=10Gbps;50%:delay=1ms"}});
  const auto before = steps({{"network.bandwidth", "10Gbps"}});
  const auto after = steps({{"network.bandwidth", "10Gbps"}, {"network.delay", "1ms"}});
  ASSERT_EQ(changing.size(), before.size());
  for (size_t i = 0; i < changing.size(); ++i) {
    const auto& expected = changing[i].step < 2 ? before[i] : after[i];
    EXPECT_EQ(changing[i].step_seconds, expected.step_seconds) << i;
    EXPECT_EQ(changing[i].alpha_beta_seconds, expected.alpha_beta_seconds) << i;
    if (before[i].nic_bytes == 0) continue;  // a step of local SGD
    EXPECT_NE(before[i].step_seconds, after[i].step_seconds) << i;
  }
}

// A device of twice the speed halves the times of computing, up to the rounding of each segment to
// nanoseconds; codecs have a speed of their own.
TEST_F(ReplayTest, SpeedsDivideTimes) {
  const Recording recording = ReadRecording((folder_ / "recorded").string());
  const auto steps = [&](const Options& options) {
    return ReplayRows(recording, With(ReplayDefaults(recording), options), never).steps;
  };
  const auto plain = steps({});
  const auto devices = steps({{"clock.device_speed", "2"}});
  const auto codecs = steps({{"clock.codec_speed", "4"}});
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(devices[i].compute_seconds, plain[i].compute_seconds / 2, 2e-8);
    EXPECT_EQ(devices[i].encode_seconds, plain[i].encode_seconds);
    EXPECT_EQ(codecs[i].compute_seconds, plain[i].compute_seconds);
    EXPECT_NEAR(codecs[i].encode_seconds, plain[i].encode_seconds / 4, 2e-8);
    EXPECT_NEAR(codecs[i].decode_seconds, plain[i].decode_seconds / 4, 2e-8);
  }
}

TEST_F(ReplayTest, RowsInMemoryAreThoseOfTheDirectory) {
  const Recording recording = ReadRecording((folder_ / "recorded").string());
  Scenario scenario = With(ReplayDefaults(recording), {{"network.fidelity", "flow"}});
  const analysis::RunDirectory rows = ReplayRows(recording, scenario, never);
  scenario.out = (folder_ / "memory").string();
  Replay(recording, scenario, "legacy-replay", "test", never);
  const auto expect_same = [&]<class Row>(const std::vector<Row>& memory) {
    ASSERT_FALSE(memory.empty());
    analysis::TableWriter<Row> writer(folder_, rows.manifest.metrics);
    for (const Row& row : memory) writer.Write(row);
    EXPECT_EQ(Read(folder_ / Row::kFile), Read(folder_ / "memory" / Row::kFile));
  };
  expect_same(rows.steps);
  expect_same(rows.evaluations);
  expect_same(rows.layers);
  expect_same(rows.decisions);
  expect_same(rows.links);
  expect_same(rows.network);
}

// Anchors from pilots belong to the training: a replay keeps them, and records the bytes that were
// asked for.
TEST_F(ReplayTest, EqualBytesOfAdaptivePolicies) {
  const Options options = {{"compression.volume", "bytes"},
                           {"compression.policies", "topk,lgreco"},
                           {"training.steps", "12"},
                           {"run.record", "on"}};
  Run(With(Small(), options), "equal");
  const Recording recording = ReadRecording((folder_ / "equal").string());
  const std::map<std::string, double>& asked = recording.run.manifest.requested_bytes;
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked.at("lgreco"), asked.at("topk"));
  std::map<std::string, double> sent;
  for (const analysis::StepRow& row : recording.run.steps) sent[row.policy] += row.message_bytes;
  EXPECT_DOUBLE_EQ(sent["topk"] / (2 * 12), asked.at("topk"));
  EXPECT_NEAR(sent["lgreco"] / (2 * 12), asked.at("lgreco"), 0.25 * asked.at("lgreco"));

  Scenario scenario = With(ReplayDefaults(recording), {{"network.bandwidth", "10Mbps"}});
  scenario.out = (folder_ / "equal-replay").string();
  Replay(recording, scenario, "legacy-replay", "test", never);
  EXPECT_EQ(Read(folder_ / "equal/decisions.csv"), Read(folder_ / "equal-replay/decisions.csv"));
  const auto manifest = analysis::ReadRunDirectory(scenario.out).manifest;
  EXPECT_EQ(manifest.requested_bytes, asked);
  EXPECT_EQ(manifest.decisions, recording.run.manifest.decisions);
  EXPECT_GE(manifest.decisions.at("lgreco"), 3);
}

// A record has the passes of each step, and the updates of local ones.
TEST_F(ReplayTest, LocalStepsAndSeveralPasses) {
  const Options training = {{"training.accumulate", "2"},
                            {"training.local_steps", "2"},
                            {"training.outer", "momentum:rate=0.5"},
                            {"training.clip_worker", "1"},
                            {"training.clip_mean", "1"},
                            {"training.steps", "6"},
                            {"compression.policies", "dense,local-sgd,diloco,sparseloco"},
                            {"run.record", "on"}};
  const Options network = {{"network.bandwidth", "10Mbps"}, {"clock.device_speed", "0.5"}};
  Run(With(Small(), training), "local");
  Run(With(With(Small(), training), network), "local-direct");
  const Recording recording = ReadRecording((folder_ / "local").string());
  Scenario scenario = With(ReplayDefaults(recording), network);
  scenario.out = (folder_ / "local-replay").string();
  Replay(recording, scenario, "legacy-replay", "test", never);
  EXPECT_EQ(Read(folder_ / "local-direct/steps.csv"), Read(folder_ / "local-replay/steps.csv"));
  EXPECT_NE(Read(folder_ / "local/steps.csv"), Read(folder_ / "local-replay/steps.csv"));
  std::map<std::string, int> exchanges;
  for (const analysis::StepRow& row : recording.run.steps) {
    exchanges[row.policy] += row.message_bytes > 0;
  }
  EXPECT_EQ(exchanges, (std::map<std::string, int>{
                           {"dense", 12}, {"local-sgd", 6}, {"diloco", 6}, {"sparseloco", 6}}));
  fs::copy(folder_ / "local", folder_ / "other-passes");
  std::string text = Read(folder_ / "local/traffic.jsonl");
  text.replace(text.find("\"passes\":2"), 10, "\"passes\":3");
  std::ofstream(folder_ / "other-passes/traffic.jsonl") << text;
  EXPECT_NE(MessageOf([&] {
              ReadRecording((folder_ / "other-passes").string());
            }).find("passes: got '3'; allowed: 2, as in the manifest"),
            std::string::npos);
}

TEST_F(ReplayTest, Packets) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "no ns-3";
  ExpectEqualFiles({{"network.fidelity", "packet"}, {"network.bandwidth", "10Gbps"}});
}

// Small buffers, so that switches pause.
TEST_F(ReplayTest, PacketsOfRoce) {
  if (Fidelities().front() != Fidelity::kPacket) GTEST_SKIP() << "no ns-3";
  ExpectEqualFiles({{"network.fidelity", "packet"},
                    {"network.transport", "roce:cc=dcqcn,buffer=256KB"},
                    {"network.allgather", "direct-allgather"},
                    {"network.delay", "1us"},
                    {"network.bandwidth", "10Gbps"}});
}

TEST_F(ReplayTest, FlowsOfRoceWithHpcc) {
  ExpectEqualFiles({{"network.fidelity", "flow"}, {"network.transport", "roce:cc=hpcc,pfc=on"}});
}

TEST_F(ReplayTest, TheSameNetworkGivesTheSameFiles) {
  const Recording recording = ReadRecording((folder_ / "recorded").string());
  Scenario scenario = ReplayDefaults(recording);
  scenario.out = (folder_ / "again").string();
  Replay(recording, scenario, "legacy-replay", "test", never);
  EXPECT_EQ(Read(folder_ / "recorded/steps.csv"), Read(folder_ / "again/steps.csv"));
  const auto manifest = nlohmann::json::parse(Read(folder_ / "again/manifest.json"));
  EXPECT_EQ(manifest["replayed"]["hash"], recording.record.Hash());
  EXPECT_EQ(manifest["configuration"]["run"]["record"], "off");
  // The folder of the recording cannot be overwritten, whatever the options.
  scenario.out = (folder_ / "x/../recorded").lexically_normal().string();
  scenario.overwrite = true;
  EXPECT_NE(MessageOf([&] {
              Replay(recording, scenario, "legacy-replay", "test", never);
            }).find("another folder"),
            std::string::npos);
}

TEST_F(ReplayTest, RefusesOptionsOfTheTraining) {
  const std::pair<std::string, std::string> trainings[] = {
      {"training.steps", "5"},       {"training.workers", "8"},
      {"compression.density", "5%"}, {"compression.policies", "dense"},
      {"clock.bucket", "1MiB"},      {"run.seed", "2"},
      {"run.record", "on"}};
  for (const auto& [key, value] : trainings) {
    const std::string message = Refusal({{key, value}});
    EXPECT_EQ(message.find(key), 0u) << message;
    EXPECT_NE(message.find("belongs to the training"), std::string::npos) << message;
  }
  EXPECT_NE(Refusal({{"network.sync", "backup:k=1"}}).find("network.sync"), std::string::npos);
  EXPECT_EQ(Refusal({{"network.delay", "1ms"}, {"training.target", "50%"}}), "no error");
}

TEST_F(ReplayTest, OptionsStartFromTheRecordedNetwork) {
  Recording recording;
  const auto parse = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "legacy-replay");
    Arguments line(std::move(arguments));
    const auto defaults = [&](const std::string& run) {
      recording = ReadRecording(run);
      return ReplayDefaults(recording);
    };
    return ParseCommandLine(
        line.count(), line.values(), "legacy-replay", "test",
        OnRun{defaults, [](const ScenarioOption& option) { return option.Has(kMayReplay); }});
  };
  const std::string run = (folder_ / "recorded").string();
  const CommandLine line = parse({run, "--bandwidth=10Gbps", "--set", "network.delay=1ms"});
  EXPECT_FALSE(line.exit);
  EXPECT_EQ(line.run, run);
  EXPECT_EQ(line.scenario.bandwidth.text(), "10Gbps");
  EXPECT_EQ(line.scenario.delay.text(), "1ms");
  EXPECT_EQ(line.scenario.topology, "star");
  EXPECT_EQ(line.scenario.workers, 4);
  EXPECT_EQ(line.scenario.out, "");
  CheckReplay(recording, line.scenario);
  const CommandLine other = parse({run, "--steps=9"});
  EXPECT_NE(MessageOf([&] { CheckReplay(recording, other.scenario); }).find("--steps"),
            std::string::npos);
  EXPECT_NE(MessageOf([&] {
              parse({run, "--bandwidth=fast"});
            }).find("--bandwidth"),
            std::string::npos);
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(parse({"--help"}).exit, 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("--bandwidth"), std::string::npos);
  EXPECT_EQ(help.find("--steps"), std::string::npos);
  EXPECT_EQ(parse({"--bandwidth=10Gbps"}).exit, 2) << "RUN is needed";
}

TEST(ReplayRefusals, NameMethodsThatReadTheClockTheNetworkOrTheCollective) {
  Scenario scenario;
  scenario.policies = {"dense", "topk", "lgreco", "accordion", "dgc", "powersgd", "local-sgd"};
  EXPECT_EQ(ReplayRefusals(scenario), std::vector<std::string>{});
  scenario.methods["sums"] = {.name = "sums", .scheme = "qsgd:reduction=requantise"};
  scenario.methods["timed"] = {.name = "timed", .policy = "lgreco:cost=time"};
  scenario.methods["ratios"] = {.name = "ratios", .policy = "flexible"};
  scenario.policies = {"dense", "gravac", "kimad", "timed", "ratios", "flexible-topk", "sums"};
  EXPECT_EQ(
      ReplayRefusals(scenario),
      (std::vector<std::string>{"gravac: its policy reads simulated times or rates",
                                "kimad: its policy reads simulated times or rates",
                                "timed: its policy reads simulated times or rates",
                                "ratios: its policy reads simulated times or rates",
                                "flexible-topk: its scheme reads the network's latency and rate",
                                "sums: its arithmetic depends on the collective"}));
}

TEST(Phases, AreReadWithWhatTheyDoNotName) {
  const auto phases = ParseNetworkSchedule("0%:delay=1ms;25%:bandwidth=2Gbps", "phases");
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[1].begin, 0.25);
  EXPECT_FALSE(phases[0].bandwidth);
  EXPECT_EQ(phases[1].bandwidth->text(), "2Gbps");
  EXPECT_EQ(**phases[1].delay, 1'000'000);
  EXPECT_EQ(EntryOf(phases, 24, 100), 0u);
  EXPECT_EQ(EntryOf(phases, 25, 100), 1u);
  EXPECT_EQ(EntryOf(phases, 99, 100), 1u);
  EXPECT_EQ(ParseNetworkSchedule("c1", "phases").size(), 4u);
  EXPECT_EQ(ParseNetworkSchedule("c2", "phases").size(), 5u);
  EXPECT_TRUE(ParseNetworkSchedule("none", "phases").empty());
  const std::pair<const char*, const char*> wrong[] = {{"c3", "got 'c3'"},
                                                       {"10%:delay=1ms", "begin at 0%"},
                                                       {"0%:delay=1ms;0%:delay=2ms", "ascend"},
                                                       {"0%:delay=soon", "phases: delay"},
                                                       {"0%:queue=1", "bandwidth=RATE"},
                                                       {"0%:", "bandwidth=RATE"},
                                                       {"x%:delay=1ms", "got 'x%'"}};
  for (const auto& [text, part] : wrong) {
    const std::string message =
        MessageOf([&, text = text] { ParseNetworkSchedule(text, "phases"); });
    EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
  }
}

TEST_F(ReplayTest, RefusesRecordsThatSaySo) {
  Scenario scenario = Small();
  scenario.policies = {"dense"};
  scenario.seeds = 1;
  scenario.steps = 1;
  scenario.record = true;
  scenario.sync = "backup:k=1";
  Run(scenario, "backup");
  EXPECT_NE(MessageOf([] {
              ReadRecording((folder_ / "backup").string());
            }).find("may not be replayed on another network: network.sync backup:k=1"),
            std::string::npos);
  scenario.record = false;
  scenario.sync = "barrier";
  Run(scenario, "silent");
  EXPECT_NE(MessageOf([] { ReadRecording((folder_ / "silent").string()); }).find("--record"),
            std::string::npos);
}

TEST_F(ReplayTest, RefusesFilesThatDoNotBelongTogether) {
  const size_t trainings = 2 * SplitList(kMethods).size();
  const std::string short_of_one =
      std::to_string(trainings - 1) + " of " + std::to_string(trainings) + " trainings";
  const struct {
    const char* file;
    const char* old;
    const char* fresh;
    const char* message;
  } cases[] = {
      {"manifest.json", "\"batch\": \"4\"", "\"batch\": \"5\"", "different trainings"},
      {"manifest.json", "\"batch\": \"4\"", "\"batch\": 4", "manifest.json: configuration"},
      {"manifest.json", "\"batch\": \"4\"", "\"bath\": \"4\"", "unknown key 'training.bath'"},
      {"manifest.json", "\"workers\": 4", "\"workers\": 5", "workers: got '5'; allowed: 4"},
      {"manifest.json", "\"parameters\": 7", "\"parameters\": 8", "parameters: got"},
      {"manifest.json", "\"replay_refused\": []", "\"replay_refused\": [\"no\"]", "network: no"},
      {"manifest.json", "\"replay_refused\": []", "\"replay_refused\": 1", "a list of texts"},
      {"traffic.jsonl", "\"batch\":4", "\"batch\":5", "batch: got '5'; allowed: 4"},
      {"traffic.jsonl", "\"replay_refused\":[]", "\"replay_refused\":[\"no\"]", "network: no"},
      {"traffic.jsonl", "\"batch\":4", "\"participants\":[1],\"batch\":4", "left out"},
      {"network.csv", "legacy-both,2", "legacy-both,1", "network.csv"},
      {"steps.csv", "dense,1,3,", "dense,1,4,", "got '4'; allowed: 3, the next one"},
  };
  for (const auto& entry : cases) {
    const std::string message = Changed(entry.file, entry.old, entry.fresh);
    EXPECT_NE(message.find(entry.message), std::string::npos) << entry.fresh << "\n" << message;
  }
  const std::string steps = Read(folder_ / "recorded/steps.csv");
  // A row is added after the last step of a training, where the record has no step.
  const size_t last = steps.find("dense,1,3,") + std::string("dense,1,3,").size();
  const std::string rest = steps.substr(last, steps.find('\n', last) - last);
  for (const std::string step : {"4", "100000", "1000000000000"}) {
    const std::string row = "dense,1,3," + rest;
    const std::string message = Changed("steps.csv", row, row + "\ndense,1," + step + "," + rest);
    EXPECT_NE(message.find("got '" + step + "'; allowed: nothing after step 3"), std::string::npos)
        << message;
  }
  const std::string cut = steps.substr(0, steps.rfind("local-sgd,"));
  EXPECT_NE(Changed("steps.csv", steps, cut).find(short_of_one), std::string::npos);
  const std::string work = "\"work\":0}";
  EXPECT_NE(Changed("traffic.jsonl", work, "\"work\":1}").find("traffic.jsonl:3"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::replay_test