// Trainings with weights and gradients in 16 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstring>

#include "base/error.h"
#include "tests/trainer/torch/emulated_accelerator.h"
#include "tests/trainer/torch/thread_processes.h"
#include "trainer/loss_scale.h"
#include "trainer/rounding.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"
#include "trainer/update_work.h"

namespace legacy::precision_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

TrainingOptions OptionsIn(Precision precision) {
  TrainingOptions options;
  options.workers = 3;
  options.batch_size = 4;
  options.total_steps = 20;
  options.seed = 11;
  options.precision = precision;
  options.sgd.momentum = 0;
  options.schedule.learning_rate = 0.05;
  return options;
}

// Makes a training whose gradients overflow in the first steps in fp16: those of the sum of losses.
TrainingOptions Overflowing() {
  TrainingOptions options = OptionsIn(Precision::kFp16);
  options.loss = LossReduction::kSum;
  options.batch_size = 16;
  options.schedule.learning_rate = 0.003;
  return options;
}

Training Make(const TrainingOptions& options, const char* scheme = "dense", double parameter = 1,
              bool error_feedback = false) {
  return Training(options, Glyphs(), Glyphs().RequestFor("small-cnn", 5),
                  MakeUniformPolicy(parameter),
                  MakeScheme(scheme, {.error_feedback = error_feedback}));
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::vector<float> Rounded(Precision precision, std::span<const float> values) {
  std::vector<float> rounded(values.begin(), values.end());
  RoundTo(precision, rounded);
  return rounded;
}

std::vector<float> WeightsOf(const Model& model) {
  std::vector<float> weights;
  for (const torch::Tensor& parameter : model.parameters()) {
    const float* data = parameter.data_ptr<float>();
    weights.insert(weights.end(), data, data + parameter.numel());
  }
  return weights;
}

TEST(Precision, Tf32OnTheHostIsFp32) {
  Training fp32 = Make(OptionsIn(Precision::kFp32)), tf32 = Make(OptionsIn(Precision::kTf32));
  for (int step = 0; step < 3; ++step) EXPECT_EQ(tf32.Step().loss, fp32.Step().loss);
  EXPECT_TRUE(SameBits(tf32.Weights(), fp32.Weights()));
  EXPECT_NE(WeightsOf(fp32.Replica(0)), Rounded(Precision::kBf16, fp32.Weights()));
}

// Passes read rounded weights; the optimizer updates masters, with the mean of rounded gradients.
TEST(Precision, SixteenBitsRoundWeightsAndGradients) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    TrainingOptions options = OptionsIn(precision);
    options.workers = 1;
    Training training = Make(options);
    int updates = 0;
    float scale = LossScale::kFirst;
    for (int step = 0; step < 6; ++step) {
      const std::vector<float> before = training.Weights();
      EXPECT_TRUE(SameBits(WeightsOf(training.Replica(0)), Rounded(precision, before)));
      EXPECT_NE(WeightsOf(training.Replica(0)), before);
      const double rate = training.Step().learning_rate;
      if (SameBits(training.Weights(), before)) {  // an overflow
        scale /= 2;
        continue;
      }
      ++updates;
      const std::vector<float> gradient(training.MeanGradient().begin(),
                                        training.MeanGradient().end());
      std::vector<float> scaled = gradient;
      if (precision == Precision::kFp16) {
        for (float& x : scaled) x *= scale;
      }
      EXPECT_EQ(Rounded(precision, scaled), scaled) << step;
      const std::vector<float> after = training.Weights();
      for (size_t i = 0; i < after.size(); ++i) {
        ASSERT_NEAR(after[i], before[i] - rate * gradient[i], 1e-7) << i;
      }
    }
    EXPECT_GE(updates, 3) << "it does train";
  }
}

