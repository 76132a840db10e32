// qsgd and maxmin: exact bytes, lengths, bounds, hostile segments, Elias coding.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/cpu/elias.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::qsgd_test {
namespace {

using test::QuantiserOf;

// The values lie on levels, so that no draw moves them: 3 bits, s = 3, codes level + 3.
TEST(Qsgd, KnownBytes) {
  const auto quantiser = QuantiserOf("qsgd");
  const std::vector<float> values = {3, -3, 0, -0.0f, 1, -2, 2, -1, 3};
  Bytes expected;
  test::AppendFloat(3, expected);
  // Codes 6 0 3 3 4 1 5 2 6, from the lowest bit: 011 000 110 110 001 100 101 010 011.
  for (const int byte : {0b11000110, 0b11000110, 0b01010100, 0b00000110}) {
    expected.push_back(static_cast<std::byte>(byte));
  }
  const auto decoded = test::RoundTrip(*quantiser, values, 3);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(decoded[i], values[i]);
  EXPECT_EQ(test::EncodeSegment(*quantiser, values, 3), expected);
}

// The number of levels that fills its bits gives the same message as those bits; others take as
// many bits as they need.
TEST(Qsgd, LevelsOfAnyNumber) {
  const auto values = test::Normals(1000, 3);
  EXPECT_EQ(test::EncodeSegment(*QuantiserOf("qsgd:levels=7"), values, 7),
            test::EncodeSegment(*QuantiserOf("qsgd"), values, 4));
  const auto five = QuantiserOf("qsgd:levels=5");
  EXPECT_EQ(five->Parameter().name, "levels");
  EXPECT_EQ(five->Parameter().fallback, 5);
  EXPECT_EQ(five->SegmentBytes(1000, 5), 4 * 2 + 500);  // 11 codes
  EXPECT_EQ(five->SegmentBytes(1000, 1), 4 * 2 + 250);  // 3 codes
  EXPECT_EQ(five->SegmentBytes(1000, 127), 4 * 2 + 1000);
  const std::vector<float> levels = {5, -4, 0, 1, -2, 3, -5};
  EXPECT_EQ(test::RoundTrip(*five, levels, 5), levels);
  Bytes segment = test::EncodeSegment(*five, std::vector<float>{5, 0}, 5);
  segment.back() |= std::byte{0x0F};  // code 15
  std::vector<float> decoded(2);
  EXPECT_THROW(five->Decode(segment, 5, decoded), Error);
  EXPECT_THROW(QuantiserOf("qsgd:levels=256"), Error);
  EXPECT_THROW(QuantiserOf("qsgd:levels=128,code=elias"), Error);
}

// LEGACY's QSGD: 255 levels of the norm of the whole unit, which is longer than any bucket. A
// message is one norm and 9 bits a value.
TEST(Qsgd, LevelsOfTheUnitsNorm) {
  constexpr int kLevels = 255;
  const auto quantiser = QuantiserOf("qsgd:levels=255,norm=l2,bucket=unit");
  const int64_t n = (1 << 20) + 77;
  auto values = test::Normals(n, 5);
  values[n - 1] = 4000;  // so that many levels are used
  EXPECT_EQ(quantiser->SegmentBytes(n, kLevels), 4 + (9 * n + 7) / 8);
  const double norm = std::sqrt(test::SquaredNorm(values));
  const auto decoded = test::RoundTrip(*quantiser, values, kLevels);
  for (int64_t i = 0; i < n; ++i) {
    const double level = std::abs(values[i]) / norm * kLevels;
    const double sent = decoded[i] / norm * kLevels;
    ASSERT_NEAR(sent, std::round(sent), 1e-3) << i;
    ASSERT_LE(std::abs(sent - std::copysign(level, values[i])), 1 + 1e-3) << i;
  }
  // Rounding up is as frequent as the value is near the upper level.
  const std::vector<float> few = {0.3f, -0.7f, 2.0f, -5.25f, 0.0f};
  const double scale = std::sqrt(test::SquaredNorm(few)) / kLevels;
  constexpr int kDraws = 20000;
  std::vector<double> sums(few.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto once = test::RoundTrip(*quantiser, few, kLevels, static_cast<uint64_t>(draw));
    for (size_t i = 0; i < few.size(); ++i) sums[i] += once[i];
  }
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_NEAR(sums[i] / kDraws, few[i], 4 * 0.5 * scale / std::sqrt(kDraws)) << i;
  }
  Bytes segment = test::EncodeSegment(*quantiser, std::vector<float>{1, 0}, kLevels);
  std::vector<float> back(2);
  quantiser->Decode(segment, kLevels, back);
  EXPECT_FLOAT_EQ(back[0], 1);
  EXPECT_EQ(back[1], 0);
  segment[segment.size() - 2] |= std::byte{0xFF};  // code 511 of the first value or the second
  segment[segment.size() - 3] |= std::byte{0xFF};
  EXPECT_THROW(quantiser->Decode(segment, kLevels, back), Error);
}

TEST(MaxMin, KnownBytes) {
  const auto quantiser = QuantiserOf("maxmin");
  const std::vector<float> values = {-1, 2, 0, 1, 0.4f, -0.6f};
  Bytes expected;
  test::AppendFloat(-1, expected);
  test::AppendFloat(2, expected);
  expected.push_back(static_cast<std::byte>(0b10011100));  // 0 3 1 2
  expected.push_back(static_cast<std::byte>(0b00000001));  // 1 0
  EXPECT_EQ(test::EncodeSegment(*quantiser, values, 2), expected);
  const auto decoded = test::RoundTrip(*quantiser, values, 2);
  const std::vector<float> levels = {-1, 2, 0, 1, 0, -1};
  for (size_t i = 0; i < levels.size(); ++i) EXPECT_NEAR(decoded[i], levels[i], 1e-6);
}

// ResNet-18 for CIFAR-10 has 11,173,962 parameters. Of these, 9,610 are in vectors, which are sent
// uncompressed; headers are not counted.
TEST(Qsgd, Ratios) {
  constexpr int64_t kNumel = 11173962, kVectors = 9610;
  const auto ratio = [](const char* text, double bits) {
    const int64_t matrices = *QuantiserOf(text)->SegmentBytes(kNumel - kVectors, bits);
    return 4.0 * kNumel / static_cast<double>(matrices + 4 * kVectors);
  };
  EXPECT_NEAR(ratio("qsgd:bucket=128", 2), 14.1, 0.05);
  EXPECT_NEAR(ratio("qsgd:bucket=128", 4), 7.5, 0.05);
  EXPECT_NEAR(ratio("qsgd", 4), 7.8, 0.05);
  EXPECT_NEAR(ratio("qsgd", 8), 3.96, 0.005);
  EXPECT_EQ(QuantiserOf("sign")->SegmentBytes(kNumel, 0), (kNumel + 7) / 8 + 4);
  EXPECT_EQ(QuantiserOf("onebit")->SegmentBytes(kNumel, 0), (kNumel + 7) / 8 + 8);
  EXPECT_EQ(QuantiserOf("terngrad")->SegmentBytes(kNumel, 0), (kNumel * 2 + 7) / 8 + 4);
  EXPECT_EQ(QuantiserOf("qsgd")->SegmentBytes(kNumel, 4), (kNumel * 4 + 7) / 8 + 4 * 21825);
  EXPECT_EQ(QuantiserOf("maxmin")->SegmentBytes(kNumel, 4), (kNumel * 4 + 7) / 8 + 8 * 21825);
}

// With the Euclidean norm, E||x - Q(x)||^2 <= min(B / s^2, sqrt(B) / s) ||x||^2.
TEST(Qsgd, VarianceBound) {
  for (const double bits : {2, 3, 4, 5, 8}) {
    const double levels = std::pow(2, bits - 1) - 1;
    const auto quantiser = QuantiserOf("qsgd:norm=l2,bucket=128");
    const double factor = std::min(128 / (levels * levels), std::sqrt(128.0) / levels);
    for (const auto& values : test::HardInputs(128)) {
      EXPECT_LE(quantiser->SquaredError(values, bits), factor * test::SquaredNorm(values));
    }
    // Equal values are the worst case of the derivation: sqrt(B) / s - 1 if they are below half a
    // step.
    const std::vector<float> equal(128, 0.3f);
    if (4 * levels * levels <= 128) {
      EXPECT_NEAR(quantiser->SquaredError(equal, bits) / test::SquaredNorm(equal),
                  std::sqrt(128.0) / levels - 1, 1e-5);
    }
  }
}

