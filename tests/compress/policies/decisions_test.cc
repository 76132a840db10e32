// Windows that are fractions of the run, and the number of decisions that policies make.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "compress/options.h"
#include "tests/compress/policy_driver.h"

namespace legacy::decisions_test {
namespace {

PolicyContext Context(int64_t total_steps) {
  return {.scheme = nullptr,
          .units = test::MakeUnits({400, 40}),
          .workers = 2,
          .total_steps = total_steps,
          .steps_per_epoch = 31,
          .parameter = 0.1,
          .seed = 1};
}

int64_t StepsOf(const std::string& text, int64_t minimum, int64_t total_steps) {
  const std::vector<OptionSpec> specs = {{"window", "500", "", ""}};
  const Stage stage{.name = "policy", .options = {{"window", text}}};
  return OptionReader(stage, specs).Steps("window", minimum, total_steps);
}

TEST(Steps, AreNumbersOrPartsOfTheRun) {
  EXPECT_EQ(StepsOf("500", 1, 300), 500);
  EXPECT_EQ(StepsOf("0", 0, 300), 0);
  EXPECT_EQ(StepsOf("5%", 1, 300), 15);
  EXPECT_EQ(StepsOf("5%", 1, 310), 16);  // 15.5, rounded
  EXPECT_EQ(StepsOf("0.1%", 1, 300), 1);
  EXPECT_EQ(StepsOf("100%", 1, 300), 300);
}

TEST(Steps, RefuseOtherParts) {
  for (const char* text : {"0", "0%", "-5%", "101%", "nan%", "%", "0.05", "5 %", "5%%"}) {
    EXPECT_THROW(StepsOf(text, 1, 300), Error) << text;
  }
}

struct Case {
  const char* policy;
  int64_t steps;
  int64_t decisions;
};

StepFeedback Feedback() {
  StepFeedback feedback;
  feedback.simulated_seconds = 0.02;
  feedback.communication_seconds = 0.01;
  return feedback;
}

// Returns all decisions of a policy in a run at a constant learning rate, without those that no
// step follows.
std::vector<Decision> LogOf(const std::string& policy, int64_t steps,
                            const std::string& scheme = "topk", double parameter = 0.1) {
  PolicyContext context = Context(steps);
  context.parameter = parameter;
  test::PolicyDriver driver(policy, scheme, context);
  const auto gradients = test::NormalGradients(context.units);
  std::vector<Decision> decisions;
  for (int64_t step = 0; step < steps; ++step) {
    driver.Step({.step = step, .total_steps = steps, .learning_rate = 1}, gradients, Feedback());
    for (Decision& decision : driver.policy().TakeDecisions()) {
      if (decision.step < steps) decisions.push_back(std::move(decision));
    }
  }
  return decisions;
}

TEST(Decisions, ForecastsEqualTheDecisions) {
  const Case cases[] = {{"lgreco", 31, 0},
                        {"lgreco", 63, 2},
                        {"lgreco:period=10%", 90, 9},
                        {"lgreco:period=20,start=5", 66, 4},
                        {"accordion", 341, 0},
                        {"accordion", 342, 1},
                        {"accordion:interval=10%", 100, 8},
                        {"accordion:interval=50%", 100, 1},
                        {"accordion:interval_steps=20", 100, 3},
                        {"kimad", 10, 7},
                        {"kimad:budget=0.02", 10, 8},
                        {"kimad:period=10%", 40, 8},
                        {"kimad:budget=0.02,period=10%", 40, 9},
                        {"gravac", 300, 0},
                        {"gravac", 502, 1},
                        {"gravac:window=5%", 100, 19},
                        {"flexible", 31, 3},
                        {"flexible", 32, 4},
                        {"flexible:interval=5%", 100, 20}};
  for (const Case& run : cases) {
    test::PolicyDriver driver(run.policy, "topk", Context(run.steps));
    const auto forecast = driver.policy().DecisionsIn(run.steps);
    ASSERT_TRUE(forecast) << run.policy;
    EXPECT_EQ(forecast->decisions, run.decisions) << run.policy << ", steps " << run.steps;
    const auto log = LogOf(run.policy, run.steps);
    ASSERT_FALSE(log.empty()) << run.policy;
    EXPECT_EQ(log.back().number, run.decisions) << run.policy << ", steps " << run.steps;
  }
}

// Checks that the log gives every unit's parameter in every step.
void ExpectLogTellsAll(const std::string& policy, const std::string& scheme, double parameter) {
  constexpr int64_t kSteps = 40;
  const auto log = LogOf(policy, kSteps, scheme, parameter);
  PolicyContext context = Context(kSteps);
  context.parameter = parameter;
  test::PolicyDriver driver(policy, scheme, context);
  const auto gradients = test::NormalGradients(context.units);
  std::vector<double> told(context.units.size());
  auto next = log.begin();
  for (int64_t step = 0; step < kSteps; ++step) {
    for (; next != log.end() && next->step <= step; ++next) {
      if (next->unit == Decision::kAllUnits) std::ranges::fill(told, next->parameter);
      if (next->unit < told.size()) told[next->unit] = next->parameter;
    }
    const auto result = driver.Step({.step = step, .total_steps = kSteps, .learning_rate = 1},
                                    gradients, Feedback());
    EXPECT_EQ(result.parameters, told) << policy << ", step " << step;
  }
  EXPECT_EQ(next, log.end()) << policy;
}

TEST(Decisions, TellEveryParameterOfEveryStep) {
  for (const char* policy :
       {"legacy-auto", "warmup:steps=12", "lgreco:period=5", "lgreco:period=5,cost=time",
        "lgreco-accordion:period=5", "accordion:interval_steps=5", "gravac:eps=0.4,window=5",
        "kimad:budget=0.0001", "kimad:split=knapsack,budget=0.0001", "flexible"}) {
    ExpectLogTellsAll(policy, "topk", 0.1);
  }
  for (const char* form : {"lr", "measured", "recover"}) {
    ExpectLogTellsAll(std::string("theta:interval=5,form=") + form, "fft", 0.9);
  }
}

TEST(Decisions, RecordTheirReasons) {
  const auto accordion = LogOf("accordion:interval_steps=5", 20);
  ASSERT_EQ(accordion.size(), 8u);  // two units: start, no norm before, two decisions
  EXPECT_EQ(accordion[0].grounds.reason, "start");
  EXPECT_EQ(accordion[2].grounds.reason, "no norm before");
  EXPECT_EQ(accordion[2].number, 0);
  EXPECT_EQ(accordion[4].number, 1);
  EXPECT_EQ(accordion[4].grounds.budget, 0.5);
  EXPECT_GE(accordion[4].grounds.gain, 0);

  double spent = 0;
  const auto lgreco = LogOf("lgreco:period=5", 10);
  ASSERT_EQ(lgreco.size(), 4u);
  for (const size_t row : {2, 3}) spent += lgreco[row].grounds.error;
  EXPECT_LE(spent, lgreco[3].grounds.budget * (1 + 1e-12));
  EXPECT_GT(spent, 0);

  const auto kimad = LogOf("kimad:budget=0.005", 3);
  EXPECT_LE(kimad.back().grounds.seconds, 0.005);
  EXPECT_EQ(kimad.back().grounds.reason, "the best within the bytes");
}

TEST(Decisions, SuggestedWindowsMakePoliciesDecide) {
  for (const char* policy :
       {"lgreco", "accordion", "lgreco-accordion", "gravac", "kimad", "flexible"}) {
    test::PolicyDriver idle(policy, "topk", Context(300));
    const std::string remedy = idle.policy().DecisionsIn(300)->remedy;
    test::PolicyDriver acting(policy + (":" + remedy), "topk", Context(300));
    EXPECT_GE(acting.policy().DecisionsIn(300)->decisions, 8) << remedy;
  }
}

TEST(Decisions, SchedulesMakeNone) {
  for (const char* policy : {"uniform", "legacy-auto", "warmup"}) {
    EXPECT_FALSE(test::PolicyDriver(policy, "topk", Context(300)).policy().DecisionsIn(300));
  }
}

}  // namespace
}  // namespace legacy::decisions_test