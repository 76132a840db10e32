#include "scenarios/federated/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/parse.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan.h"
#include "scenarios/federated/plan_rows.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/options/target.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/replay.h"
#include "trainer/data/data_catalog.h"
#include "trainer/models/model_catalog.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Returns why a training would differ on another network, by the scenario alone. Empty: it would be
// the same.
std::vector<std::string> CouplingsOf(const PlanRequest& request) {
  std::vector<std::string> reasons;
  if (const auto* sync = std::get_if<fabric::SyncOptions>(&request.server)) {
    if (sync->overSelect > 1) {
      reasons.emplace_back("federated.over_select: who arrives first depends on the network");
    }
    if (sync->deadline != fabric::kNever || sync->deadlineFactor > 0) {
      reasons.emplace_back("federated.deadline: who is late depends on the network");
    }
  } else {
    reasons.emplace_back("federated.server: an asynchronous server counts updates as they come");
  }
  const fabric::ClientAvailability availability(request.population, request.availability,
                                                request.seed);
  if (availability.DependsOnTime()) {
    reasons.emplace_back("federated.availability: who is there depends on the time");
  }
  if (request.dropout.HazardOf(0, 0) != fabric::kNever) {
    reasons.emplace_back("federated.dropout: which tasks are lost depends on how long they take");
  }
  const auto selection =
      fabric::MakeSelection(request.selection, request.seed, "--selection",
                            {request.population.Clients(), [](int) { return fabric::TimeNs{0}; }});
  if (selection->ReadsTimes()) {
    reasons.emplace_back("federated.selection: it reads times");
  }
  return reasons;
}

// The files of a run directory.
struct RunFiles {
  RunFiles(const fs::path& directory, const analysis::Manifest& manifest, bool tasks)
      : steps(directory),
        evaluations(directory, manifest.metrics),
        layers(directory),
        decisions(directory),
        links(directory),
        network(directory),
        rounds(directory),
        clients(directory) {
    if (tasks) this->tasks.emplace(directory);
  }

  analysis::StepWriter steps;
  analysis::EvaluationWriter evaluations;
  analysis::LayerWriter layers;
  analysis::DecisionWriter decisions;
  analysis::LinkWriter links;
  analysis::NetworkWriter network;
  analysis::RoundWriter rounds;
  analysis::ClientWriter clients;
  std::optional<analysis::TaskWriter> tasks;
};

// A Training writes the rows of one method and seed as its rounds end.
class Training : public PlanListener {
 public:
  Training(const Scenario& scenario, const PlanRequest& request, const std::string& name,
           uint64_t seed, FederatedLearner& learner, int64_t parameters, RunFiles& files,
           Progress& progress)
      : scenario_(scenario),
        request_(request),
        name_(name),
        seed_(seed),
        learner_(learner),
        dense_bytes_(2 * parameters * int64_t{sizeof(float)}),
        files_(files),
        progress_(progress) {
    state_.policy = name;
    state_.seed = seed;
    state_.steps = request.Versions();
  }

  void OnTask(const fabric::TaskRow& task, const TaskFigures& figures) override {
    if (!files_.tasks || tasks_ >= static_cast<int64_t>(kMostTaskRows)) return;
    ++tasks_;
    files_.tasks->Write(Named(RowOf(task, figures)));
  }

  void OnRound(const PlannedRound& round) override {
    analysis::RoundRow row = Named(RowOf(round));
    if (round.row.made) row.selected_loss = learner_.Facts().loss;
    files_.rounds.Write(row);
    if (!round.row.made) return;
    WriteStep(round.row);
    for (const analysis::DecisionRow& row : learner_.TakeDecisions()) {
      files_.decisions.Write(Named(row));
    }
    const int64_t version = round.row.version;
    if (version % scenario_.evaluate_every == 0 || version == request_.Versions()) {
      Evaluate();
    }
  }

  // Writes what is known at the end.
  void Finish(const Plan& plan, const std::string& fidelity) {
    if (evaluated_ != learner_.Version()) Evaluate();
    for (const analysis::LayerRow& row : learner_.LayerRows()) files_.layers.Write(Named(row));
    for (size_t number = 0; number < plan.clients.size(); ++number) {
      analysis::ClientRow row =
          Named(RowOf(request_, plan.clients[number], static_cast<int64_t>(number)));
      const int client = static_cast<int>(number);
      row.samples = learner_.SamplesOf(client).value_or(row.samples);
      row.labels = learner_.LabelsOf(client);
      files_.clients.Write(row);
    }
    for (const analysis::LinkRow& row : plan.links) files_.links.Write(Named(row));
    analysis::NetworkRow row;
    row.fidelity = fidelity;
    row.events = static_cast<int64_t>(plan.counters.events);
    row.packets = static_cast<int64_t>(plan.counters.packets);
    row.fresh_steps = learner_.Version();
    row.retransmit_timeouts = static_cast<int64_t>(plan.counters.retransmitTimeouts);
    files_.network.Write(Named(row));
  }

