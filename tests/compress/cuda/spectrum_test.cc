#include "compress/cpu/spectrum.h"

#include <array>
#include <cmath>
#include <limits>

#include "compress/codecs/fft_codec.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/cuda/kernels/transforms/inverse_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum_kernels.h"
#include "compress/gradients/gradients.h"
#include "tests/compress/cuda/device_under_test.h"

namespace legacy::cuda::spectrum_test {
namespace {

using cpu::SpectrumPlan;

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float x : values) bits.push_back(std::bit_cast<uint32_t>(x));
  return bits;
}

// Kept bins of the units, one unit after the other.
struct Kept {
  std::vector<uint32_t> positions;
  std::vector<float> coefficients;  // real and imaginary parts
  bool operator==(const Kept&) const = default;
};

struct Case {
  Case(int64_t chunk, const std::vector<int64_t>& numels)
      : plan(chunk), extents(test::Apart(numels)), table(plan, extents) {}

  int64_t size() const { return extents.back().offset + extents.back().length; }
  std::vector<uint32_t> K(double theta) const {
    std::vector<uint32_t> k;
    for (const Extent& unit : extents) {
      k.push_back(static_cast<uint32_t>(KeptBins(plan.Bins(unit.length), theta)));
    }
    return k;
  }

  SpectrumPlan plan;
  std::vector<Extent> extents;
  SpectrumTable table;
};

std::vector<int64_t> Begins(const std::vector<uint32_t>& k) {
  std::vector<int64_t> begins = {0};
  for (const uint32_t one : k) begins.push_back(begins.back() + one);
  return begins;
}

Kept OnCpu(const Case& c, const std::vector<float>& values, const std::vector<uint32_t>& k) {
  Kept kept;
  for (size_t u = 0; u < k.size(); ++u) {
    const auto unit = std::span(values).subspan(c.extents[u].offset, c.extents[u].length);
    const int64_t bins = c.plan.Bins(std::ssize(unit));
    std::vector<float> re(bins), im(bins), power(bins);
    c.plan.Forward(unit, cpu::SpectrumScale(cpu::AbsMax(unit)), re.data(), im.data(), power.data());
    for (const uint32_t bin : cpu::SelectTopK(power, k[u])) {
      kept.positions.push_back(bin);
      kept.coefficients.push_back(re[bin]);
      kept.coefficients.push_back(im[bin]);
    }
  }
  return kept;
}

struct Selected {
  Kept kept;
  std::vector<uint32_t> largest;
  bool again = false;  // whether a piece was transformed twice
  int64_t listed = 0;  // number of bins listed
};

Selected Select(test::Device& device, const Case& c, const std::vector<float>& values,
                const std::vector<uint32_t>& k, float scale = 1) {
  const auto begins = Begins(k);
  const test::Buffer<float> flat(values);
  const test::Buffer<float> scales(std::vector<float>(k.size(), scale));
  const test::Buffer<uint32_t> ks(k), largest(std::ssize(k)), positions(begins.back());
  const test::Buffer<int64_t> outs(begins);
  const test::Buffer<ComplexFloat> coefficients(begins.back());
  const SpectrumArrays arrays = {.values = flat.data(),
                                 .k = ks.data(),
                                 .out = outs.data(),
                                 .positions = positions.data(),
                                 .coefficients = coefficients.data(),
                                 .scales = scales.data(),
                                 .largest = largest.data()};
  const test::Tables table(c.table);
  const test::Scratch scratch(
      [&](Workspace& workspace) { LayOutSpectrum(c.table, table.view(), arrays, workspace); });
  Workspace workspace = scratch.workspace();
  const SpectrumJob job = LayOutSpectrum(c.table, table.view(), arrays, workspace);
  LaunchSpectrum(device, c.table, job);
  Selected result;
  result.kept.positions = positions.Get();
  for (const ComplexFloat x : coefficients.Get()) {
    result.kept.coefficients.push_back(x.re);
    result.kept.coefficients.push_back(x.im);
  }
  result.largest = largest.Get();
  uint32_t missed = 0;
  test::Copy(&missed, job.topk.missed, sizeof missed);
  result.again = missed != 0;
  std::vector<TopKTile> tiles(c.table.tiles());
  test::Copy(tiles.data(), job.topk.tiles, tiles.size() * sizeof(TopKTile));
  for (const TopKTile& tile : tiles) result.listed += tile.listed;
  return result;
}

void ExpectEqual(const Kept& got, const Kept& expected) {
  ASSERT_EQ(got.positions, expected.positions);
  ASSERT_EQ(Bits(got.coefficients), Bits(expected.coefficients));
}

std::vector<float> Draw(const std::string& kind, int64_t n, int seed = 1) {
  return DrawGradient(kind + ":n=" + std::to_string(n) + ",seed=" + std::to_string(seed));
}

const std::vector<int64_t> kLengths = {1,  0,  2,    5,    31,   32,   33,  63,
                                       64, 96, 1000, 4095, 4096, 4097, 5000};

TEST(CudaSpectrum, SelectsWhatTheCpuSelects) {
  for (const int64_t chunk : {64, 128, 256, 512, 1024, 2048, 4096}) {
    const Case c(chunk, kLengths);
    for (const char* kind : {"laplace", "student-t", "zeros", "constant", "denormals"}) {
      const auto values = Draw(kind, c.size());
      for (const double theta : {0.0, 0.5, 0.85, 0.99}) {
        SCOPED_TRACE(std::string(kind) + " " + std::to_string(chunk) + " " + std::to_string(theta));
        const auto k = c.K(theta);
        const Kept expected = OnCpu(c, values, k);
        test::OnDevice([&](test::Device& device) {
          ExpectEqual(Select(device, c, values, k).kept, expected);
        });
      }
    }
  }
}

TEST(CudaSpectrum, TakesEveryTail) {
  std::vector<int64_t> lengths;
  for (int64_t n = 1; n <= 5000; n += n < 200 ? 1 : 193) lengths.push_back(n);
  for (const int64_t chunk : {64, 1024, 4096}) {
    SCOPED_TRACE(chunk);
    const Case c(chunk, lengths);
    const auto values = Draw("laplace", c.size());
    const auto k = c.K(0.85);
    const Kept expected = OnCpu(c, values, k);
    test::OnDevice(
        [&](test::Device& device) { ExpectEqual(Select(device, c, values, k).kept, expected); });
  }
}

TEST(CudaSpectrum, TakesLongChunks) {
  for (const int64_t chunk : {8192, 16384, 32768}) {
    SCOPED_TRACE(chunk);
    const Case c(chunk, {3 * chunk + 12345, 100, chunk});
    const auto values = Draw("student-t", c.size());
    const auto k = c.K(0.85);
    const Kept expected = OnCpu(c, values, k);
    test::OnDevice(
        [&](test::Device& device) { ExpectEqual(Select(device, c, values, k).kept, expected); });
  }
  EXPECT_THROW(SpectrumTable(SpectrumPlan(65536), {}), Error);
}

// Long units are sampled to decide which bins are listed.
TEST(CudaSpectrum, TransformsOnceWhereTheBracketHolds) {
  const Case c(4096, {400000, 77, 1000000});
  for (const char* kind : {"laplace", "student-t", "gaussian"}) {
    const auto values = Draw(kind, c.size());
    for (const double theta : {0.5, 0.85, 0.99}) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(theta));
      const auto k = c.K(theta);
      test::OnDevice([&](test::Device& device) {
        const Selected got = Select(device, c, values, k);
        EXPECT_FALSE(got.again);
        EXPECT_LE(got.listed, 2 * std::ssize(got.kept.positions) + 10000);
        ExpectEqual(got.kept, OnCpu(c, values, k));
      });
    }
  }
}

// Powers are large where the sample does not look, all zero, or zero except for a few.
TEST(CudaSpectrum, StaysExactWhereTheBracketMisses) {
  const Case c(256, {200000, 90000});
  const auto k = c.K(0.85);
  auto hidden = Draw("laplace", c.size());
  for (int64_t i = 4096; i < 7 * 4096; ++i) hidden[i] *= 1000;
  std::vector<float> zeros(hidden.size()), few(hidden.size());
  few[5] = few[150000] = 1;
  for (const auto& values : {hidden, zeros, few}) {
    const Kept expected = OnCpu(c, values, k);
    test::OnDevice(
        [&](test::Device& device) { ExpectEqual(Select(device, c, values, k).kept, expected); });
  }
}

// Powers are scaled, which must show only where squares are not normal numbers.
TEST(CudaSpectrum, TakesAnyMagnitudes) {
  const Case c(4096, {70000, 5000, 200, 20});
  const auto k = c.K(0.7);
  for (const float factor : {0x1p-140f, 0x1p-70f, 0x1p-30f, 1.0f, 0x1p40f, 0x1p95f}) {
    auto values = Draw("laplace", c.size());
    for (float& x : values) x *= factor;
    auto uneven = values;
    for (size_t i = 0; i < uneven.size(); ++i) uneven[i] *= i / 4096 % 2 == 0 ? 0x1p-64f : 1.0f;
    for (const auto& in : {values, uneven}) {
      const Kept expected = OnCpu(c, in, k);
      for (const float scale : {1.0f, 0x1p-20f, 0x1p60f}) {
        SCOPED_TRACE(std::to_string(std::log2(factor)) + " " + std::to_string(std::log2(scale)));
        test::OnDevice([&](test::Device& device) {
          ExpectEqual(Select(device, c, in, k, scale).kept, expected);
        });
      }
    }
  }
}

TEST(CudaSpectrum, ReportsValuesThatAreTooLarge) {
  const Case c(4096, {10000, 10000, 7, 0});
  auto values = Draw("laplace", c.size());
  values[9999] = std::nanf("");
  values[c.extents[1].offset + 3] = -0x1.8p100f;
  const auto k = c.K(0.85);
  test::OnDevice([&](test::Device& device) {
    const auto largest = Select(device, c, values, k).largest;
    EXPECT_GT(largest[0], cpu::kInfinityKey);
    EXPECT_EQ(largest[1], cpu::KeyOf(0x1.8p100f));
    EXPECT_LT(largest[1], cpu::kInfinityKey);
    EXPECT_LE(largest[2], kLargestValueKey);
    EXPECT_EQ(largest[3], 0u);
  });
}

// Returns the inverse transform of the sum of spectra, each with bins at ascending positions, one
// unit after the other.
std::vector<float> InverseOfSum(const Case& c, const std::vector<Kept>& spectra,
                                const std::vector<std::vector<uint32_t>>& counts) {
  std::vector<float> values(c.size());
  std::vector<size_t> at(spectra.size());
  for (size_t u = 0; u < c.extents.size(); ++u) {
    const int64_t bins = c.plan.Bins(c.extents[u].length);
    std::vector<float> re(bins), im(bins);
    for (size_t w = 0; w < spectra.size(); ++w) {
      for (uint32_t i = 0; i < counts[w][u]; ++i, ++at[w]) {
        re[spectra[w].positions[at[w]]] += spectra[w].coefficients[2 * at[w]];
        im[spectra[w].positions[at[w]]] += spectra[w].coefficients[2 * at[w] + 1];
      }
    }
    c.plan.Inverse(re.data(), im.data(),
                   std::span(values).subspan(c.extents[u].offset, c.extents[u].length));
  }
  return values;
}

// Workers keep different numbers of bins, and some pieces have no kept bins.
TEST(CudaSpectrum, AddsTheInverseThatTheCpuAdds) {
  for (const auto& [chunk, thetas] :
       {std::pair(64, std::array{0.95, 0.0, 0.5}), std::pair(64, std::array{0.999, 0.99, 1.0}),
        std::pair(256, std::array{0.95, 0.0, 0.5}), std::pair(4096, std::array{0.95, 0.0, 0.5}),
        std::pair(4096, std::array{0.99, 0.99, 0.99}),
        std::pair(16384, std::array{0.95, 0.0, 0.5})}) {
    SCOPED_TRACE(std::to_string(chunk) + " " + std::to_string(thetas[0]));
    const Case c(chunk, kLengths);
    Kept all;
    std::vector<uint32_t> counts;
    std::vector<Kept> spectra;
    std::vector<std::vector<uint32_t>> ks;
    for (const double theta : thetas) {
      ks.push_back(c.K(theta));
      spectra.push_back(OnCpu(c, Draw("student-t", c.size(), std::ssize(counts)), ks.back()));
      const Kept& kept = spectra.back();
      counts.insert(counts.end(), ks.back().begin(), ks.back().end());
      all.positions.insert(all.positions.end(), kept.positions.begin(), kept.positions.end());
      all.coefficients.insert(all.coefficients.end(), kept.coefficients.begin(),
                              kept.coefficients.end());
    }
    const auto start = Draw("laplace", c.size(), 9), added = InverseOfSum(c, spectra, ks);
    auto mean = added, sum = start, difference = start;
    for (size_t i = 0; i < added.size(); ++i) {
      mean[i] = (0.0f + added[i]) / 3;
      sum[i] += added[i];
      difference[i] -= added[i];
    }
    std::vector<ComplexFloat> coefficients;
    for (size_t i = 0; i < all.positions.size(); ++i) {
      coefficients.push_back({all.coefficients[2 * i], all.coefficients[2 * i + 1]});
    }
    const test::Tables table(c.table);
    const test::Buffer<int64_t> begins(Begins(counts));
    const test::Buffer<uint32_t> count(counts), positions(all.positions);
    const test::Buffer<ComplexFloat> xs(coefficients);
    const auto invert = [&](test::Device& device, InverseMode mode, std::vector<float>* malformed) {
      const test::Buffer<float> out(start);
      const test::Buffer<uint32_t> bad(std::vector<uint32_t>(counts.size()));
      const InverseArrays arrays = {.begin = begins.data(),
                                    .count = count.data(),
                                    .positions = positions.data(),
                                    .coefficients = xs.data(),
                                    .workers = 3,
                                    .mode = mode,
                                    .divisor = 3,
                                    .out = out.data(),
                                    .malformed = bad.data()};
      const test::Scratch scratch(
          [&](Workspace& workspace) { LayOutInverse(c.table, table.view(), arrays, workspace); });
      Workspace workspace = scratch.workspace();
      LaunchInverse(device, c.table, LayOutInverse(c.table, table.view(), arrays, workspace));
      for (const uint32_t one : bad.Get()) malformed->push_back(static_cast<float>(one));
      return out.Get();
    };
    const auto check = [&](const std::vector<float>& got, const std::vector<float>& expected) {
      for (const Extent& unit : c.extents) {
        for (int64_t i = unit.offset; i < unit.offset + unit.length; ++i) {
          ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(expected[i])) << i;
        }
      }
    };
    test::OnDevice([&](test::Device& device) {
      std::vector<float> malformed;
      check(invert(device, InverseMode::kMean, &malformed), mean);
      check(invert(device, InverseMode::kAdd, &malformed), sum);
      check(invert(device, InverseMode::kSubtract, &malformed), difference);
      for (const float one : malformed) EXPECT_EQ(one, 0);
    });
  }
}

// A list with an imaginary part in a bin whose coefficient is real is reported, as the CPU's
// decoder refuses it, unless the quantiser makes other numbers of 0.
TEST(CudaSpectrum, ReportsImaginaryPartsOfRealBins) {
  for (const int64_t chunk : {64, 4096}) {
    const Case c(chunk, kLengths);
    const std::vector<uint32_t> k = c.K(0);
    const Kept kept = OnCpu(c, Draw("laplace", c.size(), 1), k);
    const std::vector<int64_t> begins = Begins(k);
    const test::Tables table(c.table);
    const test::Buffer<int64_t> begin(begins);
    const test::Buffer<uint32_t> count(k), positions(kept.positions);
    for (const float weight : {1.0f, 2.0f}) {
      std::vector<ComplexFloat> coefficients;
      for (size_t i = 0; i < kept.positions.size(); ++i) {
        coefficients.push_back({kept.coefficients[2 * i], kept.coefficients[2 * i + 1]});
      }
      std::vector<uint32_t> changed(k.size());
      for (size_t u = 0; u < k.size(); ++u) {
        const auto own = std::span(kept.positions).subspan(begins[u], k[u]);
        const std::vector<float> weights = c.plan.Weights(c.extents[u].length, own);
        // The last such bin of one unit, the first of the next.
        for (size_t i = 0; i < own.size(); ++i) {
          const size_t bin = u % 2 == 0 ? i : own.size() - 1 - i;
          if (weights[bin] != weight) continue;
          coefficients[begins[u] + bin].im = 0.5f;
          changed[u] = 1;
          break;
        }
      }
      const test::Buffer<ComplexFloat> xs(coefficients);
      for (const bool keeps : {true, false}) {
        test::OnDevice([&](test::Device& device) {
          const test::Buffer<float> out(std::vector<float>(c.size()));
          const test::Buffer<uint32_t> bad(std::vector<uint32_t>(k.size()));
          const InverseArrays arrays = {.begin = begin.data(),
                                        .count = count.data(),
                                        .positions = positions.data(),
                                        .coefficients = xs.data(),
                                        .out = out.data(),
                                        .keeps_zeros = keeps,
                                        .malformed = bad.data()};
          const test::Scratch scratch([&](Workspace& workspace) {
            LayOutInverse(c.table, table.view(), arrays, workspace);
          });
          Workspace workspace = scratch.workspace();
          LaunchInverse(device, c.table, LayOutInverse(c.table, table.view(), arrays, workspace));
          const bool refuses = keeps && weight == 1;
          EXPECT_EQ(bad.Get(), refuses ? changed : std::vector<uint32_t>(k.size()));
        });
      }
    }
  }
}

}  // namespace
}  // namespace legacy::cuda::spectrum_test