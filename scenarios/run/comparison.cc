#include "scenarios/run/comparison.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files/own_file.h"
#include "base/programs/patience.h"
#include "base/stopwatch.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/checkpoint/jobs.h"
#include "scenarios/checkpoint/journal.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/options/target.h"
#include "scenarios/run/compared_methods.h"
#include "scenarios/run/gradient_files.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/method_rows.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/shared_training.h"
#include "scenarios/run/timed_run.h"
#include "scenarios/training/processes.h"
#include "scenarios/training/step_sources.h"
#include "scenarios/training/training_request.h"
#include "trainer/clock/traffic_record.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// A Piece is a training on the networks that it is timed on.
struct Piece {
  const Method* method = nullptr;
  uint64_t seed = 0;
  std::span<const TimedNetwork> networks;
  bool own = false;  // true on the run's own network, where the training is recorded
};

// Returns the scenarios by which methods know networks.
ComparedMethods::Networks ScenariosOf(std::span<const TimedNetwork> timed_networks) {
  ComparedMethods::Networks scenarios;
  for (const TimedNetwork& timed_network : timed_networks) {
    scenarios.push_back(&timed_network.timing->scenario());
  }
  return scenarios;
}

// Names of a checkpoint's sections.
constexpr const char* kRunSection = "run";
constexpr const char* kTimingSection = "timing";
constexpr const char* kPieceSection = "piece";

class Comparison : public TimedRun {
 public:
  Comparison(const Scenario& scenario, const StopFlag& stop, std::FILE* log,
             ProcessGroup& processes)
      : scenario_(scenario),
        stop_(stop),
        log_(log),
        alone_(processes.Alone()),
        timing_(scenario, GiveUpIfLate),
        methods_(scenario, processes),
        replay_refused_(ReplayRefusals(scenario)) {
    // Refuses a target before anything is trained.
    TargetAmong(scenario, methods_.sources().Metrics());
    const Unit& last = methods_.sources().Layers().back();
    elements_ = last.offset + last.numel;
  }

  // Runs one step of each method before anything is written, so that mistakes and the cost of
  // packets are known now.
  CostEstimate Estimate(std::FILE* log) override {
    CostEstimate estimate(timing_.network());
    if (log != nullptr && !methods_.sources().Announcement().empty()) {
      std::fprintf(log, "%s\n", methods_.sources().Announcement().c_str());
    }
    const std::string& memory = methods_.MemoryText();
    if (log != nullptr && !memory.empty()) std::fprintf(log, "%s\n", memory.c_str());
    for (const Method& method : methods_.All()) {
      const Method& chosen = methods_.Chosen(method, scenario_.seed, scenario_);
      const std::unique_ptr<StepSource> training = methods_.MakeSource(chosen, scenario_.seed, log);
      if (log != nullptr) methods_.SayVolume(method, scenario_, log);
      const std::vector<Clock> clocks =
          timing_.MakeClocks(training->Costs(), training->LayerNumels());
      const Clock& clock = clocks.front();
      const StepStart start = timing_.StartOf(clock, scenario_.seed, 0);
      training->SetLink(timing_.LinkAt(0));
      const Stopwatch first_watch;
      const StepOutcome first = training->Step(start.participation.workers);
      reports_[method.name] = training->Report();
      if (log != nullptr) TimeStep(method, first_watch.Seconds(), *training);
      const std::string text = methods_.sources().Text(reports_[method.name]);
      if (log != nullptr && !text.empty()) std::fprintf(log, "  %-22s %s\n", "", text.c_str());
      const PricedStep priced = timing_.Price(clock, first.work, start);
      const int64_t different = timing_.Memoises() ? methods_.DifferentSteps(method, *training)
                                                   : int64_t{scenario_.steps};
      estimate.Add(priced.traffic, different);
    }
    return estimate;
  }

