// Replays of traces: a recorded run, written as a trace, takes the same time on any network.
#include "scenarios/replay/trace_replay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "analysis/summary.h"
#include "base/error.h"
#include "base/number.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/scenario_timing.h"
#include "scenarios/run/workers/comparison.h"
#include "tests/message_of.h"

namespace legacy::trace_replay_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

using Options = std::vector<std::pair<std::string, std::string>>;

Scenario With(Scenario scenario, const Options& options) {
  for (const auto& [key, value] : options) SetOption(scenario, key, value);
  return scenario;
}

std::string Seconds(const std::vector<TimeNs>& times) {
  std::string text;
  for (const TimeNs time : times) text.append(" ").append(FormatNumber(time / 1e9));
  return text + "\n";
}

// Returns the lines of one step, with each device time of the cost model.
std::string StepText(const StepWork& work, const PricedStep& priced, const DdpTrace& layers) {
  std::string text = "step\ncompute" + Seconds(priced.compute);
  const auto workers = static_cast<size_t>(work.workers);
  std::vector<TimeNs> encoded(workers);
  for (size_t b = 0; b < work.buckets.size(); ++b) {
    const fabric::BucketTraffic& traffic = priced.traffic.buckets[b];
    text += "bucket";
    for (const int layer : work.buckets[b].layers)
      text.append(" ").append(layers.layers[layer].name);
    std::vector<TimeNs> ready = traffic.ready;
    for (size_t w = 0; w < workers; ++w) {
      ready[w] -= encoded[w] += priced.call_encode[b][0][w];
    }
    text += "\nready" + Seconds(ready);
    const std::vector<SentCall>& calls = work.buckets[b].calls;
    for (size_t r = 0; r < calls.size(); ++r) {
      const std::vector<TimeNs>& encode = priced.call_encode[b][r];
      text += "encode" + Seconds(encode);
      text += calls[r].collective == Collective::kAllReduce   ? "send all-reduce"
              : calls[r].collective == Collective::kAllGather ? "send all-gather"
                                                              : "send broadcast";
      for (const int64_t bytes : calls[r].bytes) text.append(" ").append(std::to_string(bytes));
      std::vector<TimeNs> decode = traffic.decode;
      for (size_t w = 0; w < workers && r + 1 < calls.size(); ++w) {
        decode[w] = traffic.calls[r + 1].computeBefore[w] - priced.call_encode[b][r + 1][w];
      }
      text += "\ndecode" + Seconds(decode);
    }
  }
  return text;
}

class TraceReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("legacy-trace-replay-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  TraceFile Write(const std::string& text) const {
    const std::string path = (folder_ / "steps.trace").string();
    std::ofstream(path) << text;
    return {path, ReadDdpTrace(path)};
  }

  analysis::RunDirectory Run(const TraceFile& file, Scenario scenario) const {
    scenario.out = (folder_ / "replayed").string();
    scenario.overwrite = true;
    Replay(file, scenario, "legacy-replay", "test", never);
    return analysis::ReadRunDirectory(scenario.out);
  }

  fs::path folder_;
};