// Factors are E||x - Q(x)||^2 / ||x||^2 of normally distributed values.
TEST(Qsgd, FactorsOfNormalValues) {
  const auto values = test::Normals(1 << 17, 8);
  const auto factor = [&](const char* text, double bits) {
    return QuantiserOf(text)->SquaredError(values, bits) / test::SquaredNorm(values);
  };
  EXPECT_NEAR(factor("qsgd:norm=l2", 4), 1.58, 0.02);
  EXPECT_NEAR(factor("qsgd:norm=l2,bucket=1024", 4), 2.64, 0.03);
  EXPECT_NEAR(factor("qsgd:norm=l2,bucket=128", 4), 0.435, 0.01);
  EXPECT_NEAR(factor("qsgd:norm=l2,bucket=128", 3), 2.01, 0.03);
  EXPECT_NEAR(factor("qsgd:norm=l2,bucket=128", 2), 8.04, 0.1);
  EXPECT_NEAR(factor("qsgd", 4), 0.036, 0.002);
  EXPECT_NEAR(factor("qsgd:bucket=128", 2), 1.26, 0.03);
}

// No error is above half a step, and the extremes are exact.
TEST(MaxMin, ErrorIsAtMostHalfAStep) {
  for (const int bits : {1, 2, 3, 4, 5, 8}) {
    for (const int64_t n : {1, 2, 33, 600}) {
      for (const auto& values : test::HardInputs(n)) {
        const auto decoded = test::RoundTrip(*QuantiserOf("maxmin"), values, bits);
        for (int64_t begin = 0; begin < n; begin += 512) {
          const auto end = std::min<int64_t>(n, begin + 512);
          const auto [low, high] = std::minmax_element(&values[begin], &values[0] + end);
          const double step = (double{*high} - *low) / ((1 << bits) - 1);
          const double rounding = 1e-6 * std::max(std::abs(*low), std::abs(*high)) + 1e-44;
          for (int64_t i = begin; i < end; ++i) {
            ASSERT_LE(std::abs(double{values[i]} - decoded[i]), step / 2 + rounding);
          }
          ASSERT_EQ(decoded[low - values.data()], *low);
          ASSERT_EQ(decoded[high - values.data()], *high);
        }
      }
    }
  }
}

TEST(Bucketed, ExtremeMagnitudes) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  for (const char* text : {"qsgd", "qsgd:norm=l2", "maxmin", "maxmin:rounding=stochastic"}) {
    for (const double bits : {2, 4, 8}) {
      for (const float scale : {kLargest, 1e-37f, 1e-40f}) {
        auto values = test::Normals(512, 9);
        const float most =
            std::abs(*std::ranges::max_element(values, {}, [](float x) { return std::abs(x); }));
        for (float& x : values) x = x / most * scale;
        const auto decoded = test::RoundTrip(*QuantiserOf(text), values, bits);
        const double error = QuantiserOf(text)->SquaredError(values, bits);
        EXPECT_LE(test::SquaredDistance(values, decoded), 2 * error + 512 * kLeast)
            << text << scale;
      }
    }
    const std::vector<float> opposite = {kLargest, -kLargest, 0, kLeast};
    const auto decoded = test::RoundTrip(*QuantiserOf(text), opposite, 8);
    EXPECT_NEAR(decoded[0] / kLargest, 1, 0.3) << text;
    EXPECT_NEAR(decoded[1] / kLargest, -1, 0.3) << text;
  }
}

void ExpectRefused(const char* text, double bits, const Bytes& segment, int64_t n) {
  std::vector<float> values(n);
  EXPECT_THROW(QuantiserOf(text)->Decode(segment, bits, values), Error) << text;
}

