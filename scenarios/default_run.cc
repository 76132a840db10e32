#include "scenarios/default_run.h"

#include "trainer/data_catalog.h"

namespace legacy {

Scenario DefaultRun() {
  Scenario scenario;
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
  return scenario.dataset +
         ", drawn digits; on real images where 'legacy-data fetch "
         "fashion-mnist' put them into " +
         root;
}

}  // namespace legacy
