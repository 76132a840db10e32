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

// Three clients with quadratic losses a/2 (w - b)^2 of n samples, which make 2, 4 and 8 steps of
// rate .1 in each round; the results are known to nine digits.
struct Client {
  double samples, a, b;
  int steps;
};
constexpr Client kClients[] = {{10, 1, 1, 2}, {20, 2, -1, 4}, {70, 0.5, 3, 8}};

// Returns the weight after each of three rounds; by samples, or uniform.
std::vector<double> Rounds(const char* outer_text, bool by_samples) {
  const OuterOptions options = *ParseOuter(outer_text, "outer");
  const auto outer = MakeOptimizer(1, SgdOf(options));
  std::vector<float> agreed = {0};
  std::vector<double> after;
  for (int round = 0; round < 3; ++round) {
    float mean = 0;
    for (const Client& client : kClients) {
      const auto inner = MakeOptimizer(1, {.momentum = 0});
      std::vector<float> weight = agreed;
      for (int step = 0; step < client.steps; ++step) {
        const std::vector<float> gradient = {static_cast<float>(client.a * (weight[0] - client.b))};
        inner->Update(weight, gradient, {.learning_rate = 0.1, .step = step});
      }
      const double share = by_samples ? client.samples / 100 : 1.0 / 3;
      mean += static_cast<float>(share * (agreed[0] - weight[0]));
    }
    outer->Update(agreed, std::vector<float>{mean}, {.learning_rate = options.rate, .step = round});
    after.push_back(agreed[0]);
  }
  return after;
}

TEST(Outer, HasTheKnownResultsOnThreeQuadratics) {
  const struct {
    const char* text;
    bool by_samples;
    double expected[3];
  } cases[] = {
      {"sgd:rate=1", true, {0.607737094, 0.988979265, 1.228137932}},
      {"sgd", false, {0.203112902, 0.330601484, 0.410622685}},
      {"momentum:momentum=0.9", true, {0.607737094, 1.535942650, 2.406640886}},
      {"nesterov:rate=0.7,momentum=0.9", false, {0.270140160, 0.521673474, 0.695268389}},
      {"nesterov", false, {0.270140160, 0.521673474, 0.695268389}},
      {"nesterov:rate=1,momentum=0", true, {0.607737094, 0.988979265, 1.228137932}},
  };
  for (const auto& one : cases) {
    const std::vector<double> found = Rounds(one.text, one.by_samples);
    for (int round = 0; round < 3; ++round) {
      EXPECT_NEAR(found[round], one.expected[round], 1e-6) << one.text;
    }
  }
}

TEST(Outer, TextsAreReadAndWrongOnesRefused) {
  EXPECT_FALSE(ParseOuter("", "key"));
  EXPECT_EQ(ParseOuter("momentum:momentum=0.5", "key")->momentum, 0.5);
  EXPECT_FALSE(ParseOuter("momentum", "key")->nesterov);
  EXPECT_TRUE(ParseOuter("nesterov:rate=0.1", "key")->nesterov);
  const auto refuses = [](const std::string& text, const std::string& got,
                          const std::string& allowed) {
    EXPECT_THAT([&] { ParseOuter(text, "training.outer"); },
                ThrowsMessage<Error>(AllOf(HasSubstr(got), HasSubstr(allowed))));
  };
  refuses("adam", "training.outer: got 'adam'", "sgd, momentum, nesterov");
  refuses("sgd+sgd", "'sgd+sgd'", "sgd, momentum, nesterov");
  refuses("sgd:momentum=0.9", "'momentum'", "rate");
  refuses("nesterov:rate=0", "'0'", "1e-06 to 10");
  refuses("momentum:momentum=1", "'1'", "0 to 0.999999");
}

// Elements whose variance is zero have had no gradient: signs do not move them.
TEST(Optimizer, ExchangedMomentumMovesNothingThatHadNoGradient) {
  for (const OptimizerKind kind : {OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    const auto optimizer = MakeOptimizer(2, {.weight_decay = 0}, {.kind = kind});
    std::vector<float> weights = {1, 1};
    optimizer->Update(weights, std::vector<float>{0.5f, 0}, {.learning_rate = 0.1});
    const std::vector<float> before = weights;
    const UpdateInfo info{.learning_rate = 0.1, .step = 1, .momentum_from = 1};
    std::vector<float> momentum = {0.5f, 0};
    optimizer->ToMomentum(weights, momentum, info);
    EXPECT_NEAR(momentum[0], 0.9 * 0.05 + 0.1 * 0.5, 1e-6);
    optimizer->Update(weights, std::vector<float>{0.1f, 0.1f}, info);
    EXPECT_LT(weights[0], before[0] - 1e-3);
    EXPECT_EQ(weights[1], before[1]);
  }
  std::vector<float> gradient = {1};
  EXPECT_THROW(MakeOptimizer(1, {})->ToMomentum(gradient, gradient, {}), Error);
}

TEST(Optimizer, SignDescentMovesEveryWeightByTheRate) {
  const auto optimizer = MakeOptimizer(4, {.weight_decay = 0.5}, {.kind = OptimizerKind::kSign});
  std::vector<float> weights = {1, 1, 1, 1};
  optimizer->Update(weights, std::vector<float>{1e-30f, -2, 0, -0.0f}, {.learning_rate = 0.125});
  EXPECT_EQ(weights, (std::vector<float>{0.8125f, 1.0625f, 0.9375f, 0.9375f}));
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
  refuses("rmsprop", "training.optimizer: got 'rmsprop'", "sgd, adam, adamw, lamb, sign");
  refuses("adam+sgd", "'adam+sgd'", "sgd, adam, adamw, lamb");
  refuses("adam:beta3=1", "'beta3'", "beta1, beta2, epsilon");
  refuses("adam:beta1=1", "'1'", "0 to 0.999999");
  refuses("sgd:beta1=0.5", "'beta1'", "no options");
}

}  // namespace
}  // namespace legacy::optimizer_test
