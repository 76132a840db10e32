#include "compress/cpu/cast.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "tests/compress/test_data.h"

namespace legacy::cast_test {
namespace {

// Decodes a half by the definition of IEEE 754, in double precision.
double SlowHalfToFloat(int half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

// Finds the nearest finite half, with an even mantissa on ties, by search over all of them.
uint16_t SlowFloatToHalf(float x) {
  int low = 0, high = 0x7BFF;
  const double magnitude = std::abs(static_cast<double>(x));
  while (low < high) {  // finds the largest half not above |x|
    const int middle = (low + high + 1) / 2;
    if (SlowHalfToFloat(middle) <= magnitude) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  int nearest = low;
  if (low < 0x7BFF) {
    const double down = magnitude - SlowHalfToFloat(low);
    const double up = SlowHalfToFloat(low + 1) - magnitude;
    if (up < down || (up == down && low % 2 == 1)) ++nearest;
  }
  return static_cast<uint16_t>(nearest | (std::signbit(x) ? 0x8000 : 0));
}

// Returns every half, values between neighbours, and values outside of the range.
std::vector<float> Probes() {
  std::vector<float> probes;
  for (int half = 0; half < 0x7BFF; ++half) {
    const double a = SlowHalfToFloat(half), b = SlowHalfToFloat(half + 1);
    const auto middle = static_cast<float>((a + b) / 2);
    for (const float x : {static_cast<float>(a), middle, std::nextafter(middle, 0.0f),
                          std::nextafter(middle, 1e9f)}) {
      probes.push_back(half % 2 ? x : -x);
    }
  }
  for (const float x : {65504.0f, 65519.0f, 65520.0f, 1e30f, std::numeric_limits<float>::max(),
                        std::numeric_limits<float>::denorm_min(), 0x1p-25f, 0x1.000002p-25f}) {
    probes.push_back(x);
    probes.push_back(-x);
  }
  return probes;
}

TEST(Half, DecodesEveryFiniteHalfExactly) {
  for (int half = 0; half < 0x10000; ++half) {
    if ((half & 0x7C00) == 0x7C00) continue;
    const float decoded = cpu::HalfToFloat(static_cast<uint16_t>(half));
    ASSERT_EQ(decoded, SlowHalfToFloat(half)) << half;
    ASSERT_EQ(std::signbit(decoded), half >= 0x8000) << half;
  }
  EXPECT_TRUE(std::isinf(cpu::HalfToFloat(0x7C00)));
  EXPECT_TRUE(std::isnan(cpu::HalfToFloat(0x7C01)));
}

TEST(Half, RoundsToNearestEvenAndSaturates) {
  for (const float x : Probes()) ASSERT_EQ(cpu::FloatToHalf(x), SlowFloatToHalf(x)) << x;
  EXPECT_EQ(cpu::FloatToHalf(std::numeric_limits<float>::infinity()), 0x7BFF);
}

TEST(Half, ArraysGiveTheBitsOfTheScalarForm) {
  auto probes = Probes();
  probes.resize(probes.size() - probes.size() % 8 + 5);  // a tail that fills no register
  std::vector<std::byte> encoded(2 * probes.size());
  cpu::EncodeHalf(probes, encoded);
  std::vector<float> decoded(probes.size());
  cpu::DecodeHalf(encoded, decoded);
  for (size_t i = 0; i < probes.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, encoded.data() + 2 * i, 2);
    ASSERT_EQ(half, cpu::FloatToHalf(probes[i])) << probes[i];
    ASSERT_EQ(std::bit_cast<uint32_t>(decoded[i]), std::bit_cast<uint32_t>(cpu::HalfToFloat(half)));
  }
}

// Decodes a bfloat16 by its definition: a sign, 8 bits of exponent, 7 of mantissa.
double SlowBfloat16ToFloat(int bits) {
  const int exponent = bits >> 7 & 255;
  const int mantissa = bits & 127;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -133) : std::ldexp(128 + mantissa, exponent - 134);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Returns the nearest finite bfloat16, with an even mantissa on ties; infinities count as huge
// numbers.
uint16_t SlowFloatToBfloat16(float x) {
  constexpr int kLargest = 0x7F7F;
  const int below = static_cast<int>(std::bit_cast<uint32_t>(x) >> 16 & 0x7FFF);
  int nearest = std::min(below, kLargest);
  if (below < kLargest) {
    const double magnitude = std::abs(static_cast<double>(x));
    const double down = magnitude - SlowBfloat16ToFloat(below);
    const double up = SlowBfloat16ToFloat(below + 1) - magnitude;
    if (up < down || (up == down && below % 2 == 1)) ++nearest;
  }
  return static_cast<uint16_t>(nearest | (std::signbit(x) ? 0x8000 : 0));
}

std::vector<uint16_t> EncodedBfloat16(std::span<const float> values, cpu::Simd simd) {
  std::vector<uint16_t> encoded(values.size());
  cpu::EncodeBfloat16(values, std::as_writable_bytes(std::span(encoded)), simd);
  return encoded;
}

TEST(Bfloat16, EveryImplementationDecodesEveryValueExactly) {
  std::vector<uint16_t> all(0x10000);
  std::iota(all.begin(), all.end(), uint16_t{0});
  for (const cpu::Simd simd : cpu::UsableSimd()) {
    std::vector<float> decoded(all.size());
    cpu::DecodeBfloat16(std::as_bytes(std::span(all)), decoded, simd);
    for (const uint16_t bits : all) {
      ASSERT_EQ(std::bit_cast<uint32_t>(decoded[bits]), uint32_t{bits} << 16) << bits;
      ASSERT_EQ(std::bit_cast<uint32_t>(cpu::Bfloat16ToFloat(bits)), uint32_t{bits} << 16) << bits;
      if ((bits & 0x7F80) == 0x7F80) continue;  // infinity, NaN
      ASSERT_EQ(decoded[bits], SlowBfloat16ToFloat(bits)) << bits;
    }
  }
}

TEST(Bfloat16, EveryImplementationRoundsToNearestEvenAndSaturates) {
  std::vector<float> probes;  // every upper half, with values at, around and between neighbours
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t lower : {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF}) {
      probes.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  probes.resize(probes.size() - 3);  // a tail that fills no register
  for (const cpu::Simd simd : cpu::UsableSimd()) {
    const auto encoded = EncodedBfloat16(probes, simd);
    for (size_t i = 0; i < probes.size(); ++i) {
      ASSERT_EQ(encoded[i], cpu::FloatToBfloat16(probes[i])) << probes[i];
      if (std::isnan(probes[i])) continue;
      ASSERT_EQ(encoded[i], SlowFloatToBfloat16(probes[i])) << probes[i];
    }
  }
}

TEST(Bfloat16, EveryImplementationStopsAtTheEnd) {
  for (const cpu::Simd simd : cpu::UsableSimd()) {
    for (const size_t n : {0, 1, 7, 31, 32, 33, 65, 100}) {
      const auto values = test::Normals(static_cast<int64_t>(n), 4);
      auto encoded = EncodedBfloat16(values, simd);
      std::vector<float> decoded(n + 1, 3.0f);
      cpu::DecodeBfloat16(std::as_bytes(std::span(encoded)), std::span(decoded).first(n), simd);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(encoded[i], SlowFloatToBfloat16(values[i])) << n;
        ASSERT_EQ(decoded[i], SlowBfloat16ToFloat(encoded[i])) << n;
      }
      ASSERT_EQ(decoded[n], 3.0f) << n;
    }
  }
}

}  // namespace
}  // namespace legacy::cast_test