// Variance-based sparsification: its rule against doubles, conservation, and when it sends.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "compress/exchange.h"
#include "tests/compress/test_data.h"

namespace legacy::variance_test {
namespace {

constexpr int64_t kNumel = 300;

std::unique_ptr<Exchange> Open(const std::string& text, int64_t numel = kNumel, int workers = 1) {
  return MakeScheme(text)->Open(test::MakeUnit(numel), workers);
}

std::vector<float> Integers(int64_t numel, uint64_t seed) {
  std::vector<float> values = test::Normals(numel, seed);
  for (float& x : values) x = std::round(3 * x);
  return values;
}

// Positions that one step of one worker sends, from the message itself.
std::vector<uint32_t> Sent(Exchange& exchange, const UnitStep& context,
                           const std::vector<float>& gradient, std::vector<float>* mean = nullptr) {
  std::vector<Message> messages;
  const auto decoded = test::RunStep(exchange, context, {gradient}, &messages);
  if (mean) *mean = decoded;
  const Header header = ReadHeader(messages.at(1).bytes);
  EXPECT_EQ(header.codec, static_cast<uint8_t>(CodecId::kVariance));
  EXPECT_EQ(exchange.ElementsSent(), header.count);
  ByteSpan rest = ByteSpan(messages[1].bytes).subspan(kHeaderBytes);
  std::vector<uint32_t> positions(header.count);
  if (header.count == header.numel) {
    std::iota(positions.begin(), positions.end(), 0u);
    return positions;
  }
  return ReadIndices(header.index, header.numel, header.count, rest);
}

struct Rule {
  const char* options;
  double alpha, zeta;
  bool reset;
};

// Integers and halves are exact in fp32 for these few steps. All decisions therefore equal the
// oracle's, and the sum of all gradients equals the sum of all sent values plus the residual.
TEST(Variance, FollowsTheRuleAndLosesNothing) {
  for (const Rule& rule : {Rule{"zeta=1", 1.5, 1, true}, Rule{"zeta=0.5", 2, 0.5, true},
                           Rule{"zeta=0.5,reset=off", 1.5, 0.5, false},
                           Rule{"zeta=1,reset=off", 0.5, 1, false}, Rule{"zeta=0", 1.5, 0, true}}) {
    const auto exchange = Open(std::string("variance:") + rule.options);
    std::vector<double> r(kNumel), v(kNumel), computed(kNumel), received(kNumel);
    int64_t total = 0;
    for (int64_t step = 0; step < 15; ++step) {
      const auto gradient = Integers(kNumel, 50 + step);
      std::vector<uint32_t> expected;
      std::vector<double> values(kNumel);
      for (int64_t i = 0; i < kNumel; ++i) {
        computed[i] += gradient[i];
        r[i] += gradient[i];
        v[i] += double{gradient[i]} * gradient[i];
        if (r[i] * r[i] > rule.alpha * v[i]) {
          expected.push_back(static_cast<uint32_t>(i));
          values[i] = r[i];
          r[i] = 0;
          if (rule.reset) v[i] = 0;
        }
        v[i] *= rule.zeta;
      }
      std::vector<float> mean;
      ASSERT_EQ(Sent(*exchange, {.info = {.step = step}, .parameter = rule.alpha}, gradient, &mean),
                expected)
          << rule.options << " step " << step;
      total += static_cast<int64_t>(expected.size());
      for (int64_t i = 0; i < kNumel; ++i) {
        received[i] += mean[i];
        ASSERT_EQ(mean[i], values[i]);
        ASSERT_EQ(received[i] + exchange->Residual(0)[i], computed[i]);
      }
    }
    EXPECT_GT(total, kNumel / 2) << rule.options;
    EXPECT_LT(total, 15 * kNumel) << rule.options;
  }
}

// With the default zeta and real values, decisions equal those in doubles, except near ties.
TEST(Variance, FollowsTheRuleOnRealValues) {
  const auto exchange = Open("variance");
  std::vector<double> r(kNumel), v(kNumel);
  for (int64_t step = 0; step < 100; ++step) {
    const auto gradient = test::Normals(kNumel, 300 + step);
    const auto sent = Sent(*exchange, {.info = {.step = step}, .parameter = 1.5}, gradient);
    for (int64_t i = 0; i < kNumel; ++i) {
      r[i] += gradient[i];
      v[i] += double{gradient[i]} * gradient[i];
      const bool is_sent = std::ranges::binary_search(sent, static_cast<uint32_t>(i));
      const double excess = r[i] * r[i] - 1.5 * v[i];
      if (std::abs(excess) > 1e-4 * v[i]) {
        ASSERT_EQ(is_sent, excess > 0) << step << " " << i;
      }
      if (is_sent) r[i] = v[i] = 0;
      v[i] *= 0.999;
      ASSERT_NEAR(exchange->Residual(0)[i], r[i], 1e-4);
    }
  }
}

// t steps of c give r^2 = t^2 c^2 and v = c^2 (1 + zeta + ... + zeta^(t-1)).
TEST(Variance, AConstantGradientIsSentOnceItsStepsOutweighAlpha) {
  struct Case {
    const char* options;
    double alpha;
    int64_t period;
  };
  for (const Case& one : {Case{"", 1.5, 2}, Case{":zeta=1", 2, 3}, Case{":zeta=1", 7.5, 8},
                          Case{":zeta=1", 8, 9},    // 8^2 = 8 * 8 is not more
                          Case{":zeta=0.5", 8, 4},  // 9 < 8 * 1.75, 16 > 8 * 1.875
                          Case{":zeta=0", 8, 3}, Case{"", 0.99, 1}}) {
    const auto exchange = Open(std::string("variance") + one.options);
    const std::vector<float> gradient(kNumel, -0.25f);
    for (int64_t step = 0; step < 3 * one.period; ++step) {
      std::vector<float> mean;
      const auto sent =
          Sent(*exchange, {.info = {.step = step}, .parameter = one.alpha}, gradient, &mean);
      const bool now = (step + 1) % one.period == 0;
      EXPECT_EQ(static_cast<int64_t>(sent.size()), now ? kNumel : 0) << one.alpha << " " << step;
      const float value = now ? -0.25f * static_cast<float>(one.period) : 0.0f;
      EXPECT_EQ(mean, std::vector<float>(kNumel, value));
    }
  }
}

// Without its reset v continues to grow, and so do the waits.
TEST(Variance, WithoutResetTheSquaresGoOn) {
  const auto exchange = Open("variance:reset=off,zeta=1", 1);
  std::vector<int64_t> steps;
  for (int64_t step = 0; step < 12; ++step) {
    if (!Sent(*exchange, {.info = {.step = step}, .parameter = 1.5}, {1}).empty())
      steps.push_back(step + 1);
  }
  // With r = t - last and v = t: 4 > 3; (t - 2)^2 > 1.5 t at 5 (9 > 7.5); (t - 5)^2 > 1.5 t at 9
  // (16 > 13.5).
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 5, 9}));
}

