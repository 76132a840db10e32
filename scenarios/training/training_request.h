// A training request names a training of a scenario, so that all processes that train together
// (trainer/processes/) make the same one.
#pragma once

#include <cstdint>
#include <string>

#include "base/state.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/scenario.h"
#include "scenarios/training/step_sources.h"
#include "trainer/processes/process_group.h"

namespace legacy {

// A TrainingRequest is a method of the scenario, with the policy and parameter that pilots may have
// changed, a seed, and the number of workers.
struct TrainingRequest {
  std::string method;
  std::string policy;
  double parameter = 0;
  uint64_t seed = 1;
  int workers = 1;

  template <class Archive>
  friend void Fields(Archive& archive, TrainingRequest& r) {
    archive(r.method, r.policy, r.parameter, r.seed, r.workers);
  }
};

// Returns the units of a method on these layers.
std::vector<Unit> UnitsOf(const Method& method, const Scenario& scenario,
                          std::span<const Unit> layers);

// Returns the options of a training in this process.
TrainingOptions OptionsOf(const Scenario& scenario, const Method& method, uint64_t seed,
                          int workers, const Scheme& scheme, ProcessGroup& processes);

// Makes the training in this process, in others than 0.
std::unique_ptr<StepSource> MakeRequested(const TrainingRequest& request, const Scenario& scenario,
                                          StepSources& sources, ProcessGroup& processes);

}  // namespace legacy
