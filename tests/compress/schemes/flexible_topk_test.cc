#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "compress/error.h"
#include "compress/schemes/topk_cost.h"
#include "tests/compress/test_data.h"

namespace legacy {
namespace {

constexpr int kWorkers = 8;
constexpr int64_t kNumel = 1000;
constexpr double kDensity = 0.1;
constexpr LinkEstimate kSlowStart = {.latency_seconds = 0.1, .seconds_per_byte = 1e-9};
constexpr LinkEstimate kThin = {.latency_seconds = 1e-9, .seconds_per_byte = 1e-3};

std::vector<std::vector<float>> Gradients(int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) gradients.push_back(test::Normals(kNumel, 20 * step + w));
  return gradients;
}

// By hand, for 1e8 fp32 values at density 0.1 on 8 nodes, 10 ms from each other.
TEST(TopKCost, OfGathering) {
  for (const auto& [gigabits, milliseconds] :
       {std::pair{10.0, 478.0}, {5.0, 926.0}, {1.0, 4510.0}}) {
    const LinkEstimate link{.latency_seconds = 0.01, .seconds_per_byte = 8e-9 / gigabits};
    EXPECT_NEAR(1000 * GatherSeconds(link, 40'000'000, 8), milliseconds, 0.01 * milliseconds);
  }
}

// The rules that follow: which is faster changes at these quotients of latency and seconds per byte.
TEST(TopKCost, CrossesWhereTheRulesSay) {
  const double bytes = 4e6;
  const auto crossing = [&](auto one, auto other, double quotient) {
    const LinkEstimate below{.latency_seconds = 0.999 * quotient, .seconds_per_byte = 1};
    const LinkEstimate above{.latency_seconds = 1.001 * quotient, .seconds_per_byte = 1};
    const auto count = static_cast<int64_t>(bytes);
    return one(below, count, kWorkers) < other(below, count, kWorkers) &&
           one(above, count, kWorkers) > other(above, count, kWorkers);
  };
  EXPECT_TRUE(crossing(RingSeconds, TreeSeconds, bytes * (2 * 3 - 2 * 7.0 / 8) / (2 * (7.0 - 3))));
  EXPECT_TRUE(crossing(RingSeconds, GatherSeconds, bytes * (1 - 1.0 / 8 - 3.0 / 14)));
  EXPECT_TRUE(crossing(TreeSeconds, GatherSeconds, bytes * (7.0 / 3 - 1.5)));
}

TEST(FlexibleTopK, TakesTheFasterWayOverOneResidual) {
  const auto scheme = MakeScheme("flexible-topk");
  EXPECT_TRUE(scheme->ReadsNetwork());
  EXPECT_FALSE(MakeScheme("flexible-topk:mode=gather")->ReadsNetwork());
  const auto flexible = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  const auto topk = MakeScheme("topk")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto reduce = MakeScheme("ar-topk")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto gradients = Gradients(0);
  EXPECT_EQ(test::RunStep(*flexible, {.parameter = kDensity, .link = kSlowStart}, gradients),
            test::RunStep(*topk, {.parameter = kDensity}, gradients));
  const auto other = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  EXPECT_EQ(test::RunStep(*other, {.parameter = kDensity, .link = kThin}, gradients),
            test::RunStep(*reduce, {.parameter = kDensity}, gradients));
  // What the first way left is sent by the second.
  std::vector<double> computed(kNumel), sent(kNumel);
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  for (int64_t step = 0; step < 12; ++step) {
    const auto now = Gradients(step);
    const auto mean = test::RunStep(
        *exchange,
        {.step = step, .parameter = kDensity, .link = step % 3 == 1 ? kThin : kSlowStart}, now);
    for (int64_t i = 0; i < kNumel; ++i) {
      double held = 0;
      sent[i] += mean[i];
      for (int w = 0; w < kWorkers; ++w) {
        computed[i] += double{now[w][i]} / kWorkers;
        held += double{exchange->Residual(w)[i]} / kWorkers;
      }
      ASSERT_NEAR(sent[i] + held, computed[i], 1e-4);
    }
  }
}

TEST(ArTopK, TheRootIsWhoseGradientVariesMost) {
  const auto scheme = MakeScheme("ar-topk:root=variance");
  const Unit unit = test::MakeUnit(kNumel);
  const auto exchange = scheme->Open(unit, kWorkers);
  auto gradients = Gradients(1);
  for (float& x : gradients[5]) x *= 3;
  for (float& x : gradients[6]) x += 100;  // large, and all alike
  exchange->Begin({.parameter = kDensity});
  const Round variances = exchange->NextRound().value();
  EXPECT_EQ(variances.primitive, Primitive::kAllGather);
  std::vector<Message> messages;
  for (int w = 0; w < kWorkers; ++w) messages.push_back(exchange->Encode(w, gradients[w]));
  EXPECT_EQ(messages[0].size(), 4);
  for (int w = 0; w < kWorkers; ++w) exchange->Accumulate(w, messages[w].bytes);
  exchange->FinishRound();
  EXPECT_EQ(exchange->NextRound()->root, 5);
  // The same step with that worker's turn.
  const auto turn = MakeScheme("ar-topk")->Open(unit, kWorkers);
  const auto whole = scheme->Open(unit, kWorkers);
  EXPECT_EQ(test::RunStep(*whole, {.step = 0, .parameter = kDensity}, gradients),
            test::RunStep(*turn, {.step = 5, .parameter = kDensity}, gradients));
  EXPECT_EQ(scheme->MessageBytes(unit, kDensity),
            4 + *MakeScheme("ar-topk")->MessageBytes(unit, kDensity));
}

TEST(ArTopK, RefusesVariancesThatAreNone) {
  const auto exchange = MakeScheme("ar-topk:root=variance")->Open(test::MakeUnit(4), 1);
  for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    exchange->Begin({.parameter = 0.5});
    ASSERT_TRUE(exchange->NextRound());
    Bytes bytes(4);
    std::memcpy(bytes.data(), &bad, 4);
    EXPECT_THROW(exchange->Accumulate(0, bytes), Error) << bad;
    EXPECT_THROW(exchange->Accumulate(0, Bytes(3)), Error);
  }
}

}  // namespace
}  // namespace legacy
