// A federated scenario tells before anything runs whether it is valid, whether what is learnt
// depends on the network, and what a training never reads.
#pragma once

#include <string>
#include <vector>

#include "scenarios/federated/plan_request.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Checks what can be checked before data are loaded. Throws Error.
void ValidateFederated(const Scenario& scenario);

// Return why a training would differ on another network, by the scenario alone. Empty: it would be
// the same, so that its record can be replayed. Throw Error on options that are not valid.
std::vector<std::string> CouplingsOf(const PlanRequest& request);
std::vector<std::string> CouplingsOf(const Scenario& scenario);

// Returns the keys of federated options that a training of `method` never reads: clients keep
// nothing of messages that lose nothing.
std::vector<std::string> UnreadFederatedOptions(const Method& method, const Scenario& scenario);

// Returns whether a training that can be replayed reads the population besides the number of its
// clients: groups may say for themselves which of their clients are available, and how many samples
// they have, which weighs their selection.
bool TrainingReadsPopulation(const PlanRequest& request);

}  // namespace legacy
