// A scenario network is the simulated network of a scenario.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scenarios/network/engines/network.h"
#include "scenarios/options/scenario.h"
#include "trainer/clock/transfers.h"

namespace legacy {

// A ScenarioNetwork is a network with the engine that carries its flows.
struct ScenarioNetwork {
  std::unique_ptr<Network> network;
  fabric::EngineFactory factory;  // makes the engine of the scenario's fidelity
};

// Returns the endpoints of the scenario's workers and servers, and where they are. Of several ways
// that which comes first and which the fabric allows holds: if NCCL's choice of algorithms may use
// the switches of nodes, these sum, provided that they exist.
std::vector<fabric::PlacementRequest> PlacementsOf(const Scenario& scenario);

// Builds the network of the first entry of the scenario's network schedule. Throws Error on a
// fabric that cannot be built or is too small, on ns-3 attributes that ns-3 refuses, and on packet
// fidelity in a build without ns-3.
ScenarioNetwork BuildScenarioNetwork(const Scenario& scenario, uint64_t seed);

// Returns true where the topology reads network.bandwidth or network.delay: a file may give the
// rate or the delay of each of its links.
bool ReadsLinkOption(Scenario scenario, const std::string& key);
// Returns true if the topology says the rates of all links, so that network.bandwidth has no
// effect.
bool HasOwnRates(const Scenario& scenario);

// Returns the algorithms that carry the scenario's collective calls on that network.
TransferOptions TransfersOf(const Scenario& scenario, const Network& network);

}  // namespace legacy
