#include "scenarios/federated/run/run.h"

#include <memory>
#include <vector>

#include "base/error.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/run/client_comparison.h"
#include "scenarios/training/training_module.h"

namespace legacy {

std::unique_ptr<FederatedLearners> TrainedLearners(const Scenario& scenario) {
  using Maker = FederatedLearners* (*)(const Scenario&);
  const auto make =
      reinterpret_cast<Maker>(TrainingFunction("legacy_federated_learners", *scenario.processor));
  return std::unique_ptr<FederatedLearners>(make(scenario));
}

RunResult RunFederated(const Scenario& scenario, const std::string& command_line,
                       const StopFlag& stop, std::FILE* log, const RunControl& control) {
  if (!control.resume) CheckOut(scenario);
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  const std::vector<std::string> couplings = CouplingsOf(request);
  if (scenario.record && !couplings.empty()) {
    throw Error("run.record", "on",
                "off, as what is learnt depends on the network: " + couplings.front());
  }
  const std::unique_ptr<FederatedLearners> learners = TrainedLearners(scenario);
  const auto partition = learners->LookAtPartition(scenario.seed, request.population.Clients());
  std::fprintf(log, "%s\n",
               PartitionText(partition.value(), scenario.federated->partition).c_str());
  if (couplings.empty()) {
    std::fprintf(log, "what is learnt does not depend on the network\n");
  } else {
    std::fprintf(log, "what is learnt depends on the network:\n");
    for (const std::string& reason : couplings) std::fprintf(log, "  %s\n", reason.c_str());
  }
  const FederatedComparison run = {.scenario = scenario,
                                   .program = "legacy-federated",
                                   .command_line = command_line,
                                   .methods = FederatedMethodsOf(scenario),
                                   .learners = *learners,
                                   .couplings = couplings,
                                   .stop = stop,
                                   .control = control,
                                   .log = log};
  return RunComparison(run);
}

}  // namespace legacy
