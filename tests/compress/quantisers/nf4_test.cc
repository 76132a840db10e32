// Quantiles of a normal distribution with scales of 8 bits: quantiser `nf4`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::nf4_test {
namespace {

using test::QuantiserOf;

// Table of appendix E of the paper, to four digits.
constexpr double kPublished[] = {-1.0,   -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
                                 0.0796, 0.1609,  0.2461,  0.3379,  0.4407,  0.5626,  0.7230,  1.0};

TEST(Nf4, HasThePublishedLevels) {
  std::vector<float> values;
  for (const double level : kPublished) values.push_back(static_cast<float>(level * 3));
  const auto decoded = test::RoundTrip(*QuantiserOf("nf4"), values, 0);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(decoded[i], values[i], 3 * 5.1e-5) << i;
}

// A value becomes the nearer level, times a scale of 8 bits that is rounded up.
TEST(Nf4, RoundsToTheNearestLevelOfItsBlock) {
  const auto values = test::Normals(40'000, 3);
  const auto decoded = test::RoundTrip(*QuantiserOf("nf4"), values, 0);
  for (size_t group = 0; group < values.size(); group += 16'384) {
    const auto largest = [&](size_t begin, size_t size) {
      double most = 0;
      for (size_t i = begin; i < std::min(values.size(), begin + size); ++i) {
        most = std::max(most, std::abs(double{values[i]}));
      }
      return most;
    };
    const double most = largest(group, 16'384);
    for (size_t block = group; block < std::min(values.size(), group + 16'384); block += 64) {
      const double scale = std::ceil(largest(block, 64) / most * 255) / 255 * most;
      for (size_t i = block; i < std::min(values.size(), block + 64); ++i) {
        double error = std::numeric_limits<double>::max();
        for (const double level : kPublished) {
          error = std::min(error, std::abs(level * scale - values[i]));
        }
        EXPECT_NEAR(std::abs(double{decoded[i]} - values[i]), error, 1e-4 * scale) << i;
      }
    }
  }
}

TEST(Nf4, TakesLittleMoreThanFourBits) {
  const auto quantiser = QuantiserOf("nf4");
  EXPECT_EQ(quantiser->SegmentBytes(int64_t{1} << 30, 0),
            (int64_t{1} << 26) * 33 / 4 + (int64_t{1} << 18));  // 4.127 bits
  EXPECT_EQ(quantiser->SegmentBytes(1, 0), 4 + 1 + 1);
  EXPECT_EQ(quantiser->SegmentBytes(65, 0), 4 + 2 + 33);
  EXPECT_EQ(quantiser->SegmentBytes(16'385, 0), 8 + 257 + 8193);
  EXPECT_EQ(quantiser->SegmentBytes(0, 0), 0);
}

// On normal values it errs less than integers and floats of as many bits.
TEST(Nf4, SuitsNormalValues) {
  const auto values = test::Normals(1 << 16, 9);
  const double energy = test::SquaredNorm(values);
  const double error = QuantiserOf("nf4")->SquaredError(values, 0) / energy;
  EXPECT_LT(error, QuantiserOf("int:bucket=64,range=narrow")->SquaredError(values, 4) / energy);
  EXPECT_LT(error, QuantiserOf("mx:format=e2m1")->SquaredError(values, 0) / energy);
}

TEST(Nf4, BlocksOfZerosAndOfTinyValuesVanish) {
  std::vector<float> values(256, 0.0f);
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("nf4"), values, 0), values);
  values[3] = -1e-42f;
  EXPECT_EQ(test::RoundTrip(*QuantiserOf("nf4"), values, 0), std::vector<float>(256, 0.0f));
  values[100] = 3e38f;
  const auto decoded = test::RoundTrip(*QuantiserOf("nf4"), values, 0);
  EXPECT_EQ(decoded[100], 3e38f);
  EXPECT_EQ(std::ranges::count(decoded, 0.0f), 255);
}

TEST(Nf4, RefusesWhatNoEncoderWrites) {
  const auto quantiser = QuantiserOf("nf4");
  std::vector<float> values = test::Normals(130, 2);
  std::fill_n(values.begin(), 64, 0.0f);
  const Bytes good = test::EncodeSegment(*quantiser, values, 0);
  EXPECT_NO_THROW(quantiser->Decode(good, 0, values));
  const auto refuses = [&](size_t at, uint8_t byte) {
    Bytes bad = good;
    bad[at] = std::byte{byte};
    EXPECT_THROW(quantiser->Decode(bad, 0, values), Error) << at;
  };
  refuses(3, 0xFF);  // the group's scale is not finite
  refuses(7, 0x78);  // the first block has no scale
  const size_t largest = std::to_integer<int>(good[5]) == 255 ? 5 : 6;
  refuses(largest, 254);  // no block has the group's largest magnitude
  EXPECT_THROW(quantiser->Decode(ByteSpan(good).first(good.size() - 1), 0, values), Error);
  EXPECT_THROW(QuantiserOf("nf4:block=32"), Error);
}

}  // namespace
}  // namespace legacy::nf4_test
