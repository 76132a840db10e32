#include "analysis/study/figures/study_figures.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/gnuplot.h"
#include "analysis/study/crossover.h"
#include "analysis/study/figures/parts.h"
#include "tests/analysis/study/report_folder.h"
#include "tests/analysis/study/small_study.h"
#include "tests/analysis/study/study_testing.h"
#include "tests/analysis/svg_texts.h"

namespace legacy::analysis::study_figures_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> NamesOf(const std::vector<StudyFigure>& figures) {
  std::vector<std::string> names;
  for (const StudyFigure& figure : figures) names.push_back(figure.name);
  return names;
}

const StudyFigure& Named(const std::vector<StudyFigure>& figures, const std::string& name) {
  for (const StudyFigure& figure : figures) {
    if (figure.name == name) return figure;
  }
  throw Error("no figure " + name);
}

// Returns the rows of a block of a data file.
std::vector<std::vector<double>> Block(const StudyFigure& figure, const std::string& heading) {
  const size_t start = figure.data.find("# " + heading + "\n");
  if (start == std::string::npos) throw Error("no block " + heading);
  std::istringstream lines(figure.data.substr(start));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  std::vector<std::vector<double>> rows;
  while (std::getline(lines, line) && !line.empty()) {
    std::istringstream words(line);
    std::vector<double> row;
    for (std::string word; words >> word;) row.push_back(std::stod(word));
    rows.push_back(row);
  }
  return rows;
}

class StudyFiguresTest : public ReportFolderTest {
 protected:
  // Draws the figures and checks that every file that was made is there.
  void ExpectDrawn(const Study& study) {
    const std::vector<StudyFigure> figures = MakeStudyFigures(study);
    const DrawnFigures drawn = DrawStudyFigures(figures, directory_);
    EXPECT_TRUE(drawn.warnings.empty()) << drawn.warnings.front();
    EXPECT_EQ(drawn.files.size(), figures.empty() ? 0 : 5 * figures.size() + 1);
    for (const StudyFigure& figure : figures) {
      EXPECT_THAT(Get(figure.name + ".svg"), HasSubstr("</svg>"));
      EXPECT_EQ(Get(figure.name + ".png").substr(0, 8), "\x89PNG\r\n\x1a\n") << figure.name;
      EXPECT_GT(Get(figure.name + ".png").size(), 8000u) << figure.name;
      EXPECT_EQ(Get(figure.name + ".pdf").substr(0, 5), "%PDF-") << figure.name;
    }
  }
};

TEST(Axes, TicksHaveUnitPrefixes) {
  EXPECT_EQ(PrefixedNumber(1e7, "bit/s", 1e6), "10M");
  EXPECT_EQ(PrefixedNumber(2.5e9, "bit/s", 1e6), "2.5G");
  EXPECT_EQ(PrefixedNumber(1e-5, "s", 1e-6), "10µ");
  EXPECT_EQ(PrefixedNumber(0.1, "s", 1e-6), "100m");
  EXPECT_EQ(PrefixedNumber(0.1, "s", 0.01), "0.1");
  EXPECT_EQ(PrefixedNumber(1000, "s", 0.01), "1000");
  EXPECT_EQ(PrefixedNumber(0.001, "fraction", 0.001), "0.1%");
  EXPECT_EQ(PrefixedNumber(0.001, "", 0), "0.001");
  EXPECT_EQ(PrefixedNumber(20000, "", 0), "20k");
  EXPECT_EQ(CommonPrefixNumber(5e-6, "s", 2e-5), "5µ");
  EXPECT_EQ(CommonPrefixNumber(2e-4, "s", 2e-3), "0.2m");
  EXPECT_EQ(CommonPrefixNumber(0, "s", 2e-3), "0");
  EXPECT_THAT(SetAxis("x", {1e7, 1e11}, "bit/s", true), HasSubstr("set logscale x"));
  EXPECT_THAT(SetAxis("x", {0.001, 0.1}, "fraction", true), HasSubstr("'0.1%%' 0.001"));
  const std::string linear = SetAxis("x", {0, 2}, "", true, {0, 0.5, 2});
  EXPECT_THAT(linear, HasSubstr("unset logscale x"));
  EXPECT_THAT(linear, HasSubstr("'0' 0, '0.5' 0.5, '2' 2"));
}

