// The simulated network of a scenario.
#pragma once

#include <memory>

#include "scenarios/network/network.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/transfers.h"

namespace legacy {

struct ScenarioNetwork {
  std::unique_ptr<Network> network;
  fabric::EngineFactory factory;  // of the scenario's fidelity
};

// Of the first entry of its network schedule. Throws Error on a fabric that cannot be built or is
// too small, on ns-3 attributes that ns-3 refuses, and on packet fidelity in a build without ns-3.
ScenarioNetwork BuildNetwork(const Scenario& scenario, uint64_t seed);

// How the scenario's collective calls travel over it.
TransferOptions TransfersOf(const Scenario& scenario, const Network& network);

}  // namespace legacy
