// The simulated network of a scenario: fabric, placement, transport and the engine of the chosen fidelity.
#pragma once

#include <memory>

#include "ns3-module/fabric/engine.h"
#include "scenarios/scenario.h"

namespace legacy {

struct Network {
  fabric::Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;  // points at the two above
  fabric::EngineFactory factory;
};

// Throws Error on a fabric that cannot be built or is too small, on ns-3 attributes that ns-3 refuses, and on packet
// fidelity in a build without ns-3.
std::unique_ptr<Network> BuildNetwork(const Scenario& scenario, uint64_t seed);

// What ns-3 this build links: "3.37", or "none".
std::string Ns3Version();

}  // namespace legacy
