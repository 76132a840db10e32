#include "compress/cpu/rotation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "compress/cpu/lloyd_max.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::rotation_test {
namespace {

// Follows the definition H[i][j] = (-1)^popcount(i & j).
std::vector<double> Defined(std::span<const float> x) {
  std::vector<double> y(x.size());
  for (uint32_t i = 0; i < x.size(); ++i) {
    for (uint32_t j = 0; j < x.size(); ++j) y[i] += std::popcount(i & j) % 2 ? -x[j] : x[j];
  }
  return y;
}

// Computes one stage after the other in fp32.
void Stages(std::vector<float>& x) {
  for (size_t distance = 1; distance < x.size(); distance *= 2) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (i & distance) continue;
      const float a = x[i], b = x[i + distance];
      x[i] = a + b;
      x[i + distance] = a - b;
    }
  }
}

TEST(Hadamard, IsThatOfItsDefinition) {
  for (int64_t n = 1; n <= 1024; n *= 2) {
    const auto x = test::Normals(n, n);
    auto y = x;
    Hadamard(y);
    const auto expected = Defined(x);
    for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(y[i], expected[i], 1e-5 * std::sqrt(n)) << n;
  }
}

TEST(Hadamard, HasTheSameBitsForEveryInstructionSet) {
  for (int64_t n = 1; n <= Rotation::kMostBlock; n *= 2) {
    const auto x = test::Normals(n, n);
    auto expected = x;
    Stages(expected);
    for (const Simd simd : UsableSimd()) {
      auto y = x;
      Hadamard(y, simd);
      ASSERT_TRUE(test::SameBits(y, expected)) << n << " " << SimdName(simd);
    }
  }
}

std::vector<float> Rotated(const Rotation& rotation, std::span<const float> x,
                           Simd simd = ActiveSimd()) {
  std::vector<float> y(x.size());
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    rotation.Forward(x.subspan(begin, length), begin, 1.0f, std::span(y).subspan(begin, length),
                     simd);
  });
  return y;
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

TEST(Rotation, IsOrthonormalAndReturns) {
  for (const int64_t block : {1, 4, 64, 8192}) {
    for (const int64_t n : {0, 1, 2, 3, 31, 33, 100, 8191, 8193, 20000}) {
      const Rotation rotation(RotationKey({.seed = 5, .step = 2, .worker = 7, .layer = 1}), n,
                              block);
      const auto x = test::Normals(n, n + block);
      const auto y = Rotated(rotation, x);
      EXPECT_NEAR(Squared(y), Squared(x), 1e-5 * Squared(x)) << n << " " << block;
      auto back = y;
      rotation.ForEachPiece([&](int64_t begin, int64_t length) {
        rotation.Back(std::span(back).subspan(begin, length), begin);
      });
      for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(back[i], x[i], 1e-5) << n << " " << block;
      for (const Simd simd : UsableSimd()) {
        ASSERT_TRUE(test::SameBits(Rotated(rotation, x, simd), y)) << n << " " << block;
      }
    }
  }
}

TEST(Rotation, CoversBlocksAndThenPowersOfTwo) {
  const Rotation rotation(RandomKey{}, 100 + 64, 64);
  std::vector<int64_t> lengths;
  int64_t next = 0;
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    EXPECT_EQ(begin, next);
    next += length;
    lengths.push_back(length);
  });
  EXPECT_EQ(lengths, (std::vector<int64_t>{64, 64, 32, 4}));
}

// Signs that an independent program has drawn. They have purpose 15; those of the toolkit have
// kRotation.
TEST(Rotation, DrawsItsSignsFromTheStreamOfItsKey) {
  struct Drawn {
    uint64_t seed, step;
    uint32_t layer;
    const char* minus;
  };
  const Drawn drawn[] = {
      {1, 0, 0, "1110111001101011011001011011001000111110"},
      {1, 7, 3, "0011000000010000100011111011010000001001100001100010011101100101"},
      {1099511627777, 8589934592, 9, "010011110111001001101010110010001"}};
  for (const auto& [seed, step, layer, minus] : drawn) {
    const std::vector<float> ones(std::strlen(minus), 1.0f);
    const RandomKey key = {.seed = seed,
                           .step = step,
                           .worker = 0,
                           .layer = layer,
                           .purpose = static_cast<Purpose>(15)};
    const auto y = Rotated(Rotation(key, std::ssize(ones), 1), ones);  // blocks of 1: signs alone
    for (size_t i = 0; i < ones.size(); ++i) ASSERT_EQ(y[i], minus[i] == '1' ? -1 : 1) << i;
  }
  const RandomKey shared = RotationKey({.seed = 3, .worker = 9, .purpose = Purpose::kStochastic});
  EXPECT_EQ(shared.worker, 0u);
  EXPECT_EQ(shared.purpose, Purpose::kRotation);
}

double Density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double Below(double x) { return std::erfc(-x / std::sqrt(2)) / 2; }

// Lloyd's iteration: each centroid becomes the mean of its cell.
TEST(NormalCentroids, AreThoseOfLloydsIteration) {
  for (int bits = 1; bits <= kMostNormalBits; ++bits) {
    const size_t count = size_t{1} << bits;
    std::vector<double> centroids(count);
    for (size_t i = 0; i < count; ++i) centroids[i] = (2.0 * i + 1 - count) / count * 2;
    for (int round = 0; round < 3000; ++round) {
      double low = -40;
      for (size_t i = 0; i < count; ++i) {
        const double high = i + 1 < count ? (centroids[i] + centroids[i + 1]) / 2 : 40;
        centroids[i] = (Density(low) - Density(high)) / (Below(high) - Below(low));
        low = high;
      }
    }
    for (size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(NormalCentroids(bits)[i], centroids[i], 1e-8) << bits;
    }
  }
}

TEST(NormalCentroids, CodesAreThoseOfTheNearest) {
  const auto values = test::Normals(777, 1);
  for (int bits = 1; bits <= kMostNormalBits; ++bits) {
    const auto centroids = NormalCentroids(bits);
    for (const Simd simd : UsableSimd()) {
      std::vector<uint8_t> codes(values.size());
      std::vector<float> decoded(values.size());
      EncodeNormal(values, bits, 1, codes, simd);
      DecodeNormal(codes, bits, 2.0f, decoded, simd);
      for (size_t i = 0; i < values.size(); ++i) {
        size_t nearest = 0;
        for (size_t c = 1; c < centroids.size(); ++c) {
          if (std::abs(values[i] - centroids[c]) < std::abs(values[i] - centroids[nearest])) {
            nearest = c;
          }
        }
        ASSERT_EQ(codes[i], nearest);
        ASSERT_EQ(decoded[i], 2 * static_cast<float>(centroids[nearest]));
      }
    }
  }
}

}  // namespace
}  // namespace legacy::cpu::rotation_test
