#include "scenarios/options/default_run.h"

#include "base/programs/program.h"
#include "trainer/data/data_catalog.h"

namespace legacy {

Scenario DefaultRun() {
  Scenario scenario;
  scenario.model = "patch-resnet20";
  scenario.workers = 8;
  scenario.batch = 8;
  scenario.steps = 120;
  scenario.learning_rate = 0.3;
  scenario.warmup_steps = 10;
  scenario.evaluate_every = 10;
  scenario.test_limit = 500;
  scenario.target = "55%";
  scenario.policies = {"dense",        "fp16",         "topk",        "topk-global",
                       "legacy-layer", "legacy-phase", "legacy-both", "lgreco",
                       "accordion",    "gravac",       "powersgd",    "fft"};
  scenario.seeds = 2;
  scenario.further = "auto";
  for (const char* name : {"fashion-mnist", "cifar10"}) {
    if (!IsHere(FindInCatalog(name), DataRoot(""))) continue;
    scenario.dataset = name;
    break;
  }
  return scenario;
}

std::string DataNote(const Scenario& scenario) {
  const std::string root = DataRoot(scenario.data_root).string();
  if (scenario.dataset != Scenario().dataset) return scenario.dataset + " from " + root;
  return scenario.dataset + ", drawn digits; on real images where '" + CommandOf("legacy-data") +
         " fetch fashion-mnist' put them into " + root;
}

}  // namespace legacy
