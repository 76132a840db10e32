#include "scenarios/federated/run/client_comparison.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/run_directory.h"
#include "base/archive.h"
#include "base/files/own_file.h"
#include "base/parse.h"
#include "base/programs/program.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/plan_parts.h"
#include "scenarios/federated/recorded_exchange.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/run/learner_run.h"
#include "scenarios/federated/run/training_writer.h"
#include "scenarios/run/fill_run.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/run_sink.h"
#include "scenarios/run/trainings.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

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

// The rounds of federated clients: the versions of a training.
class ClientRounds : public Rounds {
 public:
  // Referenced objects outlive the rounds.
  struct Parts {
    const FederatedComparison& run;
    const FederatedMethod& method;
    uint64_t seed;
    std::unique_ptr<PlanRequest> request;  // the learner refers to it
    AnyLearner learner;
    int64_t parameters;
    RunSink& sink;
    Progress& progress;
    Resumption from;       // rows up to its version are already written
    std::string& stopped;  // RunResult::stopped of the run
  };
  explicit ClientRounds(Parts parts)
      : parts_(std::move(parts)),
        networks_(*parts_.request),
        rounds_(StartTraining(
            networks_, {.stop = &parts_.run.stop, .keeps_tasks = parts_.sink.TakesTasks()},
            parts_.run.scenario, parts_.run.learners, parts_.method, parts_.learner)),
        rows_(parts_.run.scenario, *parts_.request, parts_.method.name, parts_.seed,
              *parts_.learner, parts_.parameters, parts_.sink, &parts_.progress, parts_.from) {}

  bool Next() override {
    while (const PlannedRound* round = rounds_->Next()) {
      if (rows_.Write(*round, rounds_->Tasks())) return true;
    }
    return false;
  }
  bool Finish() override {
    rows_.Write(rounds_->Tasks());
    const Plan plan = rounds_->Finish();
    if (plan.interrupted) return false;
    if (!plan.stop.empty() && parts_.stopped.empty()) {
      parts_.stopped =
          parts_.method.name + ", seed " + std::to_string(parts_.seed) + ": " + plan.stop;
    }
    rows_.Finish(plan, parts_.request->fidelity);
    return true;
  }

  Resumption Reached() const { return rows_.Reached(); }
  Learner& learner() { return *parts_.learner; }

 private:
  Parts parts_;
  PlanNetworks networks_;
  std::unique_ptr<PlanRun> rounds_;
  TrainingWriter rows_;
};

// A ClientComparison runs the trainings of a comparison, and writes them into a run directory.
class ClientComparison : RunContent, Trainings {
 public:
  explicit ClientComparison(const FederatedComparison& run)
      : run_(run),
        scenario_(run.scenario),
        first_(RequestOf(scenario_, scenario_.seed)),
        open_(run.program, scenario_, run.control, run.log) {
    // Mistakes in a method are found before anything is written.
    for (const FederatedMethod& row : run.methods) {
      const AnyLearner learner = Make(row, scenario_.seed, first_, fs::temp_directory_path());
      std::fprintf(run.log, "  %-22s %s\n", row.name.c_str(), learner->Description().c_str());
    }
    CheckPlan(first_);
  }

  RunResult Run() { return FillRun(open_, *this, run_.control, run_.log); }

 private:
  AnyLearner Make(const FederatedMethod& row, uint64_t seed, PlanRequest& request,
                  const fs::path& states) {
    return MakeLearner(run_.learners, row, seed, request, states.string(),
                       recorder_ ? &*recorder_ : nullptr);
  }

  fs::path Folder() const { return open_.directory() / kCheckpointFolder; }
  fs::path StatesOf(size_t position) const {
    return Folder() / ("clients-" + std::to_string(position));
  }
  fs::path RecordPath() const {
    return (scenario_.record ? open_.directory() : Folder()) / kRecordFile;
  }

  const Scenario& scenario() const override { return scenario_; }
  nlohmann::json Manifest() const override { return ManifestOf(run_, first_.population.Clients()); }
  std::vector<fs::path> GrowingFiles(const fs::path& directory,
                                     const analysis::Manifest& manifest) const override {
    auto known = DirectorySink::GrowingFiles(directory, manifest);
    known.push_back(RecordPath());
    return known;
  }
  void Open(OpenRun& open, analysis::Manifest& manifest) override {
    manifest_ = manifest;
    const SectionFile* const from = open.from();
    const fs::path& directory = open.directory();
    if (from != nullptr) {
      ReadSection(*from, kRunSection, [&](StateReader& in) { FromArchive(in, position_, from_); });
    }
    sink_.emplace(directory, manifest_,
                  scenario_.federated->tasks ? RunRows::kOfTasks : RunRows::kOfClients,
                  from != nullptr);
    if (!run_.trains || (!scenario_.record && !open_.checkpoints().On())) return;
    MakeFolderIn(directory, kCheckpointFolder);
    if (from != nullptr) {
      recorder_.emplace(RecordPath());
      return;
    }
    RecordHeader header(TrainingDocument(scenario_), run_.learners.Costs(), run_.learners.Layers());
    if (!first_.exchange) header.batch = scenario_.batch;
    recorder_.emplace(RecordPath(), header);
  }

