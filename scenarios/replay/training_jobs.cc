#include "scenarios/replay/training_jobs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/yaml.h"
#include "base/parse.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/one_step.h"
#include "scenarios/run/recording.h"
#include "scenarios/run/step_pricing.h"
#include "scenarios/run/timed_training.h"

namespace legacy {
namespace {

constexpr const char* kRun = "run";  // the key of a recorded run's folder

// Returns the option that a job has under that key, which is the name of the option in its section
// or the flag; null where jobs have none. Of the network they have what is a training's own.
const ScenarioOption* OptionOfJob(const std::string& key) {
  static const std::set<std::string> own = {
      "network.placement", "network.stragglers", "network.sync",    "network.aggregation",
      "network.allreduce", "network.allgather",  "network.pull",    "network.group",
      "network.channels",  "network.protocol",   "network.servers", "run.seed"};
  for (const ScenarioOption& option : ScenarioOptions()) {
    const std::string section = option.Section();
    const bool in_jobs = section == "training" || section == "compression" || section == "clock" ||
                         own.contains(option.key);
    const bool called = option.NameInSection() == key || option.IsCalled(key);
    if (in_jobs && called && option.key != "training.steps") return &option;
  }
  return nullptr;
}

// True where the option describes the fabric, which all jobs share.
bool OfFabric(const Option<ExperimentOptions>& row) {
  return row.group == kNetworkGroup && row.Name() != "placement";
}

// Throws Error for a key that jobs which are trainings do not have.
[[noreturn]] void RefuseKey(const std::string& key) {
  if (const auto* row = FindOption(ExperimentRows(), key, OptionNames::kFlags)) {
    if (OfFabric(*row)) {
      throw Error::Refusal("key '" + key + "': all jobs share the fabric; give " + row->flag +
                           " on the command line");
    }
    throw Error::Refusal("key '" + key + "': a training does not read it; a collective does");
  }
  std::vector<std::string> known = JobKeys();
  known.emplace_back(kRun);
  for (const ScenarioOption& option : ScenarioOptions()) {
    if (OptionOfJob(option.NameInSection()) == &option) known.push_back(option.NameInSection());
  }
  std::vector<std::string> allowed = JobKeys();
  allowed.emplace_back(kRun);
  allowed.emplace_back(
      "the options of training, compression and clock (legacy-scenario --help=all), and those of "
      "placement, stragglers and collectives");
  throw Error::Refusal(UnknownText("key of a training", key, known, allowed));
}

// Sets what the command line says: the fabric, and what a job leaves out.
void TakeCommandLine(const ExperimentOptions& options, bool recorded, Scenario& scenario) {
  const ExperimentOptions defaults;
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    if (row.group == kJobsGroup || row.Name() == "fidelity") continue;
    const ScenarioOption* option = FindOption(ScenarioOptions(), row.Name(), OptionNames::kFlags);
    if (option == nullptr || (recorded && !option->Has(kMayReplay))) continue;
    const bool given = row.get(options) != row.get(defaults);
    if (OfFabric(row) || (given && OptionOfJob(row.Name()) == option)) {
      option->set(scenario, row.flag, row.get(options));
    }
  }
}

// Sets what the entry says. The policies of recorded runs, which are none of their options, go to
// `policies`.
void TakeEntry(const JobEntry& entry, bool recorded, Scenario& scenario,
               std::vector<std::string>& policies) {
  ReadMap(entry.map, "jobs", entry.path, [&](const std::string& key, const YAML::Node& value) {
    if (key == kRun || std::ranges::count(JobKeys(), key) > 0) return;
    const ScenarioOption* option = OptionOfJob(key);
    if (option == nullptr) RefuseKey(key);
    const std::string text = ScalarText(value, key);
    if (option->key == "compression.policies") policies = SplitList(text);
    if (option->key == "compression.policies" && recorded) return;
    option->set(scenario, key, text);
  });
  const auto hosts = static_cast<int>(entry.hosts);
  if (hosts == 0) return;
  if ((entry.Has("workers") || recorded) && scenario.workers != hosts) {
    throw Error("workers", std::to_string(scenario.workers),
                std::to_string(hosts) + ", one on each of its hosts" +
                    (recorded ? "; the run was recorded with these" : ", or nothing"));
  }
  scenario.workers = hosts;
}

// Lets the collectives of a job share links, and checks its scenario.
void Complete(Scenario& scenario) {
  if (scenario.sharding->kind != ShardingKind::kNone) {
    if (*scenario.collective_times == CollectiveTimes::kAlone) {
      throw Error("collectives", scenario.collective_times.text(),
                  "together: the collectives of jobs share links");
    }
    scenario.collective_times = "together";
  }
  ValidateScenario(scenario);
}

// A Training is a job whose steps a scenario's clock prices.
class Training : public JobWork {
 public:
  Training(Scenario scenario, std::string name, std::vector<std::string> policies)
      : scenario_(std::move(scenario)), name_(std::move(name)), policies_(std::move(policies)) {
    if (scenario_.sharding->kind != ShardingKind::kNone) name_ += " " + scenario_.sharding.text();
  }

