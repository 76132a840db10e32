// The trainings and replays on which advice is based.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <system_error>
#include <utility>

#include "analysis/federated/round_figures.h"
#include "analysis/federated_tables.h"
#include "analysis/summary.h"
#include "base/error.h"
#include "base/programs/child.h"
#include "base/programs/progress_line.h"
#include "scenarios/run/manifest.h"
#include "scenarios/study/advise.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/progress.h"
#include "scenarios/study/quantity.h"
#include "scenarios/study/run.h"
#include "scenarios/study/work.h"
#include "scenarios/training/step_sources.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using analysis::StudyState;

constexpr int64_t kProbeEvaluations = 2;
constexpr const char* kProbe = "probe";  // folder of the training that is timed

// A Workplace is the request's folder, or a temporary one that is removed with this object.
class Workplace {
 public:
  explicit Workplace(const fs::path& folder) : path_(folder), temporary_(folder.empty()) {
    if (temporary_) {
      std::string name = (fs::temp_directory_path() / "legacy-advise-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) throw Error(name + ": cannot be made");
      path_ = name;
    } else {
      fs::create_directories(path_);
    }
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (temporary_) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  bool temporary_;
};

StudyPlan PlanOf(const Scenario& scenario) {
  return PlanStudy(ParseStudy(AdviceDefinition(scenario), "advise"));
}

// Returns the wall seconds of a training, estimated from its first steps. Errors that all trainings
// have in common appear here.
double TrainingSeconds(const StudyPlan& plan, const fs::path& folder) {
  PlannedTraining probe = plan.trainings.front();
  const int64_t steps = StepsOf(probe.scenario);
  const int64_t probed =
      std::min<int64_t>(steps, kProbeEvaluations * probe.scenario.evaluate_every);
  SetSteps(probe.scenario, probed);
  probe.scenario.threads = 1;
  const fs::path place = folder / kProbe;
  fs::create_directories(place);
  LoadTraining(*probe.scenario.processor);  // not part of a training's time
  const auto begin = std::chrono::steady_clock::now();
  Child child(place / "log", [&](const Child::Say&) {
    Train(place, probe);
    return 0;
  });
  const Child::End end = child.Wait();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (end.status != 0) throw Error(end.how);
  fs::remove_all(place);
  return seconds.count() * static_cast<double>(steps) / static_cast<double>(probed);
}

void SayWhatItTakes(const AdviseRequest& request, const StudyPlan& plan, const fs::path& folder) {
  const auto trainings = static_cast<double>(plan.trainings.size());
  const double seconds = TrainingSeconds(plan, folder) * trainings / request.jobs;
  const bool replayed = plan.trainings.front().refused.empty();
  fmt::print(stderr, "{} trainings of {} {}s in about {} of wall time{}\n", plan.trainings.size(),
             request.quick_steps, request.scenario.federated ? "round" : "step",
             WallTimeInWords(seconds),
             replayed ? fmt::format(", then {} replays", plan.points.size()) : "");
}

// Does the work of one phase. Returns false if it was stopped.
bool WorkOff(const StudyFolder& folder, StudyPhase phase, const AdviseRequest& request,
             analysis::Study& study, const StopFlag& stop) {
  Collector collector(folder.path());
  StudyRunOptions options;
  options.jobs = request.jobs;
  options.phase = phase;
  options.retry_failed = request.resume;
  StudyProgressLine line(isatty(STDERR_FILENO) != 0);
  const StudyProgress progress = RunStudy(
      folder, collector.study(), options, [&](const StudyProgress& state) { line.Show(state); },
      stop);
  line.Finish(progress);
  collector.Collect();
  study = collector.study();
  for (const analysis::StudyTraining& training : study.trainings) {
    if (training.state != StudyState::kFailed) continue;
    throw Error(fmt::format("{}, seed {}: {}", training.policy, training.seed, training.message));
  }
  return !progress.interrupted;
}

// Returns the target that the baseline's trainings suggest.
std::string SuggestedTarget(const StudyFolder& folder) {
  std::vector<fs::path> trainings;
  for (const PlannedTraining& training : folder.plan().trainings) {
    if (training.scenario.policies.front() != folder.plan().definition.baseline) continue;
    trainings.push_back(TrainingFolder(folder.path(), training));
  }
  return ChooseTarget(trainings);
}

// Gives the same trainings another definition, because no training depends on the target. If this
// is killed at any moment, --resume can continue.
StudyFolder WithTarget(const StudyFolder& folder, Scenario scenario, const std::string& target) {
  scenario.target = {target, "training.target"};
  StudyPlan plan = PlanOf(scenario);
  fs::remove(folder.path() / "study.sqlite");
  fs::remove(folder.path() / "study.yaml");
  return StudyFolder::Create(folder.path(), std::move(plan));
}

// Opens the study that is continued, which may already have its target.
StudyFolder OpenAgain(const fs::path& path, StudyPlan plan, Scenario quick) {
  fs::remove_all(path / kProbe);
  if (!fs::exists(path / "study.yaml")) return StudyFolder::Create(path, std::move(plan));
  StudyFolder folder = StudyFolder::Open(path);
  const StudyDefinition& known = folder.plan().definition;
  if (ChoosesTarget(quick)) quick.target = known.scenario.target;
  if (known.text != AdviceDefinition(quick)) {
    throw Error("--resume", path.string(), "the folder of advice with the same options");
  }
  folder.NeedDatabase();
  return folder;
}

// Returns a federated study that has rates of the median client's uplink in place of factors on
// lines. A federated step is simulated as it is, so there is no textbook value next to it.
analysis::Study OverUplinks(analysis::Study study, double uplink) {
  analysis::StudyAxis& axis = study.axes.front();
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < axis.values.size(); ++i) {
    axis.numbers[i] *= uplink;
    const std::string rate = QuantityText(OptionKind::kRate, std::round(axis.numbers[i]));
    renamed[std::exchange(axis.values[i], rate)] = rate;
  }
  axis.name = "uplink";
  axis.unit = UnitOf(OptionKind::kRate);
  for (analysis::StudyPoint& point : study.points) {
    point.values.front() = renamed.at(point.values.front());
    point.figures.alpha_beta_step_seconds = analysis::kUnknown;
  }
  return study;
}

// Returns the mean ratio of the target's cost with the baseline to that with a policy; nothing if a
// seed lacks one of the costs, or one is 0.
analysis::GeometricMean CheaperThan(const std::vector<double>& baseline,
                                    const std::vector<double>& policy, size_t seeds) {
  if (baseline.size() != seeds || policy.size() != seeds) return {};
  std::vector<double> ratios;
  for (size_t i = 0; i < seeds; ++i) {
    if (!(baseline[i] > 0 && policy[i] > 0)) return {};
    ratios.push_back(baseline[i] / policy[i]);
  }
  return analysis::GeometricMeanOf(ratios);
}

// Adds what the target costs, and what rounds wait for, on unchanged lines.
void AddCosts(const StudyFolder& folder, const analysis::Study& study,
              analysis::AdviceQuestion& question) {
  const StudyPlan& plan = folder.plan();
  const std::string& value = study.axes.front().values[question.value];
  std::vector<std::vector<double>> usd(study.policies.size()), hours(study.policies.size());
  for (size_t id = 0; id < plan.points.size(); ++id) {
    const analysis::StudyPoint& point = study.points[id];
    if (point.values.front() != value) continue;
    const TrainedRun trained =
        ReadTraining(folder.path(), plan.trainings[plan.points[id].training]);
    const analysis::RunDirectory run = RowsOfPoint(plan, id, trained);
    const analysis::SeedSummary seed = analysis::Summarise(run).policies.at(0).seeds.at(0);
    const size_t p = analysis::PolicyIndex(study, point.policy);
    analysis::AdviceRow& row = question.clients->rows.at(p);
    if (row.waits.empty()) {
      row.waits = question.clients->server ? analysis::WaitsFor(run.rounds, run.clients)
                                           : analysis::ExchangesWaitFor(run.steps);
    }
    if (seed.client_hours_to_target) hours[p].push_back(*seed.client_hours_to_target);
    if (seed.usd_to_target) usd[p].push_back(*seed.usd_to_target);
  }
  const auto all = [&](const std::vector<double>& values) {
    return values.size() == study.seeds.size() ? analysis::SpreadOf(values) : analysis::Spread();
  };
  const bool priced = std::ranges::any_of(usd, [](const auto& each) {
    return std::ranges::any_of(each, [](double v) { return v > 0; });
  });
  const size_t base = analysis::PolicyIndex(study, study.baseline);
  for (size_t p = 0; p < study.policies.size(); ++p) {
    analysis::AdviceRow& row = question.clients->rows[p];
    row.client_hours_to_target = all(hours[p]);
    if (!priced) continue;
    row.usd_to_target = all(usd[p]);
    row.cheaper = CheaperThan(usd[base], usd[p], study.seeds.size());
  }
}

}  // namespace

