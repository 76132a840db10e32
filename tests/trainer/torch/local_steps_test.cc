// Local steps and outer optimizers: against LibTorch's optimizers, in limits, and what is charged.
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "base/error.h"
#include "tests/trainer/torch/emulated_accelerator.h"
#include "trainer/data/sampler.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::local_steps_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kWorkers = 3;
constexpr OuterOptions kDiLoCo = {.rate = 0.7, .momentum = 0.9, .nesterov = true};
constexpr AdaptiveOptions kAdamW = {.kind = OptimizerKind::kAdamW, .beta2 = 0.95};

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

ModelRequest SmallCnn() { return Glyphs().RequestFor("small-cnn", 5); }

TrainingOptions SmallOptions() {
  TrainingOptions options;
  options.workers = kWorkers;
  options.batch_size = 4;
  options.total_steps = 20;
  options.seed = 11;
  options.sgd.momentum = 0;
  options.schedule.learning_rate = 0.05;
  return options;
}

Training Make(const TrainingOptions& options, const char* scheme = "dense", double parameter = 1) {
  return Training(options, Glyphs(), SmallCnn(), MakeUniformPolicy(parameter), MakeScheme(scheme));
}

std::vector<float> WeightsAfter(const TrainingOptions& options, int steps) {
  Training training = Make(options);
  for (int s = 0; s < steps; ++s) training.Step();
  return training.Weights();
}

double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

std::vector<float> Flat(const std::vector<torch::Tensor>& parameters) {
  std::vector<float> weights;
  for (const torch::Tensor& parameter : parameters) {
    const float* data = parameter.data_ptr<float>();
    weights.insert(weights.end(), data, data + parameter.numel());
  }
  return weights;
}

// DiLoCo as its paper writes it: an AdamW for each worker, whose state stays, and LibTorch's
// Nesterov SGD over the workers' movements.
std::vector<float> PlainDiLoCo(const TrainingOptions& options, int steps) {
  UseOneThread();
  std::vector<std::shared_ptr<Model>> models;
  std::vector<std::unique_ptr<torch::optim::AdamW>> inner;
  for (int w = 0; w < kWorkers; ++w) {
    models.push_back(MakeModel(SmallCnn()));
    inner.push_back(std::make_unique<torch::optim::AdamW>(
        models.back()->parameters(), torch::optim::AdamWOptions(options.schedule.learning_rate)
                                         .betas({options.optimizer.beta1, options.optimizer.beta2})
                                         .eps(options.optimizer.epsilon)
                                         .weight_decay(options.sgd.weight_decay)));
  }
  std::vector<torch::Tensor> agreed;
  for (const torch::Tensor& parameter : models[0]->parameters()) {
    agreed.push_back(parameter.detach().clone().requires_grad_(true));
  }
  torch::optim::SGD outer(
      agreed, torch::optim::SGDOptions(kDiLoCo.rate).momentum(kDiLoCo.momentum).nesterov(true));
  Sampler sampler(Glyphs().images().train_labels.size(0), kWorkers, options.batch_size,
                  options.seed);
  for (int step = 0; step < steps; ++step) {
    sampler.Seek(step);
    for (int w = 0; w < kWorkers; ++w) {
      const Batch batch = TrainingBatch(Glyphs().images(), sampler.Batch(w), std::nullopt);
      inner[w]->zero_grad();
      torch::nn::functional::cross_entropy(models[w]->Forward(batch.inputs), batch.targets)
          .backward();
      inner[w]->step();
    }
    if ((step + 1) % options.local_steps != 0) continue;
    const torch::NoGradGuard no_grad;
    for (size_t l = 0; l < agreed.size(); ++l) {
      torch::Tensor mean = torch::zeros_like(agreed[l]);
      for (const auto& model : models) mean += (agreed[l] - model->parameters()[l]) / kWorkers;
      agreed[l].mutable_grad() = mean;
    }
    outer.step();
    for (const auto& model : models) {
      for (size_t l = 0; l < agreed.size(); ++l) model->parameters()[l].copy_(agreed[l]);
    }
  }
  return Flat(agreed);
}

