#include "trainer/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace legacy::schedule_test {
namespace {

TEST(Schedule, WarmsUpThenStepsDown) {
  ScheduleOptions options{.learning_rate = 0.4, .decay = Decay::kStep};
  options.warmup_steps = 4;
  options.milestones = {6, 8};
  const std::vector<double> wanted = {.1, .2, .3, .4, .4, .4, .04, .04, .004, .004};
  for (int step = 0; step < 10; ++step) {
    EXPECT_NEAR(LearningRate(options, step, 10), wanted[step], 1e-15) << step;
  }
}

TEST(Schedule, CosineAndLinearMeetAtTheMiddleAndTheEnd) {
  for (Decay decay : {Decay::kCosine, Decay::kLinear}) {
    ScheduleOptions options{.learning_rate = 1, .decay = decay, .warmup_steps = 10};
    options.final_learning_rate = 0.2;
    EXPECT_DOUBLE_EQ(LearningRate(options, 9, 110), 1);
    EXPECT_DOUBLE_EQ(LearningRate(options, 10, 110), 1);
    EXPECT_NEAR(LearningRate(options, 60, 110), 0.6, 1e-12);
    EXPECT_NEAR(LearningRate(options, 110, 110), 0.2, 1e-12);
    EXPECT_NEAR(LearningRate(options, 5000, 110), 0.2, 1e-12);
  }
  // A quarter of the way, the rate is 0.2 + 0.4 (1 + cos(pi/4)).
  ScheduleOptions cosine{.learning_rate = 1, .decay = Decay::kCosine, .final_learning_rate = 0.2};
  EXPECT_NEAR(LearningRate(cosine, 25, 100), 0.2 + 0.4 * (1 + 0.70710678118654752), 1e-12);
}

// As PyTorch's OneCycleLR, which begins at a 25th, and as the Transformer's schedule.
TEST(Schedule, OneCycleAndInverseSquareRoot) {
  ScheduleOptions cycle{.learning_rate = 1, .decay = Decay::kOneCycle, .warmup_steps = 30};
  EXPECT_NEAR(LearningRate(cycle, 0, 100), 0.04, 1e-12);
  EXPECT_NEAR(LearningRate(cycle, 15, 100), 0.52, 1e-12);
  EXPECT_NEAR(LearningRate(cycle, 30, 100), 1, 1e-12);
  EXPECT_NEAR(LearningRate(cycle, 65, 100), 0.5, 1e-12);
  EXPECT_NEAR(LearningRate(cycle, 100, 100), 0, 1e-12);
  ScheduleOptions root{.learning_rate = 2, .decay = Decay::kInverseSqrt, .warmup_steps = 100};
  EXPECT_NEAR(LearningRate(root, 49, 1000), 1, 1e-12);
  EXPECT_NEAR(LearningRate(root, 99, 1000), 2, 1e-12);
  EXPECT_NEAR(LearningRate(root, 399, 1000), 1, 1e-12);
  root.warmup_steps = 0;
  EXPECT_NEAR(LearningRate(root, 0, 1000), 2, 1e-12);
  EXPECT_NEAR(LearningRate(root, 3, 1000), 1, 1e-12);
}

// PowerSGD's recipe warms up from the rate of one worker to that of all.
TEST(Schedule, WarmsUpFromARate) {
  ScheduleOptions options{.learning_rate = 1.6, .warmup_steps = 5, .warmup_from = 0.1};
  const std::vector<double> wanted = {0.4, 0.7, 1.0, 1.3, 1.6, 1.6};
  for (int step = 0; step < 6; ++step) {
    EXPECT_NEAR(LearningRate(options, step, 10), wanted[step], 1e-12) << step;
  }
  EXPECT_THROW(CheckSchedule({.learning_rate = 0.1, .warmup_from = 0.2}), Error);
  EXPECT_THROW(CheckSchedule({.warmup_from = -1}), Error);
}

TEST(Schedule, RefusesInvalidOptions) {
  EXPECT_THROW(CheckSchedule({.learning_rate = 0}), Error);
  EXPECT_THROW(CheckSchedule({.warmup_steps = -1}), Error);
  EXPECT_THROW(CheckSchedule({.milestones = {5, 5}}), Error);
  EXPECT_THROW(CheckSchedule({.gamma = 0}), Error);
  EXPECT_THROW(CheckSchedule({.learning_rate = 0.1, .final_learning_rate = 0.2}), Error);
  EXPECT_EQ(ParseDecay("step", "schedule"), Decay::kStep);
  EXPECT_EQ(ParseDecay("cosine", "schedule"), Decay::kCosine);
  EXPECT_EQ(ParseDecay("linear", "schedule"), Decay::kLinear);
  EXPECT_THROW(ParseDecay("exponential", "schedule"), Error);
  CheckSchedule({});
}

}  // namespace
}  // namespace legacy::schedule_test