// The command that replays recorded runs and traces.
#pragma once

namespace legacy {

// Runs legacy-replay, or `legacy-federated replay` where `clients` is true, which takes runs of
// federated clients alone. Returns the exit status. Throws Error.
int ReplayCommand(int argc, char** argv, bool clients);

}  // namespace legacy
