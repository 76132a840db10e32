#include "scenarios/federated/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/parse.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/archive.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/federated/exchange_run.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan.h"
#include "scenarios/federated/plan_rows.h"
#include "scenarios/federated/recorded_exchange.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/options/target.h"
#include "scenarios/run/earlier_run.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/replay.h"
#include "scenarios/run/run_sink.h"
#include "scenarios/training/training_module.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// The files of a run directory.
struct RunFiles : RunSink {
  RunFiles(const fs::path& directory, const analysis::Manifest& manifest, bool with_tasks,
           bool goes_on)
      : steps(directory, {}, goes_on),
        evaluations(directory, manifest.metrics, goes_on),
        layers(directory, {}, goes_on),
        decisions(directory, {}, goes_on),
        links(directory, {}, goes_on),
        network(directory, {}, goes_on),
        rounds(directory, {}, goes_on),
        clients(directory, {}, goes_on) {
    if (with_tasks) tasks.emplace(directory, std::span<const Metric>(), goes_on);
  }

  using RunSink::Write;
  void Write(const analysis::StepRow& row) override { steps.Write(row); }
  void Write(const analysis::EvaluationRow& row) override { evaluations.Write(row); }
  void Write(const analysis::LayerRow& row) override { layers.Write(row); }
  void Write(const analysis::DecisionRow& row) override { decisions.Write(row); }
  void Write(const analysis::LinkRow& row) override { links.Write(row); }
  void Write(const analysis::NetworkRow& row) override { network.Write(row); }
  void Write(const analysis::RoundRow& row) override { rounds.Write(row); }
  void Write(const analysis::ClientRow& row) override { clients.Write(row); }
  void Write(const analysis::TaskRow& row) override { tasks->Write(row); }
  bool TakesTasks() const override { return tasks.has_value(); }

