#include "analysis/pictures/pictures.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "analysis/curves.h"
#include "analysis/gnuplot.h"
#include "analysis/pictures/decision_picture.h"
#include "analysis/report/report.h"
#include "tests/analysis/fixture.h"
#include "tests/analysis/svg_drawing.h"
#include "tests/analysis/svg_texts.h"

namespace legacy::analysis::pictures_test {
namespace {

// Returns a run with names that gnuplot would take for markup, quotes or formats.
RunDirectory MakeDrawing() {
  RunDirectory run = MakeRun({"dense", "it's 1% {a}_b^c `ls` \"q\" \\n"}, {1, 2});
  for (const std::string& policy : run.manifest.policies) {
    for (const uint64_t seed : run.manifest.seeds) {
      const double speed = policy == "dense" ? 1 : 0.01;
      AddTraining(run, policy, seed, speed,
                  {0.5, 0.7, 0.8, 0.8 + 0.01 * static_cast<double>(seed)});
    }
  }
  return run;
}

class PicturesTest : public RunDirectoryTest {
 protected:
  bool HasGnuplot() const { return RunGnuplot(directory_, "/dev/null").found; }
};

TEST(MetricCurves, AreMeansOverTheSeeds) {
  const RunDirectory run = MakeDrawing();
  const auto curves = MetricCurves(run, Summarise(run), &EvaluationRow::simulated_seconds);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].seeds, 2);
  ASSERT_EQ(curves[0].points.size(), 4u);
  EXPECT_DOUBLE_EQ(curves[0].points[3].cost, 40);
  EXPECT_DOUBLE_EQ(curves[0].points[3].value, 0.815);
  EXPECT_NEAR(curves[0].points[3].deviation, 0.01 / std::sqrt(2.0), 1e-15);
}

TEST(MetricCurves, LeaveUnfinishedSeedsOut) {
  RunDirectory run = MakeRun({"dense"}, {1, 2});
  AddTraining(run, "dense", 1, 1, {0.5, 0.6, 0.7});
  AddTraining(run, "dense", 2, 1, {0.1});
  run.network.pop_back();
  auto curves = MetricCurves(run, Summarise(run), &EvaluationRow::nic_bytes);
  ASSERT_EQ(curves.at(0).points.size(), 3u);
  EXPECT_EQ(curves[0].points[0].value, 0.5);
  // Without a finished training, the curve has the steps that both seeds have.
  run.network.clear();
  curves = MetricCurves(run, Summarise(run), &EvaluationRow::nic_bytes);
  ASSERT_EQ(curves.at(0).points.size(), 1u);
  EXPECT_DOUBLE_EQ(curves[0].points[0].value, 0.3);
}

