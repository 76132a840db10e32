#include "compress/codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "compress/codecs/quantiser_codec.h"
#include "compress/density.h"
#include "tests/compress/test_data.h"

namespace legacy::codec_test {
namespace {

CodecContext Context(double parameter, uint32_t unit = 0, uint64_t step = 0) {
  CodecContext context;
  context.unit = unit;
  context.parameter = parameter;
  context.random = {.seed = 11, .step = step};
  return context;
}

std::vector<float> Decode(const Codec& codec, const Message& message, const CodecContext& context,
                          size_t numel) {
  std::vector<float> sum(numel);
  codec.DecodeAdd(message.bytes, context, sum);
  return sum;
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

double SquaredDistance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
  return sum;
}

TEST(KeptCount, FloorButAtLeastOne) {
  for (int64_t j = 1; j < 20000; ++j) {
    ASSERT_EQ(KeptCount(100 * j, 0.01), j);
    ASSERT_EQ(KeptCount(100 * j, 0.29), 29 * j);
    ASSERT_EQ(KeptCount(1000 * j, 0.001), j);
    ASSERT_EQ(KeptCount(100 * j - 1, 0.01), std::max<int64_t>(j - 1, 1));
  }
  EXPECT_EQ(KeptCount(4000000000, 0.29), 1160000000);
  EXPECT_EQ(KeptCount(10, 0), 1);
  EXPECT_EQ(KeptCount(10, 1), 10);
  EXPECT_EQ(KeptCount(0, 1), 0);
}

TEST(MakeCodec, NamesAndOptions) {
  for (const std::string& name : CodecNames()) EXPECT_EQ(MakeCodec(name)->Name(), name);
  EXPECT_THROW(MakeCodec("top-k"), Error);
  EXPECT_EQ(MakeCodec("topk:index=u32+fp16")->Name(), "topk+fp16");
  for (const char* bad :
       {"dense:index=u32", "topk:index=none", "topk:unbiased=on", "dense+fp16", "randomk:index=u32",
        "topk+topk", "topk+fp16+fp16", "topk:", "+fp16", ""}) {
    EXPECT_THROW(MakeCodec(bad), Error) << bad;
  }
}

// For every codec, size and input, the length formula holds, messages decode, and decode(m) + r' ==
// e up to the rounding of one subtraction.
TEST(EveryCodec, LengthAndResidual) {
  for (const std::string& name : CodecNames()) {
    const auto codec = MakeCodec(name);
    for (const int64_t n : {0, 1, 2, 9, 100, 3001}) {
      for (const auto& input : test::HardInputs(n)) {
        for (const double parameter : test::SomeParameters(codec->Parameter())) {
          const CodecContext context = Context(parameter, 5);
          auto residual = input;
          const Message message = codec->EncodeWithFeedback({}, residual, context);
          const auto length = codec->MessageBytes(test::MakeUnit(n, 5), parameter);
          if (length) {
            ASSERT_EQ(message.size(), *length) << name << " " << n << " " << parameter;
          }
          const auto decoded = Decode(*codec, message, context, n);
          for (int64_t i = 0; i < n; ++i) {
            const double slack =
                0x1p-23 * std::abs(double{decoded[i]}) + 0x1p-23 * std::abs(residual[i]);
            ASSERT_NEAR(double{decoded[i]} + residual[i], input[i], slack)
                << name << " " << n << " " << parameter;
          }
        }
      }
    }
  }
}

// Quantisers subtract what they sent from the residual in parts. The result has the bits, signs of
// zeros included, of decoding the whole message at once.
TEST(QuantiserCodec, FeedbackLeavesTheBitsOfADecodedMessage) {
  for (const QuantiserRow& row : QuantiserTable()) {
    const QuantiserCodec codec(MakeQuantiser({row.info.name}));
    const CodecContext context = Context(codec.Parameter().fallback, 5);
    for (const int64_t n : {0, 1, 4095, 4096, 4097, 9001}) {
      for (const auto& input : test::HardInputs(n)) {
        const auto gradient = test::Normals(n, 9);
        auto residual = input, expected = input;
        const Message message = codec.EncodeWithFeedback(gradient, residual, context, nullptr);
        ASSERT_EQ(message.bytes,
                  codec.Codec::EncodeWithFeedback(gradient, expected, context).bytes);
        ASSERT_TRUE(test::SameBits(residual, expected)) << row.info.name << " " << n;
      }
      std::vector<float> zeros(n, -0.0f), expected = zeros;
      codec.EncodeWithFeedback({}, zeros, context, nullptr);
      codec.Codec::EncodeWithFeedback({}, expected, context);
      ASSERT_TRUE(test::SameBits(zeros, expected)) << row.info.name << " " << n;
    }
  }
}

TEST(EveryCodec, RefusesNonFiniteValuesAndNamesTheUnit) {
  for (const std::string& name : CodecNames()) {
    const auto codec = MakeCodec(name);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
      auto values = test::Normals(50, 1);
      values[33] = bad;
      try {
        codec->Encode(values, Context(codec->Parameter().fallback, 7));
        FAIL() << name;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("unit 7, element 33"), std::string::npos)
            << error.what();
      }
    }
  }
}

TEST(EveryCodec, RefusesParametersOutsideTheRange) {
  const auto values = test::Normals(10, 1);
  for (const std::string& name : CodecNames()) {
    const auto codec = MakeCodec(name);
    const ParameterSpec& spec = codec->Parameter();
    if (spec.name.empty()) continue;
    for (const double bad : {spec.minimum - 0.1, spec.maximum + 0.1, std::nan("")}) {
      EXPECT_THROW(codec->Encode(values, Context(bad)), Error) << name << " " << bad;
    }
  }
}