TEST(EvenlySpreadPositions, IncludeBothEnds) {
  EXPECT_THAT(EvenlySpread(3, 5), ElementsAre(0, 1, 2));
  EXPECT_THAT(EvenlySpread(5, 3), ElementsAre(0, 2, 4));
  EXPECT_THAT(EvenlySpread(10, 2), ElementsAre(0, 9));
  EXPECT_THAT(EvenlySpread(10, 1), ElementsAre(0));
  EXPECT_THAT(EvenlySpread(0, 3), ElementsAre());
}

TEST(StudyFigures, AreNamedByTheirContent) {
  EXPECT_THAT(
      NamesOf(MakeStudyFigures(MakeStudy())),
      ElementsAre("tta-bandwidth", "tta-workers", "gains-bandwidth", "speedup-bandwidth-workers",
                  "break-even-bandwidth", "step-split", "metric-bytes", "metric-time"));
}

// A place is white where nothing gains 5 %, hatched where no policy reaches the target, and names
// the best method only if all seeds tell it apart from all others.
TEST(StudyFigures, GainsNameTheBestMethodWhereItIsTold) {
  Study study = PendingStudy({"dense", "topk", "fp16"}, {1, 2, 3}, {Bandwidths({1e9, 1e10, 1e11})});
  for (StudyPoint& point : study.points) {
    const double rate = std::stod(point.values[0]);
    const double seed = 1 + 0.001 * static_cast<double>(point.seed);
    if (rate > 5e10) {
      Finish(point, std::nullopt);
    } else if (point.policy == "dense") {
      Finish(point, 100 * seed);
    } else if (point.policy == "fp16") {
      Finish(point, (rate < 5e9 ? 60 : 20) * seed);
    } else {
      Finish(point, rate < 5e9 ? 10 * seed : point.seed == 2 ? 16 : 21);
    }
  }
  const StudyFigure figure = Named(MakeStudyFigures(study), "gains-bandwidth");
  EXPECT_THAT(figure.heading, HasSubstr("sooner than fp16 in 1 of 3 set-ups"));
  const auto gains = Block(figure, "gains");
  ASSERT_EQ(gains.size(), 2u);
  EXPECT_NEAR(gains[0][6], std::log2(6), 1e-9);
  EXPECT_EQ(gains[0][7], 1e9);
  EXPECT_EQ(gains[1][6], 0);
  const auto missed = Block(figure, "nobody reached the target");
  ASSERT_EQ(missed.size(), 1u);
  EXPECT_EQ(missed[0][7], 1e11);
  EXPECT_THAT(figure.data, HasSubstr("\"6.0\""));
  EXPECT_THAT(figure.data, HasSubstr("\"-\""));
}

// If an axis changes the bytes that are sent, each policy has a curve in ascending bytes.
TEST(StudyFigures, FinalMetricAgainstBytesAStep) {
  const StudyAxis density{"density", "fraction", {"10%", "1%"}, {0.1, 0.01}};
  Study study = PendingStudy({"topk", "lgreco", "dense"}, {1, 2}, {density});
  FinishAll(study, [](const StudyPoint&) { return 10.0; });
  for (StudyPoint& point : study.points) {
    const bool much = point.values[0] == "10%";
    const double bytes = point.policy == "dense" ? 4000 : (much ? 1000 : 100);
    point.figures.message_bytes = bytes * static_cast<double>(point.figures.steps);
    point.figures.final_metric = (much ? 0.9 : 0.8) + 0.01 * static_cast<double>(point.seed);
  }
  const StudyFigure figure = Named(MakeStudyFigures(study), "metric-volume-density");
  const auto rows = Block(figure, "lgreco, -");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[0][0], 100);
  EXPECT_DOUBLE_EQ(rows[0][1], 81.5);
  EXPECT_DOUBLE_EQ(rows[1][0], 1000);
  EXPECT_NEAR(rows[1][3] - rows[1][1], 100 * 0.01 / std::sqrt(2.0), 1e-9);
  EXPECT_EQ(Block(figure, "dense, -").size(), 2u);
  for (StudyPoint& point : study.points) point.figures.message_bytes = 5;
  EXPECT_THAT(NamesOf(MakeStudyFigures(study)), Not(Contains("metric-volume-density")));
}

