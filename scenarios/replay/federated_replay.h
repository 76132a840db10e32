// A replay of federated clients times a recorded run over another network, other lines of its
// clients or other devices.
#pragma once

#include <memory>

#include "scenarios/replay/replay_source.h"
#include "scenarios/run/recording.h"

namespace legacy {

// Returns the replay of a recording of clients, which checks that what they learnt does not depend
// on the network.
std::unique_ptr<RecordedRun> ReplayOfClients(Recording recording);

}  // namespace legacy
