// The quantisers sign, onebit, terngrad and natural: exact bytes, identities, hostile segments.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::sign_test {
namespace {

using test::QuantiserOf;

Bytes Segment(std::initializer_list<float> floats, std::initializer_list<int> bytes) {
  Bytes segment;
  for (const float x : floats) test::AppendFloat(x, segment);
  for (const int byte : bytes) segment.push_back(static_cast<std::byte>(byte));
  return segment;
}

void ExpectRefused(const char* text, const Bytes& segment, int64_t n) {
  std::vector<float> values(n);
  EXPECT_THROW(QuantiserOf(text)->Decode(segment, 0, values), Error) << text;
}

TEST(Sign, KnownBytes) {
  const std::vector<float> values = {-0.0f, 0.0f, -4, 1, -1, 0, 0, 0, -3};
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("sign"), values, 0), Segment({1}, {0b10100, 1}));
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("sign"), values, 0),
            (std::vector<float>{1, 1, -1, 1, -1, 1, 1, 1, -1}));
}

// ||x - Q||^2 = ||x||^2 - ||x||_1^2 / d, and the l1 norm is kept.
TEST(Sign, ContractsExactly) {
  for (const int64_t n : {1, 33, 1000}) {
    const auto values = test::Normals(n, 3);
    const auto decoded = test::RoundTrip(*QuantiserOf("sign"), values, 0);
    double sum = 0, kept = 0;
    for (const float x : values) sum += std::abs(x);
    for (const float x : decoded) kept += std::abs(x);
    EXPECT_NEAR(kept, sum, 1e-6 * sum);
    const double expected = test::SquaredNorm(values) - sum * sum / static_cast<double>(n);
    EXPECT_NEAR(test::SquaredDistance(values, decoded), expected, 1e-5 * test::SquaredNorm(values));
  }
}

TEST(Sign, AScaleThatVanishesTakesTheSignsWithIt) {
  std::vector<float> values(1000);
  values[500] = -std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("sign"), values, 0), std::vector<float>(1000));
}

TEST(OneBit, KnownBytes) {
  const std::vector<float> values = {-1, -3, 2, 0, -0.0f, 6};
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("onebit"), values, 0), Segment({2, -2}, {0b11}));
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("onebit"), values, 0),
            (std::vector<float>{-2, -2, 2, 2, 2, 2}));
  const std::vector<float> none_below = {1, 3};
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("onebit"), none_below, 0), Segment({2, 0}, {0}));
}

TEST(Sign, MalformedSegments) {
  for (const float bad : {-1.0f, -0.0f, std::nanf(""), INFINITY}) {
    ExpectRefused("sign", Segment({bad}, {0}), 4);
    ExpectRefused("onebit", Segment({bad, -1}, {1}), 4);
    ExpectRefused("terngrad", Segment({bad}, {0x55}), 4);
  }
  ExpectRefused("sign", Segment({1}, {0x10}), 4);  // padding
  ExpectRefused("sign", Segment({0}, {1}), 4);
  ExpectRefused("sign", Segment({1}, {}), 0);
  ExpectRefused("sign", Segment({1}, {0, 0}), 4);
  ExpectRefused("onebit", Segment({1, 1}, {1}), 4);
  ExpectRefused("onebit", Segment({1, -1}, {0}), 4);  // a mean of no values
  ExpectRefused("onebit", Segment({1, -1}, {0xF}), 4);
  ExpectRefused("onebit", Segment({1, 0}, {1}), 4);
  ExpectRefused("onebit", Segment({1, -INFINITY}, {1}), 4);
}

TEST(TernGrad, KnownBytes) {
  const std::vector<float> values = {2, -2, 0, 2, -2};  // no draw can move them
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("terngrad:clip=0"), values, 0),
            Segment({2}, {0b10010010, 0}));
  ExpectRefused("terngrad", Segment({2}, {0b11}), 1);
  ExpectRefused("terngrad", Segment({2}, {0b0101}), 1);  // padding
  ExpectRefused("terngrad", Segment({0}, {0b0110}), 2);
}

