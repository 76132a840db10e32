#include "compress/schemes/sparse/ar_topk.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::ar_topk_test {
namespace {

constexpr int kWorkers = 3;
constexpr int64_t kNumel = 211;

// The oracle: worker step mod N picks the positions, and all workers send their values there.
void CompareWithOracle(bool error_feedback) {
  const auto exchange = MakeScheme("ar-topk", {.error_feedback = error_feedback})
                            ->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<std::vector<float>> residual(kWorkers, std::vector<float>(kNumel));
  for (int64_t step = 0; step < 8; ++step) {
    const double density = step == 6 ? 1.0 : 0.07;
    std::vector<std::vector<float>> gradients;
    for (int w = 0; w < kWorkers; ++w) {
      gradients.push_back(test::Normals(kNumel, 10 * step + w));
      for (int64_t i = 0; i < kNumel; ++i) {
        residual[w][i] = gradients[w][i] + (error_feedback ? residual[w][i] : 0);
      }
    }
    std::vector<float> expected(kNumel);
    const int64_t k = step == 6 ? kNumel : 14;
    for (const uint32_t i : test::SortedTopK(residual[step % kWorkers], k)) {
      for (int w = 0; w < kWorkers; ++w) {
        expected[i] += residual[w][i];
        residual[w][i] = 0;
      }
      expected[i] /= kWorkers;
    }
    ASSERT_EQ(test::RunStep(*exchange, {.info = {.step = step}, .parameter = density}, gradients),
              expected);
    for (int w = 0; w < kWorkers; ++w) {
      double squared = 0;
      for (const float x : residual[w]) squared += double{x} * x;
      ASSERT_EQ(test::ResidualSquared(*exchange, w), error_feedback ? squared : 0);
    }
  }
}

TEST(ArTopK, EqualsTheOracleWithErrorFeedback) { CompareWithOracle(true); }
TEST(ArTopK, EqualsTheOracleWithout) { CompareWithOracle(false); }

TEST(ArTopK, BroadcastsThenReduces) {
  const auto exchange = MakeScheme("ar-topk", {})->Open(test::MakeUnit(kNumel), kWorkers);
  exchange->Begin({.info = {.step = 5}, .parameter = 0.1});
  const CollectiveCall positions = exchange->NextCall().value();
  EXPECT_EQ(positions.collective, Collective::kBroadcast);
  EXPECT_EQ(positions.root, 2);
  for (int w = 0; w < kWorkers; ++w) {
    const Message message = exchange->Encode(w, test::Normals(kNumel, w));
    EXPECT_EQ(message.size(), w == 2 ? 16 + 21 : 0);  // 21 of 211 positions: one byte each
    exchange->Accumulate(w, message.bytes);
  }
  exchange->FinishCall();
  const CollectiveCall values = exchange->NextCall().value();
  EXPECT_EQ(values.collective, Collective::kAllReduce);
  EXPECT_EQ(values.reduction, Reduction::kSum);
  EXPECT_EQ(exchange->Encode(0, {}).size(), 16 + 4 * 21);
}

TEST(ArTopK, RefusesNonFiniteGradientsOfAnyWorker) {
  const auto exchange = MakeScheme("ar-topk", {})->Open(test::MakeUnit(2), 2);
  exchange->Begin({.parameter = 0.5});
  ASSERT_TRUE(exchange->NextCall());
  EXPECT_THROW(exchange->Encode(1, std::vector<float>{0, std::nanf("")}), Error);
  EXPECT_THROW(exchange->Accumulate(1, Bytes(16)), Error);  // not its turn to broadcast
}

}  // namespace
}  // namespace legacy::ar_topk_test