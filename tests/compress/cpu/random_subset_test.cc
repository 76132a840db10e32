#include "compress/cpu/random_subset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace legacy::cpu::random_subset_test {
namespace {

// Follows the header's definition, the first `count` distinct positions, with a loop over single
// draws.
std::set<uint32_t> FirstDistinct(RandomStream stream, uint64_t n, size_t count) {
  std::set<uint32_t> positions;
  while (positions.size() < count) {
    const uint64_t product = stream.NextU32() * n;
    if (product % (uint64_t{1} << 32) < (uint64_t{1} << 32) % n) continue;
    positions.insert(static_cast<uint32_t>(product >> 32));
  }
  return positions;
}

TEST(RandomSubset, IsTheFirstDistinctDraws) {
  for (const int64_t n : {1, 2, 63, 64, 65, 1000, 100003}) {
    for (int64_t k = 0; k <= n; k += 1 + n / 17) {
      const RandomStream stream({.seed = 7});
      const bool complement = k > n - k;
      const auto drawn = FirstDistinct(stream, n, complement ? n - k : k);
      std::vector<uint32_t> expected;
      for (int64_t i = 0; i < n; ++i) {
        if (drawn.contains(static_cast<uint32_t>(i)) != complement) {
          expected.push_back(static_cast<uint32_t>(i));
        }
      }
      ASSERT_EQ(RandomSubset(stream, n, k), expected) << n << " " << k;
    }
  }
}

TEST(RandomSubset, OfNoElementsIsEmpty) {
  EXPECT_TRUE(RandomSubset(RandomStream({.seed = 7}), 0, 0).empty());
}

// All 10 subsets of size 2 of 5 elements are equally likely, and so are those of size 3, which are
// drawn by their complements.
TEST(RandomSubset, Uniform) {
  for (const int64_t k : {2, 3}) {
    std::map<std::vector<uint32_t>, int> counts;
    for (uint64_t step = 0; step < 20000; ++step) {
      ++counts[RandomSubset(RandomStream({.seed = 8, .step = step}), 5, k)];
    }
    ASSERT_EQ(counts.size(), 10u);
    for (const auto& [subset, count] : counts) EXPECT_NEAR(count, 2000, 5 * std::sqrt(1800));
  }
}

}  // namespace
}  // namespace legacy::cpu::random_subset_test