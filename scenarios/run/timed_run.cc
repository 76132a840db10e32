#include "scenarios/run/timed_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <thread>

#include "analysis/run_directory.h"
#include "base/files/json.h"
#include "base/files/own_file.h"
#include "base/programs/patience.h"
#include "base/programs/program.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/run/fidelity_choice.h"
#include "scenarios/run/fill_run.h"
#include "scenarios/run/further_networks.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/open_run.h"
#include "scenarios/run/progress.h"
#include "scenarios/run/shape_ranks.h"
#include "scenarios/run/well_known.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

void Say(const std::string& lead, const ScenarioTiming& timing, std::FILE* log) {
  std::fprintf(log, "%s%s\n", lead.c_str(), timing.Description().c_str());
  const std::string warning = timing.Warning();
  if (!warning.empty()) std::fprintf(log, "warning: %s\n", warning.c_str());
}

// FurtherPlaces has the further networks of a run, each with its run directory.
class FurtherPlaces {
 public:
  // Throws Error on networks that are not valid. Writes nothing.
  explicit FurtherPlaces(const Scenario& scenario) : networks_(FurtherNetworks(scenario)) {
    for (const FurtherNetwork& network : networks_) {
      timings_.push_back(std::make_unique<ScenarioTiming>(network.scenario, GiveUpIfLate));
    }
  }

  size_t size() const { return networks_.size(); }
  void Say(std::FILE* log) const {
    for (size_t i = 0; i < size(); ++i) {
      legacy::Say("  and on " + networks_[i].name + ": ", *timings_[i], log);
    }
  }

  // Returns names, folders and the ratios of well-known models for the manifest; the run's own
  // network comes first.
  nlohmann::json Document(const Scenario& own) const {
    nlohmann::json document = {Entry(OwnNetworkName(own), ".", own)};
    for (const FurtherNetwork& network : networks_) {
      document.push_back(Entry(network.name, Folder(network), network.scenario));
    }
    return document;
  }

  // Makes the run directories of the networks below `directory`, with their manifests. `manifest`
  // is that of the run itself.
  void WriteManifests(const fs::path& directory, nlohmann::json manifest) const {
    manifest.erase("networks");
    for (const FurtherNetwork& network : networks_) {
      const fs::path path = directory / Folder(network);
      MakeFolderIn(directory, Folder(network));
      manifest["network"] = network.name;
      manifest["fidelity"] = network.scenario.fidelity.text();
      manifest["configuration"]["network"] = ScenarioDocument(network.scenario).at("network");
      DescribeFlops(network.scenario, manifest);
      analysis::WriteManifest(path, manifest);
    }
  }

  // Opens their files, which are continued if the run is continued.
  void Open(const fs::path& directory, const analysis::Manifest& manifest, bool goes_on) {
    for (size_t i = 0; i < size(); ++i) {
      CheckFoldersIn(directory, Folder(networks_[i]) / "steps.csv");
      sinks_.push_back(std::make_unique<DirectorySink>(
          *timings_[i], directory / Folder(networks_[i]), manifest, goes_on));
    }
  }

  // Returns the files of all networks, including the run's own, that grow row by row.
  std::vector<fs::path> GrowingFiles(const fs::path& directory,
                                     const analysis::Manifest& manifest) const {
    std::vector<fs::path> files = DirectorySink::GrowingFiles(directory, manifest);
    for (const FurtherNetwork& network : networks_) {
      std::ranges::copy(DirectorySink::GrowingFiles(directory / Folder(network), manifest),
                        std::back_inserter(files));
    }
    return files;
  }

  void AddTo(std::vector<TimedNetwork>& timed_networks) const {
    for (size_t i = 0; i < size(); ++i)
      timed_networks.push_back({timings_[i].get(), sinks_[i].get()});
  }
  void RequirePackets() const {
    for (const auto& timing : timings_) timing->RequirePackets();
  }

 private:
  static nlohmann::json Entry(const std::string& name, const fs::path& folder,
                              const Scenario& scenario) {
    nlohmann::json entry = {{"name", name}, {"directory", folder.string()}};
    for (const CommunicationRatio& known : WellKnownRatios(scenario)) {
      entry["well_known"].push_back({{"model", known.model}, {"ratio", known.ratio}});
    }
    return entry;
  }
  static fs::path Folder(const FurtherNetwork& network) {
    return fs::path("networks") / network.name;
  }

  const std::vector<FurtherNetwork> networks_;  // the timings refer to these
  std::vector<std::unique_ptr<ScenarioTiming>> timings_;
  std::vector<std::unique_ptr<DirectorySink>> sinks_;
};

