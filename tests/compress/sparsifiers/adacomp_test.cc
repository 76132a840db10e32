#include <gtest/gtest.h>

#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::adacomp_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

TEST(AdaComp, EqualsItsRule) {
  const auto sparsifier = SparsifierOf("adacomp:bins=100");
  for (const int64_t n : {1, 99, 100, 101, 2050}) {
    const auto gradient = test::Normals(n, 1);
    auto residual = test::Normals(n, 2);
    const int64_t bin = (n + 99) / 100;
    std::vector<uint32_t> expected;
    for (int64_t i = 0; i < n; ++i) {
      float largest = 0;
      for (int64_t j = i / bin * bin; j < std::min(n, (i / bin + 1) * bin); ++j) {
        largest = std::max(largest, std::abs(residual[j] + gradient[j]));
      }
      const float sum = residual[i] + gradient[i];
      if (std::abs(sum + gradient[i]) >= largest) expected.push_back(static_cast<uint32_t>(i));
    }
    EXPECT_EQ(sparsifier->SelectWithFeedback(gradient, residual, n, ContextOf(1)).positions,
              expected);
  }
}

TEST(AdaComp, GradientAndResidualCount) {
  const auto sparsifier = SparsifierOf("adacomp:bin=4");
  std::vector<float> residual = {3, 1, 0, 0, 0, 0, 0, 0, 1};
  const std::vector<float> gradient = {-1, 1, 0.5f, 0, 0, 0, 0, 0, 0};
  // Sums are 2, 2, .5, 0. With the gradient added once more, 1, 3, 1, 0 compare with the maximum 2.
  // A bin of zeros sends nothing.
  const Selection selection = sparsifier->SelectWithFeedback(gradient, residual, 9, ContextOf(1));
  EXPECT_EQ(selection.positions, (std::vector<uint32_t>{1, 8}));
  EXPECT_EQ(selection.values, (std::vector<float>{2, 1}));
  // Without a residual, the limit is half of the bin's maximum.
  EXPECT_EQ(sparsifier->Select(std::vector<float>{4, -2, 1.9f, 0}, 4, ContextOf(1)).positions,
            (std::vector<uint32_t>{0, 1}));
}

}  // namespace
}  // namespace legacy::adacomp_test