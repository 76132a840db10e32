// Steps of several passes, sums of losses, and exchanged momentum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/trainer/torch/emulated_accelerator.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::passes_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

TrainingOptions SmallOptions() {
  TrainingOptions options;
  options.workers = 2;
  options.batch_size = 4;
  options.total_steps = 20;
  options.seed = 11;
  options.schedule.learning_rate = 0.05;
  return options;
}

Training Make(const TrainingOptions& options, const char* scheme = "dense", double parameter = 1,
              const Task& task = Glyphs()) {
  return Training(options, task, task.RequestFor("small-cnn", 5), MakeUniformPolicy(parameter),
                  MakeScheme(scheme));
}

struct Result {
  std::vector<float> weights;
  std::vector<double> losses;
};

Result After(const TrainingOptions& options, int steps) {
  Training training = Make(options);
  Result result;
  for (int s = 0; s < steps; ++s) result.losses.push_back(training.Step().loss);
  result.weights = training.Weights();
  return result;
}

double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

// Passes over parts of a batch give the gradient of the batch, for a model without batch norm.
TEST(Passes, AddUpToOneBatch) {
  for (const LossReduction loss : {LossReduction::kMean, LossReduction::kSum}) {
    TrainingOptions options = SmallOptions();
    options.batch_size = 12;
    options.loss = loss;
    options.schedule.learning_rate = loss == LossReduction::kMean ? 0.05 : 0.05 / 12;
    const Result whole = After(options, 5);
    for (const int64_t passes : {2, 3, 12}) {
      options.passes = passes;
      options.batch_size = 12 / passes;
      const Result parts = After(options, 5);
      EXPECT_LT(Difference(parts.weights, whole.weights), 2e-6) << passes;
      for (int step = 0; step < 5; ++step) {
        EXPECT_NEAR(parts.losses[step], whole.losses[step], 1e-5);
      }
    }
    EXPECT_GT(Difference(After(options, 4).weights, whole.weights), 1e-3) << "it does train";
  }
}

// The same for a recurrent model, whose passes carry states of their own from window to window.
TEST(Passes, AddUpToOneBatchOfTexts) {
  TaskRequest request;
  request.dataset = "grammar";
  request.window = 8;
  const auto task = LoadTask(request);
  const auto train = [&](int64_t passes) {
    TrainingOptions options = SmallOptions();
    options.passes = passes;
    options.batch_size = 4 / passes;
    options.schedule.learning_rate = 1;
    Training training(options, *task, task->RequestFor("lstm:hidden=12,layers=1,dropout=0", 5),
                      MakeUniformPolicy(1), MakeScheme("dense"));
    for (int step = 0; step < 6; ++step) training.Step();
    return training.Weights();
  };
  const std::vector<float> whole = train(1);
  EXPECT_LT(Difference(train(2), whole), 2e-6);
  EXPECT_LT(Difference(train(4), whole), 2e-6);
}

// The sum of a step's losses at a rate that is divided by their number is their mean. LEGACY's and
// DAWNBench's recipes are written in this way.
TEST(Passes, TheSumOfLossesIsTheirMeanAtAnotherRate) {
  TrainingOptions options = SmallOptions();
  options.passes = 2;
  options.sgd = {.momentum = 0.9, .weight_decay = 5e-4};
  const Result mean = After(options, 5);
  options.loss = LossReduction::kSum;
  options.schedule.learning_rate /= 8;
  options.sgd.weight_decay *= 8;
  const Result sum = After(options, 5);
  EXPECT_LT(Difference(sum.weights, mean.weights), 2e-6);
  EXPECT_NEAR(sum.losses.back(), mean.losses.back(), 1e-5) << "reported losses are means";
}

// A feed whose steps continue from one another, as those of texts do.
class OneEpoch : public Feed {
 public:
  explicit OneEpoch(std::unique_ptr<Feed> feed) : feed_(std::move(feed)) {}
  int64_t StepsPerEpoch() const override { return feed_->StepsPerEpoch(); }
  void Seek(int64_t step) override {
    step_ = step;
    feed_->Seek(step);
  }
  bool Begins() const override { return step_ == 0; }
  Batch Get(int worker) const override { return feed_->Get(worker); }

