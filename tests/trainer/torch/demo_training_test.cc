// DeMo in a training: its update, and what it needs of the optimizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/exchange.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::demo_training_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Training Make(const TrainingOptions& options, const char* scheme) {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return Training(options, task, task.RequestFor("small-cnn", 5), MakeUniformPolicy(1),
                  MakeScheme(scheme));
}

TrainingOptions SignOptions() {
  TrainingOptions options;
  options.workers = 2;
  options.batch_size = 4;
  options.total_steps = 20;
  options.seed = 11;
  options.schedule.learning_rate = 1e-3;
  options.sgd = {.momentum = 0, .weight_decay = 0.1};
  options.optimizer.kind = OptimizerKind::kSign;
  return options;
}

// With all coefficients and without momentum, the update has the sign of the mean gradient.
TEST(Demo, OfAllCoefficientsIsSignDescent) {
  const TrainingOptions options = SignOptions();
  Training training = Make(options, "demo:k=1000000,beta=0,aggregate=all");
  std::vector<std::vector<float>> gradients(static_cast<size_t>(options.workers));
  training.SetGradientHook([&](int64_t, int worker, std::span<const float> gradient) {
    gradients[static_cast<size_t>(worker)].assign(gradient.begin(), gradient.end());
  });
  for (int64_t step = 0; step < 3; ++step) {
    const std::vector<float> before = training.Weights();
    const double rate = training.Step().learning_rate;
    const std::vector<float> weights = training.Weights();
    int64_t apart = 0, seen = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      double sum = 0;
      for (const auto& gradient : gradients) sum += gradient[i];
      if (std::abs(sum) < 1e-4) continue;  // transforms round zeros, too
      ++seen;
      const double expected = before[i] * (1 - rate * 0.1) - rate * ((sum > 0) - (sum < 0));
      apart += std::abs(weights[i] - expected) > 1e-6;
    }
    EXPECT_GT(seen, std::ssize(weights) / 4) << step;
    EXPECT_LE(apart, seen / 1000) << step;
  }
}

TEST(Demo, NeedsItsOptimizer) {
  const auto refuses = [](const TrainingOptions& options, const char* scheme, const char* what) {
    EXPECT_THAT([&] { Make(options, scheme); }, ThrowsMessage<Error>(HasSubstr(what)));
  };
  TrainingOptions options = SignOptions();
  EXPECT_NO_THROW(Make(options, "demo"));
  refuses(options, "demo:sign=off", "optimizer: got 'sign'; allowed: sgd with scheme demo");
  options.optimizer.kind = OptimizerKind::kSgd;
  EXPECT_NO_THROW(Make(options, "demo:sign=off"));
  refuses(options, "demo", "optimizer: got 'sgd'; allowed: sign with scheme demo");
  options.sgd.momentum = 0.9;
  refuses(options, "demo:sign=off", "momentum: got '0.9");
  options = SignOptions();
  options.local_steps = 2;
  refuses(options, "demo", "local steps: got '2'");
}

}  // namespace
}  // namespace legacy::demo_training_test
