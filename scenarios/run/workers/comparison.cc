#include "scenarios/run/workers/comparison.h"

#include <algorithm>
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
#include "scenarios/network/cost_estimate.h"
#include "scenarios/options/target.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/timed_run.h"
#include "scenarios/run/workers/compared_methods.h"
#include "scenarios/run/workers/piece_jobs.h"
#include "scenarios/run/workers/shared_training.h"
#include "scenarios/run/workers/worker_rounds.h"
#include "scenarios/training/in_steps.h"
#include "scenarios/training/processes.h"
#include "scenarios/training/step_sources.h"
#include "scenarios/training/training_request.h"
#include "trainer/clock/record.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// Returns the scenarios that identify networks to methods.
ComparedMethods::Networks ScenariosOf(std::span<const TimedNetwork> timed_networks) {
  ComparedMethods::Networks scenarios;
  for (const TimedNetwork& timed_network : timed_networks) {
    scenarios.push_back(&timed_network.timing->scenario());
  }
  return scenarios;
}

// The names of a checkpoint's sections.
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
    // A target is refused before anything is trained.
    TargetAmong(scenario, methods_.sources().Metrics());
    const Unit& last = methods_.sources().Layers().back();
    elements_ = last.offset + last.numel;
  }

  // Runs one step of each method before anything is written, so that mistakes and the cost of
  // packets are known early.
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
      const std::vector<Clock> clocks = timing_.MakeClocks(training->Costs(), training->Layers());
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
      const double training = seconds_of_steps_.at(method.name) +
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

  // Prepares the trainings: methods that depend on the network are trained on each network, and all
  // others once for all networks.
  void Prepare() override {
    if (place().from == nullptr) Pilot();
    pieces_ = Pieces(timed_networks());
    if (scenario_.jobs > 1) {
      jobs_.emplace(scenario_, methods_, pieces_, first_piece_, place(), log_);
    }
  }
  size_t Count() const override { return pieces_.size(); }
  size_t First() const override { return first_piece_; }
  std::unique_ptr<Rounds> Begin(size_t position) override;
  void Save(size_t position) override;
  void End(bool done) override {
    if (jobs_ && !done) jobs_->jobs().Stop();
    jobs_.reset();
  }

 private:
  // Times a step of a method, whose first step took `seconds`, and the first evaluation of any
  // method. A first step allocates what later ones use: if it is short, another one is timed.
  void TimeStep(const Method& method, double seconds, StepSource& training) {
    constexpr double kShort = 1;
    if (seconds < kShort) {
      training.OnFeedback({});
      const Stopwatch watch;
      training.Step();
      seconds = watch.Seconds();
    }
    // A shape draws gradients in its first steps, and repeats their lengths.
    const int64_t steps = training.Evaluates()
                              ? int64_t{scenario_.steps}
                              : std::min<int64_t>(scenario_.steps, scenario_.drawn_steps);
    seconds_of_steps_[method.name] = static_cast<double>(steps) * seconds;
    if (evaluation_seconds_ || !training.Evaluates()) return;
    const Stopwatch watch;
    training.Evaluate();
    evaluation_seconds_ = watch.Seconds();
  }
  bool Stopped() const override { return stop_ != 0; }
  // Processes that share a training either all give up or none does.
  std::function<unsigned()> Patience() const override {
    return [this] { return alone_ ? place().checkpoints->Patience() : 0; };
  }
  // Runs the pilots of further networks.
  void Pilot() {
    const PatientScope scope(Patience()());
    for (const TimedNetwork& timed_network : timed_networks().subspan(1)) {
      const ScenarioTiming& timing = *timed_network.timing;
      methods_.PilotOn(timing.scenario(), timing.Description(), log_);
    }
  }
  // Returns all trainings, in the order of the rows.
  std::vector<TimedPiece> Pieces(std::span<const TimedNetwork> timed_networks) const {
    std::vector<TimedPiece> pieces;
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

  // Makes the source of a piece's steps: the training, or its journal. `shared` becomes the
  // training on those networks that may share it.
  std::unique_ptr<StepSource> SourceOf(size_t position, const TimedPiece& piece,
                                       std::unique_ptr<SharedTraining>& shared);
  // Returns the timings of further networks on which a piece's training may be the same.
  std::vector<ScenarioTiming*> SharingTimings(const TimedPiece& piece);
  // Writes what an earlier piece's training has left for this piece. Returns false if there is
  // nothing.
  bool WriteShared(const TimedPiece& piece);
  // Returns the state of a timing without trainings that are shared and not yet written.
  Bytes StateForCheckpoint(ScenarioTiming& timing) const;
  // Returns why there can be no checkpoint; "" if there can.
  std::string CannotSave() const;
  Recorder* RecorderFor(const StepSource& training);

  const Scenario& scenario_;
  const StopFlag& stop_;
  std::FILE* const log_;
  const bool alone_;  // false: several processes share the workers
  ScenarioTiming timing_;
  ComparedMethods methods_;
  BackendReports reports_;
  std::map<std::string, double> seconds_of_steps_;  // wall time of all steps, by method
  std::optional<double> evaluation_seconds_;
  int64_t elements_ = 0;
  // The reasons why a record may not be timed on other networks.
  std::vector<std::string> replay_refused_;
  std::optional<Recorder> recorder_;
  // The piece with which a resumed run continues, and the number of its steps that are done.
  size_t first_piece_ = 0;
  int64_t first_step_ = 0;
  bool said_cannot_save_ = false;
  std::vector<TimedPiece> pieces_;
  std::optional<PieceJobs> jobs_;   // set if trainings run in parallel
  WorkerRounds* rounds_ = nullptr;  // of the piece in progress
  // Trainings of earlier pieces that count for networks whose own pieces come later.
  std::vector<std::unique_ptr<TimedTwin>> twins_;
  std::map<std::string, int64_t> shared_;  // number of pieces that were not trained, by method
};

std::unique_ptr<StepSource> Comparison::SourceOf(size_t position, const TimedPiece& piece,
                                                 std::unique_ptr<SharedTraining>& shared) {
  if (jobs_) return jobs_->SourceOf(position);
  const Scenario& here = piece.networks.front().timing->scenario();
  const Method& method = methods_.Chosen(*piece.method, piece.seed, here);
  const bool goes_on = place().from != nullptr && position == first_piece_;
  const std::vector<ScenarioTiming*> timings =
      goes_on ? std::vector<ScenarioTiming*>() : SharingTimings(piece);
  if (timings.empty()) return methods_.MakeSource(method, piece.seed);
  NetworksPolicy* policy = nullptr;
  std::unique_ptr<StepSource> source =
      methods_.MakeSharedSource(method, piece.seed, timings.size(), &policy);
  shared =
      std::make_unique<SharedTraining>(*policy, timings, piece.method->name, piece.seed, *source);
  return source;
}

std::vector<ScenarioTiming*> Comparison::SharingTimings(const TimedPiece& piece) {
  std::vector<ScenarioTiming*> timings;
  if (!piece.own || piece.networks.size() == timed_networks().size()) return timings;
  const Method& method = methods_.Chosen(*piece.method, piece.seed, scenario_);
  for (const TimedNetwork& timed_network : timed_networks().subspan(1)) {
    const Method& other =
        methods_.Chosen(*piece.method, piece.seed, timed_network.timing->scenario());
    if (other.policy != method.policy || other.parameter != method.parameter) continue;
    timings.push_back(timed_network.timing);
  }
  return timings;
}

bool Comparison::WriteShared(const TimedPiece& piece) {
  const auto found = std::ranges::find(twins_, piece.networks.front().timing, &TimedTwin::timing);
  if (piece.own || found == twins_.end()) return false;
  (*found)->rows.WriteTo(*piece.networks.front().sink);
  twins_.erase(found);
  ++shared_[piece.method->name];
  for (int64_t step = 1; progress() != nullptr && step <= scenario_.steps; ++step) {
    progress()->Step({.policy = piece.method->name,
                      .seed = piece.seed,
                      .step = step,
                      .steps = scenario_.steps,
                      .loss = std::numeric_limits<double>::quiet_NaN()});
  }
  return true;
}

Bytes Comparison::StateForCheckpoint(ScenarioTiming& timing) const {
  const auto before = [&](const std::vector<std::unique_ptr<TimedTwin>>& twins) -> const Bytes* {
    const auto found = std::ranges::find(twins, &timing, &TimedTwin::timing);
    return found == twins.end() ? nullptr : &(*found)->before;
  };
  if (const Bytes* state = before(twins_)) return *state;
  const SharedTraining* const shared = rounds_->shared();
  if (const Bytes* state = shared ? before(shared->twins()) : nullptr) return *state;
  return StateOf(timing);
}

// Says which methods were not trained on every network.
std::string Comparison::Note() const {
  std::string note = methods_.sources().Note(reports_);
  for (const auto& [name, pieces] : shared_) {
    if (!note.empty()) note += "\n";
    const int64_t all = std::ssize(timed_networks()) * scenario_.seeds;
    note += name + ": " + std::to_string(all - pieces) +
            (all - pieces == 1 ? " training" : " trainings") + " in the place of " +
            std::to_string(all) + ", as its decisions were the same on " +
            (pieces == all - scenario_.seeds ? "all" : "some of the") + " networks";
  }
  return note;
}

Recorder* Comparison::RecorderFor(const StepSource& training) {
  if (!scenario_.record) return nullptr;
  const fs::path path = place().directory / kRecordFile;
  if (!recorder_ && place().from != nullptr) recorder_.emplace(path);
  if (!recorder_) {
    RecordHeader header(TrainingDocument(scenario_), training.Costs(), training.Layers());
    header.replay_refused = replay_refused_;
    recorder_.emplace(path, header);
  }
  return &*recorder_;
}

std::string Comparison::CannotSave() const {
  if (!scenario_.pcap.empty() || !scenario_.flow_monitor.empty() || !scenario_.netanim.empty()) {
    return "ns-3 writes files of its own";
  }
  return rounds_->source().CannotSave();
}

void Comparison::Save(size_t position) {
  if (jobs_ && stop_) jobs_->jobs().Stop();
  const std::string reason = CannotSave();
  if (!reason.empty()) {
    if (!std::exchange(said_cannot_save_, true)) {
      std::fprintf(log_, "warning: no checkpoint is written, as %s\n", reason.c_str());
    }
    return;
  }
  std::vector<fs::path> files;
  for (const TimedNetwork& timed_network : timed_networks()) {
    std::ranges::copy(timed_network.sink->Files(), std::back_inserter(files));
  }
  // A resumed run opens its record only when it writes the next line.
  const bool recorded = recorder_ || (scenario_.record && place().from != nullptr);
  if (recorded) files.push_back(place().directory / kRecordFile);
  if (timing_.Samples()) files.push_back(place().directory / analysis::FidelityRow::kFile);

  if (jobs_) jobs_->jobs().RequestCheckpoints();
  const bool written = place().checkpoints->Write(files, [&](SectionWriter& out) {
    WriteSection(out, kRunSection, [&](StateWriter& state) {
      const int64_t steps = scenario_.steps;
      ToArchive(state, position, rounds_->Done(), steps, reports_);
      methods_.Save(ScenariosOf(timed_networks()), state);
    });
    WriteSection(out, kTimingSection, [&](StateWriter& state) {
      for (const TimedNetwork& timed_network : timed_networks()) {
        state.Blob(StateForCheckpoint(*timed_network.timing));
      }
    });
    WriteSection(out, kPieceSection, [&](StateWriter& state) {
      rounds_->Save(state);
      // Networks on which the piece is not timed have also kept some state.
      for (const TimedNetwork& timed_network : timed_networks()) {
        if (const StepListener* listener = timed_network.sink->Listener()) listener->Save(state);
      }
    });
    rounds_->source().Save(out);
  });
  if (written && jobs_) jobs_->Saved(position);
}

void Comparison::Load(const SectionFile& from, std::span<const TimedNetwork> timed_networks) {
  int64_t steps = 0;
  ReadSection(from, kRunSection, [&](StateReader& state) {
    FromArchive(state, first_piece_, first_step_, steps, reports_);
    methods_.Load(ScenariosOf(timed_networks), state);
  });
  const std::vector<TimedPiece> pieces = Pieces(timed_networks);
  if (first_piece_ >= pieces.size()) throw Error(from.path().string() + ": of another run");
  if (steps != scenario_.steps && first_piece_ > 0) {
    throw Error("training.steps (--steps)", std::to_string(scenario_.steps),
                std::to_string(steps) + ", as method " + pieces.front().method->name + ", seed " +
                    std::to_string(pieces.front().seed) + ", ended with them");
  }
  ReadSection(from, kTimingSection, [&](StateReader& state) {
    for (const TimedNetwork& timed_network : timed_networks) {
      const ByteSpan blob = state.Blob();
      Restore(*timed_network.timing, Bytes(blob.begin(), blob.end()));
    }
  });
  const TimedPiece& piece = pieces[first_piece_];
  std::fprintf(log_, "continues after step %lld of method %s, seed %llu (%s)\n",
               static_cast<long long>(first_step_), piece.method->name.c_str(),
               static_cast<unsigned long long>(piece.seed), from.path().c_str());
}

std::unique_ptr<Rounds> Comparison::Begin(size_t position) {
  const TimedPiece& piece = pieces_[position];
  if (WriteShared(piece)) return nullptr;
  std::unique_ptr<SharedTraining> shared;
  std::unique_ptr<StepSource> source = SourceOf(position, piece, shared);
  Recorder* const recorder = piece.own ? RecorderFor(*source) : nullptr;
  auto rounds =
      std::make_unique<WorkerRounds>(WorkerRounds::Parts{.scenario = scenario_,
                                                         .piece = piece,
                                                         .source = std::move(source),
                                                         .shared = std::move(shared),
                                                         .twins = twins_,
                                                         .recorder = recorder,
                                                         .jobs = jobs_ ? &jobs_->jobs() : nullptr,
                                                         .directory = place().directory,
                                                         .progress = progress()});
  rounds_ = rounds.get();
  if (place().from != nullptr && position == first_piece_) {
    ReadSection(*place().from, kPieceSection, [&](StateReader& state) {
      rounds->Load(state);
      for (const TimedNetwork& timed_network : timed_networks()) {
        if (StepListener* listener = timed_network.sink->Listener()) listener->Load(state);
      }
    });
    rounds->LoadSource(*place().from);
  }
  return rounds;
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
