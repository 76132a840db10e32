#include "compress/cpu/topk.h"

#include <gtest/gtest.h>

#include <limits>

#include "compress/cpu/radix_select.h"
#include "compress/gradients/gradients.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::topk_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::vector<float>> Inputs(int64_t n) {
  auto inputs = test::HardInputs(n);
  for (const char* name : {"student-t", "lognormal"}) {
    inputs.push_back(DrawGradient(std::string(name) + ":n=" + std::to_string(n)));
  }
  auto& rising = inputs.emplace_back(n);  // every element is a candidate when it is read
  for (int64_t i = 0; i < n; ++i) rising[i] = static_cast<float>(i);
  return inputs;
}

std::vector<float> At(std::span<const float> values, std::span<const uint32_t> indices) {
  std::vector<float> at;
  for (const uint32_t index : indices) at.push_back(values[index]);
  return at;
}

// Splits values into a gradient and a residual that add up to them exactly.
void Split(std::span<const float> values, std::vector<float>& gradient,
           std::vector<float>& residual) {
  gradient.assign(values.begin(), values.end());
  residual = gradient;
  for (float& x : residual) x *= 0.5f;
  for (size_t i = 0; i < residual.size(); ++i) gradient[i] -= residual[i];
}

void CheckAll(std::span<const float> input, int64_t k, float hint, const std::string& name) {
  std::vector<float> gradient, residual;
  Split(input, gradient, residual);
  std::vector<float> e = residual;
  for (size_t i = 0; i < e.size(); ++i) e[i] += gradient[i];
  const auto expected = test::SortedTopK(e, k);
  const auto expected_values = At(e, expected);
  std::vector<float> left = e;
  for (const uint32_t index : expected) left[index] = 0;

  const TopKSegment all = {0, static_cast<int64_t>(e.size()), k, hint};
  for (const Simd simd : UsableSimd()) {
    const std::string where = name + " " + std::string(SimdName(simd));
    TopKSelector selector(simd);
    const auto selected = selector.Select(e, {&all, 1});
    ASSERT_TRUE(std::ranges::equal(selected.indices, expected)) << where;
    ASSERT_TRUE(test::SameBits(selected.values, expected_values)) << where;
    ASSERT_FALSE(selected.stats.non_finite) << where;
    if (k > 0) {
      float smallest = kInfinity;
      for (const float x : expected_values) smallest = std::min(smallest, std::abs(x));
      ASSERT_EQ(selected.thresholds[0], smallest) << where;
    }
    auto updated = residual;
    const auto compensated = selector.Compensate(gradient, updated, {&all, 1});
    ASSERT_TRUE(std::ranges::equal(compensated.indices, expected)) << where;
    ASSERT_TRUE(test::SameBits(compensated.values, expected_values)) << where;
    ASSERT_TRUE(test::SameBits(updated, left)) << where;
  }
}

