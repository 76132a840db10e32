#include "compress/cpu/vector.h"

#include <bit>

#include "compress/cuda/kernels/vector_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::vector_test {
namespace {

const std::vector<int64_t> kLengths = {0,    1, 31,   33,   1000,   1024, 1025,
                                       4095, 0, 4096, 8193, 300007, 5,    1100000};

std::vector<float> Values(const SegmentTable& segments) {
  auto values = test::Normals(test::FlatSize(segments), 4);
  for (size_t i = 0; i < values.size(); i += 7) values[i] *= 1e20f;  // sums depend on their order
  return values;
}

template <class Term>
std::vector<double> Sums(test::Device& device, const std::vector<float>& values) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  const test::Tables tables(table);
  const test::Buffer<float> input(values);
  const test::Buffer<double> totals(table.count());
  const test::Scratch scratch([&](Workspace& workspace) { LayOutSums(table, workspace); });
  Workspace workspace = scratch.workspace();
  LaunchSums<Term>(device, table, tables.view(), input.data(), LayOutSums(table, workspace),
                   totals.data());
  return totals.Get();
}

TEST(CudaVector, SumsHaveTheBitsOfTheCpu) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  auto values = Values(table);
  test::OnDevice([&](test::Device& device) {
    const auto squares = Sums<Square>(device, values);
    const auto magnitudes = Sums<Magnitude>(device, values);
    const auto negative = Sums<NegativePart>(device, values);
    for (size_t s = 0; s < kLengths.size(); ++s) {
      const auto part = test::Part(values, table, s);
      EXPECT_EQ(squares[s], cpu::SquaredNorm(part)) << s;
      EXPECT_EQ(magnitudes[s], cpu::AbsSum(part)) << s;
      EXPECT_EQ(negative[s], cpu::NegativeSum(part)) << s;
    }
  });
}

TEST(CudaVector, LargestMagnitudesAndTheFirstThatIsNotFinite) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  const test::Tables tables(table);
  auto values = Values(table);
  test::Part(values, table, 4)[999] = -std::numeric_limits<float>::infinity();
  for (const int64_t i : {123456, 123457, 123460, 299999}) {
    test::Part(values, table, 11)[i] = std::nanf("");
  }
  test::Part(values, table, 12)[0] = std::numeric_limits<float>::infinity();
  test::OnDevice([&](test::Device& device) {
    const test::Buffer<float> input(values);
    const test::Buffer<uint32_t> largest(table.count()), first(table.count());
    LaunchExtremes(device, table, tables.view(), input.data(), {largest.data(), first.data()});
    for (size_t s = 0; s < kLengths.size(); ++s) {
      const auto part = test::Part(values, table, s);
      EXPECT_EQ(largest.Get()[s], std::bit_cast<uint32_t>(cpu::AbsMax(part))) << s;
      EXPECT_EQ(first.Get()[s], cpu::FirstNonFinite(part).value_or(kNoPosition)) << s;
    }
  });
}

TEST(CudaVector, LoopsOverDenseVectors) {
  for (const int64_t n : {0, 1, 31, 32, 33, 4095, 4096, 4097, 20000}) {
    for (const int64_t shift : {0, 1}) {  // off the alignment of vectors
      const auto values = test::Normals(n + shift, 1), before = test::Normals(n + shift, 2);
      auto sum = before, scaled = before;
      cpu::Add(std::span(values).subspan(shift), std::span(sum).subspan(shift));
      cpu::Scale(std::span(scaled).subspan(shift), 1.7f);
      test::OnDevice([&](test::Device& device) {
        const test::Buffer<float> in(values), added(before), product(before);
        LaunchMap(device, AddRule{}, in.data() + shift, added.data() + shift, n);
        LaunchMap(device, ScaleRule{1.7f}, product.data() + shift, product.data() + shift, n);
        EXPECT_EQ(added.Get(), sum) << n;
        EXPECT_EQ(product.Get(), scaled) << n;
      });
    }
  }
}

}  // namespace
}  // namespace legacy::cuda::vector_test