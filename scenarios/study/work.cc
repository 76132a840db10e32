#include "scenarios/study/work.h"

#include <cstdio>
#include <utility>

#include "analysis/summary.h"
#include "base/error.h"
#include "base/own_file.h"
#include "scenarios/federated/run/replay.h"
#include "scenarios/federated/run/run.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/comparison.h"
#include "scenarios/run/earlier_run.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

StopFlag g_never = 0;  // pieces of work end by themselves or with their process

// Returns the figures of one training, with one policy and one seed.
analysis::PointFigures FiguresOf(const analysis::RunDirectory& run) {
  const analysis::Summary summary = analysis::Summarise(run);
  const analysis::PolicySummary& policy = summary.policies.at(0);
  const analysis::SeedSummary& seed = policy.seeds.at(0);
  if (!seed.finished || run.steps.empty()) throw Error("the training is not finished");
  analysis::PointFigures figures;
  figures.workers = summary.workers;
  figures.steps = seed.steps;
  figures.time_to_target = seed.time_to_target;
  figures.simulated_seconds = seed.simulated_seconds;
  figures.final_metric = seed.final_metric;
  figures.best_metric = seed.best_metric;
  figures.element_ratio = seed.element_ratio;
  figures.payload_ratio = seed.payload_ratio;
  figures.traffic_ratio = seed.traffic_ratio;
  figures.egress_usd = seed.egress_usd;
  figures.decisions = seed.decisions;
  figures.step_seconds = seed.step.total;
  figures.compute_seconds = seed.step.compute;
  figures.encode_seconds = seed.step.encode;
  figures.communication_seconds = seed.step.communication;
  figures.decode_seconds = seed.step.decode;
  figures.wait_seconds = seed.step.wait;
  for (const analysis::StepRow& row : run.steps) {
    figures.message_bytes += row.message_bytes;
    figures.nic_bytes += row.nic_bytes;
    figures.alpha_beta_step_seconds += row.alpha_beta_seconds / static_cast<double>(seed.steps);
  }
  for (const analysis::EvaluationRow& row : run.evaluations) {
    if (figures.time_to_target == row.simulated_seconds) figures.steps_to_target = row.step;
  }
  const analysis::NetworkRow& network = run.network.at(0);
  figures.fidelity = network.fidelity;
  figures.events = network.events;
  figures.packets = network.packets;
  figures.fresh_steps = network.fresh_steps;
  figures.memoised_steps = network.memoised_steps;
  figures.retransmit_timeouts = network.retransmit_timeouts;
  figures.roce = network.roce;
  for (const analysis::LinkRow& row : run.links) {
    if (figures.busiest_link.empty() || row.mean_utilisation > figures.busiest_utilisation) {
      figures.busiest_link = row.link;
      figures.busiest_utilisation = row.mean_utilisation;
    }
  }
  return figures;
}

// Returns the curve with values of the study's metrics; nan for those that the training lacks.
std::vector<analysis::CurveRow> CurveOf(const analysis::RunDirectory& run,
                                        const std::vector<Metric>& metrics) {
  const std::vector<Metric>& known = run.manifest.metrics;
  std::vector<analysis::CurveRow> curve;
  for (const analysis::EvaluationRow& row : run.evaluations) {
    curve.push_back(
        {row.step, row.simulated_seconds, row.message_bytes, row.nic_bytes, row.test_loss, {}});
    for (const Metric& metric : metrics) {
      const size_t position = MetricPosition(known, metric.name);
      curve.back().metrics.push_back(position < known.size() ? row.metrics.at(position)
                                                             : analysis::kUnknown);
    }
  }
  return curve;
}

}  // namespace

fs::path TrainingFolder(const fs::path& study, const PlannedTraining& training) {
  return study / "trainings" / training.id;
}

bool IsTrained(const fs::path& study, const PlannedTraining& training) {
  return fs::exists(TrainingFolder(study, training) / "manifest.json");
}

void Train(const fs::path& study, const PlannedTraining& training) {
  const fs::path folder = TrainingFolder(study, training);
  const fs::path partial = folder.string() + ".partial";
  MakeFolderIn(study, "trainings");
  CheckFoldersIn(study, fs::path("trainings") / partial.filename() / "file");
  Scenario scenario = training.scenario;
  scenario.out = partial.string();
  scenario.further = "none";  // points are the networks here
  const auto run = [&](bool resume) {
    FinishRun(scenario.federated ? RunFederated(scenario, "legacy-study",
                                                {.stop = g_never, .resume = resume}, stderr)
                                       .run
                                 : RunComparison(scenario, "legacy-study", "legacy-study", g_never,
                                                 stderr, {.resume = resume}));
  };
  bool trained = IsFinished(partial);  // it was killed before the folder had its name
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
  TrainedRun trained;
  if (!training.refused.empty()) {
    trained.workers.run = analysis::ReadRunDirectory(folder);
  } else if (training.scenario.federated) {
    trained.federated = ReadFederatedRecording(folder.string());
  } else {
    trained.workers = ReadRecording(folder.string());
  }
  return trained;
}

analysis::RunDirectory RowsOfPoint(const StudyPlan& plan, size_t id, const TrainedRun& trained) {
  const PlannedPoint& planned = plan.points.at(id);
  const PlannedTraining& training = plan.trainings.at(planned.training);
  analysis::RunDirectory run;
  if (trained.federated) {
    run = ReplayFederatedRows(trained.federated,
                              OnNetworkOf(planned.scenario, trained.federated->scenario), g_never);
  } else if (training.refused.empty()) {
    run = ReplayRows(trained.workers, planned.scenario, g_never);
  } else {
    run = trained.workers.run;
  }
  run.manifest.target = TargetAmong(planned.scenario, plan.metrics);
  return run;
}

analysis::StudyPoint TimePoint(const StudyPlan& plan, size_t id, const TrainedRun& trained) {
  const analysis::RunDirectory run = RowsOfPoint(plan, id, trained);
  analysis::StudyPoint point = EmptyPoint(plan, id);
  point.figures = FiguresOf(run);
  point.curve = CurveOf(run, plan.metrics);
  point.state = analysis::StudyState::kDone;
  return point;
}

}  // namespace legacy
