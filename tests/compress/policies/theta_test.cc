#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/random.h"
#include "tests/compress/policy_driver.h"

namespace legacy::theta_test {
namespace {

PolicyContext Context(double theta) {
  PolicyContext context;
  context.units = test::MakeUnits({4096, 300, 7});
  context.workers = 2;
  context.parameter = theta;
  return context;
}

class Training {
 public:
  explicit Training(const std::string& policy, double theta = 0.85,
                    const std::string& scheme = "fft+fp32")
      : driver_(policy, scheme, Context(theta)) {}
  // Returns theta of the step, which is the same for all units.
  double Step(double rate, double loss = 1) {
    StepInfo step;
    step.step = step_++;
    step.learning_rate = rate;
    StepFeedback feedback;
    feedback.loss = loss;
    last_ = driver_.Step(step, test::NormalGradients(Context(0).units), feedback);
    for (const double theta : last_.parameters) EXPECT_EQ(theta, last_.parameters[0]);
    return last_.parameters[0];
  }
  Policy& policy() { return driver_.policy(); }
  const Scheme& scheme() { return driver_.scheme(); }
  const test::StepResult& last() const { return last_; }
  void At(int64_t step) { step_ = step; }

 private:
  test::PolicyDriver driver_;
  test::StepResult last_;
  int64_t step_ = 0;
};

TEST(Theta, FallsWithTheRootOfTheRate) {
  Training training("theta");
  EXPECT_EQ(training.Step(0.01), 0.85);  // warm-up
  EXPECT_EQ(training.Step(0.1), 0.85);
  EXPECT_NEAR(training.Step(0.05), 0.85 * std::sqrt(0.5), 1e-15);
  EXPECT_NEAR(training.Step(0.001), 0.085, 1e-15);
  EXPECT_EQ(training.Step(0), 0);
  EXPECT_TRUE(training.last().announcement.empty());
}

// White noise loses 1 - p (1 + ln(1 / p)) of its energy: .35 with p = .28.
TEST(Theta, IsTheLargestWhoseMeasuredErrorIsAllowed) {
  Training training("theta:form=measured,smoothness=3.5,interval=2");
  EXPECT_EQ(training.Step(0.1), 0.85);
  EXPECT_TRUE(training.last().announcement.empty());
  EXPECT_EQ(training.Step(0.1), 0.85);
  ASSERT_EQ(training.last().announcement.size(), 8u);
  const double theta = training.Step(0.1);
  // Keeping .15 * 2 ^ (2 / 2) loses .338; keeping .15 * sqrt(2) loses .46.
  EXPECT_NEAR(theta, 0.7, 1e-12);
  double announced = 0;
  training.Step(0.01);
  std::memcpy(&announced, training.last().announcement.data(), sizeof announced);
  EXPECT_LT(announced, theta);
  EXPECT_EQ(training.Step(0.01), announced);
}

TEST(Theta, MeasuresWithTheSmoothnessThatRatesAllow) {
  Training training("theta:form=measured,interval=1");
  training.Step(0.1);
  // A fraction .21 is lost, of at most 1/4.
  EXPECT_NEAR(training.Step(0.1), 1 - 0.15 * 2 * std::sqrt(2.0), 1e-12);
  training.Step(0.001);
  EXPECT_LT(training.Step(0.001), 0.2);
}

// Encodes and decodes the error-fed gradient with each theta.
TEST(Theta, TakesTheLargestThetaWhoseMessageLosesLittle) {
  const PolicyContext context = Context(0.85);
  test::PolicyDriver driver("theta:form=measured,interval=1,smoothness=2", "fft+fp32", context);
  const auto codec = MakeCodec("fft+fp32");
  const auto gradients = test::NormalGradients(context.units);
  double expected = 0.85;
  std::set<double> seen;
  for (int64_t step = 0; step < 8; ++step) {
    const StepInfo info = {.step = step, .learning_rate = 0.2 * std::pow(0.6, step)};
    std::vector<std::vector<float>> fed;
    for (size_t u = 0; u < context.units.size(); ++u) {
      const Unit& unit = context.units[u];
      const auto flat = gradients(step, 0);
      fed.push_back(
          driver.exchange(u).ErrorFed(0, std::span(flat).subspan(unit.offset, unit.numel)));
    }
    ASSERT_NEAR(driver.Step(info, gradients).parameters[0], expected, 1e-12) << step;
    seen.insert(expected);
    double kept = 0.15;
    for (;; kept *= std::sqrt(2.0)) {
      const double theta = kept < 1 ? 1 - kept : 0;
      double lost = 0, energy = 0;
      for (size_t u = 0; u < fed.size(); ++u) {
        const CodecContext message = {
            .unit = context.units[u].id, .parameter = theta, .random = {}};
        std::vector<float> decoded(fed[u].size());
        codec->DecodeAdd(codec->Encode(fed[u], message).bytes, message, decoded);
        for (size_t i = 0; i < decoded.size(); ++i) {
          lost += std::pow(double{fed[u][i]} - decoded[i], 2);
          energy += std::pow(double{fed[u][i]}, 2);
        }
      }
      expected = theta;
      if (theta == 0 || lost <= 2 * info.learning_rate * energy) break;
    }
  }
  EXPECT_GE(seen.size(), 4u);
}

TEST(Theta, MeasuresTheErrorFedGradient) {
  const auto announced = [](std::span<const float> error_fed) {
    Training training("theta:form=measured,interval=1");
    std::vector<double> parameters(3);
    training.policy().Decide({.learning_rate = 0.1}, Context(0).units, parameters);
    EXPECT_TRUE(training.policy().ReadsLocalGradient());
    training.policy().OnLocalGradient(0, test::Normals(4096, 1), error_fed);
    return training.policy().Encode(0, {}).bytes;
  };
  std::vector<float> noise = test::Normals(4096, 1), both = noise;
  both[7] += 1000;
  EXPECT_NE(announced(noise), announced(both));
}

TEST(Theta, ReadsGradientsWhereItMeasures) {
  Training training("theta:form=measured,interval=3");
  for (const bool due : {false, false, true, false}) {
    training.Step(0.1);
    EXPECT_EQ(training.policy().ReadsLocalGradient(), due);
    EXPECT_EQ(training.policy().LocalWork().empty(), !due);
    EXPECT_EQ(training.last().announcement.size(), due ? 8u : 0u);
  }
}

TEST(Theta, RecoversWhenTheLossStalls) {
  Training training("theta:form=recover,interval=2,patience=2,factor=0.25", 0.8);
  std::vector<double> thetas;
  for (int step = 0; step < 18; ++step)
    thetas.push_back(training.Step(0.1, step < 5 ? 5 - step : 1));
  // The means of two steps are 5, 3.5, 1.5, 1, 1 and 1; the last two stall, so that theta falls
  // after steps 11 and 15.
  EXPECT_EQ(thetas[0], 0.8);
  int64_t changes = 0;
  for (size_t i = 1; i < thetas.size(); ++i) changes += thetas[i] != thetas[i - 1];
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(thetas[11], 0.8);
  EXPECT_NEAR(thetas[15], 0.2, 1e-15);
  // A theta below .05 becomes 0.
  EXPECT_NEAR(thetas[17], 0.05, 1e-15);
  for (int step = 0; step < 2; ++step) training.Step(0.1);
  EXPECT_EQ(training.Step(0.1), 0);
}

// Computes theta from the losses, announcement by announcement.
TEST(Theta, RecoversAsTheRuleSays) {
  for (const auto& [interval, patience, factor, improvement] :
       {std::tuple{1, 1, 0.5, 0.1}, {2, 3, 0.7, 0.0}, {3, 2, 0.25, 0.02}}) {
    Training training("theta:form=recover,interval=" + std::to_string(interval) + ",patience=" +
                          std::to_string(patience) + ",factor=" + std::to_string(factor) +
                          ",improvement=" + std::to_string(improvement),
                      0.9);
    RandomStream stream({.seed = static_cast<uint64_t>(interval)});
    double theta = 0.9, best = 0, sum = 0;
    int stalled = 0, falls = 0;
    for (int step = 0; step < 60; ++step) {
      const double loss = 3 * std::pow(0.97, step) + 0.5 * stream.Normal();
      ASSERT_DOUBLE_EQ(training.Step(0.1, loss), theta) << interval << " " << step;
      // The loss of a step is known after its announcement.
      const bool due = (step + 1) % interval == 0 && step > 0;
      if (due) {
        const int count = step + 1 == interval ? interval - 1 : interval;
        const double mean = sum / count;
        const bool first = falls == 0 && stalled == 0 && best == 0;
        if (first || mean < best - improvement * std::abs(best)) {
          best = mean;
          stalled = 0;
        } else if (++stalled == patience) {
          theta *= factor;
          if (theta < 0.05) theta = 0;
          stalled = 0;
          ++falls;
        }
        sum = 0;
      }
      sum += loss;
    }
    EXPECT_GE(falls, 2);
  }
}

TEST(Theta, KeepsThetaWhileTheLossFalls) {
  Training training("theta:form=recover,interval=1,patience=1", 0.8);
  for (int step = 0; step < 30; ++step) EXPECT_EQ(training.Step(0.1, std::pow(0.9, step)), 0.8);
}

TEST(Theta, RestartsToTheSameDecisions) {
  for (const char* text :
       {"theta", "theta:form=measured,interval=2", "theta:form=recover,interval=2,patience=1"}) {
    Training whole(text), restarted(text);
    for (int step = 0; step < 5; ++step) whole.Step(0.1 / (1 + step));
    const Bytes state = whole.policy().Save();
    restarted.policy().Load(state);
    restarted.At(5);
    EXPECT_EQ(restarted.policy().Save(), state);
    for (int step = 5; step < 12; ++step) {
      EXPECT_EQ(whole.Step(0.02, 1), restarted.Step(0.02, 1)) << text << " " << step;
    }
    EXPECT_EQ(restarted.policy().Save(), whole.policy().Save());
    for (size_t length = 0; length < state.size(); ++length) {
      EXPECT_THROW(restarted.policy().Load(ByteSpan(state).first(length)), Error);
    }
    EXPECT_EQ(restarted.policy().Save(), whole.policy().Save());
  }
}

TEST(Theta, RefusesHostileAnnouncements) {
  for (const char* text : {"theta:form=measured,interval=1", "theta:form=recover,interval=1"}) {
    Training training(text);
    training.Step(0.1);
    training.Step(0.1);
    const Bytes good = training.last().announcement;
    ASSERT_EQ(good.size(), 8u);
    EXPECT_THROW(training.policy().Accumulate(0, ByteSpan(good).first(7)), Error);
    EXPECT_THROW(training.policy().Accumulate(1, good), Error);
    Bytes bad(8);
    const double nan = std::nan("");
    std::memcpy(bad.data(), &nan, sizeof nan);
    EXPECT_THROW(training.policy().Accumulate(0, bad), Error);
  }
  Training measured("theta:form=measured");
  Bytes other(8);
  const double untried = 0.123;
  std::memcpy(other.data(), &untried, sizeof untried);
  EXPECT_THROW(measured.policy().Accumulate(0, other), Error);
}

TEST(Theta, FitsNoOtherParameter) {
  EXPECT_THROW(Training("theta", 0.1, "topk"), Error);
  EXPECT_THROW(Training("theta:form=up"), Error);
  EXPECT_THROW(Training("theta", 1.5), Error);
}

// Trains workers with quadratics 1/2 ||x - c_w||^2 of different centres and noisy gradients, whose
// mean has its optimum at the mean of the centres. The rate falls as 1 / t, and there is no error
// feedback. Returns the distance to the optimum after `steps`, divided by the distance at the
// start.
double NoisyQuadratic(const std::string& policy, double theta, int64_t steps) {
  constexpr int kWorkers = 4;
  constexpr int64_t kNumel = 512;
  constexpr double kNoise = 0.1, kRate = 0.25;
  PolicyContext context;
  context.units = test::MakeUnits({kNumel});
  context.workers = kWorkers;
  context.total_steps = steps;
  context.parameter = theta;
  test::PolicyDriver driver(policy, "fft+fp32", context, {.error_feedback = false});
  std::vector<std::vector<float>> centres;
  std::vector<double> optimum(kNumel), x(kNumel);
  for (int w = 0; w < kWorkers; ++w) {
    centres.push_back(test::Normals(kNumel, 50 + w));
    for (int64_t i = 0; i < kNumel; ++i) optimum[i] += centres[w][i] / double{kWorkers};
  }
  for (int64_t step = 0; step < steps; ++step) {
    const double rate = kRate / (1 + static_cast<double>(step) / 50);
    StepInfo info;
    info.step = step;
    info.total_steps = steps;
    info.learning_rate = rate;
    const auto gradient = [&](int64_t at, int worker) {
      std::vector<float> g = test::Normals(kNumel, 1000 + at * kWorkers + worker);
      for (int64_t i = 0; i < kNumel; ++i) {
        g[i] = static_cast<float>(x[i] - centres[worker][i] + kNoise * g[i]);
      }
      return g;
    };
    const std::vector<float> mean = driver.Step(info, gradient).mean;
    for (int64_t i = 0; i < kNumel; ++i) x[i] -= rate * mean[i];
  }
  double squared = 0, start = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    squared += (x[i] - optimum[i]) * (x[i] - optimum[i]);
    start += optimum[i] * optimum[i];
  }
  return std::sqrt(squared / start);
}

// Wang et al. (HPDC 2020): SGD converges if theta falls with the rate. The dropped parts of
// different gradients do not cancel, so that a constant theta leaves a floor, which rises with
// theta.
TEST(Theta, FallingWithTheRateReachesTheOptimumOfANoisyQuadratic) {
  constexpr int64_t kSteps = 1000;
  std::vector<double> distances;
  std::printf("| theta | distance to the optimum, of that at the start |\n|---|---:|\n");
  const auto add = [&](const char* name, const std::string& policy, double theta) {
    distances.push_back(NoisyQuadratic(policy, theta, kSteps));
    std::printf("| %s | %.4f |\n", name, distances.back());
  };
  add("0", "uniform", 0);
  add(".85", "uniform", 0.85);
  add(".95", "uniform", 0.95);
  add(".99", "uniform", 0.99);
  add(".85, by the rate", "theta:form=lr", 0.85);
  add(".99, by the rate", "theta:form=lr", 0.99);
  add(".99, by the measured error", "theta:form=measured", 0.99);
  EXPECT_LT(distances[4], distances[1] / 2);
  EXPECT_LT(distances[5], distances[3] / 2);
  EXPECT_LT(distances[1], distances[2]);
  EXPECT_LT(distances[2], distances[3]);
}

}  // namespace
}  // namespace legacy::theta_test