TEST(LocalSteps, DiLoCoIsAdamWUnderNesterov) {
  TrainingOptions options = SmallOptions();
  options.local_steps = 2;
  options.outer = kDiLoCo;
  options.optimizer = kAdamW;
  options.optimizer.epsilon = 1e-4;
  options.sgd.weight_decay = 0.1;
  options.schedule.learning_rate = 1e-3;
  const auto ours = WeightsAfter(options, 8);
  EXPECT_LT(Difference(ours, PlainDiLoCo(options, 8)), 2e-5);
  EXPECT_GT(Difference(ours, PlainDiLoCo(options, 6)), 1e-3) << "it does train";
  options.outer->nesterov = false;
  EXPECT_GT(Difference(ours, WeightsAfter(options, 8)), 1e-3);
}

// Local SGD: each worker trains a model of its own by LibTorch's SGD, and every third step all get
// the mean of the weights. Momentum is each worker's own.
TEST(LocalSteps, WithoutOuterOptimizerTheyAreMeansOfModels) {
  for (const double momentum : {0.0, 0.9}) {
    TrainingOptions options = SmallOptions();
    options.local_steps = 3;
    options.sgd.momentum = momentum;
    UseOneThread();
    std::vector<std::shared_ptr<Model>> models;
    std::vector<std::unique_ptr<torch::optim::SGD>> inner;
    for (int w = 0; w < kWorkers; ++w) {
      models.push_back(MakeModel(SmallCnn()));
      inner.push_back(std::make_unique<torch::optim::SGD>(
          models.back()->parameters(),
          torch::optim::SGDOptions(options.schedule.learning_rate).momentum(momentum)));
    }
    Sampler sampler(Glyphs().images().train_labels.size(0), kWorkers, options.batch_size,
                    options.seed);
    for (int step = 0; step < 9; ++step) {
      sampler.Seek(step);
      for (int w = 0; w < kWorkers; ++w) {
        const Batch batch = TrainingBatch(Glyphs().images(), sampler.Batch(w), std::nullopt);
        inner[w]->zero_grad();
        torch::nn::functional::cross_entropy(models[w]->Forward(batch.inputs), batch.targets)
            .backward();
        inner[w]->step();
      }
      if ((step + 1) % options.local_steps != 0) continue;
      const torch::NoGradGuard no_grad;
      for (size_t l = 0; l < models[0]->parameters().size(); ++l) {
        torch::Tensor mean = torch::zeros_like(models[0]->parameters()[l]);
        for (const auto& model : models) mean += model->parameters()[l] / kWorkers;
        for (const auto& model : models) model->parameters()[l].copy_(mean);
      }
    }
    const auto ours = WeightsAfter(options, 9);
    EXPECT_LT(Difference(ours, Flat(models[0]->parameters())), 2e-5) << momentum;
    EXPECT_GT(Difference(ours, WeightsAfter(options, 6)), 1e-3) << "it does train";
  }
}

// One step between exchanges, SGD without momentum, outer rate 1 and no outer momentum is data
// parallelism.
TEST(LocalSteps, OneStepIsDataParallelism) {
  TrainingOptions options = SmallOptions();
  const auto parallel = WeightsAfter(options, 6);
  options.outer = OuterOptions();
  const auto local = WeightsAfter(options, 6);
  EXPECT_LT(Difference(local, parallel), 1e-6);
  EXPECT_NE(local, parallel) << "weights of 0.1 and updates of 0.01 round differently";
  options.outer = OuterOptions{.rate = 0.5};
  EXPECT_GT(Difference(WeightsAfter(options, 6), parallel), 1e-3);
}