  // Returns the files that grow.
  std::vector<fs::path> Names(const fs::path& directory) const {
    std::vector<fs::path> names = {analysis::StepRow::kFile,  analysis::EvaluationRow::kFile,
                                   analysis::LayerRow::kFile, analysis::DecisionRow::kFile,
                                   analysis::LinkRow::kFile,  analysis::NetworkRow::kFile,
                                   analysis::RoundRow::kFile, analysis::ClientRow::kFile};
    if (tasks) names.emplace_back(analysis::TaskRow::kFile);
    for (fs::path& name : names) name = directory / name;
    return names;
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

// A Resumption is where a training goes on: rows up to this version are written.
struct Resumption {
  int64_t version = 0;
  fabric::TimeNs end = 0;  // of that version

  template <class Archive>
  friend void Fields(Archive& archive, Resumption& r) {
    archive(r.version, r.end);
  }
};

// A Training writes the rows of one method and seed as its rounds end.
class Training : public PlanListener {
 public:
  // `progress` may be null. `save` is called behind each version.
  Training(const Scenario& scenario, const PlanRequest& request, const std::string& name,
           uint64_t seed, Learner& learner, int64_t parameters, RunSink& sink, Progress* progress,
           Resumption from, std::function<void(const Resumption&)> save)
      : scenario_(scenario),
        request_(request),
        name_(name),
        seed_(seed),
        learner_(learner),
        dense_bytes_(DenseBytes(request, parameters)),
        sink_(sink),
        progress_(progress),
        from_(from),
        save_(std::move(save)) {
    state_.policy = name;
    state_.seed = seed;
    state_.steps = request.Versions();
  }

  void OnTask(const fabric::TaskRow& task, const TaskFigures& figures) override {
    if (!sink_.TakesTasks() || tasks_ >= static_cast<int64_t>(kMostTaskRows)) return;
    ++tasks_;
    if (!Written()) sink_.Write(Named(RowOf(task, figures)));
  }

  void OnRound(const PlannedRound& round) override {
    const int64_t version = round.row.version;
    const bool written = Written();
    if (round.row.made) version_ = version;
    if (!written) {
      analysis::RoundRow row = Named(RowOf(round));
      if (round.row.made) AddFacts(learner_.Facts(), row);
      sink_.Write(row);
    }
    if (!round.row.made) return;
    WriteStep(round, written);
    const bool evaluates =
        version % scenario_.evaluate_every == 0 || version == request_.Versions();
    if (written) {
      if (evaluates) evaluated_ = version;
      if (version == from_.version && last_end_ != from_.end) {
        throw Error("--resume: version " + std::to_string(version) + " of " + name_ + " ends at " +
                    fabric::FormatTime(last_end_) + " and not at " + fabric::FormatTime(from_.end) +
                    ": this is another program");
      }
      return;
    }
    for (const analysis::DecisionRow& row : learner_.TakeDecisions()) {
      sink_.Write(Named(row));
    }
    if (evaluates) Evaluate();
    save_({version, last_end_});
  }

  // Writes what is known at the end.
  void Finish(const Plan& plan, const std::string& fidelity) {
    if (evaluated_ != learner_.Version()) Evaluate();
    for (const analysis::LayerRow& row : learner_.LayerRows()) sink_.Write(Named(row));
    for (size_t number = 0; number < plan.clients.size(); ++number) {
      analysis::ClientRow row = Named(RowOf(request_, plan, static_cast<int64_t>(number)));
      const int client = static_cast<int>(number);
      row.samples = learner_.SamplesOf(client).value_or(row.samples);
      row.labels = learner_.LabelsOf(client);
      row.expected_steps = learner_.ExpectedSteps(client, 0);
      sink_.Write(row);
    }
    for (const analysis::LinkRow& row : plan.links) sink_.Write(Named(row));
    analysis::NetworkRow row;
    row.fidelity = fidelity;
    row.events = static_cast<int64_t>(plan.counters.events);
    row.packets = static_cast<int64_t>(plan.counters.packets);
    row.fresh_steps = learner_.Version();
    row.retransmit_timeouts = static_cast<int64_t>(plan.counters.retransmitTimeouts);
    sink_.Write(Named(row));
  }

 private:
  template <class Row>
  Row Named(Row row) const {
    row.policy = name_;
    row.seed = seed_;
    return row;
  }

  static void AddFacts(const VersionFacts& facts, analysis::RoundRow& row) {
    row.selected_loss = facts.loss;
    const HeldResiduals& held = facts.residuals;
    if (held.clients == 0) return;
    row.residuals = held.clients;
    row.residual_age = held.age;
    row.residual_norm = held.norm;
  }

  // True while rows are of what was written before the run was interrupted.
  bool Written() const { return version_ < from_.version; }

  // Returns what a client's NIC carries of a dense version: the model down and up, or its part in a
  // ring.
  static double DenseBytes(const PlanRequest& request, int64_t parameters) {
    if (!request.exchange) return static_cast<double>(2 * parameters * int64_t{sizeof(float)});
    return DenseNicBytes(static_cast<int>(request.population.Clients()), parameters);
  }

  // Writes the row of a version, or, where it is written, counts it alone. With a server its parts
  // are those of the task whose arrival made it, and what is left of the round is waiting; without
  // one they are means over the clients.
  void WriteStep(const PlannedRound& planned, bool written) {
    const fabric::RoundRow& round = planned.row;
    const VersionFacts& facts = learner_.Facts();
    analysis::StepRow row = Named(analysis::StepRow());
    row.step = round.version - 1;
    row.learning_rate = facts.learning_rate;
    row.training_loss = facts.loss;
    row.elements_sent = facts.elements_sent;
    row.message_bytes = facts.message_bytes;
    row.nic_bytes = facts.transfer_bytes;
    row.dense_nic_bytes = dense_bytes_;
    row.step_seconds = Seconds(round.end - last_end_);
    row.compute_seconds = facts.critical.local;
    row.encode_seconds = facts.critical.encode;
    row.decode_seconds = facts.critical.decode;
    if (round.critical) {
      const fabric::TaskTimes& times = round.critical->times;
      const double transfers =
          Seconds(times.downloaded - times.dispatched) + Seconds(times.ended - times.worked);
      row.communication_seconds = transfers;
    }
    row.wait_seconds = std::max(0.0, row.step_seconds - row.compute_seconds - row.encode_seconds -
                                         row.decode_seconds - row.communication_seconds);
    if (const auto& split = planned.split) {
      row.nic_bytes = split->nic_bytes;
      row.compute_seconds = split->compute;
      row.encode_seconds = split->encode;
      row.decode_seconds = split->decode;
      row.communication_seconds = split->communication;
      row.wait_seconds = split->wait;
    }
    row.alpha_beta_seconds = row.step_seconds;
    row.participants = round.fates[static_cast<size_t>(fabric::TaskFate::Counted)];
    row.simulated_seconds = Seconds(round.end);
    last_end_ = round.end;
    message_bytes_ += row.message_bytes;
    nic_bytes_ += row.nic_bytes;
    if (written) return;
    sink_.Write(row);
    state_.step = round.version;
    state_.loss = row.training_loss;
    state_.simulated_seconds = row.simulated_seconds;
    if (progress_ != nullptr) progress_->Step(state_);
  }

  void Evaluate() {
    if (learner_.Version() == 0) return;
    const Evaluation evaluation = learner_.Evaluate();
    evaluated_ = learner_.Version();
    sink_.Write({name_, seed_, evaluated_, Seconds(last_end_), message_bytes_, nic_bytes_,
                 evaluation.loss, evaluation.metrics});
    state_.metrics = evaluation.metrics;
    if (progress_ != nullptr) progress_->Evaluated(state_);
  }

  const Scenario& scenario_;
  const PlanRequest& request_;
  const std::string& name_;
  uint64_t seed_;
  Learner& learner_;
  double dense_bytes_;
  RunSink& sink_;
  Progress* progress_;  // null: none is shown
  ProgressState state_;
  fabric::TimeNs last_end_ = 0;
  double message_bytes_ = 0;
  double nic_bytes_ = 0;
  int64_t evaluated_ = -1;
  int64_t tasks_ = 0;
  int64_t version_ = 0;
  Resumption from_;
  std::function<void(const Resumption&)> save_;
};

// Ends a training that was stopped.
struct TrainingStopped {};

// A StoppableTraining ends, by throwing TrainingStopped, once `stopped` returns true.
class StoppableTraining : public Training {
 public:
  StoppableTraining(const Scenario& scenario, const PlanRequest& request, const std::string& name,
                    uint64_t seed, Learner& learner, int64_t parameters, RunSink& sink,
                    const std::function<bool()>& stopped)
      : Training(scenario, request, name, seed, learner, parameters, sink, nullptr, {},
                 [](const Resumption&) {}),
        stopped_(stopped) {}

  void OnTransfer() override { Check(); }
  void OnRound(const PlannedRound& round) override {
    Check();
    Training::OnRound(round);
  }

 private:
  void Check() const {
    if (stopped_()) throw TrainingStopped();
  }

  const std::function<bool()>& stopped_;
};

// A FederatedComparison is what a run and its replay have in common.
struct FederatedComparison {
  const Scenario& scenario;
  std::string program;
  std::string command_line;
  std::vector<FederatedMethod> methods;
  FederatedLearners& learners;
  std::vector<std::string> couplings;
  bool trains = true;
  const FederatedControl& control;
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
  if (ParseSwitch(run.scenario.federated->at("secure-aggregation"),
                  "federated.secure_aggregation")) {
    manifest["notes"] = nlohmann::json::array(
        {"secure aggregation: more bytes go up, as masks need, but no protocol is simulated"});
  }
  return manifest;
}

// A Made is a learner with a server, or one without.
struct Made {
  std::unique_ptr<FederatedLearner> tasks;
  std::unique_ptr<ExchangeLearner> exchange;

  Learner& Any() const {
    if (exchange) return *exchange;
    return *tasks;
  }
};

Made MakeLearner(FederatedLearners& learners, const FederatedMethod& row, uint64_t seed,
                 PlanRequest& request, const std::string& states, TaskRecorder* tasks,
                 TrafficRecorder* exchanges) {
  Made made;
  if (request.exchange) {
    made.exchange = learners.MakeExchange(row, seed, request, exchanges);
  } else {
    made.tasks = learners.Make(row, seed, request, states, tasks);
  }
  return made;
}

Plan Simulate(const Scenario& scenario, const FederatedLearners& learners,
              const FederatedMethod& row, const PlanRequest& request, const Made& made,
              Training& training, const StopFlag& stop) {
  if (made.tasks) return RunPlan(request, {}, {}, &stop, made.tasks.get(), &training);
  const ExchangeJob job = {scenario, request, row, learners.Costs(), learners.Layers()};
  return RunExchangeTraining(job, *made.exchange, training, &stop);
}

constexpr const char* kTrafficFile = "traffic.jsonl";
constexpr const char* kRunSection = "run";
constexpr const char* kLearnerSection = "learner";

// A Comparing runs the trainings of a comparison into a run directory.
class Comparing {
 public:
  explicit Comparing(const FederatedComparison& run)
      : run_(run), scenario_(run.scenario), first_(RequestOf(scenario_, scenario_.seed)) {
    if (run.control.resume) earlier_.emplace(scenario_, run.log);
    // Mistakes of a method are found before anything is written.
    for (const FederatedMethod& row : run.methods) {
      const Made made = Make(row, scenario_.seed, first_, fs::temp_directory_path());
      std::fprintf(run.log, "  %-22s %s\n", row.name.c_str(), made.Any().Description().c_str());
    }
    CheckPlan(first_);
    Open();
  }

  FederatedRunResult Run() {
    const size_t trainings = run_.methods.size() * static_cast<size_t>(scenario_.seeds);
    const auto left = static_cast<int64_t>(trainings - position_) * first_.Versions();
    const auto& target = manifest_.target;
    Progress progress(left - from_.version, manifest_.metrics, target ? target->metric : "",
                      isatty(fileno(run_.log)) != 0, run_.log);
    while (position_ < trainings && !result_.run.interrupted) {
      Train(progress);
      if (!result_.run.interrupted) ++position_;
      from_ = Resumption();
    }
    progress.Finish();
    if (!result_.run.interrupted) {
      checkpoints_->Remove();
    } else if (checkpoints_->Any()) {
      result_.run.note =
          "interrupted; legacy-federated --resume=" + result_.run.directory.string() + " goes on";
    }
    return result_;
  }

 private:
  Made Make(const FederatedMethod& row, uint64_t seed, PlanRequest& request,
            const fs::path& states) {
    return MakeLearner(run_.learners, row, seed, request, states.string(),
                       recorder_ ? &*recorder_ : nullptr, exchanges_ ? &*exchanges_ : nullptr);
  }

  fs::path Folder() const { return result_.run.directory / kCheckpointFolder; }
  fs::path StatesOf(size_t position) const {
    return Folder() / ("clients-" + std::to_string(position));
  }
  fs::path RecordPath() const {
    return (scenario_.record ? result_.run.directory : Folder()) / kTrafficFile;
  }

  // Opens the run directory: a new one, or one that goes on.
  void Open() {
    const SectionFile* const from = earlier_ ? earlier_->from.get() : nullptr;
    Scenario place = scenario_;
    place.overwrite |= run_.control.resume;
    result_.run.directory = MakeRunDirectory(place, "legacy-federated");
    const fs::path& directory = result_.run.directory;
    if (!earlier_) lock_.emplace(directory);
    checkpoints_.emplace(directory, CheckpointOptions(scenario_, run_.control.requests), run_.log);
    if (from != nullptr) {
      manifest_ = analysis::ParseManifest(earlier_->manifest, directory.string());
      checkpoints_->CutBack(*from);
      ReadSection(*from, kRunSection, [&](StateReader& in) { FromArchive(in, position_, from_); });
    } else {
      checkpoints_->Remove();
      manifest_ = analysis::WriteManifest(directory, ManifestOf(run_, first_.population.Clients()));
    }
    files_.emplace(directory, manifest_,
                   ParseSwitch(scenario_.federated->at("tasks"), "federated.tasks"),
                   from != nullptr);
    if (!run_.trains || (!scenario_.record && !checkpoints_->On())) return;
    fs::create_directories(Folder());
    if (first_.exchange && from != nullptr) {
      exchanges_.emplace(RecordPath());
    } else if (first_.exchange) {
      exchanges_.emplace(RecordPath(), TrainingDocument(scenario_), std::vector<std::string>(),
                         run_.learners.Costs(), run_.learners.Layers());
    } else if (from != nullptr) {
      recorder_.emplace(RecordPath());
    } else {
      recorder_.emplace(RecordPath(), TrainingDocument(scenario_), run_.learners.Costs(),
                        run_.learners.Layers(), scenario_.batch);
    }
  }

  // Runs the training at position_, or what is left of it.
  void Train(Progress& progress) {
    const FederatedMethod& row = run_.methods[position_ % run_.methods.size()];
    const uint64_t seed = scenario_.seed + position_ / run_.methods.size();
    PlanRequest request = RequestOf(scenario_, seed);
    if (run_.trains) fs::create_directories(StatesOf(position_));
    Made made = Make(row, seed, request, StatesOf(position_));
    if (from_.version > 0) {
      ReadSection(*earlier_->from, kLearnerSection, [&](StateReader& in) { made.Any().Load(in); });
      std::fprintf(run_.log, "%s, seed %llu, goes on behind version %lld\n", row.name.c_str(),
                   static_cast<unsigned long long>(seed), static_cast<long long>(from_.version));
      const ResumedPast past = {result_.run.directory, RecordPath(), row.name, seed};
      if (made.exchange) made.exchange = Resume(std::move(made.exchange), past);
      if (made.tasks) made.tasks = Resume(std::move(made.tasks), past, scenario_, request);
    }
    const auto save = [&](const Resumption& now) { Save(now, made.Any()); };
    Training training(scenario_, request, row.name, seed, made.Any(), manifest_.parameters, *files_,
                      &progress, from_, save);
    const Plan plan =
        Simulate(scenario_, run_.learners, row, request, made, training, run_.control.stop);
    result_.run.interrupted = plan.interrupted;
    if (plan.interrupted) return;
    if (!plan.stop.empty() && result_.stopped.empty()) {
      result_.stopped = row.name + ", seed " + std::to_string(seed) + ": " + plan.stop;
    }
    training.Finish(plan, request.fidelity);
  }

  // Writes a checkpoint behind a version, where one is due.
  void Save(const Resumption& now, Learner& learner) {
    if (!run_.trains || !checkpoints_->On()) return;
    if (!checkpoints_->Due() && run_.control.stop == 0) return;
    std::vector<fs::path> files = files_->Names(result_.run.directory);
    files.push_back(RecordPath());
    const bool written = checkpoints_->Write(files, [&](SectionWriter& out) {
      WriteSection(out, kRunSection, [&](StateWriter& state) { ToArchive(state, position_, now); });
      WriteSection(out, kLearnerSection, [&](StateWriter& state) { learner.Save(state); });
    });
    // The last two checkpoints are of this training or the one before.
    if (!written || position_ == saved_) return;
    for (size_t position = removed_; position < saved_; ++position) {
      fs::remove_all(StatesOf(position));
    }
    removed_ = saved_;
    saved_ = position_;
  }

  const FederatedComparison& run_;
  const Scenario& scenario_;
  PlanRequest first_;
  std::optional<EarlierRun> earlier_;
  std::optional<FolderLock> lock_;
  FederatedRunResult result_;
  analysis::Manifest manifest_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<RunFiles> files_;
  std::optional<TaskRecorder> recorder_;      // of trainings with a server
  std::optional<TrafficRecorder> exchanges_;  // of those without one
  size_t position_ = 0;                       // of the training in work: methods within seeds
  Resumption from_;
  size_t saved_ = 0;    // position of the last checkpoint
  size_t removed_ = 0;  // positions below have no client states any more
};

}  // namespace

std::unique_ptr<FederatedLearners> TrainedLearners(const Scenario& scenario) {
  using Maker = FederatedLearners* (*)(const Scenario&);
  const auto make = reinterpret_cast<Maker>(TrainingFunction("legacy_federated_learners"));
  return std::unique_ptr<FederatedLearners>(make(scenario));
}

FederatedRunResult RunFederated(const Scenario& scenario, const std::string& command_line,
                                const FederatedControl& control, std::FILE* log) {
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  const std::vector<std::string> couplings = CouplingsOf(request);
  if (scenario.record && !couplings.empty()) {
    throw Error("run.record", "on",
                "off, as what is learnt depends on the network: " + couplings.front());
  }
  const std::unique_ptr<FederatedLearners> learners = TrainedLearners(scenario);
  const auto partition = learners->LookAtPartition(scenario.seed, request.population.Clients());
  std::fprintf(log, "%s\n",
               PartitionText(partition.value(), scenario.federated->at("partition")).c_str());
  if (couplings.empty()) {
    std::fprintf(log, "what is learnt does not depend on the network\n");
  } else {
    std::fprintf(log, "what is learnt depends on the network:\n");
    for (const std::string& reason : couplings) std::fprintf(log, "  %s\n", reason.c_str());
  }
  const FederatedComparison run = {.scenario = scenario,
                                   .program = "legacy-federated",
                                   .command_line = command_line,
                                   .methods = FederatedMethodsOf(scenario),
                                   .learners = *learners,
                                   .couplings = couplings,
                                   .control = control,
                                   .log = log};
  return Comparing(run).Run();
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

std::shared_ptr<const FederatedRecording> ReadFederatedRecording(const std::string& directory) {
  auto recording = std::make_shared<FederatedRecording>();
  recording->scenario = FederatedReplayDefaults(directory);
  recording->run = analysis::ReadRunDirectory(directory);
  const fs::path path = fs::path(directory) / kTrafficFile;
  if (recording->scenario.federated->at("exchange") == "server") {
    recording->record = ReadTaskRecord(path);
  } else {
    recording->exchanges = ReadTraffic(path);
  }
  return recording;
}

namespace {

// Throws Error where `scenario` describes another training than the recorded one, or what is learnt
// would depend on its network.
void CheckFederatedReplay(const Scenario& recorded, const Scenario& scenario) {
  const std::string why = ", as recorded: it belongs to the training";
  const std::string &exchange = scenario.federated->at("exchange"),
                    &known = recorded.federated->at("exchange");
  if ((exchange == "server") != (known == "server")) {
    throw Error("federated.exchange", exchange,
                (known == "server" ? known : "a collective such as " + known) + why);
  }
  CheckUnchanged(scenario, recorded, MayFederatedReplayChange,
                 [&](const std::string& value) { return value + why; });
  const std::vector<std::string> couplings = CouplingsOf(scenario);
  if (couplings.empty()) return;
  throw Error("replay: what is learnt would depend on the network: " + couplings.front());
}

}  // namespace

analysis::RunDirectory ReplayFederatedRows(std::shared_ptr<const FederatedRecording> recording,
                                           const Scenario& scenario, const StopFlag& stop) {
  return ReplayFederatedRows(std::move(recording), scenario, [&stop] { return stop != 0; });
}

analysis::RunDirectory ReplayFederatedRows(std::shared_ptr<const FederatedRecording> recording,
                                           const Scenario& scenario,
                                           const std::function<bool()>& stopped) {
  CheckFederatedReplay(recording->scenario, scenario);
  analysis::RunDirectory run;
  run.manifest = recording->run.manifest;
  run.manifest.target = TargetAmong(scenario, run.manifest.metrics);
  run.manifest.fidelity = scenario.fidelity.text();
  MemorySink sink(run);
  const StopFlag never = 0;
  const auto learners =
      RecordedLearners(std::move(recording), scenario, TrainingHash(TrainingDocument(scenario)));
  const auto replay = [&](const FederatedMethod& row, uint64_t seed) {
    PlanRequest request = RequestOf(scenario, seed);
    const Made made = MakeLearner(*learners, row, seed, request, "", nullptr, nullptr);
    StoppableTraining training(scenario, request, row.name, seed, made.Any(),
                               run.manifest.parameters, sink, stopped);
    const Plan plan = Simulate(scenario, *learners, row, request, made, training, never);
    training.Finish(plan, request.fidelity);
  };
  try {
    for (int s = 0; s < scenario.seeds; ++s) {
      for (const FederatedMethod& row : FederatedMethodsOf(scenario)) {
        replay(row, scenario.seed + s);
      }
    }
  } catch (const TrainingStopped&) {
  }
  return run;
}

FederatedRunResult ReplayFederated(const std::string& directory, const Scenario& scenario,
                                   const std::string& command_line, const StopFlag& stop,
                                   std::FILE* log) {
  const auto recording = ReadFederatedRecording(directory);
  CheckFederatedReplay(recording->scenario, scenario);
  std::error_code missing;
  if (fs::equivalent(scenario.out, directory, missing)) {
    throw Error("--out", scenario.out, "another folder than that of the recording");
  }
  const std::unique_ptr<FederatedLearners> learners =
      RecordedLearners(recording, scenario, TrainingHash(TrainingDocument(scenario)));
  const FederatedControl control{.stop = stop};
  const FederatedComparison run = {.scenario = scenario,
                                   .program = "legacy-federated",
                                   .command_line = command_line,
                                   .methods = FederatedMethodsOf(scenario),
                                   .learners = *learners,
                                   .couplings = {},
                                   .trains = false,
                                   .control = control,
                                   .log = log};
  return Comparing(run).Run();
}

}  // namespace legacy