  ScenarioTiming& Timing() override { return timing_; }
  double SecondsToTrain(size_t timed_networks) const override {
    const int64_t evaluations =
        (scenario_.steps + scenario_.evaluate_every - 1) / scenario_.evaluate_every;
    double seconds = 0;
    size_t trainings = 0;
    for (const Method& method : methods_.All()) {
      const size_t each = methods_.TrainingsOn(method, timed_networks) * scenario_.seeds;
      const double training = static_cast<double>(scenario_.steps) * step_seconds_.at(method.name) +
                              static_cast<double>(evaluations) * evaluation_seconds_.value_or(0);
      seconds += static_cast<double>(each) * training;
      trainings += each;
    }
    return seconds / static_cast<double>(std::min<size_t>(scenario_.jobs, trainings));
  }
  std::string Title() const override {
    return ModelText(scenario_) + ", " + std::to_string(elements_) + " parameters, ";
  }
  std::string Devices() const override {
    return BatchText(scenario_) + " on " + scenario_.device_profile;
  }
  nlohmann::json Manifest(const std::string& program,
                          const std::string& command_line) const override {
    nlohmann::json manifest = ManifestDocument(
        scenario_, program, command_line, methods_.sources().Metrics(), elements_, replay_refused_);
    methods_.sources().Describe(reports_, manifest);
    methods_.Describe(manifest);
    return manifest;
  }
  std::string Note() const override;
  // Returns the number of steps that are not done yet.
  int64_t Steps(size_t timed_networks) const override {
    int64_t trainings = 0;
    for (const Method& method : methods_.All()) {
      trainings += methods_.TrainingsOn(method, timed_networks);
    }
    const auto whole = static_cast<int64_t>(first_piece_);
    return (trainings * scenario_.seeds - whole) * scenario_.steps - first_step_;
  }
  void Load(const SectionFile& from, std::span<const TimedNetwork> timed_networks) override;
  // Trains methods that depend on the network on each of them, and all others once for all
  // networks.
  bool Run(std::span<const TimedNetwork> timed_networks, Progress* progress,
           const RunPlace& place) override {
    networks_ = timed_networks.size();
    bool done = true;
    try {
      if (place.from == nullptr) Pilot(timed_networks, place);
      const std::vector<Piece> pieces = Pieces(timed_networks);
      if (scenario_.jobs > 1) StartJobs(pieces, place);
      for (size_t p = first_piece_; p < pieces.size() && done; ++p) {
        done = Train(p, pieces[p], timed_networks, progress, place);
      }
    } catch (const GivenUp&) {
      if (jobs_) jobs_->Stop();
      done = false;
    }
    jobs_.reset();
    return done;
  }

 private:
  // Times a step of a method, whose first took `seconds`, and the first evaluation of all methods.
  // A first step allocates what later ones use: where it is short, another one is timed.
  void TimeStep(const Method& method, double seconds, StepSource& training) {
    constexpr double kShort = 1;
    if (seconds < kShort) {
      training.OnFeedback({});
      const Stopwatch watch;
      training.Step();
      seconds = watch.Seconds();
    }
    step_seconds_[method.name] = seconds;
    if (evaluation_seconds_ || !training.Evaluates()) return;
    const Stopwatch watch;
    training.Evaluate();
    evaluation_seconds_ = watch.Seconds();
  }
  // Returns the seconds that a stop waits for what is in work; 0: until it is done, as processes
  // that share a training give up together or not at all.
  unsigned Patience(const RunPlace& place) const {
    return alone_ ? place.checkpoints->Patience() : 0;
  }
  // Runs the pilots of further networks.
  void Pilot(std::span<const TimedNetwork> timed_networks, const RunPlace& place) {
    const PatientScope scope(Patience(place));
    for (const TimedNetwork& timed_network : timed_networks.subspan(1)) {
      const ScenarioTiming& timing = *timed_network.timing;
      methods_.PilotOn(timing.scenario(), timing.Description(), log_);
    }
  }
  // Returns all trainings, in the order of the rows.
  std::vector<Piece> Pieces(std::span<const TimedNetwork> timed_networks) const {
    std::vector<Piece> pieces;
    for (int s = 0; s < scenario_.seeds; ++s) {
      for (const Method& method : methods_.All()) {
        const size_t together = methods_.DependsOnNetwork(method) ? 1 : timed_networks.size();
        for (size_t first = 0; first < timed_networks.size(); first += together) {
          pieces.push_back(
              {&method, scenario_.seed + s, timed_networks.subspan(first, together), first == 0});
        }
      }
    }
    return pieces;
  }

