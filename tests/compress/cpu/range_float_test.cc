#include "compress/cpu/range_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/compress/test_data.h"

namespace legacy::cpu::range_float_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns |x| rounded to m bits of mantissa, in double precision: the value that a key stands for.
double Rounded(double magnitude, int m) {
  const int exponent = std::max(std::ilogb(magnitude), -126);
  const double unit = std::ldexp(1.0, exponent - m);
  return std::floor(magnitude / unit + 0.5) * unit;
}

// Returns ranges of all sorts: random, very unequal, one-sided, empty, of denormals, the widest.
std::vector<SignedRange> Ranges() {
  constexpr float kMost = std::numeric_limits<float>::max();
  std::vector<SignedRange> ranges = {{0, 0},           {1, 0},          {0, 1},
                                     {1, 0.25f},       {1, 1},          {1e-30f, 1e30f},
                                     {kMost, kMost},   {kMost, 1e-38f}, {1e-40f, 0},
                                     {1e-40f, 1e-38f}, {2e-38f, 1e-45f}};
  RandomStream stream({.seed = 5});
  for (int i = 0; i < 20; ++i) {
    const auto draw = [&] { return static_cast<float>(std::exp(20 * stream.Normal())); };
    ranges.push_back({draw(), draw()});
  }
  return ranges;
}

TEST(RangeFloat, WorkedExample) {
  const RangeFloat format = RangeFloat::Of(8, 3, {1, 0.25f});
  EXPECT_EQ(format.positive, 135);
  EXPECT_EQ(format.negative, 119);
  EXPECT_NEAR(format.Decode(1), 9.54e-6, 1e-8);
  EXPECT_EQ(format.Decode(135), 1.0f);
  EXPECT_EQ(format.Decode(254), -0.25f);
}

// For a one-sided range, the base must leave all codes to P.
TEST(RangeFloat, OneSidedRangesFillTheCodes) {
  const RangeFloat format = RangeFloat::Of(10, 6, {1, 0});
  EXPECT_EQ(format.positive, 1023);
  EXPECT_EQ(format.negative, 0);
  EXPECT_EQ(format.Encode(-1), 0u);
  EXPECT_EQ(RangeFloat::Of(10, 6, {0, 1}).negative, 1023);
}

TEST(RangeFloat, AllCodesOfManyFormats) {
  for (int bits = RangeFloat::kLeastBits; bits <= 12; ++bits) {
    for (int m = 1; m <= RangeFloat::MostMantissa(bits); ++m) {
      for (const SignedRange& range : Ranges()) {
        const RangeFloat format = RangeFloat::Of(bits, m, range);
        ASSERT_LE(format.positive + format.negative + 1, 1 << bits);
        ASSERT_EQ(format.Decode(0), 0);
        const auto positive = static_cast<uint32_t>(format.positive);
        for (uint32_t code = 0; code <= format.LargestCode(); ++code) {
          const float value = format.Decode(code);
          ASSERT_TRUE(std::isfinite(value));
          ASSERT_EQ(format.Encode(value), code);
          if (code == 0) continue;
          ASSERT_EQ(value<0, code> positive);
          // Within a sign, magnitudes rise with the code.
          if (code != 1 && code != positive + 1) {
            ASSERT_GT(std::abs(value), std::abs(format.Decode(code - 1)));
          }
        }
      }
    }
  }
}

TEST(RangeFloat, LargestFormatsKeepTheirCodes) {
  for (const int m : {1, 8, 14}) {
    const RangeFloat format = RangeFloat::Of(16, m, {3.7f, 0.9f});
    for (uint32_t code = 0; code <= format.LargestCode(); ++code) {
      ASSERT_EQ(format.Encode(format.Decode(code)), code);
    }
  }
}

// The oracle rounds in double precision.
TEST(RangeFloat, RoundsToNearestAndSaturates) {
  RandomStream stream({.seed = 6});
  for (const int bits : {4, 6, 8, 10, 16}) {
    for (int m = 1; m <= RangeFloat::MostMantissa(bits); ++m) {
      const SignedRange range = {2.5f, 0.7f};
      const RangeFloat format = RangeFloat::Of(bits, m, range);
      const double eps = std::bit_cast<float>(format.base << (23 - m));
      for (int i = 0; i < 300; ++i) {
        const float x = static_cast<float>(stream.Normal() * std::exp(3 * stream.Normal()));
        const double largest = Rounded(x < 0 ? range.lowest : range.highest, m);
        double expected = 0;
        if (largest >= eps && std::abs(x) >= eps / 2) {
          expected = std::min(std::max(Rounded(std::abs(double{x}), m), eps), largest);
        }
        const float decoded = format.Decode(format.Encode(x));
        ASSERT_EQ(decoded, std::copysign(expected, x)) << x << " bits " << bits << " m " << m;
        ASSERT_LE(std::abs(x - decoded), std::abs(x));
      }
    }
  }
}

