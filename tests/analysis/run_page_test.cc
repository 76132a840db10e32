#include "analysis/report/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/pictures/pictures.h"
#include "tests/analysis/fixture.h"
#include "tests/analysis/page_data.h"

namespace legacy::analysis::run_page_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class RunPageTest : public RunDirectoryTest {
 protected:
  // Returns a run of two policies and two seeds, of which topk's second has not finished.
  RunDirectory MadeUp() const {
    RunDirectory run;
    run.path = directory_;
    json document = MakeManifest({"dense", "topk"}, {1, 2});
    document["version"] = "9.9";
    document["configuration"] = {{"training", {{"model", "lenet5"}, {"batch", "8"}}},
                                 {"network", {{"topology", "ring"}, {"bandwidth", "1Gbps"}}},
                                 {"run", {{"out", "/a/folder/of/this/machine"}}}};
    run.manifest = WriteManifest(directory_, document);
    AddTraining(run, "dense", 1, 0.4, {0.7, 0.8, 0.9, 0.9});
    AddTraining(run, "dense", 2, 0.4, {0.7, 0.8, 0.8, 0.9});
    AddTraining(run, "topk", 1, 0.1, {0.6, 0.7, 0.7, 0.7});
    AddTraining(run, "topk", 2, 0.1, {0.6});
    run.network.pop_back();
    return run;
  }

  Report ReportOf(const RunDirectory& run) const {
    Report report;
    report.summary = Summarise(run);
    report.verdict = "dense is first.";
    report.files = {directory_ / "summary.json", directory_ / "metric-time.svg",
                    directory_ / "decisions.svg", directory_ / "decisions.pdf"};
    return report;
  }
};

TEST_F(RunPageTest, HoldsTheTrainingsOfTheRun) {
  const RunDirectory run = MadeUp();
  const json data = DataOf(RunHtml(run, ReportOf(run)));
  EXPECT_EQ(data.at("title"), "lenet5, 4 workers, ring, 1Gbps");
  EXPECT_EQ(data.at("target"), 0.8);
  const json& points = data.at("points");
  EXPECT_EQ(points.at("state"), json({1, 1, 1, 0}));  // topk's second seed has not finished
  const json& figures = points.at("figures");
  EXPECT_EQ(figures.at("time_to_target"), json({12, 16, nullptr, nullptr}));
  EXPECT_EQ(figures.at("steps_to_target"), json({30, 40, nullptr, nullptr}));
  EXPECT_EQ(figures.at("simulated_seconds"), json({16, 16, 4, nullptr}));
  EXPECT_EQ(figures.at("message_bytes").at(2), 40 * 80);
  const json& curve = data.at("curves").at("points").at(2);
  EXPECT_EQ(data.at("curves").at("sequences").at(curve.at(1).get<size_t>()), json({1, 2, 3, 4}));
}

TEST_F(RunPageTest, HoldsVerdictTablesAndFiles) {
  const RunDirectory run = MadeUp();
  Put("steps.csv", "");
  Put("doctor.json", R"([{"policy": "topk", "step": 3, "verdict": "bound by compute"}])");
  const json parts = DataOf(RunHtml(run, ReportOf(run))).at("run");
  EXPECT_EQ(parts.at("verdict"), "dense is first.");
  EXPECT_THAT(parts.at("header"), testing::Contains(json({"batch", "8"})));
  EXPECT_THAT(parts.at("header"), testing::Contains(json({"program", "test 9.9"})));
  EXPECT_EQ(parts.at("pictures"), json({"decisions.svg"}));  // the page draws the others itself
  EXPECT_EQ(parts.at("files"), json({"decisions.pdf", "manifest.json", "steps.csv"}));
  EXPECT_EQ(parts.at("tables").back().at("rows"), json({{"topk", "3", "bound by compute"}}));
  EXPECT_THAT(parts.at("notes").dump(), HasSubstr("topk"));
}

// The page begins with the curves that the pictures draw, whatever the order of the policies.
TEST_F(RunPageTest, BeginsWithTheCurvesOfThePictures) {
  RunDirectory run;
  run.path = directory_;
  const std::vector<std::string> policies = {"sidco", "dense", "topk",    "topk-global", "randomk",
                                             "dgc",   "qsgd",  "redsync", "powersgd"};
  run.manifest = WriteManifest(directory_, MakeManifest(policies, {1}));
  for (size_t p = 0; p < policies.size(); ++p) {
    const double speed = policies[p] == "dense" ? 1 : p == 0 ? 0.5 : 0.01 * static_cast<double>(p);
    AddTraining(run, policies[p], 1, speed, {0.5, 0.8, 0.8, 0.8});
  }
  const Report report = ReportOf(run);
  const json shown = DataOf(RunHtml(run, report)).at("run").at("shown");
  const auto plot = TimePlot(run, report.summary);
  ASSERT_TRUE(plot);
  std::vector<std::string> drawn;
  for (const PlotCurve& curve : plot->curves) drawn.push_back(curve.policy);
  EXPECT_EQ(drawn.size(), 6u);
  EXPECT_THAT(shown.get<std::vector<std::string>>(), testing::UnorderedElementsAreArray(drawn));
  EXPECT_THAT(plot->others, testing::Contains("sidco"));
}

TEST_F(RunPageTest, HasAnAxisOfNetworks) {
  const RunDirectory run = MadeUp();
  Report report = ReportOf(run);
  RunDirectory far;
  far.manifest = run.manifest;
  for (const char* policy : {"dense", "topk"}) {
    AddTraining(far, policy, 1, 5, {0.8, 0.8, 0.8});
    AddTraining(far, policy, 2, 5, {0.8, 0.8, 0.8});
  }
  report.networks = {{"near", report.summary}, {"far", Summarise(far), {}, far}};
  const json data = DataOf(RunHtml(run, report));
  EXPECT_EQ(data.at("axes").at(0).at("values"), json({"near", "far"}));
  EXPECT_EQ(data.at("points").at("axes").at(0), json({0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(data.at("points").at("figures").at("time_to_target").at(7), 150);
}

TEST_F(RunPageTest, IsEqualForEqualRunsAndSafe) {
  RunDirectory run = MadeUp();
  Report report = ReportOf(run);
  report.verdict = "</script><img src=x>";
  const std::string page = RunHtml(run, report);
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(page, Not(HasSubstr("/a/folder/of/this/machine")));
  EXPECT_THAT(page, Not(HasSubstr(directory_.string())));
  EXPECT_EQ(page, RunHtml(run, report));
  run.manifest.document.erase("configuration");  // as in older runs
  EXPECT_EQ(DataOf(RunHtml(run, report)).at("title"), "4 workers");
}

// A shape trains nothing, and has no metric.
TEST_F(RunPageTest, ShowsRunsThatTrainNothing) {
  RunDirectory run;
  run.path = directory_;
  json document = MakeManifest({"dense"}, {1}, {}, std::nullopt);
  document["shape"] = {{"title", "ResNet-50"}};
  document["configuration"] = {{"training", {{"model", "lenet5"}, {"dataset", "glyphs"}}}};
  run.manifest = WriteManifest(directory_, document);
  AddTraining(run, "dense", 1, 0.4, {});
  Report report;
  report.summary = Summarise(run);
  const json data = DataOf(RunHtml(run, report));
  EXPECT_EQ(data.at("title"), "ResNet-50, 4 workers");
  EXPECT_TRUE(data.at("target").is_null());
  EXPECT_THAT(data.at("run").at("header").dump(), Not(HasSubstr("glyphs")));
}

}  // namespace
}  // namespace legacy::analysis::run_page_test