// By Chebyshev's inequality, r of zero mean has r^2 > alpha E r^2 with probability 1 / alpha at
// most. An r that has a mean is sent at once.
TEST(Variance, NoiseWaitsWhereASignalIsSent) {
  constexpr double kAlpha = 4;
  constexpr int64_t kSteps = 60;
  int64_t sent[2] = {};
  for (const int signal : {0, 1}) {
    const auto exchange = Open("variance");
    for (int64_t step = 0; step < kSteps; ++step) {
      auto gradient = test::Normals(kNumel, 900 + step);
      for (float& x : gradient) x += static_cast<float>(signal);
      sent[signal] += static_cast<int64_t>(
          Sent(*exchange, {.info = {.step = step}, .parameter = kAlpha}, gradient).size());
    }
  }
  EXPECT_GT(sent[0], 0);
  EXPECT_LT(sent[0], kSteps * kNumel / kAlpha);
  EXPECT_GT(sent[1], 3 * sent[0]);
}

// r^2 <= t v for any gradients: the first step sends nothing if alpha >= 1, and all values but
// zeros below.
TEST(Variance, FirstStepSendsAllOrNothing) {
  for (const auto& gradient : test::HardInputs(65)) {
    double squared = 0;
    for (const float x : gradient) squared += double{x} * x;
    const auto scheme = MakeScheme("variance");
    const std::vector<double> alphas = {0.5, 1, 1.5};
    const auto errors = scheme->SquaredErrors(test::MakeUnit(65), gradient, alphas, {});
    for (size_t i = 0; i < alphas.size(); ++i) {
      const auto exchange = scheme->Open(test::MakeUnit(65), 1);
      const auto sent = Sent(*exchange, {.parameter = alphas[i]}, gradient).size();
      const auto nonzero = 65 - std::ranges::count(gradient, 0.0f);
      EXPECT_EQ(static_cast<int64_t>(sent), alphas[i] < 1 ? nonzero : 0);
      EXPECT_NEAR(test::ResidualSquared(*exchange, 0), errors[i], 1e-9 * squared);
    }
  }
}