// Without a rate or momentum of its own, an outer optimizer changes nothing, to the bit.
TEST(LocalSteps, PlainOuterIsLocalSgd) {
  TrainingOptions options = SmallOptions();
  options.local_steps = 3;
  const auto local = WeightsAfter(options, 6);
  options.outer = OuterOptions{.rate = 1, .momentum = 0};
  EXPECT_EQ(WeightsAfter(options, 6), local);
}

// SparseLoCo: what a worker sends and what it keeps add up to its movement and a part of what it
// kept before.
TEST(LocalSteps, SparseLoCoForgetsResiduals) {
  constexpr float kDecay = 0.5f;
  TrainingOptions options = SmallOptions();
  options.workers = 1;
  options.local_steps = 2;
  options.outer = OuterOptions();
  options.scope = Scope::kModel;
  Training training = Make(options, "topk:decay=0.5+maxmin:bits=2", 0.03);
  std::vector<float> before = training.Weights(), residual(before.size());
  std::vector<float> moved;
  for (int exchange = 0; exchange < 3; ++exchange) {
    training.Step();
    // The last local step happens within Step(): repeat it on a copy of the gradient.
    training.SetGradientHook([&](int64_t, int, std::span<const float> gradient) {
      moved = Flat(training.Replica(0).parameters());
      for (size_t i = 0; i < moved.size(); ++i) {
        moved[i] = before[i] - (moved[i] - 0.05f * gradient[i]);
      }
    });
    training.Step();
    training.SetGradientHook({});
    const auto after = training.Weights();
    const auto kept = training.Residual(0, 0);
    for (size_t i = 0; i < kept.size(); ++i) {
      const float sent = before[i] - after[i];
      ASSERT_NEAR(sent + kept[i], moved[i] + kDecay * residual[i], 1e-6) << exchange;
    }
    before = after;
    residual = kept;
  }
}

TEST(LocalSteps, WhatCannotBeIsRefused) {
  TrainingOptions options = SmallOptions();
  options.outer = kDiLoCo;
  EXPECT_THAT([&] { Make(options, "dgc", 0.1); },
              ThrowsMessage<Error>(HasSubstr("outer momentum")));
  options.outer->momentum = 0;
  options.outer->nesterov = false;
  EXPECT_NO_THROW(Make(options, "dgc", 0.1));
  Training training = Make(options);
  EXPECT_THAT(
      [&] {
        training.Step(std::vector<int>{0, 2});
      },
      ThrowsMessage<Error>(HasSubstr("where workers may be dropped")));
}

// Elements of each kernel, in multiples of the model's.
using Passes = std::map<std::string, double>;

void Add(const WorkList& work, double model, Passes& passes) {
  for (const Work& part : work) passes[part.kernel] += static_cast<double>(part.elements) / model;
}

// Kernels of a step that count their calls.
class CountingKernels : public StepKernels {
 public:
  CountingKernels(std::unique_ptr<StepKernels> kernels, Passes& passes)
      : kernels_(std::move(kernels)), passes_(passes) {}
  void FindLargest(const float* gradient, uint32_t* largest, uint32_t* first) override {
    kernels_->FindLargest(gradient, largest, first);
  }
  void Clip(float* gradient, double limit) override {
    ++passes_["clip"];
    kernels_->Clip(gradient, limit);
  }
  void Update(MomentumKind kind, const SgdRates& rates, const SgdArrays& arrays) override {
    ++passes_[kind == MomentumKind::kNone ? "update" : "optimizer.sgd"];
    kernels_->Update(kind, rates, arrays);
  }

 private:
  std::unique_ptr<StepKernels> kernels_;
  Passes& passes_;
};

class CountingAccelerator : public test::EmulatedAccelerator {
 public:
  std::unique_ptr<StepKernels> Kernels(std::span<const Unit> layers) override {
    return std::make_unique<CountingKernels>(EmulatedAccelerator::Kernels(layers), passes);
  }
  Passes passes;
};

