// A simulated network: fabric, placement, transport and the engine of a fidelity.
#pragma once

#include <memory>
#include <string>

#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

struct NetworkRequest {
  fabric::TopologyRequest topology;    // hostsNeeded follows from the placement, if that says
  fabric::PlacementRequest placement;  // 0 workers: one on each host
  fabric::Transport transport;
  uint64_t seed = 1;
};

struct Network {
  fabric::Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;  // points at the two above

  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
};

// Throws fabric::Error on a fabric that cannot be built or is too small.
std::unique_ptr<Network> BuildNetwork(const NetworkRequest& request);

// What the engine refuses (ns-3 attributes, say) is thrown now, not after the first step.
void TryEngine(const fabric::EngineFactory& factory, const Network& network);

}  // namespace legacy