  // True where the training is evaluated after that many steps.
  bool Evaluates(int64_t done) const {
    return done % scenario_.evaluate_every == 0 || done == scenario_.steps;
  }

  // Starts a process for each piece that is left.
  void StartJobs(const std::vector<Piece>& pieces, const RunPlace& place);
  // Trains a piece in a process of its own, into a journal. Returns the process's status. TrainJob
  // does so, and may give up.
  int RunJob(const Piece& piece, const fs::path& folder, const SectionFile* from,
             const RunPlace& place);
  int TrainJob(const Piece& piece, const fs::path& folder, const SectionFile* from,
               const RunPlace& place);
  // Makes the source of a piece's steps: the training, or its journal. `shared` becomes the
  // training on the networks that may share it.
  std::unique_ptr<StepSource> SourceOf(size_t position, const Piece& piece,
                                       std::span<const TimedNetwork> timed_networks,
                                       const RunPlace& place,
                                       std::optional<SharedTraining>& shared);
  // Returns the timings of further networks on which a piece's training may be the same.
  std::vector<ScenarioTiming*> SharingTimings(const Piece& piece,
                                              std::span<const TimedNetwork> timed_networks);
  // Writes what an earlier piece's training left for this piece, if it did.
  bool WriteShared(const Piece& piece, Progress* progress);
  // Returns the state that a timing has without trainings that are shared and not written yet.
  Bytes StateForCheckpoint(ScenarioTiming& timing,
                           const std::optional<SharedTraining>& shared) const;
  // Trains one piece, or what is left of it.
  bool Train(size_t position, const Piece& piece, std::span<const TimedNetwork> timed_networks,
             Progress* progress, const RunPlace& place);
  // Writes a checkpoint in the middle of a piece.
  void Save(size_t position, const StepSource& training, const UnitStats& stats,
            const TimedEverywhere& timed, std::span<const TimedNetwork> timed_networks,
            const std::optional<SharedTraining>& shared, const RunPlace& place);
  TrafficRecorder* Recorder(const RunPlace& place, const StepSource& training);

  const Scenario& scenario_;
  const StopFlag& stop_;
  std::FILE* const log_;
  const bool alone_;  // false: several processes share the workers
  ScenarioTiming timing_;
  ComparedMethods methods_;
  BackendReports reports_;
  std::map<std::string, double> step_seconds_;  // wall time by method
  std::optional<double> evaluation_seconds_;
  int64_t elements_ = 0;
  // Reasons why a record may not be timed on other networks.
  std::vector<std::string> replay_refused_;
  std::optional<TrafficRecorder> recorder_;
  // The piece that a resumed run goes on with, and the number of its steps that are done.
  size_t first_piece_ = 0;
  int64_t first_step_ = 0;
  bool said_cannot_save_ = false;
  std::optional<Jobs> jobs_;     // where trainings run side by side
  size_t saved_piece_ = 0;       // the piece of the last checkpoint
  size_t journals_removed_ = 0;  // pieces whose journals are removed
  // Trainings of earlier pieces that count for networks whose own piece comes later.
  std::vector<std::unique_ptr<TimedTwin>> twins_;
  std::map<std::string, int64_t> shared_;  // pieces that were not trained, by method
  size_t networks_ = 1;                    // number of networks of the run
};

constexpr const char* kJournalFile = "journal";

fs::path JobFolder(const fs::path& directory, size_t position) {
  return directory / kCheckpointFolder / ("job-" + std::to_string(position));
}