TEST_F(PicturesTest, ScriptsAreWrittenWithoutGnuplotToo) {
  RunDirectory run = MakeDrawing();
  run.path = directory_;
  const DrawnPictures drawn = DrawPictures(run, Summarise(run), "no-such-gnuplot");
  ASSERT_EQ(drawn.warnings.size(), 1u);
  EXPECT_NE(drawn.warnings[0].find("no-such-gnuplot cannot be started"), std::string::npos);
  for (const char* name : {"metric-time", "metric-bytes", "step-split"}) {
    EXPECT_NE(Get(std::string(name) + ".gp").find("plot $"), std::string::npos) << name;
  }
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Later ones are slower; "qsgd" and "powersgd" are of families of their own.
TEST_F(PicturesTest, SixCurvesThatMatterAreDrawnAndTheOthersNamed) {
  const std::vector<std::string> policies = {"dense", "topk",    "topk-global", "randomk", "dgc",
                                             "qsgd",  "redsync", "powersgd",    "sidco"};
  for (const std::vector<uint64_t>& seeds : {std::vector<uint64_t>{1, 2}, {1, 2, 3}}) {
    RunDirectory run = MakeRun(policies, seeds);
    for (size_t p = 0; p < policies.size(); ++p) {
      for (const uint64_t seed : seeds) {
        AddTraining(run, policies[p], seed, p == 0 ? 1 : 0.01 * static_cast<double>(p),
                    {0.5, 0.8, 0.8, 0.8});
      }
    }
    run.path = directory_;
    DrawPictures(run, Summarise(run), "no-such-gnuplot");
    const std::string script = Get("metric-time.gp");
    const std::string plot = script.substr(script.find("plot $"), script.find("\n\n"));
    for (const char* name : {"dense", "topk", "topk-global", "randomk", "qsgd", "powersgd"}) {
      EXPECT_NE(plot.find("title '" + std::string(name) + "'"), std::string::npos) << name;
    }
    // The curve is at the target at the second evaluation, and the mean of three at the fourth.
    EXPECT_NE(script.find("; target: mean of 3 evaluations; not drawn: dgc, redsync, sidco"),
              std::string::npos);
    // Two seeds say little about a deviation.
    EXPECT_EQ(plot.find("filledcurves") != std::string::npos, seeds.size() > 2);
    EXPECT_EQ(script.find("standard deviation") != std::string::npos, seeds.size() > 2);
  }
}

// Adds layers of 10, 20, ... elements.
void AddLayers(RunDirectory& run, const std::string& policy, int layers) {
  for (int layer = 0; layer < layers; ++layer) {
    LayerRow row;
    row.policy = policy;
    row.layer = "layer" + std::to_string(layer);
    row.elements = 10 * (layer + 1);
    run.layers.push_back(row);
  }
}

TEST(DecisionPicture, HasAPanelForEachPolicyAndACurveForLayersOfOneDecision) {
  RunDirectory run = MakeRun({"dense", "same", "two", "idle"}, {1, 2});
  for (const std::string& policy : run.manifest.policies) AddTraining(run, policy, 1, 1, {0.5});
  AddDecisions(run, "same", 1, 3, {0, 4, 7});
  AddDecisions(run, "same", 2, 5, {0, 2});  // other seeds are not shown
  AddDecisions(run, "two", 1, 20, {0, 5});
  AddDecisions(run, "idle", 1, 3, {0});  // nothing changes
  AddLayers(run, "two", 20);
  for (DecisionRow& row : run.decisions) {  // as LEGACY: smaller layers keep more
    if (row.policy == "two" && row.layer.size() == 6) row.parameter *= 9;
  }
  const auto picture = DecisionPicture(run, Summarise(run));
  ASSERT_TRUE(picture);
  const std::string& script = picture->script;
  EXPECT_EQ(CountOf(script, "plot $"), 2u);
  EXPECT_EQ(CountOf(script, "with steps"), 3u);
  EXPECT_EQ(CountOf(script, "title 'all 3 layers'"), 1u);
  EXPECT_EQ(CountOf(script, "title '10 layers of 10 to 100 elements'"), 1u);
  EXPECT_EQ(CountOf(script, "title '10 layers of 110 to 200 elements'"), 1u);
  EXPECT_NE(script.find("$decided0x0 << END\n0 0.01\n4 0.02\n7 0.03\n10 0.03\nEND"),
            std::string::npos);
}

// Returns a run in which each of 20 layers gets a different parameter.
RunDirectory ManyDecisions() {
  RunDirectory run = MakeRun({"lgreco"}, {1});
  AddTraining(run, "lgreco", 1, 1, {0.5});
  AddDecisions(run, "lgreco", 1, 20, {0, 4});
  AddLayers(run, "lgreco", 20);
  for (DecisionRow& row : run.decisions) {
    row.parameter += 0.001 * static_cast<double>(row.layer.back() + row.layer.size() * 10);
  }
  return run;
}

TEST(DecisionPicture, IsAMapWhereManyLayersDiffer) {
  const RunDirectory run = ManyDecisions();
  const auto picture = DecisionPicture(run, Summarise(run));
  ASSERT_TRUE(picture);
  EXPECT_EQ(CountOf(picture->script, "with boxxyerror"), 1u);
  EXPECT_EQ(CountOf(picture->script, "with steps"), 0u);
  const size_t data = picture->script.find("$decided0 << END\n");
  ASSERT_NE(data, std::string::npos);
  const size_t end = picture->script.find("END\n", data + 17);
  const std::string block = picture->script.substr(data, end - data);
  EXPECT_EQ(CountOf(block, "\n"), 1 + 20 * 2u);  // two decisions for each layer
  EXPECT_NE(block.find("\n0 4 0 "), std::string::npos);
  EXPECT_NE(block.find("\n4 10 19 "), std::string::npos);
}

TEST_F(PicturesTest, MapsOfDecisionsNameTheFirstAndTheLastLayer) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  RunDirectory run = ManyDecisions();
  run.path = directory_;
  EXPECT_TRUE(DrawPictures(run, Summarise(run)).warnings.empty());
  const SvgTexts drawn(Get("decisions.svg"));
  EXPECT_EQ(drawn.Count("layer0"), 1u);
  EXPECT_EQ(drawn.Count("layer19"), 1u);
}