AdviseResult Advise(const AdviseRequest& request, const StopFlag& stop) {
  const Scenario quick = ShortScenario(request);
  StudyPlan plan = PlanOf(quick);  // mistakes are found before files are written
  const StopScope scope(kSecondsToStopChildren);
  if (request.resume && !fs::exists(request.folder)) {
    throw Error("--resume", request.folder.string(), "a folder that is there");
  }
  if (!request.folder.empty()) CheckHoldsNo(Held::kRun, request.folder, "--out");
  const Workplace place(request.folder);
  const StudyLock lock(place.path(), 0);
  StudyFolder folder = request.resume ? OpenAgain(place.path(), std::move(plan), quick)
                                      : StudyFolder::Create(place.path(), std::move(plan));
  if (!request.resume) SayWhatItTakes(request, folder.plan(), place.path());
  AdviseResult result;
  result.interrupted = !WorkOff(folder, StudyPhase::kTrainings, request, result.study, stop);
  if (result.interrupted) return result;
  if (ChoosesTarget(folder.plan().definition.scenario)) {
    folder = WithTarget(folder, quick, SuggestedTarget(folder));
  }
  result.interrupted = !WorkOff(folder, StudyPhase::kPoints, request, result.study, stop);
  if (result.interrupted) return result;
  analysis::AdviceQuestion question = QuestionOf(request, quick, result.study);
  if (quick.federated) {
    AddCosts(folder, result.study, question);
    result.study = OverUplinks(std::move(result.study), MedianUplink(quick));
  }
  result.advice = analysis::AdviceOf(result.study, std::move(question));
  return result;
}

}  // namespace legacy
