#include "scenarios/run/workers/compared_methods.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/archive.h"
#include "base/error.h"
#include "base/programs/free_memory.h"
#include "scenarios/options/methods.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/timed_run.h"
#include "scenarios/training/processes.h"
#include "scenarios/training/training_request.h"
#include "trainer/memory.h"

namespace legacy {
namespace {

// A SavedChoice is a method as pilots have chosen it.
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

// Returns the scenario of a pilot's clock, which writes no files and simulates no packets.
Scenario PilotScenario(Scenario scenario) {
  if (*scenario.fidelity == Fidelity::kPacket) scenario.fidelity = "flow";
  return WithoutDiagnostics(std::move(scenario));
}

// Trains all of the scenario's steps, and returns the message bytes of one worker in a step, as a
// mean over workers and steps. Policies that read the clock get the times of the run itself, except
// that flow fidelity stands in for packet fidelity.
double BytesOfPilot(StepSource& training, const Scenario& given, bool reads_clock) {
  const Scenario scenario = PilotScenario(given);
  ScenarioTiming timing(scenario);
  analysis::RunDirectory rows;
  MemorySink sink(rows);
  const TimedNetwork network = {&timing, &sink};
  TimedEverywhere timed({&network, 1}, nullptr, "pilot", scenario.seed, training.Costs(),
                        training.Layers());
  double bytes = 0;
  for (int64_t step = 0; step < scenario.steps; ++step) {
    const StepStart start = timed.Start();
    training.SetLink(timing.LinkAt(step));
    const StepOutcome outcome = training.Step(start.participation.workers);
    bytes += MeanMessageBytes(outcome.work);
    if (reads_clock) timed.Step(outcome.work, start, {});
    training.OnFeedback(reads_clock ? timed.Times() : StepTimes{});
    rows = {};
  }
  return bytes / static_cast<double>(scenario.steps);
}

std::unique_ptr<StepSources> SourcesOf(const Scenario& scenario, const ProcessGroup& processes) {
  if (!scenario.layers.empty()) return DrawnSources(scenario);
  std::unique_ptr<StepSources> trained = TrainedSources(scenario, processes);
  return scenario.times_of.empty() ? std::move(trained)
                                   : JoinedSources(scenario, std::move(trained));
}

}  // namespace

ComparedMethods::ComparedMethods(const Scenario& scenario, ProcessGroup& processes)
    : ComparedMethods(scenario, processes, SourcesOf(scenario, processes)) {}

ComparedMethods::ComparedMethods(const Scenario& scenario, ProcessGroup& processes,
                                 std::unique_ptr<StepSources> sources)
    : scenario_(scenario), processes_(processes), sources_(std::move(sources)) {
  for (const std::string& name : scenario.policies) all_.push_back(FindMethod(scenario, name));
  CheckMemory();
  LeadConnect(*sources_, processes);
  for (const Method& method : all_) MakeSource(method, scenario.seed);
}

std::vector<Unit> ComparedMethods::UnitsOf(const Method& method) const {
  return legacy::UnitsOf(method, scenario_, sources_->Layers());
}

bool ComparedMethods::DependsOnNetwork(const Method& method) const {
  return !NetworkDependence(method, scenario_).empty();
}

int64_t ComparedMethods::DifferentSteps(const Method& method, const StepSource& training) const {
  const std::span<const Unit> units = training.Units();
  if (*scenario_.index == IndexCoding::kDelta) return scenario_.steps;
  const BuiltMethod built = BuildMethod(method, scenario_, units);
  const bool data_decides = !built.scheme->MessageBytes(units.front(), built.parameter);
  if (data_decides) return scenario_.steps;
  if (built.adaptive) {
    // The messages of a step in which the policy decides differ from those of the steps that
    // follow.
    const auto forecast = built.policy->DecisionsIn(scenario_.steps);
    return forecast ? std::min<int64_t>(scenario_.steps, 2 * forecast->decisions + 1)
                    : int64_t{scenario_.steps};
  }
  std::set<std::vector<double>> choices;
  std::vector<double> parameters(units.size());
  for (int64_t step = 0; step < scenario_.steps; ++step) {
    DecideParameters(*built.policy, {.step = step, .total_steps = scenario_.steps}, units,
                     parameters);
    choices.insert(parameters);
  }
  return static_cast<int64_t>(choices.size());
}

BuiltMethod ComparedMethods::Build(const Method& method) const {
  return BuildMethod(method, scenario_, UnitsOf(method), sources_->StepsPerEpoch());
}

std::unique_ptr<StepSource> ComparedMethods::MakeSource(const Method& method, uint64_t seed,
                                                        std::FILE* log) {
  BuiltMethod built = Build(method);
  if (const auto forecast = built.policy->DecisionsIn(scenario_.steps)) {
    forecasts_[method.name] = forecast->decisions;
  }
  if (log != nullptr) {
    std::fprintf(log, "  %-22s %s\n", method.name.c_str(), built.description.c_str());
    const std::string few = FewDecisions(method, *built.policy, scenario_.steps);
    if (!few.empty()) std::fprintf(log, "warning: %s\n", few.c_str());
    const auto units = UnitsOf(method);
    for (const std::string& remark :
         {NeverCompresses(method, *built.scheme, units, scenario_.steps),
          SendsEverything(method, *built.scheme), EndsUniform(method, built, units, scenario_)}) {
      if (remark.empty()) continue;
      std::fprintf(log, "warning: %s\n", remark.c_str());
      remarks_.push_back(remark);
    }
    if (const std::string format = FormatOf(method, scenario_); !format.empty()) {
      remarks_.push_back(format);
    }
    if (method.local_steps > scenario_.steps) {
      std::fprintf(log, "warning: %s: it exchanges every %lld steps, so never in this run\n",
                   method.name.c_str(), static_cast<long long>(method.local_steps));
    }
  }
  return SourceWith(std::move(built), method, seed);
}

std::unique_ptr<StepSource> ComparedMethods::SourceWith(BuiltMethod built, const Method& method,
                                                        uint64_t seed) {
  const int workers = DataWorkers(scenario_);
  const TrainingOptions options =
      OptionsOf(scenario_, method, seed, workers, *built.scheme, processes_);
  const auto make = [&] { return sources_->Make(options, method, std::move(built)); };
  if (processes_.Alone()) return make();
  return Lead({method.name, method.policy, method.parameter, seed, workers}, make, processes_);
}

std::unique_ptr<StepSource> ComparedMethods::MakeSharedSource(const Method& method, uint64_t seed,
                                                              size_t others,
                                                              NetworksPolicy** policy) {
  BuiltMethod built = Build(method);
  std::vector<NetworksPolicy::Other> further;
  for (size_t i = 0; i < others; ++i) {
    BuiltMethod other = Build(method);
    further.push_back({std::move(other.scheme), std::move(other.policy)});
  }
  auto all = std::make_unique<NetworksPolicy>(std::move(built.policy), *built.scheme,
                                              std::move(further), DataWorkers(scenario_));
  *policy = all.get();
  built.policy = std::move(all);
  return SourceWith(std::move(built), method, seed);
}

const Method& ComparedMethods::Chosen(const Method& method, uint64_t seed, const Scenario& here) {
  const auto [entry, first] = chosen_.try_emplace({method.name, seed, &here}, EqualBytes{method});
  if (!first) return entry->second.method;
  const std::vector<Unit> units = UnitsOf(method);
  const auto requested = Requested(method, seed, units);
  if (requested) requested_.try_emplace(method.name, *requested);
  const PilotBytes pilot = [&](const Method& candidate) {
    return BytesOfPilot(*MakeSource(candidate, seed), here, DependsOnNetwork(method));
  };
  auto found = EqualBytesOf(method, scenario_, units, requested, pilot);
  if (found && found->reason.empty() && DependsOnNetwork(method)) {
    found->reason = "it reads the network, which pilots time as flows";
  }
  if (found) entry->second = std::move(*found);
  return entry->second.method;
}

// If a scheme reads the network, the bytes that it sends with the anchor everywhere are measured on
// the run's own network.
std::optional<double> ComparedMethods::Requested(const Method& method, uint64_t seed,
                                                 std::span<const Unit> units) {
  if (const auto known = RequestedBytes(method, scenario_, units)) return known;
  if (*scenario_.legacy.volume != VolumeMeasure::kBytes || !NeedsPilots(method))
    return std::nullopt;
  const MethodAnchor anchor = AnchorOf(method, scenario_, units);
  if (!anchor.scheme->Traits().reads_network) return std::nullopt;
  const auto found = anchors_.find({method.name, seed});
  if (found != anchors_.end()) return found->second;
  Method uniform = method;
  uniform.policy = "uniform";
  uniform.parameter = anchor.parameter;
  const double bytes = BytesOfPilot(*MakeSource(uniform, seed), scenario_, true);
  return anchors_[{method.name, seed}] = bytes;
}

void ComparedMethods::PilotOn(const Scenario& here, const std::string& network, std::FILE* log) {
  for (const Method& method : all_) {
    if (!DependsOnNetwork(method)) continue;
    Chosen(method, scenario_.seed, here);
    if (chosen_.at({method.name, scenario_.seed, &here}).pilots == 0) continue;
    std::fprintf(log, "on %s\n", network.c_str());
    SayVolume(method, here, log);
  }
}

void ComparedMethods::SayVolume(const Method& method, const Scenario& here, std::FILE* log) const {
  const EqualBytes& volume = chosen_.at({method.name, scenario_.seed, &here});
  if (volume.pilots == 0) return;
  std::fprintf(log, "  %-22s %.0f bytes a step asked for, %.0f in the best of %d pilots%s\n",
               &here == &scenario_ ? "" : method.name.c_str(), volume.requested, volume.piloted,
               volume.pilots, volume.Reached() ? "" : ": the nearest that it reaches");
}

void ComparedMethods::CheckMemory() {
  const std::optional<HostModel> model = sources_->InHostMemory();
  if (!model) return;
  std::vector<std::pair<double, std::string>> trainings;  // bytes of each, and their text
  for (const Method& method : all_) {
    const std::vector<Unit> units = legacy::UnitsOf(method, scenario_, model->layers);
    const BuiltMethod built = BuildMethod(method, scenario_, units, sources_->StepsPerEpoch());
    const int workers = scenario_.workers, processes = processes_.size();
    TrainingOptions options =
        OptionsOf(scenario_, method, scenario_.seed, workers, *built.scheme, processes_);
    // Process 0 has the largest number of workers of its own, and the messages of all.
    options.workers = (workers + processes - 1) / processes;
    TrainingMemory memory =
        EstimateMemory(options, units, model->costs, *built.scheme, built.parameter);
    memory.messages *= static_cast<double>(workers) / options.workers;
    std::string text = method.name + ", " + memory.Text(options.workers);
    if (!processes_.Alone()) {
      text += ", in each of " + std::to_string(processes_.local_size()) + " processes";
    }
    trainings.emplace_back(memory.Total() * processes_.local_size(), text);
  }
  std::ranges::sort(trainings, std::greater());
  // In the worst case the largest trainings run in parallel: each method with several seeds, on all
  // networks.
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
    throw Error("memory (--memory)", "about " + legacy::MemoryText(bytes) + " for method " + of,
                "at most " + legacy::MemoryText(*limit) + " (" + scenario_.memory.text() +
                    "): with fewer workers, threads or jobs, or a smaller batch, it is less");
  }
  constexpr double kWorthALine = 1 << 30;
  if (bytes >= kWorthALine)
    memory_text_ = "memory: about " + legacy::MemoryText(bytes) + " for method " + of;
}