// Names of layers often differ only in the middle. They are shown in full, or cut so that they
// still differ, and inside the picture.
TEST_F(PicturesTest, MapsOfDecisionsHaveNamesThatDiffer) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  for (const std::string& end : {std::string(".attention.value.weight"), std::string(60, 'w')}) {
    RunDirectory run = ManyDecisions();
    for (DecisionRow& row : run.decisions) {
      row.layer = "encoder.layers." + row.layer.substr(5) + end;
    }
    run.path = directory_;
    EXPECT_TRUE(DrawPictures(run, Summarise(run)).warnings.empty());
    const SvgTexts drawn(Get("decisions.svg"));
    std::set<std::string> names;
    for (const SvgText& text : drawn.texts) {
      if (!text.text.starts_with("encoder")) continue;
      EXPECT_TRUE(names.insert(text.text).second) << text.text;
      // Texts end at their place; a character of this size is 6 points wide.
      EXPECT_GT(text.x - 6.0 * static_cast<double>(text.text.size()), 0) << text.text;
    }
    EXPECT_EQ(names.size(), 8u);
    EXPECT_EQ(names.contains("encoder.layers.19" + end), end.size() < 30);
  }
}

// LEGACY's levels are decisions by layer where they are the same at all steps, too.
TEST_F(PicturesTest, LevelsOfLayersArePanelsWithoutPhasesToo) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  RunDirectory run = MakeRun({"legacy-layer", "topk"}, {1});
  for (const std::string& policy : run.manifest.policies) {
    AddTraining(run, policy, 1, 1, {0.5});
    AddDecisions(run, policy, 1, 4, {0});
    AddLayers(run, policy, 4);
  }
  for (DecisionRow& row : run.decisions) {
    if (row.policy == "legacy-layer" && row.layer <= "layer1") row.parameter *= 9;
  }
  run.path = directory_;
  EXPECT_TRUE(DrawPictures(run, Summarise(run)).warnings.empty());
  const std::string svg = Get("decisions.svg");
  const SvgTexts texts(svg);
  EXPECT_EQ(texts.Count("legacy-layer, seed 1"), 1u);
  EXPECT_EQ(texts.Count("topk, seed 1"), 0u);  // all layers and steps have one parameter
  EXPECT_EQ(texts.Count("2 layers of 10 to 20 elements"), 1u);
  EXPECT_EQ(texts.Count("2 layers of 30 to 40 elements"), 1u);
  // Each group is one level line, at the place of its parameter.
  const SvgDrawing drawing(svg);
  const DrawnPanel& panel = drawing.panels.at(0);
  const DrawnAxis y = panel.Axis('y', 13);
  ASSERT_EQ(panel.plots.size(), 2u);
  const double parameters[] = {0.09, 0.01};
  for (size_t i = 0; i < 2; ++i) {
    const DrawnLine& line = panel.plots[i].lines.back();
    EXPECT_NEAR(line.points.front().second, line.points.back().second, 0.1);
    EXPECT_NEAR(line.points.front().second, y.PlaceOf(parameters[i], true), 1.5);
  }
  EXPECT_NE(panel.plots[0].lines.back().colour, panel.plots[1].lines.back().colour);
}

