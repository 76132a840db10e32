#include "compress/cpu/topk.h"

#include "compress/cuda/kernels/selection/topk_kernels.h"
#include "compress/gradients/gradients.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::topk_test {
namespace {

struct Result {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<float> residual;
  uint32_t missed = 0;
  int64_t non_finite = 0;
};

// An empty `gradient` means no error feedback; `capacity` < 0 means the usual capacity.
Result OnGpu(test::Device& device, const SegmentTable& table, const std::vector<uint32_t>& k,
             const std::vector<float>& gradient, const std::vector<float>& residual,
             int64_t capacity = -1) {
  std::vector<int64_t> out = {0};
  for (const uint32_t one : k) out.push_back(out.back() + one);
  const int64_t kept = out.back();
  const test::Buffer<float> gradients(gradient), residuals(residual), values(kept);
  const test::Buffer<uint32_t> ks(k), indices(kept), non_finite(table.count());
  const test::Buffer<int64_t> outs(out);
  const TopKArrays arrays = {.gradient = gradient.empty() ? nullptr : gradients.data(),
                             .residual = residuals.data(),
                             .k = ks.data(),
                             .out = outs.data(),
                             .indices = indices.data(),
                             .values = values.data(),
                             .non_finite = non_finite.data()};
  const test::Tables tables(table);
  const test::Scratch scratch(
      [&](Workspace& workspace) { LayOutTopK(table, tables.view(), arrays, kept, workspace); });
  Workspace workspace = scratch.workspace();
  TopKJob job = LayOutTopK(table, tables.view(), arrays, kept, workspace);
  if (capacity >= 0) job.capacity = static_cast<uint32_t>(capacity);
  LaunchTopK(device, job, table.count(), table.tiles());
  Result result{indices.Get(), values.Get(), residuals.Get()};
  test::Copy(&result.missed, job.missed, sizeof result.missed);
  for (const uint32_t count : non_finite.Get()) result.non_finite += count;
  return result;
}

Result OnCpu(const SegmentTable& segments, const std::vector<uint32_t>& k,
             const std::vector<float>& gradient, const std::vector<float>& residual) {
  std::vector<cpu::TopKSegment> parts;
  for (size_t s = 0; s < k.size(); ++s) {
    parts.push_back({segments.extents()[s].offset, segments.extents()[s].length, k[s]});
  }
  cpu::TopKSelector selector;
  Result result{{}, {}, residual};
  const cpu::TopKResult found = gradient.empty()
                                    ? selector.Select(residual, parts)
                                    : selector.Compensate(gradient, result.residual, parts);
  result.indices.assign(found.indices.begin(), found.indices.end());
  result.values.assign(found.values.begin(), found.values.end());
  return result;
}

std::vector<float> Fill(const SegmentTable& segments, const std::string& kind, int seed) {
  return DrawGradient(kind + ":n=" + std::to_string(test::FlatSize(segments)) +
                      ",seed=" + std::to_string(seed));
}

void ExpectEqual(const Result& got, const Result& expected) {
  EXPECT_EQ(got.indices, expected.indices);
  ASSERT_EQ(got.values.size(), expected.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) ASSERT_EQ(got.values[i], expected.values[i]) << i;
  for (size_t i = 0; i < got.residual.size(); ++i) {
    ASSERT_EQ(got.residual[i], expected.residual[i]) << i;
  }
}

const std::vector<int64_t> kLengths = {1, 0, 5, 4096, 4097, 16384, 16385, 120000, 33};

std::vector<uint32_t> Counts(double density) {
  std::vector<uint32_t> k;
  for (const int64_t length : kLengths) {
    k.push_back(static_cast<uint32_t>(std::ceil(density * static_cast<double>(length))));
  }
  return k;
}

TEST(CudaTopK, SelectsWhatTheCpuSelects) {
  const SegmentTable segments(test::Apart(kLengths), kTile);
  for (const char* kind : {"laplace", "student-t", "zeros", "constant", "ties", "denormals"}) {
    const auto gradient = Fill(segments, kind, 1);
    const auto residual = Fill(segments, kind, 2);
    for (const double density : {0.0, 0.001, 0.01, 0.1, 0.5, 1.0}) {
      SCOPED_TRACE(std::string(kind) + " " + std::to_string(density));
      const auto k = Counts(density);
      const auto expected = OnCpu(segments, k, gradient, residual);
      const auto plain = OnCpu(segments, k, {}, residual);
      test::OnDevice([&](test::Device& device) {
        ExpectEqual(OnGpu(device, segments, k, gradient, residual), expected);
        ExpectEqual(OnGpu(device, segments, k, {}, residual), plain);
      });
    }
  }
}

TEST(CudaTopK, TheBracketHoldsAndListsAreShort) {
  const SegmentTable segments(test::Apart({1 << 20}), kTile);
  for (const char* kind : {"laplace", "student-t", "gaussian"}) {
    const auto gradient = Fill(segments, kind, 1);
    for (const double density : {0.001, 0.01, 0.03}) {
      const auto k = static_cast<uint32_t>(density * (1 << 20));
      const std::vector<float> residual(test::FlatSize(segments));
      test::OnDevice([&](test::Device& device) {
        const auto got = OnGpu(device, segments, {k}, gradient, residual);
        EXPECT_EQ(got.missed, 0u) << kind << density;
        ExpectEqual(got, OnCpu(segments, {k}, gradient, residual));
      });
    }
  }
}

// Lists have no room, or the sample gives a bracket that misses.
TEST(CudaTopK, StaysExactWhereTheBracketMisses) {
  const SegmentTable segments(test::Apart({50000, 40000, 100}), kTile);
  auto gradient = Fill(segments, "laplace", 3);
  const auto residual = Fill(segments, "laplace", 4);
  const std::vector<uint32_t> k = {500, 4000, 7};
  const auto expected = OnCpu(segments, k, gradient, residual);
  test::OnDevice([&](test::Device& device) {
    for (const int64_t capacity : {0, 1, 300, 3000}) {
      const auto got = OnGpu(device, segments, k, gradient, residual, capacity);
      EXPECT_GT(got.missed, 0u);
      ExpectEqual(got, expected);
    }
  });
  // The values are large exactly where the sample does not look.
  std::vector<bool> seen(50000);
  for (int64_t i = 0; i < kTopKSample; ++i) {
    seen[TopKBracket::Position(i, 50000, kTopKSample)] = true;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i] && i % 3 == 0) gradient[i] *= 100;
  }
  const auto hidden = OnCpu(segments, k, gradient, residual);
  test::OnDevice([&](test::Device& device) {
    const auto got = OnGpu(device, segments, k, gradient, residual);
    EXPECT_GE(got.missed, 1u);  // and others whose room its list takes
    ExpectEqual(got, hidden);
  });
}