 private:
  template <class Row>
  Row Named(Row row) const {
    row.policy = name_;
    row.seed = seed_;
    return row;
  }

  // Writes the row of a version. Its parts are those of the task whose arrival made it; what is
  // left of the round is waiting.
  void WriteStep(const fabric::RoundRow& round) {
    const VersionFacts& facts = learner_.Facts();
    analysis::StepRow row = Named(analysis::StepRow());
    row.step = round.version - 1;
    row.learning_rate = facts.learning_rate;
    row.training_loss = facts.loss;
    row.elements_sent = facts.elements_sent;
    row.message_bytes = facts.message_bytes;
    row.nic_bytes = facts.transfer_bytes;
    row.dense_nic_bytes = static_cast<double>(dense_bytes_);
    row.step_seconds = Seconds(round.end - last_end_);
    row.compute_seconds = facts.critical.local;
    row.encode_seconds = facts.critical.encode;
    if (round.critical) {
      const fabric::TaskTimes& times = round.critical->times;
      const double transfers =
          Seconds(times.downloaded - times.dispatched) + Seconds(times.ended - times.worked);
      row.communication_seconds = transfers;
    }
    row.wait_seconds = std::max(0.0, row.step_seconds - row.compute_seconds - row.encode_seconds -
                                         row.communication_seconds);
    row.alpha_beta_seconds = row.step_seconds;
    row.participants = round.fates[static_cast<size_t>(fabric::TaskFate::Counted)];
    row.simulated_seconds = Seconds(round.end);
    last_end_ = round.end;
    message_bytes_ += row.message_bytes;
    nic_bytes_ += row.nic_bytes;
    files_.steps.Write(row);
    state_.step = round.version;
    state_.loss = row.training_loss;
    state_.simulated_seconds = row.simulated_seconds;
    progress_.Step(state_);
  }

  void Evaluate() {
    if (learner_.Version() == 0) return;
    const Evaluation evaluation = learner_.Evaluate();
    evaluated_ = learner_.Version();
    files_.evaluations.Write({name_, seed_, evaluated_, Seconds(last_end_), message_bytes_,
                              nic_bytes_, evaluation.loss, evaluation.metrics});
    state_.metrics = evaluation.metrics;
    progress_.Evaluated(state_);
  }

  const Scenario& scenario_;
  const PlanRequest& request_;
  const std::string& name_;
  uint64_t seed_;
  FederatedLearner& learner_;
  int64_t dense_bytes_;
  RunFiles& files_;
  Progress& progress_;
  ProgressState state_;
  fabric::TimeNs last_end_ = 0;
  double message_bytes_ = 0;
  double nic_bytes_ = 0;
  int64_t evaluated_ = -1;
  int64_t tasks_ = 0;
};

// A FederatedComparison is what a run and its replay have in common.
struct FederatedComparison {
  const Scenario& scenario;
  std::string program;
  std::string command_line;
  std::vector<FederatedMethod> methods;
  FederatedLearners& learners;
  std::vector<std::string> couplings;
  const StopFlag& stop;
  std::FILE* log;
};

nlohmann::json ManifestOf(const FederatedComparison& run, int64_t clients) {
  const Unit& last = run.learners.Layers().back();
  nlohmann::json manifest =
      ManifestDocument(run.scenario, run.program, run.command_line, run.learners.Metrics(),
                       last.offset + last.numel, run.couplings);
  manifest["policies"] = nlohmann::json::array();
  for (const FederatedMethod& row : run.methods) manifest["policies"].push_back(row.name);
  manifest["workers"] = clients;
  return manifest;
}

constexpr const char* kTrafficFile = "traffic.jsonl";

FederatedRunResult Compare(const FederatedComparison& run) {
  const Scenario& scenario = run.scenario;
  PlanRequest first = RequestOf(scenario, scenario.seed);
  // Mistakes of a method are found before anything is written.
  for (const FederatedMethod& row : run.methods) {
    const auto learner =
        run.learners.Make(row, scenario.seed, first, fs::temp_directory_path().string(), nullptr);
    std::fprintf(run.log, "  %-22s %s\n", row.name.c_str(), learner->Description().c_str());
  }
  CheckPlan(first);
  FederatedRunResult result;
  result.run.directory = MakeRunDirectory(scenario, run.program);
  const fs::path& directory = result.run.directory;
  const analysis::Manifest manifest =
      analysis::WriteManifest(directory, ManifestOf(run, first.population.Clients()));
  RunFiles files(directory, manifest,
                 ParseSwitch(scenario.federated->at("tasks"), "federated.tasks"));
  std::optional<TaskRecorder> recorder;
  if (scenario.record) {
    recorder.emplace(directory / kTrafficFile, TrainingDocument(scenario), run.learners.Costs(),
                     run.learners.Layers(), scenario.batch);
  }
  const auto trainings = static_cast<int64_t>(run.methods.size()) * scenario.seeds;
  Progress progress(trainings * first.Versions(), manifest.metrics,
                    manifest.target ? manifest.target->metric : "", isatty(fileno(run.log)) != 0,
                    run.log);
  for (int s = 0; s < scenario.seeds && run.stop == 0; ++s) {
    const uint64_t seed = scenario.seed + static_cast<uint64_t>(s);
    for (const FederatedMethod& row : run.methods) {
      PlanRequest request = RequestOf(scenario, seed);
      const auto learner = run.learners.Make(row, seed, request, directory.string(),
                                             recorder ? &*recorder : nullptr);
      Training training(scenario, request, row.name, seed, *learner, manifest.parameters, files,
                        progress);
      const Plan plan = RunPlan(request, {}, {}, &run.stop, learner.get(), &training);
      result.run.interrupted = plan.interrupted;
      if (plan.interrupted) break;
      if (!plan.stop.empty() && result.stopped.empty()) {
        result.stopped = row.name + ", seed " + std::to_string(seed) + ": " + plan.stop;
      }
      training.Finish(plan, request.fidelity);
    }
  }
  progress.Finish();
  return result;
}

}  // namespace