TEST_F(PicturesTest, LegendsOfDecisionsLeaveRoomForTheCurves) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  RunDirectory run = MakeRun({"lgreco", "kimad", "accordion"}, {1});
  for (const std::string& policy : run.manifest.policies) {
    AddTraining(run, policy, 1, 1, {0.5});
    AddDecisions(run, policy, 1, 8, {0, 5});
    for (DecisionRow& row : run.decisions) row.layer.resize(27, 'x');
  }
  run.path = directory_;
  EXPECT_TRUE(DrawPictures(run, Summarise(run)).warnings.empty());
  const SvgTexts drawn(Get("decisions.svg"));
  EXPECT_EQ(drawn.Count("step"), 3u);
  EXPECT_EQ(drawn.Count("parameter"), 3u);
  for (const SvgText& text : drawn.texts) {
    // The label is below the middle of its panel's curves.
    if (text.text != "step") continue;
    EXPECT_GT(std::fmod(text.x, drawn.width / 2), 0.35 * drawn.width / 2);
  }
}

TEST(DecisionPicture, IsNoneWhereNothingChanges) {
  RunDirectory run = MakeRun({"dense"}, {1});
  AddTraining(run, "dense", 1, 1, {0.5});
  EXPECT_FALSE(DecisionPicture(run, Summarise(run)));
}

TEST_F(PicturesTest, AreDrawnWellFormedAndTheSameEachTime) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  RunDirectory run = MakeDrawing();
  AddDecisions(run, run.manifest.policies[1], 1, 2, {0, 5});
  run.path = directory_;
  const DrawnPictures drawn = DrawPictures(run, Summarise(run));
  EXPECT_TRUE(drawn.warnings.empty()) << drawn.warnings[0];
  EXPECT_EQ(drawn.files.size(), 16u);
  std::vector<std::string> first;
  for (const auto& file : drawn.files) first.push_back(Get(file.filename().string()));
  for (size_t i = 4; i < first.size(); i += 3) {
    EXPECT_NE(first[i].find("<svg"), std::string::npos);
    EXPECT_EQ(first[i].find("</svg>"), first[i].find_last_not_of('\n') - 5);
    EXPECT_EQ(first[i + 1].substr(0, 8), "\x89PNG\r\n\x1a\n");
    EXPECT_EQ(first[i + 1].substr(first[i + 1].size() - 8, 4), "IEND");
    EXPECT_GT(first[i + 1].size(), 10000u);
    EXPECT_EQ(first[i + 2].substr(0, 5), "%PDF-");
    EXPECT_NE(first[i + 2].find("/CreationDate (D:20000101000000Z)"), std::string::npos);
  }
  EXPECT_NE(first[4].find("it's 1% {a}_b^c `ls` \"q\" \\n"), std::string::npos);
  DrawPictures(run, Summarise(run));
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(Get(drawn.files[i].filename().string()), first[i]) << drawn.files[i];
  }
}

// A slow policy stretches the axis; on a linear axis the others would rise within a few points.
TEST_F(PicturesTest, ASmallPartOfTheAxisIsSpreadByLogarithms) {
  const auto script = [](const std::vector<double>& speeds) {
    RunDirectory run = MakeRun({"dense", "topk"}, {1});
    AddTraining(run, "dense", 1, speeds[0], {0.3, 0.5, 0.7, 0.8});
    AddTraining(run, "topk", 1, speeds[1], {0.5, 0.79, 0.8, 0.8});
    return MakePictures(run, Summarise(run)).at(0).script;
  };
  EXPECT_NE(script({1, 0.3}).find("set logscale x"), std::string::npos);
  EXPECT_EQ(script({1, 0.9}).find("set logscale x"), std::string::npos);
}

