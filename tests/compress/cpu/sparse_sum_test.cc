#include "compress/cpu/sparse_sum.h"

#include <gtest/gtest.h>

#include "compress/cpu/random_subset.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu {
namespace {

TEST(SumSparse, GivesTheBitsOfOneWorkerAfterTheOther) {
  for (const int64_t n : {1, 33, 4096, 4097, 30000}) {
    for (const int workers : {0, 1, 7}) {
      for (const double density : {0.0, 0.01, 0.3, 1.0}) {
        std::vector<std::vector<uint32_t>> indices;
        std::vector<std::vector<float>> values;
        for (int w = 0; w < workers; ++w) {
          // The last worker sends nothing but one element.
          const auto k = w == 6 ? 1 : static_cast<int64_t>(density * static_cast<double>(n));
          indices.push_back(RandomSubset(RandomStream({.worker = uint32_t(w)}), n, k));
          values.push_back(test::Normals(k, w));
        }
        std::vector<SparseVector> sent;
        auto expected = test::Normals(n, 99), sum = expected, mean = expected;
        for (int w = 0; w < workers; ++w) {
          sent.push_back({indices[w], values[w]});
          for (size_t i = 0; i < indices[w].size(); ++i) expected[indices[w][i]] += values[w][i];
        }
        SumSparse(sent, sum);
        ASSERT_EQ(sum, expected) << n << " " << workers << " " << density;
        SumSparse(sent, mean, 7);
        for (float& x : expected) x /= 7;
        ASSERT_EQ(mean, expected) << n << " " << workers << " " << density;
      }
    }
  }
}

}  // namespace
}  // namespace legacy::cpu