  std::string Name() const override { return name_; }
  std::vector<std::string> Methods() const override { return policies_; }
  std::vector<fabric::PlacementRequest> Placements() const override {
    return PlacementsOf(scenario_);
  }

 protected:
  // A Pricer prices the works of a training one after the other.
  class Pricer {
   public:
    Pricer(const Scenario& scenario, std::span<const OperationCost> costs,
           std::span<const Unit> layers, const Network& network)
        : pricing_(scenario),
          clock_(pricing_.MakeClock(costs, layers, network)),
          seed_(scenario.seed) {}

    // Returns the start of the next step.
    StepStart Start() const { return pricing_.StartOf(clock_, seed_, std::ssize(order_)); }

    void Add(const StepWork& work, const StepStart& start) {
      fabric::StepTraffic traffic = StepPricing::Price(clock_, work, start).traffic;
      const auto [known, added] = known_.try_emplace(traffic.Canonical(), distinct_.size());
      if (added) distinct_.push_back(std::move(traffic));
      order_.push_back(known->second);
      bytes_ += MeanMessageBytes(work);
    }

    // Returns the steps. The last one is repeated after them.
    JobSteps Steps() const {
      auto steady = std::ssize(order_) - 1;
      while (steady > 0 && order_[steady - 1] == order_.back()) --steady;
      return {.traffic =
                  [distinct = distinct_, order = order_](int64_t step) {
                    return distinct[order[std::min<int64_t>(step, std::ssize(order) - 1)]];
                  },
              .steady_from = steady,
              .bytes = bytes_ / static_cast<double>(order_.size())};
    }

   private:
    StepPricing pricing_;
    Clock clock_;
    uint64_t seed_;
    std::map<std::string, size_t> known_;  // distinct traffic by its canonical bytes
    std::vector<fabric::StepTraffic> distinct_;
    std::vector<size_t> order_;  // of each step
    double bytes_ = 0;
  };

  const Scenario scenario_;

 private:
  std::string name_;
  std::vector<std::string> policies_;
};

class ShapeJob : public Training {
 public:
  explicit ShapeJob(Scenario scenario)
      : Training(scenario, LoadModelShape(scenario.layers).name, scenario.policies) {
    for (const std::string& policy : scenario_.policies) {
      const std::string reason = NetworkDependence(FindMethod(scenario_, policy), scenario_);
      if (reason.empty()) continue;
      throw Error("policies", policy,
                  "methods that decide without the network, which other jobs share: " + reason);
    }
  }

