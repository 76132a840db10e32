#include "scenarios/study/work.h"

#include <cstdio>
#include <utility>

#include "analysis/study/run_points.h"
#include "analysis/summary.h"
#include "base/error.h"
#include "base/files/own_file.h"
#include "scenarios/federated/run/run.h"
#include "scenarios/run/open_run.h"
#include "scenarios/run/workers/comparison.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

StopFlag g_never = 0;  // pieces of work end by themselves or with their process

}  // namespace

fs::path TrainingFolder(const fs::path& study, const PlannedTraining& training) {
  return study / "trainings" / training.id;
}

bool IsTrained(const fs::path& study, const PlannedTraining& training) {
  return fs::exists(TrainingFolder(study, training) / "manifest.json");
}

void Train(const fs::path& study, const PlannedTraining& training, const ShareTold& told) {
  const fs::path folder = TrainingFolder(study, training);
  const fs::path partial = folder.string() + ".partial";
  MakeFolderIn(study, "trainings");
  CheckFoldersIn(study, fs::path("trainings") / partial.filename() / "file");
  Scenario scenario = training.scenario;
  scenario.out = partial.string();
  scenario.further = "none";  // here, the points are the networks
  const auto run = [&](bool resume) {
    FinishRun(scenario.federated ? RunFederated(scenario, "legacy-study", g_never, stderr,
                                                {.resume = resume, .told = told})
                                 : RunComparison(scenario, "legacy-study", "legacy-study", g_never,
                                                 stderr, {.resume = resume, .told = told}));
  };
  bool trained = IsFinished(partial);  // the process was killed before it renamed the folder
  if (!trained && fs::exists(partial / kCheckpointFolder)) {
    try {
      run(true);
      trained = true;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: trained from the beginning\n", error.what());
    }
  }
  if (!trained) {
    fs::remove_all(partial);
    run(false);
  }
  std::error_code error;
  fs::rename(partial, folder, error);
  if (error) throw Error(folder.string() + ": cannot be made: " + error.message());
}

TrainedRun ReadTraining(const fs::path& study, const PlannedTraining& training) {
  const fs::path folder = TrainingFolder(study, training);
  if (!training.refused.empty()) return {.run = analysis::ReadRunDirectory(folder)};
  return {.recorded = ReadRecordedRun(folder.string())};
}

analysis::RunDirectory RowsOfPoint(const StudyPlan& plan, size_t id, const TrainedRun& trained) {
  const PlannedPoint& planned = plan.points.at(id);
  const PlannedTraining& training = plan.trainings.at(planned.training);
  analysis::RunDirectory run = trained.run;
  if (trained.recorded) {
    const Scenario& here = planned.scenario;
    run = trained.recorded->Rows(
        training.scenario.federated ? OnNetworkOf(here, trained.recorded->Defaults()) : here,
        [] { return false; });
  }
  run.manifest.target = TargetAmong(planned.scenario, plan.metrics);
  return run;
}

analysis::StudyPoint TimePoint(const StudyPlan& plan, size_t id, const TrainedRun& trained) {
  const analysis::RunDirectory run = RowsOfPoint(plan, id, trained);
  const analysis::Summary summary = analysis::Summarise(run);
  const analysis::PolicySummary& policy = summary.policies.at(0);
  if (!policy.seeds.at(0).finished || run.steps.empty()) {
    throw Error("the training is not finished");
  }
  analysis::StudyPoint point = EmptyPoint(plan, id);
  FillPoint(point, run, policy, 0, plan.metrics);
  point.state = analysis::StudyState::kDone;
  return point;
}

}  // namespace legacy
