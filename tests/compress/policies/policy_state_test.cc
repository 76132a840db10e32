// Every policy of the table resumes as if it had not stopped, refuses states and messages that are
// not its own, and decides the same whatever workers measured.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/policies/gradient_watch.h"
#include "tests/compress/policy_driver.h"

namespace legacy::policy_state_test {
namespace {

constexpr const char* kPolicies[] = {"uniform",
                                     "legacy-auto",
                                     "warmup:steps=8",
                                     "lgreco:period=3",
                                     "lgreco:period=3,cost=time",
                                     "lgreco:period=3,source=mean,metric=rel_l2",
                                     "lgreco-accordion:period=2",
                                     "accordion:interval_steps=3",
                                     "edgc:window=3,start=0,every=2",
                                     "gravac:eps=0.4,window=2",
                                     "kimad:split=knapsack,budget=0.001",
                                     "kimad",
                                     "flexible:interval=2"};

PolicyContext Context(const std::vector<int64_t>& sizes = {3000, 200, 40}) {
  return {.scheme = nullptr,
          .units = test::MakeUnits(sizes),
          .workers = 3,
          .total_steps = 20,
          .steps_per_epoch = 4,
          .parameter = 0.02,
          .seed = 9};
}

StepInfo At(int64_t step) {
  return {.step = step,
          .total_steps = 20,
          .learning_rate = step < 9 ? 1 : 0.1,
          .steps_per_epoch = 4,
          .link = {.latency_seconds = 1e-5 * static_cast<double>(step / 3 + 1),
                   .seconds_per_byte = 1e-8}};
}

const std::vector<double> kBytes = {100, 100, 100};

StepFeedback Feedback(int64_t step) {
  static const std::vector<double> exposed = {2e-4, 1e-4, 0};
  StepFeedback feedback;
  feedback.simulated_seconds = 1.0 / static_cast<double>(step % 5 + 2);
  feedback.communication_seconds = 1e-3 * static_cast<double>(step % 3 + 1);
  feedback.unit_bytes = kBytes;
  feedback.unit_exposed_seconds = exposed;
  return feedback;
}

// Charging the work of 2^40 gradients would take too long, so a state with that many is refused.
TEST(PolicyState, SumsOfMoreStepsThanATrainingHasAreRefused) {
  const std::vector<Unit> units = test::MakeUnits({2});
  GradientSum sum(units);
  for (const auto& [steps, allowed] : {std::pair(int64_t{1} << 40, false), {3, true}}) {
    StateWriter out;
    out.Number(static_cast<uint64_t>(steps));
    out.Floats(std::vector<float>{1, 2});
    const Bytes state = out.Take();
    StateReader in(state);
    if (allowed) {
      EXPECT_NO_THROW(sum.Load(in));
    } else {
      EXPECT_THROW(sum.Load(in), Error);
    }
  }
}

class EveryPolicy : public testing::TestWithParam<const char*> {
 protected:
  test::PolicyDriver Driver(PolicyContext context = Context()) const {
    const std::string scheme = test::SchemeOf(GetParam());
    if (scheme == "powersgd") {
      context.parameter = 2;
      for (Unit& unit : context.units) {
        if (unit.numel % 10 == 0) unit.shape = {10, unit.numel / 10};
      }
    }
    return {GetParam(), scheme, context};
  }
};

TEST_P(EveryPolicy, RestartsToTheSameBits) {
  const auto gradients = test::NormalGradients(Context().units);
  for (const int64_t stop : {1, 4, 5, 8, 9, 13}) {
    auto whole = Driver();
    auto second = Driver();
    for (int64_t step = 0; step < 18; ++step) {
      const auto expected = whole.Step(At(step), gradients, Feedback(step));
      if (step >= stop) {
        const auto got = second.Step(At(step), gradients, Feedback(step));
        EXPECT_EQ(got.parameters, expected.parameters) << step;
        EXPECT_EQ(got.announcement, expected.announcement) << step;
        EXPECT_EQ(got.mean, expected.mean) << step;
      }
      if (step + 1 != stop) continue;
      second.policy().Load(whole.policy().Save());
      for (size_t u = 0; u < 3; ++u) second.exchange(u).Load(whole.exchange(u).Save());
      EXPECT_EQ(second.policy().Save(), whole.policy().Save());
    }
    EXPECT_EQ(second.policy().Save(), whole.policy().Save());
  }
}

TEST_P(EveryPolicy, RefusesOtherStates) {
  const auto gradients = test::NormalGradients(Context().units);
  auto driver = Driver();
  for (int64_t step = 0; step < 5; ++step) driver.Step(At(step), gradients, Feedback(step));
  const Bytes state = driver.policy().Save();
  if (state.empty()) {
    EXPECT_THROW(driver.policy().Load(Bytes(1)), Error);
    return;
  }
  for (size_t length = 0; length < state.size(); length += length < 300 ? 1 : 97) {
    EXPECT_THROW(driver.policy().Load(std::span(state).first(length)), Error) << length;
  }
  Bytes longer = state;
  longer.push_back(std::byte{0});
  EXPECT_THROW(driver.policy().Load(longer), Error);
  EXPECT_THROW(Driver(Context({3000, 200})).policy().Load(state), Error);
  EXPECT_THROW(Driver(Context({3000, 200, 41})).policy().Load(state), Error);
  EXPECT_EQ(driver.policy().Save(), state);  // no state was half loaded
}

TEST_P(EveryPolicy, NamesItself) {
  const std::string text = GetParam();
  auto driver = Driver();
  const std::string_view name = driver.policy().Name();
  EXPECT_TRUE(text.starts_with(name) || name == "legacy-both") << name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryPolicy, testing::ValuesIn(kPolicies));

TEST(PolicyTable, EveryRowIsTried) {
  for (const PolicyRow& row : PolicyTable()) {
    EXPECT_FALSE(row.info.help.empty()) << row.info.name;
    const auto tried = [&](std::string_view text) {
      return text.substr(0, text.find(':')) == row.info.name;
    };
    EXPECT_TRUE(row.info.name == "theta" || std::ranges::any_of(kPolicies, tried)) << row.info.name;
  }
}

// An open collective call of a policy that announces, with the message of worker 0.
struct OpenAnnouncement {
  test::PolicyDriver driver{"lgreco:period=1", "topk", Context()};
  Message message;