TEST(TernGrad, ClipsAtDeviationsFromTheMean) {
  std::vector<float> values = test::Normals(2000, 4);
  values[7] = 1000;
  double sum = 0;
  for (const float x : values) sum += x;
  const double mean = sum / 2000,
               deviation = std::sqrt(test::SquaredNorm(values) / 2000 - mean * mean);
  const auto decoded = test::RoundTrip(*QuantiserOf("terngrad"), values, 0);
  EXPECT_NEAR(decoded[7], mean + 2.5 * deviation, 1e-4 * deviation);
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("terngrad:clip=0"), values, 0)[7], 1000);
  const std::vector<float> one = {-3}, equal(70, 0.25f);  // no deviation: nothing to clip
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("terngrad"), one, 0), one);
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("terngrad"), equal, 0), equal);
}

// The factor of normally distributed values is above one, and without clipping far above it.
TEST(TernGrad, FactorsOfNormalValues) {
  const auto values = test::Normals(1 << 16, 5);
  EXPECT_NEAR(QuantiserOf("terngrad")->SquaredError(values, 0) / test::SquaredNorm(values), 1.01,
              0.03);
  EXPECT_GT(QuantiserOf("terngrad:clip=0")->SquaredError(values, 0) / test::SquaredNorm(values), 2);
}

TEST(Natural, KnownBytes) {
  const std::vector<float> values = {1, -2, 0, -0.0f, 0x1p-126f, 0x1p127f, -0.5f};
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("natural"), values, 0),
            Segment({}, {127, 128, 0, 0, 1, 254, 126, 0b1000010}));
  const std::vector<float> few = {1, -2, 0, -0.5f, 0x1p-125f, 0x1p-126f};
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("natural:bits=8"), few, 0),
            Segment({}, {128, 126, 0xFF, 0, 0x80 | 125, 1, 0}));
}

// Each value becomes one of the powers around it, powers stay, and the error is at most an eighth.
TEST(Natural, NeighboursAndVariance) {
  for (const char* text : {"natural", "natural:bits=8"}) {
    const auto quantiser = QuantiserOf(text);
    for (int step = 0; step < 20; ++step) {
      const auto values = test::Normals(1000, 50 + step);
      const auto decoded = test::RoundTrip(*quantiser, values, 0, step);
      for (size_t i = 0; i < values.size(); ++i) {
        const double below = std::exp2(std::floor(std::log2(std::abs(values[i]))));
        ASSERT_TRUE(std::abs(decoded[i]) == below || std::abs(decoded[i]) == 2 * below);
        ASSERT_EQ(std::signbit(decoded[i]), std::signbit(values[i]));
      }
      EXPECT_LE(quantiser->SquaredError(values, 0), test::SquaredNorm(values) / 8);
    }
    // The worst value is 4/3 of a power.
    const std::vector<float> worst(64, 4.0f / 3);
    EXPECT_NEAR(quantiser->SquaredError(worst, 0) / test::SquaredNorm(worst), 0.125, 1e-6);
  }
}

// One bucket of levels u, u / 2, u / 4 and 0, and one of a norm that is too small.
TEST(NaturalDithering, KnownBytes) {
  const auto quantiser = QuantiserOf("natural:form=dithering,levels=3,bucket=64");
  std::vector<float> values(66);
  values[0] = -4;
  values[1] = 2;
  values[2] = 1;
  values[3] = -0.0f;
  values[64] = 0x1p-125f;
  // Codes 0, 5, 4, 3 and zeros (3) of 3 bits, first 64 and then 2.
  Bytes expected = Segment({4, 0}, {});
  uint32_t first = 0 | 5 << 3 | 4 << 6;
  for (int i = 3; i < 8; ++i) first |= 3u << 3 * i;
  for (int i = 0; i < 3; ++i) expected.push_back(static_cast<std::byte>(first >> 8 * i));
  uint32_t zeros = 0;
  for (int i = 0; i < 8; ++i) zeros |= 3u << 3 * i;
  for (int i = 0; i < 21; ++i) expected.push_back(static_cast<std::byte>(zeros >> i % 3 * 8));
  expected.push_back(std::byte{3 | 3 << 3});
  EXPECT_EQ(test::EncodeSegment(*quantiser, values, 0), expected);
  std::vector<float> decoded(values.size());
  quantiser->Decode(expected, 0, decoded);
  values[64] = 0;
  EXPECT_EQ(decoded, values);
}