// The work that is charged over some steps is the work that a device does: kernels are counted by
// their calls, and LibTorch's operations on whole models by its observers.
TEST(LocalSteps, TheClockChargesWhatIsDone) {
  constexpr int kSteps = 6;
  const auto device = std::make_shared<CountingAccelerator>();
  TrainingOptions options = SmallOptions();
  options.workers = 1;  // as many devices as the training has
  options.local_steps = 3;
  options.outer = kDiLoCo;
  options.sgd.momentum = 0.9;
  options.clip_worker = 1e-3;
  options.accelerator = device;
  Training training = Make(options);
  const auto model = static_cast<double>(training.Weights().size());
  static Passes* counted;
  static int64_t numel;
  counted = &device->passes;
  numel = static_cast<int64_t>(model);
  device->passes.clear();
  const auto handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback([](const at::RecordFunction& call) {
                                   const std::string name = call.name();
                                   if (name != "aten::sub" && name != "aten::copy_")
                                     return std::unique_ptr<at::ObserverContext>();
                                   const c10::IValue first = *call.inputs().begin();
                                   if (first.isTensor() && first.toTensor().numel() == numel) {
                                     ++(*counted)[name == "aten::sub" ? "accumulate" : "copy"];
                                   }
                                   return std::unique_ptr<at::ObserverContext>();
                                 }).needsInputs(true));
  Passes charged;
  for (int step = 0; step < kSteps; ++step) {
    const StepOutcome outcome = training.Step();
    const bool exchanges = (step + 1) % options.local_steps == 0;
    EXPECT_EQ(outcome.work.buckets.empty(), !exchanges);
    EXPECT_EQ(outcome.work.whole_gradient.empty(), !exchanges);
    ASSERT_TRUE(outcome.work.update);
    Add(*outcome.work.update, model, charged);
    Add(outcome.work.whole_gradient, model, charged);
  }
  at::removeCallback(handle);
  EXPECT_EQ(charged, device->passes);
  EXPECT_EQ(
      charged,
      (Passes{{"clip", kSteps}, {"optimizer.sgd", kSteps + 2}, {"accumulate", 2}, {"copy", 2}}));
}

// The mean is clipped only in steps with an exchange, and charged there.
TEST(LocalSteps, TheMeanIsClippedAtExchanges) {
  constexpr double kNorm = 1e-3;
  TrainingOptions options = SmallOptions();
  options.local_steps = 2;
  options.clip_mean = kNorm;
  options.outer = OuterOptions{.rate = 0.5};
  Training training = Make(options);
  const WorkList inner = *training.Step().work.update;
  ASSERT_EQ(inner.size(), 1u);
  EXPECT_EQ(inner[0].kernel, "optimizer.sgd");
  std::vector<std::string> kernels;
  const WorkList exchange = *training.Step().work.update;
  for (const Work& work : exchange) kernels.push_back(work.kernel);
  EXPECT_EQ(kernels, (std::vector<std::string>{"optimizer.sgd", "clip", "accumulate", "copy"}));
  double squares = 0;
  for (const float value : training.MeanGradient()) squares += double{value} * value;
  EXPECT_NEAR(std::sqrt(squares), kNorm, 1e-6);
}

// On a device the outer update is that of the host, to the bit.
TEST(LocalSteps, ADeviceHasTheBitsOfTheHost) {
  for (const OuterOptions& outer :
       {kDiLoCo, OuterOptions{.rate = 0.7}, OuterOptions{.rate = 1, .momentum = 0.5}}) {
    TrainingOptions options = SmallOptions();
    options.local_steps = 2;
    options.outer = outer;
    const auto host = WeightsAfter(options, 6);
    options.accelerator = std::make_shared<test::EmulatedAccelerator>();
    EXPECT_EQ(WeightsAfter(options, 6), host);
  }
}

}  // namespace
}  // namespace legacy::local_steps_test
