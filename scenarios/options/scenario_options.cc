// The table of options. Together with the files of its sections (option_forms.h), it is the only
// place that has keys, flags, texts and checks of single values.
#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "scenarios/options/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

std::vector<ScenarioOption> OptionsOfSeeds() {
  return {
      Integer<&Scenario::seed, 0>("run.seed", "--seed", "first random seed") | kUsual |
          kReadByClients,
      Integer<&Scenario::seeds, 1, 10000>("run.seeds", "--seeds",
                                          "number of seeds; all methods use the same ones") |
          kUsual | kReadByClients,
  };
}

std::vector<ScenarioOption> OptionsOfRun() {
  std::vector<ScenarioOption> options = {
      Integer<&Scenario::threads, 0, 1024>("run.threads", "--threads",
                                           "number of workers of a training to train in parallel; "
                                           "0: one per core, divided by the jobs") |
          kReadByClients | kMayResume | kStudyIgnores,
      Integer<&Scenario::processes, 0, 1024>(
          "run.processes", "--processes",
          "number of processes on this machine that share the workers; 0: those that torchrun, "
          "mpirun or srun started, or one") |
          kMayResume,
      Text<&Scenario::master>("run.master", "--master", "HOST:PORT",
                              "where process 0 of mpirun or srun listens (default: MASTER_ADDR "
                              "and MASTER_PORT)") |
          kMayResume,
      Switch<&Scenario::record>("run.record", "--record",
                                "record the training in traffic.jsonl, for legacy-replay") |
          kUsual | kReadByClients | kStudyIgnores,
      Integer<&Scenario::jobs, 1, 1024>(
          "run.jobs", "--jobs",
          "number of trainings to run side by side, in processes of their own") |
          kUsual,
      Text<&Scenario::memory>("run.memory", "--memory", "90%|SIZE|off",
                              "most memory that trainings may take, of what is free; a run that "
                              "would take more ends before it starts") |
          kMayResume,
      Text<&Scenario::checkpoint>(
          "run.checkpoint", "--checkpoint", "TIME|off",
          "wall time between two checkpoints, from which --resume continues") |
          kReadByClients | kMayResume | kStudyIgnores,
      Text<&Scenario::gradient_steps>(
          "run.gradient_steps", "--gradient-steps", "0,10-12",
          "steps whose gradients of worker 0 are written to gradients/, for legacy-codec") |
          kTrainingAlone,
      Text<&Scenario::gradient_layers>(
          "run.gradient_layers", "--gradient-layers", "A,B,...",
          "layers whose gradients are written: all, or parts of their names") |
          kTrainingAlone,
      Text<&Scenario::out>("run.out", "--out", "DIR", "run directory (default: runs/<time>)") |
          kUsual | kReadByClients | kMayReplay | kMayResume,
      Switch<&Scenario::overwrite>("run.overwrite", "--overwrite",
                                   "replace the run directory if it exists") |
          kUsual | kReadByClients | kMayReplay | kMayResume,
      Switch<&Scenario::pictures>("run.pictures", "--pictures",
                                  "draw SVG and PNG pictures at the end") |
          kReadByClients | kMayReplay | kMayResume | kStudyIgnores,
      Switch<&Scenario::verbose>("run.verbose", "--verbose",
                                 "show in the tables at the end what the simulation did, too: "
                                 "events, packets, memoised steps, marks; files have them always") |
          kReadByClients | kMayReplay | kMayResume | kStudyIgnores,
      Switch<&Scenario::tensorboard>("run.tensorboard", "--tensorboard",
                                     "write event files for TensorBoard to tensorboard/") |
          kMayReplay | kStudyIgnores,
  };
  AddToAll(options, kLeavesResults);
  return options;
}

}  // namespace

const std::vector<ScenarioOption>& FederatedScenarioOptions() {
  static const std::vector<ScenarioOption> options = [] {
    std::vector<ScenarioOption> all;
    for (const FederatedOption& row : FederatedOptionRows()) {
      if (!row.Has(kReadByRuns)) continue;
      all.push_back(OptionOfPart<Scenario>(
          row, [](auto& s) -> auto& { return *s.federated; }));
    }
    for (const ScenarioOption& option : ScenarioOptions()) {
      if (option.Has(kReadByClients)) all.push_back(option);
    }
    return all;
  }();
  return options;
}

const std::vector<ScenarioOption>& OptionsOf(const Scenario& scenario) {
  return scenario.federated ? FederatedScenarioOptions() : ScenarioOptions();
}

const std::vector<ScenarioOption>& ScenarioOptions() {
  static const auto options = JoinedTables<Scenario>({{"", OptionsOfTraining()},
                                                      {"", OptionsOfCompression()},
                                                      {"", OptionsOfNetwork()},
                                                      {"", OptionsOfSeeds()},
                                                      {"", OptionsOfRun()}});
  return options;
}

void SetOption(Scenario& scenario, const std::string& key, const std::string& text) {
  const auto& options = OptionsOf(scenario);
  const auto& others = scenario.federated ? ScenarioOptions() : FederatedScenarioOptions();
  const bool known = FindOption(options, key, OptionNames::kKeys) != nullptr;
  if (!known && FindOption(others, key, OptionNames::kKeys) != nullptr) {
    throw Error(key, text,
                std::string("nothing here: ") +
                    (scenario.federated ? "legacy-scenario" : "legacy-federated") + " reads it");
  }
  OptionNamed(options, key, OptionNames::kKeys).set(scenario, key, text);
}

}  // namespace legacy