 private:
  std::unique_ptr<Feed> feed_;
  int64_t step_ = 0;
};

// A task whose states count the passes that continued from them.
class CountingTask : public Classification {
 public:
  CountingTask() : Classification(LoadDataset({"glyphs", "", 64, 20})) {}
  std::unique_ptr<Feed> Open(const FeedOptions& options) const override {
    return std::make_unique<OneEpoch>(Classification::Open(options));
  }
  torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state, double smoothing,
                     double* squares) const override {
    if (state.empty()) state = {torch::tensor(int64_t{0})};
    visits.push_back(state[0].item<int64_t>());
    state[0] = state[0] + 1;
    return Classification::Loss(model, batch, state, smoothing, squares);
  }
  mutable std::vector<int64_t> visits;
};

// Each pass continues from its own state, not from that of the pass before it.
TEST(Passes, HaveStatesOfTheirOwn) {
  const CountingTask task;
  TrainingOptions options = SmallOptions();
  options.passes = 3;
  Training training = Make(options, "dense", 1, task);
  for (int64_t step = 0; step < 3; ++step) {
    task.visits.clear();
    training.Step();
    EXPECT_EQ(task.visits, std::vector<int64_t>(2 * 3, step)) << "two workers, three passes";
  }
}

TEST(Passes, AreInTheWorkOfAStepAndRefusedOnDevices) {
  TrainingOptions options = SmallOptions();
  options.passes = 3;
  Training training = Make(options);
  const StepOutcome outcome = training.Step();
  EXPECT_EQ(outcome.work.passes, 3);
  EXPECT_EQ(outcome.work.batch_size, 4);
  EXPECT_FALSE(outcome.work.update);
  EXPECT_EQ(training.StepsPerEpoch(), 256 / (2 * 4 * 3));
  options.accelerator = std::make_shared<test::EmulatedAccelerator>();
  EXPECT_THAT([&] { Make(options); }, ThrowsMessage<Error>(HasSubstr("several passes")));
  options.passes = 0;
  EXPECT_THAT([&] { Make(options); }, ThrowsMessage<Error>(HasSubstr("passes: got '0'")));
}

// A sum of losses is that of the host on a device, too.
TEST(Passes, SumsOnADeviceHaveTheBitsOfTheHost) {
  TrainingOptions options = SmallOptions();
  options.loss = LossReduction::kSum;
  options.schedule.learning_rate = 0.01;
  const Result host = After(options, 4);
  options.accelerator = std::make_shared<test::EmulatedAccelerator>();
  EXPECT_EQ(After(options, 4).weights, host.weights);
}

// -------------------------------------------------------------------------------------------------
// Optimizers of decoded means

TrainingOptions AdamWOptions() {
  TrainingOptions options = SmallOptions();
  options.schedule.learning_rate = 1e-3;
  options.sgd = {.momentum = 0, .weight_decay = 0.1};
  options.optimizer = {.kind = OptimizerKind::kAdamW, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3};
  return options;
}

// 1-bit Adam in double precision, on the gradients that the training computed.
class OneBitAdam {
 public:
  OneBitAdam(const TrainingOptions& options, int64_t warmup, std::span<const Unit> layers,
             const std::vector<float>& weights)
      : options_(options),
        warmup_(warmup),
        layers_(layers.begin(), layers.end()),
        weights_(weights.begin(), weights.end()),
        mean_(weights.size()),
        square_(weights.size()),
        owners_(weights.size()),
        residuals_(static_cast<size_t>(options.workers), std::vector<double>(weights.size())) {}

