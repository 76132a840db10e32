// Learners of a recorded run: bytes, steps and losses are those of its record, metrics those of its
// evaluations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "scenarios/federated/learner.h"
#include "scenarios/run/recording.h"

namespace legacy {

// Returns the learners of a recording, whose training has that hash. `scenario` outlives them.
// Throws Error where it is that of another training.
std::unique_ptr<FederatedLearners> RecordedLearners(std::shared_ptr<const Recording> recording,
                                                    const Scenario& scenario,
                                                    const std::string& hash);

// A ResumedPast says where a run that continues has its past.
struct ResumedPast {
  std::filesystem::path directory;  // of the run
  std::filesystem::path record;
  std::string policy;
  uint64_t seed = 0;
};

// Returns a learner that gives the recorded tasks up to the version of `present`, which was
// restored from a checkpoint, and then continues it. So the network is simulated again from its
// beginning, and nothing is trained twice except the tasks that were in flight.
std::unique_ptr<FederatedLearner> Resume(std::unique_ptr<FederatedLearner> present,
                                         const ResumedPast& past, const Scenario& scenario,
                                         PlanRequest& request);

}  // namespace legacy
