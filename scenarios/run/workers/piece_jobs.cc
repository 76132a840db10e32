#include "scenarios/run/workers/piece_jobs.h"

#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "base/archive.h"
#include "base/files/own_file.h"
#include "base/programs/patience.h"
#include "base/programs/program.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/checkpoint/journal.h"
#include "scenarios/run/diagnostics.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJournalFile = "journal";
constexpr const char* kStepsSection = "piece";

// JournalRounds writes the steps of a piece into its journal. They are timed only for policies that
// read the clock.
class JournalRounds : public Rounds {
 public:
  JournalRounds(const Scenario& scenario, const TimedPiece& piece, ComparedMethods& methods,
                const fs::path& journal, const fs::path& directory, const SectionFile* from)
      : scenario_(scenario),
        piece_(piece),
        here_(WithoutDiagnostics(NetworkOf(piece))),
        source_(methods.MakeSource(methods.Chosen(*piece.method, piece.seed, NetworkOf(piece)),
                                   piece.seed)),
        gradients_(scenario, piece, *source_, directory),
        reads_clock_(methods.DependsOnNetwork(*piece.method)),
        timing_(here_, GiveUpIfLate),
        layers_(source_->Layers()),
        clocks_(timing_.MakeClocks(source_->Costs(), layers_)),
        timed_({&timed_network_, 1}, nullptr, piece.method->name, piece.seed, source_->Costs(),
               layers_) {
    if (from != nullptr) Load(*from);
    journal_.emplace(journal, *source_);
  }

  bool Next() override {
    if (done_ >= scenario_.steps) return false;
    const StepStart start = timing_.StartOf(clocks_.front(), piece_.seed, done_);
    source_->SetLink(timing_.LinkAt(done_));
    JournalStep step;
    step.outcome = source_->Step(start.participation.workers);
    if (reads_clock_) timed_.Step(step.outcome.work, start, {});
    source_->OnFeedback(reads_clock_ ? timed_.Times() : StepTimes{});
    step.decisions = source_->TakeDecisions();
    ++done_;
    if (Evaluates(scenario_, done_) && source_->Evaluates()) step.evaluation = source_->Evaluate();
    journal_->Write(step);
    return true;
  }
  bool Finish() override { return true; }

  bool CanSave() const { return source_->CannotSave().empty(); }
  void Save(SectionWriter& out) const {
    WriteSection(out, kStepsSection, [&](StateWriter& state) {
      ToArchive(state, done_);
      if (reads_clock_) timed_.Save(state);
    });
    source_->Save(out);
  }

 private:
  static const Scenario& NetworkOf(const TimedPiece& piece) {
    return piece.networks.front().timing->scenario();
  }
  void Load(const SectionFile& from) {
    ReadSection(from, kStepsSection, [&](StateReader& state) {
      FromArchive(state, done_);
      if (reads_clock_) timed_.Load(state);
    });
    source_->Load(from);
  }

  const Scenario& scenario_;
  const TimedPiece& piece_;
  const Scenario here_;
  const std::unique_ptr<StepSource> source_;
  PieceGradients gradients_;
  const bool reads_clock_;
  ScenarioTiming timing_;
  RunSink sink_;  // drops the rows: the times are only for the policy
  const TimedNetwork timed_network_ = {&timing_, &sink_};
  const std::span<const Unit> layers_;
  const std::vector<Clock> clocks_;
  TimedEverywhere timed_;
  std::optional<JournalWriter> journal_;
  int64_t done_ = 0;
};

// The single training of a job.
class JobTraining : public Trainings {
 public:
  JobTraining(const Scenario& scenario, const TimedPiece& piece, ComparedMethods& methods,
              const fs::path& folder, const fs::path& directory, const SectionFile* from,
              Checkpoints& checkpoints)
      : scenario_(scenario),
        piece_(piece),
        methods_(methods),
        journal_(folder / kJournalFile),
        directory_(directory),
        from_(from),
        checkpoints_(checkpoints) {}

  size_t Count() const override { return 1; }
  std::unique_ptr<Rounds> Begin(size_t) override {
    auto rounds =
        std::make_unique<JournalRounds>(scenario_, piece_, methods_, journal_, directory_, from_);
    rounds_ = rounds.get();
    return rounds;
  }
  void Save(size_t) override {
    if (!rounds_->CanSave()) return;
    checkpoints_.Write({journal_}, [&](SectionWriter& out) { rounds_->Save(out); });
  }

 private:
  const Scenario& scenario_;
  const TimedPiece& piece_;
  ComparedMethods& methods_;
  const fs::path journal_;
  const fs::path directory_;
  const SectionFile* const from_;
  Checkpoints& checkpoints_;
  const JournalRounds* rounds_ = nullptr;  // rounds in progress
};

}  // namespace

PieceJobs::PieceJobs(const Scenario& scenario, ComparedMethods& methods,
                     std::vector<TimedPiece> pieces, size_t first, const RunPlace& place,
                     std::FILE* log)
    : methods_(methods), first_(first), directory_(place.directory) {
  std::vector<Job> jobs;
  for (size_t p = first; p < pieces.size(); ++p) {
    const TimedPiece& piece = pieces[p];
    const fs::path folder = FolderOf(p);
    // A killed process may have written to its journal after its checkpoint; this is cut off before
    // anybody reads it.
    auto from = std::make_shared<std::unique_ptr<SectionFile>>();
    const auto prepare = [directory = directory_, log, folder, from] {
      CheckFoldersIn(directory, (folder / kJournalFile).lexically_relative(directory));
      Checkpoints checkpoints(folder, {}, log);
      *from = checkpoints.Newest();
      const fs::path journal[] = {folder / kJournalFile};
      if (*from) return checkpoints.CutBack(**from, journal);
      OutputFile(folder / kJournalFile, OutputFile::Mode::kReplace).Close();
    };
    const auto work = [&scenario, &methods, piece, directory = directory_, folder, from,
                       period = place.checkpoints->Period()] {
      const StopFlag& stop = CatchStop(SIGUSR2);
      Checkpoints checkpoints(folder, {period, &CatchRequests()}, stderr);
      JobTraining training(scenario, piece, methods, folder, directory, from->get(), checkpoints);
      // The process that asks this one to stop has already waited.
      constexpr unsigned kPatience = 1;
      const bool done = RunTrainings(training, {.stopped = [&stop] { return stop != 0; },
                                                .checkpoints = &checkpoints,
                                                .patience = [] { return kPatience; }});
      return done ? kJobDone : kJobStopped;
    };
    jobs.push_back({"method " + piece.method->name + ", seed " + std::to_string(piece.seed), folder,
                    prepare, work});
  }
  jobs_ = std::make_unique<Jobs>(std::move(jobs), static_cast<size_t>(scenario.jobs));
  jobs_->Tend();
}

std::unique_ptr<StepSource> PieceJobs::SourceOf(size_t piece) {
  const size_t job = piece - first_;
  jobs_->AwaitStart(job);
  return std::make_unique<JournalSource>(FolderOf(piece) / kJournalFile,
                                         methods_.sources().Metrics(),
                                         [this, job] { jobs_->Wait(job); });
}

void PieceJobs::Saved(size_t piece) {
  for (; removed_ < saved_; ++removed_) {
    if (removed_ >= first_ && !jobs_->HasEnded(removed_ - first_)) break;
    fs::remove_all(FolderOf(removed_));
  }
  saved_ = piece;
}

fs::path PieceJobs::FolderOf(size_t piece) const {
  return directory_ / kCheckpointFolder / ("job-" + std::to_string(piece));
}

}  // namespace legacy
