// Steps of models that are divided by tensors and by stages.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "scenarios/options/divided_shape.h"
#include "scenarios/run/one_step.h"
#include "tests/message_of.h"
#include "trainer/clock/device.h"
#include "trainer/clock/profile.h"

namespace legacy::parallel_test {
namespace {

constexpr int64_t kTokens = 8192, kWidth = 4096, kBlocks = 32, kWords = 128256, kInner = 14336;

Scenario Divided(const std::string& parallel, int workers) {
  Scenario scenario;
  scenario.layers = "llama3-8b";
  scenario.workers = workers;
  scenario.topology = "nodes:nodes=4,gpus=8,node.rate=2400Gbps,network.rate=400Gbps";
  scenario.group = 8;
  scenario.batch = 1;
  scenario.steps = 1;
  scenario.stragglers = "none";
  scenario.policies = {"dense"};
  scenario.precision = "bf16";
  scenario.device_profile = "h100-sxm";
  scenario.fidelity = "analytic";
  SetOption(scenario, "clock.parallel", parallel);
  return scenario;
}

TEST(TensorParallelism, DividesAShape) {
  const ModelShape whole = LoadModelShape("llama3-8b");
  const ModelShape part = DivideTensors(whole, {.tensor = 8});
  const int64_t keys = kWidth / 32 * 8;
  const int64_t block = (2 * kWidth * kWidth + 2 * keys * kWidth + 3 * kWidth * kInner) / 8;
  const int64_t norms = (2 * kBlocks + 1) * kWidth;
  EXPECT_EQ(part.Elements(), kBlocks * block + 2 * kWords * kWidth / 8 + norms);
  EXPECT_DOUBLE_EQ(part.MultiplyAdds(), whole.MultiplyAdds() / 8);
  // Two sums of activations a block, and those of the words' table and of the head (3 numbers a
  // word of the loss); as many gradients, and that of the head's inputs (Shoeybi et al., figure 3).
  std::map<double, int> forward, backward;
  for (const OperationCost& cost : part.costs) {
    ++forward[cost.forward_sum];
    ++backward[cost.backward_sum];
  }
  EXPECT_EQ(forward[kTokens * kWidth], 2 * kBlocks + 1);
  EXPECT_EQ(forward[3 * kTokens], 1);
  EXPECT_EQ(backward[kTokens * kWidth], 2 * kBlocks + 1);
}

TEST(TensorParallelism, KeepsSmallOperationsWholeWithoutSequenceParallelism) {
  const ModelShape whole = LoadModelShape("gpt2-xl");
  const auto bytes = [](const ModelShape& shape) {
    double sum = 0;
    for (const OperationCost& cost : shape.costs) {
      if (cost.kind == "batchnorm") sum += cost.forward_bytes;
    }
    return sum;
  };
  EXPECT_EQ(bytes(DivideTensors(whole, {.tensor = 5, .sequence = false})), bytes(whole));
  EXPECT_DOUBLE_EQ(bytes(DivideTensors(whole, {.tensor = 5})), bytes(whole) / 5);
  EXPECT_EQ(DivideTensors(whole, {.tensor = 5}).layers[0].shape[0], (50257 + 4) / 5);
}

// A ring of t ranks carries 2 (t - 1) / t of the activations in each of 4 sums a block, 6 with full
// recomputation, beside those of the table and the head.
TEST(TensorParallelism, SendsTheSumsOfItsActivations) {
  const auto bytes = [](const std::string& overlap, const std::string& recompute) {
    Scenario scenario = Divided("tp=8," + overlap, 8);
    SetOption(scenario, "clock.recompute", recompute);
    return TimeOneStep(scenario).nic_bytes;
  };
  const double sum = 2.0 * 7 / 8 * 2 * kTokens * kWidth;  // bf16
  const double loss = 2.0 * 7 / 8 * 2 * 3 * kTokens;
  // Beside products the inputs of two products a block, and of the head, are gathered once more.
  for (const char* once : {"overlap=off", "overlap=on,sequence=off"}) {
    EXPECT_EQ(bytes(once, "none"), (4 * kBlocks + 2) * sum + loss) << once;
    EXPECT_EQ(bytes(once, "full"), (6 * kBlocks + 2) * sum + loss) << once;
  }
  EXPECT_EQ(bytes("overlap=on", "none"), (5 * kBlocks + 2.5) * sum + loss);
  EXPECT_EQ(bytes("overlap=on", "full"), (7 * kBlocks + 2.5) * sum + loss);
  EXPECT_EQ(bytes("overlap=all", "none"), (5 * kBlocks + 2.5) * sum + loss);
}

TEST(TensorParallelism, SumsAreExposedWithoutOverlap) {
  const analysis::StepRow row = TimeOneStep(Divided("tp=8,overlap=off", 8));
  EXPECT_GT(row.communication_seconds, 0);
  EXPECT_NEAR(row.step_seconds, row.compute_seconds + row.communication_seconds, 1e-6);
  EXPECT_EQ(row.hidden_seconds.value_or(0), 0);
}

// A block has eight gathers and reduce-scatters, and two gathers more beside products. Four of the
// ten, half of what the eight take, are hidden where links are fast. Where they are slow, as much
// is hidden as the products of both gradients take, of all that is divided by outputs. With `all`
// only the sums of the table of words and of the loss are left.
TEST(TensorParallelism, SumsRunBesideProducts) {
  const auto row = [](const std::string& overlap, const std::string& rate) {
    Scenario scenario = Divided("tp=8," + overlap, 8);
    scenario.topology = "star:rate=" + rate;
    scenario.delay = "0ns";
    return TimeOneStep(scenario);
  };
  const analysis::StepRow off = row("overlap=off", "40000Gbps"),
                          on = row("overlap=on", "40000Gbps");
  const analysis::StepRow reduced = row("overlap=on,sequence=off", "40000Gbps");
  const analysis::StepRow all = row("overlap=all", "40000Gbps");
  const double sums = off.communication_seconds;
  EXPECT_NEAR(on.communication_seconds, 0.75 * sums, 0.003 * sums);
  EXPECT_NEAR(on.hidden_seconds.value(), 0.5 * sums, 0.003 * sums);
  EXPECT_NEAR(reduced.communication_seconds, 0.5 * sums, 0.003 * sums);
  EXPECT_LT(all.communication_seconds, 0.03 * sums);
  EXPECT_NEAR(on.compute_seconds, off.compute_seconds, 1e-6);
  const analysis::StepRow slow = row("overlap=on", "100Gbps"), none = row("overlap=off", "100Gbps");
  EXPECT_NEAR(slow.communication_seconds + slow.hidden_seconds.value(),
              1.25 * none.communication_seconds, 0.003 * none.communication_seconds);
  double products = 0;
  const Device device = *LoadProfile("h100-sxm").device;
  for (const OperationCost& cost :
       DivideTensors(LoadModelShape("llama3-8b"), {.tensor = 8}).costs) {
    if (cost.cut != TensorCut::kColumns) continue;
    products += BackwardSecondsOn(device, {.precision = Precision::kBf16}, cost, 1);
  }
  EXPECT_NEAR(slow.hidden_seconds.value(), products, 1e-3 * products);
}

// Where messages take no time, a pipeline of p stages and m microbatches waits for (p - 1) / m of
// its ideal time, and for a part of that with chunks (Narayanan et al., SC'21, 2.2).
TEST(PipelineParallelism, WaitsForItsBubble) {
  const auto step = [](const std::string& order, int passes) {
    Scenario scenario = Divided("pp=4", 4);
    scenario.layers = "llama2-70b:tokens=128";
    scenario.topology = "star";
    scenario.bandwidth = "900000Gbps";
    scenario.delay = "0ns";
    scenario.accumulate = passes;
    SetOption(scenario, "clock.pipeline", order);
    return TimeOneStep(scenario).step_seconds;
  };
  // The update is in all of them. Stages differ by the table and the head.
  const double whole = step("1f1b", 8), each = (step("1f1b", 16) - whole) / 8;
  EXPECT_NEAR(step("gpipe", 8), whole, 0.1 * each);
  EXPECT_NEAR(whole - step("interleaved:4", 8), (3 - 3.0 / 4) * each, 0.1 * each);
  // Gradients of weights are less than a third of a pass, because attention has none.
  EXPECT_NEAR(whole - step("zb-h1", 8), 3 * 2 * each / 3, 0.3 * each);
}

// Stages send activations to each other: 2 (p - 1) m messages a step, of all positions or a part.
TEST(PipelineParallelism, SendsActivations) {
  const auto bytes = [](const std::string& parallel, int workers) {
    Scenario scenario = Divided(parallel, workers);
    scenario.accumulate = 6;
    return TimeOneStep(scenario).nic_bytes;
  };
  const double message = 2.0 * kTokens * kWidth;
  // A broadcast counts for both of its ends.
  EXPECT_NEAR(bytes("pp=4", 4), 2 * 3 * 6 * message / 4, 1);
  const double sums = bytes("tp=2", 2);
  EXPECT_NEAR(bytes("tp=2,pp=4", 8) * 4, sums + 2 * 3 * 6 * message / 2, 1);
}

// Stages hold parts of the model, whose gradients the data-parallel ranks of each stage sum.
TEST(Parallelism, ReducesTheGradientsOfEachPart) {
  const auto bytes = [](const std::string& parallel, int workers, const std::string& sharding) {
    Scenario scenario = Divided(parallel, workers);
    SetOption(scenario, "clock.sharding", sharding);
    return TimeOneStep(scenario).nic_bytes;
  };
  const ModelShape shape = LoadModelShape("llama3-8b");
  const double ring = 2.0 * 3 / 4 * 4 * static_cast<double>(shape.Elements());
  const double message = 2 * 1 * 2.0 * kTokens * kWidth;
  EXPECT_NEAR(bytes("pp=2", 8, "none"), (ring + message) / 2, 1e-4 * ring);
  // Reduce-scatter of fp32, and gathers of bf16.
  EXPECT_NEAR(bytes("pp=2", 8, "megatron"), (ring * 3 / 4 + message) / 2, 1e-4 * ring);
  EXPECT_EQ(bytes("pp=2", 2, "none"), message / 2) << "one copy has nothing to sum";
}

TEST(Parallelism, MessagesGoToTheOwnersOfEachPart) {
  Scenario scenario = Divided("tp=4,pp=2", 32);
  SetOption(scenario, "clock.sharding", "megatron");
  const double dense = TimeOneStep(scenario).nic_bytes;
  scenario.policies = {"topk"};
  const double topk = TimeOneStep(scenario).nic_bytes;
  EXPECT_LT(topk, dense);
  SetOption(scenario, "clock.sharding", "none");
  EXPECT_NE(MessageOf([&] { TimeOneStep(scenario); }).find("with sharding messages to the owners"),
            std::string::npos);
  SetOption(scenario, "clock.sharding", "megatron");
  scenario.stragglers = "fixed:count=1,factor=1.5";
  const analysis::StepRow slow = TimeOneStep(scenario);
  EXPECT_EQ(slow.nic_bytes, topk);
}

TEST(Parallelism, RefusesWhatIsNoLayout) {
  const auto complaint = [](const std::string& parallel, const std::string& key,
                            const std::string& value) {
    return MessageOf([&] {
      Scenario scenario = Divided(parallel, 8);
      SetOption(scenario, key, value);
      ValidateScenario(scenario);
    });
  };
  EXPECT_EQ(complaint("tp=3", "training.workers", "8"),
            "clock.parallel: got 'tp=3'; allowed: a divisor of the 32 heads of llama3-8b");
  EXPECT_EQ(complaint("tp=8,pp=2", "training.workers", "8"),
            "training.workers: got '8'; allowed: a multiple of 16, the ranks of tp times pp");
  EXPECT_EQ(complaint("pp=64", "training.workers", "64"),
            "clock.parallel: got '64 parts of the model'; allowed: at most 32, the model's blocks");
  EXPECT_NE(complaint("tp=8", "training.layers", "").find("training.layers (--layers) names a "),
            std::string::npos);
  EXPECT_NE(complaint("tp=8", "training.layers", "resnet50").find("does not say how"),
            std::string::npos);
  EXPECT_NE(complaint("tp=8", "clock.pipeline", "gpipe").find("1f1b without stages"),
            std::string::npos);
  EXPECT_NE(complaint("pp=4", "clock.pipeline", "interleaved:2").find("a multiple of the 4 stages"),
            std::string::npos);
  EXPECT_NE(complaint("pp=4", "clock.pipeline", "2f2b").find("interleaved:V with V chunks"),
            std::string::npos);
  EXPECT_NE(complaint("tp=2,dp=4", "training.workers", "8").find("dp"), std::string::npos);
}

}  // namespace
}  // namespace legacy::parallel_test