TEST(StudyFigures, TimeToTargetIsTheMeanWithItsDeviation) {
  const Study study = MakeStudy();
  const StudyFigure figure = Named(MakeStudyFigures(study), "tta-bandwidth");
  const auto rows = Block(figure, "dense, 8 workers");
  ASSERT_EQ(rows.size(), 13u);
  // The seeds take 194, 200 and 206 steps of 10 ms and 14 Mbit at 10 Mbit/s.
  const double step = 0.01 + 8 * 1.75e6 / 1e7;
  EXPECT_DOUBLE_EQ(rows[0][0], 1e7);
  EXPECT_NEAR(rows[0][1], 200 * step, 1e-9);
  EXPECT_NEAR(rows[0][3] - rows[0][1], 6 * step, 1e-9);
  EXPECT_NEAR(rows[0][1] - rows[0][2], 6 * step, 1e-9);
}

TEST(StudyFigures, CensoredPointsStandAtTheEndOfTheTraining) {
  const StudyFigure figure = Named(MakeStudyFigures(MakeStudy()), "tta-bandwidth");
  const auto rows = Block(figure, "randomk-1%, 8 workers, target not reached");
  ASSERT_EQ(rows.size(), 13u);
  EXPECT_NEAR(rows[12][1], 400 * (0.0105 + 8 * 0.01 * 7e6 / 1e11), 1e-9);
  EXPECT_THAT(figure.data, Not(HasSubstr("# randomk-1%, 8 workers\n")));
  EXPECT_THAT(figure.script, HasSubstr("with vectors head"));  // towards longer times
}

// A policy that never reaches the target has only bounds, which have no colour of a result.
TEST(StudyFigures, BoundsOfMapsAreGrey) {
  const StudyFigure figure = Named(MakeStudyFigures(MakeStudy()), "speedup-bandwidth-workers");
  EXPECT_THAT(figure.data, Not(HasSubstr("# randomk-1%\n")));
  EXPECT_FALSE(Block(figure, "randomk-1%, bounds and what is not known").empty());
  EXPECT_THAT(figure.script, HasSubstr("grey: bounds"));
}

TEST(StudyFigures, AHoleBreaksTheLine) {
  Study study = MakeStudy();
  for (StudyPoint& point : study.points) {
    if (point.policy == "fp16" && point.values[0] == study.axes[0].values[4]) Forget(point);
  }
  const auto rows = Block(Named(MakeStudyFigures(study), "tta-bandwidth"), "fp16, 16 workers");
  ASSERT_EQ(rows.size(), 13u);
  EXPECT_TRUE(std::isnan(rows[4][1]));
  EXPECT_FALSE(std::isnan(rows[5][1]));
}

TEST(StudyFigures, MarkTheBreakEven) {
  const Study study = MakeStudy();
  const StudyFigure figure = Named(MakeStudyFigures(study), "tta-bandwidth");
  const auto rows = Block(figure, "legacy breaks even with dense, 8 workers");
  ASSERT_EQ(rows.size(), 1u);
  const Facet facet = FacetsOf(study, 0).at(0);
  const BreakEven even = BreakEvensOf(study, facet).back();
  ASSERT_EQ(even.simulated.policy, "legacy");
  EXPECT_DOUBLE_EQ(rows[0][0], even.simulated.x);
  EXPECT_THAT(figure.script, HasSubstr("4.51 Gbit/s"));
}

TEST(StudyFigures, MapsHoldLogarithmsAndBounds) {
  const StudyFigure figure = Named(MakeStudyFigures(MakeStudy()), "speedup-bandwidth-workers");
  const size_t start = figure.data.find("# fp16\n");
  ASSERT_NE(start, std::string::npos);
  const auto rows = Block(figure, "fp16");
  ASSERT_EQ(rows.size(), 26u);
  const double dense = 0.01 + 8 * 1.75e6 / 1e7, fp16 = 0.0102 + 8 * 0.875e6 / 1e7;
  EXPECT_NEAR(rows[0][6], std::log2(dense / fp16), 1e-9);
  EXPECT_THAT(figure.data, HasSubstr("\"≤"));
  EXPECT_THAT(figure.script, HasSubstr("set palette defined"));
}

TEST(StudyFigures, MoreFacetsThanPanelsAreMentioned) {
  const std::vector<StudyFigure> figures = MakeStudyFigures(MakeStudy(), {.facets = 4});
  EXPECT_EQ(Named(figures, "tta-workers").note,
            "4 of 13 combinations of the other axes are shown; tables have all.");
  EXPECT_EQ(Named(figures, "tta-bandwidth").note, "");
}