// A perplexity falls from thousands: its axis is logarithmic, it is not a percentage, and the cost
// near its best value is that near the lowest.
TEST_F(PicturesTest, ALowerMetricHasAnAxisOfItsOwn) {
  RunDirectory run = MakeRun({"dense", "topk"}, {1, 2}, {kPerplexity}, Target{"perplexity", 120});
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 1, {5000, 500, 200, 120});
    AddTraining(run, "topk", seed, 0.3, {seed == 1 ? NAN : 9000, 130, 121, 118});
  }
  run.path = directory_;
  const Picture picture = MakePictures(run, Summarise(run)).at(0);
  const std::string& script = picture.script;
  EXPECT_NE(script.find("set label 'Test perplexity against simulated time' at screen"),
            std::string::npos);
  EXPECT_NE(script.find("set ylabel 'test perplexity [logarithmic]'\nset logscale y"),
            std::string::npos);
  EXPECT_NE(script.find("\n40 120 120 120\n"), std::string::npos) << script;
  EXPECT_NE(script.find("\n3 NaN NaN NaN\n"), std::string::npos) << script;
  EXPECT_NE(script.find("120 with lines lc rgb '#666666' dt 3 lw 1.5 title 'target 120'"),
            std::string::npos);
  // Dense is near its best after 40 s, topk after 6 s.
  EXPECT_NE(script.find("set logscale x"), std::string::npos);
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  const DrawnPictures drawn = DrawPictures(run, Summarise(run));
  EXPECT_TRUE(drawn.warnings.empty()) << drawn.warnings[0];
  const SvgTexts texts(Get("metric-time.svg"));
  EXPECT_EQ(texts.Count("test perplexity [logarithmic]"), 1u);
}

TEST_F(PicturesTest, AFailingScriptIsAWarning) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  Put("bad.gp", "plot nonsense(\n");
  const GnuplotResult result = RunGnuplot(directory_, "bad.gp");
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.message.find("bad.gp"), std::string::npos);
}

TEST_F(PicturesTest, NothingToShowGivesNoPicture) {
  RunDirectory run = MakeRun({"dense"}, {1});
  EXPECT_TRUE(MakePictures(run, Summarise(run)).empty());
}

TEST_F(PicturesTest, OneEvaluationIsDrawn) {
  if (!HasGnuplot()) GTEST_SKIP() << "no gnuplot";
  RunDirectory run = MakeRun({"dense"}, {1});
  run.path = directory_;
  AddTraining(run, "dense", 1, 1e-4, {0.1});
  const DrawnPictures drawn = DrawPictures(run, Summarise(run));
  EXPECT_TRUE(drawn.warnings.empty()) << drawn.warnings[0];
  EXPECT_EQ(drawn.files.size(), 12u);
}

TEST_F(PicturesTest, TheReportOfARunOnDisk) {
  const RunDirectory run = MakeDrawing();
  WriteManifest(directory_, MakeManifest(run.manifest.policies, run.manifest.seeds));
  {
    StepWriter steps(directory_);
    EvaluationWriter evaluations(directory_, run.manifest.metrics);
    NetworkWriter network(directory_);
    for (const auto& row : run.steps) steps.Write(row);
    for (const auto& row : run.evaluations) evaluations.Write(row);
    for (const auto& row : run.network) network.Write(row);
  }
  const Report report = WriteReport(directory_, {.summary = {}, .pictures = false});
  Summary expected = Summarise(run);
  expected.notes = {"layers.csv is missing", "links.csv is missing"};
  Report same = report;
  same.summary = expected;
  EXPECT_EQ(Get("summary.json"), ReportJson(same));
  EXPECT_EQ(report.files, (std::vector<std::filesystem::path>{directory_ / "summary.json"}));
}

}  // namespace
}  // namespace legacy::analysis::pictures_test