// Writes the pages that study_page_test.py opens, those of studies and of a run, and what the C++
// statistics say of their study:
//   write_pages DIRECTORY
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/report/run_page.h"
#include "analysis/study/crossover.h"
#include "analysis/study/quantities.h"
#include "analysis/study/report/html.h"
#include "analysis/study/statistics.h"
#include "tests/analysis/fixture.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

// Makes a point end before it reaches its target.
void Censor(StudyPoint& point) {
  point.figures.time_to_target.reset();
  point.figures.steps_to_target.reset();
}

// Returns a study of seeds that differ, a policy that never reaches the target, missing points, and
// seeds that are censored for the baseline, the policy, or both.
Study AwkwardStudy() {
  MadeUpStudy made;
  made.policies = {{"dense", 1, false, 0, 200},
                   {"fp16", 0.5, false, 2e-4, 200},
                   {"topk", 0.02, true, 3e-3, 215},
                   {"randomk", 0.01, true, 5e-4, 700}};
  made.bandwidths = {1e8, 1e9, 2e9, 1e10, 1e11};
  Study study = MakeStudy(made);
  const auto at = [&](size_t bandwidth, size_t workers, size_t policy, size_t seed) -> StudyPoint& {
    return study.points[((bandwidth * 2 + workers) * made.policies.size() + policy) * 3 + seed];
  };
  for (StudyPoint& point : study.points) {
    auto& time = point.figures.time_to_target;
    if (time) *time *= 1 + 0.05 * std::sin(static_cast<double>(point.id));
  }
  Censor(at(0, 0, 2, 1));
  Censor(at(1, 0, 0, 0));
  Censor(at(2, 1, 0, 0));
  Censor(at(2, 1, 2, 1));
  Censor(at(3, 0, 0, 2));
  Censor(at(3, 0, 1, 2));
  at(2, 0, 2, 0).curve.resize(15);
  Forget(at(4, 0, 1, 0), "the link between a and b is down");
  Forget(at(4, 1, 2, 2));
  return study;
}

Study WithoutSeed(Study study, uint64_t seed) {
  std::erase(study.seeds, seed);
  std::erase_if(study.points, [&](const StudyPoint& point) { return point.seed == seed; });
  for (size_t i = 0; i < study.points.size(); ++i) study.points[i].id = static_cast<int64_t>(i);
  return study;
}

json Number(double value) { return std::isfinite(value) ? json(value) : json(); }

const char* BoundText(Bound bound) {
  return bound == Bound::kAtLeast ? "at least" : bound == Bound::kAtMost ? "at most" : "";
}

json OutcomesOf(const Study& study, const Place& place) {
  json rows = json::array();
  for (const Outcome& outcome : place.outcomes) {
    if (outcome.done == 0) continue;
    const Speedup& speedup = outcome.speedup;
    rows.push_back({{"bandwidth", study.axes[0].numbers[place.values[0]]},
                    {"workers", study.axes[1].values[place.values[1]]},
                    {"policy", outcome.policy},
                    {"mean", Number(outcome.time_to_target.mean)},
                    {"deviation", Number(outcome.time_to_target.deviation)},
                    {"reached", outcome.reached},
                    {"done", outcome.done},
                    {"speedup", Number(speedup.ratio)},
                    {"bound", BoundText(speedup.bound)},
                    {"low", speedup.interval ? json(speedup.interval->low) : json()},
                    {"high", speedup.interval ? json(speedup.interval->high) : json()},
                    {"step", outcome.step_seconds.mean}});
  }
  return rows;
}

// Returns which policy is the fastest at a place, and which ones cannot be told apart from it.
json FirstOf(const Study& study, const Place& place) {
  const std::vector<size_t> ranking = RankingOf(place);
  json ties = json::array();
  for (const size_t p : TiesWith(study, place, ranking.at(0), ranking)) {
    ties.push_back(study.policies[p]);
  }
  return {{"bandwidth", ShowValue(study.axes[0], place.values[0])},
          {"workers", study.axes[1].values[place.values[1]]},
          {"first", study.policies[ranking[0]]},
          {"ties", std::move(ties)}};
}

// Returns the mean seconds, bytes and accuracy of topk at 2 Gbit/s and 8 workers, at the steps that
// all its seeds have.
json CurveOf(const Study& study) {
  std::map<int64_t, std::vector<CurveRow>> rows;
  for (const StudyPoint& point : study.points) {
    if (point.policy != "topk" || point.values[0] != "2000000kbps" || point.values[1] != "8")
      continue;
    for (const CurveRow& row : point.curve) rows[row.step].push_back(row);
  }
  json curve = json::array();
  for (const auto& [step, seeds] : rows) {
    if (seeds.size() < study.seeds.size()) continue;
    double seconds = 0, bytes = 0, accuracy = 0;
    for (const CurveRow& row : seeds) {
      seconds += row.simulated_seconds / static_cast<double>(seeds.size());
      bytes += row.nic_bytes / static_cast<double>(seeds.size());
      accuracy += row.metrics[0] / static_cast<double>(seeds.size());
    }
    curve.push_back({step, seconds, bytes, accuracy});
  }
  return curve;
}

