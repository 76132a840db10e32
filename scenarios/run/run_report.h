// The end of a program that filled a run directory.
#pragma once

#include "scenarios/run/manifest.h"

namespace legacy {

// Summary and pictures into the directory, tables on standard output, warnings on standard error.
// Returns the program's exit status: 130 where the run was interrupted.
int ReportRun(const RunResult& result, bool pictures);

}  // namespace legacy
