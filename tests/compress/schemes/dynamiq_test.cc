#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/schemes/hops/dynamiq_code.h"
#include "compress/schemes/hops/dynamiq_hops.h"
#include "tests/compress/test_data.h"

namespace legacy::dynamiq_test {
namespace {

using dynamiq::kSuper;
using dynamiq::Rounding;
using Values = std::vector<float>;

double LevelBySpecification(int bits, int level) {
  const double epsilon = bits == 2 ? 0.23 : bits == 4 ? 0.18 : 0.1;
  const double base = 1 + 2 * epsilon * epsilon;
  const int most = (1 << (bits - 1)) - 1;
  return (std::pow(base, level) - 1) / (std::pow(base, most) - 1);
}

TEST(DynamiqCode, LevelsAreThoseOfTheFormula) {
  for (const int bits : {2, 4, 8}) {
    const auto levels = dynamiq::Levels(bits);
    ASSERT_EQ(std::ssize(levels), 1 << (bits - 1));
    for (size_t r = 0; r < levels.size(); ++r) {
      EXPECT_NEAR(levels[r], LevelBySpecification(bits, static_cast<int>(r)), 1e-13);
    }
  }
  EXPECT_NEAR(dynamiq::Levels(4)[1], 0.11740302399620742, 1e-15);  // by another implementation
}

// The upper neighbour is taken for draws below the probability that the definition gives it.
TEST(DynamiqCode, NeighboursByValueAndByLogarithm) {
  RandomStream stream({.seed = 4});
  for (const int bits : {2, 4, 8}) {
    const double epsilon = bits == 2 ? 0.23 : bits == 4 ? 0.18 : 0.1;
    const double base = 1 + 2 * epsilon * epsilon;
    const int most = (1 << (bits - 1)) - 1;
    for (int i = 0; i < 2000; ++i) {
      const double z = stream.Uniform();
      int low = 0;
      while (low + 1 < most && LevelBySpecification(bits, low + 1) <= z) ++low;
      const double below = LevelBySpecification(bits, low);
      const double by_value = (z - below) / (LevelBySpecification(bits, low + 1) - below);
      const double l = std::log(1 + z * (std::pow(base, most) - 1)) / std::log(base);
      const double by_log = l - low;
      for (const auto& [rounding, probability] :
           {std::pair{Rounding::kValue, by_value}, {Rounding::kLog, by_log}}) {
        EXPECT_EQ(dynamiq::LevelOf(bits, z, probability - 1e-9, rounding), low + 1);
        EXPECT_EQ(dynamiq::LevelOf(bits, z, probability + 1e-9, rounding), low);
      }
    }
  }
}

std::array<float, kSuper> Super(uint64_t seed, float scale = 1) {
  std::array<float, kSuper> values;
  const Values drawn = test::Normals(kSuper, seed);
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * drawn[i];
  return values;
}

std::array<double, kSuper> Draws(uint64_t seed) {
  std::array<double, kSuper> draws;
  RandomStream stream({.seed = seed});
  for (double& draw : draws) draw = stream.Uniform();
  return draws;
}

std::array<float, kSuper> RoundTrip(const std::array<float, kSuper>& values, int bits,
                                    uint64_t seed, Rounding rounding = Rounding::kValue) {
  Bytes bytes(dynamiq::SuperBytes(bits));
  dynamiq::Encode(values, bits, Draws(seed), rounding, bytes.data());
  dynamiq::Check(bytes.data(), bits);
  std::array<float, kSuper> decoded;
  dynamiq::Decode(bytes.data(), bits, decoded);
  return decoded;
}

// E Q(x) = x within 4 standard errors for rounding by value; by logarithm, 2 bits are 1.7 % too
// large on average.
TEST(DynamiqCode, RoundingByValueIsUnbiased) {
  const auto values = Super(3);
  constexpr int kRounds = 400;  // of 256 values each
  for (const int bits : {2, 4, 8}) {
    std::array<double, kSuper> sums{}, squares{};
    double by_value = 0, by_log = 0, magnitude = 0;
    for (int round = 0; round < kRounds; ++round) {
      const auto decoded = RoundTrip(values, bits, 100 + round);
      const auto biased = RoundTrip(values, bits, 100 + round, Rounding::kLog);
      for (int64_t i = 0; i < kSuper; ++i) {
        const double error = double{decoded[i]} - values[i];
        sums[i] += error;
        squares[i] += error * error;
        by_value += std::abs(decoded[i]) - std::abs(values[i]);
        by_log += std::abs(biased[i]) - std::abs(values[i]);
        magnitude += std::abs(values[i]);
      }
    }
    int outside = 0;
    for (int64_t i = 0; i < kSuper; ++i) {
      // A level that is rare has few draws: one of them more or less is allowed.
      const double rare = bits == 2 ? 4 * 4.0 : 1e-6;
      outside += std::abs(sums[i]) > 4 * std::sqrt(squares[i]) + rare ? 1 : 0;
    }
    EXPECT_EQ(outside, 0) << bits;
    EXPECT_NEAR(by_value / magnitude, 0, 0.005) << bits;
    EXPECT_NEAR(by_log / magnitude, bits == 2 ? 0.017 : bits == 4 ? 0.0015 : 0, 0.006) << bits;
  }
}

// Errors of normal values in one encoding, relative to their energy.
TEST(DynamiqCode, ErrorsOfNormalValues) {
  for (const auto& [bits, error] : {std::pair{2, 0.70}, {4, 0.0131}, {8, 0.00007}}) {
    double lost = 0, energy = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const auto values = Super(seed);
      const auto decoded = RoundTrip(values, bits, 1000 + seed);
      for (int64_t i = 0; i < kSuper; ++i) {
        lost += (double{decoded[i]} - values[i]) * (double{decoded[i]} - values[i]);
        energy += double{values[i]} * values[i];
      }
    }
    EXPECT_NEAR(lost / energy, error, 0.15 * error) << bits;
  }
}

// 16 groups of codes and a scale each, then the unit; magnitudes are at most those of the group.
TEST(DynamiqCode, LayoutAndScales) {
  std::array<float, kSuper> values{};
  values[16] = -255;
  values[17] = 3;
  for (const int bits : {2, 4, 8}) {
    Bytes bytes(dynamiq::SuperBytes(bits));
    dynamiq::Encode(values, bits, Draws(1), Rounding::kValue, bytes.data());
    EXPECT_EQ(bytes[bytes.size() - 2], std::byte{0x80});  // bf16 of 1
    EXPECT_EQ(bytes[bytes.size() - 1], std::byte{0x3F});
    const size_t group = 2 * bits + 1;
    EXPECT_EQ(bytes[group - 1], std::byte{0});
    EXPECT_EQ(bytes[2 * group - 1], std::byte{255});
    EXPECT_EQ(std::to_integer<int>(bytes[group]) & ((1 << bits) - 1), 0);  // m - m
    EXPECT_EQ(RoundTrip(values, bits, 1)[16], -255);
  }
  // Tiny and large values keep finite, and zeros stay zeros.
  for (const float scale : {1e-42f, 1e-30f, 1e30f, 7e37f, 0.0f}) {
    const auto wide = Super(8, scale);
    const auto decoded = RoundTrip(wide, 4, 2);
    for (int64_t i = 0; i < kSuper; ++i) {
      ASSERT_TRUE(std::isfinite(decoded[i]));
      if (wide[i] == 0) {
        ASSERT_EQ(decoded[i], 0);
      }
    }
  }
}

TEST(DynamiqCode, RefusesWhatNoEncoderWrites) {
  const auto values = Super(5);
  for (const int bits : {2, 4, 8}) {
    Bytes good(dynamiq::SuperBytes(bits));
    dynamiq::Encode(values, bits, Draws(1), Rounding::kValue, good.data());
    const auto refused = [&](size_t at, int byte) {
      Bytes bad = good;
      bad[at] = static_cast<std::byte>(byte);
      EXPECT_THROW(dynamiq::Check(bad.data(), bits), Error) << bits << " " << at << " " << byte;
    };
    refused(0, 0xFF);                // above the largest level
    refused(2 * bits, 0);            // a group of zeros with other values
    refused(good.size() - 1, 0x7F);  // not finite
    refused(good.size() - 1, 0xBF);  // below zero
  }
}

// The mean number of bits is at most the target, and close to it for energies that spread.
TEST(DynamiqBits, FitTheBudget) {
  RandomStream stream({.seed = 12});
  std::vector<double> energies(4000);
  for (double& energy : energies) energy = std::exp(2 * stream.Normal());
  for (const double target : {2.5, 3.0, 4.3125, 6.0, 7.5}) {
    const auto bits = dynamiq::BitsFor(energies, target);
    const double mean =
        std::accumulate(bits.begin(), bits.end(), 0.0) / static_cast<double>(bits.size());
    EXPECT_LE(mean, target);
    EXPECT_GT(mean, target - 0.1);
    // More energy never has fewer bits, and the thresholds are in their ratio.
    double least8 = INFINITY, most4 = 0, least4 = INFINITY, most2 = 0;
    for (size_t i = 0; i < bits.size(); ++i) {
      if (bits[i] == 8) least8 = std::min(least8, energies[i]);
      if (bits[i] == 4) most4 = std::max(most4, energies[i]);
      if (bits[i] == 4) least4 = std::min(least4, energies[i]);
      if (bits[i] == 2) most2 = std::max(most2, energies[i]);
    }
    EXPECT_LT(most2, least4);
    EXPECT_LT(most4, least8);
    EXPECT_LE(17.0 / 512 * most4, least4 * (1 + 1e-12));
  }
  EXPECT_EQ(dynamiq::BitsFor(std::vector<double>{0, 1, 0}, 8), (std::vector<int>{2, 8, 2}));
  EXPECT_EQ(dynamiq::BitsFor(std::vector<double>{5, 1}, 2), (std::vector<int>{2, 2}));
  EXPECT_TRUE(dynamiq::BitsFor({}, 4).empty());
}

// At each position the workers' draws are one from each N-th of [0, 1).
TEST(DynamiqDraws, AreOneFromEachInterval) {
  const std::vector<double> sums = {0, 1, 0, 2};
  const dynamiq::Layout layout(sums, 1, 5);
  for (const int workers : {1, 2, 3, 8}) {
    const dynamiq::Coder coder(layout, {.random = {.seed = 5, .step = 2}}, workers,
                               Rounding::kValue, {});
    for (const int64_t place : {0, 1}) {
      std::vector<std::array<double, kSuper>> draws;
      for (int w = 0; w < workers; ++w) draws.push_back(coder.Draws(w, place));
      for (int64_t i = 0; i < kSuper; ++i) {
        std::vector<int> hits(workers);
        for (int w = 0; w < workers; ++w) ++hits[static_cast<int>(draws[w][i] * workers)];
        ASSERT_EQ(hits, std::vector<int>(workers, 1)) << workers << " " << place << " " << i;
      }
    }
    EXPECT_NE(coder.Draws(0, 0), coder.Draws(0, 1));
  }
}

struct Step {
  Values mean;
  std::vector<std::vector<Message>> messages;
  std::vector<CollectiveCall> calls;
};

Step RunStep(const std::string& text, const std::vector<Values>& gradients, double bits = 5) {
  const auto scheme = MakeScheme(text, {.error_feedback = false});
  const auto workers = static_cast<int>(gradients.size());
  const auto exchange = scheme->Open(test::MakeUnit(std::ssize(gradients[0])), workers);
  exchange->Begin({.info = {.seed = 3, .step = 1}, .parameter = bits});
  Step step;
  for (bool first = true; auto call = exchange->NextCall(); first = false) {
    step.calls.push_back(*call);
    auto& messages = step.messages.emplace_back();
    for (int w = 0; w < workers; ++w) {
      messages.push_back(exchange->Encode(w, first ? gradients[w] : Values()));
    }
    for (int w = 0; w < workers; ++w) exchange->Accumulate(w, messages[w].bytes);
    exchange->FinishCall();
  }
  step.mean.resize(gradients[0].size());
  exchange->Mean(step.mean);
  return step;
}

double RelativeError(const Values& mean, const std::vector<Values>& gradients) {
  double error = 0, energy = 0;
  for (size_t i = 0; i < mean.size(); ++i) {
    double exact = 0;
    for (const Values& gradient : gradients) exact += gradient[i];
    exact /= static_cast<double>(gradients.size());
    error += (exact - mean[i]) * (exact - mean[i]);
    energy += exact * exact;
  }
  return error / energy;
}

std::vector<Values> Gradients(int workers, int64_t numel) {
  std::vector<Values> gradients;
  for (int w = 0; w < workers; ++w) {
    gradients.push_back(test::Normals(numel, 70 + w));
    // Super-groups of very different energies, not in their order.
    for (int64_t i = 0; i < numel; ++i) gradients[w][i] *= std::exp2(float(i / kSuper * 5 % 9));
  }
  return gradients;
}

TEST(Dynamiq, CallsAndBytes) {
  const auto gradients = Gradients(4, 5000);  // 20 super-groups
  const Step step = RunStep("dynamiq", gradients);
  ASSERT_EQ(step.calls.size(), 2u);
  EXPECT_EQ(step.calls[0].reduction, Reduction::kSum);
  EXPECT_EQ(step.calls[1].reduction, Reduction::kHops);
  int64_t payload = 0;
  for (const int64_t bytes : step.calls[1].hops->slices.at(0).payload) payload += bytes;
  for (int w = 0; w < 4; ++w) {
    EXPECT_EQ(step.messages[0][w].size(), 20 + 4 * 20);
    EXPECT_EQ(step.messages[1][w].size(), 20 + payload);
    EXPECT_EQ(ReadExtendedHeader(step.messages[0][w].bytes).method,
              ExtendedMethod::kDynamiqStatistics);
    EXPECT_EQ(ReadExtendedHeader(step.messages[1][w].bytes).method, ExtendedMethod::kDynamiq);
  }
  EXPECT_LE(8.0 * static_cast<double>(payload + 80) / (20 * kSuper), 5.0);
}

// The order of super-groups, padding and means are undone.
TEST(Dynamiq, MeansAreThoseOfTheGradients) {
  for (const int64_t numel : {1, 255, 256, 257, 3000}) {
    const auto gradients = Gradients(4, numel);
    for (const std::string order : {"ring", "butterfly"}) {
      const Step step = RunStep("dynamiq:order=" + order, gradients, 8.6875);
      EXPECT_LT(RelativeError(step.mean, gradients), 5e-4) << numel << order;
    }
  }
}

// Of independent gradients of four workers: less than twice the error of one encoding, where
// roundings without correlation have (N + 1) / 2 = 2.5 times that.
TEST(Dynamiq, ErrorsOfARing) {
  std::vector<Values> gradients;
  for (int w = 0; w < 4; ++w) gradients.push_back(test::Normals(40000, 70 + w));
  for (const double bits : {5.0, 8.6875}) {
    const double once =
        RelativeError(RunStep("dynamiq", {gradients[0]}, bits).mean, {gradients[0]});
    EXPECT_LT(RelativeError(RunStep("dynamiq", gradients, bits).mean, gradients), 2 * once);
    EXPECT_LT(RelativeError(RunStep("dynamiq:order=butterfly", gradients, bits).mean, gradients),
              2 * once);
  }
}

TEST(Dynamiq, AllWorkersAndAnyNumberOfThem) {
  for (const int workers : {1, 2, 3, 5, 6}) {
    const auto gradients = Gradients(workers, 3000);
    for (const std::string text : {"dynamiq", "dynamiq:order=butterfly", "dynamiq:rounding=log"}) {
      EXPECT_LT(RelativeError(RunStep(text, gradients, 8).mean, gradients), 0.01)
          << text << workers;
    }
    EXPECT_TRUE(test::SameBits(RunStep("dynamiq", gradients).mean,
                               RunStep("dynamiq:slice=1024", gradients).mean));
  }
}

// A super-group of zeros has 2 bits, and decodes to its mean.
TEST(Dynamiq, ConstantSuperGroupsDecodeToTheirMean) {
  Values gradient(2 * kSuper);
  std::fill(gradient.begin() + kSuper, gradient.end(), 0.5f);
  const Step step = RunStep("dynamiq", {gradient, gradient});
  EXPECT_EQ(step.mean, gradient);
}

// What one worker of equal gradients rounds up others round down. Without correlation the error of
// eight workers would be (N + 1) (2 N + 1) / 6 N = 3.2 times that of one.
TEST(Dynamiq, RoundingsOfEqualGradientsCancel) {
  const Values gradient = test::Normals(kSuper * 20, 9);
  const std::vector<Values> gradients(8, gradient);
  const double once = RelativeError(RunStep("dynamiq", {gradient}, 3).mean, {gradient});
  const double mean = RelativeError(RunStep("dynamiq", gradients, 3).mean, {gradient});
  EXPECT_LT(mean, 1.2 * once);
}

TEST(Dynamiq, RefusesWhatNoWorkerSends) {
  const auto scheme = MakeScheme("dynamiq", {.error_feedback = false});
  const auto exchange = scheme->Open(test::MakeUnit(300), 2);
  const auto gradients = Gradients(2, 300);
  exchange->Begin({.info = {.seed = 3}, .parameter = 5});
  exchange->NextCall();
  std::vector<Message> messages = {exchange->Encode(0, gradients[0]),
                                   exchange->Encode(1, gradients[1])};
  Bytes bad = messages[0].bytes;
  bad[20] = std::byte{0x80};  // a mean that is not finite
  bad[21] = std::byte{0x7F};
  EXPECT_THROW(exchange->Accumulate(0, bad), Error);
  bad = messages[0].bytes;
  bad.pop_back();
  EXPECT_THROW(exchange->Accumulate(0, bad), Error);
  for (int w = 0; w < 2; ++w) exchange->Accumulate(w, messages[w].bytes);
  exchange->FinishCall();
  exchange->NextCall();
  Message values = exchange->Encode(0, {});
  for (const size_t at : {4, 8, 12, 16, 17, 18}) {
    bad = values.bytes;
    bad[at] ^= std::byte{1};
    EXPECT_THROW(exchange->Accumulate(0, bad), Error) << at;
  }
  for (const char* text : {"dynamiq+mx", "dynamiq:order=tree", "dynamiq:rounding=up"}) {
    EXPECT_THROW(MakeScheme(text), Error) << text;
  }
}

}  // namespace
}  // namespace legacy::dynamiq_test