TEST(StudyFigures, NoResultsGiveNoFigures) {
  Study study = MakeStudy();
  for (StudyPoint& point : study.points) Forget(point);
  EXPECT_TRUE(MakeStudyFigures(study).empty());
}

// The figures of a perplexity are those of the accuracy, with a logarithmic axis of its own and no
// per cent.
TEST(StudyFigures, AMetricThatIsNoFractionHasItsOwnAxis) {
  MadeUpStudy made;
  made.bandwidths = {1e8, 1e9, 1e10};
  const Study accuracy = MakeStudy(made);
  const Study study = InPerplexity(accuracy);
  const std::vector<StudyFigure> figures = MakeStudyFigures(study);
  EXPECT_EQ(NamesOf(figures), NamesOf(MakeStudyFigures(accuracy)));
  const StudyFigure& figure = Named(figures, "metric-time");
  EXPECT_EQ(figure.heading, "Test perplexity against simulated time");
  EXPECT_THAT(figure.script, HasSubstr("'test perplexity [logarithmic]'"));
  EXPECT_THAT(figure.script, HasSubstr("set logscale y"));
  EXPECT_THAT(figure.script, HasSubstr("7.39 with lines"));
  EXPECT_THAT(figure.data, HasSubstr("# seconds_[s] perplexity low high\n"));
  const auto rows = Block(figure, "dense, 100 Mbit/s, 8 workers");
  ASSERT_EQ(rows.size(), 20u);
  double mean = 0;
  for (const double factor : {0.97, 1.0, 1.03}) {
    mean += std::exp(6 - 5 * (0.1 + 0.75 * (1 - std::exp(-std::log(15.0) * 0.1 / factor)))) / 3;
  }
  EXPECT_NEAR(rows[0][1], mean, 1e-9);
  EXPECT_LT(rows[0][2], mean);
  for (const StudyFigure& one : figures) {
    EXPECT_THAT(one.script, Not(HasSubstr("accuracy"))) << one.name;
    EXPECT_THAT(one.heading, Not(HasSubstr("accuracy"))) << one.name;
    for (const std::string& words : one.words) EXPECT_THAT(words, Not(HasSubstr("accuracy")));
  }
  EXPECT_EQ(Named(figures, "tta-bandwidth").data,
            Named(MakeStudyFigures(accuracy), "tta-bandwidth").data);
}

// A study of shapes trains nothing: figures that compare times to the target compare mean times of
// a step, and say so.
TEST(StudyFigures, ShapesHaveTheFiguresOfTheirSteps) {
  const Study study = InShapes(MakeStudy());
  const std::vector<StudyFigure> figures = MakeStudyFigures(study);
  EXPECT_THAT(NamesOf(figures),
              ElementsAre("step-time-bandwidth", "step-time-workers", "step-gains-bandwidth",
                          "step-speedup-bandwidth-workers", "step-break-even-bandwidth",
                          "step-break-even-workers", "step-split"));
  const double dense = 0.01 + 8 * 1.75e6 / 1e7, fp16 = 0.0102 + 8 * 0.875e6 / 1e7;
  EXPECT_NEAR(Block(Named(figures, "step-time-bandwidth"), "dense, 8 workers")[0][1], dense, 1e-9);
  EXPECT_NEAR(Block(Named(figures, "step-speedup-bandwidth-workers"), "fp16")[0][6],
              std::log2(dense / fp16), 1e-9);
  EXPECT_THAT(Named(figures, "step-gains-bandwidth").heading, HasSubstr("step is shorter than"));
  for (const StudyFigure& figure : figures) {
    for (const char* word : {"target", "TTA", "sooner", "not reached", "n/r"}) {
      EXPECT_THAT(figure.script, Not(HasSubstr(word))) << figure.name;
      EXPECT_THAT(figure.heading, Not(HasSubstr(word))) << figure.name;
    }
  }
  // If no axis has numbers, the parts of a step have the times.
  Study names = study;
  for (StudyAxis& axis : names.axes) axis.numbers.clear();
  EXPECT_THAT(NamesOf(MakeStudyFigures(names)), ElementsAre("step-split"));
}

