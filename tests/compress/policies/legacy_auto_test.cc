#include "compress/policies/legacy_auto.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/density.h"
#include "compress/policies/parameter_scale.h"
#include "tests/compress/model_shapes.h"
#include "tests/compress/test_data.h"

namespace legacy::legacy_auto_test {
namespace {

// A scheme whose only parameter is a whole number, such as bits or ranks; it sends 16 + n parameter
// / 8 bytes of a unit of n elements.
class WholeScheme : public Scheme {
 public:
  explicit WholeScheme(ParameterSpec spec) : spec_(std::move(spec)) {}
  std::string_view Name() const override { return "whole"; }
  const ParameterSpec& Parameter() const override { return spec_; }
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    return spec_.name == "bits" ? unit.numel : unit.shape[0] * static_cast<int64_t>(parameter);
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return 16 + unit.numel * static_cast<int64_t>(parameter) / 8;
  }
  std::vector<double> SquaredErrors(const Unit&, std::span<const float>,
                                    std::span<const double> parameters,
                                    const RandomKey&) const override {
    return std::vector<double>(parameters.size());
  }
  WorkList ErrorWork(const Unit&, std::span<const double>) const override { return {}; }
  std::unique_ptr<Exchange> Open(const Unit&, int) const override { return nullptr; }