StepClocks ProfileClocks(const ScenarioTiming& timing, std::span<const OperationCost> costs,
                         std::span<const Unit> layers) {
  StepClocks clocks;
  for (Clock& clock : timing.MakeClocks(costs, layers)) {
    clocks.push_back(std::make_unique<Clock>(std::move(clock)));
  }
  return clocks;
}

}  // namespace

TimedEverywhere::TimedEverywhere(std::span<const TimedNetwork> timed_networks, Progress* progress,
                                 const std::string& policy, uint64_t seed,
                                 const std::function<StepClocks(const ScenarioTiming&)>& clocks,
                                 std::span<const Unit> layers)
    : timed_networks_(timed_networks) {
  timed_.reserve(timed_networks.size());
  for (const TimedNetwork& timed_network : timed_networks) {
    timed_.emplace_back(*timed_network.timing, *timed_network.sink,
                        timed_.empty() ? progress : nullptr, policy, seed,
                        clocks(*timed_network.timing), layers);
  }
}

TimedEverywhere::TimedEverywhere(std::span<const TimedNetwork> timed_networks, Progress* progress,
                                 const std::string& policy, uint64_t seed,
                                 std::span<const OperationCost> costs, std::span<const Unit> layers)
    : TimedEverywhere(
          timed_networks, progress, policy, seed,
          [&](const ScenarioTiming& timing) { return ProfileClocks(timing, costs, layers); },
          layers) {}

void TimedEverywhere::Step(const StepWork& work, const StepStart& start, const StepFacts& facts) {
  const auto step = [&](int64_t i, int /*thread*/) {
    timed_[i].Step(work, i == 0 ? start : timed_[i].Start(), facts);
  };
  const auto count = static_cast<int64_t>(timed_.size());
  if (pool_ == nullptr && count > 1 && timed_networks_.front().timing->Packets() &&
      PacketsRunAtOnce()) {
    const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
    pool_ = std::make_unique<WorkerPool>(static_cast<int>(std::clamp<int64_t>(cores, 1, count)));
  }
  if (pool_) return pool_->ForEach(count, step);
  for (int64_t i = 0; i < count; ++i) step(i, 0);
}

void TimedEverywhere::Evaluated(double loss, const std::vector<double>& metrics) {
  for (TimedTraining& timed : timed_) timed.Evaluated(loss, metrics);
}

void TimedEverywhere::Write(const analysis::LayerRow& row) {
  for (const TimedNetwork& timed_network : timed_networks_) timed_network.sink->Write(row);
}

void TimedEverywhere::Write(const analysis::DecisionRow& row) {
  for (const TimedNetwork& timed_network : timed_networks_) timed_network.sink->Write(row);
}

void TimedEverywhere::Save(StateWriter& out) const {
  for (const TimedTraining& timed : timed_) timed.Save(out);
}

void TimedEverywhere::Load(StateReader& in) {
  for (TimedTraining& timed : timed_) timed.Load(in);
}

void TimedEverywhere::Finish() {
  for (TimedTraining& timed : timed_) timed.Finish();
}

bool TimedRun::Run(std::span<const TimedNetwork> timed_networks, Progress* progress,
                   const RunPlace& place) {
  timed_networks_ = timed_networks;
  progress_ = progress;
  place_ = place;
  return RunTrainings(*this, {.stopped = [this] { return Stopped(); },
                              .checkpoints = place_.checkpoints,
                              .patience = Patience()});
}

namespace {

// Returns the fidelity with which a run began. Its manifest has the one that was chosen.
ChosenFidelity RecordedFidelity(const Scenario& scenario, const nlohmann::json& manifest) {
  ChosenFidelity chosen{scenario, 0, 0, ""};
  SetOption(chosen.scenario, "network.fidelity", manifest.at("fidelity").get<std::string>());
  if (const auto found = manifest.find("auto_fidelity"); found != manifest.end()) {
    constexpr int64_t kMost = int64_t{1} << 40;
    const std::string where = "manifest.json: auto_fidelity: ";
    chosen.samples =
        WholeNumber(found->value("samples", nlohmann::json()), where + "samples", 0, kMost);
    chosen.different =
        WholeNumber(found->value("different", nlohmann::json()), where + "different", 0, kMost);
  }
  return chosen;
}

// The trainings of a timed run, on its own network and on further ones.
class TimedContent : public RunContent {
 public:
  // The arguments outlive this object; the manifest has `program` and `command_line`. Throws Error
  // on further networks that are not valid.
  TimedContent(TimedRun& run, const ChosenFidelity& chosen, const std::string& program,
               const std::string& command_line, const RunControl& control)
      : run_(run),
        chosen_(chosen),
        program_(program),
        command_line_(command_line),
        saves_(control.requests != nullptr),
        further_(chosen.scenario) {}

  // Prints what is timed and, at the beginning of a run, how long that takes.
  void Announce(bool begins, std::FILE* log);

