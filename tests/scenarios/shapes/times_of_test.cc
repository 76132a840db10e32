// Trainings that are timed as a shape: what is learnt is that of the model, and bytes and times are
// those of the shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/workers/comparison.h"

namespace legacy::times_of_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

volatile std::sig_atomic_t never = 0;

class TimesOf : public ::testing::Test {
 protected:
  void SetUp() override {
    scenario_.dataset = "glyphs";
    scenario_.model = "small-cnn";
    scenario_.train_limit = 96;
    scenario_.test_limit = 40;
    scenario_.workers = 3;
    scenario_.batch = 4;
    scenario_.steps = 6;
    scenario_.evaluate_every = 3;
    scenario_.seeds = 1;
    scenario_.policies = {"dense", "topk", "legacy-both", "powersgd", "lgreco"};
    scenario_.topology = "star";
    scenario_.stragglers = "none";
    scenario_.further = "none";
    scenario_.fidelity = "flow";
    scenario_.pictures = false;
    scenario_.overwrite = true;
  }
  void TearDown() override { fs::remove_all(folder_); }

  analysis::RunDirectory Run(Scenario scenario, const std::string& name) {
    scenario.out = (folder_ / name).string();
    ValidateScenario(scenario);
    RunComparison(scenario, "test", "test", never);
    return analysis::ReadRunDirectory(scenario.out);
  }
  std::string Refusal(const Scenario& scenario) {
    try {
      ValidateScenario(scenario);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("times-of-" + std::to_string(getpid()));
  Scenario scenario_;
};

TEST_F(TimesOf, LearnsAsTheModelAndCostsWhatTheShapeCosts) {
  const std::string shape = "resnet18-cifar";
  const analysis::RunDirectory learnt = Run(scenario_, "learnt");
  Scenario alone = scenario_;
  alone.dataset = Scenario().dataset;
  alone.model = Scenario().model;
  alone.train_limit = Scenario().train_limit;
  alone.test_limit = Scenario().test_limit;
  alone.layers = shape;
  alone.batch = LoadModelShape(shape).batch;
  const analysis::RunDirectory timed = Run(alone, "timed");
  Scenario both = scenario_;
  both.times_of = shape;
  both.record = true;
  const analysis::RunDirectory joined = Run(both, "joined");

  ASSERT_EQ(joined.evaluations.size(), learnt.evaluations.size());
  for (size_t i = 0; i < learnt.evaluations.size(); ++i) {
    EXPECT_EQ(joined.evaluations[i].metrics, learnt.evaluations[i].metrics);
  }
  ASSERT_EQ(joined.steps.size(), learnt.steps.size());
  ASSERT_EQ(joined.steps.size(), timed.steps.size());
  for (size_t i = 0; i < learnt.steps.size(); ++i) {
    const analysis::StepRow &row = joined.steps[i], &slow = timed.steps[i];
    EXPECT_EQ(row.policy, slow.policy);
    EXPECT_EQ(row.training_loss, learnt.steps[i].training_loss);
    EXPECT_EQ(row.learning_rate, learnt.steps[i].learning_rate);
    EXPECT_EQ(row.message_bytes, slow.message_bytes);
    EXPECT_EQ(row.step_seconds, slow.step_seconds);
    EXPECT_NE(row.step_seconds, learnt.steps[i].step_seconds);
  }
  EXPECT_EQ(joined.manifest.parameters, timed.manifest.parameters);
  EXPECT_EQ(joined.manifest.document.at("times_of").at("name"), shape);
  EXPECT_EQ(joined.manifest.metrics, learnt.manifest.metrics);

  const Recording recording = ReadRecording((folder_ / "joined").string());
  const analysis::RunDirectory again = ReplayRows(recording, ReplayDefaults(recording), never);
  ASSERT_EQ(again.steps.size(), joined.steps.size());
  for (size_t i = 0; i < again.steps.size(); ++i) {
    EXPECT_EQ(again.steps[i].step_seconds, joined.steps[i].step_seconds);
  }
}

TEST_F(TimesOf, RefusesWhatWouldNotBeTheShapes) {
  scenario_.times_of = "resnet50";
  EXPECT_EQ(Refusal(scenario_), "nothing");
  scenario_.gradient_steps = "1";
  EXPECT_THAT(Refusal(scenario_), HasSubstr("--gradient-steps"));
  scenario_.gradient_steps.clear();
  scenario_.policies = {"topk", "gravac"};
  EXPECT_THAT(Refusal(scenario_), HasSubstr("gravac"));
  scenario_.policies = {"topk"};
  scenario_.layers = "resnet50";
  EXPECT_THAT(Refusal(scenario_), HasSubstr("--times-of"));
  scenario_.layers.clear();
  scenario_.times_of = "resnet5000";
  EXPECT_THAT(Refusal(scenario_), HasSubstr("resnet50"));
}

}  // namespace
}  // namespace legacy::times_of_test
