// Learners of a recorded run: bytes, steps and losses are those of its record, metrics those of its
// evaluations.
#pragma once

#include <memory>
#include <string>

#include "scenarios/federated/learner.h"

namespace legacy {

// Reads a run directory with a record, whose training has that hash. `scenario` outlives the
// learners. Throws Error naming file and line where it is damaged, and where the run is not whole.
std::unique_ptr<FederatedLearners> RecordedLearners(const std::string& directory,
                                                    const Scenario& scenario,
                                                    const std::string& hash);

}  // namespace legacy
