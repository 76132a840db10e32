// ARC-Top-K: one step computed in double precision elsewhere, the choice of rows, both kinds of
// error feedback.
#include "compress/schemes/matrices/arc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/schemes/matrices/low_rank.h"
#include "tests/compress/test_data.h"

namespace legacy::arc_test {
namespace {

// Three gradients of 8 x 5, V of 5 x 2 column by column, and the mean sketch, column by column.
constexpr MatrixShape kShape = {8, 5};
const std::vector<std::vector<float>> kGradients = {
    {-1.46848559f, -0.851382801f,   0.0995354722f, -0.392138459f, -0.362538405f, 1.30573039f,
     0.344270698f, -0.892899843f,   -0.966270987f, -1.64942751f,  -0.269510425f, 1.22869165f,
     0.967833014f, -0.3982784f,     -1.24409947f,  -0.681088655f, -1.62806164f,  -2.71530595f,
     -2.72867013f, -0.00967254492f, -0.948775531f, -1.75148853f,  0.614439914f,  0.591095149f,
     1.24599481f,  -0.105128967f,   -0.851908672f, 0.587755278f,  -1.2694642f,   -0.533653554f,
     1.01799651f,  -1.30379135f,    -0.065492031f, -0.543141279f, -1.43794676f,  1.60201774f,
     -1.39826374f, -0.876421559f,   -0.270202306f, 0.936534302f},
    {0.260580649f,  -0.925300259f, -1.00702962f,  0.594565392f,  -0.220710982f, -0.309867532f,
     -0.102623043f, 0.170961572f,  -0.380473607f, 1.1568962f,    1.964091f,     -0.98934686f,
     -0.486962239f, 0.69861143f,   0.298943944f,  -0.576086872f, -0.997594838f, -0.754970078f,
     0.604070457f,  0.807455792f,  -1.0289993f,   0.196607884f,  -1.23391686f,  1.1449424f,
     -0.44797711f,  -0.638706017f, -1.09372144f,  0.491429337f,  0.898213206f,  -1.46812806f,
     1.06544356f,   -0.88923515f,  -0.479761116f, -0.841471637f, 0.926237977f,  1.87447708f,
     -0.779967176f, 0.962095689f,  -0.318834623f, 1.69157144f},
    {0.222678914f,   -0.587556119f, 1.56672679f,   0.164446261f,  0.37863634f,   0.930683532f,
     -0.426707816f,  0.35648563f,   0.433574213f,  0.377392117f,  -1.79529543f,  -0.0503733534f,
     0.848511045f,   0.817576149f,  -0.471540716f, 0.0805917567f, -0.614023742f, -0.622766579f,
     -1.27637945f,   0.110139853f,  0.733088847f,  0.162522832f,  0.743676099f,  0.160081794f,
     0.324991049f,   0.0798477819f, 0.203256021f,  -1.1101073f,   -0.258553413f, -1.06688836f,
     -1.18544582f,   1.91511983f,   -0.8323781f,   -1.08720844f,  -3.83786214f,  -0.155779719f,
     -0.0339150459f, -2.16499647f,  -0.265144052f, 0.481546566f}};
const std::vector<float> kDraws = {-1.1020823f,  -0.970822673f, -1.05788739f, 0.696035361f,
                                   -1.51176726f, -0.978394019f, -1.89879404f, -1.26480269f,
                                   0.893389921f, -0.216554654f};
const std::vector<float> kMeanSketch = {1.08278243f,  -0.672826521f, 0.480340451f,  1.67735172f,
                                        0.738042823f, 2.21892206f,   1.86419236f,   -1.53600724f,
                                        1.66380467f,  -0.620729379f, -0.212054592f, 3.08150796f,
                                        1.71842926f,  1.3663452f,    0.0417155211f, 0.714949307f};
const std::vector<uint32_t> kRows = {3, 5};
// The mean of row 3.
const std::vector<float> kMeanRow = {-0.39219459f, -1.07989341f, -1.36434753f, -1.13365971f,
                                     0.302641033f};

std::vector<float> MeanOf(const std::vector<std::vector<float>>& vectors) {
  std::vector<float> mean(vectors.front().size());
  for (size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const auto& vector : vectors) sum += vector[i];
    mean[i] = static_cast<float>(sum / static_cast<double>(vectors.size()));
  }
  return mean;
}

TEST(Arc, ChoosesTheRowsOfTheMeanSketch) {
  std::vector<std::vector<float>> sketches;
  for (const auto& gradient : kGradients) {
    Multiply(gradient, kShape, kDraws, sketches.emplace_back(16));
  }
  const std::vector<float> sketch = MeanOf(sketches);
  for (size_t i = 0; i < sketch.size(); ++i) EXPECT_NEAR(sketch[i], kMeanSketch[i], 1e-6);
  EXPECT_EQ(LargestRows(sketch, kShape.rows, 2), kRows);
  const std::vector<float> mean = MeanOf(kGradients);
  for (int64_t j = 0; j < kShape.columns; ++j) {
    EXPECT_NEAR(mean[3 * kShape.columns + j], kMeanRow[j], 1e-6);
  }
}

TEST(Arc, TakesLowerRowsOfEqualNorms) {
  const std::vector<float> sketch = {1, -3, 3, 0, 3};
  EXPECT_EQ(LargestRows(sketch, 5, 1), (std::vector<uint32_t>{1}));
  EXPECT_EQ(LargestRows(sketch, 5, 2), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(LargestRows(sketch, 5, 4), (std::vector<uint32_t>{0, 1, 2, 4}));
  EXPECT_EQ(LargestRows(sketch, 5, 5), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  // Three columns of two rows: squares 0 + 4 + 1 and 9 + 0 + 0.
  EXPECT_EQ(LargestRows(std::vector<float>{0, 3, 2, 0, 1, 0}, 2, 1), (std::vector<uint32_t>{1}));
}

constexpr int64_t kMatrixRows = 24;
constexpr int64_t kMatrixColumns = 30;
constexpr int64_t kNumel = kMatrixRows * kMatrixColumns;
constexpr int kWorkers = 3;

Unit Matrix() {
  Unit unit = test::MakeUnit(kNumel, 2);
  unit.shape = {kMatrixRows, 5, kMatrixColumns / 5};
  return unit;
}

std::vector<std::vector<float>> Gradients(int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) {
    auto& gradient = gradients.emplace_back(test::Normals(kNumel, 50 * step + w));
    for (int64_t i = 0; i < kNumel; ++i) {
      gradient[i] *= static_cast<float>(1 + (i / kMatrixColumns * 5 + step) % 7);
    }
  }
  return gradients;
}

UnitStep StepOf(int64_t step, double density = 0.2) {
  return {.info = {.seed = 7, .step = step}, .parameter = density};
}

// The rows that were sent are those of the mean, all else waits.
TEST(Arc, SendsRowsOfTheMeanAndKeepsTheRest) {
  const auto scheme = MakeScheme("arc");
  const auto exchange = scheme->Open(Matrix(), kWorkers);
  std::vector<std::vector<double>> waiting(kWorkers, std::vector<double>(kNumel));
  for (int64_t step = 0; step < 12; ++step) {
    const auto gradients = Gradients(step);
    std::vector<Message> messages;
    const auto mean = test::RunStep(*exchange, StepOf(step), gradients, &messages);
    int64_t rows = 0;
    for (int64_t row = 0; row < kMatrixRows; ++row) {
      bool sent = false;
      for (int64_t i = row * kMatrixColumns; i < (row + 1) * kMatrixColumns; ++i)
        sent |= mean[i] != 0;
      rows += sent;
      for (int64_t i = row * kMatrixColumns; i < (row + 1) * kMatrixColumns; ++i) {
        double expected = 0;
        for (int w = 0; w < kWorkers; ++w) {
          waiting[w][i] += gradients[w][i];
          expected += waiting[w][i] / kWorkers;
          if (sent) waiting[w][i] = 0;
          ASSERT_NEAR(exchange->Residual(w)[i], waiting[w][i], 1e-4);
        }
        ASSERT_NEAR(mean[i], sent ? expected : 0, 1e-4);
      }
    }
    EXPECT_EQ(rows, 4);
    ASSERT_EQ(messages.size(), 2 * kWorkers);
    EXPECT_EQ(messages[0].size(), 20 + 4 * kMatrixRows * 4);
    EXPECT_EQ(messages[kWorkers].size(), 20 + 4 * 4 * kMatrixColumns);
  }
  const Unit large{.id = 0, .name = "u", .shape = {1000, 1000}, .offset = 0, .numel = 1000000};
  EXPECT_EQ(scheme->MessageBytes(large, 0.2), 16020 + 800020);
}

// With as many columns as the matrix and orthogonal draws, norms are exact: these are the largest
// rows. A sketch finds rows that stand out.
TEST(Arc, FindsTheLargestRows) {
  std::vector<float> matrix = test::Normals(kNumel, 3);
  for (const int64_t row : {4, 17, 20}) {
    for (int64_t j = 0; j < kMatrixColumns; ++j) matrix[row * kMatrixColumns + j] *= 30;
  }
  std::vector<float> basis = test::Normals(kMatrixColumns * kMatrixColumns, 4);
  Orthonormalise(basis, kMatrixColumns);
  std::vector<float> rotated(kNumel), exact(kNumel);
  Multiply(matrix, {kMatrixRows, kMatrixColumns}, basis, rotated);
  for (int64_t i = 0; i < kNumel; ++i) {
    exact[i % kMatrixColumns * kMatrixRows + i / kMatrixColumns] = matrix[i];
  }
  for (int64_t count = 1; count < kMatrixRows; ++count) {
    const auto rows = LargestRows(rotated, kMatrixRows, count);
    EXPECT_EQ(rows, LargestRows(exact, kMatrixRows, count));
    double all = 0, kept = 0;
    for (int64_t i = 0; i < kNumel; ++i) all += double{matrix[i]} * matrix[i];
    for (const uint32_t row : rows) {
      for (int64_t j = 0; j < kMatrixColumns; ++j) {
        const double x = matrix[row * kMatrixColumns + j];
        kept += x * x;
      }
    }
    EXPECT_LE(all - kept, (1 - static_cast<double>(count) / kMatrixRows) * all);
  }
  const auto mean =
      test::RunStep(*MakeScheme("arc")->Open(Matrix(), 1), StepOf(0, 0.125), {matrix});
  for (int64_t i = 0; i < kNumel; ++i) {
    const int64_t row = i / kMatrixColumns;
    ASSERT_EQ(mean[i], row == 4 || row == 17 || row == 20 ? matrix[i] : 0);
  }
}

TEST(Arc, SendsVectorsAndSmallMatricesWhole) {
  const auto scheme = MakeScheme("arc");
  Unit narrow = test::MakeUnit(12);
  narrow.shape = {4, 3};
  EXPECT_FALSE(scheme->Compresses(test::MakeUnit(100), 0.2));
  EXPECT_FALSE(scheme->Compresses(narrow, 0.2));
  EXPECT_TRUE(scheme->Compresses(Matrix(), 0.2));
  EXPECT_FALSE(scheme->Compresses(Matrix(), 1));
  for (const Unit& unit : {test::MakeUnit(100), narrow}) {
    const auto exchange = scheme->Open(unit, 1);
    const auto gradient = test::Normals(unit.numel, 1);
    std::vector<Message> messages;
    EXPECT_EQ(test::RunStep(*exchange, StepOf(0), {gradient}, &messages), gradient);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].size(), 16 + 4 * unit.numel);
    EXPECT_EQ(test::ResidualSquared(*exchange, 0), 0);
  }
  // What waits for a matrix is sent when it is sent whole.
  const auto exchange = scheme->Open(Matrix(), 1);
  const auto first = test::Normals(kNumel, 1), second = test::Normals(kNumel, 2);
  const auto sent = test::RunStep(*exchange, StepOf(0), {first});
  const auto rest = test::RunStep(*exchange, StepOf(1, 1), {second});
  for (int64_t i = 0; i < kNumel; ++i) ASSERT_NEAR(sent[i] + rest[i], first[i] + second[i], 1e-5);
}

