#include "compress/schemes/codec_scheme.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::codec_scheme_test {
namespace {

constexpr int kWorkers = 4;
constexpr int64_t kNumel = 777;

std::vector<std::vector<float>> Gradients(uint64_t seed) {
  std::vector<std::vector<float>> gradients;
  for (int w = 0; w < kWorkers; ++w) gradients.push_back(test::Normals(kNumel, seed + w));
  return gradients;
}

TEST(MakeScheme, NamesAndOptions) {
  for (const std::string& name : SchemeNames()) EXPECT_EQ(MakeScheme(name, {})->Name(), name);
  for (const char* bad : {"top-k", "ar-topk:unbiased=on", "ar-topk+fp16", "topk:min_numel=-1"}) {
    EXPECT_THROW(MakeScheme(bad, {}), Error) << bad;
  }
  EXPECT_THROW(MakeScheme("topk", {})->Open(test::MakeUnit(10), 0), Error);
}

TEST(CodecScheme, DenseIsTheMeanInWorkerOrder) {
  const auto exchange = MakeScheme("dense", {})->Open(test::MakeUnit(kNumel), kWorkers);
  const auto gradients = Gradients(1);
  const auto mean = test::RunStep(*exchange, {}, gradients);
  for (int64_t i = 0; i < kNumel; ++i) {
    float sum = 0;
    for (const auto& gradient : gradients) sum += gradient[i];
    ASSERT_EQ(mean[i], sum / kWorkers);
  }
}

// The oracle sorts fully: e = g + r, the mean of the kept parts, the rest as residual.
TEST(CodecScheme, TopKWithErrorFeedbackEqualsTheOracle) {
  const auto exchange = MakeScheme("topk", {})->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<std::vector<float>> residuals(kWorkers, std::vector<float>(kNumel));
  for (int64_t step = 0; step < 10; ++step) {
    const auto gradients = Gradients(10 * step);
    std::vector<float> expected(kNumel);
    for (int w = 0; w < kWorkers; ++w) {
      for (int64_t i = 0; i < kNumel; ++i) residuals[w][i] += gradients[w][i];
      for (const uint32_t i : test::SortedTopK(residuals[w], 38)) {
        expected[i] += residuals[w][i];
        residuals[w][i] = 0;
      }
    }
    for (float& x : expected) x /= kWorkers;
    ASSERT_EQ(test::RunStep(*exchange, {.info = {.step = step}, .parameter = 0.05}, gradients),
              expected);
  }
  EXPECT_EQ(exchange->ElementsSent(), 38);
}

// Active workers change from step to step; a worker's residual changes only in its own steps.
TEST(ActiveWorkers, FormTheMeanAndOthersKeepTheirState) {
  for (const std::string name : {"dense", "topk", "ar-topk"}) {
    const bool feedback = name != "dense";
    const auto scheme = MakeScheme(name, {.error_feedback = feedback});
    const auto exchange = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    const auto all = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    const auto three = scheme->Open(test::MakeUnit(kNumel), 3);
    const auto gradients = Gradients(1);
    EXPECT_EQ(
        test::RunStep(*exchange, {.info = {.active_workers = {0, 1, 2, 3}}, .parameter = 0.05},
                      gradients),
        test::RunStep(*all, {.parameter = 0.05}, gradients));
    EXPECT_EQ(exchange->Save(), all->Save()) << name;

    const auto fresh = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    const double before = test::ResidualSquared(*all, 2);
    const UnitStep step{.info = {.step = 2, .active_workers = {0, 1, 3}}, .parameter = 0.05};
    // Step 2 of three: AR-Topk's root is the last of them, here worker 3.
    const auto mean = test::RunStep(*fresh, step, gradients);
    EXPECT_EQ(mean, test::RunStep(*three, {.info = {.step = 2}, .parameter = 0.05},
                                  {gradients[0], gradients[1], gradients[3]}))
        << name;
    EXPECT_EQ(test::ResidualSquared(*fresh, 2), 0);
    EXPECT_EQ(test::ResidualSquared(*fresh, 3), test::ResidualSquared(*three, 2));
    test::RunStep(*all, step, gradients);
    EXPECT_EQ(test::ResidualSquared(*all, 2), before) << name;
    EXPECT_EQ(before > 0, feedback);
  }
}

TEST(CodecScheme, CallsHaveTheirCollectiveAndCost) {
  const auto call = [](const char* name) {
    const auto exchange = MakeScheme(name, {})->Open(test::MakeUnit(kNumel), kWorkers);
    exchange->Begin({.parameter = 0.01});
    return exchange->NextCall().value();
  };
  const CollectiveCall topk = call("topk");
  EXPECT_EQ(topk.reduction, Reduction::kConcat);
  EXPECT_EQ(topk.collective, Collective::kAllGather);
  EXPECT_EQ(topk.encode.at(0).kernel, "topk.encode");
  EXPECT_EQ(topk.encode.at(0).elements, kNumel);
  EXPECT_EQ(topk.decode.at(0).elements, 7 * kWorkers);
  for (const char* name : {"dense", "fp16", "randomk"}) {
    EXPECT_EQ(call(name).reduction, Reduction::kSum) << name;
    EXPECT_EQ(call(name).collective, Collective::kAllReduce) << name;
  }
  EXPECT_EQ(call("dense").encode.at(0).kernel, "copy");
  EXPECT_EQ(call("randomk").decode.at(0).elements, 7);
}

// The lengths that the network is told are those of the messages, at every worker and step, without
// looking at the data.
TEST(EveryScheme, MessagesHaveTheLengthKnownBeforehand) {
  for (const std::string& name : SchemeNames()) {
    const auto scheme = test::AnyScheme(name);
    const auto parameters = test::SomeParameters(scheme->Parameter());
    const Unit unit = test::MakeUnit(kNumel, 3);
    const auto exchange = scheme->Open(unit, kWorkers);
    for (int64_t step = 0; step < 3; ++step) {
      const double parameter = parameters[step % parameters.size()];
      const auto length = scheme->MessageBytes(unit, parameter);
      std::vector<Message> messages;
      const int64_t at = step + scheme->Traits().dense_steps;
      test::RunStep(*exchange, {.info = {.step = at}, .parameter = parameter}, Gradients(step),
                    &messages);
      if (!length) continue;
      std::vector<int64_t> sent(kWorkers);
      for (size_t i = 0; i < messages.size(); ++i) sent[i % kWorkers] += messages[i].size();
      EXPECT_EQ(*std::ranges::max_element(sent), *length) << name;
      if (name != "ar-topk") {
        EXPECT_EQ(*std::ranges::min_element(sent), *length) << name;
      }
      EXPECT_EQ(exchange->ElementsSent(), scheme->ElementsSent(unit, parameter)) << name;
    }
  }
}

// The mean comes from the bytes: a message with any byte changed is refused, or changes the mean.
TEST(Schemes, EveryByteCounts) {
  constexpr int64_t kSmall = 40;
  constexpr double kParameter = 0.2;
  const std::vector<float> gradient = test::Normals(kSmall, 3);
  for (const std::string name : {"dense", "fp16", "topk", "randomk", "ar-topk"}) {
    const auto scheme = MakeScheme(name, {.error_feedback = false});
    const auto run = [&](size_t message_index, size_t byte) {
      const auto exchange = scheme->Open(test::MakeUnit(kSmall), 1);
      exchange->Begin({.parameter = kParameter});
      size_t index = 0;
      for (; exchange->NextCall(); ++index) {
        Message message = exchange->Encode(0, index == 0 ? gradient : std::vector<float>());
        if (index == message_index && byte < message.bytes.size())
          message.bytes[byte] ^= std::byte{1};
        exchange->Accumulate(0, message.bytes);
        exchange->FinishCall();
      }
      std::vector<float> mean(kSmall);
      exchange->Mean(mean);
      return mean;
    };
    const auto honest = run(9, 0);
    for (size_t message = 0; message < (name == "ar-topk" ? 2u : 1u); ++message) {
      const auto length =
          static_cast<size_t>(*scheme->MessageBytes(test::MakeUnit(kSmall), kParameter));
      for (size_t byte = 0; byte < length; ++byte) {
        if (name == "ar-topk" && byte >= (message == 0 ? 16u + 5u : 16u + 32u)) break;
        try {
          EXPECT_NE(run(message, byte), honest) << name << " byte " << byte;
        } catch (const Error&) {  // refused, which is as good
        }
      }
    }
  }
}

TEST(EveryScheme, SameBitsWhateverTheThreads) {
  for (const std::string& name : SchemeNames()) {
    const auto scheme = test::AnyScheme(name);
    const double parameter = scheme->Parameter().fallback;
    const auto serial = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    const auto parallel = scheme->Open(test::MakeUnit(kNumel), kWorkers);
    for (int64_t step = 0; step < 3; ++step) {
      const UnitStep context{.info = {.seed = 2, .step = step}, .parameter = parameter};
      const auto gradients = Gradients(step);
      const auto expected = test::RunStep(*serial, context, gradients);
      parallel->Begin(context);
      for (bool first = true; parallel->NextCall(); first = false) {
        std::vector<Message> messages(kWorkers);
        std::vector<std::thread> threads;
        for (int w = 0; w < kWorkers; ++w) {
          threads.emplace_back([&, w] {
            messages[w] = parallel->Encode(w, first ? gradients[w] : std::span<const float>());
          });
        }
        for (std::thread& thread : threads) thread.join();
        for (int w = 0; w < kWorkers; ++w) parallel->Accumulate(w, messages[w].bytes);
        parallel->FinishCall();
      }
      std::vector<float> mean(kNumel);
      parallel->Mean(mean);
      ASSERT_EQ(mean, expected) << name;
    }
  }
}

TEST(EveryScheme, ParameterMayChangeAndOneWorkerIsEnough) {
  for (const std::string& name : SchemeNames()) {
    const auto scheme = test::AnyScheme(name);
    const auto exchange = scheme->Open(test::MakeUnit(1), 1);
    for (const double parameter : test::SomeParameters(scheme->Parameter())) {
      const auto mean = test::RunStep(*exchange, {.parameter = parameter}, {{0.5f}});
      EXPECT_TRUE(std::isfinite(mean[0])) << name;
    }
    const auto empty = scheme->Open(test::MakeUnit(0), 2);
    const double parameter = scheme->Parameter().fallback;
    EXPECT_TRUE(test::RunStep(*empty, {.parameter = parameter}, {{}, {}}).empty()) << name;
  }
}

}  // namespace
}  // namespace legacy::codec_scheme_test