// EDGC, and the errors of random matrices by which it chooses ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "compress/policies/marchenko_pastur.h"
#include "tests/compress/policy_driver.h"

namespace legacy::edgc_test {
namespace {

constexpr MatrixShape kSquare = {1024, 1024};

TEST(MarchenkoPastur, ErrorsOfASquareMatrix) {
  EXPECT_NEAR(RandomMatrixError(kSquare, 8), .9849, 5e-5);
  EXPECT_NEAR(RandomMatrixError(kSquare, 16), .9704, 5e-5);
  EXPECT_NEAR(RandomMatrixError(kSquare, 32), .9423, 5e-5);
  EXPECT_NEAR(RandomMatrixError(kSquare, 64), .8889, 5e-5);
}

TEST(MarchenkoPastur, ErrorsFallFromOneToZero) {
  for (const MatrixShape shape :
       {kSquare, MatrixShape{64, 1000}, {1000, 64}, {3, 100000}, {1, 7}}) {
    const int64_t full = std::min(shape.rows, shape.columns);
    EXPECT_EQ(RandomMatrixError(shape, 0), 1);
    EXPECT_EQ(RandomMatrixError(shape, full), 0);
    double before = 1;
    for (int64_t rank = 1; rank <= full; ++rank) {
      const double error = RandomMatrixError(shape, rank);
      EXPECT_LT(error, before) << rank;
      EXPECT_EQ(RankOfRandomError(shape, error), rank);
      EXPECT_EQ(RankOfRandomError(shape, (error + before) / 2), rank);
      before = error;
    }
    EXPECT_EQ(RandomMatrixError(shape, 1), RandomMatrixError({shape.columns, shape.rows}, 1));
  }
}

// All eigenvalues of a matrix with few rows are near 1, so that each rank removes as much.
TEST(MarchenkoPastur, ThinMatricesHaveEqualValues) {
  for (int64_t rank = 1; rank < 4; ++rank) {
    EXPECT_NEAR(RandomMatrixError({4, 10000000}, rank), std::sqrt(1 - rank / 4.0), 1e-3);
  }
}

constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 80;
constexpr int64_t kVector = 30;

PolicyContext Context(double rank = 16, int64_t total_steps = 200) {
  std::vector<Unit> units = test::MakeUnits({kRows * kColumns, kVector});
  units[0].shape = {kRows, kColumns};
  return {.scheme = nullptr,
          .units = units,
          .workers = 2,
          .total_steps = total_steps,
          .steps_per_epoch = 10,
          .parameter = rank,
          .seed = 1};
}

// Normal gradients whose deviation at worker 0 is that of the step.
test::PolicyDriver::Gradients Normal(std::function<double(int64_t)> deviation) {
  return [=](int64_t step, int worker) {
    std::vector<float> flat = test::Normals(kRows * kColumns + kVector, 10 * step + worker);
    const double scale = worker == 0 ? deviation(step) : 1000;
    for (float& x : flat) x = static_cast<float>(x * scale);
    return flat;
  };
}

// Returns the ranks of the matrix in the steps, with windows of 5 steps.
std::vector<double> Ranks(const std::string& policy, int64_t steps,
                          const std::function<double(int64_t)>& deviation, double rank = 16) {
  test::PolicyDriver driver(policy, "powersgd:min_rate=0", Context(rank));
  const auto gradients = Normal(deviation);
  std::vector<double> ranks;
  for (int64_t step = 0; step < steps; ++step) {
    const auto result = driver.Step({.step = step, .total_steps = 200}, gradients);
    EXPECT_EQ(result.parameters[1], rank);  // a vector
    EXPECT_EQ(result.announcement.size(), step % 5 == 4 ? 18u : 0u) << step;
    ranks.push_back(result.parameters[0]);
  }
  return ranks;
}

constexpr const char* kPaper = "edgc:window=5,every=1,start=0,sample=1";

TEST(Edgc, HalvedDeviationsLeadToTheLeastRank) {
  const auto ranks = Ranks(kPaper, 30, [](int64_t step) { return step < 10 ? 1.0 : 0.5; });
  for (int64_t step = 0; step < 30; ++step) {
    const double expected = step < 15 ? 16 : step < 20 ? 12 : step < 25 ? 8 : 4;
    EXPECT_EQ(ranks[step], expected) << step;
  }
}

// Of gradients of the same values the entropy stays the same, and so does the rank.
TEST(Edgc, ConstantEntropyKeepsTheRank) {
  const auto values = test::Normals(kRows * kColumns + kVector, 4);
  for (const char* text :
       {"edgc:window=5,every=1,start=0,sample=1", "edgc:window=5,start=0,form=code"}) {
    test::PolicyDriver driver(text, "powersgd:min_rate=0", Context(10));
    for (int64_t step = 0; step < 40; ++step) {
      const auto result =
          driver.Step({.step = step, .total_steps = 200}, [&](int64_t, int) { return values; });
      if (std::string_view(text).find("code") != std::string_view::npos && step >= 10) continue;
      EXPECT_EQ(result.parameters[0], 10) << text << " " << step;
    }
  }
}

// The rank keeps the absolute error of a random matrix, as far as bounds and windows let it.
TEST(Edgc, KeepsTheAbsoluteError) {
  const auto ranks = Ranks("edgc:window=5,every=1,start=0,sample=1,least=1,most=40", 60,
                           [](int64_t step) { return step < 5 ? 1.0 : 1.05; });
  const MatrixShape shape = {kRows, kColumns};
  const auto wanted =
      static_cast<double>(RankOfRandomError(shape, RandomMatrixError(shape, 16) / 1.05));
  EXPECT_GT(wanted, 16);
  EXPECT_NEAR(ranks.back(), wanted, 2);  // estimates of deviations vary
  for (size_t i = 1; i < ranks.size(); ++i) EXPECT_LE(std::abs(ranks[i] - ranks[i - 1]), 4);
}

// The public code's rule raises the rank with any change, and takes even numbers.
TEST(Edgc, TheCodesRuleFollowsTheSizeOfChanges) {
  const auto deviation = [](int64_t step) {
    return step < 5 ? 1.0 : step < 10 ? 0.5 : step < 15 ? 1.0 : 1.0 / 1.001;
  };
  const auto ranks =
      Ranks("edgc:form=code,window=5,every=1,start=0,sample=1,least=4,most=20", 40, deviation, 11);
  EXPECT_EQ(ranks[9], 11);
  EXPECT_EQ(ranks[10], 15);  // to 20, four at a time
  EXPECT_EQ(ranks[15], 19);
  EXPECT_LT(ranks[20], 19);  // hardly any change
  EXPECT_EQ(ranks[39], 4);
}

TEST(Edgc, DecisionsHaveEntropies) {
  test::PolicyDriver driver(kPaper, "powersgd:min_rate=0", Context());
  const auto gradients = Normal([](int64_t step) { return step < 5 ? 2.0 : 1.0; });
  std::vector<Decision> decisions;
  for (int64_t step = 0; step < 10; ++step) {
    driver.Step({.step = step, .total_steps = 200}, gradients);
    for (Decision& one : driver.policy().TakeDecisions()) decisions.push_back(std::move(one));
  }
  ASSERT_EQ(decisions.size(), 3u);  // of the matrix alone
  EXPECT_EQ(decisions[0].grounds.reason, "start");
  EXPECT_EQ(decisions[1].grounds.reason, "no entropy before");
  EXPECT_EQ(decisions[1].number, 0);
  EXPECT_EQ(decisions[2].number, 1);
  EXPECT_EQ(decisions[2].step, 10);
  EXPECT_EQ(decisions[2].grounds.reason, "lower rank");
  const double unit = std::log(2 * std::numbers::pi * std::numbers::e) / 2;
  EXPECT_NEAR(decisions[1].grounds.error, unit + std::log(2.0), 0.02);
  EXPECT_NEAR(decisions[2].grounds.budget, unit + std::log(2.0), 0.02);
  EXPECT_NEAR(decisions[2].grounds.error, unit, 0.02);
}

TEST(Edgc, SamplesOnlyWhereItSays) {
  test::PolicyDriver driver("edgc:window=6,every=4,start=10%,sample=25%", "powersgd", Context());
  const auto gradients = Normal([](int64_t) { return 1.0; });
  for (int64_t step = 0; step < 40; ++step) {
    driver.Step({.step = step, .total_steps = 200}, gradients);
    const int64_t within = (step - 20) % 6;
    const bool reads = step >= 20 && (within == 0 || within == 4);
    EXPECT_EQ(driver.policy().ReadsLocalGradient(), reads) << step;
    EXPECT_EQ(driver.policy().LocalWork().empty(), !reads) << step;
  }
  // No earlier than the dense start ends.
  test::PolicyDriver dense("edgc:window=5,every=5,start=0", "powersgd:dense_start=12", Context());
  for (int64_t step = 0; step < 30; ++step) {
    dense.Step({.step = step, .total_steps = 200}, gradients);
    EXPECT_EQ(dense.policy().ReadsLocalGradient(), step >= 12 && (step - 12) % 5 == 0) << step;
  }
}

// Gradients of equal values have no entropy; ranks stay until they have one.
TEST(Edgc, IgnoresGradientsWithoutEntropy) {
  const auto ranks = Ranks(kPaper, 30, [](int64_t step) { return step < 15 ? 0.0 : 1.0; });
  for (const double rank : ranks) EXPECT_NEAR(rank, 16, 4);
  EXPECT_EQ(ranks[19], 16);
}

TEST(Edgc, Options) {
  EXPECT_THROW(test::PolicyDriver("edgc", "topk", Context(0.1)), Error);
  for (const char* text : {"edgc:form=both", "edgc:window=0", "edgc:sample=0", "edgc:sample=2",
                           "edgc:least=17", "edgc:most=15", "edgc:most=65", "edgc:least=0"}) {
    EXPECT_THROW(test::PolicyDriver(text, "powersgd", Context()), Error) << text;
  }
  const auto ranks = Ranks("edgc:window=5,every=1,start=0,least=15", 25,
                           [](int64_t step) { return step < 5 ? 1.0 : 0.1; });
  EXPECT_EQ(ranks.back(), 15);
}

}  // namespace
}  // namespace legacy::edgc_test