  OpenAnnouncement() {
    std::vector<double> parameters(3);
    const auto gradient = test::NormalGradients(Context().units)(0, 0);
    driver.policy().Decide(At(0), Context().units, parameters);
    for (size_t u = 0; u < 3; ++u) {
      const Unit unit = Context().units[u];
      const auto part = std::span(gradient).subspan(unit.offset, unit.numel);
      driver.policy().OnLocalGradient(u, part, part);
    }
    EXPECT_TRUE(driver.policy().OpenCall(PolicyMoment::kAnnouncement));
    message = driver.policy().Encode(0, {});
  }
};

TEST(Announcement, HostileBytesAreRefused) {
  OpenAnnouncement open;
  Policy& policy = open.driver.policy();
  EXPECT_EQ(policy.Encode(1, {}).size(), 0);
  const Bytes good = open.message.bytes;
  for (size_t i = 0; i < static_cast<size_t>(kHeaderBytes); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[i] ^= std::byte{1} << bit;
      EXPECT_THROW(policy.Accumulate(0, bad), Error) << i << " " << bit;
    }
  }
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(policy.Accumulate(0, std::span(good).first(length)), Error);
  }
  Bytes bad = good;
  bad.push_back(std::byte{0});
  EXPECT_THROW(policy.Accumulate(0, bad), Error);
  bad = good;
  bad[kHeaderBytes + 1] = std::byte{13};  // one past the last option
  EXPECT_THROW(policy.Accumulate(0, bad), Error);
  EXPECT_THROW(policy.Accumulate(1, good), Error);  // only worker 0 announces
  policy.Accumulate(0, good);
  policy.Accumulate(1, {});
}

TEST(Announcement, ParametersComeFromTheBytes) {
  OpenAnnouncement open;
  Policy& policy = open.driver.policy();
  Bytes changed = open.message.bytes;
  changed[kHeaderBytes + 0] = std::byte{12};
  changed[kHeaderBytes + 1] = std::byte{0};
  policy.Accumulate(0, changed);
  policy.FinishCall();
  std::vector<double> parameters(3);
  policy.Decide(At(1), Context().units, parameters);
  EXPECT_DOUBLE_EQ(parameters[0], 8 * 0.02);
  EXPECT_DOUBLE_EQ(parameters[1], 1.0 / 200);  // clipped to one element
}

TEST(Agreement, HostileBytesAreRefused) {
  test::PolicyDriver driver("gravac", "topk", Context());
  std::vector<double> parameters(3);
  driver.policy().Decide(At(0), Context().units, parameters);
  ASSERT_TRUE(driver.policy().OpenCall(PolicyMoment::kAgreement));
  const std::vector<Probe> probes(3, {.squared = 4, .kept = {4, 1}});
  const Bytes good = driver.policy().Encode(0, probes).bytes;
  ASSERT_EQ(good.size(), 48u);
  for (size_t i = 0; i < static_cast<size_t>(kHeaderBytes); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{1};
    EXPECT_THROW(driver.policy().Accumulate(0, bad), Error) << i;
  }
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(driver.policy().Accumulate(0, std::span(good).first(length)), Error);
  }
  for (const double value : {-1.0, std::nan(""), HUGE_VAL}) {
    for (size_t field = 0; field < 4; ++field) {
      Bytes bad = good;
      std::memcpy(&bad[kHeaderBytes + 8 * field], &value, sizeof value);
      EXPECT_THROW(driver.policy().Accumulate(0, bad), Error) << field;
    }
  }
  EXPECT_FALSE(driver.policy().OpenCall(PolicyMoment::kAnnouncement));
}

}  // namespace
}  // namespace legacy::policy_state_test