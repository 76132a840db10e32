#include "compress/cpu/vector.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/compress/test_data.h"

namespace legacy::cpu::vector_test {
namespace {

constexpr int64_t kSizes[] = {0, 1, 31, 32, 33, 1023, 1024, 1025, 70001, 1024 * 1024 + 7};

// Follows the header's definition literally.
double DefinedSum(std::vector<double> terms) {
  if (terms.empty()) return 0;
  while (true) {
    std::vector<double> sums;
    for (size_t begin = 0; begin < terms.size(); begin += kSumBlock) {
      std::vector<double> lanes(kSumLanes);
      for (size_t i = begin; i < std::min(begin + kSumBlock, terms.size()); ++i) {
        lanes[(i - begin) % kSumLanes] += terms[i];
      }
      for (int half = kSumLanes / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
      }
      sums.push_back(lanes[0]);
    }
    if (sums.size() == 1) return sums[0];
    terms = sums;
  }
}

TEST(Vector, SumsHaveOneOrder) {
  for (const int64_t n : kSizes) {
    const auto values = test::Normals(n, 1);
    std::vector<double> squares(values.begin(), values.end());
    auto magnitudes = squares;
    for (double& x : squares) x *= x;
    for (double& x : magnitudes) x = std::abs(x);
    const auto others = test::Normals(n, 2);
    std::vector<double> products(n);
    for (int64_t i = 0; i < n; ++i) products[i] = double{values[i]} * double{others[i]};
    for (const Simd simd : UsableSimd()) {
      ASSERT_EQ(SquaredNorm(values, simd), DefinedSum(squares)) << n << " " << SimdName(simd);
      ASSERT_EQ(AbsSum(values, simd), DefinedSum(magnitudes)) << n << " " << SimdName(simd);
      ASSERT_EQ(Dot(values, others, simd), DefinedSum(products)) << n << " " << SimdName(simd);
    }
  }
}

TEST(Vector, ElementwiseLoopsGiveThePlainBits) {
  for (const int64_t n : kSizes) {
    const auto a = test::Normals(n, 2), b = test::Normals(n, 3);
    float largest = 0;
    std::vector<float> expected(n);
    for (int64_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(a[i]));
      expected[i] = (a[i] + b[i]) * 0.7f;
    }
    for (const Simd simd : UsableSimd()) {
      auto sum = b;
      Add(a, sum, simd);
      Scale(sum, 0.7f, simd);
      ASSERT_EQ(sum, expected) << n << " " << SimdName(simd);
      auto difference = a;
      Subtract(b, difference, simd);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(difference[i], a[i] - b[i]) << SimdName(simd);
      std::vector<float> zeros(n, -0.0f);
      Subtract(std::vector<float>(n, -0.0f), zeros, simd);
      for (const float x : zeros) ASSERT_TRUE(std::signbit(x)) << n << " " << SimdName(simd);
      ASSERT_EQ(AbsMax(a, simd), largest) << n << " " << SimdName(simd);
    }
  }
}

TEST(Vector, FindsTheFirstNonFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Simd simd : UsableSimd()) {
    for (const int64_t n : kSizes) {
      std::vector<float> values(n, std::numeric_limits<float>::max());
      ASSERT_EQ(FirstNonFinite(values, simd), std::nullopt);
      for (const int64_t at : {n - 1, n / 2, int64_t{0}}) {
        if (n == 0) continue;
        values[at] = at % 2 ? -kInfinity : -kNan;
        ASSERT_EQ(FirstNonFinite(values, simd), at) << n << " " << SimdName(simd);
        ASSERT_EQ(std::isnan(AbsMax(values, simd)),
                  std::ranges::any_of(values, [](float x) { return std::isnan(x); }));
      }
    }
  }
}

}  // namespace
}  // namespace legacy::cpu::vector_test