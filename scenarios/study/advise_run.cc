// Trainings and replays of `legacy-scenario advise`.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "analysis/study/quantities.h"
#include "base/child.h"
#include "base/error.h"
#include "base/parse.h"
#include "scenarios/study/advise.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/progress.h"
#include "scenarios/study/run.h"
#include "scenarios/study/shell.h"
#include "scenarios/study/work.h"
#include "scenarios/training/step_sources.h"
#include "trainer/data/data_catalog.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;
using analysis::StudyState;

constexpr int64_t kProbeEvaluations = 2;

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

// Returns the wall seconds of a training, from the first steps of one. Errors that all trainings
// share appear here.
double TrainingSeconds(const StudyPlan& plan, const fs::path& folder) {
  PlannedTraining probe = plan.trainings.front();
  const int64_t steps = probe.scenario.steps;
  probe.scenario.steps = std::min(steps, kProbeEvaluations * probe.scenario.evaluate_every);
  probe.scenario.threads = 1;
  const fs::path place = folder / "probe";
  fs::create_directories(place);
  LoadTraining();  // loading LibTorch is no part of a training's time
  const auto begin = std::chrono::steady_clock::now();
  Child child(place / "log", [&](const Child::Say&) {
    Train(place, probe);
    return 0;
  });
  const Child::End end = child.Wait();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (end.status != 0) throw Error(end.how);
  fs::remove_all(place);
  return seconds.count() * static_cast<double>(steps) / static_cast<double>(probe.scenario.steps);
}

void SayWhatItTakes(const AdviseRequest& request, const StudyPlan& plan, const fs::path& folder) {
  const auto trainings = static_cast<double>(plan.trainings.size());
  const double seconds = TrainingSeconds(plan, folder) * trainings / request.jobs;
  fmt::print(stderr, "{} trainings of {} steps in about {} of wall time, then {} replays\n",
             plan.trainings.size(), request.quick_steps,
             analysis::ShowQuantity(std::ceil(seconds), "s", 4), plan.points.size());
}