void ValidateFederated(const Scenario& scenario) {
  const CatalogEntry data = FindInCatalog(scenario.dataset, "training.dataset");
  CheckModel(scenario.model, data.task, "training.model");
  for (const StepCount* count : {&scenario.warmup_steps, &scenario.evaluate_every}) {
    if (count->InEpochs()) {
      throw Error("training", count->Text(), "numbers of versions: the server has no epochs");
    }
  }
  FederatedMethodsOf(scenario);
  RequestOf(scenario, scenario.seed);
}

FederatedRunResult RunFederated(const Scenario& scenario, const std::string& command_line,
                                const StopFlag& stop, std::FILE* log) {
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  const std::vector<std::string> couplings = CouplingsOf(request);
  if (scenario.record && !couplings.empty()) {
    throw Error("run.record", "on",
                "off, as what is learnt depends on the network: " + couplings.front());
  }
  const std::unique_ptr<FederatedLearners> learners = TrainedLearners(scenario);
  std::fprintf(log, "%s\n",
               learners->PartitionText(scenario.seed, request.population.Clients()).c_str());
  if (couplings.empty()) {
    std::fprintf(log, "what is learnt does not depend on the network\n");
  } else {
    std::fprintf(log, "what is learnt depends on the network:\n");
    for (const std::string& reason : couplings) std::fprintf(log, "  %s\n", reason.c_str());
  }
  return Compare({.scenario = scenario,
                  .program = "legacy-federated",
                  .command_line = command_line,
                  .methods = FederatedMethodsOf(scenario),
                  .learners = *learners,
                  .couplings = couplings,
                  .stop = stop,
                  .log = log});
}

Scenario FederatedReplayDefaults(const std::string& directory) {
  const fs::path manifest = fs::path(directory) / "manifest.json";
  if (!fs::exists(manifest) || !fs::exists(fs::path(directory) / kTrafficFile)) {
    throw Error("replay", directory, "the folder of a run with --record");
  }
  Scenario scenario = ResumeDefaults(directory);
  if (!scenario.federated) {
    throw Error("replay", directory, "a run of legacy-federated; legacy-replay takes this one");
  }
  scenario.out.clear();
  scenario.record = false;
  return scenario;
}

bool MayFederatedReplayChange(const std::string& key) {
  if (key == "run.record") return true;
  if (!key.starts_with("federated.")) return MayReplayChange(key);
  for (const FederatedOption& option : FederatedOptionRows()) {
    if (option.Key() == key) return DescribesLines(option.name);
  }
  return false;
}

FederatedRunResult ReplayFederated(const std::string& directory, const Scenario& scenario,
                                   const std::string& command_line, const StopFlag& stop,
                                   std::FILE* log) {
  const Scenario recorded = FederatedReplayDefaults(directory);
  const std::string why = ", as recorded: it belongs to the training";
  CheckUnchanged(scenario, recorded, MayFederatedReplayChange,
                 [&](const std::string& value) { return value + why; });
  std::error_code missing;
  if (fs::equivalent(scenario.out, directory, missing)) {
    throw Error("--out", scenario.out, "another folder than that of the recording");
  }
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  const std::vector<std::string> couplings = CouplingsOf(request);
  if (!couplings.empty()) {
    throw Error("replay: what is learnt would depend on the network: " + couplings.front());
  }
  const std::unique_ptr<FederatedLearners> learners =
      RecordedLearners(directory, scenario, TrainingHash(TrainingDocument(scenario)));
  return Compare({.scenario = scenario,
                  .program = "legacy-federated",
                  .command_line = command_line,
                  .methods = FederatedMethodsOf(scenario),
                  .learners = *learners,
                  .couplings = {},
                  .stop = stop,
                  .log = log});
}

}  // namespace legacy
