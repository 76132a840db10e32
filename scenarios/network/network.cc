#include "scenarios/network/network.h"

namespace legacy {

std::unique_ptr<Network> BuildNetwork(const NetworkRequest& request) {
  auto network = std::make_unique<Network>();
  const fabric::PlacementRequest& placement = request.placement;
  fabric::TopologyRequest topology = request.topology;
  topology.hostsNeeded = placement.workers + (placement.colocated ? 0 : placement.servers);
  network->topology = fabric::MakeTopology(topology);
  network->placement = fabric::MakePlacement(placement, network->topology);
  network->request.topology = &network->topology;
  network->request.placement = &network->placement;
  network->request.transport = request.transport;
  network->request.seed = request.seed;
  return network;
}

void TryEngine(const fabric::EngineFactory& factory, const Network& network) {
  factory(network.request);
}

}  // namespace legacy
