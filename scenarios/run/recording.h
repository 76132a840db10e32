// A recorded run is the directory that legacy-scenario leaves with --record, read whole and checked
// to be of one piece, so that it can be timed again.
#pragma once

#include <string>

#include "analysis/run_directory.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/traffic_reader.h"

namespace legacy {

// A Recording is such a directory in memory.
struct Recording {
  analysis::RunDirectory run;
  Scenario scenario;  // the scenario as it was recorded
  RecordedTraffic traffic;
};

// Reads a recording. Throws Error naming the file and the reason: a folder that is no run directory
// or has no record, a run that says of itself that it may not be replayed (`replay_refused`) or is
// not finished, and files that do not belong together.
Recording ReadRecording(const std::string& directory);

// Returns the scenario that options of a replay start from: the recorded one with a run directory
// of its own.
Scenario ReplayDefaults(const Recording& recording);

}  // namespace legacy
