// Properties that qsgd, maxmin, int, terngrad, natural, sign, onebit, mx, fp8 and nf4 share.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/quantisers/quantiser_data.h"

namespace legacy::properties_test {
namespace {

using test::QuantiserOf;

struct Case {
  const char* text;
  double parameter;
};

constexpr Case kUnbiased[] = {{"qsgd", 4},
                              {"qsgd:bucket=128", 2},
                              {"qsgd:norm=l2,bucket=64", 3},
                              {"qsgd:norm=l2,bucket=128", 8},
                              {"qsgd:code=elias,norm=l2", 4},
                              {"maxmin:rounding=stochastic", 3},
                              {"maxmin:rounding=stochastic,bucket=64", 1},
                              {"int:range=narrow,rounding=stochastic", 3},
                              {"terngrad:clip=0", 0},
                              {"natural", 0},
                              {"natural:bits=8", 0},
                              {"natural:form=dithering", 0},
                              {"natural:form=dithering,levels=3,bucket=64", 0},
                              {"natural:form=dithering,levels=20,norm=l2", 0}};
constexpr Case kBiased[] = {{"qsgd:rounding=nearest", 4},
                            {"maxmin", 4},
                            {"maxmin", 8},
                            {"int", 4},
                            {"int:bucket=64", 8},
                            {"terngrad", 0},
                            {"sign", 0},
                            {"onebit", 0},
                            {"mx", 0},
                            {"mx:format=e2m1,block=96,scale=up", 0},
                            {"mx:format=e3m2,block=8192", 0},
                            {"fp8:format=e5m2", 0},
                            {"nf4", 0},
                            {"qsgd:rounding=nearest,norm=l2", 6}};

std::vector<Case> All() {
  std::vector<Case> cases(std::begin(kUnbiased), std::end(kUnbiased));
  cases.insert(cases.end(), std::begin(kBiased), std::end(kBiased));
  return cases;
}

// E Q(x) = x within 5 standard errors of each element; E||x - Q(x)||^2 is the closed form within 3.
TEST(Quantisers, MomentsOverDraws) {
  constexpr int64_t kCount = 200, kDraws = 3000;
  const auto values = test::Normals(kCount, 5);
  for (const Case& test : kUnbiased) {
    const auto quantiser = QuantiserOf(test.text);
    std::vector<double> sums(kCount), squares(kCount);
    double error_sum = 0, error_squares = 0, largest = 0;
    for (int64_t step = 0; step < kDraws; ++step) {
      const auto decoded = test::RoundTrip(*quantiser, values, test.parameter, step);
      for (int64_t i = 0; i < kCount; ++i) {
        const double difference = double{decoded[i]} - values[i];
        sums[i] += difference;
        squares[i] += difference * difference;
        largest = std::max(largest, std::abs(difference));
      }
      const double error = test::SquaredDistance(values, decoded);
      error_sum += error;
      error_squares += error * error;
    }
    for (int64_t i = 0; i < kCount; ++i) {
      const double deviation = std::sqrt(squares[i] / kDraws);
      // If one of the two levels is rare, it has few draws.
      const double rare = 5 * largest / kDraws;
      ASSERT_NEAR(sums[i] / kDraws, 0, 5 * deviation / std::sqrt(kDraws) + rare)
          << test.text << " " << i << " of " << values[i];
    }
    const double mean = error_sum / kDraws;
    const double deviation = std::sqrt((error_squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(quantiser->SquaredError(values, test.parameter), mean, 3 * deviation + 1e-9)
        << test.text;
  }
}

TEST(Quantisers, BiasedQuantisersHaveTheirClosedFormError) {
  for (const Case& test : kBiased) {
    if (std::string_view(test.text) == "terngrad") continue;
    const auto quantiser = QuantiserOf(test.text);
    for (const auto& values : test::HardInputs(777)) {
      const auto decoded = test::RoundTrip(*quantiser, values, test.parameter);
      const double error = test::SquaredDistance(values, decoded);
      EXPECT_NEAR(quantiser->SquaredError(values, test.parameter), error,
                  1e-3 * error + 1e-11 * test::SquaredNorm(values))
          << test.text;
    }
  }
}

TEST(Quantisers, LengthsZerosAndParts) {
  for (const Case& test : All()) {
    const auto quantiser = QuantiserOf(test.text);
    for (const int64_t n : {0, 1, 31, 32, 33, 63, 64, 65, 511, 512, 513, 9000}) {
      for (const auto& values : test::HardInputs(n)) {
        const Bytes segment = test::EncodeSegment(*quantiser, values, test.parameter);
        const auto length = quantiser->SegmentBytes(n, test.parameter);
        ASSERT_EQ(static_cast<int64_t>(segment.size()), length.value_or(segment.size()))
            << test.text;
        std::vector<float> whole(n, 5);
        quantiser->Decode(segment, test.parameter, whole);
        for (int64_t i = 0; i < n; ++i) ASSERT_TRUE(std::isfinite(whole[i])) << test.text;
        ASSERT_TRUE(test::SquaredNorm(values) > 0 || whole == std::vector<float>(n)) << test.text;
        const PartwiseQuantiser* parts = quantiser->Parts();
        if (parts == nullptr) continue;
        for (int64_t begin = 0; begin < n; begin += PartwiseQuantiser::kPart) {
          std::vector<float> part(std::min(PartwiseQuantiser::kPart, n - begin));
          parts->DecodePart(segment, n, test.parameter, begin, part);
          ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + begin)) << test.text;
        }
      }
    }
  }
}

TEST(Quantisers, ZerosStayZerosWhereThatIsPromised) {
  std::vector<float> values = test::Normals(700, 8);
  for (float& x : values) x = 3 + x;
  for (size_t i = 0; i < values.size(); i += 7) values[i] = 0;
  for (const QuantiserRow& row : QuantiserTable()) {
    const auto quantiser = QuantiserOf(row.info.name);
    if (!quantiser->KeepsZeros()) continue;
    for (uint64_t step = 0; step < 20; ++step) {
      const auto decoded =
          test::RoundTrip(*quantiser, values, quantiser->Parameter().fallback, step);
      for (size_t i = 0; i < values.size(); i += 7) ASSERT_EQ(decoded[i], 0) << row.info.name;
    }
  }
}

// A draw depends on its position: it stays the same if earlier values change, and differs for
// another step, worker or unit.
TEST(Quantisers, DrawsDependOnKeyAndPositionAlone) {
  const auto quantiser = QuantiserOf("natural");
  auto values = test::Normals(1000, 6);
  const auto first = test::RoundTrip(*quantiser, values, 0);
  std::fill(values.begin(), values.begin() + 500, 0.7f);
  const auto second = test::RoundTrip(*quantiser, values, 0);
  EXPECT_TRUE(std::equal(first.begin() + 500, first.end(), second.begin() + 500));
  Bytes reference, other;
  quantiser->Encode(values, 0, test::Draws(0), reference);
  CodecContext worker = test::Draws(0), unit = test::Draws(0);
  worker.random.worker = 1;
  unit.unit = 1;
  for (const CodecContext& context : {test::Draws(1), worker, unit}) {
    other.clear();
    quantiser->Encode(values, 0, context, other);
    EXPECT_NE(other, reference);
  }
}

// Decoding gives finite values or throws, whatever the bytes.
TEST(Quantisers, SurviveAnyBytes) {
  RandomStream stream({.seed = 31});
  for (const Case& test : All()) {
    const auto quantiser = QuantiserOf(test.text);
    int refused = 0;
    constexpr int kRounds = 1500;
    for (int round = 0; round < kRounds; ++round) {
      const int64_t n = stream.Below(300);
      Bytes segment =
          test::EncodeSegment(*quantiser, test::Normals(n, round), test.parameter, round);
      for (uint32_t flips = stream.Below(4); flips > 0 && !segment.empty(); --flips) {
        segment[stream.Below(static_cast<uint32_t>(segment.size()))] ^=
            static_cast<std::byte>(1u << stream.Below(8));
      }
      if (stream.Below(3) == 0) segment.resize(stream.Below(segment.size() + 4));
      std::vector<float> values(n);
      try {
        quantiser->Decode(segment, test.parameter, values);
        for (const float x : values) ASSERT_TRUE(std::isfinite(x)) << test.text;
      } catch (const Error&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, kRounds / 5) << test.text;
    EXPECT_LT(refused, kRounds) << test.text;
  }
}

// Returns the norm of the residual after `steps` steps of unit-variance gradients with error
// feedback, divided by its norm after the first step.
double Growth(const char* text, double parameter, int steps) {
  const auto quantiser = QuantiserOf(text);
  constexpr int64_t kCount = 4096;
  std::vector<float> residual(kCount);
  double first = 0;
  for (int step = 0; step < steps; ++step) {
    const auto gradient = test::Normals(kCount, 100 + step);
    for (int64_t i = 0; i < kCount; ++i) residual[i] += gradient[i];
    const auto sent = test::RoundTrip(*quantiser, residual, parameter, step);
    for (int64_t i = 0; i < kCount; ++i) residual[i] -= sent[i];
    if (step == 0) first = test::SquaredNorm(residual);
  }
  return std::sqrt(test::SquaredNorm(residual) / first);
}

// Residuals grow to several times the gradients, or without bound.
TEST(Quantisers, ErrorFeedbackIsRefusedWhereResidualsGrow) {
  constexpr Case kSwelling[] = {
      {"qsgd:bucket=128", 2}, {"qsgd", 2}, {"maxmin", 1}, {"terngrad", 0}, {"terngrad:clip=0", 0}};
  constexpr Case kDiverging[] = {{"qsgd:norm=l2", 4},
                                 {"qsgd:norm=l2,bucket=1024", 4},
                                 {"qsgd:norm=l2,bucket=128", 3},
                                 {"qsgd:norm=l2,bucket=128", 2},
                                 {"maxmin:rounding=stochastic", 1}};
  for (const Case& test : kSwelling) {
    EXPECT_FALSE(QuantiserOf(test.text)->AllowsErrorFeedback(test.parameter)) << test.text;
    EXPECT_GT(Growth(test.text, test.parameter, 60), 3) << test.text << " " << test.parameter;
  }
  for (const Case& test : kDiverging) {
    EXPECT_FALSE(QuantiserOf(test.text)->AllowsErrorFeedback(test.parameter)) << test.text;
    const double once = Growth(test.text, test.parameter, 15);
    EXPECT_GT(Growth(test.text, test.parameter, 45), 4 * once) << test.text << test.parameter;
  }
}

TEST(Quantisers, ErrorFeedbackIsAllowedWhereItIsBounded) {
  constexpr Case kAllowed[] = {{"qsgd", 4},
                               {"qsgd", 3},
                               {"qsgd:rounding=nearest", 2},
                               {"qsgd:norm=l2,bucket=128", 4},
                               {"qsgd:norm=l2", 5},
                               {"qsgd:norm=l2,rounding=nearest", 5},
                               {"maxmin", 2},
                               {"maxmin", 4},
                               {"maxmin:rounding=stochastic", 2},
                               {"int", 2},
                               {"int", 4},
                               {"int:rounding=stochastic", 2},
                               {"natural", 0},
                               {"natural:bits=8", 0},
                               {"mx", 0},
                               {"mx:format=e2m1", 0},
                               {"fp8:format=e5m2,scale=up", 0},
                               {"nf4", 0},
                               {"natural:form=dithering", 0},
                               {"natural:form=dithering,levels=5,norm=l2", 0},
                               {"sign", 0},
                               {"onebit", 0}};
  for (const Case& test : kAllowed) {
    EXPECT_TRUE(QuantiserOf(test.text)->AllowsErrorFeedback(test.parameter)) << test.text;
    const double once = Growth(test.text, test.parameter, 60);
    EXPECT_LT(once, 6) << test.text << " " << test.parameter;
    EXPECT_LT(Growth(test.text, test.parameter, 180), 1.3 * once)
        << test.text << " " << test.parameter;
  }
}

TEST(Quantisers, OptionsAreChecked) {
  for (const char* bad :
       {"qsgd:bits=1", "qsgd:bits=9", "qsgd:bits=2.5", "qsgd:bucket=100", "qsgd:bucket=0",
        "qsgd:norm=l1", "qsgd:code=huffman", "qsgd:rounding=up", "maxmin:bits=0", "maxmin:norm=l2",
        "terngrad:clip=-1", "terngrad:bits=2", "natural:bits=7", "natural:form=dithering,levels=0",
        "natural:form=dithering,bucket=65", "natural:form=dither", "sign:bits=1",
        "onebit:bits=1"}) {
    EXPECT_THROW(QuantiserOf(bad), Error) << bad;
  }
  EXPECT_EQ(QuantiserOf("qsgd:bits=6")->Parameter().fallback, 6);
  EXPECT_EQ(QuantiserOf("maxmin")->Parameter().minimum, 1);
}

}  // namespace
}  // namespace legacy::properties_test