// Test what the report puts into a page that answers what-if questions by itself. Its answers are
// compared with the server's in closed_forms_test.py.
#include "scenarios/study/what_if/closed_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "scenarios/study/what_if/recorded_study.h"
#include "tests/scenarios/study/what_if_testing.h"

namespace legacy::closed_forms_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

class ClosedFormsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    trained_ = std::make_unique<SmallStudy>("legacy-closed-forms");
    what_if_ = std::make_unique<WhatIf>(ReadWhatIfStudy(trained_->folder, trained_->plan), 1);
  }
  static void TearDownTestSuite() {
    what_if_.reset();
    trained_.reset();
  }

  // Returns what the page has of the study for a target accuracy.
  static analysis::Study StudyWithTarget(double accuracy) {
    analysis::Study study;
    study.metrics = {{"accuracy", "accuracy", Metric::Better::kHigher, true}};
    study.target = Target{"accuracy", accuracy};
    return study;
  }

  static std::unique_ptr<SmallStudy> trained_;
  static std::unique_ptr<WhatIf> what_if_;
};

std::unique_ptr<SmallStudy> ClosedFormsTest::trained_;
std::unique_ptr<WhatIf> ClosedFormsTest::what_if_;

TEST_F(ClosedFormsTest, HoldsTheTrainingsOfEachGroup) {
  const json page = ClosedForms(*what_if_, StudyWithTarget(0.05));
  EXPECT_EQ(page.at("refused"), json::array());
  ASSERT_EQ(page.at("groups").size(), 2u);
  const json& group = page.at("groups").at(1);
  EXPECT_EQ(group.at("label"), "4 workers, density 10%");
  EXPECT_EQ(group.at("defaults").at("fidelity"), "analytic");
  const json& plan = group.at("plan");
  EXPECT_EQ(plan.at("workers"), 4);
  EXPECT_EQ(plan.at("nodes"), json({0, 1, 2, 3}));
  EXPECT_EQ(plan.at("own").at("bandwidth"), 1'000'000'000);
  EXPECT_EQ(plan.at("own").at("slow_workers"), 1);
  EXPECT_EQ(plan.at("own").at("slowdown"), 2);
  EXPECT_EQ(plan.at("framing").at("header"), 54);
  std::vector<std::string> trainings;
  for (const json& training : plan.at("trainings")) {
    trainings.push_back(training.at("policy").get<std::string>() + " " +
                        training.at("seed").get<std::string>());
    int64_t steps = 0;
    for (const json& run : training.at("steps")) {
      EXPECT_LT(run.at(0), plan.at("steps").size());
      steps += run.at(1).get<int64_t>();
    }
    EXPECT_EQ(steps, 4);
    EXPECT_EQ(training.at("evaluated"), json({1, 2, 3, 4}));
    EXPECT_EQ(training.at("values").size(), 4u);
  }
  EXPECT_THAT(trainings, ElementsAre("dense 1", "dense 2", "topk 1", "topk 2"));
}

TEST_F(ClosedFormsTest, TargetsAreThoseOfTheStudy) {
  const auto reached = [](double accuracy) {
    const json page = ClosedForms(*what_if_, StudyWithTarget(accuracy));
    return page.at("groups").at(0).at("plan").at("trainings").at(0).at("reached");
  };
  EXPECT_EQ(reached(0), 2) << "the first evaluation with two others before it";
  EXPECT_TRUE(reached(1).is_null());
}

TEST_F(ClosedFormsTest, LeavesOutWhatTakesTooMuchRoom) {
  const analysis::Study study = StudyWithTarget(0.05);
  const json none = ClosedForms(*what_if_, study, 100);
  EXPECT_EQ(none.at("groups"), json::array());
  ASSERT_EQ(none.at("refused").size(), 2u);
  EXPECT_EQ(none.at("refused").at(0).at("policies"), json({"dense", "topk"}));
  EXPECT_EQ(none.at("refused").at(0).at("reason"), "its steps take too much room in the page");
  const size_t whole = ClosedForms(*what_if_, study).at("groups").at(0).at("plan").dump().size();
  const json part = ClosedForms(*what_if_, study, whole - 1);
  ASSERT_EQ(part.at("groups").size(), 1u) << "what is left is too small for the second group";
  EXPECT_EQ(part.at("groups").at(0).at("plan").at("trainings").size(), 2u);
  EXPECT_LT(part.at("groups").at(0).at("plan").dump().size(), whole);
  EXPECT_EQ(part.at("refused").at(0).at("policies"), json({"topk"}));
}

}  // namespace
}  // namespace legacy::closed_forms_test
