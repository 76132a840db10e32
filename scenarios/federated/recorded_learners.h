// Learners of a recorded run: bytes, steps and losses are those of its record, metrics those of its
// evaluations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "scenarios/federated/learner.h"

namespace legacy {

// Reads a run directory with a record, whose training has that hash. `scenario` outlives the
// learners. Throws Error naming file and line where it is damaged, and where the run is not whole.
std::unique_ptr<FederatedLearners> RecordedLearners(const std::string& directory,
                                                    const Scenario& scenario,
                                                    const std::string& hash);

// A ResumedPast says where a run that goes on has its past.
struct ResumedPast {
  std::filesystem::path directory;  // of the run
  std::filesystem::path record;
  std::string policy;
  uint64_t seed = 0;
};

// Returns a learner that gives the recorded tasks up to the version of `present`, which was
// restored from a checkpoint, and then goes on with it. So the network is simulated again from its
// beginning, and nothing is trained twice but the tasks that were in flight.
std::unique_ptr<FederatedLearner> Resume(std::unique_ptr<FederatedLearner> present,
                                         const ResumedPast& past, const Scenario& scenario,
                                         PlanRequest& request);

}  // namespace legacy
