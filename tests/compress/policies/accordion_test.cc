#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/policy_driver.h"

namespace legacy::accordion_test {
namespace {

constexpr double kLow = 0.1;
constexpr double kHigh = 0.01;

PolicyContext Context(int64_t steps_per_epoch = 2) {
  return {.scheme = nullptr,
          .units = test::MakeUnits({64, 64}),
          .workers = 2,
          .total_steps = 100,
          .steps_per_epoch = steps_per_epoch,
          .parameter = kLow,
          .seed = 1};
}

StepInfo At(int64_t step, double rate = 1) {
  return {.step = step, .total_steps = 100, .learning_rate = rate, .steps_per_epoch = 2};
}

// Returns gradients with one value in each unit.
test::PolicyDriver::Gradients Constant(float first, float second) {
  return [=](int64_t, int worker) {
    std::vector<float> flat(128, first);
    std::fill(flat.begin() + 64, flat.end(), second);
    // Gradients of other workers do not matter.
    if (worker > 0) std::fill(flat.begin(), flat.end(), 1e6f);
    return flat;
  };
}

using Parameters = std::vector<double>;

TEST(Accordion, EpochsCountFromZero) {
  test::PolicyDriver driver("accordion:interval=10", "topk", Context());
  for (int64_t step = 0; step < 50; ++step) {
    const auto result = driver.Step(At(step), Constant(1, 1));
    const int64_t epoch = step / 2;
    // Compression is low in epochs 0 to 10, as the first comparison is at the end of epoch 10.
    EXPECT_EQ(result.parameters, Parameters(2, epoch <= 10 ? kLow : kHigh)) << step;
    EXPECT_EQ(driver.policy().ReadsLocalGradient(), epoch % 10 == 0) << step;
    EXPECT_EQ(result.announcement.size(), step == 1 || step == 21 || step == 41 ? 18u : 0u) << step;
  }
}

TEST(Accordion, MovedNormsAreCriticalUnitByUnit) {
  // Windows have 3 steps; the moves lie around the boundary eta = 0.5.
  const std::pair<float, bool> moves[] = {{1.0f, false}, {1.49f, false}, {1.5f, true},
                                          {2.0f, true},  {0.51f, false}, {0.5f, true}};
  for (const auto& [factor, critical] : moves) {
    test::PolicyDriver driver("accordion:interval_steps=3", "topk", Context());
    for (int64_t step = 0; step < 3; ++step) driver.Step(At(step), Constant(4, 4));
    for (int64_t step = 3; step < 6; ++step) {
      const auto result = driver.Step(At(step), Constant(4 * factor, 4));
      EXPECT_EQ(result.parameters, Parameters(2, kLow));
    }
    const auto result = driver.Step(At(6), Constant(4, 4));
    EXPECT_EQ(result.parameters, (Parameters{critical ? kLow : kHigh, kHigh})) << factor;
  }
}

TEST(Accordion, NoNormBeforeIsCritical) {
  test::PolicyDriver driver("accordion:interval_steps=1", "topk", Context());
  driver.Step(At(0), Constant(0, 1));
  driver.Step(At(1), Constant(1, 1));
  EXPECT_EQ(driver.Step(At(2), Constant(1, 1)).parameters, (Parameters{kLow, kHigh}));
}

TEST(Accordion, DropOfTheRateForcesLowUntilTheNextDecision) {
  test::PolicyDriver driver("accordion:interval_steps=3", "topk", Context());
  for (int64_t step = 0; step < 7; ++step) driver.Step(At(step), Constant(1, 1));
  EXPECT_EQ(driver.Step(At(7, 0.95), Constant(1, 1)).parameters, Parameters(2, kHigh));  // no drop
  EXPECT_EQ(driver.Step(At(8, 0.2), Constant(1, 1)).parameters, Parameters(2, kLow));
  // The decision at the end of step 8 holds, as the rate drops no more.
  EXPECT_EQ(driver.Step(At(9, 0.2), Constant(1, 1)).parameters, Parameters(2, kHigh));
  driver.Step(At(10, 0.2), Constant(1, 1));
  driver.Step(At(11, 0.2), Constant(1, 1));
  // A drop right after a decision overrides it.
  EXPECT_EQ(driver.Step(At(12, 0.02), Constant(1, 1)).parameters, Parameters(2, kLow));
  EXPECT_EQ(driver.Step(At(13, 0.02), Constant(1, 1)).parameters, Parameters(2, kLow));
}

TEST(Accordion, ResidualsOutliveSwitches) {
  test::PolicyDriver driver("accordion:interval_steps=1", "topk", Context());
  const auto gradients = test::NormalGradients(Context().units);
  std::vector<double> given(128);
  std::vector<double> arrived(128);
  bool high = false;
  for (int64_t step = 0; step < 12; ++step) {
    const float scale = step % 4 < 2 ? 1 : 8;
    const auto scaled = [&](int64_t s, int w) {
      auto flat = gradients(s, w);
      for (float& x : flat) x *= scale;
      return flat;
    };
    const auto result = driver.Step(At(step), scaled);
    high = high || result.parameters[0] == kHigh;
    for (size_t i = 0; i < 128; ++i) {
      given[i] += 0.5 * (scaled(step, 0)[i] + scaled(step, 1)[i]);
      arrived[i] += result.mean[i];
    }
  }
  EXPECT_TRUE(high);
  for (size_t i = 0; i < 128; ++i) {
    const auto u = i / 64;
    const double residual =
        0.5 * (driver.exchange(u).Residual(0)[i % 64] + driver.exchange(u).Residual(1)[i % 64]);
    EXPECT_NEAR(arrived[i] + residual, given[i], 1e-3);
  }
}

TEST(Accordion, RanksAndBitsAreHalved) {
  for (const auto& [scheme, anchor, high] :
       {std::tuple{"powersgd", 2.0, 1.0}, std::tuple{"qsgd", 8.0, 4.0}}) {
    PolicyContext context = Context();
    context.units = test::MakeUnits({4096, 64});
    context.units[0].shape = {64, 64};
    context.parameter = anchor;
    test::PolicyDriver driver("accordion:interval_steps=1", scheme, context);
    const auto gradients = [](int64_t, int) { return test::Normals(4160, 1); };
    EXPECT_EQ(driver.Step(At(0), gradients).parameters, Parameters(2, anchor));
    driver.Step(At(1), gradients);
    const auto parameters = driver.Step(At(2), gradients).parameters;
    EXPECT_EQ(parameters[0], high);
    EXPECT_EQ(parameters[1], scheme == std::string("powersgd") ? anchor : high);  // a vector
  }
}

TEST(Accordion, Options) {
  auto context = Context();
  test::PolicyDriver driver("accordion:low=50%,high=2%,interval_steps=1", "topk", context);
  EXPECT_EQ(driver.Step(At(0), Constant(1, 1)).parameters, Parameters(2, 0.5));
  driver.Step(At(1), Constant(1, 1));
  EXPECT_EQ(driver.Step(At(2), Constant(1, 1)).parameters, Parameters(2, 0.02));
  EXPECT_THROW(test::PolicyDriver("accordion:low=2", "topk", context), Error);
  EXPECT_THROW(test::PolicyDriver("accordion:interval=0", "topk", context), Error);
  EXPECT_THROW(test::PolicyDriver("accordion", "dense", context), Error);
}

}  // namespace
}  // namespace legacy::accordion_test