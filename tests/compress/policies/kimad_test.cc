#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/policy_driver.h"

namespace legacy::kimad_test {
namespace {

PolicyContext Context() {
  return {.scheme = nullptr,
          .units = test::MakeUnits({20000, 5000, 700}),
          .workers = 2,
          .total_steps = 100,
          .steps_per_epoch = 10,
          .parameter = 0.01,
          .seed = 1};
}

StepInfo At(int64_t step) { return {.step = step, .total_steps = 100, .steps_per_epoch = 10}; }

// Returns the feedback of a step that sent `bytes` over a link of `rate` bytes a second.
StepFeedback Link(double bytes, double rate) {
  StepFeedback feedback;
  feedback.message_bytes = bytes;
  feedback.communication_seconds = bytes / rate;
  return feedback;
}

double SquaredError(test::PolicyDriver& driver, std::span<const float> gradient,
                    std::span<const double> parameters) {
  const auto context = Context();
  double sum = 0;
  for (size_t u = 0; u < 3; ++u) {
    const Unit& unit = context.units[u];
    const std::vector<double> one = {parameters[u]};
    sum +=
        driver.scheme().SquaredErrors(unit, gradient.subspan(unit.offset, unit.numel), one, {})[0];
  }
  return sum;
}

TEST(Kimad, FillsTheBytesThatTheTimeAllows) {
  for (const std::string split : {"uniform", "knapsack"}) {
    test::PolicyDriver driver("kimad:budget=0.01,smoothing=1,split=" + split, "topk", Context());
    EXPECT_TRUE(driver.policy().Traits().reads_clock);
    const auto gradients = test::NormalGradients(Context().units);
    const auto first = driver.Step(At(0), gradients, Link(1000, 1e6));
    EXPECT_EQ(first.parameters, std::vector<double>(3, 0.01));  // no measurement yet
    EXPECT_TRUE(first.announcement.empty());
    double before = 0;
    for (const double rate : {1e5, 3e5, 1e6, 3e6}) {
      driver.Step(At(1), gradients, Link(1000, rate));
      driver.Step(At(2), gradients, Link(1000, rate));
      const auto result = driver.Step(At(3), gradients, Link(1000, rate));
      EXPECT_EQ(result.announcement.size(), 16u + 3);
      EXPECT_LE(result.bytes, 0.01 * rate);
      EXPECT_GE(result.bytes, 0.65 * 0.01 * rate);  // options are a factor sqrt(2) apart
      EXPECT_GT(result.bytes, before);
      before = result.bytes;
    }
    // No option fits, so that the smallest is taken.
    driver.Step(At(1), gradients, Link(1000, 1));
    driver.Step(At(2), gradients, Link(1000, 1));
    EXPECT_DOUBLE_EQ(driver.Step(At(3), gradients, Link(1000, 1)).parameters[0], 0.01 / 64);
  }
}

TEST(Kimad, KnapsackLosesLess) {
  std::vector<double> errors;
  const auto gradients = test::NormalGradients(Context().units);
  for (const std::string split : {"uniform", "knapsack"}) {
    test::PolicyDriver driver("kimad:budget=0.01,split=" + split, "topk", Context());
    driver.Step(At(0), gradients, Link(1000, 3e5));
    driver.Step(At(1), gradients, Link(1000, 3e5));
    std::vector<double> parameters(3);
    driver.policy().Decide(At(2), Context().units, parameters);
    errors.push_back(SquaredError(driver, gradients(1, 0), parameters));
  }
  EXPECT_LT(errors[1], errors[0]);
}

TEST(Kimad, StepsWithHiddenTransfersMeasureNothing) {
  test::PolicyDriver driver("kimad", "topk", Context());
  const auto gradients = test::NormalGradients(Context().units);
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_TRUE(driver.Step(At(step), gradients).announcement.empty());
  }
}

// Returns the feedback of a step that sent what the driver sends, after `latency` seconds.
StepFeedback Slow(test::PolicyDriver& driver, int64_t step, double latency, double rate) {
  std::vector<double> parameters(3);
  driver.policy().Decide(At(step), Context().units, parameters);
  double bytes = 0;
  for (size_t u = 0; u < 3; ++u) {
    bytes += static_cast<double>(*driver.scheme().MessageBytes(Context().units[u], parameters[u]));
  }
  StepFeedback feedback;
  feedback.message_bytes = bytes;
  feedback.communication_seconds = latency + bytes / rate;
  return feedback;
}

// By default the anchor's time is the budget: nothing changes until the network does.
TEST(Kimad, TakesTheTimeOfTheAnchorByDefault) {
  test::PolicyDriver driver("kimad", "topk", Context());
  const auto gradients = test::NormalGradients(Context().units);
  int64_t step = 0;
  const auto run = [&](int steps, double rate) {
    StepFeedback feedback;
    for (int i = 0; i < steps; ++i, ++step) {
      feedback = Slow(driver, step, 1e-4, rate);
      driver.Step(At(step), gradients, feedback);
    }
    return feedback;
  };
  const double seconds = run(1, 1e6).communication_seconds;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(run(1, 1e6).communication_seconds, seconds) << step;
  }
  const StepFeedback slower = run(60, 2e5);
  EXPECT_LE(slower.communication_seconds, 1.001 * seconds);
  EXPECT_GE(slower.communication_seconds, 0.65 * seconds);
  const StepFeedback faster = run(60, 4e6);
  EXPECT_LE(faster.communication_seconds, 1.001 * seconds);
  EXPECT_GE(faster.message_bytes, 4 * slower.message_bytes);
  // The first announcement only gives the automatic budget; the next ones have decisions.
  EXPECT_EQ(driver.policy().DecisionsIn(100)->decisions, 97);
}

TEST(Kimad, Options) {
  EXPECT_THROW(test::PolicyDriver("kimad:budget=0", "topk", Context()), Error);
  EXPECT_THROW(test::PolicyDriver("kimad", "dense", Context()), Error);
}

}  // namespace
}  // namespace legacy::kimad_test