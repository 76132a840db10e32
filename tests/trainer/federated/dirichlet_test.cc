#include "trainer/federated/dirichlet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace legacy::dirichlet_test {
namespace {

RandomStream Stream(uint64_t step) {
  return RandomStream({.seed = 5, .step = step, .purpose = Purpose::kPartition});
}

// Gamma(a, 1) has mean and variance a.
TEST(LogGamma, HasTheMomentsOfGamma) {
  constexpr int kDraws = 20'000;
  for (const double shape : {0.3, 1.0, 2.5, 40.0}) {
    RandomStream random = Stream(1);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = std::exp(LogGamma(random, shape));
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, shape, 5 * std::sqrt(shape / kDraws)) << shape;
    EXPECT_NEAR(variance, shape, 0.1 * shape + 0.02) << shape;
  }
}

// A share is Beta(a, A - a), where A is the sum of the concentrations.
TEST(Dirichlet, HasTheMarginalsOfBeta) {
  constexpr int kDraws = 1000;
  const std::vector<double> concentrations = {0.1, 0.4, 0.5, 2};
  const double all = std::reduce(concentrations.begin(), concentrations.end());
  std::vector<double> sums(4), squares(4);
  for (int i = 0; i < kDraws; ++i) {
    RandomStream random = Stream(static_cast<uint64_t>(i));
    const std::vector<double> shares = Dirichlet(random, concentrations);
    EXPECT_NEAR(std::reduce(shares.begin(), shares.end()), 1, 1e-12);
    for (size_t k = 0; k < 4; ++k) {
      sums[k] += shares[k];
      squares[k] += shares[k] * shares[k];
    }
  }
  for (size_t k = 0; k < 4; ++k) {
    const double mean = concentrations[k] / all, variance = mean * (1 - mean) / (all + 1);
    const double found = sums[k] / kDraws;
    EXPECT_NEAR(found, mean, 5 * std::sqrt(variance / kDraws)) << k;
    EXPECT_NEAR(squares[k] / kDraws - found * found, variance, 0.35 * variance) << k;
  }
}

TEST(Dirichlet, GivesAllToOneWhereConcentrationsAreTiny) {
  RandomStream random = Stream(1);
  const std::vector<double> shares = Dirichlet(random, std::vector<double>(50, 1e-4));
  EXPECT_NEAR(std::reduce(shares.begin(), shares.end()), 1, 1e-12);
  EXPECT_GT(std::ranges::max(shares), 0.99);
  EXPECT_EQ(Dirichlet(random, std::vector<double>{0, 1e-3, 0}), (std::vector<double>{0, 1, 0}));
}

}  // namespace
}  // namespace legacy::dirichlet_test