void ComparedMethods::Describe(nlohmann::json& manifest) const {
  manifest["decisions"] = forecasts_;
  manifest["requested_bytes"] = requested_;
  manifest["remarks"] = remarks_;
  manifest["volume_reasons"] = nlohmann::json::object();
  for (const auto& [key, chosen] : chosen_) {
    const auto& [name, seed, here] = key;
    if (here == &scenario_ && seed == scenario_.seed && !chosen.reason.empty()) {
      manifest["volume_reasons"][name] = chosen.reason;
    }
  }
}

void ComparedMethods::Save(const Networks& networks, StateWriter& out) const {
  std::vector<SavedChoice> choices;
  for (const auto& [key, chosen] : chosen_) {
    const auto& [name, seed, here] = key;
    const auto network = std::ranges::find(networks, here) - networks.begin();
    choices.push_back({name, seed, static_cast<size_t>(network), chosen.method.policy,
                       chosen.method.parameter, chosen.requested, chosen.piloted, chosen.pilots});
  }
  ToArchive(out, choices, requested_, forecasts_);
}

void ComparedMethods::Load(const Networks& networks, StateReader& in) {
  std::vector<SavedChoice> choices;
  FromArchive(in, choices, requested_, forecasts_);
  for (const SavedChoice& choice : choices) {
    const auto method = std::ranges::find(all_, choice.name, &Method::name);
    if (method == all_.end() || choice.network >= networks.size()) {
      throw Error("checkpoint", "method " + choice.name, "those of this run");
    }
    EqualBytes& chosen =
        chosen_
            .try_emplace({choice.name, choice.seed, networks[choice.network]}, EqualBytes{*method})
            .first->second;
    chosen.method.policy = choice.policy;
    chosen.method.parameter = choice.parameter;
    chosen.requested = choice.requested;
    chosen.piloted = choice.piloted;
    chosen.pilots = choice.pilots;
  }
}

}  // namespace legacy
