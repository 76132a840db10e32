#include "analysis/study/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "base/error.h"
#include "tests/analysis/study/small_study.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::statistics_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Published values: NIST/SEMATECH e-Handbook of Statistical Methods, table of critical values of
// Student's t (1.3.6.7.2).
TEST(StudentQuantile, IsThePublishedOne) {
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 3), 3.182, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 4), 2.776, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 9), 2.262, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.975, 100), 1.984, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.90, 5), 1.476, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.99, 10), 2.764, 5e-4);
  EXPECT_NEAR(StudentQuantile(0.999, 7), 4.785, 5e-4);
}

// One and two degrees of freedom have a closed form.
TEST(StudentQuantile, AgreesWithClosedForms) {
  for (const double p : {0.01, 0.3, 0.5, 0.8, 0.975, 0.9999}) {
    const double cauchy = std::tan(std::numbers::pi * (p - 0.5));
    EXPECT_NEAR(StudentQuantile(p, 1), cauchy, 1e-9 * (1 + std::abs(cauchy)));
    const double two = (2 * p - 1) * std::sqrt(2 / (4 * p * (1 - p)));
    EXPECT_NEAR(StudentQuantile(p, 2), two, 1e-9 * (1 + std::abs(two)));
  }
}

// The density is integrated numerically, for odd and even degrees of freedom.
TEST(StudentQuantile, LeavesItsProbabilityBelow) {
  for (const int degrees : {3, 4, 7, 12}) {
    const double end = StudentQuantile(0.975, degrees);
    const double norm = std::tgamma((degrees + 1) / 2.0) /
                        (std::sqrt(degrees * std::numbers::pi) * std::tgamma(degrees / 2.0));
    double sum = 0;
    const int parts = 100000;
    for (int i = 0; i < parts; ++i) {
      const double t = (i + 0.5) * end / parts;
      sum += norm * std::pow(1 + t * t / degrees, -(degrees + 1) / 2.0) * end / parts;
    }
    EXPECT_NEAR(sum, 0.475, 1e-8) << degrees;
  }
}

TEST(GeometricMean, HasTheIntervalOfTheLogarithms) {
  // The logarithms are 0, ln 2 and ln 4: mean ln 2, deviation ln 2, t(2) = 4.302653.
  const GeometricMean mean = GeometricMeanOf({1, 2, 4});
  EXPECT_NEAR(mean.mean, 2, 1e-12);
  const double half = 4.302653 * std::log(2) / std::sqrt(3);
  ASSERT_TRUE(mean.interval);
  EXPECT_NEAR(mean.interval->low, 2 * std::exp(-half), 1e-6);
  EXPECT_NEAR(mean.interval->high, 2 * std::exp(half), 1e-5);
  EXPECT_FALSE(GeometricMeanOf({3}).interval);
  EXPECT_NEAR(GeometricMeanOf({3}).mean, 3, 1e-12);
  EXPECT_TRUE(std::isnan(GeometricMeanOf({}).mean));
}

// Returns the outcome of a policy compared with the baseline at one place, from the times of seeds
// 1, 2, 3. Without a time the target was not reached, in 1000 s by the baseline and in 500 s by the
// policy.
Outcome OneOutcome(const std::vector<std::optional<double>>& base,
                   const std::vector<std::optional<double>>& policy) {
  std::vector<uint64_t> seeds;
  for (size_t s = 0; s < base.size(); ++s) seeds.push_back(s + 1);
  Study study = PendingStudy({"dense", "topk"}, seeds, {});
  for (size_t s = 0; s < base.size(); ++s) {
    Finish(study.points[s], base[s], 1000);
    Finish(study.points[base.size() + s], policy[s], 500);
  }
  const std::vector<Place> places = PlacesOf(study);
  EXPECT_EQ(places.size(), 1U);
  return places[0].outcomes[1];
}

TEST(Speedup, IsTheGeometricMeanOverPairs) {
  const Outcome outcome = OneOutcome({10.0, 20.0, 40.0}, {5.0, 20.0, 10.0});
  EXPECT_EQ(outcome.speedup.pairs.size(), 3U);
  EXPECT_EQ(outcome.speedup.pairs[2].seed, 3U);
  EXPECT_NEAR(outcome.speedup.ratio, 2, 1e-12);  // geometric mean of 2, 1, 4
  EXPECT_EQ(outcome.speedup.bound, Bound::kExact);
  ASSERT_TRUE(outcome.speedup.interval);
  EXPECT_LT(outcome.speedup.interval->low, 1);
  EXPECT_NEAR(outcome.time_to_target.mean, 35.0 / 3, 1e-12);
  EXPECT_EQ(outcome.reached, 3);
}

