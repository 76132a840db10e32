#include <gtest/gtest.h>

#include "compress/density.h"
#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::sampled_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

// At least .8 k values are sent (fewer would have lowered the threshold) and at most k, and all are
// large.
TEST(Sampled, CountsAndMagnitudes) {
  const auto sparsifier = SparsifierOf("sampled");
  for (const char* kind : {"gaussian", "laplace", "student-t", "lognormal"}) {
    for (uint64_t step = 0; step < 5; ++step) {
      const auto input = DrawGradient(std::string(kind) + ":n=200000", 0, step);
      for (const double density : {0.001, 0.01, 0.1}) {
        const int64_t k = KeptCount(200000, density);
        const Selection selection = sparsifier->Select(input, k, ContextOf(density, step));
        const auto count = static_cast<int64_t>(selection.positions.size());
        EXPECT_LE(count, k) << kind;
        EXPECT_GE(count, k * 4 / 5) << kind << " " << density;
        // No more than 1.3 k elements reach the smallest value that is sent: only truncation leaves
        // larger ones out.
        float smallest = std::abs(selection.values[0]);
        for (const float x : selection.values) smallest = std::min(smallest, std::abs(x));
        EXPECT_LE(test::SlowAtLeast(input, smallest).size(), 1.3 * static_cast<double>(k)) << kind;
      }
    }
  }
}

TEST(Sampled, TruncatesByPosition) {
  // If n <= 2 / density everything is sampled, so that the threshold is the k-th magnitude; ties
  // after the k-th are dropped.
  const std::vector<float> input = {3, 3, -3, 3, 1, 1, 1, 1, 1, 1};
  const Selection selection = SparsifierOf("sampled")->Select(input, 3, ContextOf(0.3));
  EXPECT_EQ(selection.positions.size(), 3u);
  const Selection constant =
      SparsifierOf("sampled")->Select(std::vector<float>(1000, -1.0f), 10, ContextOf(0.01));
  std::vector<uint32_t> first(10);
  std::iota(first.begin(), first.end(), 0u);
  // More than 1.3 k are selected: exact Top-K, with ties to the lower index.
  EXPECT_EQ(constant.positions, first);
}

TEST(Sampled, ZerosFallBackToTheLargest) {
  std::vector<float> input(10000);
  input[7777] = -2;
  const Selection selection = SparsifierOf("sampled")->Select(input, 10, ContextOf(0.001));
  EXPECT_EQ(selection.positions.size(), 10u);
  EXPECT_NE(std::ranges::find(selection.positions, 7777u), selection.positions.end());
}

TEST(Sampled, StartFollowsTheKey) {
  const auto input = DrawGradient("gaussian:n=100000");
  const auto sparsifier = SparsifierOf("sampled");
  const auto at = [&](uint64_t step) {
    return sparsifier->Select(input, 1000, ContextOf(0.01, step)).positions;
  };
  EXPECT_EQ(at(1), at(1));
  EXPECT_TRUE(at(1) != at(2) || at(1) != at(3) || at(1) != at(4));
}

}  // namespace
}  // namespace legacy::sampled_test