#include "compress/codecs/fft_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <set>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/schemes/codec_step.h"
#include "tests/compress/test_data.h"

namespace legacy::fft_codec_test {
namespace {

CodecContext Context(double theta, uint32_t unit = 0) {
  CodecContext context;
  context.unit = unit;
  context.parameter = theta;
  return context;
}

std::vector<float> Decode(const Codec& codec, const Message& message, double theta, size_t numel) {
  std::vector<float> sum(numel);
  codec.DecodeAdd(message.bytes, Context(theta), sum);
  return sum;
}

double Squared(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

// Returns ||x - C(x)||^2.
double Error2(const Codec& codec, std::span<const float> x, double parameter) {
  const auto decoded = Decode(codec, codec.Encode(x, Context(parameter)), parameter, x.size());
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(double{x[i]} - decoded[i], 2);
  return sum;
}

TEST(KeptBins, ExactDecimalArithmetic) {
  for (int64_t bins = 1; bins <= 5000; ++bins) {
    for (const int percent : {0, 10, 30, 50, 70, 85, 90, 95, 99, 100}) {
      const int64_t exact = std::max<int64_t>(1, ((100 - percent) * bins + 99) / 100);
      ASSERT_EQ(KeptBins(bins, percent / 100.0), exact) << bins << " " << percent;
    }
  }
  EXPECT_EQ(KeptBins(2000000000, 0.85), 300000000);
  EXPECT_EQ(KeptBins(0, 0.5), 0);
}

TEST(Fft, SendsEverythingAtThetaZero) {
  const auto codec = MakeCodec("fft:chunk=64+fp32");
  for (const int64_t n : {0, 1, 2, 3, 5, 31, 32, 33, 64, 97, 100, 191, 1009, 4096 + 77}) {
    const auto x = test::Normals(n, n);
    EXPECT_LE(Error2(*codec, x, 0), 1e-12 * Squared(x)) << n;
  }
  EXPECT_TRUE(codec->Linear(100, 0));
  EXPECT_FALSE(codec->Linear(100, 0.5));
}

// The error is ||x - C(x)||^2 <= (1 - kept / bins) ||x||^2 at every length, without padding.
TEST(Fft, ContractsByWhatItKeeps) {
  const auto codec = MakeCodec("fft:chunk=256+fp32");
  const cpu::SpectrumPlan plan(256);
  for (const int64_t n : {1, 2, 3, 17, 40, 127, 256, 700, 1021}) {
    for (const auto& x : test::HardInputs(n)) {
      for (const double theta : {0.1, 0.5, 0.85, 0.99, 1.0}) {
        const auto bins = static_cast<double>(plan.Bins(n));
        // The last term is the rounding of denormals.
        const double rounding = 1e-11 * Squared(x) + 1e-88 * static_cast<double>(n);
        const double bound = (1 - static_cast<double>(KeptBins(plan.Bins(n), theta)) / bins);
        ASSERT_LE(Error2(*codec, x, theta), bound * Squared(x) * (1 + 1e-5) + rounding)
            << n << " " << theta;
      }
    }
  }
}

// White noise loses 1 - p (1 + ln(1 / p)) of its energy, with p = 1 - theta.
TEST(Fft, LosesTheKnownPartOfWhiteNoise) {
  const auto x = test::Normals(1 << 16, 8);
  for (const char* name : {"fft+fp32", "fft:chunk=65536+fp32", "fft:chunk=256+fp32"}) {
    const auto codec = MakeCodec(name);
    for (const auto& [p, part] :
         {std::pair(.5, .1534), {.15, .5654}, {.1, .6697}, {.05, .8002}, {.01, .9439}}) {
      const double tolerance = (p == .5 ? 0.02 : 0.01) * part;
      EXPECT_NEAR(Error2(*codec, x, 1 - p) / Squared(x), part, tolerance) << name << " " << p;
    }
  }
}

// A unit whose length is not a power of two loses no more than one whose length is; padding would
// lose more.
TEST(Fft, UnitsOfAnyLengthLoseNoMore) {
  const auto codec = MakeCodec("fft+fp32");
  for (const int64_t n : {1000, 71786}) {
    const auto x = test::Normals(n, 9);
    EXPECT_NEAR(Error2(*codec, x, 0.85) / Squared(x), .5654, .02) << n;
  }
}

TEST(Fft, KeepsSinesThatTopKCannot) {
  const int64_t n = 4096;
  std::vector<float> sinusoid(n), ramp(n);
  for (int64_t i = 0; i < n; ++i) {
    sinusoid[i] = static_cast<float>(std::sin(2 * std::numbers::pi * 37.0 * i / n + 0.4));
    ramp[i] = static_cast<float>(i) / n - 0.5f;
  }
  const auto fft = MakeCodec("fft+fp32");
  const auto topk = MakeCodec("topk");
  EXPECT_LE(Error2(*fft, sinusoid, 0.99), 1e-10 * Squared(sinusoid));
  EXPECT_GE(Error2(*topk, sinusoid, 0.01), 0.9 * Squared(sinusoid));
  EXPECT_LE(20 * Error2(*fft, ramp, 0.95), Error2(*topk, ramp, 0.05));
}

// At equal bytes and with the same quantiser, FFT loses less of smooth signals and Top-K less of
// heavy tails. On white Gaussian noise FFT gains because a position stands for two numbers.
TEST(Fft, LosesLessOfSmoothSignalsThanTopKAndMoreOfHeavyTails) {
  const int64_t n = 1 << 14;
  const auto fft = MakeCodec("fft+rbf:bits=8");
  const auto topk = MakeCodec("topk+rbf:bits=8");
  const Unit unit = test::MakeUnit(n);
  const int64_t bytes = *fft->MessageBytes(unit, 0.85);
  double density = 0;
  while (*topk->MessageBytes(unit, density + 0.001) <= bytes) density += 0.001;
  ASSERT_GT(density, 0.05);
  const auto noise = test::Normals(n, 3);
  std::vector<float> tails(n), walk(n);
  for (int64_t i = 0; i < n; ++i) tails[i] = noise[i] * noise[i] * noise[i];
  EXPECT_LT(Error2(*topk, tails, density), 0.7 * Error2(*fft, tails, 0.85));
  for (int64_t i = 1; i < n; ++i) walk[i] = 0.99f * walk[i - 1] + noise[i];
  EXPECT_LT(Error2(*fft, walk, 0.85), 0.3 * Error2(*topk, walk, density));
}

// With a bitmap, ratios tend to 32 / ((1 - theta) bits + 1 / 2).
TEST(Fft, RatiosOfTheBitmap) {
  const int64_t n = 1 << 24;
  for (const auto& [text, theta, ratio] : {std::tuple("fft:index=bitmap", .85, 16.0),
                                           {"fft:index=bitmap+rbf:bits=8", .85, 18.8},
                                           {"fft:index=bitmap", .90, 21.3},
                                           {"fft:index=bitmap+rbf:bits=8", .90, 24.6},
                                           {"fft:index=bitmap+rbf:bits=8", .95, 35.6},
                                           {"fft:index=bitmap+rbf:bits=8", .99, 55.2}}) {
    const int64_t bytes = *MakeCodec(text)->MessageBytes(test::MakeUnit(n), theta);
    EXPECT_NEAR(4.0 * n / static_cast<double>(bytes - kHeaderBytes), ratio, 0.1) << text << theta;
  }
  EXPECT_EQ(ShortestIndexCoding(2049, KeptBins(2049, .85)), IndexCoding::kBitmap);
}

TEST(Fft, LengthsAreThoseOfTheFormula) {
  for (const char* text : {"fft", "fft+fp32", "fft:index=u32+uniform:bits=5",
                           "fft:index=packed+bf16", "fft:index=bitmap,chunk=64+fp16"}) {
    const auto codec = MakeCodec(text);
    for (const int64_t n : {0, 1, 2, 3, 33, 1000, 8191}) {
      const auto x = test::Normals(n, 2);
      for (const double theta : {0.0, 0.5, 0.85, 1.0}) {
        EXPECT_EQ(codec->Encode(x, Context(theta)).size(),
                  codec->MessageBytes(test::MakeUnit(n), theta))
            << text << " " << n << " " << theta;
      }
    }
  }
  EXPECT_FALSE(MakeCodec("fft:index=delta")->MessageBytes(test::MakeUnit(100), 0.9));
}

TEST(Fft, NamesAndOptions) {
  EXPECT_EQ(MakeCodec("fft")->Name(), "fft");
  EXPECT_EQ(MakeCodec("fft+rbf:bits=8")->Name(), "fft");
  EXPECT_EQ(MakeCodec("fft+fp16")->Name(), "fft+fp16");
  EXPECT_EQ(MakeCodec("fft")->Parameter().name, "theta");
  EXPECT_TRUE(MakeCodec("fft")->Parameter().volume_falls);
  for (const char* bad : {"fft:chunk=100", "fft:chunk=32", "fft:chunk=2097152", "fft:index=none",
                          "fft:theta=0.5", "fft+topk", "fft+rbf+fp16"}) {
    EXPECT_THROW(MakeCodec(bad), Error) << bad;
  }
}

// A receiver adds spectra and transforms their sum once. The result is the mean of the messages
// decoded one by one, up to the order of the sums.
TEST(Fft, TheMeanIsTheInverseOfTheSumOfSpectra) {
  for (const char* text : {"fft:chunk=64", "fft:chunk=256+fp32", "fft+qsgd"}) {
    const auto codec = MakeCodec(text);
    for (const int64_t n : {0, 1, 7, 64, 1000, 4096}) {
      std::vector<float> sum(codec->SumSize(n)), mean(n, 9.0f);
      std::vector<double> expected(n);
      const float workers = 5;
      for (int w = 0; w < workers; ++w) {
        const double theta = 0.2 * w;
        const Message message = codec->Encode(test::Normals(n, 8 + w), Context(theta));
        codec->Accumulate(message.bytes, n, Context(theta), sum);
        const auto one = Decode(*codec, message, theta, n);
        for (int64_t i = 0; i < n; ++i) expected[i] += double{one[i]} / workers;
      }
      codec->MeanOf(sum, workers, {}, mean);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_NEAR(mean[i], expected[i], 3e-6) << text << " " << n << " " << i;
      }
    }
  }
}

TEST(Fft, OneInverseIsChargedForAllMessages) {
  const auto codec = MakeCodec("fft+rbf");
  const Unit unit = test::MakeUnit(65536);
  const auto inverse = [&](const WorkList& work) {
    int64_t elements = 0;
    for (const Work& part : work) elements += part.kernel == "fft.inverse" ? part.elements : 0;
    return elements;
  };
  for (const double theta : {0.0, 0.5, 0.85}) {
    for (const int workers : {1, 4, 100}) {
      const CodecStep step = {
          .codec = *codec, .unit = unit, .parameter = theta, .active_workers = workers};
      EXPECT_EQ(inverse(step.Messages(std::nullopt).decode), 65536) << theta << " " << workers;
    }
  }
}

// One transform gives the error of encoding at each theta.
TEST(Fft, SquaredErrorsOfManyThetas) {
  const std::vector<double> thetas = {0, 0.3, 0.85, 0.99, 1};
  for (const char* text : {"fft+fp32", "fft", "fft+uniform:bits=4", "fft+fp16"}) {
    const auto codec = MakeCodec(text);
    for (const int64_t n : {1, 2, 3, 40, 1003, 4096}) {
      const auto x = test::Normals(n, 6);
      const auto errors = codec->SquaredErrors(x, thetas, Context(0.5));
      for (size_t i = 0; i < thetas.size(); ++i) {
        const double measured = Error2(*codec, x, thetas[i]);
        EXPECT_NEAR(errors[i], measured, 1e-4 * measured + 1e-10 * Squared(x))
            << text << " " << n << " " << thetas[i];
      }
    }
  }
}

TEST(Fft, ScalesWithItsInput) {  // squares of large and small values would leave the range of fp32
  const auto codec = MakeCodec("fft+fp32");
  const auto x = test::Normals(500, 7);
  const double relative = Error2(*codec, x, 0.85) / Squared(x);
  for (const float factor : {0x1p90f, 0x1p-80f}) {
    auto scaled = x;
    for (float& value : scaled) value *= factor;
    EXPECT_NEAR(Error2(*codec, scaled, 0.85) / Squared(scaled), relative, 1e-6) << factor;
  }
}

TEST(Fft, RefusesValuesThatOverflow) {
  const auto codec = MakeCodec("fft");
  auto x = test::Normals(100, 1);
  x[7] = -1.5e30f;
  EXPECT_THROW(codec->Encode(x, Context(0.5)), Error);
  x[7] = std::nanf("");
  EXPECT_THROW(codec->SquaredErrors(x, std::vector<double>{0.5}, Context(0.5)), Error);
}

TEST(Fft, RefusesHostileBytesBeforeTheSumIsTouched) {
  const int64_t n = 100;
  const auto x = test::Normals(n, 4);
  for (const char* text :
       {"fft:chunk=64", "fft:chunk=64,index=u16+fp32", "fft:chunk=64,index=packed+fp16"}) {
    const auto codec = MakeCodec(text);
    const Message message = codec->Encode(x, Context(0.7));
    const std::vector<float> before(n, 1.0f);
    const auto attempt = [&](ByteSpan bytes) {
      auto sum = before;
      try {
        codec->DecodeAdd(bytes, Context(0.7), sum);
      } catch (const Error&) {
        EXPECT_EQ(sum, before);
        return false;
      }
      for (const float value : sum) EXPECT_TRUE(std::isfinite(value));
      return true;
    };
    EXPECT_TRUE(attempt(message.bytes));
    for (size_t length = 0; length < message.bytes.size(); ++length) {
      EXPECT_FALSE(attempt(ByteSpan(message.bytes).first(length)));
    }
    for (size_t bit = 0; bit < 8 * message.bytes.size(); ++bit) {
      auto bytes = message.bytes;
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      EXPECT_FALSE(attempt(bytes) && bit < 8 * kHeaderBytes) << bit;
    }
  }
  // A coefficient is refused if its transform could overflow.
  const auto plain = MakeCodec("fft+fp32");
  Message message = plain->Encode(x, Context(0));
  const float huge = 3e38f;
  std::memcpy(message.bytes.data() + kHeaderBytes, &huge, sizeof huge);
  std::vector<float> sum(n);
  EXPECT_THROW(plain->DecodeAdd(message.bytes, Context(0), sum), Error);
}

// Writes a message with these bins in full, whatever an encoder would write.
Message MessageWith(const Quantiser& quantiser, const Message& header,
                    const std::vector<float>& coefficients) {
  Message message = header;
  message.bytes.resize(kHeaderBytes);
  quantiser.Encode(coefficients, quantiser.Parameter().fallback, Context(0), message.bytes);
  return message;
}

// 100 elements are pieces of 64, 32 and 4, whose first and last bins are real.
TEST(Fft, RefusesImaginaryPartsOfRealBins) {
  const std::set<size_t> real = {0, 32, 33, 49, 50, 52};
  for (const auto& [name, keeps] : std::map<std::string, bool>{{"fp32", true},
                                                               {"fp16", true},
                                                               {"bf16", true},
                                                               {"uniform", true},
                                                               {"rbf", true},
                                                               {"qsgd", true},
                                                               {"qsgd:code=elias", true},
                                                               {"natural", true},
                                                               {"terngrad:clip=0", true},
                                                               {"terngrad", false},
                                                               {"maxmin", false},
                                                               {"sign", false},
                                                               {"onebit", false}}) {
    const auto codec = MakeCodec("fft:chunk=64+" + name);
    const auto quantiser = MakeQuantiser(ParseStages(name).front());
    EXPECT_EQ(quantiser->KeepsZeros(), keeps) << name;
    const Message written = codec->Encode(test::Normals(100, 4), Context(0));
    std::vector<float> coefficients = test::Normals(106, 5);
    for (const size_t bin : real) coefficients[2 * bin + 1] = 0;
    for (size_t bin = 0; bin < 53; ++bin) {
      std::vector<float> strange = coefficients;
      strange[2 * bin + 1] = 2;
      std::vector<float> sum(100, 1.0f);
      bool refused = false;
      try {
        codec->DecodeAdd(MessageWith(*quantiser, written, strange).bytes, Context(0), sum);
      } catch (const Error& error) {
        refused = true;
        EXPECT_EQ(sum, std::vector<float>(100, 1.0f));
        EXPECT_NE(std::string(error.what()).find("bin " + std::to_string(bin)), std::string::npos)
            << error.what();
      }
      EXPECT_EQ(refused, keeps && real.contains(bin)) << name << " " << bin;
    }
  }
}

}  // namespace
}  // namespace legacy::fft_codec_test