// The adaptive optimizers against their equations in double precision; training_test.cc compares
// Adam and AdamW with LibTorch's.
#include "trainer/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace legacy::optimizer_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kSteps = 5;
constexpr double kRate = 0.1;
constexpr double kDecay = 0.01;
const AdaptiveOptions kLamb = {.kind = OptimizerKind::kLamb, .beta1 = 0.8, .beta2 = 0.9};

std::vector<float> Drawn(int64_t numel, uint64_t step) {
  RandomStream random({.seed = 3, .step = step});
  std::vector<float> values(static_cast<size_t>(numel));
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

// LAMB on one layer, as algorithm 2 of its paper has it.
std::vector<double> Lamb(std::vector<double> weights, double decay) {
  const size_t numel = weights.size();
  std::vector<double> mean(numel), square(numel), direction(numel);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<float> gradient = Drawn(static_cast<int64_t>(numel), step + 1);
    double weight_norm = 0, direction_norm = 0;
    for (size_t i = 0; i < numel; ++i) {
      mean[i] = kLamb.beta1 * mean[i] + (1 - kLamb.beta1) * gradient[i];
      square[i] = kLamb.beta2 * square[i] + (1 - kLamb.beta2) * gradient[i] * gradient[i];
      const double m = mean[i] / (1 - std::pow(kLamb.beta1, step + 1));
      const double v = square[i] / (1 - std::pow(kLamb.beta2, step + 1));
      direction[i] = m / (std::sqrt(v) + kLamb.epsilon) + decay * weights[i];
      weight_norm += weights[i] * weights[i];
      direction_norm += direction[i] * direction[i];
    }
    const double trust = weight_norm > 0 ? std::sqrt(weight_norm / direction_norm) : 1;
    for (size_t i = 0; i < numel; ++i) weights[i] -= kRate * trust * direction[i];
  }
  return weights;
}

TEST(Optimizer, LambScalesEachLayerByItsNorms) {
  constexpr int64_t kNumel = 50;
  for (const bool is_vector : {false, true}) {
    SgdOptions sgd{.weight_decay = kDecay};
    sgd.decay_vectors = false;
    const auto optimizer = MakeOptimizer(2 * kNumel, sgd, kLamb);
    // The second layer of two begins at zero, where nothing can be scaled.
    for (const int64_t offset : {int64_t{0}, kNumel}) {
      std::vector<float> weights =
          offset == 0 ? Drawn(kNumel, 0) : std::vector<float>(static_cast<size_t>(kNumel));
      const auto expected = Lamb({weights.begin(), weights.end()}, is_vector ? 0 : kDecay);
      for (int step = 0; step < kSteps; ++step) {
        optimizer->Update(
            weights, Drawn(kNumel, step + 1),
            {.offset = offset, .learning_rate = kRate, .step = step, .is_vector = is_vector});
      }
      for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(weights[i], expected[i], 1e-5);
    }
  }
}

TEST(Optimizer, TextsAreReadAndWrongOnesRefused) {
  EXPECT_EQ(ParseOptimizer("sgd", "key").kind, OptimizerKind::kSgd);
  const AdaptiveOptions adamw = ParseOptimizer("adamw:beta2=0.95,epsilon=1e-6", "key");
  EXPECT_EQ(adamw.kind, OptimizerKind::kAdamW);
  EXPECT_EQ(adamw.beta1, 0.9);
  EXPECT_EQ(adamw.beta2, 0.95);
  EXPECT_EQ(adamw.epsilon, 1e-6);
  const auto refuses = [](const std::string& text, const std::string& got,
                          const std::string& allowed) {
    EXPECT_THAT([&] { ParseOptimizer(text, "training.optimizer"); },
                ThrowsMessage<Error>(AllOf(HasSubstr(got), HasSubstr(allowed))));
  };
  refuses("rmsprop", "training.optimizer: got 'rmsprop'", "sgd, adam, adamw, lamb");
  refuses("adam+sgd", "'adam+sgd'", "sgd, adam, adamw, lamb");
  refuses("adam:beta3=1", "'beta3'", "beta1, beta2, epsilon");
  refuses("adam:beta1=1", "'1'", "0 to 0.999999");
  refuses("sgd:beta1=0.5", "'beta1'", "no options");
}

}  // namespace
}  // namespace legacy::optimizer_test