// All seeds reach the target at the same evaluation, so that the ratio of 10 is known only to
// within an evaluation.
TEST(Speedup, IsKnownToOneEvaluation) {
  const auto interval = [](int64_t between, double spread) {
    Study study = PendingStudy({"dense", "topk"}, {1, 2}, {});
    Finish(study.points[0], 10);
    Finish(study.points[1], 10 * spread);
    Finish(study.points[2], 1);
    Finish(study.points[3], 1);
    Evaluate(study, between);
    return PlacesOf(study)[0].outcomes[1].speedup.interval.value();
  };
  EXPECT_NEAR(interval(20, 1).low, 8, 1e-12);  // dense reached it right after step 80
  EXPECT_NEAR(interval(20, 1).high, 12.5, 1e-12);
  EXPECT_NEAR(interval(100, 1).low, 0.1, 1e-12);  // or after its first step
  EXPECT_NEAR(interval(100, 1).high, 1000, 1e-9);
  // If seeds differ by more than that, only they decide.
  const GeometricMean mean = GeometricMeanOf({10, 20});
  EXPECT_NEAR(interval(20, 2).low, mean.interval->low, 1e-12);
  EXPECT_NEAR(interval(20, 2).high, mean.interval->high, 1e-6);
}

TEST(Speedup, IsABoundWhereThePolicyNeverReached) {
  const Outcome outcome = OneOutcome({10.0, 20.0}, {5.0, std::nullopt});
  EXPECT_EQ(outcome.speedup.bound, Bound::kAtMost);
  EXPECT_NEAR(outcome.speedup.pairs[1].ratio, 20.0 / 500, 1e-15);
  EXPECT_NEAR(outcome.speedup.ratio, std::sqrt(2 * 20.0 / 500), 1e-12);
  EXPECT_FALSE(outcome.speedup.interval);
  EXPECT_EQ(outcome.reached, 1);
  EXPECT_EQ(outcome.time_to_target.count, 0);  // a censored time makes the mean unknown
  EXPECT_NEAR(outcome.time_bound, (5.0 + 500) / 2, 1e-12);
}

TEST(Speedup, IsABoundWhereTheBaselineNeverReached) {
  const Outcome outcome = OneOutcome({std::nullopt, 20.0}, {50.0, 10.0});
  EXPECT_EQ(outcome.speedup.bound, Bound::kAtLeast);
  EXPECT_NEAR(outcome.speedup.ratio, std::sqrt(1000.0 / 50 * 2), 1e-12);
}

TEST(Speedup, IsUnknownBetweenBoundsOfBothKinds) {
  const Outcome outcome = OneOutcome({std::nullopt, 20.0}, {50.0, std::nullopt});
  EXPECT_EQ(outcome.speedup.pairs.size(), 2U);
  EXPECT_FALSE(outcome.speedup.known());
}

TEST(Speedup, HasNoPairWhereNeitherReached) {
  const Outcome some = OneOutcome({std::nullopt, 20.0}, {std::nullopt, 10.0});
  EXPECT_EQ(some.speedup.missed_by_both, 1);
  EXPECT_NEAR(some.speedup.ratio, 2, 1e-12);
  EXPECT_FALSE(some.speedup.interval);  // one pair is left
  const Outcome none = OneOutcome({std::nullopt}, {std::nullopt});
  EXPECT_FALSE(none.speedup.known());
  EXPECT_EQ(none.reached, 0);
  EXPECT_EQ(none.done, 1);
}

TEST(Speedup, OfOneSeedHasNoInterval) {
  const Outcome outcome = OneOutcome({10.0}, {5.0});
  EXPECT_NEAR(outcome.speedup.ratio, 2, 1e-12);
  EXPECT_FALSE(outcome.speedup.interval);
  EXPECT_TRUE(std::isnan(outcome.time_to_target.deviation));
}

TEST(Places, HaveHolesWherePointsAreNotDone) {
  Study study = MakeStudy();
  Forget(study.points[0]);              // dense, seed 1, at the first place
  Forget(study.points[4], "no route");  // fp16, seed 2
  std::erase_if(study.points, [](const StudyPoint& point) {
    return point.policy == "legacy" && point.values[1] == "16";
  });
  for (size_t i = 0; i < study.points.size(); ++i) study.points[i].id = static_cast<int64_t>(i);
  const std::vector<Place> places = PlacesOf(study);
  ASSERT_EQ(places.size(), 26U);
  EXPECT_THAT(places[1].values, ElementsAre(0, 1));  // the first axis changes slowest
  const Outcome& dense = places[0].outcomes[0];
  EXPECT_EQ(dense.done, 2);
  EXPECT_EQ(dense.planned, 3);
  EXPECT_EQ(dense.failed, 0);
  EXPECT_EQ(dense.time_to_target.count, 2);
  const Outcome& fp16 = places[0].outcomes[1];
  EXPECT_EQ(fp16.failed, 1);
  ASSERT_EQ(fp16.speedup.pairs.size(), 1U);  // the seed that both have
  EXPECT_EQ(fp16.speedup.pairs[0].seed, 3U);
  EXPECT_EQ(fp16.metric_difference.count, 1);
  EXPECT_EQ(places[1].outcomes[7].planned, 0);
  EXPECT_EQ(places[1].outcomes[7].step_seconds.count, 0);
}