// Does the work of one phase. Returns false where it was stopped.
bool WorkOff(const StudyFolder& folder, StudyPhase phase, const AdviseRequest& request,
             analysis::Study& study, const StopFlag& stop) {
  Collector collector(folder.path());
  StudyRunOptions options;
  options.jobs = request.jobs;
  options.phase = phase;
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

// Gives the same trainings another definition, as no training depends on the target.
StudyFolder WithTarget(const StudyFolder& folder, Scenario scenario, const std::string& target) {
  scenario.target = {target, "training.target"};
  StudyPlan plan = PlanOf(scenario);
  fs::remove(folder.path() / "study.yaml");
  fs::remove(folder.path() / "study.sqlite");
  return StudyFolder::Create(folder.path(), std::move(plan));
}

std::string SettingText(const Scenario& scenario, bool rates_given) {
  std::string text = fmt::format("{} on {}, {} of {}, {}", scenario.model, scenario.dataset,
                                 analysis::ShowCount(scenario.workers, "worker"),
                                 analysis::ShowCount(scenario.batch, "sample"), scenario.topology);
  if (!rates_given) text += " at " + scenario.bandwidth.text();
  if (scenario.stragglers != "none") text += ", stragglers " + scenario.stragglers;
  return text + ", " + scenario.fidelity.text() + " fidelity";
}

std::vector<std::string> CaveatsOf(const AdviseRequest& request, const Scenario& quick,
                                   const Metric& metric, bool rates_given) {
  std::vector<std::string> caveats;
  const int64_t full = request.scenario.steps;
  if (quick.steps < full) {
    caveats.push_back(fmt::format(
        "the training was short: {} of {} steps, warm-up and decay in proportion. The last gains "
        "of {} in a full training, where compression may cost, show in a full study alone.",
        quick.steps, full, metric.title));
  }
  caveats.push_back(fmt::format("times are known to the next evaluation, every {}.",
                                analysis::ShowCount(quick.evaluate_every, "step")));
  if (quick.policies.size() > 2) {
    caveats.push_back(
        fmt::format("the best of {} policies looks better than it is: each interval holds for its "
                    "policy alone.",
                    quick.policies.size() - 1));
  }
  caveats.push_back(fmt::format("devices are timed by the profile {}, not by this machine.",
                                quick.device_profile));
  if (*quick.fidelity != Fidelity::kPacket) {
    caveats.push_back(
        fmt::format("the network was simulated at {} fidelity; --fidelity=packet looks closer and "
                    "takes longer.",
                    quick.fidelity.text()));
  }
  if (rates_given) {
    caveats.push_back(
        "no rate here depends on --bandwidth, so there is no break-even bandwidth to tell.");
  }
  return caveats;
}

// Returns true where the baseline reached the target up to its third evaluation, before which no
// policy can be told to be faster.
bool ReachedAtOnce(const analysis::Study& study) {
  return std::ranges::any_of(study.points, [&](const analysis::StudyPoint& point) {
    return point.policy == study.baseline && point.curve.size() >= 3 &&
           point.figures.steps_to_target == point.curve[2].step;
  });
}

bool Chooses(const Scenario& scenario) {
  return scenario.target->kind == TargetChoice::Kind::kAuto;
}

// Returns the value of the metric that guessing has; 0: not known. It is known of the share of
// right classes alone.
double GuessingOf(const Scenario& scenario, const Metric& metric) {
  const CatalogEntry& data = FindInCatalog(scenario.dataset);
  const bool known =
      data.task == TaskKind::kClassification && metric == MetricsOf(scenario).front();
  return known && data.classes > 0 ? 1.0 / data.classes : 0;
}

std::string CommandText(const AdviseRequest& request) {
  std::vector<std::string> words = {"legacy-scenario", "advise"};
  for (const std::string& word : request.arguments) {
    if (word != "--json") words.push_back(word);
  }
  words.emplace_back("--print-config");
  return ShellLine(words) + " > study.yaml && legacy-study run study.yaml";
}

analysis::AdviceQuestion QuestionOf(const AdviseRequest& request, const Scenario& quick,
                                    const analysis::Study& study) {
  analysis::AdviceQuestion question;
  const Metric metric = ShownMetric(study);
  const std::vector<std::string>& rates = study.axes.front().values;
  const bool rates_given = rates.size() == 1;
  question.value = rates.size() / 2;
  question.setting = SettingText(quick, rates_given);
  question.caveats = CaveatsOf(request, quick, metric, rates_given);
  if (Chooses(request.scenario)) {
    const bool higher = metric.better == Metric::Better::kHigher;
    question.target = fmt::format(
        "the target was chosen: {} what {} has at the end of the short training (mean of its "
        "last three evaluations, worst seed). --target sets another.",
        higher ? "90 % of" : "ten ninths of", study.baseline);
  }
  if (ReachedAtOnce(study)) {
    question.caveats.push_back(fmt::format(
        "{} has the target from its first evaluations on: times say how fast steps are, not how "
        "well it learns. Take more --quick-steps or a {} --target.",
        study.baseline, metric.better == Metric::Better::kHigher ? "higher" : "lower"));
  }
  question.command = CommandText(request);
  question.guessing = GuessingOf(quick, metric);
  if (question.guessing == 0) {
    question.caveats.push_back(fmt::format(
        "nothing says which {} a model has that learnt nothing: judge by yourself whether {} has "
        "learnt enough.",
        metric.title, study.baseline));
  }
  return question;
}

}  // namespace

AdviseResult Advise(const AdviseRequest& request, const StopFlag& stop) {
  const Scenario quick = ShortScenario(request);
  StudyPlan plan = PlanOf(quick);  // mistakes leave no files behind
  const Workplace place(request.folder);
  const StudyLock lock(place.path(), 0);
  StudyFolder folder = StudyFolder::Create(place.path(), std::move(plan));
  SayWhatItTakes(request, folder.plan(), place.path());
  AdviseResult result;
  result.interrupted = !WorkOff(folder, StudyPhase::kTrainings, request, result.study, stop);
  if (result.interrupted) return result;
  if (Chooses(quick)) folder = WithTarget(folder, quick, SuggestedTarget(folder));
  result.interrupted = !WorkOff(folder, StudyPhase::kPoints, request, result.study, stop);
  if (result.interrupted) return result;
  result.advice = analysis::AdviceOf(result.study, QuestionOf(request, quick, result.study));
  return result;
}

}  // namespace legacy
