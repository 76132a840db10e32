// Subcommand plan of legacy-scenario.
#pragma once

#include "base/programs/program.h"

namespace legacy {

// Plans the layouts of a shape (run/layout_plan.h), and prints them. Returns the exit status.
int PlanCommand(int argc, char** argv, const StopFlag& stop);

}  // namespace legacy