// Squares beyond the range of fp32 stop neither a training nor its state.
TEST(Variance, HugeAndEmptyUnits) {
  const auto huge = Open("variance", 2);
  for (int64_t step = 0; step < 3; ++step) {
    test::RunStep(*huge, {.info = {.step = step}, .parameter = 1000}, {{1e30f, -1e-30f}});
    huge->RescaleResiduals(10);
    Open("variance", 2)->Load(huge->Save());
  }
  const auto empty = Open("variance", 0);
  EXPECT_EQ(Sent(*empty, {.parameter = 1.5}, {}), std::vector<uint32_t>{});
  Open("variance", 0)->Load(empty->Save());
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const auto exchange = Open("variance", 2);
    exchange->Begin({.parameter = 1.5});
    exchange->NextCall();
    EXPECT_THROW(exchange->Encode(0, std::vector<float>{1, bad}), Error);
  }
}

// The rounding error joins the residual, and counts in the next decision.
TEST(Variance, AQuantiserFollows) {
  const auto exchange = Open("variance+bf16");
  std::vector<float> before(kNumel);
  for (int64_t step = 0; step < 8; ++step) {
    const auto gradient = test::Normals(kNumel, step);
    std::vector<float> mean;
    const auto sent = Sent(*exchange, {.info = {.step = step}, .parameter = 1.5}, gradient, &mean);
    EXPECT_EQ(sent.empty(), step == 0);
    for (int64_t i = 0; i < kNumel; ++i) {
      ASSERT_EQ(mean[i] + exchange->Residual(0)[i], before[i] + gradient[i]);
      before[i] = exchange->Residual(0)[i];
    }
  }
  const std::vector<double> alphas = {0.5, 1.5};
  const auto gradient = test::Normals(kNumel, 1);
  const auto errors =
      MakeScheme("variance+bf16")->SquaredErrors(test::MakeUnit(kNumel), gradient, alphas, {});
  EXPECT_GT(errors[0], 0);
  EXPECT_LT(errors[0], 1e-4 * errors[1]);
}

// The rule does not depend on the unit of length: if r is in units twice as large, v is in their
// squares.
TEST(Variance, RescalingChangesNoDecision) {
  const auto plain = Open("variance"), scaled = Open("variance");
  for (int64_t step = 0; step < 20; ++step) {
    const bool doubled = step >= 5;
    if (step == 5) scaled->RescaleResiduals(2);
    auto gradient = test::Normals(kNumel, step);
    std::vector<float> one, two;
    const UnitStep context{.info = {.step = step}, .parameter = 1.5};
    const auto sent = Sent(*plain, context, gradient, &one);
    for (float& x : gradient) x *= doubled ? 2.0f : 1.0f;
    ASSERT_EQ(Sent(*scaled, context, gradient, &two), sent);
    for (float& x : one) x *= doubled ? 2.0f : 1.0f;
    ASSERT_EQ(one, two);
  }
}

// Inactive workers keep r and v: later steps are as if the missed one had not been.
TEST(Variance, InactiveWorkersKeepBothSums) {
  const auto three = Open("variance", kNumel, 3), alone = Open("variance");
  for (int64_t step = 0; step < 12; ++step) {
    const std::vector<std::vector<float>> gradients = {test::Normals(kNumel, 3 * step),
                                                       test::Normals(kNumel, 3 * step + 1),
                                                       test::Normals(kNumel, 3 * step + 2)};
    const UnitStep context{.info = {.step = step}, .parameter = 1.5};
    UnitStep some = context;
    some.info.active_workers = step % 3 == 1 ? std::vector<int>{0, 2} : std::vector<int>{1};
    test::RunStep(*three, some, gradients);
    if (step % 3 != 1) test::RunStep(*alone, context, {gradients[1]});
    const auto kept = three->Residual(1), expected = alone->Residual(0);
    ASSERT_TRUE(std::ranges::equal(kept, expected)) << step;
  }
}