std::string ShapeText(const Unit& layer) {
  std::string text;
  for (const int64_t size : layer.shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

// Returns the trace of the first trainings of a recording on `scenario`, with the scenario's
// stragglers. Records have no shapes.
std::string Traced(const Recording& recording, const Scenario& scenario, size_t trainings,
                   std::span<const Unit> shapes) {
  const Record& record = recording.record;
  const ScenarioTiming timing(scenario);
  const std::vector<Clock> clocks = timing.MakeClocks(record.operations, record.layers);
  DdpTrace layers;
  layers.layers = record.layers;
  std::string text = "legacy-trace 1\nworkers " + std::to_string(scenario.workers) + "\n";
  for (const Unit& layer : shapes) {
    text += "layer " + layer.name + " " + ShapeText(layer) + "\n";
  }
  for (const RecordedTraining& training : std::span(record.trainings).first(trainings)) {
    text += "method " + training.policy + "\n";
    for (size_t step = 0; step < training.works.size(); ++step) {
      const StepStart start = timing.StartOf(clocks[0], training.seed, static_cast<int64_t>(step));
      const StepWork& work = record.works[training.works[step]];
      text += StepText(work, timing.Price(clocks[0], work, start), layers);
    }
  }
  return text;
}

TEST_F(TraceReplayTest, TakesTheTimeOfTheRecordedTraining) {
  Scenario scenario = With({}, {{"training.workers", "4"},
                                {"training.batch", "4"},
                                {"training.steps", "3"},
                                {"training.warmup_steps", "2"},
                                {"training.train_limit", "200"},
                                {"training.test_limit", "40"},
                                {"compression.policies", "dense,legacy-phase,ar-topk"},
                                {"run.pictures", "off"},
                                {"run.record", "on"},
                                {"network.stragglers", "lognormal:sigma=0.3"},
                                {"network.fidelity", "analytic"}});
  scenario.out = (folder_ / "recorded").string();
  RunComparison(scenario, "legacy-scenario", "test", never);
  const Recording recording = ReadRecording(scenario.out);
  const TraceFile file =
      Write(Traced(recording, ReplayDefaults(recording), 3, recording.record.layers));
  const Options networks[] = {
      {{"network.fidelity", "analytic"}},
      {{"network.fidelity", "flow"}, {"network.topology", "star"}, {"network.bandwidth", "10Gbps"}},
      {{"network.fidelity", "flow"}, {"network.aggregation", "parameter-server"}},
  };
  for (const Options& network : networks) {
    Scenario ours = With(ReplayDefaults(recording), network);
    const analysis::RunDirectory expected = ReplayRows(recording, ours, never);
    const analysis::RunDirectory run = Run(file, With(ReplayDefaults(file), network));
    ASSERT_EQ(run.steps.size(), expected.steps.size());
    for (size_t i = 0; i < run.steps.size(); ++i) {
      const analysis::StepRow& row = run.steps[i];
      const analysis::StepRow& same = expected.steps[i];
      EXPECT_EQ(row.policy, same.policy);
      EXPECT_EQ(row.step_seconds, same.step_seconds) << row.policy << " " << row.step;
      EXPECT_EQ(row.compute_seconds, same.compute_seconds);
      EXPECT_EQ(row.encode_seconds, same.encode_seconds);
      EXPECT_EQ(row.decode_seconds, same.decode_seconds);
      EXPECT_EQ(row.communication_seconds, same.communication_seconds);
      EXPECT_EQ(row.message_bytes, same.message_bytes);
      EXPECT_EQ(row.nic_bytes, same.nic_bytes);
    }
    ASSERT_EQ(run.links.size(), expected.links.size());
    for (size_t i = 0; i < run.links.size(); ++i) {
      EXPECT_EQ(run.links[i].bytes, expected.links[i].bytes) << run.links[i].link;
    }
  }
}

// Compressed, the trace of a shape's dense training is the same as that shape's own run: buckets,
// bytes and every time. A policy that reads the clock is among the methods.
TEST_F(TraceReplayTest, CompressesAsARunOfTheShapeDoes) {
  const std::string shape = (folder_ / "shape.txt").string();
  std::ofstream(shape) << "conv 64x3x7x7 118013952 3813376\nbn 64\nfc1 300x200 60000 2000\n"
                          "fc2 400x300 120000 2800\nlast 1000x400 400000 5600\n";
  const std::string methods =
      "topk@1%,legacy-both,legacy-phase-qsgd,powersgd,fp16,ar-topk,dgc,kimad,topk-global";
  Scenario scenario = With({}, {{"training.layers", shape},
                                {"training.workers", "4"},
                                {"training.steps", "6"},
                                {"compression.policies", "dense," + methods},
                                {"clock.bucket", "256KiB"},
                                {"run.pictures", "off"},
                                {"run.record", "on"},
                                {"network.stragglers", "none"},
                                {"network.fidelity", "flow"},
                                {"network.further", "far:bandwidth=50Mbps"},
                                {"network.bandwidth", "1Gbps"}});
  scenario.out = (folder_ / "shape").string();
  RunComparison(scenario, "legacy-scenario", "test", never);
  // As no training is recorded whose policy reads the network, the dense one is recorded alone.
  Scenario dense = With(scenario, {{"compression.policies", "dense"}});
  dense.out = (folder_ / "dense").string();
  RunComparison(dense, "legacy-scenario", "test", never);
  const Recording recording = ReadRecording(dense.out);
  const TraceFile file =
      Write(Traced(recording, ReplayDefaults(recording), 1, LoadModelShape(shape).layers));
  const Options network = {{"network.fidelity", "flow"},
                           {"network.further", "far:bandwidth=50Mbps"},
                           {"network.bandwidth", "1Gbps"},
                           {"compression.policies", methods}};
  Run(file, With(ReplayDefaults(file), network));
  for (const char* place : {"", "networks/far"}) {
    const auto run = analysis::ReadRunDirectory((folder_ / "replayed" / place).string());
    const auto expected = analysis::ReadRunDirectory((fs::path(scenario.out) / place).string());
    ASSERT_EQ(run.steps.size(), expected.steps.size());
    for (size_t i = 0; i < run.steps.size(); ++i) {
      const analysis::StepRow& row = run.steps[i];
      const analysis::StepRow& same = expected.steps[i];
      ASSERT_EQ(row.policy, same.policy);
      const std::string which = place + (" " + row.policy) + " " + std::to_string(row.step);
      EXPECT_EQ(row.message_bytes, same.message_bytes) << which;
      EXPECT_EQ(row.nic_bytes, same.nic_bytes) << which;
      EXPECT_EQ(row.encode_seconds, same.encode_seconds) << which;
      EXPECT_EQ(row.decode_seconds, same.decode_seconds) << which;
      EXPECT_NEAR(row.compute_seconds, same.compute_seconds, 2e-9) << which;
      EXPECT_NEAR(row.step_seconds, same.step_seconds, 2e-9) << which;
    }
    ASSERT_EQ(run.layers.size() + recording.record.layers.size(), expected.layers.size());
    ASSERT_EQ(run.decisions.size(), expected.decisions.size());
  }
}

TEST_F(TraceReplayTest, CompressesWhatItCan) {
  const auto refusal = [&](const std::string& trace, const std::string& methods) {
    const TraceFile file = Write(trace);
    return MessageOf([&] {
      Run(file, With(ReplayDefaults(file),
                     {{"network.fidelity", "analytic"}, {"compression.policies", methods}}));
    });
  };
  const std::string whole = "legacy-trace 1\nworkers 2\nlayer a 30x30\nlayer b 30\n";
  const std::string step = "step 2\ncompute 1\nbucket a b\nready 1\nsend all-reduce 3720\n";
  const std::string less = "step\ncompute 1\nbucket a\nready 1\nsend all-reduce 3600\n";
  EXPECT_EQ(refusal(whole + step, "topk@1%,dense"), "no error");
  EXPECT_NE(refusal(whole + step + less, "topk@1%")
                .find("steps.trace: step 2 of method trace does not send layer b; methods compress "
                      "trainings whose steps send all layers"),
            std::string::npos);
  EXPECT_NE(refusal(whole + step, "local-sgd")
                .find("compression.policies (--policies): got 'local-sgd'; allowed: methods that "
                      "send the gradients of every step"),
            std::string::npos);
  // A method that the trace names has the messages of the trace.
  const TraceFile own = Write(whole + "method topk\n" + step);
  const analysis::RunDirectory run =
      Run(own, With(ReplayDefaults(own),
                    {{"network.fidelity", "analytic"}, {"compression.policies", "topk,qsgd"}}));
  EXPECT_EQ(run.manifest.policies, (std::vector<std::string>{"topk", "qsgd"}));
  EXPECT_EQ(run.steps[0].message_bytes, 3720);
  EXPECT_EQ(run.manifest.document.at("replayed").at("compressed"), "topk");
  EXPECT_TRUE(run.manifest.document.at("configuration").contains("compression"));
}

constexpr const char* kSmall = R"(legacy-trace 1
workers 4
layer a 1000
layer b 3000
step 2
  compute 0.25
  loss 0.5
  accuracy 0.75
  bucket b a
    ready 0.125
    send all-reduce 16000
step
  compute 0.25
)";

TEST_F(TraceReplayTest, LeavesAWholeRunDirectory) {
  const TraceFile file = Write(kSmall);
  const Options options = {{"network.fidelity", "analytic"},
                           {"network.stragglers", "fixed:count=1,factor=2"},
                           {"clock.device_speed", "0.5"},
                           {"run.seeds", "2"}};
  const analysis::RunDirectory run = Run(file, With(ReplayDefaults(file), options));
  EXPECT_TRUE(run.notes.empty());
  ASSERT_EQ(run.steps.size(), 6u);
  EXPECT_EQ(run.steps[0].compute_seconds, 0.5 * 1.25);
  EXPECT_EQ(run.steps[0].dense_nic_bytes, 2 * 3 * 4000);
  EXPECT_EQ(run.steps[0].nic_bytes, run.steps[0].dense_nic_bytes);
  EXPECT_TRUE(std::isnan(run.steps[0].elements_sent));
  EXPECT_EQ(run.steps[0].training_loss, 0.5);
  EXPECT_TRUE(std::isnan(run.steps[2].training_loss));
  EXPECT_EQ(run.steps[2].elements_sent, 0);  // sent nothing
  EXPECT_EQ(run.steps[2].step_seconds, 1);
  ASSERT_EQ(run.evaluations.size(), 2u);  // of two seeds
  EXPECT_EQ(run.evaluations[0].step, 2);
  EXPECT_EQ(run.evaluations[0].simulated_seconds, run.steps[1].simulated_seconds);
  EXPECT_EQ(run.network.size(), 2u);
  EXPECT_EQ(run.manifest.policies, std::vector<std::string>{kUnnamedMethod});
  EXPECT_EQ(run.manifest.parameters, 4000);
  EXPECT_EQ(run.manifest.target, (Target{"accuracy", 0.85}));
  EXPECT_EQ(run.evaluations[0].metrics, std::vector{0.75});
  const nlohmann::json& configuration = run.manifest.document.at("configuration");
  EXPECT_FALSE(configuration.contains("compression"));
  EXPECT_EQ(configuration.at("training").size(), 3u);  // workers, steps, target
  EXPECT_FALSE(configuration.at("clock").contains("device_profile"));

  std::string silent = kSmall;
  silent.erase(silent.find("  accuracy"), std::string("  accuracy 0.75\n").size());
  const TraceFile other = Write(silent);
  const analysis::RunDirectory unjudged =
      Run(other, With(ReplayDefaults(other), {{"network.fidelity", "analytic"}}));
  EXPECT_TRUE(unjudged.evaluations.empty());
  EXPECT_FALSE(unjudged.manifest.target);
  EXPECT_TRUE(unjudged.manifest.metrics.empty());
}

TEST_F(TraceReplayTest, MetricsOfTheTraceHaveTheirDirectionAndTarget) {
  std::string text = kSmall;
  text.replace(text.find("layer a"), 0, "metric perplexity lower\nmetric top5 higher fraction\n");
  text.replace(text.find("  accuracy 0.75"), 15, "  metric perplexity 120.5 4.75");
  for (int i = 0; i < 2; ++i)
    text += "  metric perplexity 118\n  metric top5 0.5\nstep\n  compute 1\n";
  text += "  metric top5 0.25\n";
  const TraceFile file = Write(text);
  const Options analytic = {{"network.fidelity", "analytic"}};
  const analysis::RunDirectory run = Run(file, With(ReplayDefaults(file), analytic));
  ASSERT_EQ(run.manifest.metrics.size(), 2u);
  EXPECT_EQ(run.manifest.metrics[0].better, Metric::Better::kLower);
  EXPECT_TRUE(run.manifest.metrics[1].fraction);
  EXPECT_FALSE(run.manifest.target);  // the default is an accuracy
  ASSERT_EQ(run.evaluations.size(), 4u);
  EXPECT_EQ(run.evaluations[0].metrics[0], 120.5);
  EXPECT_EQ(run.evaluations[0].test_loss, 4.75);
  EXPECT_TRUE(std::isnan(run.evaluations[0].metrics[1]));
  EXPECT_EQ(run.evaluations[1].metrics, (std::vector{118, 0.5}));

  Options options = analytic;
  options.emplace_back("training.target", "perplexity=119");
  const analysis::RunDirectory judged = Run(file, With(ReplayDefaults(file), options));
  EXPECT_EQ(judged.manifest.target, (Target{"perplexity", 119}));
  const auto seed = analysis::Summarise(judged).policies[0].seeds[0];
  EXPECT_EQ(seed.time_to_target, run.evaluations[2].simulated_seconds);  // a mean of 118.83
  EXPECT_EQ(seed.best_metric, 118);
  const auto refusal = [&](const char* target) {
    return MessageOf([&] {
      CheckReplay(file, With(ReplayDefaults(file), {{"training.target", target}}));
    });
  };
  EXPECT_EQ(refusal("120"), "no error");  // of the first metric
  EXPECT_NE(refusal("accuracy=85%")
                .find("training.target: got 'accuracy'; allowed: a metric of the "
                      "task: perplexity, top5"),
            std::string::npos)
      << refusal("accuracy=85%");
}

// The example is the indented lines of the handbook from the format's first line to the table.
TEST_F(TraceReplayTest, TheHandbooksExampleCanBeReplayed) {
  std::ifstream page(LEGACY_ROOT "/docs/trace-format.md");
  std::string text;
  for (std::string line; std::getline(page, line) && line != "## Lines";) {
    const bool indented = line.rfind("    ", 0) == 0;
    if (indented && (!text.empty() || line.find("legacy-trace 1") == 4)) text += line + "\n";
  }
  const TraceFile file = Write(text);
  const analysis::RunDirectory run =
      Run(file, With(ReplayDefaults(file), {{"network.fidelity", "analytic"}}));
  EXPECT_EQ(run.manifest.policies, (std::vector<std::string>{kUnnamedMethod, "topk"}));
  EXPECT_EQ(run.steps.size(), 101u);
}

// The model of He et al., CVPR 2016, has 25.6 million parameters.
TEST_F(TraceReplayTest, TheExampleIsResNet50) {
  const std::string path = LEGACY_ROOT "/scenarios/traces/resnet50-like.trace";
  const TraceFile file = {path, ReadDdpTrace(path)};
  const analysis::RunDirectory run =
      Run(file, With(ReplayDefaults(file), {{"network.fidelity", "analytic"}}));
  EXPECT_EQ(run.manifest.parameters, 25'557'032);
  EXPECT_EQ(run.steps.front().message_bytes, 4.0 * 25'557'032);  // dense
  EXPECT_EQ(run.steps.back().message_bytes, 2.0 * 25'557'032);   // fp16
  EXPECT_GT(run.steps.front().step_seconds, run.steps.back().step_seconds);
}

TEST_F(TraceReplayTest, RefusesWhatTheTraceSays) {
  const TraceFile file = Write(kSmall);
  const auto refusal = [&](const Options& options) {
    return MessageOf([&] { CheckReplay(file, With(ReplayDefaults(file), options)); });
  };
  for (const auto& [key, value] : Options{{"training.steps", "4"},
                                          {"training.workers", "8"},
                                          {"training.batch", "8"},
                                          {"compression.density", "5%"},
                                          {"clock.bucket", "1MiB"},
                                          {"clock.device_profile", "h100-datasheet"},
                                          {"run.record", "on"}}) {
    const std::string message = refusal({{key, value}});
    EXPECT_EQ(message.find(key), 0u) << message;
    EXPECT_NE(message.find("says what was trained"), std::string::npos) << message;
  }
  EXPECT_NE(refusal({{"network.sync", "backup:k=1"}}).find("barrier"), std::string::npos);
  EXPECT_EQ(refusal({{"network.delay", "1ms"}, {"clock.codec_speed", "2"}, {"run.seed", "7"}}),
            "no error");
}

}  // namespace
}  // namespace legacy::trace_replay_test