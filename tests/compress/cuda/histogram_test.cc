#include "compress/cpu/histogram.h"

#include <limits>

#include "compress/cuda/kernels/selection/histogram_kernels.h"
#include "compress/gradients/gradients.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::histogram_test {
namespace {

// Returns the histogram of each segment.
std::vector<cpu::MagnitudeHistogram> Histograms(test::Device& device, const SegmentTable& table,
                                                const std::vector<float>& values,
                                                int64_t most_blocks) {
  const test::Tables tables(table);
  const test::Buffer<float> input(values);
  const int64_t n = int64_t{table.count()} * kHistogramBins;
  const test::Buffer<uint32_t> counts(n);
  const test::Buffer<uint64_t> offsets(n);
  LaunchHistogram(device, table, tables.view(), input.data(), {counts.data(), offsets.data()},
                  most_blocks);
  const auto all_counts = counts.Get();
  const auto all_offsets = offsets.Get();
  std::vector<cpu::MagnitudeHistogram> histograms(table.count());
  for (int32_t s = 0; s < table.count(); ++s) {
    const size_t begin = size_t(s) * kHistogramBins;
    histograms[s].AddBins(std::span(all_counts).subspan(begin, kHistogramBins),
                          std::span(all_offsets).subspan(begin, kHistogramBins));
  }
  return histograms;
}

void ExpectTheCpusBins(const SegmentTable& table, std::vector<float> values) {
  std::vector<cpu::MagnitudeHistogram> expected(table.count());
  for (int32_t s = 0; s < table.count(); ++s) expected[s].Add(test::Part(values, table, s));
  for (const int64_t most_blocks : {int64_t{1}, int64_t{3}, CountBins::kBlocks}) {
    test::OnDevice([&](test::Device& device) {
      const auto got = Histograms(device, table, values, most_blocks);
      for (int32_t s = 0; s < table.count(); ++s) {
        for (int bin = 0; bin < kHistogramBins; ++bin) {
          ASSERT_EQ(got[s].Count(bin), expected[s].Count(bin)) << s << " " << bin;
          if (bin >= cpu::MagnitudeHistogram::kFiniteBins) continue;
          ASSERT_EQ(got[s].Sum(bin), expected[s].Sum(bin)) << s << " " << bin;
        }
      }
    });
  }
}

TEST(CudaHistogram, BinsAreTheCpus) {
  const SegmentTable table(test::Apart({0, 1, 31, 33, 4096, 4097, 0, 30000, 7, 9000}), kTile);
  for (auto& values : test::HardInputs(test::FlatSize(table))) {
    values[40] = std::numeric_limits<float>::infinity();
    values[5000] = std::nanf("");
    ExpectTheCpusBins(table, values);
  }
  ExpectTheCpusBins(table, DrawGradient("student-t:n=" + std::to_string(test::FlatSize(table))));
}

// One bin gets more than 2^14 of the largest offset.
TEST(CudaHistogram, SumsOfOffsetsPassThirtyTwoBits) {
  const SegmentTable table(test::Apart({300000, 200}), kTile);
  std::vector<float> values(test::FlatSize(table), -std::bit_cast<float>(0x3F83FFFFu));
  for (size_t i = 0; i < values.size(); i += 5) values[i] = 3;
  ExpectTheCpusBins(table, values);
}

TEST(CudaHistogram, ACurveGivesTheCpusAnswers) {
  const SegmentTable table(test::Apart({20000}), kTile);
  const auto values = DrawGradient("laplace:n=20000,seed=3");
  const auto expected = cpu::MagnitudeCurve::Of(values);
  test::OnDevice([&](test::Device& device) {
    const cpu::MagnitudeCurve got(Histograms(device, table, values, CountBins::kBlocks)[0]);
    EXPECT_EQ(got.Mean(), expected.Mean());
    for (const int64_t k : {1, 20, 200, 20000}) {
      EXPECT_EQ(got.Error(k), expected.Error(k));
      EXPECT_EQ(got.Threshold(k), expected.Threshold(k));
    }
  });
}

}  // namespace
}  // namespace legacy::cuda::histogram_test