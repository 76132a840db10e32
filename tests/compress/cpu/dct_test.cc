#include "compress/cpu/dct.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/compress/test_data.h"

namespace legacy::cpu::dct_test {
namespace {

double Factor(int64_t j, int64_t t, int64_t n) {
  return std::sqrt((j == 0 ? 1.0 : 2.0) / n) *
         std::cos(std::numbers::pi * (2 * t + 1) * j / (2.0 * n));
}

// Sums by definition, chunk after chunk.
std::vector<double> Defined(std::span<const float> x, const ChunkGrid& g) {
  std::vector<double> all;
  for (int64_t r = 0; r < g.rows; r += g.height) {
    for (int64_t c = 0; c < g.columns; c += g.width) {
      for (int64_t i = 0; i < g.height; ++i) {
        for (int64_t j = 0; j < g.width; ++j) {
          double sum = 0;
          for (int64_t s = 0; s < g.height; ++s) {
            for (int64_t t = 0; t < g.width; ++t) {
              sum +=
                  Factor(i, s, g.height) * Factor(j, t, g.width) * x[(r + s) * g.columns + c + t];
            }
          }
          all.push_back(sum);
        }
      }
    }
  }
  return all;
}

const ChunkGrid kGrids[] = {{1, 1, 1, 1},     {3, 5, 1, 5},   {1, 30, 1, 10},   {12, 20, 3, 4},
                            {97, 2, 1, 2},    {7, 97, 7, 1},  {32, 64, 16, 32}, {64, 64, 64, 64},
                            {29, 58, 29, 29}, {21, 51, 7, 17}};

TEST(ChunkDct, IsThatOfItsDefinitionAndReturns) {
  for (const ChunkGrid& grid : kGrids) {
    const auto x = test::Normals(grid.numel(), grid.rows);
    const ChunkDct dct(grid);
    std::vector<float> coefficients(x.size()), back(x.size());
    dct.Forward(x, coefficients);
    const auto expected = Defined(x, grid);
    double squared = 0, before = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(coefficients[i], expected[i], 1e-5) << grid.rows << "x" << grid.columns;
      squared += double{coefficients[i]} * coefficients[i];
      before += double{x[i]} * x[i];
    }
    EXPECT_NEAR(squared, before, 1e-5 * before);  // Parseval
    dct.Inverse(coefficients, back);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(back[i], x[i], 1e-5);
  }
}

TEST(ChunkDct, HasTheSameBitsForEveryInstructionSet) {
  for (const ChunkGrid& grid : kGrids) {
    const auto x = test::Normals(grid.numel(), grid.columns);
    const ChunkDct dct(grid);
    std::vector<float> plain(x.size()), plain_back(x.size());
    dct.Forward(x, plain, Simd::kPlain);
    dct.Inverse(x, plain_back, Simd::kPlain);
    for (const Simd simd : UsableSimd()) {
      std::vector<float> coefficients(x.size()), back(x.size());
      dct.Forward(x, coefficients, simd);
      dct.Inverse(x, back, simd);
      EXPECT_TRUE(test::SameBits(coefficients, plain)) << SimdName(simd);
      EXPECT_TRUE(test::SameBits(back, plain_back)) << SimdName(simd);
    }
  }
}

// Numbers of an independent program.
TEST(ChunkDct, EqualsVectorsOfAnotherProgram) {
  const std::pair<std::vector<float>, std::vector<float>> lines[] = {
      {{0.450878441}, {0.450878441}},
      {{-0.915004545, -1.01567283}, {-1.36519506, 0.0711832264}},
      {{-0.669040077, 0.0620831363, -0.423894903, -0.327790619, -0.091692984},
       {-0.64860973, -0.202340026, -0.0692177956, -0.449137083, -0.280818148}},
      {{0.751371598, 1.82328885, 1.55674416, 0.626743239, -0.401584134, -0.310026905, -0.267017919,
        1.15104082},
       {1.7432161, 1.29188801, 0.834020533, -1.57116054, -0.23879585, -0.526487249, 0.177933374,
        -0.347844377}}};
  for (const auto& [x, expected] : lines) {
    const auto n = std::ssize(x);
    std::vector<float> coefficients(x.size());
    ChunkDct({1, n, 1, n}).Forward(x, coefficients);
    for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(coefficients[i], expected[i], 1e-6);
  }
  const std::vector<float> x = {
      -1.63262679,  0.45111917,   0.237070155,  0.43779914,   -1.02065232,   1.03374078,
      0.964387138,  0.159581451,  0.312661748,  -0.157359241, 0.643050458,   -0.821199147,
      0.554856271,  0.406326447,  -1.41002843,  -2.62405048,  -0.11722993,   -0.161560051,
      1.21805089,   0.0575968063, -0.497797615, -1.35979843,  -0.0882636823, -0.583837882,
      -1.10271968,  -0.120416686, 1.05698723,   0.0927625697, -1.04906265,   0.327272992,
      -1.0980677,   -1.57767762,  0.494254387,  -0.550350953, 1.11357094,    0.311022556,
      -0.806420244, 0.219305286,  1.29551499,   -0.18871358,  -1.06113072,   -0.661457733,
      -0.813060998, -1.18098791,  -1.29248469,  0.42237965,   1.10945586,    -0.361883549};
  const std::vector<float> expected = {
      0.134919024,  -0.72632959,  -1.15278649,  0.567877343,   -0.531566122,   -0.570719018,
      -0.271137625, -1.09888211,  0.109392529,  -1.15553161,   -0.206304948,   -0.614637289,
      -1.28908942,  0.882248244,  -1.02718245,  0.0940451548,  1.29639354,     -0.328374447,
      -1.1404308,   -0.861700717, 0.970233053,  -2.52157423,   -0.0738496098,  0.46623837,
      -0.699034632, -0.756800919, -0.713625313, 0.87507021,    1.28808368,     -0.861902109,
      -0.416813903, 0.362241962,  -1.33232193,  -0.130297125,  -0.652838307,   -0.773266574,
      -0.866135463, -0.437396965, -2.18010447,  -0.0318429081, -1.15788815,    1.07826342,
      0.470317289,  -0.696600456, -0.93069192,  0.541613191,   -0.00453994695, -0.678878735};
  std::vector<float> coefficients(x.size());
  ChunkDct({6, 8, 3, 4}).Forward(x, coefficients);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(coefficients[i], expected[i], 1e-6);
}

TEST(ChunkLength, IsTheLargestDivisorUpToTheTarget) {
  constexpr std::pair<int64_t, int64_t> kOf64[] = {
      {1, 1},     {2, 2},     {10, 10},   {29, 29},   {63, 63},    {64, 64},   {65, 13},  {97, 1},
      {127, 1},   {128, 64},  {150, 50},  {192, 64},  {500, 50},   {512, 64},  {576, 64}, {768, 64},
      {1000, 50}, {1024, 64}, {2304, 64}, {3072, 64}, {50257, 29}, {50304, 64}};
  for (const auto& [length, expected] : kOf64) EXPECT_EQ(ChunkLength(length, 64), expected);
  for (int64_t length = 1; length < 300; ++length) {
    for (const int64_t target : {1, 7, 64}) {
      int64_t largest = 1;
      for (int64_t d = 1; d <= std::min(length, target); ++d) largest = length % d ? largest : d;
      ASSERT_EQ(ChunkLength(length, target), largest) << length;
    }
  }
}

}  // namespace
}  // namespace legacy::cpu::dct_test