  int64_t StepsLeft() const override {
    return static_cast<int64_t>(Count() - position_) * first_.Versions() - from_.version;
  }
  // A replay has nothing to save.
  bool Saves() const override { return run_.trains; }
  bool Run(Progress& progress) override {
    if (!run_.control.resume) progress.TellDuration();
    progress_ = &progress;
    Pace pace = {.stopped = [this] { return run_.stop != 0; }};
    if (run_.trains) {
      pace.checkpoints = &open_.checkpoints();
      pace.patience = [this] { return open_.checkpoints().Patience(); };
    }
    return RunTrainings(*this, pace);
  }

  size_t Count() const override {
    return run_.methods.size() * static_cast<size_t>(scenario_.seeds);
  }
  size_t First() const override { return position_; }

  std::unique_ptr<Rounds> Begin(size_t training) override {
    const FederatedMethod& row = run_.methods[training % run_.methods.size()];
    const uint64_t seed = scenario_.seed + training / run_.methods.size();
    auto request = std::make_unique<PlanRequest>(RequestOf(scenario_, seed));
    const fs::path& directory = open_.directory();
    const fs::path states = StatesOf(training);
    if (run_.trains) MakeFolderIn(directory, states.lexically_relative(directory));
    AnyLearner learner = Make(row, seed, *request, states);
    const Resumption from = training == position_ ? from_ : Resumption();
    if (from.version > 0) {
      ReadSection(*open_.from(), kLearnerSection, [&](StateReader& in) { learner->Load(in); });
      std::fprintf(run_.log, "%s, seed %llu, continues after version %lld\n", row.name.c_str(),
                   static_cast<unsigned long long>(seed), static_cast<long long>(from.version));
      const ResumedPast past = {directory, RecordPath(), row.name, seed};
      if (learner.exchange) learner.exchange = Resume(std::move(learner.exchange), past);
      if (learner.tasks) {
        learner.tasks = Resume(std::move(learner.tasks), past, scenario_, *request);
      }
    }
    auto rounds =
        std::make_unique<ClientRounds>(ClientRounds::Parts{.run = run_,
                                                           .method = row,
                                                           .seed = seed,
                                                           .request = std::move(request),
                                                           .learner = std::move(learner),
                                                           .parameters = manifest_.parameters,
                                                           .sink = *sink_,
                                                           .progress = *progress_,
                                                           .from = from,
                                                           .stopped = open_.result.stopped});
    rounds_ = rounds.get();
    return rounds;
  }

  void Save(size_t training) override {
    if (!open_.checkpoints().On()) return;
    std::vector<fs::path> files = sink_->Files();
    files.push_back(RecordPath());
    const bool written = open_.checkpoints().Write(files, [&](SectionWriter& out) {
      WriteSection(out, kRunSection,
                   [&](StateWriter& state) { ToArchive(state, training, rounds_->Reached()); });
      WriteSection(out, kLearnerSection,
                   [&](StateWriter& state) { rounds_->learner().Save(state); });
    });
    // The last two checkpoints belong to this training or the one before.
    if (!written || training == saved_) return;
    for (size_t position = removed_; position < saved_; ++position) {
      fs::remove_all(StatesOf(position));
    }
    removed_ = saved_;
    saved_ = training;
  }

  const FederatedComparison& run_;
  const Scenario& scenario_;
  PlanRequest first_;
  OpenRun open_;
  analysis::Manifest manifest_;
  std::optional<DirectorySink> sink_;
  std::optional<Recorder> recorder_;
  size_t position_ = 0;  // of the first training; each seed has all methods in turn
  Resumption from_;      // how much of it is done
  Progress* progress_ = nullptr;
  ClientRounds* rounds_ = nullptr;  // of the training in progress
  size_t saved_ = 0;                // position of the last saved training
  size_t removed_ = 0;              // positions below it have no client states any more
};

}  // namespace

RunResult RunComparison(const FederatedComparison& run) { return ClientComparison(run).Run(); }

}  // namespace legacy
