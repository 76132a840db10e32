#include "compress/cpu/histogram.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "compress/gradients/gradients.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::histogram_test {
namespace {

constexpr double kBinWidth = 1.0 / 32;  // relative
constexpr double kSquaresError = 0x1p-12;
constexpr double kSubnormalWidth = 0x1p-131;  // absolute

MagnitudeHistogram Of(std::span<const float> values, Simd simd = ActiveSimd()) {
  MagnitudeHistogram histogram;
  histogram.Add(values, simd);
  return histogram;
}

std::vector<double> FallingMagnitudes(std::span<const float> values) {
  std::vector<double> magnitudes;
  for (const float x : values) magnitudes.push_back(std::abs(static_cast<double>(x)));
  std::ranges::sort(magnitudes, std::greater());
  return magnitudes;
}

// Returns stretches with few zeros, with mostly zeros and with nothing but zeros, of both signs, in
// turns.
std::vector<float> ZerosInStretches() {
  std::vector<float> values;
  for (const char* share : {"0", ".9", ".2", "1", ".5", ".4"}) {
    const auto stretch = DrawGradient("zeros:n=7777,share=" + std::string(share));
    values.insert(values.end(), stretch.begin(), stretch.end());
  }
  for (size_t i = 0; i < values.size(); i += 3) values[i] = -values[i];
  return values;
}

std::vector<std::vector<float>> Inputs() {
  auto inputs = test::HardInputs(1000);
  for (const char* text :
       {"gaussian:n=1e5", "laplace:n=1e5", "student-t:n=1e5", "lognormal:n=1e5", "zeros:n=1e5",
        "constant:n=1e4", "denormals:n=1e4", "ties:n=1e4", "mixed:n=1e5", "smooth:n=1e5"}) {
    inputs.push_back(DrawGradient(text));
  }
  inputs.push_back(ZerosInStretches());
  return inputs;
}

TEST(MagnitudeHistogram, CountsBySortedBins) {
  for (const auto& input : Inputs()) {
    std::vector<int64_t> counts(MagnitudeHistogram::kBins);
    std::vector<double> sums(MagnitudeHistogram::kBins);
    for (const float x : input) {
      const double magnitude = std::abs(static_cast<double>(x));
      int bin = 0;
      for (int step = MagnitudeHistogram::kFiniteBins; step > 0; step /= 2) {
        while (bin + step < MagnitudeHistogram::kFiniteBins &&
               MagnitudeHistogram::LowerEdge(bin + step) <= magnitude) {
          bin += step;
        }
      }
      ++counts[bin];
      sums[bin] += magnitude;
    }
    for (const Simd simd : UsableSimd()) {
      const auto histogram = Of(input, simd);
      for (int bin = 0; bin < MagnitudeHistogram::kFiniteBins; ++bin) {
        ASSERT_EQ(histogram.Count(bin), counts[bin]) << bin << " " << SimdName(simd);
        ASSERT_NEAR(histogram.Sum(bin), sums[bin], 1e-12 * sums[bin]) << bin;
      }
    }
  }
}

TEST(MagnitudeHistogram, EdgesGrowByAThirtySecondAtMost) {
  EXPECT_EQ(MagnitudeHistogram::LowerEdge(0), 0);
  EXPECT_EQ(MagnitudeHistogram::LowerEdge(MagnitudeHistogram::kFiniteBins), 0x1p128);
  // The first 32 hold subnormals.
  for (int bin = 32; bin < MagnitudeHistogram::kFiniteBins; ++bin) {
    const double low = MagnitudeHistogram::LowerEdge(bin);
    const double high = MagnitudeHistogram::LowerEdge(bin + 1);
    ASSERT_TRUE(low < high && high <= low * (1 + kBinWidth)) << bin;
  }
}

TEST(MagnitudeHistogram, PartsMergeToTheWhole) {
  const auto values = DrawGradient("student-t:n=300001");
  const auto whole = Of(values);
  MagnitudeHistogram merged, part;
  part.Add(std::vector<float>(100, 3.0f));
  part.Clear();
  part.Add(std::span(values).subspan(1000, 50000));
  merged.Add(std::span(values).subspan(51000));
  merged.Merge(part);
  for (int i = 0; i < 1000; ++i) merged.Add(std::span(values).subspan(i, 1));
  for (int bin = 0; bin < MagnitudeHistogram::kBins; ++bin) {
    ASSERT_EQ(merged.Count(bin), whole.Count(bin)) << bin;
    ASSERT_EQ(merged.Squares(bin), whole.Squares(bin)) << bin;
  }
}

// One bin gets more elements than the packed tables hold in one run.
TEST(MagnitudeHistogram, DoesNotOverflow) {
  const float x = std::nextafter(2.0f, 0.0f);
  const int64_t n = (int64_t{1} << 23) + 5;
  const MagnitudeCurve curve(Of(std::vector<float>(n, x)));
  EXPECT_EQ(curve.Count(), n);
  EXPECT_DOUBLE_EQ(curve.Mean(), x);
  EXPECT_DOUBLE_EQ(curve.TotalSquared(), static_cast<double>(n) * x * x);
  // Largest pattern of bits.
  const MagnitudeHistogram most(Of(std::vector<float>(n, std::bit_cast<float>(0xFFFFFFFFu))));
  EXPECT_EQ(most.Count(MagnitudeHistogram::kBins - 1), n);
}

TEST(MagnitudeCurve, KeepsTheEnergyOfSortedPrefixes) {
  const auto inputs = Inputs();
  for (size_t input = 0; input < inputs.size(); ++input) {
    const auto magnitudes = FallingMagnitudes(inputs[input]);
    const auto n = static_cast<int64_t>(magnitudes.size());
    double total = 0, sum = 0;
    for (const double x : magnitudes) total += x * x, sum += x;
    const MagnitudeCurve curve(Of(inputs[input]));
    const double slack = static_cast<double>(n) * kSubnormalWidth * kSubnormalWidth;
    ASSERT_EQ(curve.Count(), n);
    ASSERT_NEAR(curve.TotalSquared(), total, kSquaresError * total + slack) << input;
    ASSERT_NEAR(curve.Mean(), sum / static_cast<double>(n), 1e-12 * sum) << input;
    ASSERT_NEAR(curve.Max(), magnitudes[0], kBinWidth * magnitudes[0] + kSubnormalWidth) << input;
    double kept = 0;
    for (int64_t k = 0; k <= n; ++k) {
      ASSERT_NEAR(curve.KeptSquared(k), kept, 2e-3 * total + slack) << input << " " << k;
      ASSERT_NEAR(curve.Error(k) * curve.Error(k), total - kept, 2e-3 * total + slack)
          << input << " " << k;
      if (k == n) break;
      kept += magnitudes[k] * magnitudes[k];
      if (magnitudes[k] >= std::numeric_limits<float>::min()) {
        ASSERT_NEAR(curve.Threshold(k + 1), magnitudes[k], kBinWidth * magnitudes[k])
            << input << " " << k;
      }
    }
    ASSERT_EQ(curve.KeptSquared(0), 0);
    ASSERT_EQ(curve.Error(n), 0);
  }
}

TEST(MagnitudeCurve, CountsAboveThresholds) {
  const auto values = DrawGradient("laplace:n=1e5");
  const auto magnitudes = FallingMagnitudes(values);
  const MagnitudeCurve curve(Of(values));
  double total = 0, total_squared = 0;
  for (const double x : magnitudes) total += x, total_squared += x * x;
  for (double threshold = 1e-6; threshold < 20; threshold *= 1.3) {
    double sum = 0, squares = 0;
    int64_t count = 0;
    for (; count < std::ssize(magnitudes) && magnitudes[count] >= threshold; ++count) {
      sum += magnitudes[count];
      squares += magnitudes[count] * magnitudes[count];
    }
    const auto tail = curve.Above(threshold);
    EXPECT_NEAR(tail.count, static_cast<double>(count), 1e-3 * 1e5) << threshold;
    EXPECT_NEAR(tail.sum, sum, 1e-3 * total) << threshold;
    EXPECT_NEAR(tail.squares, squares, 2e-3 * total_squared) << threshold;
  }
  // Results are exact at edges of bins, and outside.
  EXPECT_EQ(curve.Above(1.0).count,
            std::ranges::count_if(magnitudes, [](double x) { return x >= 1; }));
  EXPECT_EQ(curve.Above(0).count, 1e5);
  EXPECT_EQ(curve.Above(-1).count, 1e5);
  EXPECT_EQ(curve.Above(1e9).count, 0);
  EXPECT_EQ(curve.Above(1e9).sum, 0);
}

TEST(MagnitudeCurve, OfShortVectorsIsExact) {
  for (const auto& input : Inputs()) {
    const auto values = std::span(input).first(std::min<size_t>(input.size(), 511));
    const auto magnitudes = FallingMagnitudes(values);
    const auto n = std::ssize(magnitudes);
    const auto curve = MagnitudeCurve::Of(values);
    ASSERT_EQ(curve.Count(), n);
    double sum = 0, squares = 0;
    for (int64_t k = 1; k <= n; ++k) {
      const double x = magnitudes[k - 1];
      sum += x;
      squares += x * x;
      ASSERT_NEAR(curve.KeptSquared(k), squares, 1e-12 * squares);
      ASSERT_EQ(curve.Threshold(k), x);
      if (k < n && magnitudes[k] == x) continue;  // equal magnitudes are above together
      const auto tail = curve.Above(x);
      ASSERT_EQ(tail.count, static_cast<double>(k));
      ASSERT_NEAR(tail.sum, sum, 1e-12 * sum);
      ASSERT_NEAR(tail.squares, squares, 1e-12 * squares);
      ASSERT_EQ(curve.Above(std::nextafter(x, 1e300)).count,
                static_cast<double>(
                    std::ranges::count_if(magnitudes, [x](double other) { return other > x; })));
    }
  }
}

TEST(MagnitudeCurve, CountsNonFiniteValuesApart) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {
      1, -2, infinity, -infinity, std::nanf(""), std::numeric_limits<float>::max()};
  const MagnitudeCurve curve(Of(values));
  EXPECT_EQ(curve.NonFinite(), 3);
  EXPECT_EQ(curve.Count(), 3);
  EXPECT_EQ(curve.Max(), std::numeric_limits<float>::max());
}

TEST(MagnitudeCurve, OfNoValuesOrZerosIsZero) {
  const MagnitudeCurve curve(Of({}));
  EXPECT_EQ(curve.Count(), 0);
  EXPECT_EQ(curve.Mean(), 0);
  EXPECT_EQ(curve.Max(), 0);
  EXPECT_EQ(curve.TotalSquared(), 0);
  EXPECT_EQ(curve.Error(0), 0);
  EXPECT_EQ(curve.Threshold(0), 0);
  EXPECT_EQ(curve.Above(0).count, 0);
  // All values are zero.
  const MagnitudeCurve zeros(Of(std::vector<float>(50)));
  EXPECT_EQ(zeros.TotalSquared(), 0);
  EXPECT_EQ(zeros.Error(10), 0);
  EXPECT_EQ(zeros.Above(0).count, 50);
}

}  // namespace
}  // namespace legacy::cpu::histogram_test