#include "scenarios/run/timed_run.h"

#include <unistd.h>

#include <cstdio>

#include "analysis/run_directory.h"
#include "scenarios/run/fidelity_choice.h"
#include "scenarios/run/further_networks.h"
#include "scenarios/run/well_known.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

void Say(const std::string& lead, const ScenarioTiming& timing, std::FILE* log) {
  std::fprintf(log, "%s%s\n", lead.c_str(), timing.Description().c_str());
  const std::string warning = timing.Warning();
  if (!warning.empty()) std::fprintf(log, "warning: %s\n", warning.c_str());
}

// FurtherPlaces are the further networks of a run, each with its run directory.
class FurtherPlaces {
 public:
  // Throws Error on networks that are not valid. Writes nothing.
  explicit FurtherPlaces(const Scenario& scenario) : networks_(FurtherNetworks(scenario)) {
    for (const FurtherNetwork& network : networks_) {
      timings_.push_back(std::make_unique<ScenarioTiming>(network.scenario));
    }
  }

  size_t size() const { return networks_.size(); }
  void Say(std::FILE* log) const {
    for (size_t i = 0; i < size(); ++i) {
      legacy::Say("  and on " + networks_[i].name + ": ", *timings_[i], log);
    }
  }

  // Returns names, folders and well-known models' ratios for the manifest, the run's own network
  // first.
  nlohmann::json Document(const Scenario& own) const {
    nlohmann::json document = {Entry(OwnNetworkName(own), ".", own)};
    for (const FurtherNetwork& network : networks_) {
      document.push_back(Entry(network.name, Folder(network), network.scenario));
    }
    return document;
  }

  // Makes their run directories below `directory`. `manifest` is the run's own.
  void Open(const fs::path& directory, nlohmann::json manifest) {
    manifest.erase("networks");
    for (size_t i = 0; i < size(); ++i) {
      const fs::path path = directory / Folder(networks_[i]);
      fs::create_directories(path);
      manifest["network"] = networks_[i].name;
      manifest["fidelity"] = networks_[i].scenario.fidelity.text();
      manifest["configuration"]["network"] = ScenarioDocument(networks_[i].scenario).at("network");
      const analysis::Manifest written = analysis::WriteManifest(path, manifest);
      sinks_.push_back(std::make_unique<DirectorySink>(*timings_[i], path, written));
    }
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
                         std::span<const int64_t> layer_numels) {
  StepClocks clocks;
  for (Clock& clock : timing.MakeClocks(costs, layer_numels)) {
    clocks.push_back(std::make_unique<Clock>(std::move(clock)));
  }
  return clocks;
}

}  // namespace

TimedEverywhere::TimedEverywhere(std::span<const TimedNetwork> timed_networks, Progress* progress,
                                 const std::string& policy, uint64_t seed,
                                 const std::function<StepClocks(const ScenarioTiming&)>& clocks,
                                 std::span<const int64_t> layer_numels)
    : timed_networks_(timed_networks) {
  timed_.reserve(timed_networks.size());
  for (const TimedNetwork& timed_network : timed_networks) {
    timed_.emplace_back(*timed_network.timing, *timed_network.sink,
                        timed_.empty() ? progress : nullptr, policy, seed,
                        clocks(*timed_network.timing), layer_numels);
  }
}

TimedEverywhere::TimedEverywhere(std::span<const TimedNetwork> timed_networks, Progress* progress,
                                 const std::string& policy, uint64_t seed,
                                 std::span<const OperationCost> costs,
                                 std::span<const int64_t> layer_numels)
    : TimedEverywhere(
          timed_networks, progress, policy, seed,
          [&](const ScenarioTiming& timing) { return ProfileClocks(timing, costs, layer_numels); },
          layer_numels) {}

void TimedEverywhere::Step(const StepWork& work, const StepStart& start, const StepFacts& facts) {
  timed_.front().Step(work, start, facts);
  for (size_t i = 1; i < timed_.size(); ++i) timed_[i].Step(work, timed_[i].Start(), facts);
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

void TimedEverywhere::Finish() {
  for (TimedTraining& timed : timed_) timed.Finish();
}

RunResult FillRunDirectory(const Scenario& scenario, const std::string& program,
                           const std::string& command_line,
                           const std::function<std::unique_ptr<TimedRun>(const Scenario&)>& make,
                           std::FILE* log) {
  const ChosenFidelity chosen = ResolveFidelity(
      scenario, [&](const Scenario& probe) { return make(probe)->Estimate(nullptr).Cost(); });
  if (!chosen.reason.empty()) std::fprintf(log, "%s\n", chosen.reason.c_str());
  const std::unique_ptr<TimedRun> run = make(chosen.scenario);
  ScenarioTiming& timing = run->Timing();
  FurtherPlaces further(chosen.scenario);
  Say(run->Title(), timing, log);
  further.Say(log);
  const CostEstimate estimate = run->Estimate(log);
  if (timing.Packets()) {
    std::fprintf(log, "packet simulation%s: %s\n", further.size() > 0 ? ", on each network" : "",
                 estimate.Text().c_str());
  }

  RunResult result;
  result.directory = MakeRunDirectory(chosen.scenario, program);
  nlohmann::json manifest = run->Manifest(program, command_line);
  if (further.size() > 0) manifest["networks"] = further.Document(chosen.scenario);
  const analysis::Manifest written = analysis::WriteManifest(result.directory, manifest);
  further.Open(result.directory, manifest);
  if (chosen.samples > 0) {
    timing.SamplePackets(chosen.samples, chosen.different, result.directory);
  }
  DirectorySink sink(timing, result.directory, written);
  std::vector<TimedNetwork> timed_networks = {{&timing, &sink}};
  further.AddTo(timed_networks);
  Progress progress(run->Steps(timed_networks.size()), written.metrics,
                    written.target ? written.target->metric : "", isatty(fileno(log)) != 0, log);
  result.interrupted = !run->Run(timed_networks, &progress, result.directory);
  progress.Finish();
  if (!result.interrupted) {
    timing.RequirePackets();
    further.RequirePackets();
  }
  result.note = run->Note();
  const std::string samples = timing.SampleText();
  if (!result.note.empty() && !samples.empty()) result.note += "\n";
  result.note += samples;
  return result;
}

}  // namespace legacy
