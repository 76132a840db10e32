#include "scenarios/published/published_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/run/one_step.h"

namespace legacy::published_steps_test {
namespace {

using ::testing::HasSubstr;

TEST(PublishedSteps, AreTimedOrSayWhyNot) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  std::set<std::string> ids;
  int timed = 0;
  for (const PublishedStep& step : steps) {
    EXPECT_TRUE(ids.insert(step.id).second) << step.id;
    EXPECT_TRUE(step.level == "A" || step.level == "B" || step.level == "C") << step.id;
    EXPECT_NE(step.not_timed.empty(), step.options.empty()) << step.id;
    if (!step.not_timed.empty()) continue;
    ++timed;
    EXPECT_GT(step.seconds, 0) << step.id;
    EXPECT_EQ(step.ToScenario().workers, step.devices) << step.id;
  }
  EXPECT_EQ(steps.size(), 375u);
  EXPECT_EQ(timed, 362);
}

const PublishedStep& StepNamed(const std::vector<PublishedStep>& steps, const std::string& id) {
  return *std::ranges::find(steps, id, &PublishedStep::id);
}

// Two shapes of a model on one device: what a step takes follows from the row alone.
TEST(PublishedSteps, AreScenariosOfTheirInputs) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  const PublishedStep& bert = StepNamed(steps, "dle-pt-bert-large-a100-80gb-8-s128-tf32");
  const Scenario scenario = bert.ToScenario();
  EXPECT_EQ(scenario.layers, "bert-large:tokens=128");
  EXPECT_EQ(scenario.accumulate, 64);
  EXPECT_EQ(scenario.device_profile, "a100-sxm-80");
  EXPECT_EQ(*scenario.precision, Precision::kTf32);
  EXPECT_NEAR(TimeOneStep(scenario).step_seconds / bert.seconds, 1, 0.05);
  const Scenario pcie = StepNamed(steps, "lambda-resnet50-h100-pcie-8-amp").ToScenario();
  EXPECT_EQ(pcie.topology, "star:rate=384Gbps");
  EXPECT_EQ(pcie.device_profile, "h100-pcie");
  const PublishedStep& offloaded = StepNamed(steps, "azure-175b-256");
  EXPECT_EQ(offloaded.not_timed, "sharded: ZeRO-3, optimizer and activations in host memory");
  EXPECT_EQ(StepNamed(steps, "cgx-bert-large-nccl").not_timed, "a rate whose batch is not known");
}

// TorchTitan's Llama-3 8B on 8 H100s with compiled kernels (llama3_h100_202412_torchtitan.md, table
// 1): 6,667 tokens a second and GPU in bf16, 8,532 with linear layers in FP8. What travels is
// hidden.
TEST(PublishedSteps, Fp8IsAsMuchFasterAsMeasured) {
  Scenario scenario;
  scenario.layers = "llama3-8b:tokens=8192";
  scenario.workers = 1;
  scenario.stragglers = "none";
  scenario.batch = 2;
  scenario.policies = {"dense"};
  scenario.device_profile = "h100-sxm";
  scenario.kernels = "compiled";
  scenario.fidelity = "analytic";
  const auto seconds = [&](const char* precision) {
    scenario.precision = precision;
    return TimeOneStep(scenario).step_seconds;
  };
  EXPECT_NEAR(seconds("bf16") / seconds("bf16-fp8") / (8532.0 / 6667), 1, 0.06);
}

// MosaicML's MPT on 16 and 32 A100 (llm-foundry, scripts/train/benchmarking): FSDP1 with weights
// and gradients in bf16. What travels is hidden.
TEST(PublishedSteps, ShardedOnesTakeAsLongAsMeasured) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  for (const char* id : {"mpt-a100s-7b-16", "mpt-a100s-3b-32"}) {
    const PublishedStep& step = StepNamed(steps, id);
    const Scenario scenario = step.ToScenario();
    EXPECT_EQ(scenario.sharding->kind, ShardingKind::kFsdp);
    EXPECT_EQ(*scenario.rules, ShardingRules::kFsdp1);
    const analysis::StepRow row = TimeOneStep(scenario);
    EXPECT_NEAR(row.step_seconds / step.seconds, 1, 0.06) << id;
    EXPECT_LT(*row.gather_seconds + *row.reduce_seconds, 0.01 * row.step_seconds) << id;
  }
}

// Tensors in eight parts, layers in two stages, and SDP4Bit's baseline, whose gradients and weights
// cross one link of 400 Gbit/s a node.
TEST(PublishedSteps, DividedOnesTakeAsLongAsMeasured) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  for (const char* id : {"meg20-dgxa100-8b", "nt-3.57b-1n", "sdp-h800-6.7b-base"}) {
    const PublishedStep& step = StepNamed(steps, id);
    EXPECT_NEAR(TimeOneStep(step.ToScenario()).step_seconds / step.seconds, 1, 0.06) << id;
  }
}

