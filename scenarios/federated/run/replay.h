// Replays time a recorded run over another network.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "analysis/run_directory.h"
#include "base/programs/program.h"
#include "scenarios/federated/recorded_learners.h"
#include "scenarios/federated/run/comparing.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Returns the scenario from which options of a replay start: the recorded one with a new run
// directory. Throws Error where the folder has no record.
Scenario FederatedReplayDefaults(const std::string& directory);
// Returns whether a replay may change an option.
bool MayFederatedReplayChange(const ScenarioOption& option);

// Reads a recorded run. Throws Error naming file and line where it is damaged, or has no record.
std::shared_ptr<const FederatedRecording> ReadFederatedRecording(const std::string& directory);

// Returns the rows of a replay, those of tasks left out, in memory; nothing is printed. The
// manifest is the recording's, with target and fidelity of `scenario`. Where it is stopped, it
// returns the rows so far. Several may run at the same time except at packet fidelity. Throws Error
// as ReplayFederated does.
analysis::RunDirectory ReplayFederatedRows(std::shared_ptr<const FederatedRecording> recording,
                                           const Scenario& scenario, const StopFlag& stop);
// Does the same; other threads stop it where `stopped` returns true, which is asked between
// versions and, with a server, between transfers.
analysis::RunDirectory ReplayFederatedRows(std::shared_ptr<const FederatedRecording> recording,
                                           const Scenario& scenario,
                                           const std::function<bool()>& stopped);

// Times a recorded run over the network, clients' lines and devices of `scenario`. Throws Error
// where the scenario changes what was learnt.
FederatedRunResult ReplayFederated(const std::string& directory, const Scenario& scenario,
                                   const std::string& command_line, const StopFlag& stop,
                                   std::FILE* log);

}  // namespace legacy
