#include "scenarios/network.h"

#include "compress/error.h"
#include "ns3-module/fabric/error.h"
#ifdef LEGACY_WITH_NS3
#include "ns3-module/helper/packet-engine-helper.h"
#endif

namespace legacy {
namespace {

fabric::EngineFactory FactoryOf(const std::string& fidelity) {
  if (fidelity == "analytic") return fabric::MakeAnalyticEngine;
#ifdef LEGACY_WITH_NS3
  return fabric::MakePacketEngine;
#else
  throw Error("network.fidelity", fidelity, "analytic: this build has no ns-3 (LEGACY_NS3=OFF)");
#endif
}

}  // namespace

std::unique_ptr<Network> BuildNetwork(const Scenario& scenario, uint64_t seed) {
  const bool server = scenario.aggregation == "parameter-server";
  auto network = std::make_unique<Network>();
  fabric::TopologyRequest topology;
  topology.text = scenario.topology;
  topology.rateBps = fabric::ParseRate(scenario.bandwidth, "network.bandwidth");
  topology.delay = fabric::ParseTime(scenario.delay, "network.delay");
  topology.queueBytes = fabric::ParseBytes(scenario.queue, "network.queue");
  topology.hostsNeeded = scenario.workers + (server ? 1 : 0);
  network->topology = fabric::MakeTopology(topology);
  network->placement =
      fabric::MakePlacement({scenario.placement, scenario.workers, server}, network->topology);
  network->request.topology = &network->topology;
  network->request.placement = &network->placement;
  network->request.transport = fabric::MakeTransport(scenario.transport);
  network->request.transport.warm = scenario.connections == "warm";
  network->request.transport.attributes = scenario.ns3;
  network->request.seed = seed;
  network->factory = FactoryOf(scenario.fidelity);
  network->factory(
      network->request);  // what the engine refuses is said now, not after the first step
  return network;
}

std::string Ns3Version() {
#ifdef LEGACY_WITH_NS3
  return LEGACY_NS3_VERSION;
#else
  return "none";
#endif
}

}  // namespace legacy