 private:
  ParameterSpec spec_;
};

const ParameterSpec kBits = {.name = "bits", .minimum = 2, .maximum = 8, .integer = true};
const ParameterSpec kRank = {.name = "rank", .minimum = 1, .maximum = 64, .integer = true};
const ParameterSpec kTheta = {
    .name = "theta", .minimum = 0, .maximum = 0.999, .volume_falls = true};

// Returns units like those of a ResNet-20: many small layers, a few large ones.
std::vector<Unit> Units() {
  std::vector<int64_t> sizes = {432, 16, 16};
  for (int i = 0; i < 6; ++i) sizes.insert(sizes.end(), {2304, 16, 16});
  for (int i = 0; i < 6; ++i) sizes.insert(sizes.end(), {9216, 32, 32});
  for (int i = 0; i < 6; ++i) sizes.insert(sizes.end(), {36864, 64, 64});
  return test::MakeUnits(sizes);
}

TEST(ParameterScale, AmountsOfEveryKind) {
  EXPECT_DOUBLE_EQ(ScaleParameter(DensityParameter(), 0.01, 5), 0.05);
  EXPECT_DOUBLE_EQ(ScaleParameter(DensityParameter(), 0.5, 5), 1);
  EXPECT_DOUBLE_EQ(ScaleParameter(kBits, 4, 2), 8);
  EXPECT_DOUBLE_EQ(ScaleParameter(kBits, 4, 0.2), 2);
  EXPECT_DOUBLE_EQ(ScaleParameter(kTheta, 0.9, 5), 0.5);
  EXPECT_DOUBLE_EQ(ScaleParameter(kTheta, 0.9, 20), 0);
  const auto threshold = MakeScheme("threshold");
  EXPECT_DOUBLE_EQ(ScaleParameter(threshold->Parameter(), 0.01, 2), 0.005);
  EXPECT_EQ(MostParameter(kTheta), 0);
  EXPECT_EQ(LeastParameter(kBits), 2);
}

TEST(LegacyAuto, DensitiesOfEqualVolume) {
  const auto units = Units();
  for (const char* name : {"topk", "fft"}) {
    const auto scheme = MakeScheme(name);
    const ParameterSpec& spec = scheme->Parameter();
    for (const VolumeMeasure measure : {VolumeMeasure::kElements, VolumeMeasure::kBytes}) {
      const VolumeModel model = {units, scheme.get(), 101, measure};
      const double anchor = FromAmount(spec, 0.02);
      const LegacySchedule schedule = AutoSchedule(model, anchor, {});
      const double target = UniformVolume(model, anchor);
      EXPECT_NEAR(AverageVolume(model, schedule), target, 0.01 * target) << name;
      ASSERT_EQ(schedule.Phases(), 2);
      for (const auto& row : schedule.parameters) {
        EXPECT_GT(Amount(spec, row[0]), 5 * Amount(spec, row[1])) << name;
      }
      EXPECT_NEAR(Amount(spec, schedule.parameters[0][1]) / Amount(spec, schedule.parameters[1][1]),
                  9, 1e-6);
    }
  }
}

TEST(LegacyAuto, WholeNumbersComeNearTheTarget) {
  const auto units = Units();
  for (const ParameterSpec& spec : {kBits, kRank}) {
    const WholeScheme scheme(spec);
    for (const double anchor : {4.0, 6.0}) {
      const VolumeModel model = {units, &scheme, 100, VolumeMeasure::kBytes};
      const double target = UniformVolume(model, anchor);
      for (const bool by_phase : {false, true}) {
        const LegacySchedule schedule = AutoSchedule(model, anchor, {.by_phase = by_phase});
        for (const auto& row : schedule.parameters) {
          for (const double value : row) EXPECT_EQ(value, std::round(value));
        }
        const double reached = AverageVolume(model, schedule);
        EXPECT_NEAR(reached, target, 0.06 * target) << spec.name << anchor;
        EXPECT_GE(schedule.parameters[0][0], schedule.parameters[0][1]);
        if (!by_phase) {
          EXPECT_GT(schedule.parameters[0][0], schedule.parameters[0][1]);
        }
        if (by_phase) {
          EXPECT_GT(schedule.parameters[0][1], schedule.parameters[1][1]);
        }
      }
    }
  }
}

TEST(LegacyAuto, BitsAreSolvedInBytes) {
  const auto units = Units();
  const WholeScheme bits(kBits);
  EXPECT_EQ(UsableMeasure({units, &bits, 1, VolumeMeasure::kElements}), VolumeMeasure::kBytes);
  const WholeScheme ranks(kRank);
  EXPECT_EQ(UsableMeasure({units, &ranks, 1, VolumeMeasure::kElements}), VolumeMeasure::kElements);
}

TEST(LegacyAuto, ThresholdsAreScaledOnly) {
  const auto units = Units();
  const auto scheme = MakeScheme("threshold");
  const VolumeModel model = {units, scheme.get(), 10, VolumeMeasure::kElements};
  if (UsableMeasure(model)) GTEST_FAIL();
  const auto schedule = AutoSchedule(model, 0.01, {.by_phase = false});
  EXPECT_EQ(schedule.parameters, (std::vector<std::vector<double>>{{0.002, 0.01}}));
}

TEST(SolveUniform, WhereTheVolumeFalls) {
  const auto units = Units();
  const auto scheme = MakeScheme("fft");
  const VolumeModel model = {units, scheme.get(), 10, VolumeMeasure::kElements};
  const LegacySchedule schedule = {
      .splits = {1000}, .phase_bounds = {}, .parameters = {{0.5, 0.9}}, .closed_right = false};
  const UniformSolution solution = SolveUniform(model, schedule);
  EXPECT_NEAR(solution.realised, solution.requested, 0.01 * solution.requested);
  EXPECT_GT(solution.parameter, 0.8);
  EXPECT_LT(solution.parameter, 0.9);
}

TEST(LegacyAuto, PolicyOfTheTable) {
  const auto scheme = MakeScheme("topk");
  const PolicyContext context = {.scheme = scheme.get(),
                                 .units = Units(),
                                 .workers = 2,
                                 .total_steps = 10,
                                 .steps_per_epoch = 5,
                                 .parameter = 0.02,
                                 .seed = 1};
  const auto policy = MakePolicy("legacy-auto:rule=layer", context);
  std::vector<double> first(context.units.size());
  std::vector<double> last(context.units.size());
  policy->Decide({.step = 0, .total_steps = 10}, context.units, first);
  policy->Decide({.step = 9, .total_steps = 10}, context.units, last);
  EXPECT_EQ(first, last);
  EXPECT_GT(first[1], first.back() * 0.999);
  EXPECT_GT(first[1], first[first.size() - 3]);
  MakePolicy("legacy-auto", context)->Decide({.step = 9, .total_steps = 10}, context.units, last);
  EXPECT_LT(last[1], first[1]);
  EXPECT_THROW(MakePolicy("legacy-auto:rule=none", context), Error);
}

}  // namespace
}  // namespace legacy::legacy_auto_test