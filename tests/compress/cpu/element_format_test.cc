#include "compress/cpu/element_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "compress/quantisers/rules.h"
#include "tests/compress/test_data.h"

namespace legacy::element_format_test {
namespace {

using cpu::ElementRule;

struct Format {
  const char* name;
  ElementFormat format;
  int exponent_bits, mantissa_bits, bias, emax;
  double largest, normal, least;
};

// The table of the specifications.
constexpr Format kFormats[] = {
    {"e4m3", ElementFormat::kE4M3, 4, 3, 7, 8, 448, 0x1p-6, 0x1p-9},
    {"e5m2", ElementFormat::kE5M2, 5, 2, 15, 15, 57344, 0x1p-14, 0x1p-16},
    {"e3m2", ElementFormat::kE3M2, 3, 2, 3, 4, 28, 0x1p-2, 0x1p-4},
    {"e2m3", ElementFormat::kE2M3, 2, 3, 1, 2, 7.5, 1, 0x1p-3},
    {"e2m1", ElementFormat::kE2M1, 2, 1, 1, 2, 6, 1, 0.5}};

// Returns the values of the magnitudes, up to the largest finite one, by their definition.
std::vector<double> Magnitudes(const Format& format) {
  std::vector<double> values;
  for (int code = 0;; ++code) {
    const int exponent = code >> format.mantissa_bits;
    const int mantissa = code & ((1 << format.mantissa_bits) - 1);
    const double fraction = std::ldexp(mantissa, -format.mantissa_bits);
    const double value = exponent == 0 ? std::ldexp(fraction, 1 - format.bias)
                                       : std::ldexp(1 + fraction, exponent - format.bias);
    if (value > format.largest) return values;
    values.push_back(value);
    if (value == format.largest) return values;
  }
}

// Finds the nearest magnitude by search; ties go to the even code.
uint32_t SlowCode(const Format& format, const std::vector<double>& magnitudes, double x) {
  size_t best = 0;
  const double magnitude = std::min(std::abs(x), format.largest);
  for (size_t code = 1; code < magnitudes.size(); ++code) {
    const double now = std::abs(magnitude - magnitudes[code]);
    const double before = std::abs(magnitude - magnitudes[best]);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  const uint32_t sign = std::signbit(x) ? 1 : 0;
  return static_cast<uint32_t>(best) | sign << (format.exponent_bits + format.mantissa_bits);
}

// Returns the values of all codes, all ties between neighbours with the floats next to them, and
// what saturates or vanishes.
std::vector<float> Probes(const std::vector<double>& magnitudes) {
  std::vector<double> probes = {0, 1e30, std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::denorm_min(), 0x1p-126};
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    probes.push_back(magnitudes[i]);
    const double next = i + 1 < magnitudes.size() ? magnitudes[i + 1] : 2 * magnitudes[i];
    probes.push_back((magnitudes[i] + next) / 2);
  }
  std::vector<float> values;
  for (const double probe : probes) {
    const auto x = static_cast<float>(probe);
    for (const float y : {x, std::nextafter(x, 0.0f), std::nextafter(x, 1e38f)}) {
      values.push_back(y);
      values.push_back(-y);
    }
  }
  return values;
}

TEST(ElementFormat, RulesAreThoseOfTheSpecifications) {
  for (const Format& format : kFormats) {
    const ElementRule rule = RuleOf(format.format, false);
    const std::vector<double> magnitudes = Magnitudes(format);
    EXPECT_EQ(rule.width, 1 + format.exponent_bits + format.mantissa_bits) << format.name;
    EXPECT_EQ(rule.emax, format.emax) << format.name;
    EXPECT_EQ(rule.largest, static_cast<int32_t>(magnitudes.size()) - 1) << format.name;
    EXPECT_EQ(magnitudes[1], format.least) << format.name;
    EXPECT_EQ(magnitudes[1 << format.mantissa_bits], format.normal) << format.name;
    EXPECT_EQ(magnitudes[rule.reaching], std::ldexp(1, format.emax)) << format.name;
    EXPECT_EQ(magnitudes[RuleOf(format.format, true).reaching], format.largest / 2) << format.name;
  }
}

// Every code and every scale has its exact value, and every finite code encodes to itself.
TEST(ElementFormat, CodesAreValuesTimesTheScale) {
  for (const Format& format : kFormats) {
    const ElementRule rule = RuleOf(format.format, false);
    const std::vector<double> magnitudes = Magnitudes(format);
    for (int scale = 0; scale <= rule.LargestScale(); ++scale) {
      const auto factors = ElementRule::FactorsOf(scale);
      for (uint32_t code = 0; code < 1u << rule.width; ++code) {
        if (rule.MagnitudeOf(code) > rule.largest) continue;
        const bool minus = code >> (rule.width - 1) != 0;
        const double value = std::ldexp(magnitudes[rule.MagnitudeOf(code)], scale - 127);
        const float decoded = rule.ValueOf(code, factors);
        ASSERT_EQ(decoded, minus ? -value : value) << format.name << " " << code << " " << scale;
        ASSERT_EQ(std::signbit(decoded), minus) << format.name << " " << code;
        ASSERT_EQ(rule.CodeOf(decoded, ElementRule::InverseOf(scale)), code)
            << format.name << " " << scale;
      }
    }
  }
}

TEST(ElementFormat, RoundsToTheNearestValue) {
  for (const Format& format : kFormats) {
    const ElementRule rule = RuleOf(format.format, false);
    const std::vector<double> magnitudes = Magnitudes(format);
    for (const float x : Probes(magnitudes)) {
      ASSERT_EQ(rule.CodeOf(x, 1), SlowCode(format, magnitudes, x)) << format.name << " " << x;
    }
    for (const float x : test::Normals(2000, 9)) {
      ASSERT_EQ(rule.CodeOf(x, 4), SlowCode(format, magnitudes, 4 * double{x})) << format.name;
    }
  }
}

// With `up` the scale is the least power of two with which nothing is clipped; otherwise that of
// the largest magnitude's exponent. Both are at least 2^-127, and leave all values finite.
TEST(ElementFormat, ScalesFollowTheLargestMagnitude) {
  for (const Format& format : kFormats) {
    for (const bool up : {false, true}) {
      const ElementRule rule = RuleOf(format.format, up);
      for (int exponent = -149; exponent < 128; ++exponent) {
        for (const double fraction : {1.0, 1.25, 1.5, 1.625, 1.75, 1.7500001, 1.875, 1.99}) {
          const auto x = static_cast<float>(std::ldexp(fraction, exponent));
          if (!std::isfinite(x) || x == 0) continue;
          int wanted = std::ilogb(x) - format.emax;
          if (up && std::ldexp(double{x}, -wanted) > format.largest) ++wanted;
          wanted = std::clamp(wanted, -127, 127 - format.emax);
          ASSERT_EQ(rule.ScaleOf(std::bit_cast<int32_t>(x)), wanted + 127) << format.name << x;
        }
      }
    }
  }
}

// Blocks of one length and of several, read from any value on, on every set of instructions.
TEST(ElementFormat, LoopsAreTheRuleOnEveryProcessor) {
  const auto values = test::Normals(3000, 7);
  for (const Format& format : kFormats) {
    const ElementRule rule = RuleOf(format.format, true);
    for (const int64_t block : {32, 96, 3000}) {
      for (const cpu::Simd simd : cpu::UsableSimd()) {
        std::vector<uint8_t> scales((values.size() + block - 1) / block);
        std::vector<uint8_t> codes(values.size());
        cpu::ScaleBlocks(rule, values, block, scales, simd);
        cpu::EncodeElements(rule, values, 0, block, scales.data(), codes, simd);
        std::vector<uint8_t> most(scales.size()), found(scales.size());
        for (size_t i = 0; i < values.size(); ++i) {
          const int32_t scale = scales[i / block];
          ASSERT_EQ(codes[i], rule.CodeOf(values[i], ElementRule::InverseOf(scale)));
          most[i / block] =
              std::max(most[i / block], static_cast<uint8_t>(rule.MagnitudeOf(codes[i])));
        }
        cpu::LargestMagnitudes(rule, codes, block, found, simd);
        EXPECT_EQ(found, most);
        std::vector<float> part(1000);
        constexpr int64_t kFirst = 40;
        cpu::DecodeElements(rule, std::span(codes).subspan(kFirst, part.size()), kFirst, block,
                            scales.data(), part, simd);
        for (size_t i = 0; i < part.size(); ++i) {
          const int64_t at = kFirst + static_cast<int64_t>(i);
          ASSERT_EQ(part[i], rule.ValueOf(codes[at], ElementRule::FactorsOf(scales[at / block])));
        }
      }
    }
  }
}

}  // namespace
}  // namespace legacy::element_format_test