// A message of some elements, with each byte changed and at every length, is refused before the
// sum, or gives other finite values.
TEST(Variance, SurvivesHostileBytes) {
  const auto scheme = MakeScheme("variance");
  const auto attempt = [&](size_t byte, std::byte change, size_t length) -> std::optional<size_t> {
    const auto exchange = scheme->Open(test::MakeUnit(40), 1);
    for (int64_t step = 0; step < 2; ++step) {
      test::RunStep(*exchange, {.info = {.step = step}, .parameter = 1.5},
                    {test::Normals(40, step)});
    }
    exchange->Begin({.info = {.step = 2}, .parameter = 1.5});
    exchange->NextCall();
    Message message = exchange->Encode(0, test::Normals(40, 2));
    exchange->Accumulate(0, message.bytes);
    exchange->FinishCall();
    exchange->NextCall();
    message = exchange->Encode(0, {});
    const size_t whole = message.bytes.size();
    if (byte < whole) message.bytes[byte] ^= change;
    message.bytes.resize(std::min(length, whole + 1));
    std::vector<float> mean(40, 1.0f);
    try {
      exchange->Accumulate(0, message.bytes);
    } catch (const Error&) {
      exchange->Mean(mean);
      EXPECT_EQ(mean, std::vector<float>(40));
      return std::nullopt;
    }
    exchange->Mean(mean);
    for (const float x : mean) EXPECT_TRUE(std::isfinite(x));
    return whole;
  };
  const auto whole = attempt(~size_t{0}, {}, 1000);
  EXPECT_FALSE(whole);  // one byte too many
  size_t length = kHeaderBytes;
  while (!attempt(~size_t{0}, {}, length)) ASSERT_LT(++length, 400u);
  ASSERT_GT(length, 30u);
  int accepted = 0;
  for (size_t byte = 0; byte < length; ++byte) {
    EXPECT_FALSE(attempt(0, {}, byte)) << byte;
    for (const int change : {1, 0x10, 0x80, 0xFF}) {
      const bool taken = attempt(byte, static_cast<std::byte>(change), length).has_value();
      accepted += taken;
      if (byte < kHeaderBytes) {
        EXPECT_FALSE(taken) << byte << " " << change;
      }
    }
  }
  EXPECT_GT(accepted, 10);
}

TEST(Variance, RefusesStatesWithAnotherNumberOfSquares) {
  const auto exchange = Open("variance", 4, 2);
  const Bytes fresh = exchange->Save();
  Open("variance", 4, 2)->Load(fresh);
  test::RunStep(*exchange, {.parameter = 1.5}, {{1, 2, 3, 4}, {1, 2, 3, 4}});
  const Bytes state = exchange->Save();
  EXPECT_EQ(state.size(), fresh.size() + 2 * 4 * sizeof(float));
  int refused = 0;
  for (size_t i = 0; i < state.size(); ++i) {
    if (state[i] != std::byte{4}) continue;  // the number of squares, among others
    Bytes changed = state;
    changed[i] = std::byte{3};
    try {
      exchange->Load(changed);
    } catch (const Error&) {
      ++refused;
      EXPECT_EQ(exchange->Save(), state);
    }
  }
  EXPECT_GE(refused, 3);  // elements of the unit, squares of both workers
}

TEST(Variance, HasItsTraitsAndParameter) {
  const auto scheme = MakeScheme("variance:alpha=2");
  EXPECT_EQ(scheme->Name(), "variance");
  EXPECT_EQ(scheme->Parameter().name, "alpha");
  EXPECT_EQ(scheme->Parameter().fallback, 2);
  EXPECT_TRUE(scheme->Parameter().volume_falls);
  EXPECT_FALSE(scheme->Traits().takes_candidates);
  EXPECT_TRUE(scheme->UsesErrorFeedback(2));
  EXPECT_FALSE(scheme->MessageBytes(test::MakeUnit(9), 2));
  const auto exchange = scheme->Open(test::MakeUnit(9), 1);
  EXPECT_THROW(exchange->Begin({.candidates = {1, 2}}), Error);
  for (const double bad : {0.0, -1.0, 1001.0, std::nan("")}) {
    EXPECT_THROW(exchange->Begin({.parameter = bad}), Error) << bad;
  }
  EXPECT_THROW(MakeScheme("variance", {.error_feedback = false}), Error);
  for (const char* bad : {"variance:alpha=0", "variance:zeta=1.1", "variance:reset=1",
                          "variance:memory=momentum", "variance+fp16+fp16", "variance+topk"}) {
    EXPECT_THROW(MakeScheme(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace legacy::variance_test