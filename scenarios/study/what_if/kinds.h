// What the keys of a what-if question mean for a group of workers, and for one of federated
// clients.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenarios/options/scenario.h"
#include "scenarios/study/what_if/question.h"

namespace legacy {

// Set the keys of their kind to what a scenario has.
void AddDefaultsOfWorkers(const Scenario& scenario, WhatIfQuestion& question);
void AddDefaultsOfClients(const Scenario& scenario, WhatIfQuestion& question);

// Set what the keys of their kind change. `topologies` are those that may be files. Throw Error on
// values that options refuse; what they mean together, the replay checks.
void ApplyToWorkers(const WhatIfQuestion& question, const std::set<std::string>& topologies,
                    Scenario& scenario);
void ApplyToClients(const WhatIfQuestion& question, Scenario& scenario);

// Return the keys that a scenario's network does not read, with the reason.
std::map<std::string, std::string> UnreadByWorkers(const Scenario& scenario);
std::map<std::string, std::string> UnreadByClients(const Scenario& scenario);

// Returns the places at which the server of a scenario of clients may be; empty: its lines meet in
// one switch.
std::vector<std::string> PlacesOfServer(const Scenario& scenario);

}  // namespace legacy
