// The quantisers rbf and uniform.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/quantiser.h"
#include "tests/compress/test_data.h"

namespace legacy::range_test {
namespace {

std::unique_ptr<Quantiser> Make(const std::string& text) {
  const auto stages = ParseStages(text);
  return MakeQuantiser(stages.front());
}

Bytes Encode(const Quantiser& quantiser, std::span<const float> values, double bits,
             CodecState* state = nullptr) {
  CodecContext context;
  context.state = state;
  Bytes out;
  quantiser.Encode(values, bits, context, out);
  return out;
}

std::vector<float> Decode(const Quantiser& quantiser, ByteSpan segment, double bits, size_t count) {
  std::vector<float> values(count);
  quantiser.Decode(segment, bits, values);
  return values;
}

double SquaredDistance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(double{x[i]} - y[i], 2);
  return sum;
}

TEST(RangeQuantisers, LengthErrorAndNoGrowth) {
  for (const char* name : {"rbf", "uniform", "rbf:mantissa=1"}) {
    const auto quantiser = Make(name);
    const ParameterSpec& spec = quantiser->Parameter();
    for (double bits = spec.minimum; bits <= spec.maximum; ++bits) {
      for (const int64_t n : {0, 1, 2, 31, 1024, 1025, 3001}) {
        for (const auto& input : test::HardInputs(n)) {
          const Bytes segment = Encode(*quantiser, input, bits);
          ASSERT_EQ(static_cast<int64_t>(segment.size()), quantiser->SegmentBytes(n, bits));
          const auto decoded = Decode(*quantiser, segment, bits, n);
          for (int64_t i = 0; i < n; ++i) {
            ASSERT_LE(std::abs(input[i] - decoded[i]), std::abs(input[i])) << name << bits;
          }
          const double error = SquaredDistance(input, decoded);
          ASSERT_NEAR(quantiser->SquaredError(input, bits), error, 1e-9 * error) << name << bits;
        }
      }
    }
  }
}

TEST(RangeQuantisers, ErrorsOfGaussianValues) {
  const auto x = test::Normals(1 << 16, 3);
  const auto error = [&](const char* name, double bits) {
    return Make(name)->SquaredError(x, bits) / static_cast<double>(x.size());
  };
  EXPECT_NEAR(error("rbf", 8), 1.8e-4, 4e-5);
  EXPECT_NEAR(error("uniform", 8), 1.1e-4, 3e-5);
  EXPECT_NEAR(error("rbf", 10), 1.1e-5, 3e-6);
  EXPECT_NEAR(error("uniform", 10), 6.7e-6, 2e-6);
}

TEST(Uniform, KnownBytes) {
  const auto quantiser = Make("uniform");
  // Levels are 1.0 apart, so that the codes are 0, 3, 6, 4, 2; 2 bits would have the levels -3, 0,
  // 3.
  const std::vector<float> x = {-3, 0, 3, 1.4f, -0.6f};
  const Bytes segment = Encode(*quantiser, x, 3);
  const std::vector<uint8_t> expected = {0x00, 0x00, 0x40, 0x40, 0x98, 0x29};
  ASSERT_EQ(segment.size(), expected.size());
  EXPECT_EQ(std::memcmp(segment.data(), expected.data(), expected.size()), 0);
  EXPECT_EQ(Decode(*quantiser, segment, 3, 5), (std::vector<float>{-3, 0, 3, 1, -1}));
}

TEST(RangeQuantisers, RefuseHostileBytes) {
  const auto x = test::Normals(37, 3);
  for (const char* name : {"rbf", "uniform"}) {
    const auto quantiser = Make(name);
    const Bytes segment = Encode(*quantiser, x, 7);
    std::vector<float> out(37);
    for (size_t length = 0; length < segment.size(); ++length) {
      EXPECT_THROW(quantiser->Decode(ByteSpan(segment).first(length), 7, out), Error);
    }
    Bytes longer = segment;
    longer.push_back({});
    EXPECT_THROW(quantiser->Decode(longer, 7, out), Error);
    for (size_t bit = 0; bit < 8 * segment.size(); ++bit) {
      Bytes flipped = segment;
      flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      try {
        for (const float value : Decode(*quantiser, flipped, 7, 37)) {
          ASSERT_TRUE(std::isfinite(value));
        }
      } catch (const Error&) {
      }
    }
    Bytes padded = segment;  // 37 codes of 7 bits leave five bits
    padded.back() |= std::byte{0x80};
    EXPECT_THROW(quantiser->Decode(padded, 7, out), Error);
  }
}

TEST(RangeQuantisers, RefuseWhatNoEncoderWrites) {
  std::vector<float> out(1);
  const auto uniform = Make("uniform");
  for (const float scale : {-1.0f, -0.0f, std::nanf(""), HUGE_VALF}) {
    Bytes segment(5);
    std::memcpy(segment.data(), &scale, sizeof scale);
    EXPECT_THROW(uniform->Decode(segment, 8, out), Error) << scale;
  }
  Bytes segment(5);
  segment[4] = std::byte{255};  // level 128 of -127 to 127
  EXPECT_THROW(uniform->Decode(segment, 8, out), Error);

  const auto rbf = Make("rbf");
  const auto decode = [&](uint32_t first, uint32_t second, uint8_t code) {
    Bytes bytes(9);
    std::memcpy(bytes.data(), &first, 4);
    std::memcpy(bytes.data() + 4, &second, 4);
    bytes[8] = std::byte{code};
    rbf->Decode(bytes, 8, out);
  };
  const uint32_t most = (0x7F800000u >> 20) - 1;  // with 3 bits of mantissa
  EXPECT_NO_THROW(decode(3 << 24 | most, most, 254));
  EXPECT_THROW(decode(3 << 24 | (most + 1), most, 0), Error);
  EXPECT_THROW(decode(3 << 24 | most, most + 1, 0), Error);
  EXPECT_THROW(decode(3 << 24 | most, most, 255), Error);
  EXPECT_THROW(decode(3 << 24, 0, 1), Error);  // only the code of zero
  EXPECT_THROW(decode(0 << 24 | most, most, 0), Error);
  EXPECT_THROW(decode(7 << 24 | most, most, 0), Error);
}

TEST(Rbf, OptionsAreChecked) {
  for (const char* bad : {"rbf:bits=2", "rbf:bits=17", "rbf:mantissa=0", "rbf:mantissa=9",
                          "rbf:bits=4,mantissa=3", "rbf:range=first", "uniform:bits=1"}) {
    EXPECT_THROW(Make(bad), Error) << bad;
  }
  EXPECT_EQ(Make("rbf:bits=6")->Parameter().fallback, 6);
}

// The range is that of the first ten steps and a quarter more; decoding needs only the segment.
TEST(Rbf, CalibratesThenKeepsTheRange) {
  const auto quantiser = Make("rbf:range=calibrated");
  CodecState state;
  const std::vector<float> x = {1, -0.5f, 0.3f};
  for (int step = 0; step < 11; ++step) Encode(*quantiser, x, 10, &state);
  const std::vector<float> large = {100, -100, 0.3f};
  const auto decoded = Decode(*quantiser, Encode(*quantiser, large, 10, &state), 10, 3);
  EXPECT_EQ(decoded[0], 1.25f);
  EXPECT_EQ(decoded[1], -0.625f);
  const CodecState fixed = state;
  Encode(*quantiser, large, 10, &state);
  EXPECT_EQ(state.numbers, fixed.numbers);
  // Encodes without state.
  EXPECT_EQ(Decode(*quantiser, Encode(*quantiser, large, 10), 10, 3)[0], 100);
}

TEST(Rbf, ASignThatWasNeverSeenHasARange) {
  const auto quantiser = Make("rbf:range=calibrated");
  CodecState state;
  const std::vector<float> zeros(3), positive = {1, 1, 1}, negative = {-1, 0, 0};
  for (int step = 0; step < 5; ++step) Encode(*quantiser, zeros, 10, &state);
  for (int step = 0; step < 10; ++step) Encode(*quantiser, positive, 10, &state);
  EXPECT_EQ(Decode(*quantiser, Encode(*quantiser, negative, 10, &state), 10, 3)[0], -1);
}

// States come from files, and may hold any finite number.
TEST(Rbf, AnyStateGivesAFormat) {
  const std::vector<float> x = {1, -0.5f, 0.3f};
  for (const char* const name : {"rbf:range=calibrated", "rbf:range=ema"}) {
    const auto quantiser = Make(name);
    for (const double number : {1e159, -1e300, 0.5}) {
      CodecState state;
      std::ranges::fill(std::span(state.numbers).last<3>(), number);
      state.numbers[4] = 10;  // number of steps: the range is fixed
      EXPECT_EQ(Decode(*quantiser, Encode(*quantiser, x, 10, &state), 10, 3).size(), 3u) << number;
    }
  }
}

TEST(Rbf, AverageFollowsTheRange) {
  const auto quantiser = Make("rbf:range=ema,mantissa=8");
  CodecState state;
  const std::vector<float> one = {1, -1}, two = {2, -2};
  EXPECT_EQ(Decode(*quantiser, Encode(*quantiser, one, 12, &state), 12, 2)[0], 1);
  // The range is 1.25 (1 + (2 - 1) / 10) = 1.375.
  EXPECT_NEAR(Decode(*quantiser, Encode(*quantiser, two, 12, &state), 12, 2)[0], 1.375, 1e-2);
  for (int step = 0; step < 100; ++step) Encode(*quantiser, two, 12, &state);
  EXPECT_EQ(Decode(*quantiser, Encode(*quantiser, two, 12, &state), 12, 2)[0], 2);
}

}  // namespace
}  // namespace legacy::range_test