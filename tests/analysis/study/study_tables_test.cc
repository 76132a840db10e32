#include "analysis/study/study_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/csv.h"
#include "base/error.h"
#include "tests/analysis/study/small_study.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::study_tables_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Names(const std::vector<StudyTable>& tables) {
  std::vector<std::string> names;
  for (const StudyTable& table : tables) names.push_back(table.name);
  return names;
}

// Returns a field of a CSV row, by its column.
std::string Field(const StudyTable& table, size_t row, const std::string& column) {
  const auto at = std::ranges::find(table.csv_header, column);
  EXPECT_NE(at, table.csv_header.end()) << column;
  return table.csv_rows[row].at(static_cast<size_t>(at - table.csv_header.begin()));
}

// Returns a study of dense and topk at 1 and 100 Gbit/s with two seeds; dense breaks even at 10
// Gbit/s.
Study TwoByTwo() {
  Study study = PendingStudy({"dense", "topk"}, {1, 2}, {Bandwidths({1e9, 1e11})});
  FinishAll(study, [&](const StudyPoint& point) -> std::optional<double> {
    if (point.policy == "topk") return 0.2;
    return point.values[0] == study.axes[0].values[0] ? 2 : 0.02;
  });
  return study;
}

TEST(StudyTables, AreRectangular) {
  Study study = MakeStudy();
  Forget(study.points[3], "no route");
  for (StudyPoint& point : study.points) point.figures.egress_usd = 0.5;
  const std::vector<StudyTable> tables = StudyTables(study);
  EXPECT_THAT(Names(tables), ElementsAre("summary", "time_to_target", "gains", "break_even", "step",
                                         "volume", "egress", "failed"));
  for (const StudyTable& table : tables) {
    ASSERT_EQ(table.rows.size(), table.csv_rows.size());
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.name;
    for (const auto& row : table.csv_rows) EXPECT_EQ(row.size(), table.csv_header.size());
    EXPECT_EQ(table.csv_columns.size(), table.csv_header.size());
    for (size_t column = 0; column < table.columns.size(); ++column) {
      EXPECT_THAT(table.csv_columns, Contains(column)) << table.columns[column].header;
    }
  }
  EXPECT_EQ(tables[1].rows.size(), 26U * 8);
  // Rows exist along the bandwidth; along the workers nothing crosses.
  EXPECT_EQ(TableNamed(tables, "break_even").rows.size(), 2U * 7);
}

TEST(StudyTables, HaveTheColumnsOfTheHandbook) {
  std::ostringstream text;
  text << std::ifstream(LEGACY_RESULTS_FORMAT).rdbuf();
  Study study = TwoByTwo();
  Forget(study.points[3], "no route");
  for (StudyPoint& point : study.points) point.figures.egress_usd = 0.5;
  for (const StudyTable& table : StudyTables(study)) {
    for (const std::string& column : table.csv_header) {
      if (column.starts_with("bandwidth")) continue;  // the axis
      if (column.starts_with("gaining_")) continue;   // and a policy
      EXPECT_THAT(text.str(), HasSubstr("`" + column + "`")) << table.name;
    }
  }
}

TEST(StudyTables, LeaveOutTablesWithoutContent) {
  Study study = TwoByTwo();
  EXPECT_THAT(Names(StudyTables(study)),
              ElementsAre("summary", "time_to_target", "gains", "break_even", "step", "volume"));
  study.target.reset();
  EXPECT_THAT(Names(StudyTables(study)), ElementsAre("summary", "step", "volume"));
  study.points.clear();
  EXPECT_TRUE(StudyTables(study).empty());
}

// Dense takes 2 s at 1 Gbit/s and 0.02 s at 100 Gbit/s, topk 0.2 s at both; steps of topk are
// shorter at 1 Gbit/s.
TEST(StudyTables, CountGainsOverTheReference) {
  Study study = TwoByTwo();
  for (StudyPoint& point : study.points) {
    const bool slow = point.values[0] == study.axes[0].values[0];
    if (slow && point.policy == "topk") point.figures.step_seconds *= 0.9;
  }
  const auto gains = [&] { return TableNamed(StudyTables(study), "gains"); };
  EXPECT_THAT(gains().csv_header,
              ElementsAre("axis", "value", "setups", "shorter_steps", "gaining", "gaining_topk"));
  EXPECT_THAT(gains().csv_rows,
              ElementsAre(ElementsAre("all", "", "2", "1", "1", "1"),
                          ElementsAre("bandwidth", study.axes[0].values[0], "1", "1", "1", "1"),
                          ElementsAre("bandwidth", study.axes[0].values[1], "1", "0", "0", "0")));
  Forget(study.points[0], "no route");
  EXPECT_THAT(gains().csv_rows.front(), ElementsAre("all", "", "1", "0", "0", "0"))
      << "what has failed is left out";
}

