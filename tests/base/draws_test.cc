#include "base/draws.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"

namespace legacy::draws_test {
namespace {

TEST(Draws, QuantilesOfTheNormalDistributionInvertIt) {
  for (double p = 1e-300; p < .5; p *= 1.7) {
    const double x = NormalQuantile(p);
    EXPECT_NEAR(std::erfc(-x / std::sqrt(2)) / 2 / p, 1, 1e-12 * std::max(1.0, x * x)) << p;
    if (p > 1e-10) {
      EXPECT_NEAR(NormalQuantile(1 - p), -x, 1e-5) << p;
    }
  }
  EXPECT_EQ(NormalQuantile(.5), 0);
  EXPECT_NEAR(NormalQuantile(.975), 1.959963984540054, 1e-15);
}

TEST(Draws, HaveTheMomentsOfTheirDistributions) {
  constexpr int kDraws = 200'000;
  double normal = 0, squares = 0, exponential = 0, tail = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const double x = NormalDraw(HashWords({1, i}));
    normal += x / kDraws;
    squares += x * x / kDraws;
    const double t = ExponentialDraw(HashWords({2, i}));
    exponential += t / kDraws;
    tail += (t > 3) / double{kDraws};
  }
  EXPECT_NEAR(normal, 0, .01);
  EXPECT_NEAR(squares, 1, .015);
  EXPECT_NEAR(exponential, 1, .01);
  EXPECT_NEAR(tail, std::exp(-3), .002);
}

}  // namespace
}  // namespace legacy::draws_test
