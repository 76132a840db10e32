#include "compress/policies/equal_volume.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/model_shapes.h"
#include "tests/compress/test_data.h"

namespace legacy::equal_volume_test {
namespace {

using test::LeNet5;
using test::ResNet18;

LegacySchedule Layer(double small, double large, int64_t split = 10000) {
  return {
      .splits = {split}, .phase_bounds = {}, .parameters = {{small, large}}, .closed_right = false};
}

LegacySchedule Phases(std::vector<double> parameters) {
  LegacySchedule schedule;
  for (const double value : parameters) schedule.parameters.push_back({value});
  return schedule;
}

class EqualVolume : public testing::Test {
 protected:
  VolumeModel Model(const std::vector<Unit>& units, int64_t steps = 1,
                    VolumeMeasure measure = VolumeMeasure::kElements) const {
    return {.units = units, .scheme = topk_.get(), .total_steps = steps, .measure = measure};
  }
  double Density(const std::vector<Unit>& units, const LegacySchedule& schedule) const {
    const VolumeModel model = Model(units);
    return AverageVolume(model, schedule) / static_cast<double>(model.Elements());
  }

  std::unique_ptr<Scheme> topk_ = MakeScheme("topk", {});
};

// Computes the volume by walking through every step.
double SlowVolume(const VolumeModel& model, const LegacySchedule& schedule) {
  double sum = 0;
  for (int64_t step = 0; step < model.total_steps; ++step) {
    for (const Unit& unit : model.units) {
      const double value = schedule.Parameter(step, model.total_steps, unit.numel);
      sum += model.measure == VolumeMeasure::kElements
                 ? static_cast<double>(model.scheme->ElementsSent(unit, value))
                 : static_cast<double>(*model.scheme->MessageBytes(unit, value));
    }
  }
  return sum / static_cast<double>(model.total_steps);
}

TEST_F(EqualVolume, RealisedDensitiesOfKnownModels) {
  const auto lenet = LeNet5();
  const auto cifar10 = ResNet18(10);
  const auto cifar100 = ResNet18(100);
  ASSERT_EQ(Model(lenet).Elements(), 61706);
  ASSERT_EQ(Model(cifar10).Elements(), 11173962);
  ASSERT_EQ(Model(cifar100).Elements(), 11220132);
  ASSERT_EQ(cifar10.size(), 62u);
  EXPECT_EQ(UniformVolume(Model(cifar10), 0.001), 11193);
  EXPECT_EQ(UniformVolume(Model(cifar100), 0.001), 11239);
  // Percentages, each within half of its last digit.
  EXPECT_NEAR(100 * UniformVolume(Model(lenet), 0.001) / 61706, 0.1086, 5e-5);
  EXPECT_NEAR(100 * UniformVolume(Model(cifar10), 0.001) / 11173962, 0.1002, 5e-5);
  EXPECT_NEAR(100 * UniformVolume(Model(cifar100), 0.001) / 11220132, 0.1002, 5e-5);
  EXPECT_NEAR(100 * Density(lenet, Layer(0.01, 0.001)), 0.156, 5e-4);
  EXPECT_NEAR(100 * Density(cifar10, Layer(0.01, 0.001)), 0.1018, 5e-5);
  EXPECT_NEAR(100 * Density(cifar100, Layer(0.01, 0.001)), 0.1014, 5e-5);
  EXPECT_NEAR(100 * Density(lenet, Layer(1, 0.001)), 5.97, 5e-3);
  EXPECT_NEAR(100 * Density(cifar10, Layer(1, 0.001)), 0.320, 5e-4);
  EXPECT_NEAR(100 * Density(cifar100, Layer(1, 0.001)), 0.275, 5e-4);
}

TEST_F(EqualVolume, AverageEqualsAWalkThroughTheSteps) {
  const auto units = LeNet5();
  for (const VolumeMeasure measure : {VolumeMeasure::kElements, VolumeMeasure::kBytes}) {
    for (const bool closed_right : {false, true}) {
      for (const int64_t steps : {1, 2, 10, 11, 37}) {
        const VolumeModel model = Model(units, steps, measure);
        LegacySchedule schedule{.splits = {1000},
                                .phase_bounds = {},
                                .parameters = {{0.5, 0.1}, {0.2, 0.02}, {0.1, 0.001}},
                                .closed_right = closed_right};
        EXPECT_DOUBLE_EQ(AverageVolume(model, schedule), SlowVolume(model, schedule));
        schedule.phase_bounds = {3, 30};
        EXPECT_DOUBLE_EQ(AverageVolume(model, schedule), SlowVolume(model, schedule));
      }
    }
  }
}

TEST_F(EqualVolume, UniformOfTheSameVolume) {
  const auto units = ResNet18(10);
  for (const VolumeMeasure measure : {VolumeMeasure::kElements, VolumeMeasure::kBytes}) {
    const VolumeModel model = Model(units, 100, measure);
    for (const auto& schedule : {Layer(0.01, 0.001), Phases({0.018, 0.002})}) {
      const UniformSolution solution = SolveUniform(model, schedule);
      EXPECT_DOUBLE_EQ(solution.requested, SlowVolume(model, schedule));
      EXPECT_DOUBLE_EQ(solution.realised, UniformVolume(model, solution.parameter));
      EXPECT_NEAR(solution.realised / solution.requested, 1, 0.001);
    }
  }
}

TEST_F(EqualVolume, SolvesTheLargeBucketForADensity) {
  const auto units = ResNet18(10);
  for (const VolumeMeasure measure : {VolumeMeasure::kElements, VolumeMeasure::kBytes}) {
    const VolumeModel model = Model(units, 10, measure);
    const double target = UniformVolume(model, 0.001);
    const auto solution = SolveSchedule(model, Layer(0.2, 0.001), target, FreeParameters::kLargest);
    EXPECT_EQ(solution.requested, target);
    EXPECT_NEAR(solution.realised, target, 0.002 * target);
    EXPECT_EQ(solution.realised, AverageVolume(model, solution.schedule));
    EXPECT_EQ(solution.schedule.parameters[0][0], 0.2);
    EXPECT_LT(solution.schedule.parameters[0][1], 0.001);
  }
  // The closed form is (dbar - f delta_small) / (1 - f), up to one value in each of 62 tensors.
  const VolumeModel model = Model(units);
  const auto solution =
      SolveSchedule(model, Layer(0.2, 0.001), 0.001 * 11173962, FreeParameters::kLargest);
  const double share = 0.00221;
  EXPECT_NEAR(solution.schedule.parameters[0][1], (0.001 - share * 0.2) / (1 - share),
              62.0 / 11173962);
}

TEST_F(EqualVolume, ScalesPhasesKeepingTheirRatios) {
  const auto units = ResNet18(10);
  const VolumeModel model = Model(units, 101);  // phases of 51 and 50 steps
  const double target = UniformVolume(model, 0.01);
  const auto solution = SolveSchedule(model, Phases({0.9, 0.1}), target, FreeParameters::kAll);
  EXPECT_NEAR(solution.realised, target, 0.001 * target);
  const auto& parameters = solution.schedule.parameters;
  EXPECT_NEAR(parameters[0][0] / parameters[1][0], 9, 1e-9);
  EXPECT_NEAR((51 * parameters[0][0] + 50 * parameters[1][0]) / 101, 0.01, 2e-5);
}

TEST_F(EqualVolume, MistakesNameTheBound) {
  const auto units = ResNet18(100);
  const VolumeModel model = Model(units);
  // The small bucket holds f = 0.175 % of the elements: at a volume of 0.1 % its density is at most
  // 57 %.
  try {
    SolveSchedule(model, Layer(1, 0.001), 0.001 * 11220132, FreeParameters::kLargest);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("target / f = 0.57"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(SolveSchedule(model, Layer(0.1, 0.1), 2 * 11220132, FreeParameters::kAll), Error);
  EXPECT_THROW(SolveSchedule(model, Layer(0.1, 0), 1e4, FreeParameters::kLargest), Error);
  EXPECT_THROW(SolveSchedule(model, Layer(0.1, 0.01), std::nan(""), FreeParameters::kAll), Error);
  EXPECT_THROW(AverageVolume(Model({}), Layer(0.1, 0.01)), Error);
  EXPECT_THROW(AverageVolume(Model(units, 0), Layer(0.1, 0.01)), Error);
}

TEST_F(EqualVolume, NeedsLengthsThatAreKnown) {
  const auto units = LeNet5();
  const auto delta = MakeScheme("topk:index=delta");
  VolumeModel model{.units = units, .scheme = delta.get(), .measure = VolumeMeasure::kBytes};
  EXPECT_THROW(UniformVolume(model, 0.01), Error);
  model.measure = VolumeMeasure::kElements;
  EXPECT_NO_THROW(UniformVolume(model, 0.01));
  const auto dense = MakeScheme("dense", {});
  model.scheme = dense.get();
  EXPECT_EQ(UniformVolume(model, 0), static_cast<double>(model.Elements()));
  const LegacySchedule all = {.splits = {}, .phase_bounds = {}, .parameters = {{1}}};
  EXPECT_THROW(SolveUniform(model, all), Error);
  EXPECT_THROW(SolveSchedule(model, all, 1, FreeParameters::kAll), Error);
}

}  // namespace
}  // namespace legacy::equal_volume_test