// The gradient is LibTorch's own of a model with rounded weights.
TEST(Precision, PassesComputeWithRoundedWeights) {
  TrainingOptions options = OptionsIn(Precision::kBf16);
  options.workers = 1;
  Training rounded = Make(options);
  options.precision = Precision::kFp32;
  Training plain = Make(options);
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : plain.Replica(0).parameters()) {
    torch::Tensor(parameter).copy_(parameter.to(torch::kBFloat16));
  }
  EXPECT_EQ(rounded.Step().loss, plain.Step().loss);
  EXPECT_TRUE(SameBits(rounded.MeanGradient(), Rounded(Precision::kBf16, plain.MeanGradient())));
}

TEST(Precision, GradientsOfPassesAreRoundedAndAddedInFp32) {
  TrainingOptions options = OptionsIn(Precision::kBf16);
  options.workers = 1;
  options.passes = 2;
  Training two = Make(options);
  two.Step();
  EXPECT_NE(Rounded(Precision::kBf16, two.MeanGradient()),
            std::vector<float>(two.MeanGradient().begin(), two.MeanGradient().end()));
}

// Returns the weights after some steps, of any number of threads and processes.
std::vector<float> Trained(TrainingOptions options, const char* scheme, double parameter,
                           int processes) {
  constexpr int kSteps = 8;
  std::vector<float> weights;
  if (processes == 1) {
    Training training = Make(options, scheme, parameter, true);
    for (int step = 0; step < kSteps; ++step) training.Step();
    return training.Weights();
  }
  test::ThreadProcesses group(processes);
  const std::string reason = group.Run([&](int rank) {
    UseOneThread();
    TrainingOptions own = options;
    own.processes = &group[rank];
    Training training = Make(own, scheme, parameter, true);
    for (int step = 0; step < kSteps; ++step) training.Step();
    if (rank == 1) weights = training.Weights();
  });
  EXPECT_EQ(reason, "");
  return weights;
}

TEST(Precision, ThreadsAndProcessesDoNotChangeABit) {
  for (const auto& [scheme, parameter] :
       {std::pair{"bf16:reduction=hop", 1.0}, {"fp16", 1.0}, {"topk", 0.05}}) {
    for (TrainingOptions options : {OptionsIn(Precision::kBf16), Overflowing()}) {
      const std::vector<float> expected = Trained(options, scheme, parameter, 1);
      options.threads = 3;
      EXPECT_TRUE(SameBits(Trained(options, scheme, parameter, 1), expected)) << scheme;
      EXPECT_TRUE(SameBits(Trained(options, scheme, parameter, 2), expected)) << scheme;
    }
  }
}

TEST(Precision, AStepThatOverflowsUpdatesNothing) {
  for (const auto kind : {OptimizerKind::kSgd, OptimizerKind::kAdam}) {
    TrainingOptions options = Overflowing();
    options.optimizer.kind = kind;
    Training training = Make(options, "topk", 0.05, true);
    const std::vector<float> first = training.Weights();
    const std::vector<float> before = training.Residual(0, 1);
    const StepOutcome outcome = training.Step();
    EXPECT_TRUE(SameBits(training.Weights(), first)) << "it overflows";
    EXPECT_EQ(training.Residual(0, 1), before);
    EXPECT_GT(outcome.work.MessageBytes(0), 0) << "workers learn of it after the exchange";
    int skipped = 1;
    while (SameBits(training.Weights(), first)) {
      ASSERT_LT(skipped, 20);
      training.Step();
      ++skipped;
    }
    EXPECT_GT(skipped, 2);
    EXPECT_NE(training.Residual(0, 1), before);
    if (kind == OptimizerKind::kSgd) continue;
    // Adam counts updates, so that its first one moves each weight by about the rate.
    float most = 0;
    const std::vector<float> after = training.Weights();
    for (size_t i = 0; i < after.size(); ++i) most = std::max(most, std::abs(after[i] - first[i]));
    EXPECT_NEAR(most, 0.003, 3e-5);
  }
}

