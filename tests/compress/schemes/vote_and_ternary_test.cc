// signSGD's majority vote and TernGrad with a shared scale.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::vote_and_ternary_test {
namespace {

constexpr int64_t kNumel = 333;

TEST(SignSgd, TakesTheMajoritysSign) {
  const auto scheme = MakeScheme("signsgd:scale=0.5");
  const auto exchange = scheme->Open(test::MakeUnit(4), 3);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(test::RunStep(*exchange, {}, {{1, -2, 0, -0.0f}, {3, -1, -tiny, -1}, {-1, 5, -1, 0}}),
            (std::vector<float>{0.5, -0.5, -0.5, 0.5}));
  // Tied votes count as +1.
  const auto two = scheme->Open(test::MakeUnit(2), 2);
  EXPECT_EQ(test::RunStep(*two, {}, {{1, -1}, {-1, -1}}), (std::vector<float>{0.5, -0.5}));
}

TEST(SignSgd, EqualWorkersActAsOneInAnyOrder) {
  const auto scheme = MakeScheme("signsgd");
  const auto a = test::Normals(kNumel, 1), b = test::Normals(kNumel, 2),
             c = test::Normals(kNumel, 3);
  const auto run = [&](const std::vector<std::vector<float>>& gradients) {
    return test::RunStep(*scheme->Open(test::MakeUnit(kNumel), static_cast<int>(gradients.size())),
                         {}, gradients);
  };
  const auto alone = run({a});
  for (int64_t i = 0; i < kNumel; ++i) ASSERT_EQ(alone[i], a[i] >= 0 ? 1 : -1);
  EXPECT_EQ(run({a, a, a}), alone);
  EXPECT_EQ(run({a, a, b}), alone);
  EXPECT_EQ(run({a, b, c}), run({c, a, b}));
}

TEST(SignSgd, HasOneBitEachAndNoResidual) {
  const auto scheme = MakeScheme("signsgd", {.error_feedback = true});
  EXPECT_EQ(scheme->MessageBytes(test::MakeUnit(kNumel), 1), 16 + 42);
  EXPECT_FALSE(scheme->UsesErrorFeedback(1));
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), 2);
  EXPECT_TRUE(exchange->Residual(0).empty());
  exchange->Begin({});
  const CollectiveCall call = exchange->NextCall().value();
  EXPECT_EQ(call.reduction, Reduction::kVote);
  EXPECT_EQ(call.collective, Collective::kAllGather);
  EXPECT_EQ(call.decode.front().elements, 2 * kNumel);
  EXPECT_EQ(
      scheme->SquaredErrors(test::MakeUnit(2), std::vector<float>{3, -0.5}, std::vector{1.0}, {}),
      std::vector<double>{4.25});
}

// SIGNUM sends the signs of a momentum that starts at 0.
TEST(SignSgd, SendsTheSignsOfItsMomentum) {
  const auto scheme = MakeScheme("signsgd:momentum=0.75");
  EXPECT_TRUE(scheme->Traits().owns_momentum);
  EXPECT_FALSE(MakeScheme("signsgd")->Traits().owns_momentum);
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), 1);
  std::vector<double> m(kNumel);
  int changed = 0;
  for (int64_t step = 0; step < 10; ++step) {
    const auto gradient = test::Normals(kNumel, 70 + step);
    const auto mean = test::RunStep(*exchange, {.info = {.step = step}}, {gradient});
    for (int64_t i = 0; i < kNumel; ++i) {
      m[i] = 0.75 * m[i] + 0.25 * gradient[i];
      if (std::abs(m[i]) < 1e-6) continue;
      ASSERT_EQ(mean[i], m[i] >= 0 ? 1 : -1) << step;
      changed += (gradient[i] >= 0) != (m[i] >= 0);
    }
  }
  EXPECT_GT(changed, kNumel);
  EXPECT_THROW(MakeScheme("signsgd:momentum=1"), Error);
}

std::vector<std::vector<float>> Gradients(int workers) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < workers; ++w) gradients.push_back(test::Normals(kNumel, 60 + w));
  return gradients;
}

// Sums are whole multiples of s / N, where s is the largest magnitude of all workers; each takes
// ceil(log2(2 N + 1)) bits.
TEST(TernGradShared, SumsAreCounts) {
  for (const auto& [workers, bits] :
       {std::pair{1, 2}, {2, 3}, {3, 3}, {4, 4}, {7, 4}, {8, 5}, {130, 9}}) {
    const auto gradients = Gradients(workers);
    float scale = 0;
    for (const auto& gradient : gradients) {
      for (const float x : gradient) scale = std::max(scale, std::abs(x));
    }
    const auto exchange =
        MakeScheme("terngrad-shared:clip=0")->Open(test::MakeUnit(kNumel), workers);
    std::vector<Message> messages;
    const auto mean = test::RunStep(*exchange, {.info = {.seed = 5}}, gradients, &messages);
    EXPECT_EQ(messages[0].size(), 20);
    EXPECT_EQ(messages[workers].size(), 16 + (kNumel * bits + 7) / 8) << workers;
    for (const float x : mean) {
      const double count = double{x} / scale * workers;
      ASSERT_NEAR(count, std::round(count), 1e-4);
      ASSERT_LE(std::abs(count), workers + 1e-4);
    }
  }
}

