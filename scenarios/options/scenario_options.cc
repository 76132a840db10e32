// The table of options. Together with the files of its sections (option_forms.h) it is the only
// place that knows keys, flags, texts and checks of single values.
#include "base/error.h"
#include "base/parse.h"
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

}  // namespace

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
  for (const ScenarioOption& option : ScenarioOptions()) {
    if (option.key == key) return option.set(scenario, key, text);
    keys.push_back(option.key);
    if (!section.empty() && option.key.starts_with(section)) neighbours.push_back(option.key);
    const std::string first = option.key.substr(0, option.key.find('.') + 1) + "*";
    if (sections.empty() || sections.back() != first) sections.push_back(first);
  }
  const std::string near = Nearest(key, keys);
  throw Error("unknown key '" + key + "'" + (near.empty() ? "" : "; did you mean " + near + "?") +
              "; allowed: " + Join(neighbours.empty() ? sections : neighbours, ", "));
}

}  // namespace legacy