TEST(TopK, EqualsFullSort) {
  std::vector<int64_t> sizes = {100, 2047, 2048, 4099, 50001};
  for (int64_t n = 0; n <= 40; ++n) sizes.push_back(n);
  for (const int64_t n : sizes) {
    const auto inputs = Inputs(n);
    for (size_t input = 0; input < inputs.size(); ++input) {
      for (const int64_t k : {int64_t{0}, std::min(n, int64_t{1}), n / 100, n / 10, n / 2, n}) {
        CheckAll(inputs[input], k, 0,
                 std::to_string(input) + " n " + std::to_string(n) + " k " + std::to_string(k));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(TopK, HintsNeverChangeTheResult) {
  const auto inputs = Inputs(20011);
  for (size_t input = 0; input < inputs.size(); ++input) {
    for (const float hint : {1e-40f, 0.5f, 2.5f, 2.6f, 1e30f, kInfinity, kNan, -1.0f}) {
      CheckAll(inputs[input], 200, hint, std::to_string(input) + " hint " + std::to_string(hint));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TopK, TiesGoToTheLowerIndex) {
  const std::vector<float> values = {1, -2, 2, -2, 0, 2};
  EXPECT_EQ(SelectTopK(values, 3), (std::vector<uint32_t>{1, 2, 3}));
}

// A bracket from a sample hardly ever misses; a hint that is too high always does.
TEST(TopK, CountsMisses) {
  TopKStats stats;
  std::vector<float> kept;
  constexpr int64_t kKept = 2621;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto values = test::Normals(1 << 18, seed);
    SelectTopK(values, kKept, &kept, &stats);
    ASSERT_EQ(stats.missed, 0) << seed;
    ASSERT_TRUE(stats.candidates >= kKept && stats.candidates < 4 * kKept) << stats.candidates;
    SelectTopK(values, kKept, &kept, &stats, 100.0f);
    ASSERT_EQ(stats.missed, 1) << seed;
    ASSERT_EQ(kept, At(values, test::SortedTopK(values, kKept)));
  }
}

// Only few candidates are kept, even if the bracket lets many elements through.
TEST(TopK, HoldsFewCandidates) {
  std::vector<float> values(1 << 20, 0.5f);
  TopKStats stats;
  EXPECT_EQ(SelectTopK(values, 3, nullptr, &stats), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_LT(stats.candidates, 1 << 15);
}

TEST(TopK, FindsNonFiniteValuesWhileSelecting) {
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
    for (const int64_t n : {1, 40, 5000, 100000}) {
      for (const int64_t k : {int64_t{1}, 1 + n / 100, n}) {
        auto gradient = test::Normals(n, 1);
        auto residual = test::Normals(n, 2);
        gradient[n / 3] = bad;
        gradient[n - 1] = kInfinity;
        auto e = residual;
        for (int64_t i = 0; i < n; ++i) e[i] += gradient[i];
        TopKStats stats;
        std::vector<float> kept;
        const auto indices = CompensateAndSelect(gradient, residual, k, &kept, &stats);
        ASSERT_EQ(stats.non_finite, n / 3) << bad << " n " << n << " k " << k;
        ASSERT_TRUE(test::SameBits(residual, e)) << bad << " n " << n << " k " << k;
        ASSERT_EQ(static_cast<int64_t>(indices.size()), k);
        ASSERT_EQ(SelectTopK(e, k), indices);
        SelectTopK(e, k, &kept, &stats);
        ASSERT_EQ(stats.non_finite, n / 3);
      }
    }
  }
}

TEST(TopK, SegmentsAreSelectionsOfTheirOwn) {
  const int64_t n = 60000;
  const auto gradient = test::Normals(n, 1);
  const auto before = test::Normals(n, 2);
  const std::vector<TopKSegment> segments = {
      {0, 1, 1},      {1, 0, 0},           {1, 40000, 400, 2.9f}, {40001, 64, 1},
      {40065, 10, 0}, {50000, 9000, 8999}, {59000, 500, 500}};
  for (const Simd simd : UsableSimd()) {
    TopKSelector selector(simd);
    for (int call = 0; call < 2; ++call) {  // the second call uses used scratch
      auto residual = before;
      const auto result = selector.Compensate(gradient, residual, segments);
      auto expected = before;
      size_t next = 0;
      for (size_t s = 0; s < segments.size(); ++s) {
        const auto [offset, length, k, hint] = segments[s];
        std::vector<float> values;
        const auto part = std::span(expected).subspan(offset, length);
        const auto indices =
            CompensateAndSelect(std::span(gradient).subspan(offset, length), part, k, &values);
        ASSERT_TRUE(std::ranges::equal(result.indices.subspan(next, k), indices)) << s;
        ASSERT_TRUE(test::SameBits(result.values.subspan(next, k), values)) << s;
        next += k;
      }
      ASSERT_EQ(result.indices.size(), next);
      ASSERT_TRUE(test::SameBits(residual, expected));
      ASSERT_EQ(result.thresholds.size(), segments.size());
    }
  }
}

TEST(TopK, NamesNonFiniteValuesByTheFlatPosition) {
  std::vector<float> values(1000, 1.0f);
  values[700] = kNan;
  const std::vector<TopKSegment> segments = {{0, 500, 5}, {600, 400, 4}};
  TopKSelector selector;
  EXPECT_EQ(selector.Select(values, segments).stats.non_finite, 700);
}

TEST(FindCut, EqualsSorting) {
  std::vector<uint32_t> scratch;
  for (const int64_t n : {1, 2, 33, 5000}) {
    for (const auto& input : Inputs(n)) {
      std::vector<uint32_t> keys;
      for (const float x : input) keys.push_back(KeyOf(x));
      std::ranges::sort(keys, std::greater());
      for (const int64_t rank : {int64_t{1}, (n + 1) / 2, n}) {
        const uint32_t key = keys[rank - 1];
        const int64_t above = std::ranges::find(keys, key) - keys.begin();
        // The ranges all begin low enough: right, too low, too high, and of one key.
        for (const uint32_t high : {kLargestKey, key, key + key / 8, key - key / 8, keys.back()}) {
          const Cut cut = FindCut(input, {keys.back(), std::max(high, keys.back())}, rank, scratch);
          ASSERT_EQ(cut.key, key) << n << " " << rank << " " << high;
          ASSERT_EQ(cut.ties, rank - above) << n << " " << rank << " " << high;
        }
      }
    }
  }
}

TEST(ClearAt, ClearsNegativeValuesToo) {
  std::vector<float> values = {1, -2, 3, -4};
  ClearAt(values, std::vector<uint32_t>{1, 2});
  EXPECT_EQ(values, (std::vector<float>{1, 0, 0, -4}));
}

}  // namespace
}  // namespace legacy::cpu::topk_test