// The exchange of 1-bit Adam against its equations in double precision.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"

namespace legacy::onebit_adam_test {
namespace {

constexpr int64_t kNumel = 250;  // slices of 84, 84 and 82
constexpr int kWorkers = 3;
constexpr int64_t kSlice = 84;
constexpr int64_t kWarmup = 2;

std::vector<std::vector<float>> Values(int64_t step) {
  std::vector<std::vector<float>> values;
  for (int w = 0; w < kWorkers; ++w) values.push_back(test::Normals(kNumel, 17 * step + w));
  return values;
}

// Signs and the mean magnitude; zero counts as positive.
void Sign(std::vector<double>& values, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += std::abs(values[i]);
  const double scale = sum / static_cast<double>(end - begin);
  for (int64_t i = begin; i < end; ++i) values[i] = values[i] < 0 ? -scale : scale;
}

TEST(OneBitAdam, ExchangesMomentumWithTwoResiduals) {
  const auto scheme = MakeScheme("onebit-adam:warmup=2");
  EXPECT_EQ(scheme->Traits().momentum_from, kWarmup);
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<std::vector<double>> residuals(kWorkers, std::vector<double>(kNumel));
  std::vector<double> owners(kNumel);
  for (int64_t step = 0; step < 8; ++step) {
    const auto values = Values(step);
    std::vector<Message> messages;
    const auto mean = test::RunStep(*exchange, {.info = {.seed = 1, .step = step}, .parameter = 1},
                                    values, &messages);
    std::vector<double> expected(kNumel);
    for (int w = 0; w < kWorkers; ++w) {
      std::vector<double> sent(values[w].begin(), values[w].end());
      if (step >= kWarmup) {
        for (int64_t i = 0; i < kNumel; ++i) sent[i] += residuals[w][i];
        residuals[w] = sent;
        Sign(sent, 0, kNumel);
        for (int64_t i = 0; i < kNumel; ++i) residuals[w][i] -= sent[i];
      }
      for (int64_t i = 0; i < kNumel; ++i) expected[i] += sent[i] / kWorkers;
    }
    if (step >= kWarmup) {
      for (int64_t i = 0; i < kNumel; ++i) owners[i] = expected[i] += owners[i];
      for (int64_t begin = 0; begin < kNumel; begin += kSlice) {
        Sign(expected, begin, std::min(begin + kSlice, kNumel));
      }
      for (int64_t i = 0; i < kNumel; ++i) owners[i] -= expected[i];
    }
    for (int64_t i = 0; i < kNumel; ++i) ASSERT_NEAR(mean[i], expected[i], 1e-5) << step;
    const int64_t bits = (kNumel + 7) / 8;
    EXPECT_EQ(messages[0].size(), kHeaderBytes + (step < kWarmup ? 4 * kNumel : 4 + bits));
  }
  // The learning rate does not scale momentum.
  const std::vector<float> before(exchange->Residual(0).begin(), exchange->Residual(0).end());
  exchange->RescaleResiduals(0.5f);
  EXPECT_EQ(std::vector<float>(exchange->Residual(0).begin(), exchange->Residual(0).end()), before);
}

// What is sent and what is kept add up to all momentum: nothing is lost at workers or owners.
TEST(OneBitAdam, LosesNothing) {
  const auto exchange = MakeScheme("onebit-adam:warmup=1")->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<double> given(kNumel), received(kNumel);
  for (int64_t step = 1; step < 40; ++step) {
    const auto values = Values(step);
    const auto mean =
        test::RunStep(*exchange, {.info = {.seed = 1, .step = step}, .parameter = 1}, values);
    for (int64_t i = 0; i < kNumel; ++i) {
      for (const auto& value : values) given[i] += double{value[i]} / kWorkers;
      received[i] += mean[i];
    }
  }
  double kept = 0, lost = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    double residual = given[i] - received[i];
    for (int w = 0; w < kWorkers; ++w) residual -= double{exchange->Residual(w)[i]} / kWorkers;
    kept += residual * residual;  // the owners'
    lost = std::max(lost, std::abs(residual));
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(lost, 20) << "bounded: 39 steps of values of about 1";
}

TEST(OneBitAdam, OptionsThatCannotBeAreRefused) {
  EXPECT_THROW(MakeScheme("onebit-adam:warmup=0"), Error);
  EXPECT_THROW(MakeScheme("onebit-adam+fp16"), Error);
  EXPECT_THROW(MakeScheme("onebit-adam:decay=0.5"), Error);
  EXPECT_THROW(MakeScheme("onebit-adam", {.error_feedback = false}), Error);
}

}  // namespace
}  // namespace legacy::onebit_adam_test
