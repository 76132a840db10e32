#include "compress/schemes/matrices/powersgd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/compress/model_shapes.h"
#include "tests/compress/test_data.h"

namespace legacy::powersgd_test {
namespace {

constexpr int64_t kRows = 30;
constexpr int64_t kColumns = 50;

Unit Matrix(int64_t rows, int64_t columns) {
  Unit unit = test::MakeUnit(rows * columns, 2);
  unit.shape = {rows, columns};
  return unit;
}

std::unique_ptr<Exchange> Open(int workers, const std::string& options = ":min_rate=0",
                               bool error_feedback = true) {
  return MakeScheme("powersgd" + options, {.error_feedback = error_feedback})
      ->Open(Matrix(kRows, kColumns), workers);
}

// Returns a matrix with singular values that fall as 1 / 2^i, up to `rank` of them.
std::vector<float> Decaying(int64_t rows, int64_t columns, int64_t rank, uint64_t seed) {
  auto left = test::Normals(rank * rows, seed), right = test::Normals(rank * columns, seed + 1);
  Orthonormalise(left, rows);
  Orthonormalise(right, columns);
  for (int64_t i = 0; i < rank * columns; ++i) {
    right[i] *= static_cast<float>(std::ldexp(1.0, -static_cast<int>(i / columns)));
  }
  std::vector<float> matrix(rows * columns);
  MultiplyOuter(left, right, {rows, columns}, matrix);
  return matrix;
}

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return sum;
}

TEST(LowRank, ProductsEqualTheOracle) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 17}, {40, 5}, {7, 33}}) {
    const auto matrix = test::Normals(rows * columns, 1);
    const auto right = test::Normals(2 * columns, 2);
    std::vector<float> left(2 * rows), back(2 * columns), outer(rows * columns);
    Multiply(matrix, {rows, columns}, right, left);
    MultiplyTransposed(matrix, {rows, columns}, left, back);
    MultiplyOuter(left, right, {rows, columns}, outer);
    for (int64_t c = 0; c < 2; ++c) {
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j) {
          sum += double{matrix[i * columns + j]} * right[c * columns + j];
        }
        ASSERT_NEAR(left[c * rows + i], sum, 1e-4);
      }
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i)
          sum += double{matrix[i * columns + j]} * left[c * rows + i];
        ASSERT_NEAR(back[c * columns + j], sum, 1e-3);
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const double sum = double{left[i]} * right[j] + double{left[rows + i]} * right[columns + j];
        ASSERT_NEAR(outer[i * columns + j], sum, 1e-3);
      }
    }
  }
}

TEST(LowRank, OrthonormaliseGivesAnOrthonormalBasis) {
  constexpr int64_t kLength = 100, kCount = 20;
  auto vectors = test::Normals(kLength * kCount, 5);
  for (int64_t i = 0; i < kLength; ++i) {
    vectors[3 * kLength + i] = vectors[i] * (1 + 1e-5f * vectors[4 * kLength + i]);  // nearly equal
    vectors[7 * kLength + i] = 0;
    vectors[9 * kLength + i] = 2 * vectors[8 * kLength + i];
    vectors[11 * kLength + i] *= 1e-30f;
  }
  Orthonormalise(vectors, kLength);
  for (int64_t a = 0; a < kCount; ++a) {
    for (int64_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (int64_t i = 0; i < kLength; ++i) {
        dot += double{vectors[a * kLength + i]} * vectors[b * kLength + i];
      }
      const bool zero = a == 7 || a == 9;
      ASSERT_NEAR(dot, a == b && !zero ? 1 : 0, 1e-6) << a << " " << b;
    }
  }
}

TEST(LowRank, ErrorsOfAllRanksAtOnce) {
  const auto matrix = Decaying(kRows, kColumns, 12, 8);
  const std::vector<int64_t> ranks = {1, 2, 3, 5, 8, 12, 30, 64};
  const auto errors = RankErrors(matrix, {kRows, kColumns}, ranks, {.seed = 1});
  for (size_t i = 0; i < ranks.size(); ++i) {
    double expected = 0;
    for (int64_t s = ranks[i]; s < 12; ++s) expected += std::pow(0.25, s);
    EXPECT_NEAR(errors[i], expected, 1e-3 * expected + 1e-6) << ranks[i];
    if (i > 0) {
      EXPECT_LE(errors[i], errors[i - 1]);
    }
  }
  EXPECT_EQ(RankErrors(std::vector<float>(100), {10, 10}, ranks, {}), std::vector<double>(8, 0.0));
  const auto noise = test::Normals(60 * 200, 9);  // no rank stands out: within some per cent
  const auto flat = RankErrors(noise, {60, 200}, std::vector<int64_t>{4, 60}, {.seed = 3});
  EXPECT_LT(flat[0], 12000 * 0.95);
  EXPECT_GT(flat[0], 12000 * 0.80);
  EXPECT_EQ(flat[1], 0);
}