TEST_F(StudyFiguresTest, FiguresOfAPerplexityAreDrawn) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  MadeUpStudy made;
  made.bandwidths = {1e8, 1e9, 1e10};
  Study study = InPerplexity(MakeStudy(made));
  study.points[0].curve[3].metrics[0] = INFINITY;
  study.points[1].curve[4].metrics[0] = NAN;
  ExpectDrawn(study);
  EXPECT_EQ(SvgTexts(Get("metric-time.svg")).Count("test perplexity [logarithmic]"), 2u);
}

TEST(StudyFigures, NoTargetLeavesTheCostsAndCurves) {
  Study study = MakeStudy();
  study.target.reset();
  for (StudyPoint& point : study.points) {
    point.figures.time_to_target.reset();
    point.figures.steps_to_target.reset();
  }
  EXPECT_THAT(NamesOf(MakeStudyFigures(study)),
              ElementsAre("step-split", "metric-bytes", "metric-time"));
}

// The study has two facets along the bandwidth and thirteen along the workers, of which twelve are
// shown.
TEST_F(StudyFiguresTest, AxesHaveTheirLabels) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  ExpectDrawn(MakeStudy());
  const auto count = [&](const char* figure, const char* text) {
    return SvgTexts(Get(figure + std::string(".svg"))).Count(text);
  };
  EXPECT_EQ(count("tta-bandwidth", "bandwidth [bit/s, logarithmic]"), 2u);
  EXPECT_EQ(count("tta-bandwidth", "time to target [s, logarithmic]"), 1u);
  EXPECT_EQ(count("tta-workers", "workers [logarithmic]"), 3u);
  EXPECT_EQ(count("tta-workers", "time to target [s, logarithmic]"), 4u);
  EXPECT_EQ(count("break-even-bandwidth", "bandwidth [bit/s, logarithmic]"), 2u);
  EXPECT_EQ(count("step-split", "mean step time [s]"), 3u);
  EXPECT_EQ(count("metric-bytes", "bytes out of one worker's NIC [B, logarithmic]"), 2u);
  EXPECT_EQ(count("metric-time", "test accuracy [%]"), 2u);
  EXPECT_EQ(count("speedup-bandwidth-workers", "bandwidth [bit/s]"), 2u);
  EXPECT_EQ(count("speedup-bandwidth-workers", "workers"), 4u);
  // For randomk-1% there are only bounds, with its name next to them in each panel.
  const std::map<std::string, size_t> panels = {
      {"tta-bandwidth", 2}, {"tta-workers", 12}, {"metric-time", 1}};
  for (const auto& [figure, times] : panels) {
    for (const MadeUpPolicy& policy : EightPolicies()) {
      EXPECT_EQ(count(figure.c_str(), policy.name.c_str()), policy.name == "randomk-1%" ? times : 1)
          << figure << " " << policy.name;
    }
  }
}

TEST_F(StudyFiguresTest, ManyPoliciesHaveAPanelForEachFamilyAndLabelsAtTheirEnds) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  MadeUpStudy made;
  made.policies = {{"dense", 1, false, 0, 200}};
  for (const char* family : {"topk", "qsgd", "powersgd"}) {
    for (int i = 0; i < 8; ++i) {
      made.policies.push_back({fmt::format("{}-{}", family, i), 0.02, true, 1e-3, 210});
    }
  }
  made.bandwidths = {1e8, 1e9, 1e10};
  const Study study = MakeStudy(made);
  ExpectDrawn(study);
  const SvgTexts drawn(Get("tta-bandwidth.svg"));
  for (const char* panel : {"8 workers: sparsifiers", "16 workers: sparsifiers",
                            "8 workers: quantisers", "16 workers: low rank"}) {
    EXPECT_EQ(drawn.Count(panel), 1u) << panel;
  }
  EXPECT_EQ(drawn.Count("8 workers: frequency"), 0u);
  EXPECT_EQ(drawn.Count("dense"), 8u);
  for (size_t p = 1; p < study.policies.size(); ++p) {
    EXPECT_EQ(drawn.Count(study.policies[p]), 2u) << study.policies[p];
  }
  EXPECT_EQ(drawn.Count("bandwidth [bit/s, logarithmic]"), 2u);
}

TEST(PushApart, KeepsTheOrderAndTheEnds) {
  std::vector<double> places = {95, 96, 97, 98};
  PushApart(places, 10, 100);
  EXPECT_THAT(places, ElementsAre(65, 75, 85, 95));
  places = {20, 50, 50, 80};
  PushApart(places, 10, 100);
  EXPECT_THAT(places, ElementsAre(20, 45, 55, 80));
}