  void Step(int64_t step, const std::vector<std::vector<float>>& gradients) {
    const auto& [kind, beta1, beta2, epsilon] = options_.optimizer;
    const double rate = options_.schedule.learning_rate;
    const auto count = static_cast<double>(gradients.size());
    std::vector<double> sum(weights_.size());
    for (size_t w = 0; w < gradients.size(); ++w) {
      std::vector<double> sent(gradients[w].begin(), gradients[w].end());
      if (step >= warmup_) {
        for (size_t i = 0; i < sent.size(); ++i) {
          sent[i] = square_[i] > 0 ? beta1 * mean_[i] + (1 - beta1) * sent[i] : 0;
          sent[i] = residuals_[w][i] += sent[i];
        }
        for (const Unit& layer : layers_) Sign(sent, layer.offset, layer.offset + layer.numel);
        for (size_t i = 0; i < sent.size(); ++i) residuals_[w][i] -= sent[i];
      }
      for (size_t i = 0; i < sent.size(); ++i) sum[i] += sent[i] / count;
    }
    if (step >= warmup_) {
      for (size_t i = 0; i < sum.size(); ++i) owners_[i] = sum[i] += owners_[i];
      for (const Unit& layer : layers_) {
        const auto owners = static_cast<int64_t>(gradients.size());
        const int64_t slice = (layer.numel + owners - 1) / owners;
        for (int64_t begin = 0; begin < layer.numel; begin += slice) {
          Sign(sum, layer.offset + begin, layer.offset + std::min(begin + slice, layer.numel));
        }
      }
      for (size_t i = 0; i < sum.size(); ++i) owners_[i] -= sum[i];
    }
    const auto updates = static_cast<double>(step + 1);
    const auto kept = static_cast<double>(std::min(step + 1, warmup_));
    for (size_t i = 0; i < sum.size(); ++i) {
      if (step < warmup_) {
        mean_[i] = beta1 * mean_[i] + (1 - beta1) * sum[i];
        square_[i] = beta2 * square_[i] + (1 - beta2) * sum[i] * sum[i];
      } else {
        mean_[i] = square_[i] > 0 ? sum[i] : 0;
      }
      const double m = mean_[i] / (1 - std::pow(beta1, updates));
      const double v = square_[i] / (1 - std::pow(beta2, kept));
      weights_[i] -=
          rate * (m / (std::sqrt(v) + epsilon) + options_.sgd.weight_decay * weights_[i]);
    }
  }

  const std::vector<double>& weights() const { return weights_; }

 private:
  static void Sign(std::vector<double>& values, int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += std::abs(values[i]);
    const double scale = sum / static_cast<double>(end - begin);
    for (int64_t i = begin; i < end; ++i) values[i] = values[i] < 0 ? -scale : scale;
  }

  TrainingOptions options_;
  int64_t warmup_;
  std::vector<Unit> layers_;
  std::vector<double> weights_, mean_, square_, owners_;
  std::vector<std::vector<double>> residuals_;
};

TEST(OneBitAdam, IsThatOfItsEquations) {
  constexpr int64_t kWarmup = 3;
  const TrainingOptions options = AdamWOptions();
  Training training = Make(options, "onebit-adam:warmup=3");
  OneBitAdam expected(options, kWarmup, training.Layers(), training.Weights());
  std::vector<std::vector<float>> gradients(static_cast<size_t>(options.workers));
  training.SetGradientHook([&](int64_t, int worker, std::span<const float> gradient) {
    gradients[static_cast<size_t>(worker)].assign(gradient.begin(), gradient.end());
  });
  double moved = 0;
  for (int64_t step = 0; step < 9; ++step) {
    const std::vector<float> before = training.Weights();
    const StepOutcome outcome = training.Step();
    expected.Step(step, gradients);
    const std::vector<float> weights = training.Weights();
    moved = Difference(weights, before);
    // Signs of values near zero may differ from those in double precision.
    int64_t apart = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      apart += std::abs(weights[i] - expected.weights()[i]) > 1e-5;
    }
    EXPECT_LE(apart, step < kWarmup ? 0 : 3) << step;
    EXPECT_EQ(outcome.work.update.has_value(), step >= kWarmup);
  }
  EXPECT_GT(moved, 1e-3);
}

