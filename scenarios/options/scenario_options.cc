// The table of options. Together with the files of its sections (option_forms.h) it is the only
// place that knows keys, flags, texts and checks of single values.
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/options/federated_checks.h"
#include "scenarios/options/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

std::vector<ScenarioOption> OptionsOfRun() {
  return {
      Integer<&Scenario::seed, 0>("run.seed", "--seed", "first random seed"),
      Integer<&Scenario::seeds, 1, 10000>("run.seeds", "--seeds",
                                          "number of seeds; all policies use the same ones"),
      Integer<&Scenario::threads, 0, 1024>("run.threads", "--threads",
                                           "number of workers of a training to train in parallel; "
                                           "0: one per core, divided by the jobs"),
      Integer<&Scenario::processes, 0, 1024>(
          "run.processes", "--processes",
          "number of processes on this machine that share the workers; 0: those that torchrun, "
          "mpirun or srun started, or one"),
      Text<&Scenario::master>("run.master", "--master", "HOST:PORT",
                              "where process 0 of mpirun or srun listens (default: MASTER_ADDR "
                              "and MASTER_PORT)"),
      Switch<&Scenario::record>("run.record", "--record",
                                "record the training in traffic.jsonl, for legacy-replay"),
      Integer<&Scenario::jobs, 1, 1024>(
          "run.jobs", "--jobs",
          "number of trainings to run side by side, in processes of their own"),
      Text<&Scenario::memory>("run.memory", "--memory", "90%|SIZE|off",
                              "most memory that trainings may take, of what is free; a run that "
                              "would take more ends before it starts"),
      Text<&Scenario::checkpoint>("run.checkpoint", "--checkpoint", "TIME|off",
                                  "wall time between two checkpoints, from which --resume goes on"),
      Text<&Scenario::gradient_steps>(
          "run.gradient_steps", "--gradient-steps", "0,10-12",
          "steps whose gradients of worker 0 are written to gradients/, for legacy-codec"),
      Text<&Scenario::gradient_layers>(
          "run.gradient_layers", "--gradient-layers", "A,B,...",
          "layers whose gradients are written: all, or parts of their names"),
      Text<&Scenario::out>("run.out", "--out", "DIR", "run directory (default: runs/<time>)"),
      Switch<&Scenario::overwrite>("run.overwrite", "--overwrite",
                                   "replace the run directory if it exists"),
      Switch<&Scenario::pictures>("run.pictures", "--pictures",
                                  "draw SVG and PNG pictures at the end"),
      Switch<&Scenario::tensorboard>("run.tensorboard", "--tensorboard",
                                     "write event files for TensorBoard to tensorboard/"),
  };
}

// Keys that federated learning reads. Steps, warm-up, decay and evaluations are counted in
// versions.
bool IsShared(const std::string& key) {
  static const std::set<std::string> keys = {
      "training.dataset",
      "training.data_root",
      "training.train_limit",
      "training.test_limit",
      "training.window",
      "training.evaluation_columns",
      "training.evaluate_on",
      "training.negatives",
      "training.strict_data",
      "training.augment",
      "training.normalise",
      "training.model",
      "training.init",
      "training.batch",
      "training.learning_rate",
      "training.optimizer",
      "training.momentum",
      "training.nesterov",
      "training.weight_decay",
      "training.decay_vectors",
      "training.label_smoothing",
      "training.clip_worker",
      "training.warmup_steps",
      "training.warmup_from",
      "training.schedule",
      "training.decay_steps",
      "training.decay_factor",
      "training.final_learning_rate",
      "training.evaluate_every",
      "training.target",
      "training.processor",
      "compression.policies",
      "compression.density",
      "compression.levels",
      "compression.splits",
      "compression.split_share",
      "compression.phase_bounds",
      "compression.closed_right",
      "compression.volume",
      "compression.index",
      "network.topology",
      "network.fidelity",
      "network.transport",
      "network.connections",
      "network.congestion",
      "network.streams",
      "clock.device_profile",
      "clock.device_speed",
      "clock.codec_speed",
      "clock.launches",
      "clock.bucket",
      "run.seed",
      "run.seeds",
      "run.threads",
      "run.record",
      "run.checkpoint",
      "run.out",
      "run.overwrite",
      "run.pictures",
  };
  return keys.contains(key);
}

// Returns the option of a row of the table of federated options.
ScenarioOption FederatedOptionOf(const FederatedOption& row) {
  return {.key = row.Key(),
          .flag = "--" + row.name,
          .metavar = row.metavar,
          .help = row.help,
          .set =
              [row](Scenario& s, const std::string& key, const std::string& text) {
                CheckFederatedText(row, text, key);
                s.federated->at(row.name) = text;
              },
          .get = [name = row.name](const Scenario& s) { return s.federated->at(name); }};
}

}  // namespace

const std::vector<ScenarioOption>& FederatedScenarioOptions() {
  static const std::vector<ScenarioOption> options = [] {
    std::vector<ScenarioOption> all;
    for (const FederatedOption& row : FederatedOptionRows()) {
      if (row.use != FederatedUse::kPlan) all.push_back(FederatedOptionOf(row));
    }
    for (const ScenarioOption& option : ScenarioOptions()) {
      if (IsShared(option.key)) all.push_back(option);
    }
    return all;
  }();
  return options;
}

const std::vector<ScenarioOption>& OptionsOf(const Scenario& scenario) {
  return scenario.federated ? FederatedScenarioOptions() : ScenarioOptions();
}

const std::vector<ScenarioOption>& ScenarioOptions() {
  static const std::vector<ScenarioOption> options = [] {
    std::vector<ScenarioOption> all;
    for (auto part :
         {OptionsOfTraining(), OptionsOfCompression(), OptionsOfNetwork(), OptionsOfRun()}) {
      for (ScenarioOption& option : part) all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

void SetOption(Scenario& scenario, const std::string& key, const std::string& text) {
  const std::string section = key.substr(0, key.find('.') + 1);  // "network."
  std::vector<std::string> keys;
  std::vector<std::string> neighbours;
  std::vector<std::string> sections;
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    if (option.key == key) return option.set(scenario, key, text);
    keys.push_back(option.key);
    if (!section.empty() && option.key.starts_with(section)) neighbours.push_back(option.key);
    const std::string first = option.key.substr(0, option.key.find('.') + 1) + "*";
    if (sections.empty() || sections.back() != first) sections.push_back(first);
  }
  const auto& others = scenario.federated ? ScenarioOptions() : FederatedScenarioOptions();
  if (std::ranges::find(others, key, &ScenarioOption::key) != others.end()) {
    throw Error(key, text,
                std::string("nothing here: ") +
                    (scenario.federated ? "legacy-scenario" : "legacy-federated") + " reads it");
  }
  const std::string near = Nearest(key, keys);
  throw Error("unknown key '" + key + "'" + (near.empty() ? "" : "; did you mean " + near + "?") +
              "; allowed: " + Join(neighbours.empty() ? sections : neighbours, ", "));
}

}  // namespace legacy
