// A federated run compares methods: each of them trains with each seed over its own simulated
// network, and leaves one run directory (docs/results-format.md). What does not depend on the
// network can be recorded, and timed again over another one.
#pragma once

#include <cstdio>
#include <string>

#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"

namespace legacy {

// Runs the scenario, with progress on `log`. Throws Error on scenarios that are not valid, and
// leaves no files then.
RunResult RunFederated(const Scenario& scenario, const std::string& command_line,
                       const StopFlag& stop, std::FILE* log = stderr,
                       const RunControl& control = {});

}  // namespace legacy