void Comparison::StartJobs(const std::vector<Piece>& pieces, const RunPlace& place) {
  std::vector<Job> jobs;
  for (size_t p = first_piece_; p < pieces.size(); ++p) {
    const Piece& piece = pieces[p];
    const fs::path folder = JobFolder(place.directory, p);
    // What a killed process left of the journal behind its checkpoint is cut off before anybody
    // reads it.
    auto from = std::make_shared<std::unique_ptr<SectionFile>>();
    const auto prepare = [this, folder, from, &place] {
      CheckFoldersIn(place.directory, (folder / kJournalFile).lexically_relative(place.directory));
      Checkpoints checkpoints(folder, {}, log_);
      *from = checkpoints.Newest();
      const fs::path journal[] = {folder / kJournalFile};
      if (*from) return checkpoints.CutBack(**from, journal);
      OutputFile(folder / kJournalFile, OutputFile::Mode::kReplace).Close();
    };
    const auto work = [this, piece, folder, from, &place] {
      return RunJob(piece, folder, from->get(), place);
    };
    jobs.push_back({"policy " + piece.method->name + ", seed " + std::to_string(piece.seed), folder,
                    prepare, work});
  }
  jobs_.emplace(std::move(jobs), static_cast<size_t>(scenario_.jobs));
  jobs_->Tend();
}

int Comparison::RunJob(const Piece& piece, const fs::path& folder, const SectionFile* from,
                       const RunPlace& place) {
  try {
    return TrainJob(piece, folder, from, place);
  } catch (const GivenUp&) {
    return kJobStopped;
  }
}

int Comparison::TrainJob(const Piece& piece, const fs::path& folder, const SectionFile* from,
                         const RunPlace& place) {
  const StopFlag& stop = CatchStop(SIGUSR2);
  // The process that asks to stop has waited before.
  constexpr unsigned kPatience = 1;
  std::optional<PatientScope> patience(kPatience);
  const Scenario here = WithoutDiagnostics(piece.networks.front().timing->scenario());
  const Method& method =
      methods_.Chosen(*piece.method, piece.seed, piece.networks.front().timing->scenario());
  const std::unique_ptr<StepSource> training = methods_.MakeSource(method, piece.seed);
  std::optional<GradientFiles> gradients;
  if (piece.own && !scenario_.gradient_steps.empty()) {
    gradients.emplace(scenario_, training->Layers(), place.directory);
    training->SetGradientHook([&](int64_t step, int worker, std::span<const float> gradient) {
      gradients->Write(method.name, piece.seed, step, worker, gradient);
    });
  }
  // Policies that read the clock see times of this process; all others see none.
  const bool reads_clock = methods_.DependsOnNetwork(*piece.method);
  ScenarioTiming timing(here, GiveUpIfLate);
  RunSink sink;  // the times are for the policy alone
  const TimedNetwork timed_network = {&timing, &sink};
  const std::vector<int64_t> numels = training->LayerNumels();
  const std::vector<Clock> clocks = timing.MakeClocks(training->Costs(), numels);
  TimedEverywhere timed({&timed_network, 1}, nullptr, method.name, piece.seed, training->Costs(),
                        numels);

  const fs::path path = folder / kJournalFile;
  Checkpoints checkpoints(folder, {place.checkpoints->Period(), &CatchRequests()}, stderr);
  int64_t done = 0;
  if (from != nullptr) {
    ReadSection(*from, kPieceSection, [&](StateReader& state) {
      FromArchive(state, done);
      if (reads_clock) timed.Load(state);
    });
    training->Load(*from);
  }
  JournalWriter journal(path, *training);
  while (done < scenario_.steps) {
    patience.emplace(kPatience);
    const StepStart start = timing.StartOf(clocks.front(), piece.seed, done);
    training->SetLink(timing.LinkAt(done));
    JournalStep step;
    step.outcome = training->Step(start.participation.workers);
    if (reads_clock) timed.Step(step.outcome.work, start, {});
    training->OnFeedback(reads_clock ? timed.Times() : StepTimes{});
    step.decisions = training->TakeDecisions();
    ++done;
    if (Evaluates(done) && training->Evaluates()) step.evaluation = training->Evaluate();
    patience.reset();
    journal.Write(step);
    if (training->CannotSave().empty() && (checkpoints.Due() || (stop && checkpoints.On()))) {
      checkpoints.Write({path}, [&](SectionWriter& out) {
        WriteSection(out, kPieceSection, [&](StateWriter& state) {
          ToArchive(state, done);
          if (reads_clock) timed.Save(state);
        });
        training->Save(out);
      });
    }
    if (stop) return kJobStopped;
  }
  return kJobDone;
}