TEST_F(StudyFiguresTest, AreTheSameByteForByte) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  const Study study = MakeStudy();
  ExpectDrawn(study);
  const auto first = Everything();
  EXPECT_EQ(first.count("figures.gp"), 1u);
  ExpectDrawn(study);
  EXPECT_EQ(Everything(), first);
}

TEST_F(StudyFiguresTest, TwelvePoliciesWithAwkwardNamesAreDrawn) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  MadeUpStudy made;
  for (const char* name : {"it's 1% {a}_b^c", "`ls` \"q\" \\n", "<b>&", "a\nb"}) {
    made.policies.push_back({name, 0.02, false, 1e-3, 210});
  }
  made.bandwidths = {1e8, 1e9, 1e10};
  ExpectDrawn(MakeStudy(made));
  EXPECT_THAT(Get("tta-bandwidth.svg"), HasSubstr("it's 1% {a}_b^c"));
  EXPECT_THAT(Get("step-split.svg"), HasSubstr("`ls` \"q\" \\n"));
}

TEST_F(StudyFiguresTest, EveryStateOfAStudyIsDrawn) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  MadeUpStudy made;
  made.bandwidths = {1e8, 1e10};
  Study unfinished = MakeStudy(made);
  for (StudyPoint& point : unfinished.points) {
    if (point.id % 3 == 0) Forget(point);
    if (point.id % 7 == 1) Forget(point, "no route");
  }
  ExpectDrawn(unfinished);

  Study first = MakeStudy(made);
  for (StudyPoint& point : first.points) {
    if (point.id > 0) Forget(point);
  }
  ExpectDrawn(first);

  Study names = MakeStudy(made);
  for (StudyAxis& axis : names.axes) axis.numbers.clear();
  ExpectDrawn(names);
  EXPECT_THAT(Get("tta.svg"), HasSubstr("10000000kbps, 16 workers"));

  Study zero = MakeStudy(made);  // no bandwidth, and a value of 0
  zero.axes[0] = {"sigma", "", {"0", "0.5"}, {0, 0.5}};
  for (StudyPoint& point : zero.points)
    point.values[0] = point.values[0] == "100000kbps" ? "0" : "0.5";
  ExpectDrawn(zero);
  EXPECT_THAT(Get("tta-sigma.gp"), HasSubstr("unset logscale x"));

  made.policies = {EightPolicies()[0]};
  made.seeds = {7};
  made.workers = {8};
  ExpectDrawn(MakeStudy(made));

  Study placeless = MakeStudy(made);  // no axes at all
  placeless.axes.clear();
  placeless.points.resize(1);
  placeless.points[0].values.clear();
  ExpectDrawn(placeless);
}

TEST_F(StudyFiguresTest, ScriptsAreWrittenWithoutGnuplotToo) {
  const std::vector<StudyFigure> figures = MakeStudyFigures(MakeStudy());
  const DrawnFigures drawn = DrawStudyFigures(figures, directory_, "no-such-gnuplot");
  EXPECT_THAT(drawn.warnings, ElementsAre(HasSubstr("no-such-gnuplot cannot be started")));
  EXPECT_EQ(drawn.files.size(), 2 * figures.size() + 1);
  EXPECT_EQ(Everything().size(), drawn.files.size());
}

TEST_F(StudyFiguresTest, ABrokenScriptCostsItsOwnFigureOnly) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  std::vector<StudyFigure> figures = MakeStudyFigures(MakeStudy());
  figures[0].script = "plot nonsense(\n";
  const DrawnFigures drawn = DrawStudyFigures(figures, directory_);
  EXPECT_THAT(drawn.warnings, ElementsAre(HasSubstr("figure tta-bandwidth cannot be drawn")));
  EXPECT_EQ(Everything().count("tta-bandwidth.svg"), 0u);
  EXPECT_EQ(Everything().count("metric-time.pdf"), 1u);
}

TEST_F(StudyFiguresTest, AFolderThatCannotBeMadeIsAnError) {
  Put("file", "");
  EXPECT_THROW(DrawStudyFigures(MakeStudyFigures(MakeStudy()), directory_ / "file"), Error);
}

}  // namespace
}  // namespace legacy::analysis::study_figures_test