json ExpectedOf(const Study& study) {
  json outcomes = json::array(), crossings = json::array(), firsts = json::array();
  for (const Place& place : PlacesOf(study)) {
    firsts.push_back(FirstOf(study, place));
    for (json& row : OutcomesOf(study, place)) outcomes.push_back(std::move(row));
  }
  for (const Facet& facet : FacetsOf(study, 0)) {
    for (const BreakEven& even : BreakEvensOf(study, facet)) {
      const Crossover& simulated = even.simulated;
      crossings.push_back({{"facet", facet.name},
                           {"policy", simulated.policy},
                           {"x", Number(simulated.x)},
                           {"low", simulated.interval ? json(simulated.interval->low) : json()},
                           {"high", simulated.interval ? json(simulated.interval->high) : json()},
                           {"textbook", Number(even.textbook.x)}});
    }
  }
  return {{"outcomes", std::move(outcomes)},
          {"crossings", std::move(crossings)},
          {"firsts", std::move(firsts)},
          {"curve", CurveOf(study)}};
}

Study HostileStudy() {
  const std::string attack = "</script><img src=x onerror=\"document.title='broken'\">";
  Study study = AwkwardStudy();
  study.title = attack + study.title;
  study.policies[2] = attack + "topk";
  study.axes[1].name = "workers";
  for (StudyPoint& point : study.points) {
    if (point.policy == "topk") point.policy = study.policies[2];
    if (!point.message.empty()) point.message += attack;
    point.values[1] += attack;
  }
  for (std::string& value : study.axes[1].values) value += attack;
  study.axes[1].numbers.clear();  // names are shown as they are
  return study;
}

// Returns a study with one axis of names, one seed, and a baseline that was not run.
Study NamedStudy() {
  MadeUpStudy made;
  made.seeds = {7};
  made.bandwidths = {1e9};
  made.workers = {4, 8, 16};
  Study study = MakeStudy(made);
  study.baseline = "none of them";
  study.axes = {{"topology", "", {"ring", "fat-tree", "torus"}, {}}};
  for (StudyPoint& point : study.points) {
    const size_t place = point.values[1] == "4" ? 0 : point.values[1] == "8" ? 1 : 2;
    point.values = {study.axes[0].values[place]};
  }
  return study;
}

// Returns a study of one policy on one network.
Study PointStudy() {
  MadeUpStudy made;
  made.policies.resize(1);
  made.bandwidths = {1e9};
  made.workers = {4};
  Study study = MakeStudy(made);
  study.axes.clear();
  for (StudyPoint& point : study.points) point.values.clear();
  return study;
}

void Write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// Writes a run's page into a folder of its own, with the files that it shows and links to.
void WriteRun(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  RunDirectory run;
  run.path = directory;
  run.manifest = WriteManifest(directory, MakeManifest({"dense", "topk"}, {1, 2}));
  for (const uint64_t seed : {1, 2}) {
    AddTraining(run, "dense", seed, 0.4, {0.7, 0.8, 0.9, 0.9});
    AddTraining(run, "topk", seed, 0.1, {0.6, 0.7, 0.8, 0.9, 0.9});
  }
  Write(directory / "steps.csv", "");
  Write(directory / "decisions.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' width='960' height='90'/>");
  Report report;
  report.summary = Summarise(run);
  report.verdict = "topk is first.";
  report.files = {directory / "decisions.svg"};
  Write(directory / "index.html", RunHtml(run, report));
}

// Writes the page of a run with more policies than have curves at first.
void WriteRunOfMany(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  const std::vector<std::string> policies = {"dense", "topk",    "topk-global", "randomk", "dgc",
                                             "qsgd",  "redsync", "powersgd",    "sidco"};
  RunDirectory run;
  run.path = directory;
  run.manifest = WriteManifest(directory, MakeManifest(policies, {1}));
  for (size_t p = 0; p < policies.size(); ++p) {
    AddTraining(run, policies[p], 1, p == 0 ? 1 : 0.01 * static_cast<double>(p),
                {0.5, 0.8, 0.8, 0.8});
  }
  Report report;
  report.summary = Summarise(run);
  Write(directory / "index.html", RunHtml(run, report));
}

void WritePages(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  const Study study = AwkwardStudy();
  HtmlOptions live;
  live.live = true;
  Write(directory / "study.html", StudyHtml(study));
  Write(directory / "live.html", StudyHtml(study, live));
  Write(directory / "hostile.html", StudyHtml(HostileStudy()));
  Write(directory / "names.html", StudyHtml(NamedStudy()));
  Write(directory / "point.html", StudyHtml(PointStudy()));
  Write(directory / "perplexity.html", StudyHtml(InPerplexity(study), live));
  Study missed = study;
  for (StudyPoint& point : missed.points) Censor(point);
  Write(directory / "missed.html", StudyHtml(missed));
  Study empty = study;
  for (StudyPoint& point : empty.points) Forget(point);
  empty.target.reset();
  Write(directory / "empty.html", StudyHtml(empty));
  WriteRun(directory / "run");
  WriteRunOfMany(directory / "many");
  const json expected = {{"all", ExpectedOf(study)},
                         {"without_2", ExpectedOf(WithoutSeed(study, 2))},
                         {"perplexity", ExpectedOf(InPerplexity(study))}};
  Write(directory / "expected.json", expected.dump());
}

}  // namespace
}  // namespace legacy::analysis

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  legacy::analysis::WritePages(argv[1]);
  return 0;
}
