#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/study/report/html.h"
#include "analysis/study/statistics.h"
#include "base/error.h"
#include "tests/analysis/page_data.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::study_html_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::vector<double> Sequence(const json& data, size_t point, size_t column) {
  const size_t place = data.at("curves").at("points").at(point).at(column);
  return data.at("curves").at("sequences").at(place);
}

MadeUpStudy Small() {
  MadeUpStudy made;
  made.policies = {{"dense", 1, false, 0, 200}, {"randomk", 0.01, true, 5e-4, 700}};
  made.bandwidths = {1e8, 1e9};
  return made;
}

TEST(StudyHtmlTest, HoldsThePointsAsColumns) {
  const Study study = MakeStudy(Small());
  const json data = DataOf(StudyHtml(study));
  const json& points = data.at("points");
  ASSERT_EQ(points.at("policy").size(), study.points.size());
  for (size_t i = 0; i < study.points.size(); ++i) {
    const StudyPoint& point = study.points[i];
    EXPECT_EQ(data.at("policies").at(points.at("policy").at(i).get<size_t>()), point.policy);
    EXPECT_EQ(data.at("seeds").at(points.at("seed").at(i).get<size_t>()),
              std::to_string(point.seed));
    const json& time = points.at("figures").at("time_to_target").at(i);
    ASSERT_EQ(time.is_null(), !point.figures.time_to_target);
    if (!time.is_null()) {
      EXPECT_NEAR(time.get<double>() / *point.figures.time_to_target, 1, 1e-9);
      const Progress before = BeforeTarget(point);
      const json& figures = points.at("figures");
      EXPECT_EQ(figures.at("steps_before_target").at(i), before.steps);
      EXPECT_NEAR(figures.at("time_before_target").at(i).get<double>() / before.seconds, 1, 1e-9);
    }
    const std::vector<double> seconds = Sequence(data, i, 1);
    ASSERT_EQ(seconds.size(), point.curve.size());
    EXPECT_NEAR(seconds.back() / point.curve.back().simulated_seconds, 1, 1e-4);
  }
}

TEST(StudyHtmlTest, HoldsWhatAnswersWithoutAServer) {
  const Study study = MakeStudy(Small());
  EXPECT_TRUE(DataOf(StudyHtml(study)).at("closed_forms").is_null());
  const json data = DataOf(StudyHtml(study, {.closed_forms = R"({"groups": [], "refused": []})"}));
  EXPECT_EQ(data.at("closed_forms"), json({{"groups", json::array()}, {"refused", json::array()}}));
}

TEST(StudyHtmlTest, SaysHowItsReaderCallsThePrograms) {
  unsetenv("LEGACY_LAUNCHER");
  EXPECT_EQ(DataOf(StudyHtml(MakeStudy(Small()))).at("program"), "legacy-study");
  setenv("LEGACY_LAUNCHER", "./waf --run", 1);
  EXPECT_EQ(DataOf(StudyHtml(MakeStudy(Small()))).at("program"), "./waf --run legacy-study");
  unsetenv("LEGACY_LAUNCHER");
}

TEST(StudyHtmlTest, HoldsTheMetricOfTheTarget) {
  Study study = InPerplexity(MakeStudy(Small()));
  study.metrics.insert(study.metrics.begin(),
                       {"accuracy", "accuracy", Metric::Better::kHigher, true});
  for (StudyPoint& point : study.points) {
    for (CurveRow& row : point.curve) row.metrics.insert(row.metrics.begin(), 0.5);
  }
  const json data = DataOf(StudyHtml(study));
  EXPECT_EQ(data.at("metric").at("name"), "perplexity");
  EXPECT_EQ(data.at("metric").at("better"), "lower");
  EXPECT_EQ(data.at("target"), 7.39);
  EXPECT_NEAR(Sequence(data, 0, 3).back() / study.points[0].curve.back().metrics[1], 1, 1e-4);
  study.target.reset();  // the first metric is shown then
  EXPECT_EQ(DataOf(StudyHtml(study)).at("metric").at("name"), "accuracy");
  EXPECT_TRUE(DataOf(StudyHtml(study)).at("target").is_null());
}