TEST(RangeFloat, EdgesOfFp32) {
  const float most = std::numeric_limits<float>::max();
  const RangeFloat format = RangeFloat::Of(10, 5, {most, most});
  EXPECT_TRUE(std::isfinite(format.Decode(format.Encode(most))));
  EXPECT_EQ(format.Encode(kInfinity), format.Encode(most));
  EXPECT_EQ(format.Encode(-0.0f), 0u);
  EXPECT_FALSE(std::signbit(format.Decode(0)));
  const RangeFloat denormal = RangeFloat::Of(10, 5, {1e-40f, 1e-40f});  // below the smallest normal
  EXPECT_EQ(denormal.LargestCode(), 0u);
  EXPECT_EQ(denormal.Encode(1e-40f), 0u);
}

TEST(RangeFloat, ArraysEqualScalarsWithEveryInstructionSet) {
  auto values = test::Normals(1037, 4);
  values[3] = 0;
  values[4] = -0.0f;
  values[5] = 1e-40f;
  const SignedRange range = SignedRangeOf(values);
  EXPECT_EQ(range.highest, *std::ranges::max_element(values));
  EXPECT_EQ(range.lowest, -*std::ranges::min_element(values));
  const RangeFloat format = RangeFloat::Of(8, 3, range);
  double error = 0;
  for (const float x : values) error += std::pow(double{x} - format.Decode(format.Encode(x)), 2);
  for (const Simd simd : UsableSimd()) {
    EXPECT_EQ(SignedRangeOf(values, simd).highest, range.highest);
    EXPECT_EQ(SignedRangeOf(values, simd).lowest, range.lowest);
    std::vector<uint32_t> codes(values.size());
    std::vector<float> decoded(values.size());
    EncodeRange(format, values, codes, simd);
    DecodeRange(format, codes, decoded, simd);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(codes[i], format.Encode(values[i])) << i << " " << SimdName(simd);
      ASSERT_EQ(decoded[i], format.Decode(codes[i]));
    }
    EXPECT_EQ(RangeError(format, values, simd), RangeError(format, values, Simd::kPlain));
    EXPECT_NEAR(RangeError(format, values, simd), error, 1e-12 * error);
  }
}

TEST(SignedRangeOf, CoversEmptyAndOneSidedInputs) {
  EXPECT_EQ(SignedRangeOf({}).highest, 0);
  const std::vector<float> negative = {-3, -0.0f, -7};
  EXPECT_EQ(SignedRangeOf(negative).highest, 0);
  EXPECT_FALSE(std::signbit(SignedRangeOf(negative).highest));
  EXPECT_EQ(SignedRangeOf(negative).lowest, 7);
}

// The sweep finds the minimum over all mantissas, which is known for Gaussian values.
TEST(BestMantissa, OfGaussianAndLaplaceValues) {
  const auto gaussian = test::Normals(16000, 9);
  RandomStream stream({.seed = 10});
  std::vector<float> laplace(16000);
  for (float& x : laplace) {
    const double u = stream.Uniform() - 0.5;
    x = static_cast<float>(std::copysign(std::log1p(-2 * std::abs(u)), u));
  }
  const auto error = [](int bits, int m, std::span<const float> values) {
    return RangeError(RangeFloat::Of(bits, m, SignedRangeOf(values)), values);
  };
  for (const auto& [bits, expected] : {std::pair(6, 2), {8, 4}, {10, 6}, {12, 8}, {16, 11}}) {
    const int best = BestMantissa(bits, SignedRangeOf(gaussian), gaussian);
    EXPECT_NEAR(best, expected, 1) << bits;
    for (int m = 1; m <= RangeFloat::MostMantissa(bits); ++m) {
      EXPECT_LE(error(bits, best, gaussian), error(bits, m, gaussian)) << bits << " " << m;
    }
  }
  EXPECT_NEAR(error(8, 4, gaussian) / 16000, 1.8e-4, 4e-5);
  EXPECT_NEAR(error(10, 6, gaussian) / 16000, 1.1e-5, 3e-6);
  EXPECT_NEAR(BestMantissa(8, SignedRangeOf(laplace), laplace), 4, 1);
  EXPECT_EQ(BestMantissa(8, {}, {}), 1);
}

}  // namespace
}  // namespace legacy::cpu::range_float_test