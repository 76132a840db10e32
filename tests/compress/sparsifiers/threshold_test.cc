#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/sparsifier.h"
#include "tests/compress/sparsifiers/sparsifier_data.h"

namespace legacy::threshold_test {
namespace {

using test::ContextOf;
using test::SparsifierOf;

TEST(Threshold, EqualsALoop) {
  const auto sparsifier = SparsifierOf("threshold");
  for (const int64_t n : {0, 1, 31, 32, 33, 8191, 8192, 20000}) {
    for (const auto& gradient : test::HardInputs(n)) {
      for (const float threshold : {1e-12f, 0.5f, 1.0f, 2.5f, 1e6f}) {
        std::vector<float> residual(n, 0.25f), sum(n);
        for (int64_t i = 0; i < n; ++i) sum[i] = residual[i] + gradient[i];
        const Selection selection =
            sparsifier->SelectWithFeedback(gradient, residual, n, ContextOf(threshold));
        ASSERT_EQ(selection.positions, test::SlowAtLeast(sum, threshold)) << n << " " << threshold;
        for (const uint32_t i : selection.positions) sum[i] = 0;
        ASSERT_EQ(residual, sum);
      }
    }
  }
}

TEST(Threshold, AnEmptySelectionIsAMessage) {
  const auto codec = MakeCodec("threshold");
  const std::vector<float> input = {0.5f, -0.25f, 0};
  const Message message = codec->Encode(input, ContextOf(1));
  EXPECT_EQ(message.size(), 16);
  std::vector<float> sum = {1, 2, 3};
  codec->DecodeAdd(message.bytes, ContextOf(1), sum);
  EXPECT_EQ(sum, (std::vector<float>{1, 2, 3}));
  // Any threshold decodes any message, as the number of values is sent.
  codec->DecodeAdd(codec->Encode(input, ContextOf(0.1)).bytes, ContextOf(1), sum);
  EXPECT_EQ(sum, (std::vector<float>{1.5f, 1.75f, 3}));
}

TEST(Threshold, RangeDirectionAndBudget) {
  const auto codec = MakeCodec("threshold");
  EXPECT_TRUE(codec->Parameter().volume_falls);
  EXPECT_THROW(codec->Encode(test::Normals(4, 1), ContextOf(0)), Error);
  EXPECT_FALSE(codec->MessageBytes(test::MakeUnit(4), 1));
  // The threshold is 1 / (2 sqrt(k)), at which k elements together have the norm 1/2; k is 0.1 % of
  // a ResNet-18.
  const auto budget = MakeCodec("threshold:budget=11174");
  EXPECT_NEAR(budget->Parameter().fallback, 0.00473, 5e-6);
  EXPECT_EQ(codec->Parameter().fallback, 0.01);
}

}  // namespace
}  // namespace legacy::threshold_test