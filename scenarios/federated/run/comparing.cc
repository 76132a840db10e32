#include "scenarios/federated/run/comparing.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/run_directory.h"
#include "base/files/own_file.h"
#include "base/parse.h"
#include "base/programs/patience.h"
#include "base/programs/program.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/archive.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/recorded_exchange.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/federated/run/training_writer.h"
#include "scenarios/run/earlier_run.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/run_sink.h"

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
  static std::vector<fs::path> Names(const fs::path& directory, bool with_tasks) {
    std::vector<fs::path> names = {analysis::StepRow::kFile,  analysis::EvaluationRow::kFile,
                                   analysis::LayerRow::kFile, analysis::DecisionRow::kFile,
                                   analysis::LinkRow::kFile,  analysis::NetworkRow::kFile,
                                   analysis::RoundRow::kFile, analysis::ClientRow::kFile};
    if (with_tasks) names.emplace_back(analysis::TaskRow::kFile);
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

nlohmann::json ManifestOf(const FederatedComparison& run, int64_t clients) {
  const Unit& last = run.learners.Layers().back();
  nlohmann::json manifest =
      ManifestDocument(run.scenario, run.program, run.command_line, run.learners.Metrics(),
                       last.offset + last.numel, run.couplings);
  manifest["policies"] = nlohmann::json::array();
  for (const FederatedMethod& row : run.methods) manifest["policies"].push_back(row.name);
  manifest["workers"] = clients;
  run.learners.Describe(manifest["versions"]);
  if (run.scenario.federated->secure_aggregation) {
    manifest["notes"] = nlohmann::json::array(
        {"secure aggregation: more bytes go up, as masks need, but no protocol is simulated"});
  }
  return manifest;
}

constexpr const char* kRunSection = "run";
constexpr const char* kLearnerSection = "learner";

// A Comparing runs the trainings of a comparison into a run directory.
class Comparing {
 public:
  explicit Comparing(const FederatedComparison& run)
      : run_(run), scenario_(run.scenario), first_(RequestOf(scenario_, scenario_.seed)) {
    if (run.control.resume) earlier_.emplace(scenario_, run.program, run.log);
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
                      isatty(fileno(run_.log)) != 0, run_.log, run_.control.told);
    if (!run_.control.resume) progress.TellDuration();
    // A replay has nothing to save.
    const StopScope scope(run_.trains ? 0 : kSecondsToStop);
    while (position_ < trainings && !result_.run.interrupted) {
      try {
        Train(progress);
      } catch (const GivenUp&) {
        result_.run.interrupted = true;
      }
      patience_.reset();
      if (!result_.run.interrupted) ++position_;
      from_ = Resumption();
    }
    progress.Finish();
    const bool starts_again = checkpoints_->On() && run_.trains;
    if (result_.run.interrupted && (checkpoints_->Any() || starts_again)) {
      result_.run.note =
          InterruptionNote(kClientsProgram, result_.run.directory, checkpoints_->Any());
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
    result_.run.lock = earlier_ ? earlier_->lock : std::make_shared<FolderLock>(directory);
    checkpoints_.emplace(directory, CheckpointOptions(scenario_, run_.control.requests), run_.log);
    if (from != nullptr) {
      CheckVersions(scenario_, ManifestOf(run_, first_.population.Clients()), earlier_->manifest);
      manifest_ = analysis::ParseManifest(earlier_->manifest, directory.string());
      std::vector<fs::path> known = RunFiles::Names(directory, true);
      known.push_back(RecordPath());
      checkpoints_->CutBack(*from, known);
      ReadSection(*from, kRunSection, [&](StateReader& in) { FromArchive(in, position_, from_); });
    } else {
      checkpoints_->Remove();
      manifest_ = analysis::WriteManifest(directory, ManifestOf(run_, first_.population.Clients()));
    }
    files_.emplace(directory, manifest_, scenario_.federated->tasks, from != nullptr);
    if (!run_.trains || (!scenario_.record && !checkpoints_->On())) return;
    MakeFolderIn(directory, kCheckpointFolder);
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

  // Runs the training at position_, or what is left of it. It gives up where a version takes long.
  void Train(Progress& progress) {
    if (run_.trains) patience_.emplace(checkpoints_->Patience());
    const FederatedMethod& row = run_.methods[position_ % run_.methods.size()];
    const uint64_t seed = scenario_.seed + position_ / run_.methods.size();
    PlanRequest request = RequestOf(scenario_, seed);
    const fs::path& directory = result_.run.directory;
    const fs::path states = StatesOf(position_);
    if (run_.trains) MakeFolderIn(directory, states.lexically_relative(directory));
    Made made = Make(row, seed, request, states);
    if (from_.version > 0) {
      ReadSection(*earlier_->from, kLearnerSection, [&](StateReader& in) { made.Any().Load(in); });
      std::fprintf(run_.log, "%s, seed %llu, goes on behind version %lld\n", row.name.c_str(),
                   static_cast<unsigned long long>(seed), static_cast<long long>(from_.version));
      const ResumedPast past = {result_.run.directory, RecordPath(), row.name, seed};
      if (made.exchange) made.exchange = Resume(std::move(made.exchange), past);
      if (made.tasks) made.tasks = Resume(std::move(made.tasks), past, scenario_, request);
    }
    const auto save = [&](const Resumption& now) {
      patience_.reset();
      Save(now, made.Any());
      if (run_.trains) patience_.emplace(checkpoints_->Patience());
    };
    TrainingWriter training(scenario_, request, row.name, seed, made.Any(), manifest_.parameters,
                            *files_, &progress, from_, save);
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
    std::vector<fs::path> files = RunFiles::Names(result_.run.directory, files_->TakesTasks());
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
  FederatedRunResult result_;
  analysis::Manifest manifest_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<RunFiles> files_;
  std::optional<TaskRecorder> recorder_;      // of trainings with a server
  std::optional<TrafficRecorder> exchanges_;  // of those without one
  size_t position_ = 0;                       // of the training in work: methods within seeds
  Resumption from_;
  std::optional<PatientScope> patience_;  // of the version in work
  size_t saved_ = 0;                      // position of the last checkpoint
  size_t removed_ = 0;                    // positions below have no client states any more
};

}  // namespace

FederatedRunResult RunComparison(const FederatedComparison& run) { return Comparing(run).Run(); }

}  // namespace legacy