TEST(Places, MeanStepsVolumesAndBytesToTheTarget) {
  const Study study = MakeStudy();
  const Outcome outcome = PlacesOf(study)[0].outcomes[1];  // fp16 at 10 Mbit/s with 8 workers
  const double communication = 8 * 0.5e6 * 1.75 / 1e7;
  EXPECT_NEAR(outcome.step.communication, communication, 1e-12);
  EXPECT_NEAR(outcome.step.encode, 1e-4, 1e-15);
  EXPECT_NEAR(outcome.step_seconds.mean, 0.01 + 2e-4 + communication, 1e-12);
  EXPECT_NEAR(outcome.traffic_ratio.mean, 2, 1e-12);
  EXPECT_NEAR(outcome.steps, 400, 0);
  EXPECT_EQ(outcome.egress_usd.count, 0);
  // The seeds reach the target at steps 194, 200 and 206, and evaluations are every 20 steps: bytes
  // are known only for the step that has an evaluation.
  EXPECT_EQ(outcome.nic_bytes_to_target.count, 0);
  Study even = study;
  for (StudyPoint& point : even.points) {
    if (point.figures.steps_to_target) point.figures.steps_to_target = 200;
  }
  EXPECT_NEAR(PlacesOf(even)[0].outcomes[1].nic_bytes_to_target.mean, 0.5e6 * 1.75 * 200, 1e-3);
}

TEST(Places, OfAStudyWithoutTargetHaveNoSpeedup) {
  Study study = MakeStudy();
  study.target.reset();
  EXPECT_TRUE(PlacesOf(study)[0].outcomes[1].speedup.pairs.empty());
  EXPECT_EQ(PlacesOf(study)[0].outcomes[1].speedup.missed_by_both, 0);
}

TEST(Places, RefuseWhatTheStudyDoesNotList) {
  Study study = MakeStudy();
  study.points[5].values[0] = "3bps";
  try {
    PlacesOf(study);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("point 5: bandwidth: got '3bps'"));
  }
  EXPECT_THROW(PolicyIndex(study, "topk"), Error);
}

TEST(Facets, DifferInOneAxisAlone) {
  Study study = PendingStudy({"dense"}, {1},
                             {Bandwidths({1e9, 1e8}),
                              {"workers", "", {"1", "8"}, {1, 8}},
                              {"topo", "", {"leaf-spine", "Leaf spine"}, {}},
                              {"delay", "s", {"10us"}, {1e-5}}});
  const std::vector<Facet> facets = FacetsOf(study, 0);
  ASSERT_EQ(facets.size(), 4U);
  EXPECT_EQ(facets[0].name, "1 worker, leaf-spine, delay 10 µs");
  EXPECT_EQ(facets[0].slug, "workers-1-topo-leaf-spine-delay-10us");
  EXPECT_EQ(facets[1].slug, "workers-1-topo-leaf-spine-delay-10us-2");
  EXPECT_EQ(facets[3].name, "8 workers, Leaf spine, delay 10 µs");
  EXPECT_THAT(facets[2].x, ElementsAre(1e8, 1e9));  // sorted by number, not by position
  EXPECT_THAT(facets[2].places[0].values, ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(NumericAxes(study), ElementsAre(0, 1));  // an axis of one delay cannot be drawn along
  EXPECT_THAT(NumericAxisPairs(study), ElementsAre(std::pair<size_t, size_t>(0, 1)));
}

TEST(Facets, OfOneAxisHaveNoName) {
  const std::vector<Facet> facets = FacetsOf(PendingStudy({"dense"}, {1}, {Bandwidths({1, 2})}), 0);
  ASSERT_EQ(facets.size(), 1U);
  EXPECT_EQ(facets[0].name, "");
  EXPECT_EQ(facets[0].slug, "");
}

TEST(Planes, HoldEveryPlaceOnceAndHoles) {
  Study study =
      PendingStudy({"dense"}, {1}, {Bandwidths({1e8, 1e9}), {"workers", "", {"4", "8"}, {4, 8}}});
  study.points.pop_back();  // 1 Gbit/s, 8 workers
  const std::vector<Plane> planes = PlanesOf(study, 0, 1);
  ASSERT_EQ(planes.size(), 1U);
  EXPECT_THAT(planes[0].y, ElementsAre(4, 8));
  ASSERT_EQ(planes[0].places.size(), 4U);
  EXPECT_THAT(planes[0].places[2]->values, ElementsAre(0, 1));
  EXPECT_THAT(planes[0].places[1]->values, ElementsAre(1, 0));
  EXPECT_FALSE(planes[0].places[3]);
}

}  // namespace
}  // namespace legacy::analysis::statistics_test