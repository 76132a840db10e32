// Error feedback of exchanges: conservation, bounds, convergence, state.
#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "compress/schemes/memory.h"
#include "tests/compress/test_data.h"

namespace legacy::error_feedback_test {
namespace {

constexpr double kDensity = 0.05;

std::unique_ptr<Exchange> Open(std::string_view scheme, int64_t numel, int workers,
                               bool error_feedback = true) {
  return MakeScheme(scheme, {.error_feedback = error_feedback})
      ->Open(test::MakeUnit(numel), workers);
}

// Integers are exact in fp32, so that the sum of all gradients equals the sum of all sent values
// plus the residual.
TEST(ErrorFeedback, NothingIsLostOverManySteps) {
  constexpr int64_t kNumel = 300;
  for (const char* scheme : {"topk", "randomk", "ar-topk"}) {
    const auto exchange = Open(scheme, kNumel, 1);
    std::vector<float> computed(kNumel), sent(kNumel), zeros(kNumel);
    for (int64_t step = 0; step < 60; ++step) {
      auto gradient = test::Normals(kNumel, 100 + step);
      for (float& x : gradient) x = std::round(8 * x);
      const auto mean = test::RunStep(
          *exchange, {.info = {.seed = 1, .step = step}, .parameter = kDensity}, {gradient});
      for (int64_t i = 0; i < kNumel; ++i) {
        computed[i] += gradient[i];
        sent[i] += mean[i];
      }
      double residual = 0;
      for (int64_t i = 0; i < kNumel; ++i) residual += std::pow(computed[i] - sent[i], 2);
      ASSERT_EQ(residual, test::ResidualSquared(*exchange, 0)) << scheme << " step " << step;
    }
    const auto rest =
        test::RunStep(*exchange, {.info = {.seed = 1, .step = 60}, .parameter = 1}, {zeros});
    for (int64_t i = 0; i < kNumel; ++i) ASSERT_EQ(sent[i] + rest[i], computed[i]) << scheme;
    EXPECT_EQ(test::ResidualSquared(*exchange, 0), 0);
  }
}

// Karimireddy et al. 2019, lemma 3: ||e|| <= 2 sqrt(1 - delta) / delta max ||g||.
TEST(ErrorFeedback, ResidualIsBounded) {
  constexpr int64_t kNumel = 100;
  const auto exchange = Open("topk", kNumel, 1);
  double largest = 0;
  for (int64_t step = 0; step < 200; ++step) {
    const auto gradient = test::Normals(kNumel, step);
    largest = std::max(largest, std::sqrt(std::inner_product(gradient.begin(), gradient.end(),
                                                             gradient.begin(), 0.0)));
    test::RunStep(*exchange, {.info = {.step = step}, .parameter = 0.1}, {gradient});
    ASSERT_LE(std::sqrt(test::ResidualSquared(*exchange, 0)), 2 * std::sqrt(0.9) / 0.1 * largest);
  }
}

// Minimises a sum of heterogeneous quadratics 1/2 ||x - c_w||^2, whose optimum is the mean of the
// centres. Returns the distance to it after `steps` of Top-1 of 10 by 4 workers at a constant rate.
double DistanceToOptimum(bool error_feedback, double rate, int64_t steps) {
  constexpr int kWorkers = 4;
  constexpr int64_t kNumel = 10;
  const auto exchange = Open("topk", kNumel, kWorkers, error_feedback);
  std::vector<std::vector<float>> centres;
  for (int w = 0; w < kWorkers; ++w) centres.push_back(test::Normals(kNumel, 50 + w));
  std::vector<double> x(kNumel);
  for (int64_t step = 0; step < steps; ++step) {
    auto gradients = centres;
    for (auto& gradient : gradients) {
      for (int64_t i = 0; i < kNumel; ++i) gradient[i] = static_cast<float>(x[i] - gradient[i]);
    }
    const auto mean =
        test::RunStep(*exchange, {.info = {.step = step}, .parameter = 0.1}, gradients);
    for (int64_t i = 0; i < kNumel; ++i) x[i] -= rate * mean[i];
  }
  double squared = 0;
  for (int64_t i = 0; i < kNumel; ++i) {
    double centre = 0;
    for (const auto& c : centres) centre += c[i] / double{kWorkers};
    squared += (x[i] - centre) * (x[i] - centre);
  }
  return std::sqrt(squared);
}

TEST(ErrorFeedback, ReachesTheOptimumAsTheRateFalls) {
  const double coarse = DistanceToOptimum(true, 0.03, 4000);
  const double fine = DistanceToOptimum(true, 0.003, 20000);
  const double stalled = DistanceToOptimum(false, 0.003, 20000);
  EXPECT_LT(fine, coarse / 4);   // about proportional to the rate
  EXPECT_GT(stalled, 5 * fine);  // without error feedback a floor remains
}

TEST(ErrorFeedback, RescalingMultipliesResiduals) {
  const auto exchange = Open("topk", 100, 2);
  test::RunStep(*exchange, {.parameter = 0.1}, {test::Normals(100, 1), test::Normals(100, 2)});
  const double before = test::ResidualSquared(*exchange, 1);
  exchange->RescaleResiduals(10.0f);
  EXPECT_NEAR(test::ResidualSquared(*exchange, 1), 100 * before, 1e-4 * before);
}

TEST(ErrorFeedback, RefusedWhereItDiverges) {
  const auto exchange = MakeScheme("randomk:unbiased=on", {})->Open(test::MakeUnit(10), 1);
  EXPECT_THROW(exchange->Begin({.parameter = 0.5}), Error);
}

TEST(State, ResumesToTheSameBits) {
  constexpr int64_t kNumel = 500;
  for (const std::string& scheme : SchemeNames()) {
    const auto made = test::AnyScheme(scheme);
    const auto straight = made->Open(test::MakeUnit(kNumel), 3);
    const auto resumed = made->Open(test::MakeUnit(kNumel), 3);
    const auto step = [&](Exchange& exchange, int64_t s) {
      const double parameter = made->Parameter().fallback;
      return test::RunStep(exchange, {.info = {.seed = 9, .step = s}, .parameter = parameter},
                           {test::Normals(kNumel, s), test::Normals(kNumel, s + 1000),
                            test::Normals(kNumel, s + 2000)});
    };
    for (int64_t s = 0; s < 5; ++s) step(*straight, s);
    resumed->Load(straight->Save());
    for (int64_t s = 5; s < 8; ++s) ASSERT_EQ(step(*straight, s), step(*resumed, s)) << scheme;
    EXPECT_EQ(straight->Save(), resumed->Save());
  }
}

TEST(State, RefusesOtherStates) {
  const auto exchange = Open("topk", 50, 2);
  test::RunStep(*exchange, {.parameter = 0.1}, {test::Normals(50, 1), test::Normals(50, 2)});
  const Bytes state = exchange->Save();
  EXPECT_THROW(Open("topk", 51, 2)->Load(state), Error);
  EXPECT_THROW(Open("topk", 50, 3)->Load(state), Error);
  EXPECT_THROW(Open("randomk", 50, 2)->Load(state), Error);
  EXPECT_THROW(Open("topk", 50, 2, false)->Load(state), Error);
  EXPECT_THROW(MakeScheme("topk", {})->Open(test::MakeUnit(50, 1), 2)->Load(state), Error);
  for (size_t length = 0; length < state.size(); ++length) {
    EXPECT_THROW(exchange->Load(ByteSpan(state).first(length)), Error) << length;
  }
  Bytes longer = state;
  longer.push_back(std::byte{0});
  EXPECT_THROW(exchange->Load(longer), Error);
  EXPECT_EQ(exchange->Save(), state);  // refused loads change nothing
}

}  // namespace
}  // namespace legacy::error_feedback_test