TEST(Precision, LocalModelsHaveMastersOfTheirOwn) {
  TrainingOptions options = OptionsIn(Precision::kBf16);
  options.local_steps = 2;
  options.outer = OuterOptions{.rate = 0.7, .momentum = 0.9, .nesterov = true};
  Training training = Make(options);
  training.Step();
  const std::vector<float> own = WeightsOf(training.Replica(1));
  EXPECT_EQ(Rounded(Precision::kBf16, own), own);
  EXPECT_NE(own, WeightsOf(training.Replica(2)));
  training.Evaluate();
  EXPECT_EQ(WeightsOf(training.Replica(1)), own);
  training.Step();
  EXPECT_NE(Rounded(Precision::kBf16, training.Weights()), training.Weights());
  EXPECT_EQ(WeightsOf(training.Replica(1)), Rounded(Precision::kBf16, training.Weights()));
}

TEST(Precision, WhatCannotBeIsRefused) {
  TrainingOptions options = OptionsIn(Precision::kFp16);
  options.local_steps = 2;
  EXPECT_THAT([&] { Make(options); },
              ThrowsMessage<Error>(HasSubstr("precision: got 'fp16'; allowed: bf16")));
  options = OptionsIn(Precision::kFp16);
  options.optimizer.kind = OptimizerKind::kAdam;
  EXPECT_THAT([&] { Make(options, "onebit-adam:warmup=2", 1, true); },
              ThrowsMessage<Error>(HasSubstr("exchanges the optimizer's momentum")));
  options = OptionsIn(Precision::kFp16);
  options.accelerator = std::make_shared<test::EmulatedAccelerator>();
  EXPECT_THAT([&] { Make(options); }, ThrowsMessage<Error>(HasSubstr("cpu in fp16")));
}

TEST(Precision, Tf32IsTheAcceleratorsBusiness) {
  const auto accelerator = std::make_shared<test::EmulatedAccelerator>();
  for (const Precision precision : {Precision::kTf32, Precision::kFp32}) {
    TrainingOptions options = OptionsIn(precision);
    options.accelerator = accelerator;
    Training training = Make(options);
    training.Step();
    EXPECT_EQ(accelerator->tf32, precision == Precision::kTf32);
  }
}

// Returns the kernels of the first call's encoding, of one bucket.
std::string Encoding(Precision precision, const char* scheme, double parameter = 1) {
  TrainingOptions options = OptionsIn(precision);
  options.scope = Scope::kModel;
  Training training = Make(options, scheme, parameter);
  const StepOutcome outcome = training.Step();
  const int64_t elements = training.Units().front().numel;
  std::string text;
  for (const Work& work : outcome.work.buckets.front().calls.front().encode) {
    if (work.kernel.find("cast") == std::string::npos && work.kernel != "copy") continue;
    text += work.kernel + (work.elements == elements ? " all, " : " half, ");
  }
  return text;
}

TEST(Precision, CastsAreCharged) {
  EXPECT_EQ(Encoding(Precision::kFp32, "dense"), "copy all, ");
  EXPECT_EQ(Encoding(Precision::kTf32, "dense"), "copy all, ");
  EXPECT_EQ(Encoding(Precision::kBf16, "dense"), "cast.decode all, ");
  EXPECT_EQ(Encoding(Precision::kFp32, "bf16"), "cast.encode all, ");
  EXPECT_EQ(Encoding(Precision::kBf16, "bf16:reduction=hop"), "copy half, ");
  EXPECT_EQ(Encoding(Precision::kBf16, "topk", 0.05), "cast.decode all, ");
  EXPECT_EQ(Encoding(Precision::kFp32, "topk", 0.05), "");
}

TEST(Precision, RoundingIsPartOfOwnUpdates) {
  const auto scheme = MakeScheme("dense", {.error_feedback = false});
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    TrainingOptions options = OptionsIn(precision);
    options.local_steps = 2;
    for (const bool exchanges : {true, false}) {
      StepWork work;
      WriteUpdateWork({*scheme, options, 0, exchanges, 100}, work);
      EXPECT_EQ(work.update->back().kernel == kRoundKernel, precision == Precision::kBf16);
    }
  }
}

}  // namespace
}  // namespace legacy::precision_test