TEST(OneBitAdam, WarmsUpAsAdam) {
  TrainingOptions options = AdamWOptions();
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    options.optimizer.kind = kind;
    Training adam = Make(options), one_bit = Make(options, "onebit-adam:warmup=3");
    for (int step = 0; step < 3; ++step) {
      adam.Step();
      one_bit.Step();
      EXPECT_EQ(adam.Weights(), one_bit.Weights());
    }
    adam.Step();
    one_bit.Step();
    EXPECT_NE(adam.Weights(), one_bit.Weights());
  }
}

TEST(OneBitAdam, NeedsAdam) {
  const auto refuses = [](const TrainingOptions& options, const char* what) {
    EXPECT_THAT([&] { Make(options, "onebit-adam"); }, ThrowsMessage<Error>(HasSubstr(what)));
  };
  TrainingOptions options = SmallOptions();
  options.sgd.momentum = 0;
  refuses(options, "optimizer: got 'sgd'; allowed: adam or adamw");
  options.optimizer.kind = OptimizerKind::kLamb;
  refuses(options, "optimizer: got 'lamb'");
  options.optimizer.kind = OptimizerKind::kAdam;
  EXPECT_NO_THROW(Make(options, "onebit-adam"));
  options.clip_mean = 1;
  refuses(options, "clip mean");
  options.clip_mean = 0;
  options.local_steps = 2;
  refuses(options, "local steps: got '2'");
}

// PowerSGD under AdamW, as L-GreCo trains transformers: AdamW takes the decoded mean, and residuals
// stay in units of gradients.
TEST(PowerSgd, IsTakenByAdamW) {
  TrainingOptions options = AdamWOptions();
  options.rescale_residuals = false;
  Training training = Make(options, "powersgd:min_rate=0", 2);
  std::vector<std::vector<float>> gradients(2);
  training.SetGradientHook([&](int64_t, int worker, std::span<const float> gradient) {
    gradients[static_cast<size_t>(worker)].assign(gradient.begin(), gradient.end());
  });
  const std::vector<float> start = training.Weights();
  std::vector<double> weights(start.begin(), start.end()), mean(start.size()), square(start.size());
  const std::vector<Unit> units(training.Units().begin(), training.Units().end());
  std::vector<std::vector<float>> residuals(2, std::vector<float>(start.size()));
  for (int step = 0; step < 6; ++step) {
    training.Step();
    const std::span<const float> decoded = training.MeanGradient();
    const auto& [kind, beta1, beta2, epsilon] = options.optimizer;
    for (size_t i = 0; i < weights.size(); ++i) {
      mean[i] = beta1 * mean[i] + (1 - beta1) * decoded[i];
      square[i] = beta2 * square[i] + (1 - beta2) * double{decoded[i]} * decoded[i];
      const double m = mean[i] / (1 - std::pow(beta1, step + 1));
      const double v = square[i] / (1 - std::pow(beta2, step + 1));
      weights[i] -= 1e-3 * (m / (std::sqrt(v) + epsilon) + 0.1 * weights[i]);
    }
    int64_t left = 0;  // elements whose residuals are not zero
    for (size_t u = 0; u < units.size(); ++u) {
      if (units[u].shape.size() < 2) continue;
      for (int w = 0; w < 2; ++w) {
        const std::vector<float> now = training.Residual(static_cast<int>(u), w);
        for (int64_t i = 0; i < units[u].numel; ++i) {
          const size_t at = static_cast<size_t>(units[u].offset + i);
          ASSERT_NEAR(now[i], residuals[w][at] + gradients[w][at] - decoded[at], 1e-5);
          left += std::abs(now[i]) > 1e-6;
          residuals[w][at] = now[i];
        }
      }
    }
    EXPECT_GT(left, 1000);
  }
  const std::vector<float> result = training.Weights();
  for (size_t i = 0; i < weights.size(); ++i) ASSERT_NEAR(result[i], weights[i], 2e-6);
}

}  // namespace
}  // namespace legacy::passes_test
