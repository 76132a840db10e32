#include "compress/cpu/quantise.h"

#include <gtest/gtest.h>

#include "compress/cpu/ternary.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::quantise_test {
namespace {

constexpr int64_t kCounts[] = {1, 15, 16, 63, 64, 65, 500, 512, 513, 1500};

TEST(Stochastic, DrawsAreTheirDefinitionOnEveryInstructionSet) {
  const DrawSource source = MakeDrawSource({.seed = 1, .step = 2, .worker = 3, .layer = 4});
  constexpr int64_t kGroups = 7;                            // some are filled together, some alone
  constexpr int64_t kFirst = (int64_t{1} << 26) - kGroups;  // the last groups possible
  for (const Simd simd : UsableSimd()) {
    std::vector<uint32_t> words(kGroups * kDrawWords);
    FillDraws(source, kFirst, kGroups, words.data(), simd);
    for (int64_t i = 0; i < kGroups * kDrawGroup; ++i) {
      const auto slice = static_cast<int>(i % kDrawGroup / kDrawLanes);
      ASSERT_EQ(
          SliceOf(&words[i / kDrawGroup * kDrawWords], slice, static_cast<int>(i % kDrawLanes)),
          DrawOf(source, kFirst * kDrawGroup + i));
    }
  }
}

// Other processors and GPUs must give these draws too.
TEST(Stochastic, KnownDraws) {
  const DrawSource source = MakeDrawSource({.seed = 1, .step = 2, .worker = 3, .layer = 4});
  std::vector<uint32_t> draws;
  for (const int64_t i : {0, 1, 16, 63, 64, 1000000}) draws.push_back(DrawOf(source, i));
  EXPECT_EQ(draws, (std::vector<uint32_t>{31459, 24754, 24584, 18216, 14036, 19720}));
}

TEST(Stochastic, DrawsAreUniform) {
  constexpr int64_t kCount = 1 << 16, kCells = 64;
  const DrawSource source = MakeDrawSource({.seed = 5});
  std::vector<double> counts(kCells);
  double product = 0;  // sum of centred products of neighbours
  double last = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const uint32_t draw = DrawOf(source, i);
    ASSERT_LT(draw, 1u << kDrawBits);
    ++counts[draw / ((1 << kDrawBits) / kCells)];
    const double centred = draw - 16383.5;
    product += centred * last;
    last = centred;
  }
  double chi = 0;
  const double expected = double{kCount} / kCells;
  for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
  EXPECT_NEAR(chi, kCells - 1, 5 * std::sqrt(2.0 * (kCells - 1)));
  const double variance = std::exp2(30) / 12;
  EXPECT_NEAR(product / kCount / variance, 0, 5 / std::sqrt(double{kCount}));
}

// Computes one code, in whole numbers.
uint8_t SlowCode(float x, const CodeGrid& grid, uint32_t draw) {
  float prepared = x;
  if (grid.prepared) prepared = std::clamp(x, grid.low, grid.high) * grid.factor - grid.origin;
  const double scaled = double{prepared * grid.scale};
  if (!grid.stochastic) return static_cast<uint8_t>(std::nearbyint(scaled + grid.centre));
  const auto fixed =
      static_cast<int64_t>(std::nearbyint(scaled + double(grid.centre << kDrawBits)));
  return static_cast<uint8_t>((fixed + draw) >> kDrawBits);
}

TEST(Quantise, CodesOnEveryInstructionSet) {
  const DrawSource source = MakeDrawSource({.seed = 9});
  for (const int64_t n : kCounts) {
    for (const auto& values : test::HardInputs(n)) {
      float largest = 0;
      for (const float x : values) largest = std::max(largest, std::abs(x));
      const Range range = RangeOf(values);
      std::vector<std::pair<CodeGrid, int>> grids;
      for (const bool stochastic : {false, true}) {
        for (const int levels : {1, 7, 127}) {
          if (largest == 0) continue;
          grids.emplace_back(SymmetricGrid(largest, levels, stochastic), 2 * levels);
          if (range.least == range.most) continue;
          grids.emplace_back(RangeGrid(range.least, range.most, 2 * levels + 1, stochastic),
                             2 * levels + 1);
        }
      }
      for (const auto& [grid, most] : grids) {
        for (const Simd simd : UsableSimd()) {
          std::vector<uint8_t> codes(n, 77);
          EncodeCodes(values, grid, source, 5 * kDrawGroup, codes, simd);
          ASSERT_LE(LargestCode(codes, simd), most);
          for (int64_t i = 0; i < n; ++i) {
            ASSERT_EQ(codes[i], SlowCode(values[i], grid, DrawOf(source, 5 * kDrawGroup + i)))
                << SimdName(simd) << " " << values[i];
          }
        }
      }
    }
  }
}

TEST(Quantise, DecodingOnEveryInstructionSet) {
  std::vector<uint8_t> codes(256);
  for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(i);
  std::vector<float> expected(256), values(256);
  DecodeRange(codes, -3, 5, 255, expected, Simd::kPlain);
  EXPECT_EQ(expected.front(), -3);
  EXPECT_EQ(expected.back(), 5);
  for (const Simd simd : UsableSimd()) {
    DecodeRange(codes, -3, 5, 255, values, simd);
    EXPECT_EQ(values, expected);
    DecodeSymmetric(codes, 3, 127, values, simd);
    for (int i = 0; i < 256; ++i) EXPECT_EQ(values[i], float(i - 127) * (1.0f / 127) * 3);
    EXPECT_EQ(values[254], 3);
  }
}

TEST(Quantise, PowersOnEveryInstructionSet) {
  const DrawSource source = MakeDrawSource({.seed = 10});
  for (const int64_t n : kCounts) {
    for (const auto& values : test::HardInputs(n)) {
      std::vector<float> expected(n), rounded(n);
      RoundToPowers(values, source, 0, expected, Simd::kPlain);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(expected[i]) & 0x7FFFFF, 0u);
        ASSERT_EQ(std::signbit(expected[i]), std::signbit(values[i]));
      }
      for (const Simd simd : UsableSimd()) {
        RoundToPowers(values, source, 0, rounded, simd);
        ASSERT_EQ(rounded, expected) << SimdName(simd);
        const Range range = RangeOf(values, simd);
        ASSERT_EQ(range.least, *std::ranges::min_element(values));
        ASSERT_EQ(range.most, *std::ranges::max_element(values));
      }
    }
  }
}

TEST(Ternary, ScaleAboveTheLargestKeepsTheExpectation) {
  const std::vector<float> values(1 << 16, 0.5f);
  const Range clip = ClipRange(values, 0);
  EXPECT_EQ(ClippedMax(values, clip), 0.5f);
  std::vector<uint8_t> codes(values.size());
  EncodeCodes(values, TernaryGrid(clip, 2), MakeDrawSource({.seed = 3}), 0, codes);
  double sum = 0;
  for (const uint8_t code : codes) sum += code - 1;
  EXPECT_NEAR(sum / double(codes.size()), 0.25, 5 * std::sqrt(0.25 * 0.75 / double(codes.size())));
}

}  // namespace
}  // namespace legacy::cpu::quantise_test