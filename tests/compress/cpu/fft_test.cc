#include "compress/cpu/fft.h"

#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "compress/cpu/spectrum.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::fft_test {
namespace {

using Coefficients = std::vector<std::complex<double>>;

// Computes the transform by its definition.
Coefficients Slow(std::span<const float> x) {
  const size_t n = x.size();
  Coefficients bins(n / 2 + 1);
  for (size_t k = 0; k < bins.size(); ++k) {
    for (size_t j = 0; j < n; ++j) {
      const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
      bins[k] += double{x[j]} * std::polar(1.0, -2 * std::numbers::pi * turn);
    }
    bins[k] /= std::sqrt(static_cast<double>(n));
  }
  return bins;
}

struct Result {
  explicit Result(const RealFft& fft)
      : re(fft.bins()), im(fft.bins()), back(fft.length()), scratch(fft.scratch_size()) {}
  std::vector<float> re, im, back, scratch;
};

Result Both(const RealFft& fft, const std::vector<float>& x) {
  Result result(fft);
  fft.Forward(x.data(), result.re.data(), result.im.data(), result.scratch.data());
  fft.Inverse(result.re.data(), result.im.data(), result.back.data(), result.scratch.data());
  return result;
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

std::vector<int64_t> Lengths() {
  std::vector<int64_t> lengths = {97, 100, 127, 128, 256, 512, 1000, 1024, 2048, 4096};
  for (int64_t n = 1; n <= 67; ++n) lengths.push_back(n);
  return lengths;
}

TEST(RealFft, EqualsTheDefinitionAndComesBack) {
  for (const int64_t n : Lengths()) {
    const auto x = test::Normals(n, n);
    const Result result = Both(RealFft(n), x);
    const Coefficients slow = Slow(x);
    double error = 0, round_trip = 0;
    for (size_t k = 0; k < slow.size(); ++k) {
      error += std::norm(slow[k] - std::complex<double>(result.re[k], result.im[k]));
    }
    for (int64_t j = 0; j < n; ++j) {
      round_trip += std::pow(double{x[j]} - result.back[j], 2);
    }
    EXPECT_LE(error, 9e-14 * Squared(x)) << n;  // relative 3e-7
    EXPECT_LE(round_trip, 9e-14 * Squared(x)) << n;
    EXPECT_EQ(result.im[0], 0);
    if (n % 2 == 0) {
      EXPECT_EQ(result.im[n / 2], 0) << n;
    }
  }
}

TEST(RealFft, TakesLongOnes) {
  const int64_t n = SpectrumPlan::kMostChunk;
  const RealFft fft(n);
  std::vector<float> x(n);
  for (int64_t j = 0; j < n; ++j) {
    x[j] = static_cast<float>(std::cos(2 * std::numbers::pi * (j * 12345 % n) / double(n)));
  }
  const Result result = Both(fft, x);
  EXPECT_NEAR(result.re[12345], std::sqrt(double(n)) / 2, 1e-3);
  EXPECT_NEAR(Squared(result.re) + Squared(result.im), n / 4.0, 1);
  for (int64_t j = 0; j < n; ++j) ASSERT_NEAR(result.back[j], x[j], 2e-6);
}

TEST(RealFft, SameBitsWithEveryInstructionSet) {
  for (const int64_t n : Lengths()) {
    const auto x = test::Normals(n, 3);
    const Result plain = Both(RealFft(n, Simd::kPlain), x);
    for (const Simd simd : UsableSimd()) {
      const Result other = Both(RealFft(n, simd), x);
      ASSERT_EQ(other.re, plain.re) << n << " " << SimdName(simd);
      ASSERT_EQ(other.im, plain.im) << n << " " << SimdName(simd);
      ASSERT_EQ(other.back, plain.back) << n << " " << SimdName(simd);
    }
  }
}

struct Bins {
  Bins(const SpectrumPlan& plan, std::span<const float> x)
      : re(plan.Bins(x.size())), im(re.size()), power(re.size()) {
    plan.Forward(x, 1, re.data(), im.data(), power.data());
  }
  std::vector<float> Interleaved() const {
    std::vector<float> both;
    for (size_t i = 0; i < re.size(); ++i) both.insert(both.end(), {re[i], im[i]});
    return both;
  }
  std::vector<float> re, im, power;
};

std::vector<uint32_t> All(size_t n) {
  std::vector<uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0u);
  return positions;
}

// Nothing is padded: a tail is split into powers of two, which have bins of their own.
TEST(SpectrumPlan, CountsBinsOfPieces) {
  const SpectrumPlan plan(256);
  EXPECT_EQ(plan.Bins(0), 0);
  EXPECT_EQ(plan.Bins(1), 1);
  EXPECT_EQ(plan.Bins(2), 2);
  EXPECT_EQ(plan.Bins(31), 16);
  EXPECT_EQ(plan.Bins(32), 17);
  EXPECT_EQ(plan.Bins(256), 129);
  EXPECT_EQ(plan.Bins(3 * 256 + 128 + 32 + 7), 3 * 129 + 65 + 17 + 4);
  for (int64_t n = 1; n < 1000; ++n) ASSERT_LE(plan.Bins(n), n);
}

TEST(SpectrumPlan, ParsevalAndRoundTripAtEveryLength) {
  const SpectrumPlan plan(64);
  for (int64_t n = 0; n <= 300; ++n) {
    const auto x = test::Normals(n, n + 1);
    const Bins bins(plan, x);
    double power = 0;
    for (const float p : bins.power) power += p;
    ASSERT_NEAR(power, Squared(x), 1e-6 * Squared(x)) << n;
    const auto positions = All(bins.re.size());
    const auto weights = plan.Weights(n, positions);
    for (size_t i = 0; i < weights.size(); ++i) {
      const double squared = double{bins.re[i]} * bins.re[i] + double{bins.im[i]} * bins.im[i];
      ASSERT_NEAR(bins.power[i], weights[i] * squared, 1e-5 * squared) << n << " " << i;
    }
    std::vector<float> sum(n, 1.0f);
    plan.InverseAdd(positions, bins.Interleaved(), sum);
    for (int64_t j = 0; j < n; ++j) ASSERT_NEAR(sum[j], x[j] + 1, 2e-6) << n;
  }
}

// One inverse of added spectra is the sum of the inverses, so that workers could be added in either
// domain.
TEST(SpectrumPlan, IsLinear) {
  const SpectrumPlan plan(128);
  const int64_t n = 128 * 2 + 64 + 5;
  const auto x = test::Normals(n, 1), y = test::Normals(n, 2);
  const auto spectrum_x = Bins(plan, x).Interleaved(), spectrum_y = Bins(plan, y).Interleaved();
  auto added = spectrum_x;
  for (size_t i = 0; i < added.size(); ++i) added[i] += spectrum_y[i];
  const auto positions = All(added.size() / 2);
  std::vector<float> apart(n), together(n);
  plan.InverseAdd(positions, spectrum_x, apart);
  plan.InverseAdd(positions, spectrum_y, apart);
  plan.InverseAdd(positions, added, together);
  for (int64_t j = 0; j < n; ++j) ASSERT_NEAR(together[j], apart[j], 4e-6);
}

}  // namespace
}  // namespace legacy::cpu::fft_test