#include "compress/cpu/sparse_sum.h"

#include <gtest/gtest.h>

#include "compress/cpu/random_subset.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::sparse_sum_test {
namespace {

TEST(SumSparse, GivesTheBitsOfOneWorkerAfterTheOther) {
  for (const int64_t n : {1, 33, 32768, 32769, 70000}) {
    for (const int workers : {0, 1, 7}) {
      for (const double density : {0.0, 0.01, 0.3, 1.0}) {
        std::vector<std::vector<uint32_t>> indices;
        std::vector<std::vector<float>> values;
        for (int w = 0; w < workers; ++w) {
          // The last worker sends one element only.
          const auto k = w == 6 ? 1 : static_cast<int64_t>(density * static_cast<double>(n));
          indices.push_back(RandomSubset(RandomStream({.worker = uint32_t(w)}), n, k));
          values.push_back(test::Normals(k, w));
        }
        std::vector<SparseVector> sent;
        const auto before = test::Normals(n, 99);
        auto expected = before, sum = before;
        for (int w = 0; w < workers; ++w) {
          sent.push_back({indices[w], values[w]});
          for (size_t i = 0; i < indices[w].size(); ++i) expected[indices[w][i]] += values[w][i];
        }
        SumSparse(sent, sum);
        ASSERT_EQ(sum, expected) << n << " " << workers << " " << density;
        for (const float divisor : {7.0f, 8.0f, 0x1p-60f}) {
          auto mean = before;
          SumSparse(sent, mean, divisor);
          for (int64_t i = 0; i < n; ++i) ASSERT_EQ(mean[i], expected[i] / divisor) << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace legacy::cpu::sparse_sum_test