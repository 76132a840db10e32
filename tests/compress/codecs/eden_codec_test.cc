#include "compress/codecs/eden_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/lloyd_max.h"
#include "tests/compress/test_data.h"

namespace legacy::eden_codec_test {
namespace {

CodecContext Context(double bits, uint64_t step = 0) {
  CodecContext context;
  context.parameter = bits;
  context.random = {.seed = 11, .step = step, .worker = 3, .layer = 4};
  return context;
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

// Signs by definition: those of a step, a layer and kRotation, which all workers share.
std::vector<double> SignsOf(const CodecContext& context, int64_t n) {
  RandomKey key = context.random;
  key.worker = 0;
  key.purpose = Purpose::kRotation;
  RandomStream stream(key);
  std::vector<double> signs;
  for (uint32_t word = 0; std::ssize(signs) < n; word >>= 1) {
    if (signs.size() % 32 == 0) word = stream.NextU32();
    signs.push_back(word & 1 ? -1 : 1);
  }
  return signs;
}

std::vector<int64_t> Pieces(int64_t n, int64_t block) {
  std::vector<int64_t> pieces(n / block, block);
  for (int64_t rest = n % block, power = block; power > 0; power /= 2) {
    if (rest & power) pieces.push_back(power);
  }
  return pieces;
}

// Transforms each piece in double precision by the definition of the transform.
std::vector<double> Transformed(const std::vector<double>& x, int64_t block) {
  std::vector<double> y;
  size_t begin = 0;
  for (const int64_t length : Pieces(std::ssize(x), block)) {
    std::vector<double> piece(x.begin() + begin, x.begin() + begin + length);
    for (int64_t distance = 1; distance < length; distance *= 2) {
      for (int64_t i = 0; i < length; ++i) {
        if (i & distance) continue;
        const double a = piece[i], b = piece[i + distance];
        piece[i] = a + b;
        piece[i + distance] = a - b;
      }
    }
    for (const double v : piece) y.push_back(v / std::sqrt(length));
    begin += length;
  }
  return y;
}

struct Expected {
  std::vector<double> z;
  std::vector<uint8_t> codes;
  double unbiased = 0, least = 0;
};

Expected Oracle(std::span<const float> x, int bits, int64_t block, const CodecContext& context) {
  const auto n = std::ssize(x);
  const auto signs = SignsOf(context, n);
  std::vector<double> signed_x;
  for (int64_t i = 0; i < n; ++i) signed_x.push_back(x[i] * signs[i]);
  const auto y = Transformed(signed_x, block);
  const auto centroids = cpu::NormalCentroids(bits);
  Expected expected;
  double product = 0, squared = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double z = y[i] * std::sqrt(n / Squared(x));
    size_t code = 0;
    for (size_t c = 0; c + 1 < centroids.size(); ++c)
      code += z >= (centroids[c] + centroids[c + 1]) / 2;
    expected.z.push_back(z);
    expected.codes.push_back(static_cast<uint8_t>(code));
    product += centroids[code] * y[i];
    squared += centroids[code] * centroids[code];
  }
  expected.unbiased = Squared(x) / product;
  expected.least = product / squared;
  return expected;
}

float ScaleOf(const Message& message) {
  float scale = 0;
  std::memcpy(&scale, message.bytes.data() + kExtendedHeaderBytes, sizeof scale);
  return scale;
}

std::vector<uint8_t> CodesOf(const Message& message, int bits, int64_t n) {
  std::vector<uint8_t> codes(n);
  cpu::UnpackCodes(std::span(message.bytes).subspan(kExtendedHeaderBytes + 4), bits, codes);
  return codes;
}

std::vector<float> Decoded(const Codec& codec, const Message& message, const CodecContext& context,
                           int64_t n) {
  std::vector<float> sum(n);
  codec.DecodeAdd(message.bytes, context, sum);
  return sum;
}

TEST(Eden, EqualsAnOracleInDoublePrecision) {
  for (const int64_t n : {1, 2, 3, 100, 8193}) {
    for (int bits = 1; bits <= 4; ++bits) {
      const EdenCodec codec(bits, 8192, EdenScale::kUnbiased);
      const EdenCodec least(bits, 8192, EdenScale::kLeast);
      const auto x = test::Normals(n, n);
      const CodecContext context = Context(bits);
      const Expected expected = Oracle(x, bits, 8192, context);
      const Message message = codec.Encode(x, context);
      EXPECT_NEAR(ScaleOf(message), expected.unbiased, 2e-6 * expected.unbiased) << n;
      EXPECT_NEAR(ScaleOf(least.Encode(x, context)), expected.least, 2e-6 * expected.least) << n;
      const auto codes = CodesOf(message, bits, n);
      const auto centroids = cpu::NormalCentroids(bits);
      int near = 0;  // values at the bound of a cell, to rounding
      for (int64_t i = 0; i < n; ++i) near += codes[i] != expected.codes[i];
      EXPECT_LE(near, n / 1000) << n << " " << bits;
      std::vector<double> sent;
      for (int64_t i = 0; i < n; ++i) sent.push_back(ScaleOf(message) * centroids[codes[i]]);
      const auto back = Transformed(sent, 8192);
      const auto signs = SignsOf(context, n);
      const auto decoded = Decoded(codec, message, context, n);
      for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(decoded[i], back[i] * signs[i], 3e-6) << n;
    }
  }
}

// Numbers of an independent program for blocks of 8 and a tail. They have signs of their own, which
// are replaced by those of the codec.
TEST(Eden, EqualsVectorsOfAnotherProgram) {
  constexpr int64_t kNumel = 13;
  const double x[] = {-1.1638341,  -4.10667536, -2.58705331, -0.643598181, 1.36938855,
                      2.19436284,  -1.03682962, 1.52888839,  -3.12596142,  -0.702532805,
                      -0.89301345, -2.71930077, 0.743393337};
  const int minus[] = {0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1};
  struct Case {
    int bits;
    std::vector<uint8_t> codes;
    double unbiased, least;
    std::vector<double> decoded;
  };
  const Case cases[] = {
      {1,
       {1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0},
       3.13707994,
       2.09682793,
       {0.0, -3.53981565, -3.53981565, -0.0, 3.53981565, 0.0, -0.0, 3.53981565, -2.50302765,
        -2.50302765, -2.50302765, -2.50302765, 2.50302765}},
      {2,
       {3, 0, 1, 0, 2, 2, 2, 1, 1, 3, 3, 2, 1},
       2.07680204,
       2.00913872,
       {-0.776581391, -3.65957798, -2.10641519, -0.776581391, 2.10641519, 2.32974417, -0.776581391,
        2.10641519, -3.13683837, -0.9403345, -0.9403345, -3.13683837, 0.9403345}},
      {3,
       {6, 1, 3, 0, 4, 4, 4, 2, 3, 6, 6, 4, 3},
       2.09222153,
       2.02531679,
       {-1.78844807, -4.13925797, -2.51364451, 0.162834603, 1.75779034, 2.65820737, -1.03259391,
        1.318216, -2.81175593, -0.512791318, -0.512791318, -2.81175593, 0.512791318}},
      {4,
       {13, 3, 6, 2, 9, 8, 8, 5, 6, 12, 13, 9, 6},
       2.11842407,
       2.10162568,
       {-1.24045427, -3.85653973, -2.55604339, -0.83793835, 1.22259754, 2.29146834, -0.990972004,
        1.62511346, -3.04446941, -0.438811856, -1.20528986, -3.04446941, 0.822050859}}};
  const CodecContext any = Context(1);
  const auto own = SignsOf(any, kNumel);
  std::vector<double> flips(kNumel);
  std::vector<float> input(kNumel);
  for (int64_t i = 0; i < kNumel; ++i) {
    flips[i] = own[i] * (minus[i] ? -1 : 1);
    input[i] = static_cast<float>(x[i] * flips[i]);
  }
  for (const Case& one : cases) {
    const CodecContext context = Context(one.bits);
    const EdenCodec codec(one.bits, 8, EdenScale::kAuto);
    const Message message = codec.Encode(input, context);
    EXPECT_EQ(CodesOf(message, one.bits, kNumel), one.codes);
    EXPECT_NEAR(ScaleOf(message), one.unbiased, 1e-6 * one.unbiased);
    const auto decoded = Decoded(codec, message, context, kNumel);
    for (int64_t i = 0; i < kNumel; ++i) {
      ASSERT_NEAR(decoded[i], one.decoded[i] * flips[i], 3e-6) << i;
    }
    auto residual = input;
    EXPECT_NEAR(ScaleOf(codec.EncodeWithFeedback({}, residual, context, nullptr)), one.least,
                1e-6 * one.least);
  }
}

TEST(Eden, ChoosesTheLeastErrorWithErrorFeedbackUnlessTold) {
  const auto x = test::Normals(500, 1);
  for (const auto scale : {EdenScale::kUnbiased, EdenScale::kLeast}) {
    const EdenCodec codec(2, 64, scale), chosen(2, 64, EdenScale::kAuto);
    auto residual = x;
    EXPECT_EQ(codec.Encode(x, Context(2)).bytes,
              codec.EncodeWithFeedback({}, residual, Context(2), nullptr).bytes);
    residual = x;
    EXPECT_EQ(scale == EdenScale::kUnbiased,
              codec.Encode(x, Context(2)).bytes == chosen.Encode(x, Context(2)).bytes);
    EXPECT_EQ(scale == EdenScale::kLeast,
              codec.Encode(x, Context(2)).bytes ==
                  chosen.EncodeWithFeedback({}, residual, Context(2), nullptr).bytes);
    EXPECT_EQ(codec.AllowsErrorFeedback(2), scale == EdenScale::kLeast);
    EXPECT_TRUE(chosen.AllowsErrorFeedback(2));
  }
}

// With one bit, (1, 1) becomes (2, 0) / sqrt(2) or (0, 2) / sqrt(2), and the unbiased error is
// ||x||^2, whatever the signs are.
TEST(Eden, UnbiasedMessagesCanErrByTheirInput) {
  const std::vector<float> x = {1, 1};
  for (uint64_t step = 0; step < 20; ++step) {
    const EdenCodec codec(1, 8192, EdenScale::kUnbiased);
    const CodecContext context = Context(1, step);
    const auto decoded = Decoded(codec, codec.Encode(x, context), context, 2);
    EXPECT_NEAR(std::pow(x[0] - decoded[0], 2) + std::pow(x[1] - decoded[1], 2), 2, 1e-5);
  }
}

double RelativeError(const Codec& codec, std::span<const float> x, int bits) {
  double error = 0;
  for (uint64_t step = 0; step < 4; ++step) {
    const CodecContext context = Context(bits, step);
    const auto decoded = Decoded(codec, codec.Encode(x, context), context, std::ssize(x));
    for (size_t i = 0; i < x.size(); ++i) error += std::pow(double{x[i]} - decoded[i], 2) / 4;
  }
  return error / Squared(x);
}

TEST(Eden, ErrsAsALongNormalVectorDoes) {
  const double unbiased[] = {.5708, .1331, .0358, .0096}, least[] = {.3634, .1175, .0345, .0095};
  auto spiked = test::Normals(1 << 15, 3);
  for (float& v : spiked) v = v * v * v;
  for (int bits = 1; bits <= 4; ++bits) {
    EXPECT_NEAR(RelativeError(EdenCodec(bits, 8192, EdenScale::kUnbiased), spiked, bits),
                unbiased[bits - 1], .03 * unbiased[bits - 1]);
    EXPECT_NEAR(RelativeError(EdenCodec(bits, 8192, EdenScale::kLeast), spiked, bits),
                least[bits - 1], .03 * least[bits - 1]);
  }
}

// Heavy tails, for which the signed transform is not a uniform rotation: its bias stays small.
TEST(Eden, IsNearlyUnbiased) {
  constexpr int kKeys = 3000;
  for (const int64_t n : {64, 1024}) {
    auto x = test::Normals(n, 7);
    const auto a = test::Normals(n, 8), b = test::Normals(n, 9), c = test::Normals(n, 10);
    for (int64_t i = 0; i < n; ++i) {  // Student's t of three degrees of freedom
      x[i] /= std::sqrt((a[i] * a[i] + b[i] * b[i] + c[i] * c[i]) / 3);
    }
    const EdenCodec codec(1, 8192, EdenScale::kUnbiased);
    std::vector<float> sum(n);
    for (int key = 0; key < kKeys; ++key) {
      const CodecContext context = Context(1, key);
      codec.DecodeAdd(codec.Encode(x, context).bytes, context, sum);
    }
    double bias = 0;
    for (int64_t i = 0; i < n; ++i) bias += std::pow(sum[i] / kKeys - x[i], 2);
    EXPECT_LT(std::sqrt(bias / Squared(x)), .03) << n;
  }
}

TEST(Eden, IsExactForOneValueInABlock) {
  std::vector<float> x(8192 + 5);
  x[77] = -3.5f;
  const EdenCodec codec(1, 16384, EdenScale::kUnbiased);
  std::vector<float> block(x.begin(), x.begin() + 8192);
  const auto decoded = Decoded(codec, codec.Encode(block, Context(1)), Context(1), 8192);
  for (size_t i = 0; i < block.size(); ++i) ASSERT_NEAR(decoded[i], block[i], 1e-5);
}

TEST(Eden, AddsRotatedValuesAndRotatesOnce) {
  constexpr int64_t kNumel = 3001;
  for (int bits = 1; bits <= 4; ++bits) {
    const EdenCodec codec(bits, 1024, EdenScale::kAuto);
    std::vector<float> sum(codec.SumSize(kNumel)), mean(kNumel), expected(kNumel);
    for (uint32_t worker = 0; worker < 5; ++worker) {
      CodecContext sender = Context(bits);
      sender.random.worker = worker;
      const Message message = codec.Encode(test::Normals(kNumel, worker), sender);
      CodecContext receiver = Context(bits);
      receiver.random.worker = 0;
      codec.Accumulate(message.bytes, kNumel, receiver, sum);
      codec.DecodeAdd(message.bytes, receiver, expected);
    }
    codec.MeanOf(sum, 5, Context(bits), mean);
    for (int64_t i = 0; i < kNumel; ++i) ASSERT_NEAR(mean[i], expected[i] / 5, 1e-5);
  }
}

// Workers with one gradient send one message if they share the rotation, and err together. With
// rotations of their own, the square of the mean's error falls with their number.
TEST(Eden, ErrorsOfEqualGradientsCancelWithOwnRotations) {
  constexpr int64_t kNumel = 4096;
  constexpr int kWorkers = 16;
  const auto x = test::Normals(kNumel, 5);
  const auto error = [&](EdenRotation rotation) {
    const EdenCodec codec(1, 1024, EdenScale::kUnbiased, rotation);
    std::vector<float> sum(kNumel), mean(kNumel);
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      CodecContext sender = Context(1);
      sender.random.worker = worker;
      const Message message = codec.Encode(x, sender);
      EXPECT_EQ(message.size(), codec.MessageBytes(test::MakeUnit(kNumel), 1));
      codec.Accumulate(message.bytes, kNumel, Context(1), sum);
    }
    codec.MeanOf(sum, kWorkers, Context(1), mean);
    for (int64_t i = 0; i < kNumel; ++i) mean[i] -= x[i];
    return Squared(mean) / Squared(x);
  };
  constexpr double kLimit = 0.5708;  // pi / 2 - 1
  EXPECT_NEAR(error(EdenRotation::kShared), kLimit, 0.03);
  EXPECT_NEAR(error(EdenRotation::kOwn), kLimit / kWorkers, 0.2 * kLimit / kWorkers);
}

TEST(Eden, ErrorTablesAreThoseOfMessages) {
  const auto x = test::Normals(5000, 4);
  for (const char* scale : {"unbiased", "least"}) {
    const auto codec = MakeCodec(std::string("eden:scale=") + scale);
    const std::vector<double> bits = {1, 2, 3, 4};
    const auto errors = codec->SquaredErrors(x, bits, Context(1));
    for (size_t b = 0; b < bits.size(); ++b) {
      auto residual = x;
      codec->EncodeWithFeedback({}, residual, Context(bits[b]));
      EXPECT_NEAR(errors[b], Squared(residual), 1e-4 * Squared(residual)) << scale;
    }
  }
}

TEST(Eden, HasTheBytesThatItSays) {
  const auto codec = MakeCodec("eden");
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(1000000), 1), 125024);
  EXPECT_EQ(codec->MessageBytes(test::MakeUnit(1000000), 2), 250024);
  for (const int64_t n : {0, 1, 7, 8, 9, 1000}) {
    for (const double bits : {1.0, 2.0, 3.0, 4.0}) {
      EXPECT_EQ(codec->Encode(test::Normals(n, 1), Context(bits)).size(),
                codec->MessageBytes(test::MakeUnit(n), bits));
    }
  }
}

