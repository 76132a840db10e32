#include "compress/cpu/topk.h"

#include <gtest/gtest.h>

#include "tests/compress/test_data.h"

namespace legacy {
namespace {

TEST(SelectTopK, EqualsFullSort) {
  for (const int64_t n : {1, 2, 3, 7, 100, 4099}) {
    const auto inputs = test::HardInputs(n);
    for (size_t input = 0; input < inputs.size(); ++input) {
      for (const int64_t k : {int64_t{0}, int64_t{1}, n / 100, n / 10, n / 2, n - 1, n}) {
        ASSERT_EQ(cpu::SelectTopK(inputs[input], k), test::SortedTopK(inputs[input], k))
            << "input " << input << ", n " << n << ", k " << k;
      }
    }
  }
}

TEST(SelectTopK, NothingOfNothing) { EXPECT_TRUE(cpu::SelectTopK({}, 0).empty()); }

TEST(SelectTopK, TiesGoToTheLowerIndex) {
  const std::vector<float> values = {1, -2, 2, -2, 0, 2};
  EXPECT_EQ(cpu::SelectTopK(values, 3), (std::vector<uint32_t>{1, 2, 3}));
}

TEST(ClearAt, ClearsNegativeValuesToo) {
  std::vector<float> values = {1, -2, 3, -4};
  cpu::ClearAt(values, std::vector<uint32_t>{1, 2});
  EXPECT_EQ(values, (std::vector<float>{1, 0, 0, -4}));
}

}  // namespace
}  // namespace legacy