// Contexts of 131,072 tokens in four parts, and DeepSeek-V3, whose 256 experts are divided among 64
// ranks. DeepSeek-AI reports 671 billion parameters, of which a token uses 37.
TEST(PublishedSteps, ContextsAndExpertsAreDivided) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  const Scenario context = StepNamed(steps, "tt-h100-8b-cp4").ToScenario();
  EXPECT_EQ(context.workers, 8);
  EXPECT_EQ(context.parallel->context, 4);
  const Scenario experts = StepNamed(steps, "nemo-dsv3-1024").ToScenario();
  EXPECT_EQ(experts.workers, 1024);
  EXPECT_EQ(experts.parallel->expert, 64);
  EXPECT_EQ(experts.pipeline->chunks, 8);
  const ModelShape shape = LoadModelShape(experts.layers);
  double used = static_cast<double>(shape.Elements());
  for (const OperationCost& cost : shape.costs) {
    for (const int layer : cost.parameters) {
      if (cost.experts == 0) continue;
      used -= static_cast<double>(shape.layers[layer].numel) * (1 - cost.used / 256.0);
    }
  }
  EXPECT_EQ(shape.Elements(), 671'026'419'200);
  EXPECT_NEAR(used, 37.5e9, 0.1e9);
}

// ZeRO++ gathers weights in 8 bits, and again inside nodes; SDP4Bit needs no exchange inside nodes
// where tensors are divided over all of a node's devices.
TEST(PublishedSteps, CompressedOnesHaveTheirMethods) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  const Scenario zeropp = StepNamed(steps, "zpp-100-2048-zeropp").ToScenario();
  EXPECT_EQ(*zeropp.reshard, Reshard::kNode);
  EXPECT_EQ(FindMethod(zeropp, zeropp.policies.front()).scheme, "int:bucket=2048,decay=0,node=16");
  const Scenario sdp = StepNamed(steps, "sdp-h800-13b-4bit").ToScenario();
  EXPECT_NE(FindMethod(sdp, sdp.policies.front()).scheme.find("node=1,"), std::string::npos);
  // 1.033 bytes a parameter in the place of 6 (4.25 and 4.016 bits), of an eighth of the model
  // among 16 owners; sums of activations are the same.
  const double plain = TimeOneStep(StepNamed(steps, "sdp-h800-13b-base").ToScenario()).nic_bytes;
  const double saved = 15.0 / 16 * (6 - 1.033) * 12'853'626'880 / 8;
  EXPECT_NEAR(plain - TimeOneStep(sdp).nic_bytes, saved, 0.01 * saved);
  const Scenario fp8 = StepNamed(steps, "tt-h200-8b-32").ToScenario();
  EXPECT_EQ(fp8.policies.front(), "fp8-weights");
  EXPECT_EQ(*fp8.precision, Precision::kBf16Fp8);
}

// A gradient that travels after the backward pass makes the step longer than one that overlaps it.
TEST(PublishedSteps, TransfersOverlapUnlessTheFrameworkWaits) {
  const std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  PublishedStep step = StepNamed(steps, "dlperf-megatron-gpt498m-v100-16gb-16-fp16");
  const double after = TimeOneStep(step.ToScenario()).step_seconds;
  for (auto& [key, value] : step.options) {
    if (key == "clock.bucket") value = "25MiB";
  }
  EXPECT_GT(after, TimeOneStep(step.ToScenario()).step_seconds + 0.1);
}

TEST(PublishedSteps, BadRowsAreNamed) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("published-" + std::to_string(getpid()) + ".csv");
  const auto complaint = [&](const std::string& from, const std::string& to) -> std::string {
    std::string text = ReadWholeFile(PublishedStepsPath());
    text = text.substr(0, text.find('\n', text.find('\n') + 1) + 1);  // the header and a row
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    std::ofstream(path) << text;
    try {
      const auto steps = ReadPublishedSteps(path.string());
      for (const PublishedStep& step : steps) step.ToScenario();
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(complaint("", ""), "none");
  EXPECT_THAT(complaint("step_seconds", "step_second"), HasSubstr("step_seconds"));
  EXPECT_THAT(complaint(",A100-80GB,1,", ",A100-80GB,none,"), HasSubstr(":2: gpus: got 'none'"));
  EXPECT_THAT(complaint("channels-last", "sideways"), HasSubstr("clock.layout: got 'sideways'"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace legacy::published_steps_test
