// A federated run compares methods: each of them trains with each seed over its own simulated
// network, and leaves one run directory (docs/results-format.md). What does not depend on the
// network can be recorded, and timed again over another one.
#pragma once

#include <cstdio>
#include <string>

#include "scenarios/federated/run/comparing.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Runs the scenario, with progress on `log`. Throws Error on scenarios that are not valid, and
// leaves no files then.
FederatedRunResult RunFederated(const Scenario& scenario, const std::string& command_line,
                                const FederatedControl& control, std::FILE* log);

}  // namespace legacy