TEST(StudyTables, SumUpVolumeAccuracyStepAndTimes) {
  Study study = TwoByTwo();
  study.axes.push_back({"density", "fraction", {"1%"}, {0.01}});
  for (StudyPoint& point : study.points) {
    point.values.push_back("1%");
    point.figures.payload_ratio = point.policy == "topk" ? 50 : 1;
    point.figures.step_seconds = point.policy == "topk" ? 0.001 : 0.004;
    point.figures.final_metric = point.policy == "topk" ? 0.875 : 0.9;
  }
  const std::vector<StudyTable> tables = StudyTables(study);
  const StudyTable& summary = TableNamed(tables, "summary");
  EXPECT_EQ(summary.columns[0].header, "bandwidth");  // the density has one value and is left out
  EXPECT_THAT(summary.rows[1], ElementsAre("1 Gbit/s", "topk", "50.0", "1.00 ms", "4.00", "87.5 %",
                                           "-2.50 [-2.50, -2.50]", "200 ms", "10.0 [10.0, 10.0]"));
  EXPECT_EQ(summary.rows[0].back(), "baseline");
  EXPECT_THROW(TableNamed(tables, "summery"), Error);
}

TEST(StudyTables, LeaveOutAccuraciesWhereNothingWasTrained) {
  Study study = TwoByTwo();
  study.target.reset();
  const std::vector<StudyTable> tables = StudyTables(study);
  for (const StudyTable::Column& column : TableNamed(tables, "summary").columns) {
    EXPECT_THAT(column.header, Not(HasSubstr("accuracy")));
  }
}

// A study in perplexity has the times of the same study in accuracy, and values in its own unit.
TEST(StudyTables, ShowAMetricThatIsNoFraction) {
  Study study = TwoByTwo();
  for (StudyPoint& point : study.points) {
    point.figures.final_metric = point.policy == "topk" ? 121.5 : 118.25;
    point.figures.best_metric = point.figures.final_metric - 1;
  }
  const std::string times = CsvOf(TableNamed(StudyTables(study), "time_to_target"));
  study.metrics = {{"perplexity", "perplexity", Metric::Better::kLower, false}};
  study.target = Target{"perplexity", 117.25};
  const std::vector<StudyTable> tables = StudyTables(study);
  const StudyTable& time = TableNamed(tables, "time_to_target");
  EXPECT_EQ(CsvOf(time), times);
  EXPECT_THAT(time.title, StartsWith("Simulated time to perplexity 117.25 (TTA)"));
  const StudyTable& summary = TableNamed(tables, "summary");
  std::vector<std::string> headers;
  for (const StudyTable::Column& column : summary.columns) headers.push_back(column.header);
  EXPECT_THAT(headers,
              ElementsAre("bandwidth", "method", "payload ratio", "step", "steps faster",
                          "final perplexity", "difference", "time to 117.25", "times faster"));
  EXPECT_EQ(summary.rows[1][5], "122");  // three digits, as of all figures
  EXPECT_EQ(summary.rows[1][6], "+3.25 [+3.25, +3.25]");
  EXPECT_EQ(Field(summary, 1, "metric_difference_mean"), "3.25");
  const StudyTable& volume = TableNamed(tables, "volume");
  EXPECT_THAT(volume.title, HasSubstr("final perplexity less the baseline's, by pairs of seeds"));
  EXPECT_EQ(Field(volume, 0, "best_metric_mean"), "117.25");
  for (const StudyTable& table : tables) {
    EXPECT_THAT(MarkdownOf(table), Not(HasSubstr("accuracy"))) << table.name;
  }
}

TEST(StudyTables, HaveNoColumnOfAMetricWhereNothingIsTrained) {
  Study study = TwoByTwo();
  study.target.reset();
  study.metrics.clear();
  const std::vector<StudyTable> tables = StudyTables(study);
  const StudyTable& volume = TableNamed(tables, "volume");
  EXPECT_THAT(MarkdownOf(volume), Not(HasSubstr("final")));
  EXPECT_THAT(volume.title, StartsWith("Volume: ratios against dense fp32"));
  EXPECT_EQ(volume.csv_header, TableNamed(StudyTables(TwoByTwo()), "volume").csv_header);
}

