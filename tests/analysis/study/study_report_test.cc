#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/study/report/report.h"
#include "tests/analysis/study/report_folder.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::study_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class StudyReportTest : public ReportFolderTest {
 protected:
  StudyReport Write(const Study& study, const StudyReportOptions& options = {}) {
    return WriteStudyReport(study, directory_ / "report", options);
  }
  std::string Text() const { return Get("report/report.md"); }
};

// Checks that every link of the text leads to a file.
void ExpectLinksHold(const std::string& text, const std::filesystem::path& folder) {
  int links = 0;
  for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
    const std::string path = text.substr(at + 2, text.find(')', at) - at - 2);
    EXPECT_TRUE(std::filesystem::exists(folder / path)) << path;
    ++links;
  }
  EXPECT_GT(links, 10);
}

TEST_F(StudyReportTest, HasEverythingAndIsTheSameEachTime) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  const Study study = MakeStudy();
  const StudyReport report = Write(study);
  EXPECT_TRUE(report.warnings.empty()) << report.warnings.front();
  const auto first = Everything();
  EXPECT_EQ(first.size(), report.files.size());
  for (const auto& path : report.files) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  for (const char* file : {"report/index.html", "report/tables/time_to_target.tex",
                           "report/figures/break-even-bandwidth.pdf"}) {
    EXPECT_GT(first.at(file).size(), 1000u) << file;
  }
  const std::string text = Text();
  ExpectLinksHold(text, directory_ / "report");
  EXPECT_THAT(text, HasSubstr("# A made-up study\n"));
  EXPECT_THAT(text, HasSubstr("| points | 624, 624 done |"));
  EXPECT_THAT(text, HasSubstr("![Time to target against bandwidth](figures/tta-bandwidth.svg)"));
  EXPECT_THAT(text, HasSubstr("```yaml\nstudy: {name: made-up}\n```"));
  EXPECT_THAT(text, Not(HasSubstr("Not finished")));
  Write(study);
  EXPECT_EQ(Everything(), first);
}

TEST_F(StudyReportTest, SaysWhatIsMissing) {
  Study study = MakeStudy();
  for (StudyPoint& point : study.points) {
    if (point.id < 10) Forget(point);
    if (point.id == 20) Forget(point, "no route to h3");
  }
  study.trainings[0].state = StudyState::kPending;
  Write(study, {.figures = false, .html = false});
  EXPECT_THAT(Text(), HasSubstr("10 of 624 points and 1 of 48 trainings wait"));
  EXPECT_THAT(Text(), HasSubstr("of the 613 points that are done"));
  EXPECT_THAT(Text(), HasSubstr("**Failed:** 1 point;"));
  EXPECT_THAT(Text(), HasSubstr("no route to h3"));
}

TEST_F(StudyReportTest, SaysOnceAndFirstThatNoPolicyReachedTheTarget) {
  Study study = MakeStudy();
  for (StudyPoint& point : study.points) {
    point.figures.time_to_target.reset();
    point.figures.steps_to_target.reset();
  }
  Write(study, {.figures = false});
  const std::string said = "No training reached the target accuracy";
  const size_t at = Text().find("**Target not reached:** " + said);
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(at, Text().find("## What was run"));
  EXPECT_EQ(Text().find(said, Text().find(said) + 1), std::string::npos);
  EXPECT_THAT(Text(), Not(HasSubstr("no method reaches")));
  EXPECT_THAT(Get("report/index.html"), HasSubstr("\"missed\":\"" + said));
}

TEST_F(StudyReportTest, MarksPoliciesThatDecidedTooSeldom) {
  Study study = MakeStudy();
  Write(study, {.figures = false});
  EXPECT_THAT(Text(), Not(HasSubstr("†")));
  EXPECT_THAT(Get("report/index.html"), HasSubstr(R"("legend":"")"));
  for (StudyPoint& point : study.points) {
    if (point.policy == "legacy") point.figures.decisions = point.seed == 2 ? 2 : 7;
    if (point.policy == "fp16") point.figures.decisions = 3;
  }
  Write(study, {.figures = false});
  const std::string legend = "†: its policy decided less than three times";
  EXPECT_THAT(Text(), HasSubstr("legacy-uniform, legacy † (" + legend + ") |"));
  for (const char* table : {"Where the time of a step goes: means of a step; ", "Break-even"}) {
    const std::string text = Text().substr(Text().find(table));
    EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr(legend)) << table;
    EXPECT_THAT(text, HasSubstr("| legacy † |")) << table;
  }
  EXPECT_THAT(Get("report/index.html"), HasSubstr(R"("fp16",)"));
  EXPECT_THAT(Get("report/index.html"), HasSubstr(R"("legacy-uniform","legacy †"])"));
  EXPECT_THAT(Get("report/index.html"), HasSubstr(R"("legend":")" + legend + '"'));
  EXPECT_THAT(Get("report/tables/step.csv"), Not(HasSubstr("†")));
}

TEST_F(StudyReportTest, NoResultsGiveAReportToo) {
  Study study = MakeStudy();
  for (StudyPoint& point : study.points) Forget(point);
  const StudyReport report = Write(study);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_THAT(Text(), HasSubstr("624 of 624 points"));
  EXPECT_THAT(Text(), Not(HasSubstr("## Figures")));
}

TEST_F(StudyReportTest, WithoutGnuplotWordsAndTablesAreThere) {
  const StudyReport report = Write(MakeStudy(), {.html = false, .gnuplot = "no-such-gnuplot"});
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("no-such-gnuplot cannot be started")));
  EXPECT_THAT(Text(), Not(HasSubstr("![")));
  EXPECT_THAT(Text(), HasSubstr("### Time to target against bandwidth"));
  EXPECT_THAT(Text(), HasSubstr("tables/time_to_target.csv"));
  ExpectLinksHold(Text(), directory_ / "report");
}

TEST_F(StudyReportTest, TextsOfTheStudyAreNoMarkup) {
  MadeUpStudy made;
  made.policies = {{"dense"}, {"<b>|x", 0.1}};
  made.bandwidths = {1e9};
  Study study = MakeStudy(made);
  study.title = "a*b\n# c <script>";
  study.definition = "# ```\nstudy: {}";
  Write(study, {.figures = false});
  EXPECT_THAT(Text(), HasSubstr("# a\\*b \\# c \\<script\\>\n"));
  EXPECT_THAT(Text(), HasSubstr("dense, \\<b\\>\\|x"));
  EXPECT_THAT(Text(), HasSubstr("````yaml\n# ```\nstudy: {}\n````\n"));
}

TEST_F(StudyReportTest, AFolderThatCannotBeMadeIsAnError) {
  Put("report", "");
  EXPECT_THROW(Write(MakeStudy()), Error);
}

}  // namespace
}  // namespace legacy::analysis::study_report_test