// A run report is the end of a program that filled a run directory.
#pragma once

#include "scenarios/run/manifest.h"

namespace legacy {

// Writes summary and pictures into the directory, tables to standard output, and warnings to
// standard error. Returns the program's exit status: 130 where the run was interrupted.
int ReportRun(const RunResult& result, bool pictures);

}  // namespace legacy