// With EF21 a constant gradient is known once each row was sent, and EF21M follows the momentum.
TEST(Arc, TracksGradientsWithEf21) {
  for (const char* text : {"arc:memory=ef21", "arc:memory=ef21m,eta=0.5"}) {
    const auto exchange = MakeScheme(text)->Open(Matrix(), kWorkers);
    test::RunStep(*exchange, StepOf(0), Gradients(0));
    const auto constant = Gradients(1);
    const auto expected = MeanOf(constant);
    std::vector<float> mean;
    for (int64_t step = 1; step < 60; ++step) {
      mean = test::RunStep(*exchange, StepOf(step), constant);
    }
    for (int64_t i = 0; i < kNumel; ++i) ASSERT_NEAR(mean[i], expected[i], 1e-4) << text;
  }
}

// An error table has the error of a worker's own rows.
TEST(Arc, ErrorsAreThoseOfTheRows) {
  const auto scheme = MakeScheme("arc", {.error_feedback = false});
  const auto gradient = Gradients(0)[0];
  const std::vector<double> densities = {0.05, 0.2, 0.5, 1};
  RandomKey key{.seed = 7, .step = 3, .worker = 0, .layer = 2, .purpose = Purpose::kStochastic};
  const auto errors = scheme->SquaredErrors(Matrix(), gradient, densities, key);
  for (size_t d = 0; d < densities.size(); ++d) {
    const auto mean =
        test::RunStep(*scheme->Open(Matrix(), 1), StepOf(3, densities[d]), {gradient});
    double error = 0;
    for (int64_t i = 0; i < kNumel; ++i) {
      error += (double{gradient[i]} - mean[i]) * (double{gradient[i]} - mean[i]);
    }
    EXPECT_NEAR(errors[d], error, 1e-6 * (1 + error));
  }
}

TEST(Arc, RefusesWrongOptions) {
  for (const char* text : {"arc:rank=0", "arc:rank=65", "arc:memory=momentum", "arc+fp16",
                           "arc:memory=ef21,decay=0.5", "arc:eta=0"}) {
    EXPECT_THROW(MakeScheme(text), Error) << text;
  }
  EXPECT_THROW(MakeScheme("arc")->Open(Matrix(), 1)->Begin(StepOf(0, 1.5)), Error);
}

}  // namespace
}  // namespace legacy::arc_test
