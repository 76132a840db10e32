// A recorded run: the directory that legacy-scenario leaves with --record, read whole and checked
// to be of one piece, so that it can be timed again.
#pragma once

#include <string>

#include "analysis/run_directory.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/traffic_reader.h"

namespace legacy {

struct Recording {
  analysis::RunDirectory run;
  Scenario scenario;  // as it was recorded
  RecordedTraffic traffic;
};

// Throws Error naming the file and the reason: what is no run directory or has no record, what says
// of itself that it may not be replayed (`replay_refused`), what is not finished, and files that do
// not belong together.
Recording ReadRecording(const std::string& directory);

// The scenario that options of a replay start from: the recorded network, a run directory of its
// own.
Scenario ReplayDefaults(const Recording& recording);

}  // namespace legacy