TEST(Bucketed, MalformedSegments) {
  const auto with_scale = [](float scale, std::initializer_list<int> codes) {
    Bytes segment;
    test::AppendFloat(scale, segment);
    for (const int code : codes) segment.push_back(static_cast<std::byte>(code));
    return segment;
  };
  ExpectRefused("qsgd", 4, with_scale(1, {0x7F}), 2);     // 15 > 2 s = 14
  ExpectRefused("qsgd", 4, with_scale(1, {0x17}), 1);     // padding
  ExpectRefused("qsgd", 4, with_scale(0, {0x78}), 2);     // level 1 of norm 0
  ExpectRefused("qsgd", 4, with_scale(1, {0x77, 0}), 2);  // longer
  ExpectRefused("qsgd", 4, with_scale(1, {}), 2);         // shorter
  for (const float bad : {-1.0f, -0.0f, std::nanf(""), INFINITY}) {
    ExpectRefused("qsgd", 4, with_scale(bad, {0x77}), 2);
    ExpectRefused("qsgd:code=elias", 4, with_scale(bad, {0b0110}),
                  2);  // gamma(3): no level in two values
  }
  std::vector<float> values(2, 1);
  QuantiserOf("qsgd")->Decode(with_scale(1, {0x77}), 4, values);
  EXPECT_EQ(values, std::vector<float>(2));

  Bytes reversed = with_scale(2, {});
  test::AppendFloat(1, reversed);
  reversed.push_back(std::byte{0});
  ExpectRefused("maxmin", 4, reversed, 2);
  Bytes flat = with_scale(2, {});
  test::AppendFloat(2, flat);
  flat.push_back(std::byte{1});
  ExpectRefused("maxmin", 4, flat, 2);
}

TEST(Elias, KnownBits) {
  // Levels 0 2 -1 0 0 are gamma(2) + gamma(2), gamma(1) - gamma(1), gamma(3), from the lowest bit:
  // 010 0 010, 1 1 1, 011.
  const std::vector<uint8_t> codes = {7, 9, 6, 7, 7};
  Bytes out;
  cpu::WriteElias(codes, 7, out);
  EXPECT_EQ(out, (Bytes{std::byte{0b10100010}, std::byte{0b00011011}}));
  std::vector<uint8_t> back(5);
  cpu::ReadElias(out, 7, back);
  EXPECT_EQ(back, codes);
}

TEST(Elias, RoundTripAndOneStreamEach) {
  RandomStream stream({.seed = 41});
  for (int round = 0; round < 400; ++round) {
    const int levels = 1 + static_cast<int>(stream.Below(127));
    std::vector<uint8_t> codes(stream.Below(200));
    const uint32_t sparsity = 1 + stream.Below(40);
    for (uint8_t& code : codes) {
      code = static_cast<uint8_t>(stream.Below(sparsity) == 0 ? stream.Below(2 * levels + 1)
                                                              : static_cast<uint32_t>(levels));
    }
    Bytes out;
    cpu::WriteElias(codes, levels, out);
    std::vector<uint8_t> back(codes.size());
    cpu::ReadElias(out, levels, back);
    ASSERT_EQ(back, codes);
    // Other bytes that are accepted must be the stream of other codes.
    if (out.empty()) continue;
    out[stream.Below(static_cast<uint32_t>(out.size()))] ^=
        static_cast<std::byte>(1 << stream.Below(8));
    try {
      cpu::ReadElias(out, levels, back);
    } catch (const Error&) {
      continue;
    }
    Bytes again;
    cpu::WriteElias(back, levels, again);
    ASSERT_EQ(again, out);
  }
}

// Bits per normally distributed value, norms included.
TEST(Elias, Lengths) {
  const auto values = test::Normals(1 << 17, 10);
  const auto bits_of = [&](const char* text, double bits) {
    const auto segment = test::EncodeSegment(*QuantiserOf(text), values, bits);
    return 8.0 * static_cast<double>(segment.size()) / static_cast<double>(values.size());
  };
  EXPECT_NEAR(bits_of("qsgd:code=elias,norm=l2", 4), 1.44, 0.03);
  EXPECT_NEAR(bits_of("qsgd:code=elias,norm=l2", 5), 2.25, 0.03);
  EXPECT_NEAR(bits_of("qsgd:code=elias,norm=l2", 8), 6.0, 0.06);
  EXPECT_NEAR(bits_of("qsgd:code=elias", 4), 4.03, 0.06);
  EXPECT_NEAR(bits_of("qsgd", 4), 4.06, 0.01);
}

// The draws are the same, and so are the values.
TEST(Elias, SameValuesAsFixedWidth) {
  for (const int64_t n : {0, 1, 700}) {
    for (const auto& values : test::HardInputs(n)) {
      EXPECT_EQ(test::RoundTrip(*QuantiserOf("qsgd:code=elias"), values, 4),
                test::RoundTrip(*QuantiserOf("qsgd"), values, 4));
    }
  }
}

}  // namespace
}  // namespace legacy::qsgd_test