TEST(StudyHtmlTest, DistinguishesSeedsBeyondJavaScriptsIntegers) {
  MadeUpStudy made = Small();
  made.seeds = {9007199254740993u, 9007199254740992u};
  EXPECT_EQ(DataOf(StudyHtml(MakeStudy(made))).at("seeds"),
            json({"9007199254740993", "9007199254740992"}));
}

TEST(StudyHtmlTest, ThinsLongCurvesButKeepsTheirEnds) {
  // The 24 curves of 20 evaluations have 19 different sequences: steps, 8 of seconds, 4 of bytes, 6
  // of accuracies. Every third evaluation gives 19 x 8 numbers, every fourth 19 x 6.
  const Study study = MakeStudy(Small());
  HtmlOptions options;
  options.curve_numbers = 120;
  const json data = DataOf(StudyHtml(study, options));
  EXPECT_EQ(data.at("curves").at("stride"), 4);
  EXPECT_THAT(Sequence(data, 0, 0), testing::ElementsAre(20, 100, 180, 260, 340, 400));
}

TEST(StudyHtmlTest, KeepsTextsOfTheStudyOutOfTheMarkup) {
  MadeUpStudy made = Small();
  made.policies[1].name = "</script><img src=x onerror=alert(1)><!--<script>";
  Study study = MakeStudy(made);
  study.title = "</title><script>alert(2)</script> @STUDY@ & more";
  Forget(study.points[3], "</script><b>");
  const std::string page = StudyHtml(study);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;alert(2)&lt;/script&gt; @STUDY@ "
                              "&amp; more</title>"));
  EXPECT_EQ(DataOf(page).at("policies").at(1), made.policies[1].name);
  EXPECT_EQ(DataOf(page).at("points").at("failures"), json({{"3", "</script><b>"}}));
}

TEST(StudyHtmlTest, ShowsUnfinishedStudies) {
  Study study = MakeStudy(Small());
  for (StudyPoint& point : study.points) Forget(point);
  study.points[0].figures.final_metric = std::numeric_limits<double>::quiet_NaN();
  study.points[0].state = StudyState::kDone;
  study.axes[0].values[0] = "\xff not UTF-8";
  for (StudyPoint& point : study.points) {
    if (point.values[0] == "100000kbps") point.values[0] = study.axes[0].values[0];
  }
  const json data = DataOf(StudyHtml(study));
  EXPECT_EQ(data.at("points").at("state").at(1), 0);
  EXPECT_TRUE(data.at("points").at("figures").at("final_metric").at(0).is_null());
  EXPECT_TRUE(data.at("curves").at("points").at(0).is_null());
}

TEST(StudyHtmlTest, RefusesPointsThatTheStudyDoesNotList) {
  Study study = MakeStudy(Small());
  study.points[5].values[1] = "9";
  EXPECT_THAT([&] { StudyHtml(study); },
              testing::ThrowsMessage<Error>(HasSubstr("workers: got '9'")));
}

TEST(StudyHtmlTest, NeedsNoOtherFileAndIsSmall) {
  MadeUpStudy made;
  made.workers = {8, 16, 32, 64};  // 1,248 points
  const std::string page = StudyHtml(MakeStudy(made));
  EXPECT_LT(page.size(), 1000000u);
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  EXPECT_THAT(page, Not(HasSubstr("<link rel=\"stylesheet\"")));
  EXPECT_THAT(page, HasSubstr("Released under the MIT License"));  // Chart.js's licence asks for it
  EXPECT_EQ(page, StudyHtml(MakeStudy(made)));
}

TEST(StudyHtmlTest, IsSmallWhereCurvesShareNothing) {
  MadeUpStudy made;
  made.workers = {8, 16, 32};  // 936 points
  Study study = MakeStudy(made);
  for (StudyPoint& point : study.points) {  // 200 evaluations each
    const CurveRow last = point.curve.back();
    point.curve.clear();
    for (int i = 1; i <= 200; ++i) {
      const double odd = i + std::sin(static_cast<double>(point.id * 200 + i));
      point.curve.push_back({2 * i,
                             last.simulated_seconds * odd,
                             last.message_bytes * odd,
                             last.nic_bytes * odd,
                             1 / odd,
                             {odd / 300}});
    }
  }
  EXPECT_LT(StudyHtml(study).size(), 1000000u);
}

}  // namespace
}  // namespace legacy::analysis::study_html_test