// A comparison trains every policy on the same batches, times each step on the network, and leaves
// a run directory.
#pragma once

#include <cstdio>
#include <string>

#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/timed_run.h"

namespace legacy {

// Runs `scenario` into its run directory, with progress on `log`. `stop` is read after every step;
// once it is set, the rows so far stay as a consistent directory, with a checkpoint unless they are
// off. Throws Error, and leaves no files, where the scenario itself is wrong.
RunResult RunComparison(const Scenario& scenario, const std::string& program,
                        const std::string& command_line, const StopFlag& stop,
                        std::FILE* log = stderr, const RunControl& control = {});

}  // namespace legacy