  JobSteps StepsOn(const Network& network, size_t method, int64_t count) const override {
    const std::unique_ptr<StepSources> sources = DrawnSources(scenario_);
    const std::unique_ptr<StepSource> steps = ShapeSteps(scenario_, Methods()[method], *sources);
    Pricer pricer(scenario_, steps->Costs(), steps->Layers(), network);
    for (int64_t step = 0; step < count; ++step) {
      const StepStart start = pricer.Start();
      pricer.Add(steps->Step(start.participation.workers).work, start);
    }
    return pricer.Steps();
  }
};

class RecordedJob : public Training {
 public:
  RecordedJob(Recording recording, Scenario scenario, std::vector<std::string> policies)
      : Training(scenario, "run of " + ModelText(scenario), std::move(policies)),
        record_(std::move(recording.record)) {
    for (const std::string& policy : Methods()) record_.Training(policy, scenario_.seed);
  }

  JobSteps StepsOn(const Network& network, size_t method, int64_t count) const override {
    const RecordedTraining& training = record_.Training(Methods()[method], scenario_.seed);
    Pricer pricer(scenario_, record_.operations, record_.layers, network);
    for (int64_t step = 0; step < count; ++step) {
      pricer.Add(record_.works[training.works[static_cast<size_t>(step)]], pricer.Start());
    }
    return pricer.Steps();
  }

 private:
  Record record_;
};

std::unique_ptr<JobWork> ReadRun(const JobEntry& entry, int64_t& steps) {
  const std::string directory = ScalarText(entry.map[kRun], kRun);
  Recording recording = LocatedAt(MarkText(entry.path, entry.map[kRun].Mark()),
                                  [&] { return ReadRecording(directory); });
  if (recording.scenario.federated) {
    throw Error(kRun, directory, "a run of legacy-scenario: clients have rounds, and no steps");
  }
  const auto recorded = std::ssize(recording.record.trainings.front().works);
  if (entry.steps && *entry.steps > recorded) {
    throw Error("steps", std::to_string(*entry.steps),
                "1 to " + std::to_string(recorded) + ", those of " + directory);
  }
  steps = std::min<int64_t>(steps, recorded);
  Scenario scenario = ReplayDefaults(recording);
  std::vector<std::string> policies = {scenario.policies.front()};
  TakeCommandLine(entry.options, true, scenario);
  scenario.fidelity = "flow";  // that of the jobs is another option
  TakeEntry(entry, true, scenario, policies);
  CheckReplay(recording, scenario);
  Complete(scenario);
  return std::make_unique<RecordedJob>(std::move(recording), std::move(scenario),
                                       std::move(policies));
}

std::unique_ptr<JobWork> ReadShape(const JobEntry& entry, int64_t steps) {
  Scenario scenario = OverDefaults(Scenario(), [&](Scenario& s) {
    s.policies = {"dense"};
    s.steps = steps;
    TakeCommandLine(entry.options, false, s);
    std::vector<std::string> unread;
    TakeEntry(entry, false, s, unread);
  });
  Complete(scenario);
  return std::make_unique<ShapeJob>(std::move(scenario));
}

}  // namespace

bool TrainingJobs::Reads(const JobEntry& entry) const {
  if (entry.Has(kRun) || entry.Has("layers")) return true;
  if (!entry.map.IsMap()) return false;
  for (const auto& pair : entry.map) {
    const std::string key = ScalarText(pair.first, "key");
    const bool of_collectives = std::ranges::count(JobKeys(), key) > 0 ||
                                FindOption(ExperimentRows(), key, OptionNames::kFlags) != nullptr;
    if (of_collectives || OptionOfJob(key) == nullptr) continue;
    throw Error::Refusal(
        MarkText(entry.path, pair.first.Mark()) + "key '" + key +
        "': a job that trains a model is to be recorded first (legacy-scenario --record "
        "--out=DIR), "
        "and its folder named (run: DIR); or name a shape (layers: resnet50), which is timed "
        "without training");
  }
  return false;
}

std::unique_ptr<JobWork> TrainingJobs::Read(const JobEntry& entry, int64_t& steps) const {
  return entry.Has(kRun) ? ReadRun(entry, steps) : ReadShape(entry, steps);
}

}  // namespace legacy
