#include "compress/policies/knapsack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace legacy::knapsack_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ChoiceTable Table(const std::vector<std::vector<double>>& rows) {
  ChoiceTable table(rows.size(), rows[0].size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) table.At(i, j) = rows[i][j];
  }
  return table;
}

struct Instance {
  ChoiceTable errors;
  ChoiceTable costs;
};

// Errors fall and costs rise from option to option, as with real codecs.
Instance Random(size_t units, size_t options, uint64_t seed) {
  RandomStream stream({.seed = seed});
  Instance instance{ChoiceTable(units, options), ChoiceTable(units, options)};
  for (size_t unit = 0; unit < units; ++unit) {
    double error = std::exp(3 * stream.Normal());
    double cost = 1 + stream.Below(1000);
    for (size_t option = 0; option < options; ++option) {
      instance.errors.At(unit, option) = error;
      instance.costs.At(unit, option) = cost;
      error *= stream.Uniform();
      cost += 1 + stream.Below(1000);
    }
  }
  return instance;
}

// Returns the least cost of all choices whose errors add up to at most the budget.
double Optimum(const Instance& instance, double budget) {
  const size_t units = instance.errors.units;
  Choices choices(units, 0);
  double best = kInfinity;
  for (;;) {
    if (SumOf(instance.errors, choices) <= budget) {
      best = std::min(best, SumOf(instance.costs, choices));
    }
    size_t unit = 0;
    while (unit < units && ++choices[unit] == instance.errors.options) choices[unit++] = 0;
    if (unit == units) return best;
  }
}

TEST(SolveKnapsack, LiesBetweenTheOptimaOfTheBudgetAndOfTheRoundedOne) {
  int strict = 0;  // counts coarse steps, without which the test shows nothing
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Instance instance = Random(1 + seed % 5, 1 + seed % 4, seed);
    const Choices middle(instance.errors.units, static_cast<uint8_t>(instance.errors.options / 2));
    const double budget = SumOf(instance.errors, middle);
    for (const int64_t steps : {20, 200, 10000}) {
      const double shrunk = budget * (1 - static_cast<double>(middle.size()) / double(steps));
      const auto found = SolveKnapsack(instance.errors, instance.costs, budget, steps);
      const double upper = Optimum(instance, shrunk);
      ASSERT_TRUE(found || upper == kInfinity);
      if (!found) continue;
      EXPECT_LE(SumOf(instance.errors, *found), budget * (1 + 1e-12));
      const double cost = SumOf(instance.costs, *found);
      EXPECT_GE(cost, Optimum(instance, budget));
      EXPECT_LE(cost, upper);
      strict += cost > Optimum(instance, budget);
    }
  }
  EXPECT_GT(strict, 0);
}

TEST(SolveKnapsack, OrderOfUnitsDoesNotMatter) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Instance instance = Random(30, 7, seed);
    Instance reversed = instance;
    for (size_t unit = 0; unit < 30; ++unit) {
      for (size_t option = 0; option < 7; ++option) {
        reversed.errors.At(29 - unit, option) = instance.errors.At(unit, option);
        reversed.costs.At(29 - unit, option) = instance.costs.At(unit, option);
      }
    }
    const double budget = SumOf(instance.errors, Choices(30, 3));
    const auto a = SolveKnapsack(instance.errors, instance.costs, budget, 2000);
    const auto b = SolveKnapsack(reversed.errors, reversed.costs, budget, 2000);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(SumOf(instance.costs, *a), SumOf(reversed.costs, *b));
  }
}

TEST(SolveKnapsack, NothingFitsOrNothingIsNeeded) {
  const ChoiceTable costs = Table({{1, 2}, {1, 2}});
  EXPECT_FALSE(SolveKnapsack(Table({{5, 4}, {5, 4}}), costs, 7.9, 100));
  EXPECT_EQ(SolveKnapsack(Table({{5, 4}, {5, 4}}), costs, 8.1, 100), (Choices{1, 1}));
  EXPECT_EQ(SolveKnapsack(Table({{0, 0}, {0, 0}}), costs, 1e-300, 100), (Choices{0, 0}));
  // An option whose error is not a number is never chosen.
  const double nan = std::nan("");
  EXPECT_EQ(SolveKnapsack(Table({{nan, 1}, {kInfinity, 1}}), costs, 10, 100), (Choices{1, 1}));
  EXPECT_EQ(SolveKnapsack(Table({{1, 1}, {-1, 1}}), costs, 10, 100), (Choices{0, 1}));
  EXPECT_FALSE(SolveKnapsack(Table({{nan}, {1}}), Table({{1}, {1}}), 10, 100));
}

TEST(SolveKnapsack, OfEqualCostsTheLightest) {
  EXPECT_EQ(SolveKnapsack(Table({{3, 2, 1}}), Table({{7, 7, 7}}), 5, 100), (Choices{2}));
  EXPECT_EQ(SolveKnapsack(Table({{3, 0, 0}}), Table({{0, 0, 0}}), 5, 100), (Choices{1}));
}