std::unique_ptr<StepSource> Comparison::SourceOf(size_t position, const Piece& piece,
                                                 std::span<const TimedNetwork> timed_networks,
                                                 const RunPlace& place,
                                                 std::optional<SharedTraining>& shared) {
  if (!jobs_) {
    const Scenario& here = piece.networks.front().timing->scenario();
    const Method& method = methods_.Chosen(*piece.method, piece.seed, here);
    const bool goes_on = place.from != nullptr && position == first_piece_;
    const std::vector<ScenarioTiming*> timings =
        goes_on ? std::vector<ScenarioTiming*>() : SharingTimings(piece, timed_networks);
    if (timings.empty()) return methods_.MakeSource(method, piece.seed);
    NetworksPolicy* policy = nullptr;
    std::unique_ptr<StepSource> source =
        methods_.MakeSharedSource(method, piece.seed, timings.size(), &policy);
    shared.emplace(*policy, timings, piece.method->name, piece.seed, *source);
    return source;
  }
  const size_t job = position - first_piece_;
  jobs_->AwaitStart(job);
  return std::make_unique<JournalSource>(JobFolder(place.directory, position) / kJournalFile,
                                         methods_.sources().Metrics(),
                                         [this, job] { jobs_->Wait(job); });
}

std::vector<ScenarioTiming*> Comparison::SharingTimings(
    const Piece& piece, std::span<const TimedNetwork> timed_networks) {
  std::vector<ScenarioTiming*> timings;
  if (!piece.own || piece.networks.size() == timed_networks.size()) return timings;
  const Method& method = methods_.Chosen(*piece.method, piece.seed, scenario_);
  for (const TimedNetwork& timed_network : timed_networks.subspan(1)) {
    const Method& other =
        methods_.Chosen(*piece.method, piece.seed, timed_network.timing->scenario());
    if (other.policy != method.policy || other.parameter != method.parameter) continue;
    timings.push_back(timed_network.timing);
  }
  return timings;
}

bool Comparison::WriteShared(const Piece& piece, Progress* progress) {
  const auto found = std::ranges::find(twins_, piece.networks.front().timing, &TimedTwin::timing);
  if (piece.own || found == twins_.end()) return false;
  (*found)->rows.WriteTo(*piece.networks.front().sink);
  twins_.erase(found);
  ++shared_[piece.method->name];
  for (int64_t step = 1; progress != nullptr && step <= scenario_.steps; ++step) {
    progress->Step({.policy = piece.method->name,
                    .seed = piece.seed,
                    .step = step,
                    .steps = scenario_.steps,
                    .loss = std::numeric_limits<double>::quiet_NaN()});
  }
  return true;
}

Bytes Comparison::StateForCheckpoint(ScenarioTiming& timing,
                                     const std::optional<SharedTraining>& shared) const {
  const auto before = [&](const std::vector<std::unique_ptr<TimedTwin>>& twins) -> const Bytes* {
    const auto found = std::ranges::find(twins, &timing, &TimedTwin::timing);
    return found == twins.end() ? nullptr : &(*found)->before;
  };
  if (const Bytes* state = before(twins_)) return *state;
  if (const Bytes* state = shared ? before(shared->twins()) : nullptr) return *state;
  return StateOf(timing);
}

// Says which methods were not trained on every network.
std::string Comparison::Note() const {
  std::string note = methods_.sources().Note(reports_);
  for (const auto& [name, pieces] : shared_) {
    if (!note.empty()) note += "\n";
    const int64_t all = static_cast<int64_t>(networks_) * scenario_.seeds;
    note += name + ": " + std::to_string(all - pieces) +
            (all - pieces == 1 ? " training" : " trainings") + " in the place of " +
            std::to_string(all) + ", as its decisions were the same on " +
            (pieces == all - scenario_.seeds ? "all" : "some of the") + " networks";
  }
  return note;
}

TrafficRecorder* Comparison::Recorder(const RunPlace& place, const StepSource& training) {
  if (!scenario_.record) return nullptr;
  const fs::path path = place.directory / kTrafficFile;
  if (!recorder_ && place.from != nullptr) recorder_.emplace(path);
  if (!recorder_) {
    recorder_.emplace(path, TrainingDocument(scenario_), replay_refused_, training.Costs(),
                      training.Layers());
  }
  return &*recorder_;
}

