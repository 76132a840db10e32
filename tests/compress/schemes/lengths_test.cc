// Messages whose lengths depend on the data, units that are left out, and requantised sums.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compress/codecs/common.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/cpu/vector.h"
#include "compress/error.h"
#include "compress/schemes/codec_scheme.h"
#include "tests/compress/test_data.h"

namespace legacy {
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
  // A message that is not as long as was said is refused.
  exchange->Begin({.parameter = 0.1});
  const Round lengths = exchange->NextRound().value();
  EXPECT_EQ(lengths.primitive, Primitive::kAllGather);
  EXPECT_FALSE(lengths.encode.empty());
  EXPECT_TRUE(lengths.decode.empty());
  for (int w = 0; w < kWorkers; ++w) {
    Message message = exchange->Encode(w, gradients[w]);
    if (w == 1) message.bytes[0] ^= std::byte{1};
    exchange->Accumulate(w, message.bytes);
  }
  exchange->FinishRound();
  const Round values = exchange->NextRound().value();
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
  EXPECT_EQ(exchange->NextRound()->primitive, Primitive::kAllReduce);
  EXPECT_EQ(test::RunStep(*exchange, {.parameter = 0.01}, Gradients()),
            test::RunStep(*MakeScheme("dense")->Open(small, kWorkers), {}, Gradients()));
  EXPECT_EQ(exchange->ElementsSent(), kNumel);
  EXPECT_TRUE(exchange->Residual(0).empty());
}

// Signed bytes by the largest magnitude of eight values, rounded to nearest.
class ByteQuantiser : public Quantiser {
 public:
  std::string_view Name() const override { return "bytes"; }
  ValueType Type() const override { return ValueType::kUniform; }
  const ParameterSpec& Parameter() const override { return NoParameter(); }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t Bucket() const override { return 8; }
  std::optional<int64_t> SegmentBytes(int64_t count, double) const override {
    return count + 4 * ((count + 7) / 8);
  }
  Work EncodeWork(int64_t count, double) const override { return {"quantise.encode", count, 1}; }
  Work DecodeWork(int64_t count, double) const override { return {"quantise.decode", count, 1}; }
  void Encode(std::span<const float> values, double, const CodecContext&,
              Bytes& out) const override {
    for (size_t begin = 0; begin < values.size(); begin += 8) {
      const auto bucket = values.subspan(begin, std::min<size_t>(8, values.size() - begin));
      const float largest = cpu::AbsMax(bucket);
      AppendFloats({&largest, 1}, out);
      for (const float x : bucket) {
        const float level = largest == 0 ? 0 : std::round(x / largest * 127);
        out.push_back(static_cast<std::byte>(static_cast<int8_t>(level)));
      }
    }
  }
  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    CheckLength(segment, *SegmentBytes(static_cast<int64_t>(values.size()), parameter));
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t bucket = i / 8 * 12;
      const auto level = static_cast<int8_t>(segment[bucket + 4 + i % 8]);
      values[i] = FloatAt(segment.subspan(bucket, 4), 0) * static_cast<float>(level) / 127;
    }
  }
  double SquaredError(std::span<const float> values, double parameter) const override {
    Bytes segment;
    Encode(values, parameter, {}, segment);
    std::vector<float> decoded(values.size());
    Decode(segment, parameter, decoded);
    double error = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      error += std::pow(double{values[i]} - double{decoded[i]}, 2);
    }
    return error;
  }
};

TEST(Requantised, SumsErrAtMostTwiceAsMuch) {
  const auto scheme = [](bool requantise) {
    return CodecScheme(std::make_unique<QuantiserCodec>(std::make_unique<ByteQuantiser>()),
                       {.memory = {.kind = MemoryKind::kNone}, .requantise = requantise});
  };
  EXPECT_TRUE(scheme(true).DependsOnCollective());
  EXPECT_FALSE(scheme(false).DependsOnCollective());
  for (const int64_t numel : {0, 1, 7, 8, 9, 100, 501}) {
    for (const int workers : {1, 2, 5}) {
      std::vector<std::vector<float>> gradients;
      std::vector<double> exact(numel);
      double single = 0;
      for (int w = 0; w < workers; ++w) {
        gradients.push_back(test::Normals(numel, 30 + w));
        for (int64_t i = 0; i < numel; ++i) exact[i] += double{gradients[w][i]} / workers;
        single = std::max(single, ByteQuantiser().SquaredError(gradients[w], 1));
      }
      const auto exchange = scheme(true).Open(test::MakeUnit(numel), workers);
      exchange->Begin({});
      const Round round = exchange->NextRound().value();
      EXPECT_EQ(round.reduction, Reduction::kRequantisedSum);
      EXPECT_EQ(round.primitive, Primitive::kAllReduce);
      const auto mean = test::RunStep(*exchange, {}, gradients);
      const auto gathered =
          test::RunStep(*scheme(false).Open(test::MakeUnit(numel), workers), {}, gradients);
      double error = 0;
      for (int64_t i = 0; i < numel; ++i) error += std::pow(exact[i] - double{mean[i]}, 2);
      EXPECT_LE(std::sqrt(error), 2 * std::sqrt(single) + 1e-6) << numel << " " << workers;
      if (workers == 5 && numel == 501) {
        EXPECT_NE(mean, gathered);
      }
    }
  }
}

TEST(Requantised, OnlyOfQuantisersInBuckets) {
  for (const char* bad : {"topk:reduction=requantise", "dense:reduction=requantise",
                          "fp16:reduction=requantise", "qsgd:reduction=sum"}) {
    EXPECT_THROW(MakeScheme(bad, {.error_feedback = false}), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy
