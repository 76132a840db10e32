#include "scenarios/run/comparison.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "compress/state_section.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/checkpoint/jobs.h"
#include "scenarios/checkpoint/journal.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/options/methods.h"
#include "scenarios/run/equal_bytes.h"
#include "scenarios/run/gradient_files.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/pilot.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/timed_run.h"
#include "scenarios/training/processes.h"
#include "scenarios/training/step_sources.h"
#include "scenarios/training/training_request.h"
#include "trainer/clock/traffic_record.h"
#include "trainer/memory.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// UnitStats are sums over one training, by unit, for layers.csv.
struct UnitStats {
  explicit UnitStats(size_t units) : parameter(units), elements(units), bytes(units) {}

  // Adds a step in which `share` of the workers are active. Returns the elements that one worker
  // sends, in the mean over the workers.
  double Add(const std::vector<UnitOutcome>& units, double share) {
    double sent = 0;
    for (size_t u = 0; u < units.size(); ++u) {
      parameter[u] += units[u].parameter;
      elements[u] += static_cast<double>(units[u].elements) * share;
      bytes[u] += units[u].bytes;
      sent += static_cast<double>(units[u].elements) * share;
    }
    return sent;
  }

  template <class Archive>
  friend void Fields(Archive& archive, UnitStats& s) {
    archive(s.parameter, s.elements, s.bytes);
  }

  std::vector<double> parameter, elements;
  std::vector<int64_t> bytes;  // bytes of all workers
};

// A SavedChoice is a method as pilots chose it.
struct SavedChoice {
  std::string name;
  uint64_t seed = 0;
  size_t network = 0;  // position among the networks
  std::string policy;
  double parameter = 0;
  double requested = 0;
  double piloted = 0;
  int pilots = 0;
  template <class Archive>
  friend void Fields(Archive& archive, SavedChoice& c) {
    archive(c.name, c.seed, c.network, c.policy, c.parameter, c.requested, c.piloted, c.pilots);
  }
};

// A Piece is a training on the networks that it is timed on.
struct Piece {
  const Method* method = nullptr;
  uint64_t seed = 0;
  std::span<const TimedNetwork> networks;
  bool own = false;  // true on the run's own network, where the training is recorded
};

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
        processes_(processes),
        timing_(scenario),
        sources_(scenario.layers.empty() ? TrainedSources(scenario) : DrawnSources(scenario)),
        replay_refused_(ReplayRefusals(scenario)) {
    for (const std::string& name : scenario.policies)
      methods_.push_back(FindMethod(scenario, name));
    CheckMemory();
    for (const Method& method : methods_) MakeSource(method, scenario.seed);
    TargetAmong(scenario, sources_->Metrics());  // refuses a target before anything is trained
    const Unit& last = sources_->Layers().back();
    elements_ = last.offset + last.numel;
  }

  // Runs one step of each method before anything is written, so that mistakes and the cost of
  // packets are known now.
  CostEstimate Estimate(std::FILE* log) override {
    CostEstimate estimate(timing_.network());
    if (log != nullptr && !sources_->Announcement().empty()) {
      std::fprintf(log, "%s\n", sources_->Announcement().c_str());
    }
    if (log != nullptr && !memory_text_.empty()) std::fprintf(log, "%s\n", memory_text_.c_str());
    for (const Method& method : methods_) {
      const Method& chosen = Chosen(method, scenario_.seed, scenario_);
      const std::unique_ptr<StepSource> training = MakeSource(chosen, scenario_.seed, log);
      if (log != nullptr) SayVolume(method, scenario_, log);
      const std::vector<Clock> clocks =
          timing_.MakeClocks(training->Costs(), training->LayerNumels());
      const Clock& clock = clocks.front();
      const StepStart start = timing_.StartOf(clock, scenario_.seed, 0);
      training->SetLink(timing_.LinkAt(0));
      const StepOutcome first = training->Step(start.participation.workers);
      reports_[method.name] = training->Report();
      const std::string text = sources_->Text(reports_[method.name]);
      if (log != nullptr && !text.empty()) std::fprintf(log, "  %-22s %s\n", "", text.c_str());
      const PricedStep priced = timing_.Price(clock, first.work, start);
      estimate.Add(priced.traffic, DifferentSteps(method, *training));
    }
    return estimate;
  }

  ScenarioTiming& Timing() override { return timing_; }
  std::string Title() const override {
    return sources_->Title() + ", " + std::to_string(elements_) + " parameters, ";
  }
  nlohmann::json Manifest(const std::string& program,
                          const std::string& command_line) const override {
    nlohmann::json manifest = ManifestDocument(scenario_, program, command_line,
                                               sources_->Metrics(), elements_, replay_refused_);
    sources_->Describe(reports_, manifest);
    manifest["decisions"] = forecasts_;
    manifest["requested_bytes"] = requested_;
    return manifest;
  }
  std::string Note() const override { return sources_->Note(reports_); }
  // Returns the number of steps that are not done yet.
  int64_t Steps(size_t timed_networks) const override {
    int64_t trainings = 0;
    for (const Method& method : methods_) {
      trainings += DependsOnNetwork(method) ? static_cast<int64_t>(timed_networks) : 1;
    }
    const auto whole = static_cast<int64_t>(first_piece_);
    return (trainings * scenario_.seeds - whole) * scenario_.steps - first_step_;
  }
  void Load(const SectionFile& from, std::span<const TimedNetwork> timed_networks) override;
  // Trains methods that depend on the network on each of them, and all others once for all
  // networks.
  bool Run(std::span<const TimedNetwork> timed_networks, Progress* progress,
           const RunPlace& place) override {
    if (place.from == nullptr) {
      for (const TimedNetwork& timed_network : timed_networks.subspan(1)) PilotOn(timed_network);
    }
    const std::vector<Piece> pieces = Pieces(timed_networks);
    if (scenario_.jobs > 1) StartJobs(pieces, place);
    bool done = true;
    for (size_t p = first_piece_; p < pieces.size() && done; ++p) {
      done = Train(p, pieces[p], timed_networks, progress, place);
    }
    jobs_.reset();
    return done;
  }

 private:
  // Returns all trainings, in the order of the rows.
  std::vector<Piece> Pieces(std::span<const TimedNetwork> timed_networks) const {
    std::vector<Piece> pieces;
    for (int s = 0; s < scenario_.seeds; ++s) {
      for (const Method& method : methods_) {
        const size_t together = DependsOnNetwork(method) ? 1 : timed_networks.size();
        for (size_t first = 0; first < timed_networks.size(); first += together) {
          pieces.push_back(
              {&method, scenario_.seed + s, timed_networks.subspan(first, together), first == 0});
        }
      }
    }
    return pieces;
  }

  // Returns the method as it is trained with that seed on the network of `here`. Where volumes are
  // equal in bytes and the method needs pilots, it has the anchor that they found.
  const Method& Chosen(const Method& method, uint64_t seed, const Scenario& here) {
    const auto [entry, first] = chosen_.try_emplace({method.name, seed, &here}, EqualBytes{method});
    if (!first) return entry->second.method;
    const std::vector<Unit> units = UnitsOf(method);
    const auto requested = RequestedBytes(method, scenario_, units);
    if (requested) requested_[method.name] = *requested;
    const PilotBytes pilot = [&](const Method& candidate) {
      return BytesOfPilot(*MakeSource(candidate, seed, nullptr, 1), here, DependsOnNetwork(method));
    };
    auto found = EqualBytesOf(method, scenario_, units, pilot);
    if (found) entry->second = std::move(*found);
    return entry->second.method;
  }

  // Runs the pilots on a further network. The requested bytes are the same on all networks; the
  // anchor is not, where the policy reads the clock.
  void PilotOn(const TimedNetwork& timed_network) {
    for (const Method& method : methods_) {
      if (!DependsOnNetwork(method)) continue;
      const Scenario& here = timed_network.timing->scenario();
      Chosen(method, scenario_.seed, here);
      if (chosen_.at({method.name, scenario_.seed, &here}).pilots == 0) continue;
      std::fprintf(log_, "on %s\n", timed_network.timing->Description().c_str());
      SayVolume(method, here, log_);
    }
  }

  // Prints the requested bytes and those of the best pilot on that network, where there were
  // pilots.
  void SayVolume(const Method& method, const Scenario& here, std::FILE* log) const {
    const EqualBytes& volume = chosen_.at({method.name, scenario_.seed, &here});
    if (volume.pilots == 0) return;
    std::fprintf(log, "  %-22s %.0f bytes a step asked for, %.0f in the best of %d pilots%s\n",
                 &here == &scenario_ ? "" : method.name.c_str(), volume.requested, volume.piloted,
                 volume.pilots, volume.Reached() ? "" : ": the nearest that it reaches");
  }

  std::vector<Unit> UnitsOf(const Method& method) const {
    return legacy::UnitsOf(method, scenario_, sources_->Layers());
  }

  // Makes a training's source. `log` receives the method's description; null: nobody does.
  // `workers` 0: those of the scenario.
  std::unique_ptr<StepSource> MakeSource(const Method& method, uint64_t seed,
                                         std::FILE* log = nullptr, int workers = 0) {
    BuiltMethod built = BuildMethod(method, scenario_, UnitsOf(method), sources_->StepsPerEpoch());
    if (const auto forecast = built.policy->DecisionsIn(scenario_.steps)) {
      forecasts_[method.name] = forecast->decisions;
    }
    if (log != nullptr) {
      std::fprintf(log, "  %-22s %s\n", method.name.c_str(), built.description.c_str());
      const std::string warning = FewDecisions(method, *built.policy, scenario_.steps);
      if (!warning.empty()) std::fprintf(log, "warning: %s\n", warning.c_str());
      if (method.local_steps > scenario_.steps) {
        std::fprintf(log, "warning: %s: it exchanges every %lld steps, so never in this run\n",
                     method.name.c_str(), static_cast<long long>(method.local_steps));
      }
    }
    if (workers == 0) workers = scenario_.workers;
    const TrainingOptions options =
        OptionsOf(scenario_, method, seed, workers, *built.scheme, processes_);
    const auto make = [&] { return sources_->Make(options, std::move(built)); };
    if (processes_.Alone()) return make();
    return Lead({method.name, method.policy, method.parameter, seed, workers}, make, processes_);
  }

  // True where the training is evaluated after that many steps.
  bool Evaluates(int64_t done) const {
    return done % scenario_.evaluate_every == 0 || done == scenario_.steps;
  }

  bool DependsOnNetwork(const Method& method) const {
    return !NetworkDependence(method, scenario_).empty();
  }

  // Returns the number of a method's steps that differ on the network, as far as its policy knows
  // beforehand.
  int64_t DifferentSteps(const Method& method, const StepSource& training) const {
    const std::span<const Unit> units = training.Units();
    if (!timing_.Memoises() || *scenario_.index == IndexCoding::kDelta) return scenario_.steps;
    const BuiltMethod built = BuildMethod(method, scenario_, units);
    const bool data_decides = !built.scheme->MessageBytes(units.front(), built.parameter);
    if (built.adaptive || data_decides) return scenario_.steps;
    std::set<std::vector<double>> choices;
    std::vector<double> parameters(units.size());
    for (int64_t step = 0; step < scenario_.steps; ++step) {
      DecideParameters(*built.policy, {.step = step, .total_steps = scenario_.steps}, units,
                       parameters);
      choices.insert(parameters);
    }
    return static_cast<int64_t>(choices.size());
  }

  // Throws Error where the trainings would take more memory than they may.
  void CheckMemory();
  // Starts a process for each piece that is left.
  void StartJobs(const std::vector<Piece>& pieces, const RunPlace& place);
  // Trains a piece in a process of its own, into a journal. Returns the process's status.
  int TrainJob(const Piece& piece, const fs::path& folder, const SectionFile* from,
               const RunPlace& place);
  // Makes the source of a piece's steps: the training, or its journal.
  std::unique_ptr<StepSource> SourceOf(size_t position, const Piece& piece, const RunPlace& place);
  // Trains one piece, or what is left of it.
  bool Train(size_t position, const Piece& piece, std::span<const TimedNetwork> timed_networks,
             Progress* progress, const RunPlace& place);
  // Writes a checkpoint in the middle of a piece.
  void Save(size_t position, const StepSource& training, const UnitStats& stats,
            const TimedEverywhere& timed, std::span<const TimedNetwork> timed_networks,
            const RunPlace& place);
  void WriteDecisions(const Method& method, uint64_t seed, StepSource& training,
                      TimedEverywhere& timed) const;
  void WriteLayers(const Method& method, uint64_t seed, const StepSource& training,
                   const UnitStats& stats, TimedEverywhere& timed) const;
  TrafficRecorder* Recorder(const RunPlace& place, const StepSource& training);

  const Scenario& scenario_;
  const StopFlag& stop_;
  std::FILE* const log_;
  ProcessGroup& processes_;
  ScenarioTiming timing_;
  std::vector<Method> methods_;
  std::unique_ptr<StepSources> sources_;
  BackendReports reports_;
  // Methods by name, seed and network (its scenario).
  std::map<std::tuple<std::string, uint64_t, const Scenario*>, EqualBytes> chosen_;
  // Requested bytes of a step by method, where volumes are equal.
  std::map<std::string, double> requested_;
  std::map<std::string, int64_t> forecasts_;  // decisions by method, for policies that decide
  int64_t elements_ = 0;
  // Reasons why a record may not be timed on other networks.
  std::vector<std::string> replay_refused_;
  std::optional<TrafficRecorder> recorder_;
  // The piece that a resumed run goes on with, and the number of its steps that are done.
  size_t first_piece_ = 0;
  int64_t first_step_ = 0;
  bool said_cannot_save_ = false;
  std::string memory_text_;      // the memory of the largest training, where it is large
  std::optional<Jobs> jobs_;     // where trainings run side by side
  size_t saved_piece_ = 0;       // the piece of the last checkpoint
  size_t journals_removed_ = 0;  // pieces whose journals are removed
};

// A NullSink takes the rows of times that only a policy reads.
class NullSink : public RunSink {
 public:
  void Write(const analysis::StepRow&) override {}
  void Write(const analysis::EvaluationRow&) override {}
  void Write(const analysis::LayerRow&) override {}
  void Write(const analysis::DecisionRow&) override {}
  void Write(const analysis::LinkRow&) override {}
  void Write(const analysis::NetworkRow&) override {}
};

constexpr const char* kJournalFile = "journal";

fs::path JobFolder(const fs::path& directory, size_t position) {
  return directory / kCheckpointFolder / ("job-" + std::to_string(position));
}

void Comparison::CheckMemory() {
  const auto costs = sources_->HostCosts();
  if (!costs) return;
  std::vector<std::pair<double, std::string>> trainings;  // bytes of each, and their text
  for (const Method& method : methods_) {
    const std::vector<Unit> units = UnitsOf(method);
    const BuiltMethod built = BuildMethod(method, scenario_, units, sources_->StepsPerEpoch());
    const int workers = scenario_.workers, processes = processes_.size();
    TrainingOptions options =
        OptionsOf(scenario_, method, scenario_.seed, workers, *built.scheme, processes_);
    // Process 0 has the most workers of its own, and the messages of all.
    options.workers = (workers + processes - 1) / processes;
    TrainingMemory memory = EstimateMemory(options, units, *costs, *built.scheme, built.parameter);
    memory.messages *= static_cast<double>(workers) / options.workers;
    std::string text = method.name + ", " + memory.Text(options.workers);
    if (!processes_.Alone()) {
      text += ", in each of " + std::to_string(processes_.local_size()) + " processes";
    }
    trainings.emplace_back(memory.Total() * processes_.local_size(), text);
  }
  std::ranges::sort(trainings, std::greater());
  // At worst the largest ones run side by side: each method with several seeds, on all networks.
  double bytes = 0;
  for (int job = 0; job < scenario_.jobs; ++job) {
    bytes += trainings[std::min<size_t>(job / scenario_.seeds, trainings.size() - 1)].first;
  }
  const std::string of =
      scenario_.jobs > 1
          ? std::to_string(scenario_.jobs) + " jobs, the largest with " + trainings.front().second
          : trainings.front().second;
  const std::optional<double> limit = scenario_.memory->Bytes();
  if (limit && bytes > *limit) {
    throw Error("memory (--memory)", "about " + MemoryText(bytes) + " for policy " + of,
                "at most " + MemoryText(*limit) + " (" + scenario_.memory.text() +
                    "): with fewer workers, threads or jobs, or a smaller batch, it is less");
  }
  constexpr double kWorthALine = 1 << 30;
  if (bytes >= kWorthALine)
    memory_text_ = "memory: about " + MemoryText(bytes) + " for policy " + of;
}

void Comparison::StartJobs(const std::vector<Piece>& pieces, const RunPlace& place) {
  std::vector<Job> jobs;
  for (size_t p = first_piece_; p < pieces.size(); ++p) {
    const Piece& piece = pieces[p];
    const fs::path folder = JobFolder(place.directory, p);
    // What a killed process left of the journal behind its checkpoint is cut off before anybody
    // reads it.
    auto from = std::make_shared<std::unique_ptr<SectionFile>>();
    const auto prepare = [this, folder, from] {
      Checkpoints checkpoints(folder, {}, log_);
      *from = checkpoints.Newest();
      if (*from) return checkpoints.CutBack(**from);
      OutputFile(folder / kJournalFile, OutputFile::Mode::kReplace).Close();
    };
    const auto work = [this, piece, folder, from, &place] {
      return TrainJob(piece, folder, from->get(), place);
    };
    jobs.push_back({"policy " + piece.method->name + ", seed " + std::to_string(piece.seed), folder,
                    prepare, work});
  }
  jobs_.emplace(std::move(jobs), static_cast<size_t>(scenario_.jobs));
  jobs_->Tend();
}

int Comparison::TrainJob(const Piece& piece, const fs::path& folder, const SectionFile* from,
                         const RunPlace& place) {
  const StopFlag& stop = CatchStop(SIGUSR2);
  const Scenario here = WithoutDiagnostics(piece.networks.front().timing->scenario());
  const Method& method =
      Chosen(*piece.method, piece.seed, piece.networks.front().timing->scenario());
  const std::unique_ptr<StepSource> training = MakeSource(method, piece.seed);
  std::optional<GradientFiles> gradients;
  if (piece.own && !scenario_.gradient_steps.empty()) {
    gradients.emplace(scenario_, training->Layers(), place.directory);
    training->SetGradientHook([&](int64_t step, int worker, std::span<const float> gradient) {
      gradients->Write(method.name, piece.seed, step, worker, gradient);
    });
  }
  // Policies that read the clock see times of this process; all others see none.
  const bool reads_clock = DependsOnNetwork(*piece.method);
  ScenarioTiming timing(here);
  NullSink sink;
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
    const StepStart start = timing.StartOf(clocks.front(), piece.seed, done);
    training->SetLink(timing.LinkAt(done));
    JournalStep step;
    step.outcome = training->Step(start.participation.workers);
    if (reads_clock) timed.Step(step.outcome.work, start, {});
    training->OnFeedback(reads_clock ? timed.Times() : StepTimes{});
    step.decisions = training->TakeDecisions();
    ++done;
    if (Evaluates(done) && training->Evaluates()) step.evaluation = training->Evaluate();
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
                                                 const RunPlace& place) {
  if (!jobs_) {
    const Scenario& here = piece.networks.front().timing->scenario();
    return MakeSource(Chosen(*piece.method, piece.seed, here), piece.seed);
  }
  const size_t job = position - first_piece_;
  jobs_->AwaitStart(job);
  return std::make_unique<JournalSource>(JobFolder(place.directory, position) / kJournalFile,
                                         sources_->Metrics(), [this, job] { jobs_->Wait(job); });
}

