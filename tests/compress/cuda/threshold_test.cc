#include <limits>

#include "compress/cuda/kernels/selection/threshold_kernels.h"
#include "compress/gradients/gradients.h"
#include "compress/sparsifiers/cut.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::threshold_test {
namespace {

struct Result {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<int64_t> begin;
  std::vector<uint32_t> count;
  std::vector<float> residual;
  int64_t left_out = 0;
  std::vector<uint32_t> non_finite;
};

// An empty `gradient` means none.
Result OnGpu(test::Device& device, const SegmentTable& table, const std::vector<float>& thresholds,
             const std::vector<float>& gradient, const std::vector<float>& residual, bool feedback,
             int64_t capacity) {
  const test::Buffer<float> gradients(gradient), residuals(residual), values(capacity),
      floors(thresholds);
  const test::Buffer<uint32_t> indices(capacity), count(table.count()), non_finite(table.count());
  const test::Buffer<int64_t> begin(table.count() + 1), left_out(1);
  const ThresholdArrays arrays = {.gradient = gradient.empty() ? nullptr : gradients.data(),
                                  .residual = residuals.data(),
                                  .feedback = feedback,
                                  .thresholds = floors.data(),
                                  .capacity = capacity,
                                  .indices = indices.data(),
                                  .values = values.data(),
                                  .begin = begin.data(),
                                  .count = count.data(),
                                  .left_out = left_out.data(),
                                  .non_finite = non_finite.data()};
  const test::Tables tables(table);
  const test::Scratch scratch(
      [&](Workspace& workspace) { LayOutThreshold(table, tables.view(), arrays, workspace); });
  Workspace workspace = scratch.workspace();
  LaunchThreshold(device, LayOutThreshold(table, tables.view(), arrays, workspace), table);
  return {indices.Get(),   values.Get(),      begin.Get(),     count.Get(),
          residuals.Get(), left_out.Get()[0], non_finite.Get()};
}

Result OnCpu(const SegmentTable& table, const std::vector<float>& thresholds,
             const std::vector<float>& gradient, const std::vector<float>& residual,
             bool feedback) {
  Result result;
  result.begin = {0};
  result.residual = residual;
  for (size_t s = 0; s < thresholds.size(); ++s) {
    const auto part = test::Part(result.residual, table, s);
    const auto added = gradient.empty()
                           ? std::span<const float>()
                           : std::span(gradient).subspan(table.extents()[s].offset, part.size());
    const Selection selection = feedback ? SelectAtLeastWithFeedback(added, part, thresholds[s], 0)
                                         : legacy::SelectAtLeast(part, thresholds[s], 0);
    result.indices.insert(result.indices.end(), selection.positions.begin(),
                          selection.positions.end());
    result.values.insert(result.values.end(), selection.values.begin(), selection.values.end());
    result.begin.push_back(std::ssize(result.indices));
    result.count.push_back(static_cast<uint32_t>(selection.positions.size()));
  }
  return result;
}

void ExpectEqual(const Result& got, const Result& expected) {
  EXPECT_EQ(got.begin, expected.begin);
  EXPECT_EQ(got.count, expected.count);
  EXPECT_EQ(got.indices, expected.indices);
  EXPECT_TRUE(test::SameBits(got.values, expected.values));
  EXPECT_TRUE(test::SameBits(got.residual, expected.residual));
  EXPECT_EQ(got.left_out, expected.left_out);
}

const std::vector<int64_t> kLengths = {1, 0, 31, 33, 4096, 4097, 50000, 7, 0};

std::vector<float> Thresholds(float middle) {
  return {0, 1, middle, 0, middle, 2 * middle, middle, 1e38f, middle};
}

TEST(CudaThreshold, SelectsWhatTheCpuSelects) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  const int64_t n = test::FlatSize(table);
  const auto gradients = test::HardInputs(n);
  for (size_t kind = 0; kind < gradients.size(); ++kind) {
    const auto residual = kind % 2 ? test::Normals(n, 17) : gradients[kind];
    for (const float middle : {0.5f, 2.5f, 1e-40f}) {
      SCOPED_TRACE(std::to_string(kind) + " " + std::to_string(middle));
      const auto thresholds = Thresholds(middle);
      for (const auto& gradient : {gradients[kind], std::vector<float>()}) {
        for (const bool feedback : {true, false}) {
          if (!feedback && !gradient.empty()) continue;
          const auto expected = OnCpu(table, thresholds, gradient, residual, feedback);
          test::OnDevice([&](test::Device& device) {
            ExpectEqual(OnGpu(device, table, thresholds, gradient, residual, feedback,
                              expected.begin.back()),
                        expected);
          });
        }
      }
    }
  }
}

// Elements without room are the end of all lists: they are not written, but are counted and stay in
// the residual.
TEST(CudaThreshold, LeavesOutElementsWithoutRoom) {
  const SegmentTable table(test::Apart(kLengths), kTile);
  const auto gradient = test::Normals(test::FlatSize(table), 1);
  const auto residual = test::Normals(test::FlatSize(table), 2);
  const auto thresholds = Thresholds(2);
  for (const bool with_gradient : {true, false}) {
    const auto added = with_gradient ? gradient : std::vector<float>();
    const auto all = OnCpu(table, thresholds, added, residual, true);
    for (const int64_t capacity : {0, 1, 40, 700, 1000, 2400}) {
      ASSERT_LT(capacity, all.begin.back());
      Result expected = all;
      expected.indices.resize(capacity);
      expected.values.resize(capacity);
      expected.left_out = all.begin.back() - capacity;
      for (int64_t& begin : expected.begin) begin = std::min(begin, capacity);
      for (size_t s = 0; s < thresholds.size(); ++s) {
        expected.count[s] = static_cast<uint32_t>(expected.begin[s + 1] - expected.begin[s]);
        for (int64_t i = std::max(capacity, all.begin[s]); i < all.begin[s + 1]; ++i) {
          expected.residual[table.extents()[s].offset + all.indices[i]] = all.values[i];
        }
      }
      test::OnDevice([&](test::Device& device) {
        ExpectEqual(OnGpu(device, table, thresholds, added, residual, true, capacity), expected);
      });
    }
  }
}

// The vector has more tiles than one block scans.
TEST(CudaThreshold, ManyTiles) {
  std::vector<int64_t> lengths(ThresholdScan::kChunk + 100, 3);
  lengths[7] = 30000;
  const SegmentTable table(test::Apart(lengths), kTile);
  const auto residual = test::Normals(test::FlatSize(table), 2);
  const std::vector<float> thresholds(lengths.size(), 0.8f);
  const auto expected = OnCpu(table, thresholds, residual, residual, true);
  test::OnDevice([&](test::Device& device) {
    ExpectEqual(OnGpu(device, table, thresholds, residual, residual, true, expected.begin.back()),
                expected);
  });
}

TEST(CudaThreshold, CountsWhatIsNotFinite) {
  const SegmentTable table(test::Apart({100, 5000}), kTile);
  auto residual = test::Normals(test::FlatSize(table), 3);
  test::Part(residual, table, 1)[17] = std::nanf("");
  test::Part(residual, table, 1)[4999] = -std::numeric_limits<float>::infinity();
  test::OnDevice([&](test::Device& device) {
    const auto got = OnGpu(device, table, {1, 5}, {}, residual, true, 1000);
    EXPECT_EQ(got.non_finite, (std::vector<uint32_t>{0, 2}));
  });
}

}  // namespace
}  // namespace legacy::cuda::threshold_test