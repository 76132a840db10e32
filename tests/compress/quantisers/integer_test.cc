// Integers of a few bits with the largest magnitude of each bucket: quantiser `int`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::integer_test {
namespace {

using test::QuantiserOf;

// The rule in double precision: clamp(round(x q), -2^(b-1), 2^(b-1) - 1) / q.
std::vector<float> Oracle(std::span<const float> values, int bits, size_t bucket, bool narrow) {
  std::vector<float> out;
  for (size_t begin = 0; begin < values.size(); begin += bucket) {
    const auto part = values.subspan(begin, std::min(bucket, values.size() - begin));
    double max = 0;
    for (const float x : part) max = std::max(max, std::abs(double{x}));
    const double side = std::exp2(bits - 1) - (narrow ? 1 : 0);
    const double most = std::exp2(bits - 1) - 1;
    for (const float x : part) {
      const double code = max == 0 ? 0 : std::nearbyint(std::min(x * side / max, most));
      out.push_back(static_cast<float>(code / side * max));
    }
  }
  return out;
}

// 10^5 blocks; values half-way between two levels may go either way, by an ulp of a product.
TEST(Integer, FollowsTheRuleOfTheSymmetricBlocks) {
  for (const bool narrow : {false, true}) {
    for (const int bits : {2, 4, 8}) {
      const auto quantiser = QuantiserOf(narrow ? "int:bucket=64,range=narrow" : "int:bucket=64");
      for (int64_t round = 0; round < 20; ++round) {
        const auto values = test::Normals(64 * 850 - 7, 100 * round + bits);
        const auto decoded = test::RoundTrip(*quantiser, values, bits);
        const auto expected = Oracle(values, bits, 64, narrow);
        int64_t halves = 0;
        for (size_t i = 0; i < values.size(); ++i) {
          const double step = std::abs(double{decoded[i]} - expected[i]);
          if (step <= 1e-6 * std::abs(expected[i])) continue;
          ++halves;
          EXPECT_NEAR(std::abs(double{decoded[i]} - values[i]),
                      std::abs(double{expected[i]} - values[i]), 1e-5)
              << bits;
        }
        EXPECT_LT(halves, 20);
      }
    }
  }
}

TEST(Integer, ClampsTheLargestPositiveValue) {
  std::vector<float> values(64, 0.0f);
  values[0] = 8;
  values[1] = -8;
  values[2] = 6.4f;
  const auto full = test::RoundTrip(*QuantiserOf("int"), values, 4);
  EXPECT_EQ(full[0], 7) << "an eighth is lost";
  EXPECT_EQ(full[1], -8);
  EXPECT_EQ(full[2], 6);
  EXPECT_EQ(full[3], 0);
  const auto narrow = test::RoundTrip(*QuantiserOf("int:range=narrow"), values, 4);
  EXPECT_EQ(narrow[0], 8);
  EXPECT_EQ(narrow[1], -8);
  // With draws, too: the largest code is the largest.
  for (int64_t step = 0; step < 200; ++step) {
    const auto drawn = test::RoundTrip(*QuantiserOf("int:rounding=stochastic"), values, 4, step);
    EXPECT_EQ(drawn[0], 7);
    EXPECT_EQ(drawn[1], -8);
  }
}

// b + 32 / G bits a value.
TEST(Integer, HasItsBytes) {
  EXPECT_EQ(QuantiserOf("int:bucket=2048")->SegmentBytes(1'000'000'000, 8), 1'001'953'128);
  EXPECT_EQ(QuantiserOf("int:bucket=128")->SegmentBytes(1'000'000'000, 8), 1'031'250'000);
  EXPECT_EQ(QuantiserOf("int:bucket=128")->SegmentBytes(1'000'000'000, 4), 531'250'000);
  for (const int64_t count : {1, 127, 128, 129, (1 << 20) + 1}) {
    const auto quantiser = QuantiserOf("int:bucket=128");
    EXPECT_EQ(std::ssize(test::EncodeSegment(*quantiser, test::Normals(count, 1), 4)),
              4 * ((count + 127) / 128) + (count + 1) / 2);
  }
}

// Relative squared errors of Gaussian values as measured elsewhere: 2.16e-2 at 4 bits with draws.
TEST(Integer, HasTheErrorOfItsRule) {
  const auto values = test::Normals(1 << 18, 3);
  const double energy = test::SquaredNorm(values);
  const double drawn =
      QuantiserOf("int:bucket=128,rounding=stochastic")->SquaredError(values, 4) / energy;
  EXPECT_NEAR(drawn, 2.16e-2, 0.1e-2);
  const double nearest = QuantiserOf("int:bucket=128")->SquaredError(values, 4) / energy;
  EXPECT_NEAR(nearest / drawn, 0.5, 0.06);
}

// One value among zeros is shared by 32, and comes back.
TEST(Integer, SmoothsThirtyTwoValues) {
  const auto smooth = QuantiserOf("int:bucket=64,smooth=on");
  std::vector<float> values(100, 0.0f);
  values[5] = 3;
  values[98] = 1;  // after the last 32
  const auto decoded = test::RoundTrip(*smooth, values, 8);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(decoded[i], values[i], 0.03) << i;
  const auto narrow =
      test::RoundTrip(*QuantiserOf("int:bucket=64,smooth=on,range=narrow"), values, 8);
  EXPECT_NEAR(narrow[5], 3, 1e-5) << "all transformed values are +-3";
  // A constant block has one value.
  std::ranges::fill(values, 0.5f);
  const Bytes segment = test::EncodeSegment(*smooth, values, 4);
  EXPECT_EQ(std::ssize(segment), 2 * 4 + 50);
  // Errors are the closed form's, and smaller where few values are large.
  auto heavy = test::Normals(5000, 4);
  for (size_t i = 0; i < heavy.size(); i += 100) heavy[i] *= 30;
  for (const auto& [text, bits] : {std::pair{"int:smooth=on", 4}, {"int:bucket=64,smooth=on", 3}}) {
    const auto quantiser = QuantiserOf(text);
    const auto out = test::RoundTrip(*quantiser, heavy, bits);
    double error = 0;
    for (size_t i = 0; i < heavy.size(); ++i) error += std::pow(double{out[i]} - heavy[i], 2);
    EXPECT_NEAR(quantiser->SquaredError(heavy, bits) / error, 1, 0.02) << text;
  }
  EXPECT_LT(QuantiserOf("int:smooth=on")->SquaredError(heavy, 4),
            0.5 * QuantiserOf("int")->SquaredError(heavy, 4));
}

TEST(Integer, RefusesWhatNoEncoderWrites) {
  const auto quantiser = QuantiserOf("int:bucket=64");
  const Bytes good = test::EncodeSegment(*quantiser, test::Normals(100, 2), 4);
  std::vector<float> values(100);
  EXPECT_NO_THROW(quantiser->Decode(good, 4, values));
  EXPECT_THROW(quantiser->Decode(ByteSpan(good).first(good.size() - 1), 4, values), Error);
  Bytes bad = good;
  bad[3] = std::byte{0xFF};  // a scale that is not finite, or negative
  EXPECT_THROW(quantiser->Decode(bad, 4, values), Error);
  const auto narrow = QuantiserOf("int:bucket=64,range=narrow");
  Bytes full = test::EncodeSegment(*narrow, test::Normals(100, 2), 4);
  full.back() = std::byte{0xFF};  // code 15
  EXPECT_THROW(narrow->Decode(full, 4, values), Error);
  EXPECT_THROW(QuantiserOf("int:bits=1"), Error);
  EXPECT_THROW(QuantiserOf("int:range=wide"), Error);
}

}  // namespace
}  // namespace legacy::integer_test
