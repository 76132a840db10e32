// The policy `flexible` and its choice by several objectives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "compress/policies/pareto.h"
#include "tests/compress/policy_driver.h"

namespace legacy::flexible_test {
namespace {

// Links on which bandwidth or latency dominates: 10 Mbit/s and 100 Gbit/s, with a latency of 100
// us.
const LinkEstimate kSlow = {.latency_seconds = 1e-4, .seconds_per_byte = 8e-7};
const LinkEstimate kFast = {.latency_seconds = 1e-4, .seconds_per_byte = 8e-11};

PolicyContext Context() {
  return {.scheme = nullptr,
          .units = test::MakeUnits({20000, 5000, 700}),
          .workers = 8,
          .total_steps = 100,
          .steps_per_epoch = 10,
          .parameter = 0.01,
          .seed = 1};
}

StepInfo At(int64_t step, const LinkEstimate& link) {
  return {.step = step, .total_steps = 100, .learning_rate = 1, .link = link};
}

std::vector<Decision> Decided(test::PolicyDriver& driver, int64_t step, const LinkEstimate& link,
                              float scale = 1) {
  const auto normal = test::NormalGradients(Context().units);
  const auto gradients = [&](int64_t step, int worker) {
    auto values = normal(step, worker);
    for (size_t i = 0; i < values.size(); i += 7) values[i] *= scale;  // some values stand out
    return values;
  };
  driver.Step(At(step, link), gradients);
  return driver.policy().TakeDecisions();
}

TEST(Pareto, FrontEqualsComparingAllPairs) {
  EXPECT_EQ(ParetoFront({}), std::vector<size_t>());
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<Objectives> byHand = {{1, 5, 5}, {2, 2, 2},   {2, 2, 3},  {2, 2, 2},
                                          {5, 1, 1}, {0, 0, inf}, {nan, 0, 0}};
  EXPECT_EQ(ParetoFront(byHand), (std::vector<size_t>{0, 1, 3, 4}));  // equal points stay

  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<Objectives> points;
    const auto values = test::Normals(36, seed + 1);
    for (size_t i = 0; i < 36; i += 3) {
      const auto whole = [&](size_t j) { return std::abs(std::round(2 * double{values[i + j]})); };
      points.push_back({whole(0), whole(1), whole(2)});
    }
    const auto front = ParetoFront(points);
    for (size_t i = 0; i < points.size(); ++i) {
      bool dominated = false;
      for (const Objectives& other : points) {
        const bool nowhere_above =
            other[0] <= points[i][0] && other[1] <= points[i][1] && other[2] <= points[i][2];
        dominated = dominated || (nowhere_above && other != points[i]);
      }
      EXPECT_EQ(std::ranges::count(front, i), dominated ? 0 : 1) << seed << " " << i;
    }
  }
}

TEST(Pareto, DistancesAreRelativeToTheIdeal) {
  // The ideal is (1, 2, 4): squared distances 9 + 0 + 0, 1 + 1 + 0.25, 0 + 0 + 4.
  const std::vector<Objectives> points = {{4, 2, 4}, {2, 4, 6}, {1, 2, 12}, {0, 0, 0}};
  EXPECT_EQ(NearestToIdeal(points, std::vector<size_t>{0, 1, 2}), 1u);
  EXPECT_EQ(NearestToIdeal(points, std::vector<size_t>{0, 2}), 2u);
  EXPECT_EQ(NearestToIdeal(points, std::vector<size_t>{0}), 0u);
  // An objective that the ideal has for free does not count; of equal points the first is chosen.
  const std::vector<Objectives> free = {{0, 2, 3}, {9, 2, 2}, {0, 2, 2}};
  EXPECT_EQ(NearestToIdeal(free, std::vector<size_t>{0, 1, 2}), 1u);
  // A change of units does not change the choice.
  std::vector<Objectives> scaled = points;
  for (Objectives& point : scaled) point[1] *= 1e-6;
  EXPECT_EQ(NearestToIdeal(scaled, std::vector<size_t>{0, 1, 2}), 1u);
}

// For one unit of Top-K, the time of the ring all-gather and the kept share of the energy are
// computed by hand.
TEST(Flexible, TakesTheNearestOfItsCandidates) {
  PolicyContext context = Context();
  context.units = test::MakeUnits({20000});
  for (const LinkEstimate& base : {kSlow, kFast}) {
    LinkEstimate link = base;
    link.work_seconds = [](const WorkList& work) {
      double seconds = 0;
      for (const Work& entry : work) seconds += 1e-9 * static_cast<double>(entry.elements);
      return seconds;
    };
    test::PolicyDriver driver("flexible", "topk", context);
    const auto gradients = test::NormalGradients(context.units);
    EXPECT_EQ(driver.Step(At(0, link), gradients).parameters.front(), 0.011);  // near the anchor
    const auto gradient = gradients(0, 0);
    double energy = 0;
    for (const float x : gradient) energy += double{x} * x;
    std::vector<Objectives> points;
    const std::vector<double> densities = {0.001, 0.004, 0.011, 0.033, 0.1};
    const Unit& unit = context.units[0];
    const auto errors = driver.scheme().SquaredErrors(unit, gradient, densities, {});
    for (size_t i = 0; i < densities.size(); ++i) {
      const auto bytes = static_cast<double>(*driver.scheme().MessageBytes(unit, densities[i]));
      double elements = 0;
      const auto calls = driver.scheme().Plan(unit, densities[i], 8);
      for (const PlannedCall& planned : *calls) {
        for (const auto& list : {planned.call.encode, planned.call.decode}) {
          for (const Work& work : list) elements += static_cast<double>(work.elements);
        }
      }
      points.push_back({1e-9 * elements, 7 * (link.latency_seconds + bytes * link.seconds_per_byte),
                        energy / (energy - errors[i])});
    }
    const auto decisions = driver.policy().TakeDecisions();
    const size_t chosen = NearestToIdeal(points, ParetoFront(points));
    ASSERT_EQ(decisions.size(), 2u);
    EXPECT_EQ(decisions[1].parameter, densities[chosen]);
    const DecisionGrounds& grounds = decisions[1].grounds;
    EXPECT_NEAR(grounds.seconds, points[chosen][0] + points[chosen][1], 1e-12);
    EXPECT_NEAR(grounds.gain, 1 / points[chosen][2], 1e-6);
    EXPECT_NEAR(grounds.error, errors[chosen] / energy, 1e-6);
    EXPECT_EQ(grounds.reason, "first search");
  }
}

TEST(Flexible, SlowLinksGetSmallerDensities) {
  for (const char* scheme : {"topk", "ar-topk", "flexible-topk", "sidco", "dgc:vectors=on"}) {
    std::vector<double> densities;
    for (const LinkEstimate& link : {kSlow, kFast}) {
      test::PolicyDriver driver("flexible", scheme, Context());
      EXPECT_TRUE(driver.policy().Traits().reads_clock);
      densities.push_back(Decided(driver, 0, link).back().parameter);
    }
    EXPECT_LT(densities[0], densities[1]) << scheme;
  }
}

TEST(Flexible, SearchesAgainWhereSomethingMoved) {
  test::PolicyDriver driver("flexible:interval=2,change=0.5", "topk", Context());
  const auto reason_at = [&](int64_t step, const LinkEstimate& link, float scale = 1) {
    const auto decisions = Decided(driver, step, link, scale);
    return decisions.empty() ? "" : decisions.back().grounds.reason;
  };
  const std::string kept = "kept: neither the network nor the gain moved";
  LinkEstimate nearly = kSlow;
  nearly.latency_seconds *= 1.4;
  nearly.seconds_per_byte *= 0.6;
  EXPECT_EQ(reason_at(0, kSlow), "first search");
  // The residual of the first step changes the gain until it has settled.
  int64_t step = 1;
  while (step < 60 && reason_at(step, kSlow) != kept) ++step;
  ASSERT_LT(step, 60);
  EXPECT_EQ(reason_at(step + 1, kSlow), "");  // no search is due
  EXPECT_EQ(reason_at(step + 2, nearly), kept);
  EXPECT_EQ(reason_at(step + 4, kFast), "the rate moved");
  LinkEstimate far = kFast;
  far.latency_seconds *= 1.6;
  EXPECT_EQ(reason_at(step + 6, far), "the latency moved");
  EXPECT_EQ(reason_at(step + 8, far, 1000), "the gain moved");
}

TEST(Flexible, AnnouncesOnePositionForAllUnits) {
  test::PolicyDriver driver("flexible", "topk", Context());
  const auto gradients = test::NormalGradients(Context().units);
  const auto first = driver.Step(At(0, kFast), gradients);
  ASSERT_EQ(first.announcement.size(), 16u + 3);
  for (size_t u = 1; u < 3; ++u) EXPECT_EQ(first.announcement[16 + u], first.announcement[16]);
  const auto second = driver.Step(At(1, kFast), gradients);
  constexpr double kDensities[] = {0.001, 0.004, 0.011, 0.033, 0.1};
  const auto position = std::to_integer<size_t>(first.announcement[16]);
  EXPECT_EQ(second.parameters, std::vector<double>(3, kDensities[position]));
  EXPECT_TRUE(second.announcement.empty());
}

// A search is charged its error table, energies and the accumulated gradient.
TEST(Flexible, IsChargedOnlyForSearches) {
  test::PolicyDriver driver("flexible:interval=2", "topk", Context());
  const auto gradients = test::NormalGradients(Context().units);
  const auto look = driver.Step(At(0, kFast), gradients).policy_work;
  ASSERT_EQ(look.size(), 3u);
  EXPECT_EQ(look[0].kernel, "moved");  // clears its sum
  EXPECT_EQ(look[0].elements, 4 * 25700);
  EXPECT_EQ(look[1].kernel, "histogram");
  EXPECT_EQ(look[2].kernel, "norm");
  for (const Work& work : std::span(look).subspan(1)) EXPECT_EQ(work.elements, 25700);
  EXPECT_TRUE(driver.Step(At(1, kFast), gradients).policy_work.empty());
  EXPECT_TRUE(driver.policy().LocalWork().empty());
}

TEST(Flexible, BeginsAfterADenseStart) {
  test::PolicyDriver driver("flexible", "topk:dense_start=3", Context());
  EXPECT_EQ(Decided(driver, 0, kFast).size(), 3u);  // the parameters of the start
  for (int64_t step = 1; step < 3; ++step) EXPECT_TRUE(Decided(driver, step, kFast).empty());
  EXPECT_EQ(Decided(driver, 3, kFast).back().grounds.reason, "first search");
  EXPECT_EQ(driver.policy().DecisionsIn(14)->decisions, 1);
  EXPECT_EQ(driver.policy().DecisionsIn(15)->decisions, 2);
}

TEST(Flexible, ZeroGradientsGetTheLeastDensity) {
  test::PolicyDriver driver("flexible", "topk", Context());
  const auto zeros = [](int64_t, int) { return std::vector<float>(25700); };
  driver.Step(At(0, kSlow), zeros);
  const auto decisions = driver.policy().TakeDecisions();
  EXPECT_EQ(decisions.back().parameter, 0.001);  // no loss at any density
  EXPECT_EQ(decisions.back().grounds.gain, 1);
  EXPECT_EQ(decisions.back().grounds.error, 0);
}

TEST(Flexible, Options) {
  EXPECT_THROW(test::PolicyDriver("flexible:interval=0", "topk", Context()), Error);
  EXPECT_THROW(test::PolicyDriver("flexible:scale=11", "topk", Context()), Error);
  for (const char* scheme : {"dense", "powersgd", "qsgd", "fft", "threshold"}) {
    EXPECT_THROW(test::PolicyDriver("flexible", scheme, Context()), Error) << scheme;
  }
}

}  // namespace
}  // namespace legacy::flexible_test