// Each value becomes one of the levels around it, and the error is within its bound.
TEST(NaturalDithering, NeighboursAndVariance) {
  for (const auto& [text, levels, norm] : {std::tuple{"natural:form=dithering", 8, false},
                                           {"natural:form=dithering,levels=4,norm=l2", 4, true}}) {
    const auto quantiser = QuantiserOf(text);
    const auto values = test::Normals(512, 3);
    const double u =
        norm ? std::sqrt(test::SquaredNorm(values))
             : std::abs(*std::ranges::max_element(values, {}, [](float x) { return std::abs(x); }));
    const double lowest = u * std::exp2(1 - levels);
    for (int step = 0; step < 20; ++step) {
      const auto decoded = test::RoundTrip(*quantiser, values, 0, step);
      for (size_t i = 0; i < values.size(); ++i) {
        const double x = std::abs(values[i]), y = std::abs(decoded[i]);
        if (x < lowest) {
          ASSERT_TRUE(y == 0 || std::abs(y / lowest - 1) < 1e-6);
          continue;
        }
        ASSERT_TRUE(y / x > 0.5 - 1e-6 && y / x < 2 + 1e-6);
        const double power = std::log2(y / u);
        ASSERT_NEAR(power, std::round(power), 1e-6);
      }
    }
    EXPECT_LE(quantiser->SquaredError(values, 0),
              (0.125 + 512 * std::exp2(-2 * levels)) * test::SquaredNorm(values));
  }
}

TEST(NaturalDithering, MalformedSegments) {
  const char* text = "natural:form=dithering,levels=3";
  ExpectRefused(text, Segment({4}, {7}), 1);      // a code above 2 levels
  ExpectRefused(text, Segment({4}, {3 | 8}), 1);  // padding
  ExpectRefused(text, Segment({0}, {2}), 1);      // a value where all are zero
  ExpectRefused(text, Segment({-4}, {3}), 1);
  ExpectRefused(text, Segment({0x1p-125f}, {3}), 1);
  ExpectRefused(text, Segment({4}, {3, 0}), 1);
}

TEST(Natural, Saturates) {
  const std::vector<float> values = {0x1.FFFFFEp127f, -0x1.8p127f};
  for (const char* text : {"natural", "natural:bits=8"}) {
    EXPECT_EQ(test::RoundTrip(*QuantiserOf(text), values, 0),
              (std::vector<float>{0x1p127f, -0x1p127f}));
  }
}

TEST(Natural, MalformedSegments) {
  ExpectRefused("natural", Segment({}, {255, 0}), 1);
  ExpectRefused("natural", Segment({}, {0, 1}), 1);    // zero with a sign
  ExpectRefused("natural", Segment({}, {127, 2}), 1);  // padding
  ExpectRefused("natural", Segment({}, {127}), 1);
  ExpectRefused("natural:bits=8", Segment({}, {255, 127}), 1);
  ExpectRefused("natural:bits=8", Segment({}, {128, 0x80}), 1);
  ExpectRefused("natural:bits=8", Segment({}, {128, 126}), 1);  // the greatest exponent is missing
  ExpectRefused("natural:bits=8", Segment({}, {100, 127, 27}), 2);  // exponent 0
  ExpectRefused("natural:bits=8", Segment({}, {0, 1}), 1);
}

}  // namespace
}  // namespace legacy::sign_test