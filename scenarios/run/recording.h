// A recorded run is the directory that a training of workers or of clients leaves with --record. It
// is read whole, and its files are checked to belong together, so that it can be timed again.
#pragma once

#include <string>

#include "analysis/run_directory.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/record.h"

namespace legacy {

// A Recording is a recorded run in memory.
struct Recording {
  analysis::RunDirectory run;
  Scenario scenario;  // as it was recorded; of clients where it has `federated`
  Record record;
};

// Reads a recording. Throws Error naming the file and the reason: a folder that is not a run
// directory or has no record, a run whose manifest refuses replays (`replay_refused`) or that is
// not finished, and files that do not belong together.
Recording ReadRecording(const std::string& directory);

// Returns the scenario from which options of a replay start: the recorded one with a new run
// directory.
Scenario ReplayDefaults(const Recording& recording);

}  // namespace legacy
