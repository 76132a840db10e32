// Packets by another program: an engine whose simulation is in a process of legacy-packet.
#pragma once

#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/wire/protocol.h"

namespace legacy {

// Returns the factory of such engines. The first one that writes `files` uses their names, later
// ones add -2, -3, ... to them. `lost` is set to the first file that was cut, when an engine ends.
// Throws Error where legacy-packet is missing, and where a file cannot be written.
fabric::EngineFactory PacketProgramEngines(const wire::Files& files,
                                           const std::shared_ptr<std::string>& lost);

}  // namespace legacy
