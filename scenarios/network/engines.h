// From the name of a fidelity to the engine that simulates at it: the only place that knows which there are.
#pragma once

#include <string>
#include <vector>

#include "ns3-module/fabric/engine.h"

namespace legacy {

// "packet" (with ns-3 only), "flow", "analytic": from the closest look to the fastest.
std::vector<std::string> Fidelities();

// Throws Error naming `option`, and what this build has.
fabric::EngineFactory FactoryOf(const std::string& fidelity, const std::string& option);

// What ns-3 this build links: "3.37", or "none".
std::string Ns3Version();

}  // namespace legacy
