// A trace replay times the user's own trace on a simulated network. The trace has the messages of a
// training and its device times, measured anywhere. The code is that which times our own trainings
// (timing.h). Methods that the scenario names besides those of the trace compress its gradients
// (trace_methods.h).
#pragma once

#include <cstdio>
#include <string>

#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"
#include "trainer/clock/ddp_trace.h"

namespace legacy {

// A TraceFile is the trace that legacy-replay reads instead of a run directory.
struct TraceFile {
  std::string path;
  DdpTrace trace;
};

// Returns the scenario from which options of a replay start: workers and steps of the trace, and no
// stragglers except those in the trace.
Scenario ReplayDefaults(const TraceFile& file);

// Returns true for options that such a replay may change: those of the network, the speeds of the
// clock, the target, the seeds (of stragglers and network), and the place of the run directory.
// Options of the methods may change, too, where the scenario names some.
bool MayTraceReplayChange(const ScenarioOption& option);

// Throws Error naming the option where `scenario` contradicts the trace, or would drop workers.
void CheckReplay(const TraceFile& file, const Scenario& scenario);

// Times each training of the trace, and each of the scenario's methods, with each seed, into the
// run directory, with progress on `log`. `stop` is read after every step. Throws Error as
// CheckReplay does, and on networks that are not valid.
RunResult Replay(const TraceFile& file, const Scenario& scenario, const std::string& program,
                 const std::string& command_line, const StopFlag& stop, std::FILE* log = stderr);

}  // namespace legacy
