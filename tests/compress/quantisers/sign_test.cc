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