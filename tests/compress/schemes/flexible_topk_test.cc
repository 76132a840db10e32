#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>

#include "base/error.h"
#include "compress/schemes/call_cost.h"
#include "tests/compress/test_data.h"

namespace legacy::flexible_topk_test {
namespace {

constexpr int kWorkers = 8;
constexpr int64_t kNumel = 1000;
constexpr double kDensity = 0.1;
const LinkEstimate kSlowStart = {.latency_seconds = 0.1, .seconds_per_byte = 1e-9};
const LinkEstimate kThin = {.latency_seconds = 1e-9, .seconds_per_byte = 1e-3};

std::vector<std::vector<float>> Gradients(int64_t step) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) gradients.push_back(test::Normals(kNumel, 20 * step + w));
  return gradients;
}

TEST(CallSeconds, OfRingsAndTreesWhereNothingIsConfigured) {
  const LinkEstimate link{.latency_seconds = 0.5, .seconds_per_byte = 0.25};
  const std::vector<int64_t> bytes(kWorkers, 100);
  CollectiveCall call;
  EXPECT_DOUBLE_EQ(CallSeconds(link, call, 25, bytes), 7 * (0.5 + 25));
  call.collective = Collective::kAllReduce;
  EXPECT_DOUBLE_EQ(CallSeconds(link, call, 25, bytes), 14 * (0.5 + 25.0 / 8));
  call.collective = Collective::kBroadcast;
  EXPECT_DOUBLE_EQ(CallSeconds(link, call, 25, bytes), 3 * (0.5 + 25));
  EXPECT_EQ(CallSeconds(link, call, 25, std::span(bytes).first(1)), 0);
}

// The scheme asks the network for the time of the messages that it sends, to the byte, in the
// collective calls that carry them.
TEST(FlexibleTopK, DecidesByItsMessagesOnTheConfiguredCollectives) {
  for (const bool reduce_is_faster : {false, true}) {
    std::map<Collective, std::vector<int64_t>> asked;
    LinkEstimate link = kThin;
    link.call_seconds = [&](const CollectiveCall& call, int64_t elements,
                            std::span<const int64_t> bytes) {
      EXPECT_EQ(elements, kNumel);
      asked[call.collective] = {bytes.begin(), bytes.end()};
      return (call.collective == Collective::kAllGather) == reduce_is_faster ? 3.0 : 1.0;
    };
    for (const char* text : {"flexible-topk", "flexible-topk:index=u32"}) {
      const auto flexible = MakeScheme(text)->Open(test::MakeUnit(kNumel), kWorkers);
      std::vector<Message> sent;
      test::RunStep(*flexible, {.info = {.link = link}, .parameter = kDensity}, Gradients(0),
                    &sent);
      ASSERT_EQ(sent.size(), size_t{kWorkers} * (reduce_is_faster ? 2 : 1));
      for (int w = 0; w < kWorkers; ++w) {
        const auto own = static_cast<int64_t>(sent[w].size());
        if (!reduce_is_faster) {
          EXPECT_EQ(asked[Collective::kAllGather][w], own);
          continue;
        }
        EXPECT_EQ(asked[Collective::kBroadcast][w], own);
        EXPECT_EQ(asked[Collective::kAllReduce][w],
                  static_cast<int64_t>(sent[kWorkers + w].size()));
      }
    }
  }
}

TEST(FlexibleTopK, TakesTheFasterCollectiveWithOneResidual) {
  const auto scheme = MakeScheme("flexible-topk");
  EXPECT_TRUE(scheme->Traits().reads_network);
  EXPECT_FALSE(MakeScheme("flexible-topk:mode=gather")->Traits().reads_network);
  const auto flexible = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  const auto topk = MakeScheme("topk")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto reduce = MakeScheme("ar-topk")->Open(test::MakeUnit(kNumel), kWorkers);
  const auto gradients = Gradients(0);
  EXPECT_EQ(
      test::RunStep(*flexible, {.info = {.link = kSlowStart}, .parameter = kDensity}, gradients),
      test::RunStep(*topk, {.parameter = kDensity}, gradients));
  const auto other = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  EXPECT_EQ(test::RunStep(*other, {.info = {.link = kThin}, .parameter = kDensity}, gradients),
            test::RunStep(*reduce, {.parameter = kDensity}, gradients));
  // The second way sends the residual of the first.
  std::vector<double> computed(kNumel), sent(kNumel);
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  for (int64_t step = 0; step < 12; ++step) {
    const auto now = Gradients(step);
    const auto mean = test::RunStep(
        *exchange,
        {.info = {.step = step, .link = step % 3 == 1 ? kThin : kSlowStart}, .parameter = kDensity},
        now);
    for (int64_t i = 0; i < kNumel; ++i) {
      double residual = 0;
      sent[i] += mean[i];
      for (int w = 0; w < kWorkers; ++w) {
        computed[i] += double{now[w][i]} / kWorkers;
        residual += double{exchange->Residual(w)[i]} / kWorkers;
      }
      ASSERT_NEAR(sent[i] + residual, computed[i], 1e-4);
    }
  }
}

TEST(ArTopK, TheRootHasTheGradientOfLargestVariance) {
  const auto scheme = MakeScheme("ar-topk:root=variance");
  const Unit unit = test::MakeUnit(kNumel);
  const auto exchange = scheme->Open(unit, kWorkers);
  auto gradients = Gradients(1);
  for (float& x : gradients[5]) x *= 3;
  for (float& x : gradients[6]) x += 100;  // large, and all alike
  exchange->Begin({.parameter = kDensity});
  const CollectiveCall variances = exchange->NextCall().value();
  EXPECT_EQ(variances.collective, Collective::kAllGather);
  std::vector<Message> messages;
  for (int w = 0; w < kWorkers; ++w) messages.push_back(exchange->Encode(w, gradients[w]));
  EXPECT_EQ(messages[0].size(), 4);
  for (int w = 0; w < kWorkers; ++w) exchange->Accumulate(w, messages[w].bytes);
  exchange->FinishCall();
  EXPECT_EQ(exchange->NextCall()->root, 5);
  // In another step it is that worker's turn, with the same gradients.
  const auto turn = MakeScheme("ar-topk")->Open(unit, kWorkers);
  const auto whole = scheme->Open(unit, kWorkers);
  EXPECT_EQ(test::RunStep(*whole, {.info = {.step = 0}, .parameter = kDensity}, gradients),
            test::RunStep(*turn, {.info = {.step = 5}, .parameter = kDensity}, gradients));
  EXPECT_EQ(scheme->MessageBytes(unit, kDensity),
            4 + *MakeScheme("ar-topk")->MessageBytes(unit, kDensity));
}

TEST(ArTopK, RefusesInvalidVariances) {
  const auto exchange = MakeScheme("ar-topk:root=variance")->Open(test::MakeUnit(4), 1);
  for (const float bad : {-1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    exchange->Begin({.parameter = 0.5});
    ASSERT_TRUE(exchange->NextCall());
    Bytes bytes(4);
    std::memcpy(bytes.data(), &bad, 4);
    EXPECT_THROW(exchange->Accumulate(0, bytes), Error) << bad;
    EXPECT_THROW(exchange->Accumulate(0, Bytes(3)), Error);
  }
}

}  // namespace
}  // namespace legacy::flexible_topk_test