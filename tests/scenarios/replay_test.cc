// Replays: a training recorded on one network and timed on another leaves the very files of training there.
#include "scenarios/replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compress/error.h"
#include "scenarios/command_line.h"
#include "scenarios/comparison.h"
#include "scenarios/network/engines.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

using Options = std::vector<std::pair<std::string, std::string>>;

std::string Read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A run of two seeds, recorded once for all tests on an idle star.
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
    for (const auto& [key, value] :
         Options{{"training.workers", "4"},
                 {"training.batch", "4"},
                 {"training.steps", "4"},
                 {"training.evaluate_every", "2"},
                 {"training.warmup_steps", "2"},
                 {"training.train_limit", "200"},
                 {"training.test_limit", "40"},
                 {"compression.policies", "dense,topk,legacy-phase,ar-topk"},
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

  static void ExpectEqualFiles(const Options& options) {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    Run(With(Small(), options), name + "-direct");
    const Recording recording = ReadRecording((folder_ / "recorded").string());
    Scenario scenario = With(ReplayDefaults(recording), options);
    scenario.out = (folder_ / (name + "-replay")).string();
    Replay(recording, scenario, "legacy-replay", "test", never);
    for (const char* file :
         {"steps.csv", "evaluations.csv", "layers.csv", "links.csv", "network.csv"}) {
      const std::string direct = Read(folder_ / (name + "-direct") / file);
      EXPECT_GT(direct.size(), 200u) << file;
      EXPECT_EQ(direct, Read(scenario.out / fs::path(file))) << file;
    }
    EXPECT_NE(Read(folder_ / "recorded/steps.csv"), Read(scenario.out + "/steps.csv"));
  }

  // A copy of the recording in which `old` (which must be there) has become `fresh`.
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

TEST_F(ReplayTest, OtherCollectives) {
  ExpectEqualFiles({{"network.allreduce", "halving-doubling-allreduce"},
                    {"network.allgather", "direct-allgather"},
                    {"network.memoise", "off"}});
}

TEST_F(ReplayTest, Packets) {
  const std::vector<std::string> fidelities = Fidelities();
  if (std::ranges::find(fidelities, "packet") == fidelities.end()) GTEST_SKIP() << "no ns-3";
  ExpectEqualFiles({{"network.fidelity", "packet"}, {"network.bandwidth", "10Gbps"}});
}

TEST_F(ReplayTest, TheSameNetworkGivesTheSameFiles) {
  const Recording recording = ReadRecording((folder_ / "recorded").string());
  Scenario scenario = ReplayDefaults(recording);
  scenario.out = (folder_ / "again").string();
  Replay(recording, scenario, "legacy-replay", "test", never);
  EXPECT_EQ(Read(folder_ / "recorded/steps.csv"), Read(folder_ / "again/steps.csv"));
  const auto manifest = nlohmann::json::parse(Read(folder_ / "again/manifest.json"));
  EXPECT_EQ(manifest["replayed"]["hash"], recording.traffic.hash);
  EXPECT_EQ(manifest["configuration"]["run"]["record"], "off");
  // The folder of the recording is safe, whatever is overwritten.
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
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const auto defaults = [&](const std::string& run) {
      recording = ReadRecording(run);
      return ReplayDefaults(recording);
    };
    return ParseCommandLine(static_cast<int>(argv.size()), argv.data(), "legacy-replay", "test",
                            OnRun{defaults, MayReplayChange});
  };
  const std::string run = (folder_ / "recorded").string();
  const CommandLine line = parse({run, "--bandwidth=10Gbps", "--set", "network.delay=1ms"});
  EXPECT_FALSE(line.exit);
  EXPECT_EQ(line.run, run);
  EXPECT_EQ(line.scenario.bandwidth, "10Gbps");
  EXPECT_EQ(line.scenario.delay, "1ms");
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
      {"network.csv", "ar-topk,2", "ar-topk,1", "network.csv"},
      {"steps.csv", "dense,1,3,", "dense,1,4,", "7 of 8 trainings"},
  };
  for (const auto& entry : cases) {
    const std::string message = Changed(entry.file, entry.old, entry.fresh);
    EXPECT_NE(message.find(entry.message), std::string::npos) << entry.fresh << "\n" << message;
  }
  const std::string steps = Read(folder_ / "recorded/steps.csv");
  const std::string cut = steps.substr(0, steps.rfind("ar-topk"));
  EXPECT_NE(Changed("steps.csv", steps, cut).find("7 of 8 trainings"), std::string::npos);
  const std::string work = "\"work\":0}";
  EXPECT_NE(Changed("traffic.jsonl", work, "\"work\":1}").find("traffic.jsonl:3"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy
