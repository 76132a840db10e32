#include "compress/cpu/vector.h"

#include <bit>

#include "compress/cuda/vector_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda {
namespace {

const std::vector<int64_t> kLengths = {0, 1, 31, 33, 1000, 1024, 1025, 0, 8192, 8193, 300007, 5};

std::vector<float> Values(const SegmentTable& segments) {
  auto values = test::Normals(test::FlatSize(segments), 4);
  for (size_t i = 0; i < values.size(); i += 7) values[i] *= 1e20f;  // sums depend on their order
  return values;
}

template <class Term>
std::vector<double> Sums(test::Device& device, const std::vector<float>& values) {
  using Blocks = SumBlocks<Term>;
  const SegmentTable segments(test::Apart(kLengths), Blocks::kTile);
  const test::Tables tables(segments);
  const auto first_sum = FirstTiles(segments.extents(), cpu::kSumBlock);
  const test::Buffer<float> input(values);
  const test::Buffer<int64_t> first(first_sum);
  const test::Buffer<double> sums(first_sum.back()), totals(segments.count());
  device.Launch<Blocks>(segments.tiles(), {tables.view(), input.data(), first.data(), sums.data()});
  device.Launch<FinishSums>(segments.count(), {first.data(), sums.data(), totals.data()});
  return totals.Get();
}

TEST(CudaVector, SumsHaveTheBitsOfTheCpu) {
  const SegmentTable segments(test::Apart(kLengths), 1);
  auto values = Values(segments);
  test::OnDevice([&](test::Device& device) {
    const auto squares = Sums<Square>(device, values);
    const auto magnitudes = Sums<Magnitude>(device, values);
    const auto negative = Sums<NegativePart>(device, values);
    for (size_t s = 0; s < kLengths.size(); ++s) {
      const auto part = test::Part(values, segments, s);
      EXPECT_EQ(squares[s], cpu::SquaredNorm(part)) << s;
      EXPECT_EQ(magnitudes[s], cpu::AbsSum(part)) << s;
      EXPECT_EQ(negative[s], cpu::NegativeSum(part)) << s;
    }
  });
}

TEST(CudaVector, LargestMagnitudes) {
  const SegmentTable segments(test::Apart(kLengths), LargestBits::kTile);
  const test::Tables tables(segments);
  auto values = Values(segments);
  test::Part(values, segments, 4)[999] = -std::numeric_limits<float>::infinity();
  test::Part(values, segments, 10)[123456] = std::nanf("");
  test::OnDevice([&](test::Device& device) {
    const test::Buffer<float> input(values);
    const test::Buffer<uint32_t> output(std::vector<uint32_t>(kLengths.size()));
    device.Launch<LargestBits>(segments.tiles(), {tables.view(), input.data(), output.data()});
    const auto largest = output.Get();
    for (size_t s = 0; s < kLengths.size(); ++s) {
      EXPECT_EQ(largest[s], std::bit_cast<uint32_t>(cpu::AbsMax(test::Part(values, segments, s))))
          << s;
    }
  });
}

}  // namespace
}  // namespace legacy::cuda