void Comparison::Save(size_t position, const StepSource& training, const UnitStats& stats,
                      const TimedEverywhere& timed, std::span<const TimedNetwork> timed_networks,
                      const std::optional<SharedTraining>& shared, const RunPlace& place) {
  std::string reason = training.CannotSave();
  if (!scenario_.pcap.empty() || !scenario_.flow_monitor.empty() || !scenario_.netanim.empty()) {
    reason = "ns-3 writes files of its own";
  }
  if (!reason.empty()) {
    if (!std::exchange(said_cannot_save_, true)) {
      std::fprintf(log_, "warning: no checkpoint is written, as %s\n", reason.c_str());
    }
    return;
  }
  std::vector<fs::path> files;
  for (const TimedNetwork& timed_network : timed_networks) {
    std::ranges::copy(timed_network.sink->Files(), std::back_inserter(files));
  }
  // A resumed run opens its record only where it writes the next line.
  const bool recorded = recorder_ || (scenario_.record && place.from != nullptr);
  if (recorded) files.push_back(place.directory / kTrafficFile);
  if (timing_.Samples()) files.push_back(place.directory / analysis::FidelityRow::kFile);

  if (jobs_) jobs_->RequestCheckpoints();
  const bool written = place.checkpoints->Write(files, [&](SectionWriter& out) {
    WriteSection(out, kRunSection, [&](StateWriter& state) {
      const int64_t steps = scenario_.steps;
      ToArchive(state, position, timed.Done(), steps, reports_);
      methods_.Save(ScenariosOf(timed_networks), state);
    });
    WriteSection(out, kTimingSection, [&](StateWriter& state) {
      for (const TimedNetwork& timed_network : timed_networks) {
        state.Blob(StateForCheckpoint(*timed_network.timing, shared));
      }
    });
    WriteSection(out, kPieceSection, [&](StateWriter& state) {
      ToArchive(state, stats);
      timed.Save(state);
      // Networks that the piece is not timed on have kept something, too.
      for (const TimedNetwork& timed_network : timed_networks) {
        if (const StepListener* listener = timed_network.sink->Listener()) listener->Save(state);
      }
    });
    training.Save(out);
  });
  // Journals of earlier pieces are needed for the checkpoint before this one alone.
  for (; written && jobs_ && journals_removed_ < saved_piece_; ++journals_removed_) {
    const size_t removed = journals_removed_;
    if (removed >= first_piece_ && !jobs_->HasEnded(removed - first_piece_)) break;
    fs::remove_all(JobFolder(place.directory, removed));
  }
  if (written) saved_piece_ = position;
}

void Comparison::Load(const SectionFile& from, std::span<const TimedNetwork> timed_networks) {
  int64_t steps = 0;
  ReadSection(from, kRunSection, [&](StateReader& state) {
    FromArchive(state, first_piece_, first_step_, steps, reports_);
    methods_.Load(ScenariosOf(timed_networks), state);
  });
  const std::vector<Piece> pieces = Pieces(timed_networks);
  if (first_piece_ >= pieces.size()) throw Error(from.path().string() + ": of another run");
  if (steps != scenario_.steps && first_piece_ > 0) {
    throw Error("training.steps (--steps)", std::to_string(scenario_.steps),
                std::to_string(steps) + ", as policy " + pieces.front().method->name + ", seed " +
                    std::to_string(pieces.front().seed) + ", ended with them");
  }
  ReadSection(from, kTimingSection, [&](StateReader& state) {
    for (const TimedNetwork& timed_network : timed_networks) {
      const ByteSpan blob = state.Blob();
      Restore(*timed_network.timing, Bytes(blob.begin(), blob.end()));
    }
  });
  const Piece& piece = pieces[first_piece_];
  std::fprintf(log_, "goes on behind step %lld of policy %s, seed %llu (%s)\n",
               static_cast<long long>(first_step_), piece.method->name.c_str(),
               static_cast<unsigned long long>(piece.seed), from.path().c_str());
}