TEST(TernGradShared, IsUnbiasedAboutTheClippedGradient) {
  constexpr int kSteps = 4000;
  const std::vector<std::vector<float>> gradients = {{1, -0.5, 0.1, 0, 0.25}, {-1, 2, 0.1, 0, 0.5}};
  const auto exchange = MakeScheme("terngrad-shared:clip=0")->Open(test::MakeUnit(5), 2);
  std::vector<double> sum(5);
  for (int64_t step = 0; step < kSteps; ++step) {
    const auto mean = test::RunStep(*exchange, {.info = {.seed = 1, .step = step}}, gradients);
    for (int i = 0; i < 5; ++i) sum[i] += mean[i];
  }
  for (int i = 0; i < 5; ++i) {
    // Variance of one step: p (1 - p) s^2 for each worker, with s = 2, over N^2.
    double variance = 0;
    for (const auto& gradient : gradients) {
      variance += std::abs(gradient[i]) * (2 - std::abs(gradient[i])) / 4;
    }
    const double expected = (double{gradients[0][i]} + gradients[1][i]) / 2;
    EXPECT_NEAR(sum[i] / kSteps, expected, 5 * std::sqrt(variance / kSteps) + 1e-4) << i;
  }
  EXPECT_NEAR(MakeScheme("terngrad-shared:clip=0")
                  ->SquaredErrors(test::MakeUnit(5), gradients[0], std::vector{1.0}, {})[0],
              0.5 * 0.5 + 0.1 * 0.9 + 0.25 * 0.75, 1e-6);
}

TEST(TernGradShared, ClipsToDeviations) {
  std::vector<float> gradient(100);
  gradient[3] = 100;  // the mean is 1, the deviation sqrt(100 - 1)
  const auto exchange = MakeScheme("terngrad-shared")->Open(test::MakeUnit(100), 1);
  const auto mean = test::RunStep(*exchange, {}, {gradient});
  EXPECT_NEAR(mean[3], 1 + 2.5 * std::sqrt(99.0), 1e-4);
  EXPECT_EQ(mean[4], 0);
}

TEST(TernGradShared, ZerosConstantsAndDenormals) {
  for (const float value : {0.0f, -0.0f, 1.0f, -1e-45f, 1e-38f, 3e38f}) {
    const auto exchange = MakeScheme("terngrad-shared:clip=0")->Open(test::MakeUnit(70), 2);
    const std::vector<float> gradient(70, value);
    for (const float x : test::RunStep(*exchange, {}, {gradient, gradient})) {
      ASSERT_NEAR(x, value, 1e-5 * std::abs(value)) << value;
    }
  }
}

// Scales that were changed on the way do not take codes out of their range.
TEST(TernGradShared, SurvivesTamperedScales) {
  for (const float scale : {0.0f, 1e-45f, 0.01f, 1e30f, std::numeric_limits<float>::max()}) {
    const auto exchange = MakeScheme("terngrad-shared")->Open(test::MakeUnit(kNumel), 1);
    exchange->Begin({});
    ASSERT_TRUE(exchange->NextCall());
    Message message = exchange->Encode(0, test::Normals(kNumel, 1));
    std::memcpy(message.bytes.data() + 16, &scale, sizeof scale);
    exchange->Accumulate(0, message.bytes);
    exchange->FinishCall();
    ASSERT_TRUE(exchange->NextCall());
    exchange->Accumulate(0, exchange->Encode(0, {}).bytes);
    exchange->FinishCall();
    std::vector<float> mean(kNumel);
    exchange->Mean(mean);
    for (const float x : mean) ASSERT_TRUE(x == 0 || std::abs(x) == scale) << scale;
  }
  const auto exchange = MakeScheme("terngrad-shared")->Open(test::MakeUnit(2), 1);
  exchange->Begin({});
  ASSERT_TRUE(exchange->NextCall());
  Message message = exchange->Encode(0, std::vector<float>{1, 2});
  const float negative = -1;
  std::memcpy(message.bytes.data() + 16, &negative, sizeof negative);
  EXPECT_THROW(exchange->Accumulate(0, message.bytes), Error);
}

TEST(TernGradShared, RefusesInvalidCodes) {
  const auto exchange = MakeScheme("terngrad-shared")->Open(test::MakeUnit(4), 1);
  exchange->Begin({});
  ASSERT_TRUE(exchange->NextCall());
  exchange->Accumulate(0, exchange->Encode(0, std::vector<float>{1, 2, 3, 4}).bytes);
  exchange->FinishCall();
  ASSERT_TRUE(exchange->NextCall());
  Message message = exchange->Encode(0, {});
  message.bytes[16] |= std::byte{3};
  EXPECT_THROW(exchange->Accumulate(0, message.bytes), Error);
}

}  // namespace
}  // namespace legacy::vote_and_ternary_test