TEST(StudyTables, ShowTimesForPeopleAndInSeconds) {
  const std::vector<StudyTable> tables = StudyTables(TwoByTwo());
  const StudyTable& time = TableNamed(tables, "time_to_target");
  EXPECT_THAT(time.rows[1], ElementsAre("1 Gbit/s", "topk", "2/2", "200 ms", "10.0 [10.0, 10.0]"));
  EXPECT_THAT(time.rows[0], ElementsAre("1 Gbit/s", "dense", "2/2", "2.00 s", "baseline"));
  EXPECT_EQ(Field(time, 1, "bandwidth_number"), "1000000000");
  EXPECT_EQ(Field(time, 1, "time_to_target_mean"), "0.2");
  EXPECT_EQ(Field(time, 1, "time_to_target_at_least"), "");
  EXPECT_EQ(Field(time, 1, "speedup_bound"), "exact");
  EXPECT_EQ(Field(time, 1, "speedup_pairs"), "2");
  EXPECT_EQ(Field(time, 0, "speedup"), "");
}

TEST(StudyTables, ShowCensoredTimesAsBounds) {
  Study study = TwoByTwo();
  Finish(study.points[3], std::nullopt, 4);  // topk, seed 2, at 1 Gbit/s
  const std::vector<StudyTable> tables = StudyTables(study);
  const StudyTable& time = TableNamed(tables, "time_to_target");
  EXPECT_EQ(time.rows[1][3], "≥ 2.1 s, 1 of 2 reached");
  EXPECT_EQ(time.rows[1][4], "≤ 2.24");  // the root of 10 x 1/2
  EXPECT_EQ(Field(time, 1, "time_to_target_mean"), "");
  EXPECT_EQ(Field(time, 1, "time_to_target_at_least"), "2.1");
  EXPECT_EQ(Field(time, 1, "speedup_bound"), "at_most");
  EXPECT_EQ(Field(time, 1, "speedup_low"), "");
  // Dense does not reach the target with that seed either, so one pair is left.
  Finish(study.points[1], std::nullopt, 4);
  EXPECT_EQ(TableNamed(StudyTables(study), "time_to_target").rows[1][4], "10.0 (1 pair)");
}

TEST(StudyTables, ShowUnfinishedPlaces) {
  Study study = TwoByTwo();
  Forget(study.points[2]);
  Forget(study.points[3]);
  const std::vector<StudyTable> tables = StudyTables(study);
  EXPECT_THAT(TableNamed(tables, "time_to_target").rows[1],
              ElementsAre("1 Gbit/s", "topk", "0/2", "-", "-"));
  EXPECT_EQ(TableNamed(tables, "step").rows[1][4], "-");
  EXPECT_EQ(Field(TableNamed(tables, "step"), 1, "compute_seconds"), "");
}

TEST(StudyTables, ShowBreakEvenBesideTheTextbook) {
  Study study = TwoByTwo();
  // The textbook takes topk to be sqrt(10) times slower, which moves the break-even by half a
  // decade.
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk") point.figures.alpha_beta_step_seconds *= std::sqrt(10);
  }
  const std::vector<StudyTable> tables = StudyTables(study);
  const StudyTable& even = TableNamed(tables, "break_even");
  ASSERT_EQ(even.rows.size(), 1U);
  EXPECT_THAT(even.rows[0],
              ElementsAre("bandwidth", "everywhere", "topk", "10.0 [10.0, 10.0] Gbit/s",
                          "pays below: 2 of 2 seeds cross", "3.16 [3.16, 3.16] Gbit/s",
                          "-68.4 [-68.4, -68.4] %", "-"));
  EXPECT_NEAR(std::stod(Field(even, 0, "break_even")), 1e10, 1);
  EXPECT_EQ(Field(even, 0, "pays"), "below");
  EXPECT_THAT(Field(even, 0, "crossings"), HasSubstr("1:"));
  EXPECT_NEAR(std::stod(Field(even, 0, "textbook_over_simulated")), std::sqrt(0.1), 1e-9);
}

