// Packets by an engine that the program is linked with. Such a program contains ns-3, which is
// GPL-2.0-only.
#pragma once

#include "scenarios/network/engines/engines.h"

namespace legacy {

// A PacketSource of engines of this process. ns-3 has one simulator, so there is one at a time.
fabric::EngineFactory PacketsInside(const PacketFiles& files);

}  // namespace legacy