TEST(EveryCodec, RefusesAMessageOfAnotherUnitSizeOrCodec) {
  const auto values = test::Normals(64, 1);
  std::vector<float> sum(64), longer(65);
  for (const std::string& name : CodecNames()) {
    const auto codec = MakeCodec(name);
    const double parameter = codec->Parameter().fallback;
    const Message message = codec->Encode(values, Context(parameter, 1));
    EXPECT_THROW(codec->DecodeAdd(message.bytes, Context(parameter, 2), sum), Error) << name;
    EXPECT_THROW(codec->DecodeAdd(message.bytes, Context(parameter, 1), longer), Error) << name;
    for (const std::string& other : CodecNames()) {
      if (other == name) continue;
      const auto decoder = MakeCodec(other);
      const CodecContext context = Context(decoder->Parameter().fallback, 1);
      EXPECT_THROW(decoder->DecodeAdd(message.bytes, context, sum), Error) << name << " " << other;
    }
  }
  EXPECT_EQ(sum, std::vector<float>(64));
}

TEST(TopK, EqualsSortUnderEveryCoding) {
  for (const std::string text : {"u16", "u32", "bitmap", "packed", "delta"}) {
    const auto codec = MakeCodec("topk:index=" + text);
    for (const auto& input : test::HardInputs(500)) {
      std::vector<float> expected(500);
      for (const uint32_t i : test::SortedTopK(input, 50)) expected[i] = input[i];
      const auto context = Context(0.1);
      EXPECT_EQ(Decode(*codec, codec->Encode(input, context), context, 500), expected);
    }
    EXPECT_EQ(codec->MessageBytes(test::MakeUnit(500), 0.1).has_value(), text != "delta");
  }
}

TEST(TopK, ContractsByItsDensity) {
  const auto codec = MakeCodec("topk");
  for (const auto& input : test::HardInputs(1000)) {
    for (const double density : {0.001, 0.01, 0.1, 0.9}) {
      auto residual = input;
      codec->EncodeWithFeedback({}, residual, Context(density));
      const double bound = (1 - KeptCount(1000, density) / 1000.0) * Squared(input);
      EXPECT_LE(Squared(residual), bound * (1 + 1e-6));
    }
  }
}

TEST(TopK, SendsAllWithoutPositions) {
  const auto codec = MakeCodec("topk");
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(10), 1), 16 + 40);
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(10), 0.9), 16 + 36 + 2);
}

TEST(TopK, AddsToWhatTheSumHolds) {
  const auto codec = MakeCodec("topk");
  const std::vector<float> input = {0, -3, 1, 0};
  const Message message = codec->Encode(input, Context(0.5));
  std::vector<float> sum = {1, 1, 1, 1};
  codec->DecodeAdd(message.bytes, Context(0.5), sum);
  codec->DecodeAdd(message.bytes, Context(0.5), sum);
  EXPECT_EQ(sum, (std::vector<float>{1, -5, 3, 1}));
}

TEST(RandomK, SharedSupportThatChangesWithTheStep) {
  const auto codec = MakeCodec("randomk");
  const std::vector<float> ones(200, 1), twos(200, 2);
  const auto support = [&](const std::vector<float>& input, CodecContext context) {
    std::vector<size_t> positions;
    const auto decoded = Decode(*codec, codec->Encode(input, context), context, 200);
    for (size_t i = 0; i < 200; ++i) {
      if (decoded[i] != 0) positions.push_back(i);
    }
    return positions;
  };
  CodecContext other_worker = Context(0.1);
  other_worker.random.worker = 3;
  EXPECT_EQ(support(ones, Context(0.1)).size(), 20u);
  EXPECT_EQ(support(ones, Context(0.1)), support(twos, other_worker));
  EXPECT_NE(support(ones, Context(0.1)), support(ones, Context(0.1, 0, 1)));
  EXPECT_NE(support(ones, Context(0.1)), support(ones, Context(0.1, 1)));
}

// As sent, E||x - C(x)||^2 = (1 - k/n) ||x||^2 within 3 standard errors; scaled by n/k, E C(x) = x.
TEST(RandomK, Moments) {
  constexpr int64_t kNumel = 40, kDraws = 4000;
  const auto input = test::Normals(kNumel, 4);
  const auto plain = MakeCodec("randomk");
  const auto unbiased = MakeCodec("randomk:unbiased=on");
  double sum = 0, squares = 0;
  std::vector<double> mean(kNumel);
  for (uint64_t step = 0; step < kDraws; ++step) {
    const auto context = Context(0.25, 0, step);
    const auto decoded = Decode(*plain, plain->Encode(input, context), context, kNumel);
    const double error = SquaredDistance(input, decoded);
    sum += error;
    squares += error * error;
    const auto scaled = Decode(*unbiased, unbiased->Encode(input, context), context, kNumel);
    for (int64_t i = 0; i < kNumel; ++i) mean[i] += scaled[i] / double{kDraws};
  }
  const double average = sum / kDraws;
  const double deviation = std::sqrt((squares / kDraws - average * average) / kDraws);
  EXPECT_NEAR(average, 0.75 * Squared(input), 3 * deviation);
  for (int64_t i = 0; i < kNumel; ++i) {
    EXPECT_NEAR(mean[i], input[i], 4.5 * std::abs(input[i]) * std::sqrt(3.0 / kDraws));
  }
  EXPECT_TRUE(plain->AllowsErrorFeedback(0.25));
  EXPECT_FALSE(unbiased->AllowsErrorFeedback(0.25));
}

}  // namespace
}  // namespace legacy::codec_test