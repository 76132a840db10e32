#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace legacy::random_test {
namespace {

// Known answers of philox4x32-10, as distributed with Random123.
TEST(Philox, KnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, EveryPartOfTheKeyMatters) {
  const RandomKey base{.seed = 1, .step = 2, .worker = 3, .layer = 4, .purpose = Purpose::kTest};
  std::vector<RandomKey> keys(8, base);
  keys[1].seed = 2;
  keys[2].seed = 1 + (uint64_t{1} << 32);
  keys[3].step = 3;
  keys[4].step = 2 + (uint64_t{1} << 32);
  keys[5].worker = 4;
  keys[6].layer = 5;
  keys[7].purpose = Purpose::kRandomK;
  std::set<uint64_t> first;
  for (const RandomKey& key : keys) first.insert(RandomStream(key).NextU64());
  EXPECT_EQ(first.size(), keys.size());
  EXPECT_EQ(RandomStream(base).NextU64(), RandomStream(base).NextU64());
}

TEST(RandomStream, BelowIsUniformAndInRange) {
  RandomStream stream({.seed = 5});
  std::array<int, 6> counts{};
  constexpr int kDraws = 60000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(stream.Below(6));
  double chi_squared = 0;
  for (const int count : counts) chi_squared += (count - 1e4) * (count - 1e4) / 1e4;
  EXPECT_LT(chi_squared, 25.7);  // 99.99 % of chi-squared with 5 degrees of freedom
  EXPECT_EQ(stream.Below(1), 0u);
}

TEST(RandomStream, MomentsOfUniformAndNormal) {
  RandomStream stream({.seed = 6});
  constexpr int kDraws = 100000;
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.Uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    uniform += u / kDraws;
    const double z = stream.Normal();
    normal += z / kDraws;
    square += z * z / kDraws;
  }
  EXPECT_NEAR(uniform, 0.5, 5 * 0.2887 / std::sqrt(kDraws));
  EXPECT_NEAR(normal, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / kDraws));
}

TEST(RandomStream, FillGivesTheNextDraws) {
  RandomStream one({.seed = 9}), other = one;
  for (const size_t size : {0, 1, 3, 63, 64, 65, 200, 2, 1000}) {
    std::vector<uint32_t> filled(size);
    one.Fill(filled);
    for (const uint32_t draw : filled) ASSERT_EQ(draw, other.NextU32()) << size;
  }
  EXPECT_EQ(one.NextU32(), other.NextU32());
}

}  // namespace
}  // namespace legacy::random_test