// A replay times a recorded training again on another network, with other devices or stragglers.
// Steps, losses and metrics are the recorded ones; every time, and every byte that depends on
// the collective's algorithm, is simulated again by the code that times a running training
// (timing.h). The files are those that training on that network would leave.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"
#include "scenarios/run/recording.h"

namespace legacy {

// Throws Error naming the option where `scenario` describes another training than the recorded one,
// or would drop workers.
void CheckReplay(const Recording& recording, const Scenario& scenario);
// Makes the checks that all replays share. Throws Error naming the first option that differs from
// `known` although `may_change` does not allow it, with `allowed` of the option's known value; and
// where the synchronisation would leave gradients out.
void CheckUnchanged(const Scenario& scenario, const Scenario& known,
                    const std::function<bool(const ScenarioOption&)>& may_change,
                    const std::function<std::string(const std::string& value)>& allowed);
// Throws Error where a replay would write into the folder of the recording.
void CheckFolders(const std::filesystem::path& recorded, const std::filesystem::path& out);

// Returns the rows of a replay, in memory; nothing is printed. The manifest is the recording's,
// with target and fidelity of `scenario` (fidelity auto: the chosen one, without a sample). Where
// it is stopped, it returns the rows so far. Several may run at the same time except at packet
// fidelity, because ns-3 has one simulator for each process. Throws Error as CheckReplay does.
analysis::RunDirectory ReplayRows(const Recording& recording, const Scenario& scenario,
                                  const StopFlag& stop);
// Does the same; other threads stop it where `stopped` returns true.
analysis::RunDirectory ReplayRows(const Recording& recording, const Scenario& scenario,
                                  const std::function<bool()>& stopped);

// Times the recording as `scenario` (see ReplayDefaults) says, into its run directory, with
// progress on `log`. `stop` is read after every step. Throws Error as CheckReplay does, and on
// networks that are not valid; no files are left then. One recording may be replayed any number of
// times.
RunResult Replay(const Recording& recording, const Scenario& scenario, const std::string& program,
                 const std::string& command_line, const StopFlag& stop, std::FILE* log = stderr);

}  // namespace legacy