TEST(Eden, KeepsTheSmallestAndTheLargestNumbers) {
  const EdenCodec codec(2, 8192, EdenScale::kAuto);
  for (const float magnitude : {0x1p-149f, 0x1p-140f, 0x1p-126f, 0x1p99f}) {
    auto x = test::Normals(300, 1);
    for (float& v : x) v = v > 0 ? magnitude : -magnitude;
    const auto decoded = Decoded(codec, codec.Encode(x, Context(2)), Context(2), 300);
    for (const float v : decoded) ASSERT_TRUE(std::isfinite(v));
    double product = 0;
    for (int i = 0; i < 300; ++i) product += double{x[i]} * decoded[i];
    EXPECT_NEAR(product / Squared(x), 1, magnitude < 0x1p-130f ? 1 : 0.01) << magnitude;
  }
  EXPECT_THROW(codec.Encode(std::vector<float>{0x1p101f}, Context(2)), Error);
}

TEST(Eden, RefusesWhatNoEncoderWrites) {
  constexpr int64_t kNumel = 21;
  const EdenCodec codec(2, 8, EdenScale::kAuto);
  const CodecContext context = Context(2);
  const Message good = codec.Encode(test::Normals(kNumel, 1), context);
  const auto refuses = [&](Message message, const CodecContext& given, const std::string& what) {
    std::vector<float> sum(kNumel, 1.0f);
    try {
      codec.DecodeAdd(message.bytes, given, sum);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
    EXPECT_EQ(sum, std::vector<float>(kNumel, 1.0f));
    EXPECT_THROW(codec.Accumulate(message.bytes, kNumel, given, sum), Error);
  };
  const auto scaled = [&](float scale) {
    Message message = good;
    std::memcpy(message.bytes.data() + kExtendedHeaderBytes, &scale, sizeof scale);
    return message;
  };
  for (const float scale : {-1.0f, -0.0f, std::nanf(""), HUGE_VALF, 0x1p120f}) {
    refuses(scaled(scale), context, "message: scale");
  }
  refuses(scaled(0), context, "a vector of zeros");
  const EdenCodec own(2, 8, EdenScale::kAuto, EdenRotation::kOwn);
  Message zeros = own.Encode(std::vector<float>(kNumel), context);
  std::vector<float> sum(kNumel);
  own.DecodeAdd(zeros.bytes, context, sum);
  zeros.bytes[kExtendedHeaderBytes + 4] = std::byte{1};
  EXPECT_THROW(own.DecodeAdd(zeros.bytes, context, sum), Error);
  EXPECT_THROW(own.DecodeAdd(good.bytes, context, sum), Error);
  Message message = good;
  message.bytes.back() |= std::byte{0x80};
  refuses(message, context, "padding bits");
  message = good;
  message.bytes[16] = static_cast<std::byte>(ExtendedMethod::kDct);
  refuses(message, context, "message: method");
  message = good;
  message.bytes[18] = std::byte{3};
  refuses(message, context, "message: parameter");
  refuses(good, Context(3), "message: parameter");
  message = good;
  message.bytes.pop_back();
  refuses(message, context, "bytes of the last segment");
  // All values in inner cells have too small a norm; S would be another message's.
  message = good;
  std::vector<uint8_t> inner(kNumel, 1);
  cpu::PackCodes(inner, 2, std::span(message.bytes).subspan(kExtendedHeaderBytes + 4));
  refuses(message, context, "codes that are so small");
}

}  // namespace
}  // namespace legacy::eden_codec_test