// Zeros are not listed even if the bracket goes down to them.
TEST(CudaTopK, ZerosAreNotListed) {
  constexpr int64_t kLength = 1 << 18, kEvery = 100, kOthers = kLength / kEvery + 1;
  const SegmentTable segments(test::Apart({kLength}), kTile);
  auto gradient = Fill(segments, "laplace", 6);
  for (int64_t i = 0; i < kLength; ++i) {
    if (i % kEvery != 0) gradient[i] = 0;
  }
  const std::vector<float> residual(test::FlatSize(segments));
  for (const int64_t more : {-10, 0, 10}) {
    const std::vector<uint32_t> k = {static_cast<uint32_t>(kOthers + more)};
    const auto expected = OnCpu(segments, k, gradient, residual);
    test::OnDevice([&](test::Device& device) {
      const auto got = OnGpu(device, segments, k, gradient, residual, /*capacity=*/kOthers);
      EXPECT_EQ(got.missed, more > 0 ? 1u : 0u);
      ExpectEqual(got, expected);
    });
  }
}

TEST(CudaTopK, CountsWhatIsNotFinite) {
  const SegmentTable segments(test::Apart({20000, 50}), kTile);
  auto gradient = Fill(segments, "laplace", 5);
  gradient[17] = std::nanf("");
  gradient[12345] = -std::numeric_limits<float>::infinity();
  const std::vector<float> residual(test::FlatSize(segments));
  test::OnDevice([&](test::Device& device) {
    EXPECT_EQ(OnGpu(device, segments, {200, 5}, gradient, residual).non_finite, 2);
  });
}

}  // namespace
}  // namespace legacy::cuda::topk_test