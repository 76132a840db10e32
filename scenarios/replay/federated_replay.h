// A replay of federated clients times a recorded run over another network, other lines of its
// clients or other devices.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "analysis/run_directory.h"
#include "base/programs/program.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"

namespace legacy {

// Reads a recorded run. Throws Error naming file and line where it is damaged, or has no record.
std::shared_ptr<const FederatedRecording> ReadFederatedRecording(const std::string& directory);

// Throws Error where `scenario` describes another training than the recorded one, or what is learnt
// would depend on its network.
void CheckReplay(const FederatedRecording& recording, const Scenario& scenario);

// Return the rows of a replay, and fill its run directory (RecordedRun). `stopped` is asked between
// versions and, with a server, between transfers.
analysis::RunDirectory ReplayRows(std::shared_ptr<const FederatedRecording> recording,
                                  const Scenario& scenario, const std::function<bool()>& stopped);
RunResult Replay(std::shared_ptr<const FederatedRecording> recording, const Scenario& scenario,
                 const std::string& program, const std::string& command_line, const StopFlag& stop,
                 std::FILE* log);

}  // namespace legacy