TEST(PowerSgd, FloatsOfWellKnownModels) {
  const auto floats = [](const std::vector<Unit>& units, double rank, const char* text) {
    const auto scheme = MakeScheme(text);
    int64_t sum = 0, bytes = 0, headers = 0;
    for (const Unit& unit : units) {
      sum += scheme->ElementsSent(unit, rank);
      bytes += *scheme->MessageBytes(unit, rank);
      headers += scheme->Compresses(unit, rank) ? 32 : 16;
    }
    EXPECT_EQ(bytes, 4 * sum + headers);
    return sum;
  };
  const auto cifar = test::ResNet18(10);
  EXPECT_EQ(floats(cifar, 1, "powersgd"), 45'935);
  EXPECT_EQ(floats(cifar, 2, "powersgd"), 82'260);
  EXPECT_EQ(floats(cifar, 4, "powersgd"), 154'910);
  EXPECT_EQ(floats(cifar, 7, "powersgd:min_rate=0"), 263'885);
  EXPECT_EQ(floats(cifar, 8, "powersgd:min_rate=0"), 300'210);
  EXPECT_EQ(floats(cifar, 16, "powersgd:min_rate=0"), 587'678);
  EXPECT_EQ(floats(cifar, 7, "powersgd"), 265'351);
  EXPECT_EQ(floats(cifar, 8, "powersgd"), 301'154);
  EXPECT_EQ(floats(cifar, 16, "powersgd"), 587'850);
  EXPECT_EQ(floats(test::ResNet50(), 1, "powersgd"), 136'611);
  EXPECT_EQ(floats(test::ResNet50(), 2, "powersgd"), 219'102);
  EXPECT_EQ(floats(test::ResNet50(), 4, "powersgd"), 384'084);
}

TEST(PowerSgd, ExactWhereTheRankIsEnough) {
  const auto matrix = Decaying(kRows, kColumns, 3, 20);
  const auto exchange = Open(1, ":min_rate=0", false);
  for (int64_t step = 0; step < 2; ++step) {
    const auto mean = test::RunStep(*exchange, {.info = {.step = step}, .parameter = 3}, {matrix});
    EXPECT_LT(SquaredDistance(mean, matrix), 1e-9);
  }
  const auto noise = test::Normals(kRows * kColumns, 4);
  const auto full = test::RunStep(*Open(1), {.parameter = 30}, {noise});
  EXPECT_LT(SquaredDistance(full, noise), 1e-6);
}

// The mean depends only on the mean gradient, so that equal workers act as one.
TEST(PowerSgd, IsLinearInTheMean) {
  constexpr int kWorkers = 4;
  const auto shards = Open(kWorkers), one = Open(1), equal = Open(kWorkers);
  for (int64_t step = 0; step < 6; ++step) {
    const UnitStep context{.info = {.seed = 3, .step = step}, .parameter = 4};
    std::vector<std::vector<float>> gradients;
    std::vector<float> mean(kRows * kColumns);
    for (int w = 0; w < kWorkers; ++w) {
      gradients.push_back(test::Normals(kRows * kColumns, 10 * step + w));
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += gradients[w][i] / kWorkers;
    }
    const auto expected = test::RunStep(*one, context, {mean});
    const auto spread = test::RunStep(*shards, context, gradients);
    const auto copies =
        test::RunStep(*equal, context, std::vector<std::vector<float>>(kWorkers, mean));
    for (size_t i = 0; i < mean.size(); ++i) {
      ASSERT_NEAR(spread[i], expected[i], 2e-4) << step;
      ASSERT_NEAR(copies[i], expected[i], 2e-5) << step;
    }
  }
}

TEST(PowerSgd, WhatIsNotSentIsTheResidual) {
  const auto exchange = Open(2);
  std::vector<double> computed(kRows * kColumns), sent(kRows * kColumns);
  for (int64_t step = 0; step < 10; ++step) {
    const std::vector<std::vector<float>> gradients = {test::Normals(kRows * kColumns, step),
                                                       test::Normals(kRows * kColumns, step + 50)};
    const double rank = step % 4 == 3 ? 30 : 1 + step % 4;  // changes on the way
    const auto mean =
        test::RunStep(*exchange, {.info = {.step = step}, .parameter = rank}, gradients);
    for (size_t i = 0; i < mean.size(); ++i) {
      computed[i] += (double{gradients[0][i]} + gradients[1][i]) / 2;
      sent[i] += mean[i];
      const double residual = (double{exchange->Residual(0)[i]} + exchange->Residual(1)[i]) / 2;
      ASSERT_NEAR(sent[i] + residual, computed[i], 2e-4);
    }
  }
}

// A unit that a larger rank sends whole sends its residual too.
TEST(PowerSgd, WholeUnitsLeaveNoResidual) {
  const auto exchange = Open(1, "");
  const auto gradient = test::Normals(kRows * kColumns, 1);
  test::RunStep(*exchange, {.parameter = 2}, {gradient});
  const double residual = test::ResidualSquared(*exchange, 0);
  const auto mean = test::RunStep(*exchange, {.info = {.step = 1}, .parameter = 20},
                                  {std::vector<float>(kRows * kColumns)});
  double sent = 0;
  for (const float x : mean) sent += double{x} * x;
  EXPECT_DOUBLE_EQ(sent, residual);
  EXPECT_EQ(test::ResidualSquared(*exchange, 0), 0);
}

TEST(PowerSgd, WarmStartIsCloserOnAStationaryMatrix) {
  const auto matrix = Decaying(kRows, kColumns, 12, 40);
  const auto error = [&](const char* options) {
    const auto exchange = Open(1, options, false);
    std::vector<float> mean;
    for (int64_t step = 0; step < 5; ++step) {
      mean = test::RunStep(*exchange, {.info = {.step = step}, .parameter = 2}, {matrix});
    }
    return SquaredDistance(mean, matrix);
  };
  const double best = RankErrors(matrix, {kRows, kColumns}, std::vector<int64_t>{2}, {})[0];
  EXPECT_LT(error(":min_rate=0"), 1.001 * best);
  EXPECT_LT(error(":min_rate=0"), error(":min_rate=0,warm_start=off"));
}

TEST(PowerSgd, ZerosAndExtremesAreSafe) {
  for (const float scale : {0.0f, 1e-38f, 1e-20f, 1e15f}) {
    const auto exchange = Open(2);
    for (int64_t step = 0; step < 4; ++step) {
      auto gradient = test::Normals(kRows * kColumns, step);
      for (float& x : gradient) x *= step == 2 ? 1.0f : scale;  // vanishes, and comes back
      const auto mean =
          test::RunStep(*exchange, {.info = {.step = step}, .parameter = 4}, {gradient, gradient});
      for (const float x : mean) ASSERT_TRUE(std::isfinite(x));
      double squared = 0;
      for (const float x : mean) squared += double{x} * x;
      if (step == 2) {
        EXPECT_GT(squared, 100) << scale;
      }
    }
  }
  const auto exchange = Open(1);
  exchange->Begin({.parameter = 1});
  ASSERT_TRUE(exchange->NextCall());
  std::vector<float> bad(kRows * kColumns);
  bad[7] = std::nanf("");
  EXPECT_THROW(exchange->Encode(0, bad), Error);
}

TEST(PowerSgd, TwoAllReducesOfTheirSize) {
  const auto exchange = Open(1);
  exchange->Begin({.parameter = 4});
  for (const int64_t side : {kRows, kColumns}) {
    const CollectiveCall call = exchange->NextCall().value();
    EXPECT_EQ(call.collective, Collective::kAllReduce);
    EXPECT_EQ(call.reduction, Reduction::kSum);
    const auto products = std::ranges::find(call.encode, "powersgd.multiply", &Work::kernel);
    ASSERT_NE(products, call.encode.end());
    EXPECT_EQ(products->elements, 4 * kRows * kColumns);
    const Message message = exchange->Encode(
        0, side == kRows ? test::Normals(kRows * kColumns, 1) : std::vector<float>());
    EXPECT_EQ(message.size(), 16 + 4 * 4 * side);
    exchange->Accumulate(0, message.bytes);
    exchange->FinishCall();
  }
  EXPECT_FALSE(exchange->NextCall());
}

TEST(PowerSgd, RefusesBadParametersAndStates) {
  const auto exchange = Open(1);
  for (const double bad : {0.0, 65.0, -1.0})
    EXPECT_THROW(exchange->Begin({.parameter = bad}), Error);
  EXPECT_THROW(MakeScheme("powersgd+fp16"), Error);
  EXPECT_THROW(MakeScheme("powersgd:min_rate=-1"), Error);
}

}  // namespace
}  // namespace legacy::powersgd_test