  const Scenario& scenario() const override { return chosen_.scenario; }
  nlohmann::json Manifest() const override {
    nlohmann::json manifest = run_.Manifest(program_, command_line_);
    DescribeFlops(chosen_.scenario, manifest);
    if (further_.size() > 0) manifest["networks"] = further_.Document(chosen_.scenario);
    if (chosen_.samples > 0) {
      manifest["auto_fidelity"] = {{"samples", chosen_.samples}, {"different", chosen_.different}};
    }
    return manifest;
  }
  std::vector<fs::path> GrowingFiles(const fs::path& directory,
                                     const analysis::Manifest& manifest) const override {
    return further_.GrowingFiles(directory, manifest);
  }
  void Open(OpenRun& open, analysis::Manifest& manifest) override;
  int64_t StepsLeft() const override { return run_.Steps(timed_networks_.size()); }
  bool Saves() const override { return saves_; }
  bool Run(Progress& progress) override { return run_.Run(timed_networks_, &progress, place_); }
  void Conclude(bool done, RunResult& result) override {
    if (done) {
      run_.Timing().RequirePackets();
      further_.RequirePackets();
    }
    result.note = run_.Note();
    for (const std::string& text : {run_.Timing().SampleText(), memory_}) {
      if (!text.empty()) result.note += (result.note.empty() ? "" : "\n") + text;
    }
  }

 private:
  TimedRun& run_;
  const ChosenFidelity& chosen_;
  const std::string& program_;
  const std::string& command_line_;
  const bool saves_;
  FurtherPlaces further_;
  std::optional<DirectorySink> sink_;
  std::vector<TimedNetwork> timed_networks_;
  std::string memory_;  // of the ranks of a shape, for people
  RunPlace place_;
};

void TimedContent::Announce(bool begins, std::FILE* log) {
  const ScenarioTiming& timing = run_.Timing();
  Say(run_.Title(), timing, log);
  const std::string devices = run_.Devices();
  std::fprintf(log, "  %s%s%s\n", devices.c_str(), devices.empty() ? "" : "; ",
               timing.Conditions().c_str());
  further_.Say(log);
  if (!begins) return;
  const CostEstimate estimate = run_.Estimate(log);
  const size_t networks = further_.size() + 1;
  double seconds = run_.SecondsToTrain(networks);
  if (timing.Packets()) {
    std::fprintf(log, "packet simulation%s: %s\n", further_.size() > 0 ? ", on each network" : "",
                 estimate.Text().c_str());
    seconds += estimate.Seconds() * static_cast<double>(networks);
  }
  const std::string text = DurationText(seconds);
  if (!text.empty()) std::fprintf(log, "%s\n", text.c_str());
}

void TimedContent::Open(OpenRun& open, analysis::Manifest& manifest) {
  const fs::path& directory = open.directory();
  const SectionFile* const from = open.from();
  ScenarioTiming& timing = run_.Timing();
  if (!from) further_.WriteManifests(directory, Manifest());
  further_.Open(directory, manifest, from != nullptr);
  if (chosen_.samples > 0) {
    timing.SamplePackets(chosen_.samples, chosen_.different, directory, from != nullptr);
  }
  sink_.emplace(timing, directory, manifest, from != nullptr);
  timed_networks_ = {{&timing, &*sink_}};
  further_.AddTo(timed_networks_);
  place_ = {directory, &open.checkpoints(), from};
  memory_ = WriteMemory(chosen_.scenario, timed_networks_, from != nullptr);
  if (!from) return;
  run_.Load(*from, timed_networks_);
  const Scenario begun =
      ReadScenarioDocument(open.Earlier().at("configuration"), directory.string());
  if (begun.steps == chosen_.scenario.steps) return;
  manifest = analysis::WriteManifest(directory, Manifest());
  further_.WriteManifests(directory, Manifest());
}

}  // namespace

RunResult FillRunDirectory(const Scenario& scenario, const std::string& program,
                           const std::string& command_line,
                           const std::function<std::unique_ptr<TimedRun>(const Scenario&)>& make,
                           std::FILE* log, const RunControl& control) {
  OpenRun open(program, scenario, control, log);
  const ChosenFidelity chosen = open.from() ? RecordedFidelity(scenario, open.Earlier())
                                            : ResolveFidelity(scenario, [&](const Scenario& probe) {
                                                return make(probe)->Estimate(nullptr).Cost();
                                              });
  if (!chosen.reason.empty()) std::fprintf(log, "%s\n", chosen.reason.c_str());
  const std::unique_ptr<TimedRun> run = make(chosen.scenario);
  TimedContent content(*run, chosen, program, command_line, control);
  content.Announce(open.from() == nullptr, log);
  return FillRun(open, content, control, log);
}

}  // namespace legacy
