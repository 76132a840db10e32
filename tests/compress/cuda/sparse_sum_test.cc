#include "compress/cpu/sparse_sum.h"

#include "compress/cpu/random_subset.h"
#include "compress/cuda/kernels/selection/sparse_sum_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::sparse_sum_test {
namespace {

// Lists of all workers and segments.
struct Lists {
  std::vector<int64_t> begin;
  std::vector<uint32_t> count;
  std::vector<uint32_t> indices;
  std::vector<float> values;
};

Lists Draw(const SegmentTable& table, uint32_t workers, double density) {
  Lists lists;
  for (uint32_t w = 0; w < workers; ++w) {
    for (uint32_t s = 0; s < static_cast<uint32_t>(table.count()); ++s) {
      const int64_t n = table.extents()[s].length;
      // One worker sends nothing, and one sends all.
      const double share = w == 2 ? 0 : w == 4 ? 1 : density;
      const auto k = static_cast<int64_t>(share * static_cast<double>(n));
      const auto indices = cpu::RandomSubset(RandomStream({.worker = w, .layer = s}), n, k);
      const auto values = test::Normals(k, w * 100 + s);
      lists.begin.push_back(std::ssize(lists.indices));
      lists.count.push_back(static_cast<uint32_t>(k));
      lists.indices.insert(lists.indices.end(), indices.begin(), indices.end());
      lists.values.insert(lists.values.end(), values.begin(), values.end());
    }
  }
  return lists;
}

std::vector<float> OnCpu(const SegmentTable& table, const Lists& lists, uint32_t workers,
                         float divisor, std::vector<float> sum) {
  for (size_t s = 0; s < static_cast<size_t>(table.count()); ++s) {
    std::vector<cpu::SparseVector> sent;
    for (uint32_t w = 0; w < workers; ++w) {
      const size_t list = w * static_cast<size_t>(table.count()) + s;
      sent.push_back({std::span(lists.indices).subspan(lists.begin[list], lists.count[list]),
                      std::span(lists.values).subspan(lists.begin[list], lists.count[list])});
    }
    cpu::SumSparse(sent, test::Part(sum, table, s), divisor);
  }
  return sum;
}

TEST(CudaSparseSum, BitsAreTheCpus) {
  const SegmentTable table(test::Apart({1, 0, 31, 33, 4095, 4096, 4097, 20000}), kTile);
  const auto before = test::Normals(test::FlatSize(table), 99);
  for (const uint32_t workers : {0u, 1u, 7u, 8u, 130u}) {
    for (const double density : {0.0, 0.01, 0.3}) {
      if (workers == 130 && density > 0.1) continue;
      const Lists lists = Draw(table, workers, density);
      for (const float divisor : {1.0f, 7.0f, 8.0f}) {
        SCOPED_TRACE(std::to_string(workers) + " " + std::to_string(density));
        const auto added = OnCpu(table, lists, workers, divisor, before);
        const auto from_zero =
            OnCpu(table, lists, workers, divisor, std::vector<float>(before.size()));
        test::OnDevice([&](test::Device& device) {
          const test::Tables tables(table);
          const test::Buffer<int64_t> begin(lists.begin);
          const test::Buffer<uint32_t> count(lists.count), indices(lists.indices);
          const test::Buffer<float> values(lists.values), sum(before), fresh(before);
          const PackedLists packed = {begin.data(), count.data(), indices.data(), values.data()};
          const auto number = static_cast<int32_t>(workers);
          LaunchSparseSum(device, table, tables.view(), packed, {number, divisor, false},
                          sum.data());
          LaunchSparseSum(device, table, tables.view(), packed, {number, divisor, true},
                          fresh.data());
          EXPECT_TRUE(test::SameBits(sum.Get(), added));
          auto got = fresh.Get(), expected = from_zero;
          for (size_t s = 0; s < static_cast<size_t>(table.count()); ++s) {
            EXPECT_TRUE(test::SameBits(test::Part(got, table, s), test::Part(expected, table, s)));
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace legacy::cuda::sparse_sum_test