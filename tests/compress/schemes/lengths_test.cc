// Messages whose lengths depend on the data, units that are sent uncompressed, and requantised
// sums.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"

namespace legacy::lengths_test {
namespace {

constexpr int kWorkers = 3;
constexpr int64_t kNumel = 500;

std::vector<std::vector<float>> Gradients() {
  return {test::Normals(kNumel, 1), test::Normals(kNumel, 2), test::Normals(kNumel, 3)};
}

TEST(Lengths, GoFirstAndAreChecked) {
  const auto scheme = MakeScheme("topk:index=delta");
  EXPECT_FALSE(scheme->MessageBytes(test::MakeUnit(kNumel), 0.1));
  const auto gradients = Gradients();
  const auto exchange = scheme->Open(test::MakeUnit(kNumel), kWorkers);
  std::vector<Message> messages;
  const auto mean = test::RunStep(*exchange, {.parameter = 0.1}, gradients, &messages);
  EXPECT_EQ(mean, test::RunStep(*MakeScheme("topk")->Open(test::MakeUnit(kNumel), kWorkers),
                                {.parameter = 0.1}, gradients));
  ASSERT_EQ(messages.size(), 2 * kWorkers);
  for (int w = 0; w < kWorkers; ++w) {
    uint32_t length = 0;
    ASSERT_EQ(messages[w].size(), sizeof length);
    std::memcpy(&length, messages[w].bytes.data(), sizeof length);
    EXPECT_EQ(length, messages[kWorkers + w].size());
  }
  // A message is refused if its length is not the announced one.
  exchange->Begin({.parameter = 0.1});
  const CollectiveCall lengths = exchange->NextCall().value();
  EXPECT_EQ(lengths.collective, Collective::kAllGather);
  EXPECT_FALSE(lengths.encode.empty());
  EXPECT_TRUE(lengths.decode.empty());
  for (int w = 0; w < kWorkers; ++w) {
    Message message = exchange->Encode(w, gradients[w]);
    if (w == 1) message.bytes[0] ^= std::byte{1};
    exchange->Accumulate(w, message.bytes);
  }
  exchange->FinishCall();
  const CollectiveCall values = exchange->NextCall().value();
  EXPECT_TRUE(values.encode.empty());
  EXPECT_EQ(values.decode.front().elements, kWorkers * kNumel / 10);
  exchange->Accumulate(0, exchange->Encode(0, {}).bytes);
  EXPECT_THROW(exchange->Accumulate(1, exchange->Encode(1, {}).bytes), Error);
}

TEST(Lengths, ElementsSentIsTheMeanOfWhatWasSent) {
  const auto exchange = MakeScheme("threshold")->Open(test::MakeUnit(4), 2);
  const std::vector<std::vector<float>> gradients = {{9, 9, 9, 9}, {0, 9, 0, 9}};
  test::RunStep(*exchange, {.parameter = 5}, gradients);
  EXPECT_EQ(exchange->ElementsSent(), 3);
  test::RunStep(*exchange, {.parameter = 100}, {{0, 0, 0, 0}, {0, 0, 0, 0}});
  EXPECT_EQ(exchange->ElementsSent(), 0);
}

TEST(LeftOut, UnitsAreSentWholeWithoutResidual) {
  const auto scheme = MakeScheme("topk:min_numel=600");
  const Unit small = test::MakeUnit(kNumel);
  EXPECT_FALSE(scheme->Compresses(small, 0.01));
  EXPECT_TRUE(scheme->Compresses(test::MakeUnit(600), 0.01));
  EXPECT_EQ(scheme->ElementsSent(small, 0.01), kNumel);
  EXPECT_EQ(scheme->MessageBytes(small, 0.01), 16 + 4 * kNumel);
  EXPECT_EQ(scheme->SquaredErrors(small, Gradients()[0], std::vector<double>{0.01}, {}),
            std::vector<double>{0});
  const auto exchange = scheme->Open(small, kWorkers);
  exchange->Begin({.parameter = 0.01});
  EXPECT_EQ(exchange->NextCall()->collective, Collective::kAllReduce);
  EXPECT_EQ(test::RunStep(*exchange, {.parameter = 0.01}, Gradients()),
            test::RunStep(*MakeScheme("dense")->Open(small, kWorkers), {}, Gradients()));
  EXPECT_EQ(exchange->ElementsSent(), kNumel);
  EXPECT_TRUE(exchange->Residual(0).empty());
}

TEST(Requantised, SumsErrAtMostTwiceAsMuch) {
  for (const std::string name : {"qsgd", "maxmin", "qsgd:rounding=nearest"}) {
    const std::string option = name.find(':') == std::string::npos ? ":bucket=64" : ",bucket=64";
    const auto gather = MakeScheme(name + option, {.error_feedback = false});
    const auto requantise =
        MakeScheme(name + option + ",reduction=requantise", {.error_feedback = false});
    EXPECT_TRUE(requantise->Traits().depends_on_collective);
    EXPECT_FALSE(gather->Traits().depends_on_collective);
    for (const int64_t numel : {0, 1, 63, 64, 65, 500}) {
      for (const int workers : {1, 2, 5}) {
        const Unit unit = test::MakeUnit(numel);
        EXPECT_EQ(requantise->MessageBytes(unit, 4), gather->MessageBytes(unit, 4));
        std::vector<std::vector<float>> gradients;
        std::vector<double> exact(numel);
        double single = 0;  // expected squared error of one message
        for (int w = 0; w < workers; ++w) {
          gradients.push_back(test::Normals(numel, 30 + w));
          for (int64_t i = 0; i < numel; ++i) exact[i] += double{gradients[w][i]} / workers;
          single = std::max(
              single, gather->SquaredErrors(unit, gradients[w], std::vector<double>{4}, {})[0]);
        }
        const auto exchange = requantise->Open(unit, workers);
        exchange->Begin({.parameter = 4});
        const CollectiveCall call = exchange->NextCall().value();
        EXPECT_EQ(call.reduction, Reduction::kRequantisedSum);
        EXPECT_EQ(call.collective, Collective::kAllReduce);
        constexpr int kSteps = 20;
        double error = 0;
        for (int64_t step = 0; step < kSteps; ++step) {
          const UnitStep context{.info = {.seed = 1, .step = step}, .parameter = 4};
          const auto mean = test::RunStep(*exchange, context, gradients);
          for (int64_t i = 0; i < numel; ++i) {
            error += std::pow(exact[i] - double{mean[i]}, 2) / kSteps;
          }
          if (numel == 500 && workers == 5) {
            ASSERT_NE(mean, test::RunStep(*gather->Open(unit, workers), context, gradients));
          }
        }
        EXPECT_LE(std::sqrt(error), 2 * std::sqrt(single) + 1e-6) << name << numel << workers;
      }
    }
  }
}

TEST(Requantised, OnlyOfQuantisersInBuckets) {
  for (const char* bad : {"topk:reduction=requantise", "dense:reduction=requantise",
                          "fp16:reduction=requantise", "qsgd:reduction=sum",
                          "qsgd:reduction=requantise,code=elias", "sign:reduction=requantise"}) {
    EXPECT_THROW(MakeScheme(bad, {.error_feedback = false}), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::lengths_test