constexpr const char* kTrafficFile = "traffic.jsonl";

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
                      const RunPlace& place) {
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

  std::vector<SavedChoice> choices;
  for (const auto& [key, chosen] : chosen_) {
    const auto& [name, seed, here] = key;
    const auto is_here = [scenario = here](const TimedNetwork& timed_network) {
      return &timed_network.timing->scenario() == scenario;
    };
    const auto network = std::ranges::find_if(timed_networks, is_here) - timed_networks.begin();
    choices.push_back({name, seed, static_cast<size_t>(network), chosen.method.policy,
                       chosen.method.parameter, chosen.requested, chosen.piloted, chosen.pilots});
  }
  if (jobs_) jobs_->RequestCheckpoints();
  const bool written = place.checkpoints->Write(files, [&](SectionWriter& out) {
    WriteSection(out, kRunSection, [&](StateWriter& state) {
      const int64_t steps = scenario_.steps;
      ToArchive(state, position, timed.Done(), steps, choices, requested_, forecasts_, reports_);
    });
    WriteSection(out, kTimingSection, [&](StateWriter& state) {
      for (const TimedNetwork& timed_network : timed_networks) timed_network.timing->Save(state);
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
    fs::remove_all(JobFolder(place.directory, journals_removed_));
  }
  if (written) saved_piece_ = position;
}

void Comparison::Load(const SectionFile& from, std::span<const TimedNetwork> timed_networks) {
  std::vector<SavedChoice> choices;
  int64_t steps = 0;
  ReadSection(from, kRunSection, [&](StateReader& state) {
    FromArchive(state, first_piece_, first_step_, steps, choices, requested_, forecasts_, reports_);
  });
  const std::vector<Piece> pieces = Pieces(timed_networks);
  if (first_piece_ >= pieces.size()) throw Error(from.path().string() + ": of another run");
  if (steps != scenario_.steps && first_piece_ > 0) {
    throw Error("training.steps (--steps)", std::to_string(scenario_.steps),
                std::to_string(steps) + ", as policy " + pieces.front().method->name + ", seed " +
                    std::to_string(pieces.front().seed) + ", ended with them");
  }
  for (const SavedChoice& choice : choices) {
    const auto method = std::ranges::find(methods_, choice.name, &Method::name);
    if (method == methods_.end() || choice.network >= timed_networks.size()) {
      throw Error(from.path().string() + ": of another run");
    }
    const Scenario* const here = &timed_networks[choice.network].timing->scenario();
    EqualBytes& chosen =
        chosen_.try_emplace({choice.name, choice.seed, here}, EqualBytes{*method}).first->second;
    chosen.method.policy = choice.policy;
    chosen.method.parameter = choice.parameter;
    chosen.requested = choice.requested;
    chosen.piloted = choice.piloted;
    chosen.pilots = choice.pilots;
  }
  ReadSection(from, kTimingSection, [&](StateReader& state) {
    for (const TimedNetwork& timed_network : timed_networks) timed_network.timing->Load(state);
  });
  const Piece& piece = pieces[first_piece_];
  std::fprintf(log_, "goes on behind step %lld of policy %s, seed %llu (%s)\n",
               static_cast<long long>(first_step_), piece.method->name.c_str(),
               static_cast<unsigned long long>(piece.seed), from.path().c_str());
}

bool Comparison::Train(size_t position, const Piece& piece,
                       std::span<const TimedNetwork> timed_networks, Progress* progress,
                       const RunPlace& place) {
  const Method& method = *piece.method;
  const uint64_t seed = piece.seed;
  const std::unique_ptr<StepSource> training = SourceOf(position, piece, place);
  TrafficRecorder* recorder = piece.own ? Recorder(place, *training) : nullptr;
  UnitStats stats(training->Units().size());
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
    const StepStart start = timed.Start();
    training->SetLink(piece.networks.front().timing->LinkAt(done - 1));
    const StepOutcome outcome = training->Step(start.participation.workers);
    const double share =
        static_cast<double>(outcome.work.ActiveWorkers()) / static_cast<double>(scenario_.workers);
    const double sent = stats.Add(outcome.units, share);
    timed.Step(outcome.work, start, {outcome.learning_rate, outcome.loss, sent});
    training->OnFeedback(timed.Times());
    WriteDecisions(method, seed, *training, timed);
    if (recorder) recorder->Write(method.name, seed, outcome.work);
    if (jobs_) jobs_->Tend();
    if (Evaluates(done) && training->Evaluates()) {
      const Evaluation result = training->Evaluate();
      timed.Evaluated(result.loss, result.metrics);
    }
    if (jobs_ && stop_) jobs_->Stop();
    if (place.checkpoints->Due() || (stop_ && place.checkpoints->On())) {
      Save(position, *training, stats, timed, timed_networks, place);
    }
    if (stop_) return false;
  }
  WriteLayers(method, seed, *training, stats, timed);
  timed.Finish();
  return true;
}

// Writes the decisions that were made in the last step. Decisions for steps after the training are
// left out.
void Comparison::WriteDecisions(const Method& method, uint64_t seed, StepSource& training,
                                TimedEverywhere& timed) const {
  for (const Decision& made : training.TakeDecisions()) {
    if (made.step >= scenario_.steps) continue;
    const bool all = made.unit == Decision::kAllUnits;
    const DecisionGrounds& grounds = made.grounds;
    timed.Write(analysis::DecisionRow{method.name, seed, made.step, made.number,
                                      all ? "all" : training.Units()[made.unit].name,
                                      made.parameter, grounds.error, grounds.budget, grounds.gain,
                                      grounds.seconds, grounds.reason});
  }
}

void Comparison::WriteLayers(const Method& method, uint64_t seed, const StepSource& training,
                             const UnitStats& stats, TimedEverywhere& timed) const {
  const std::span<const Unit> units = training.Units();
  for (size_t u = 0; u < units.size(); ++u) {
    timed.Write(analysis::LayerRow{method.name, seed, units[u].name, units[u].numel,
                                   stats.parameter[u] / static_cast<double>(scenario_.steps),
                                   stats.elements[u],
                                   static_cast<double>(stats.bytes[u]) / scenario_.workers});
  }
}

}  // namespace

RunResult RunComparison(const Scenario& given, const std::string& program,
                        const std::string& command_line, const StopFlag& stop, std::FILE* log,
                        const RunControl& control) {
  const Scenario scenario = InSteps(given);
  ProcessGroup& processes = control.processes ? *control.processes : OneProcess();
  return FillRunDirectory(
      scenario, program, command_line,
      [&](const Scenario& chosen) {
        return std::make_unique<Comparison>(chosen, stop, log, processes);
      },
      log, control);
}

}  // namespace legacy