TEST(SolveKnapsack, SecondsAndHugeByteCounts) {
  for (const double unit : {1e-9, 1.0, 3e7}) {  // 3e7: sums beyond 32 bits
    Instance instance = Random(4, 4, 7);
    for (double& cost : instance.costs.values) cost *= unit;
    const double budget = SumOf(instance.errors, Choices(4, 2));
    const auto found = SolveKnapsack(instance.errors, instance.costs, budget, 100000);
    ASSERT_TRUE(found);
    EXPECT_NEAR(SumOf(instance.costs, *found), Optimum(instance, budget),
                1e-8 * SumOf(instance.costs, Choices(4, 3)));
  }
}

TEST(CheapestWithinError, NeverMoreErrorNorBytesThanTheReference) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Instance instance = Random(20, 7, seed);
    const Choices uniform(20, 3);
    // With 20, rounding alone can use up the budget.
    for (const int64_t steps : {20, 1000, 10000}) {
      const auto found = CheapestWithinError(instance.errors, instance.costs, uniform, 1, steps);
      EXPECT_LE(SumOf(instance.errors, found), SumOf(instance.errors, uniform) * (1 + 1e-9));
      EXPECT_LE(SumOf(instance.costs, found), SumOf(instance.costs, uniform));
    }
  }
}

TEST(CheapestWithinError, BytesFallWithAlpha) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Instance instance = Random(12, 6, seed);
    const Choices uniform(12, 3);
    double before = kInfinity;
    for (double alpha = 1e-6; alpha < 1e6; alpha *= 1.3) {
      const auto found =
          CheapestWithinError(instance.errors, instance.costs, uniform, alpha, 10000);
      const double bytes = SumOf(instance.costs, found);
      EXPECT_LE(bytes, before) << alpha;
      before = bytes;
    }
    EXPECT_EQ(before, SumOf(instance.costs, Choices(12, 0)));  // alpha -> infinity: the cheapest
    EXPECT_EQ(CheapestWithinError(instance.errors, instance.costs, uniform, 1e-9, 10000),
              Choices(12, 5));  // alpha -> 0: the best
  }
}

TEST(CheapestWithinError, ScaleOfGradientsDoesNotMatter) {
  const Instance instance = Random(20, 7, 3);
  const auto expected =
      CheapestWithinError(instance.errors, instance.costs, Choices(20, 3), 1, 10000);
  for (const double scale : {1e-30, 0.25, 1024.0, 1e30}) {  // the last is not a power of two
    Instance scaled = instance;
    for (double& error : scaled.errors.values) error *= scale;
    const auto found = CheapestWithinError(scaled.errors, scaled.costs, Choices(20, 3), 1, 10000);
    if (std::log2(scale) == std::floor(std::log2(scale))) {
      EXPECT_EQ(found, expected);
    }
    EXPECT_NEAR(SumOf(scaled.costs, found), SumOf(instance.costs, expected),
                0.01 * SumOf(instance.costs, expected));
  }
}

TEST(CheapestWithinError, ZeroGradientsTakeTheCheapest) {
  // Charging a unit without error one step of the budget would leave the uniform choice.
  EXPECT_EQ(CheapestWithinError(Table({{0, 0, 0}, {3, 2, 1}}), Table({{1, 2, 3}, {1, 2, 3}}),
                                Choices{1, 1}, 1, 100),
            (Choices{0, 1}));
  const ChoiceTable costs = Table({{1, 2}, {1, 2}});
  EXPECT_EQ(CheapestWithinError(Table({{0, 0}, {0, 0}}), costs, Choices{1, 1}, 1, 100),
            (Choices{1, 1}));  // nothing to compare with
  EXPECT_EQ(CheapestWithinError(Table({{1, std::nan("")}, {1, 1}}), costs, Choices{1, 1}, 1, 100),
            (Choices{1, 1}));
}

TEST(CheapestWithinError, EqualUnitsDifferByOneOptionAtMost) {
  Instance instance{ChoiceTable(9, 5), ChoiceTable(9, 5)};
  for (size_t unit = 0; unit < 9; ++unit) {
    for (size_t option = 0; option < 5; ++option) {
      instance.errors.At(unit, option) = 1 / (1.0 + static_cast<double>(option));
      instance.costs.At(unit, option) = 10.0 * (static_cast<double>(option) + 1);
    }
  }
  for (double alpha = 0.5; alpha < 2.5; alpha += 0.05) {
    const auto found =
        CheapestWithinError(instance.errors, instance.costs, Choices(9, 2), alpha, 10000);
    const auto [least, most] = std::ranges::minmax(found);
    EXPECT_LE(most - least, 1) << alpha;
  }
}

TEST(LeastOf, TiesGoToTheSecondFigure) {
  EXPECT_EQ(LeastOf(Table({{2, 1, 1}, {1, 1, 1}, {std::nan(""), 5, 5}}),
                    Table({{1, 2, 1}, {1, 1, 1}, {1, 2, 2}})),
            (Choices{2, 0, 1}));
}

}  // namespace
}  // namespace legacy::knapsack_test