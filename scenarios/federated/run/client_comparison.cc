#include "scenarios/federated/run/client_comparison.h"

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
#include "scenarios/run/manifest.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/run_sink.h"

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

// A ClientComparison runs the trainings of a comparison into a run directory.
class ClientComparison {
 public:
  explicit ClientComparison(const FederatedComparison& run)
      : run_(run),
        scenario_(run.scenario),
        first_(RequestOf(scenario_, scenario_.seed)),
        open_(run.program, scenario_, run.control, run.log) {
    // Mistakes of a method are found before anything is written.
    for (const FederatedMethod& row : run.methods) {
      const AnyLearner learner = Make(row, scenario_.seed, first_, fs::temp_directory_path());
      std::fprintf(run.log, "  %-22s %s\n", row.name.c_str(), learner->Description().c_str());
    }
    CheckPlan(first_);
    Begin();
  }

  RunResult Run() {
    const size_t trainings = run_.methods.size() * static_cast<size_t>(scenario_.seeds);
    const auto left = static_cast<int64_t>(trainings - position_) * first_.Versions();
    const auto& target = manifest_.target;
    Progress progress(left - from_.version, manifest_.metrics, target ? target->metric : "",
                      isatty(fileno(run_.log)) != 0, run_.log, run_.control.told);
    if (!run_.control.resume) progress.TellDuration();
    // A replay has nothing to save.
    const StopScope scope(run_.trains ? 0 : kSecondsToStop);
    bool done = true;
    for (; position_ < trainings && done; position_ += done) {
      try {
        done = Train(progress);
      } catch (const GivenUp&) {
        done = false;
      }
      patience_.reset();
      from_ = Resumption();
    }
    progress.Finish();
    open_.NoteInterruption(!done);
    return open_.result;
  }

 private:
  AnyLearner Make(const FederatedMethod& row, uint64_t seed, PlanRequest& request,
                  const fs::path& states) {
    return MakeLearner(run_.learners, row, seed, request, states.string(),
                       recorder_ ? &*recorder_ : nullptr, exchanges_ ? &*exchanges_ : nullptr);
  }

  fs::path Folder() const { return open_.directory() / kCheckpointFolder; }
  fs::path StatesOf(size_t position) const {
    return Folder() / ("clients-" + std::to_string(position));
  }
  fs::path RecordPath() const {
    return (scenario_.record ? open_.directory() : Folder()) / kTrafficFile;
  }

  // Begins the run directory, or continues it.
  void Begin() {
    open_.MakeDirectory(scenario_);
    const SectionFile* const from = open_.from();
    const fs::path& directory = open_.directory();
    manifest_ = open_.Begin(ManifestOf(run_, first_.population.Clients()),
                            [&](const analysis::Manifest& manifest) {
                              auto known = DirectorySink::GrowingFiles(directory, manifest);
                              known.push_back(RecordPath());
                              return known;
                            });
    if (from != nullptr) {
      ReadSection(*from, kRunSection, [&](StateReader& in) { FromArchive(in, position_, from_); });
    }
    sink_.emplace(directory, manifest_,
                  scenario_.federated->tasks ? RunRows::kOfTasks : RunRows::kOfClients,
                  from != nullptr);
    if (!run_.trains || (!scenario_.record && !open_.checkpoints().On())) return;
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
  // Returns false if it was stopped.
  bool Train(Progress& progress) {
    if (run_.trains) patience_.emplace(open_.checkpoints().Patience());
    const FederatedMethod& row = run_.methods[position_ % run_.methods.size()];
    const uint64_t seed = scenario_.seed + position_ / run_.methods.size();
    PlanRequest request = RequestOf(scenario_, seed);
    const fs::path& directory = open_.directory();
    const fs::path states = StatesOf(position_);
    if (run_.trains) MakeFolderIn(directory, states.lexically_relative(directory));
    AnyLearner learner = Make(row, seed, request, states);
    if (from_.version > 0) {
      ReadSection(*open_.from(), kLearnerSection, [&](StateReader& in) { learner->Load(in); });
      std::fprintf(run_.log, "%s, seed %llu, continues after version %lld\n", row.name.c_str(),
                   static_cast<unsigned long long>(seed), static_cast<long long>(from_.version));
      const ResumedPast past = {directory, RecordPath(), row.name, seed};
      if (learner.exchange) learner.exchange = Resume(std::move(learner.exchange), past);
      if (learner.tasks) learner.tasks = Resume(std::move(learner.tasks), past, scenario_, request);
    }
    const auto save = [&](const Resumption& now) {
      patience_.reset();
      Save(now, *learner);
      if (run_.trains) patience_.emplace(open_.checkpoints().Patience());
    };
    TrainingWriter training(scenario_, request, row.name, seed, *learner, manifest_.parameters,
                            *sink_, &progress, from_, save);
    const Plan plan =
        Simulate(scenario_, run_.learners, row, request, learner, training, run_.stop);
    if (plan.interrupted) return false;
    if (!plan.stop.empty() && open_.result.stopped.empty()) {
      open_.result.stopped = row.name + ", seed " + std::to_string(seed) + ": " + plan.stop;
    }
    training.Finish(plan, request.fidelity);
    return true;
  }

  // Writes a checkpoint after a version, where one is due.
  void Save(const Resumption& now, Learner& learner) {
    if (!run_.trains || !open_.checkpoints().On()) return;
    if (!open_.checkpoints().Due() && run_.stop == 0) return;
    std::vector<fs::path> files = sink_->Files();
    files.push_back(RecordPath());
    const bool written = open_.checkpoints().Write(files, [&](SectionWriter& out) {
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
  OpenRun open_;
  analysis::Manifest manifest_;
  std::optional<DirectorySink> sink_;
  std::optional<TaskRecorder> recorder_;      // of trainings with a server
  std::optional<TrafficRecorder> exchanges_;  // of those without one
  size_t position_ = 0;                       // of the training in work: methods within seeds
  Resumption from_;
  std::optional<PatientScope> patience_;  // of the version in work
  size_t saved_ = 0;                      // position of the last checkpoint
  size_t removed_ = 0;                    // positions below have no client states any more
};

}  // namespace

RunResult RunComparison(const FederatedComparison& run) { return ClientComparison(run).Run(); }

}  // namespace legacy