TEST(StudyTables, DescribeSeedsThatDoNotCross) {
  const auto verdict = [](const std::vector<std::pair<double, double>>& dense) {
    std::vector<uint64_t> seeds;
    for (size_t s = 0; s < dense.size(); ++s) seeds.push_back(s + 1);
    Study study = PendingStudy({"dense", "topk"}, seeds, {Bandwidths({1e9, 1e11})});
    FinishAll(study, [&](const StudyPoint& point) -> std::optional<double> {
      if (point.policy == "topk") return 1;
      const auto& [low, high] = dense[point.seed - 1];
      return point.values[0] == study.axes[0].values[0] ? low : high;
    });
    return TableNamed(StudyTables(study), "break_even").rows[0][4];
  };
  EXPECT_EQ(verdict({{2, 2}}), "pays over the whole range");
  EXPECT_EQ(verdict({{0.5, 0.5}, {0.5, 0.6}}), "never pays");
  EXPECT_EQ(verdict({{2, 0.5}, {2, 2}, {0.5, 0.5}}),
            "pays below: 1 of 3 seeds cross, 1 pay everywhere, 1 never pay");
  EXPECT_EQ(verdict({{2, 0.5}, {2, 0.5}, {0.5, 2}}), "pays below: 2 of 3 seeds cross, 1 pay above");
}

TEST(StudyTables, ListFailuresWithTheirMessages) {
  Study study = TwoByTwo();
  Forget(study.points[5], "topology: got 'a|b'; allowed: <name>\nor a file");
  const std::vector<StudyTable> tables = StudyTables(study);
  const StudyTable& failed = TableNamed(tables, "failed");
  EXPECT_THAT(failed.rows[0], ElementsAre("5", "100 Gbit/s", "dense", "2",
                                          "topology: got 'a|b'; allowed: <name>\nor a file"));
  const std::string markdown = MarkdownOf(failed);
  EXPECT_THAT(markdown, HasSubstr("got 'a\\|b'; allowed: \\<name> or a file |\n"));
  EXPECT_EQ(std::ranges::count(markdown, '\n'), 5);  // title, empty, header, rule, row
  EXPECT_THAT(CsvOf(failed), HasSubstr("\"topology: got 'a|b'; allowed: <name>\nor a file\"\n"));
}

TEST(StudyTables, AreMarkdownWithAlignment) {
  const std::vector<StudyTable> tables = StudyTables(TwoByTwo());
  EXPECT_THAT(MarkdownOf(tables[1]),
              HasSubstr("\n| bandwidth | method | seeds | TTA | speed-up over dense |\n"
                        "|---:|---|---:|---:|---:|\n| 1 Gbit/s | dense | 2/2 | 2.00 s |"));
}

TEST(LatexText, EscapesSpecialCharacters) {
  EXPECT_EQ(LatexText("a_b & 5% of $x^2 #1 {c}~"),
            "a\\_b \\& 5\\% of \\$x\\textasciicircum{}2 \\#1 \\{c\\}\\textasciitilde{}");
  EXPECT_EQ(LatexText("\\input{x}"), "\\textbackslash{}input\\{x\\}");
  EXPECT_EQ(LatexText("1 ± 2 µs [≥ 3]"), "1 \\(\\pm\\) 2 \\(\\mu\\)s {[}\\(\\ge\\) 3{]}");
  EXPECT_EQ(LatexText("Zürich\n<b>"), "Zürich \\textless{}b\\textgreater{}");
}

TEST(LatexText, HasMinusSignsAndDashes) {
  EXPECT_EQ(LatexText("-2.50 [-3, 1-2]"), "\\(-\\)2.50 {[}\\(-\\)3, 1-2{]}");
  EXPECT_EQ(LatexText("fft-85 -x -"), "fft-85 -x -");
  EXPECT_EQ(LatexText("-"), "--");
}

TEST(LatexText, OfATableHasARowEach) {
  StudyTable table = TableNamed(StudyTables(TwoByTwo()), "time_to_target");
  table.command = "legacy-study tables a\nb";
  const std::string latex = LatexOf(table);
  EXPECT_THAT(latex, StartsWith("% legacy-study tables a b\n% \\caption{Simulated time to "));
  EXPECT_THAT(latex, HasSubstr("\\begin{tabular}{rlrrr}\n\\toprule\nbandwidth & method & "));
  EXPECT_THAT(latex, HasSubstr("1 Gbit/s & topk & 2/2 & 200 ms & 10.0 {[}10.0, 10.0{]} \\\\\n"));
  EXPECT_THAT(latex,
              Not(HasSubstr("80 % ")));  // a bare % would comment out the closing brace
  EXPECT_THAT(latex, HasSubstr("80 \\% "));
  EXPECT_THAT(latex, EndsWith("\\\\\n\\bottomrule\n\\end{tabular}\n"));
}

}  // namespace
}  // namespace legacy::analysis::study_tables_test
