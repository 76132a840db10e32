// A trace replay times the user's own trace, what a training sent and how long its devices took,
// measured anywhere, on a simulated network by the code that times our own trainings (timing.h).
#pragma once

#include <cstdio>
#include <string>

#include "base/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/manifest.h"
#include "trainer/clock/ddp_trace.h"

namespace legacy {

// A TraceFile is what legacy-replay is given instead of a run directory.
struct TraceFile {
  std::string path;
  DdpTrace trace;
};

// Returns the scenario that options of a replay start from: workers and steps of the trace, and no
// stragglers but those that it has.
Scenario ReplayDefaults(const TraceFile& file);

// True for options that such a replay may change: those of the network, the speeds of the clock,
// the target, the seeds (of stragglers and network), and where the run directory goes.
bool MayTraceReplayChange(const std::string& key);

// Throws Error naming the option where `scenario` changes what the trace says, or would drop
// workers.
void CheckReplay(const TraceFile& file, const Scenario& scenario);

// Times each training of the trace with each seed, into the run directory, with progress on
// `log`. `stop` is read after every step. Throws Error as CheckReplay does, and on
// networks that cannot be.
RunResult Replay(const TraceFile& file, const Scenario& scenario, const std::string& program,
                 const std::string& command_line, const StopFlag& stop, std::FILE* log = stderr);

}  // namespace legacy
