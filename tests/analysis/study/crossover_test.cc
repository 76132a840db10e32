#include "analysis/study/crossover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/analysis/study/small_study.h"

namespace legacy::analysis::crossover_test {
namespace {

using Time = std::optional<double>;

double Bandwidth(const Study& study, const StudyPoint& point) {
  const auto& values = study.axes[0].values;
  return study.axes[0]
      .numbers[static_cast<size_t>(std::ranges::find(values, point.values[0]) - values.begin())];
}

// Returns a study in which topk takes 10 s everywhere and dense 10 s x (even / bandwidth)^power:
// with seed s they break even at evens[s - 1].
Study PowerLaws(const std::vector<double>& evens, double power) {
  std::vector<uint64_t> seeds;
  for (size_t s = 0; s < evens.size(); ++s) seeds.push_back(s + 1);
  Study study = PendingStudy({"dense", "topk"}, seeds, {Bandwidths({1e6, 1e7, 1e8, 1e9, 1e10})});
  FinishAll(study, [&](const StudyPoint& point) -> Time {
    if (point.policy == "topk") return 10;
    return 10 * std::pow(evens[point.seed - 1] / Bandwidth(study, point), power);
  });
  return study;
}

// Returns a study of one seed with these times of dense at bandwidths 1, 10, 100, ...; topk always
// reaches the target, in 10 s.
Study OneSeed(const std::vector<Time>& dense, double dense_end = 1000) {
  std::vector<double> bandwidths;
  for (size_t i = 0; i < dense.size(); ++i) bandwidths.push_back(std::pow(10, i));
  Study study = PendingStudy({"dense", "topk"}, {1}, {Bandwidths(bandwidths)});
  for (size_t i = 0; i < dense.size(); ++i) {
    Finish(study.points[2 * i], dense[i], dense_end);
    Finish(study.points[2 * i + 1], 10);
  }
  return study;
}

Crossover Against(const Study& study, Clock clock = Clock::kSimulated) {
  return CrossoverOf(study, FacetsOf(study, 0)[0], 1, 0, clock);
}

TEST(Crossover, OfPowerLawsIsExact) {
  const Crossover crossover = Against(PowerLaws({3.7e8, 3.7e8}, 0.8));
  EXPECT_EQ(crossover.crossing, 2);
  EXPECT_NEAR(crossover.x / 3.7e8, 1, 1e-12);
  EXPECT_NEAR(crossover.seconds, 10, 1e-12);
  EXPECT_TRUE(crossover.faster_below);
  ASSERT_TRUE(crossover.interval);
  EXPECT_NEAR(crossover.interval->low / 3.7e8, 1, 1e-9);
}

TEST(Crossover, OverSeedsIsTheGeometricMeanWithItsInterval) {
  const Crossover crossover = Against(PowerLaws({1e8, 2e8, 4e8}, 1));
  EXPECT_NEAR(crossover.x, 2e8, 1);
  const double half = 4.302653 * std::log(2) / std::sqrt(3);
  ASSERT_TRUE(crossover.interval);
  EXPECT_NEAR(std::log(crossover.interval->high / 2e8), half, 1e-6);
  EXPECT_NEAR(std::log(crossover.interval->low / 2e8), -half, 1e-6);
}

// With evaluations after steps 80 and 100, the ratio of times is known to within a factor of 0.8
// each way, and x to that to the power of 1 / 2.
TEST(Crossover, IsKnownToOneEvaluation) {
  for (const double power : {2.0, -2.0}) {
    Study study = PowerLaws({1e8, 1e8}, power);
    Evaluate(study, 20);
    for (const Clock clock : {Clock::kSimulated, Clock::kTextbook}) {
      const Crossover crossover = Against(study, clock);
      ASSERT_TRUE(crossover.interval);
      EXPECT_NEAR(crossover.interval->low / 1e8, std::sqrt(0.8), 1e-9);
      EXPECT_NEAR(crossover.interval->high / 1e8, std::sqrt(1.25), 1e-9);
    }
  }
  // No interval leaves the axis.
  Study coarse = PowerLaws({1e8, 1e8}, 0.1);
  Evaluate(coarse, 20);
  EXPECT_NEAR(Against(coarse).interval->low, 1e8 * std::pow(0.8, 10), 1);
  Evaluate(coarse = PowerLaws({1e8, 1e8}, 0.01), 20);
  EXPECT_NEAR(Against(coarse).interval->low, 1e6, 1e-3);
  EXPECT_NEAR(Against(coarse).interval->high, 1e10, 10);
}

// If the curves hardly part at the crossing, the interval follows them beyond the neighbouring
// values: it ends where one policy is ahead by more than an evaluation.
TEST(Crossover, IsKnownAsFarAsTheCurvesPart) {
  Study study = OneSeed({100, 20, 10.1, 9.9, 9.8});
  Evaluate(study, 20);  // ratios are known to within a factor of 0.8 each way
  const Crossover crossover = Against(study);
  ASSERT_EQ(crossover.crossing, 1);
  const Interval range = crossover.seeds[0].crossings[0].range;
  const double part = std::log(2 * 0.8) / std::log(2 * 0.8 / (1.01 * 0.8));
  EXPECT_NEAR(range.low, std::pow(10, 1 + part), 1e-6);
  EXPECT_EQ(range.high, 1e4);
}

TEST(Crossover, IsFasterAboveWhereTimesCrossTheOtherWay) {
  const Crossover crossover = Against(PowerLaws({1e8}, -1));
  EXPECT_FALSE(crossover.faster_below);
  EXPECT_NEAR(crossover.x, 1e8, 1);
  EXPECT_FALSE(crossover.interval);  // one seed
}

TEST(Crossover, SaysWhichSeedsNeverCross) {
  const Crossover crossover = Against(PowerLaws({1e3, 2e8, 1e12}, 1));
  EXPECT_EQ(crossover.crossing, 1);
  EXPECT_EQ(crossover.behind, 1);
  EXPECT_EQ(crossover.ahead, 1);
  EXPECT_NEAR(crossover.x, 2e8, 1);
  EXPECT_FALSE(crossover.interval);
  EXPECT_EQ(crossover.seeds[0].verdict, Verdict::kBehind);
  EXPECT_EQ(crossover.seeds[2].verdict, Verdict::kAhead);
}

TEST(Crossover, TakesTheHighestOfSeveral) {
  const Crossover crossover = Against(OneSeed({20, 5, 20, 5}));  // ratios 2, 1/2, 2, 1/2
  ASSERT_EQ(crossover.seeds[0].crossings.size(), 3U);
  EXPECT_NEAR(crossover.seeds[0].crossings[0].x, std::sqrt(10), 1e-12);
  EXPECT_FALSE(crossover.seeds[0].crossings[1].faster_below);
  EXPECT_NEAR(crossover.x, 100 * std::sqrt(10), 1e-9);
}

TEST(Crossover, IsExactAtAValueOfTheGrid) {
  EXPECT_NEAR(Against(OneSeed({20, 10, 5})).x, 10, 1e-12);
  EXPECT_NEAR(Against(OneSeed({20, 10, 10, 5})).x, std::pow(10, 1.5), 1e-12);
  // A tie at one value is not a crossover.
  EXPECT_EQ(Against(OneSeed({20, 10, 20})).seeds[0].verdict, Verdict::kAhead);
  EXPECT_EQ(Against(OneSeed({20, 10})).seeds[0].verdict, Verdict::kAhead);
  EXPECT_EQ(Against(OneSeed({10, 10})).seeds[0].verdict, Verdict::kBehind);
}

TEST(Crossover, TakesTheSignOfBounds) {
  // Dense does not reach the target within 1000 s: topk is at least 100 times faster.
  EXPECT_EQ(Against(OneSeed({std::nullopt, std::nullopt})).seeds[0].verdict, Verdict::kAhead);
  EXPECT_EQ(Against(OneSeed({std::nullopt, 20})).seeds[0].verdict, Verdict::kAhead);
  // Dense ended after 5 s: nothing is known.
  EXPECT_EQ(Against(OneSeed({std::nullopt, 20}, 5)).seeds[0].verdict, Verdict::kUnknown);
  // The two cross, but the place is unknown.
  const Crossover hidden = Against(OneSeed({std::nullopt, 5}));
  EXPECT_EQ(hidden.seeds[0].verdict, Verdict::kUnknown);
  EXPECT_FALSE(hidden.crosses());
  // With policies swapped, topk is slower.
  const Study study = OneSeed({std::nullopt, std::nullopt});
  EXPECT_EQ(CrossoverOf(study, FacetsOf(study, 0)[0], 0, 1, Clock::kSimulated).behind, 1);
}

TEST(Crossover, IsUnknownWhereNeitherReaches) {
  Study study = OneSeed({20, 5});
  for (StudyPoint& point : study.points) Finish(point, std::nullopt);
  EXPECT_EQ(Against(study).unknown, 1);
}

TEST(Crossover, InterpolatesOverMissingPoints) {
  Study study = OneSeed({40, 1e9, 2.5});
  study.points[2].state = StudyState::kFailed;  // dense at 10
  EXPECT_NEAR(Against(study).x, 10, 1e-9);
  study.points[4].state = StudyState::kPending;  // dense at 100: one value is left
  EXPECT_EQ(Against(study).unknown, 1);
}

TEST(Crossover, IsLinearWhereTheAxisHoldsZero) {
  Study study = PendingStudy({"dense", "topk"}, {1}, {{"sigma", "", {"0", "0.5"}, {0, 0.5}}});
  Finish(study.points[0], 20);
  Finish(study.points[1], 10);
  Finish(study.points[2], 2.5);
  Finish(study.points[3], 10);
  // The logarithms of the ratios are ln 2 and -2 ln 2.
  EXPECT_NEAR(Against(study).x, 0.5 / 3, 1e-12);
}

TEST(Crossover, LeavesOutSeedsThatCrossTheOtherWay) {
  Study study = PendingStudy({"dense", "topk"}, {1, 2, 3}, {Bandwidths({1, 10})});
  const double dense[2][3] = {{20, 20, 5}, {5, 5, 20}};
  for (size_t i = 0; i < 2; ++i) {
    for (size_t s = 0; s < 3; ++s) {
      Finish(study.points[6 * i + s], dense[i][s]);
      Finish(study.points[6 * i + 3 + s], 10);
    }
  }
  const Crossover crossover = Against(study);
  EXPECT_EQ(crossover.crossing, 3);
  EXPECT_EQ(crossover.contrary, 1);
  EXPECT_TRUE(crossover.faster_below);
  EXPECT_NEAR(crossover.x, std::sqrt(10), 1e-12);
}

TEST(BreakEven, IsGivenBesideTheTextbooks) {
  Study study = PowerLaws({2e8, 4e8}, 1);
  // By the textbook dense takes half as long, so that it breaks even at half the bandwidth.
  for (StudyPoint& point : study.points) {
    if (point.policy == "dense") point.figures.alpha_beta_step_seconds /= 2;
  }
  const std::vector<BreakEven> evens = BreakEvensOf(study, FacetsOf(study, 0)[0]);
  ASSERT_EQ(evens.size(), 1U);
  EXPECT_EQ(evens[0].simulated.policy, "topk");
  EXPECT_NEAR(evens[0].simulated.x / evens[0].textbook.x, 2, 1e-9);
  EXPECT_NEAR(evens[0].ratio.mean, 0.5, 1e-9);
  EXPECT_EQ(evens[0].ratio.count, 2);
  study.baseline = "gone";
  EXPECT_TRUE(BreakEvensOf(study, FacetsOf(study, 0)[0]).empty());
}

TEST(BreakEven, BySimpleConditionIsWhereTheConditionTurnsTrue) {
  const double bandwidth = SimpleBreakEven(10, 1e-9) / 8;  // bytes per second
  EXPECT_NEAR(bandwidth, 0.9e9, 1e-3);
  const auto pays = [](double ratio, double rate, double codec) {  // seconds per byte
    return 1 / (ratio * rate) + codec < 1 / rate;
  };
  EXPECT_TRUE(pays(10, bandwidth * 0.999, 1e-9));
  EXPECT_FALSE(pays(10, bandwidth * 1.001, 1e-9));
  EXPECT_NEAR(1 / (1 - bandwidth * 1e-9), 10, 1e-9);
  EXPECT_EQ(SimpleBreakEven(1, 1e-9), 0);
  EXPECT_EQ(SimpleBreakEven(0.5, 0), 0);
  EXPECT_EQ(SimpleBreakEven(2, 0), std::numeric_limits<double>::infinity());
}

TEST(BreakEven, BySimpleConditionFromMeansOfSteps) {
  Study study = PowerLaws({1e8, 1e8}, 1);
  // Each training has 200 steps of 1 MB; topk sends a tenth of it and computes for 1 ms.
  for (StudyPoint& point : study.points) {
    const bool topk = point.policy == "topk";
    point.figures.nic_bytes = 200 * (topk ? 1e5 : 1e6);
    if (topk) point.figures.encode_seconds = point.figures.decode_seconds = 5e-4;
  }
  EXPECT_NEAR(SimpleBreakEvenOf(FacetsOf(study, 0)[0], 1, 0), 8 * 0.9 / 1e-9, 1e-3);
}

}  // namespace
}  // namespace legacy::analysis::crossover_test