bool Comparison::Train(size_t position, const Piece& piece,
                       std::span<const TimedNetwork> timed_networks, Progress* progress,
                       const RunPlace& place) {
  if (WriteShared(piece, progress)) return true;
  const Method& method = *piece.method;
  const uint64_t seed = piece.seed;
  std::optional<SharedTraining> shared;
  std::optional<PatientScope> patience(Patience(place));  // of pilots, and of each step
  const std::unique_ptr<StepSource> training =
      SourceOf(position, piece, timed_networks, place, shared);
  TrafficRecorder* recorder = piece.own ? Recorder(place, *training) : nullptr;
  UnitStats stats(training->Units().size());
  const MethodRow row = {method.name, seed, scenario_.steps, scenario_.workers};
  std::optional<GradientFiles> gradients;
  if (piece.own && !scenario_.gradient_steps.empty()) {
    gradients.emplace(scenario_, training->Layers(), place.directory);
    training->SetGradientHook([&](int64_t step, int worker, std::span<const float> gradient) {
      gradients->Write(method.name, seed, step, worker, gradient);
    });
  }
  const std::vector<int64_t> numels = training->LayerNumels();
  TimedEverywhere timed(piece.networks, progress, method.name, seed, training->Costs(), numels);
  if (place.from != nullptr && position == first_piece_) {
    ReadSection(*place.from, kPieceSection, [&](StateReader& state) {
      FromArchive(state, stats);
      timed.Load(state);
      for (const TimedNetwork& timed_network : timed_networks) {
        if (StepListener* listener = timed_network.sink->Listener()) listener->Load(state);
      }
    });
    training->Load(*place.from);
  }
  for (int64_t done = timed.Done() + 1; done <= scenario_.steps; ++done) {
    patience.emplace(Patience(place));
    const StepStart start = timed.Start();
    training->SetLink(piece.networks.front().timing->LinkAt(done - 1));
    if (shared) shared->SetLinks(done - 1);
    const StepOutcome outcome = training->Step(start.participation.workers);
    const double share =
        static_cast<double>(outcome.work.ActiveWorkers()) / static_cast<double>(scenario_.workers);
    const double sent = stats.Add(outcome.units, share);
    const StepFacts facts = {outcome.learning_rate, outcome.loss, sent};
    timed.Step(outcome.work, start, facts);
    if (shared) shared->Step(outcome.work, facts);
    training->OnFeedback(timed.Times());
    if (shared) shared->OnFeedback(*training);
    const auto on_all = [&](const std::function<void(TimedEverywhere&)>& write) {
      write(timed);
      if (shared) shared->ForEach(write);
    };
    on_all([&](TimedEverywhere& one) { WriteDecisions(row, *training, one); });
    if (recorder) recorder->Write(method.name, seed, outcome.work);
    if (jobs_) jobs_->Tend();
    if (Evaluates(done) && training->Evaluates()) {
      const Evaluation result = training->Evaluate();
      on_all([&](TimedEverywhere& one) { one.Evaluated(result.loss, result.metrics); });
    }
    patience.reset();
    if (jobs_ && stop_) jobs_->Stop();
    if (place.checkpoints->Due() || (stop_ && place.checkpoints->On())) {
      Save(position, *training, stats, timed, timed_networks, shared, place);
    }
    if (stop_) return false;
  }
  const auto end = [&](TimedEverywhere& one) {
    WriteLayers(row, *training, stats, one);
    one.Finish();
  };
  end(timed);
  if (!shared) return true;
  shared->ForEach(end);
  twins_ = shared->Finish();
  return true;
}

}  // namespace

RunResult RunComparison(const Scenario& given, const std::string& program,
                        const std::string& command_line, const StopFlag& stop, std::FILE* log,
                        const RunControl& control) {
  ProcessGroup& processes = control.processes ? *control.processes : OneProcess();
  if (!control.resume) CheckOut(given);  // InSteps may read data
  const Scenario scenario = InSteps(given, processes);
  return FillRunDirectory(
      scenario, program, command_line,
      [&](const Scenario& chosen) {
        return std::make_unique<Comparison>(chosen, stop, log, processes);
      },
      log, control);
}

}  // namespace legacy
