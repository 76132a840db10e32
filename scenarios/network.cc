#include "scenarios/network.h"

#include "scenarios/network/engines.h"

namespace legacy {

ScenarioNetwork BuildNetwork(const Scenario& scenario, uint64_t seed) {
  NetworkRequest request;
  request.topology.text = scenario.topology;
  request.topology.rateBps = fabric::ParseRate(scenario.bandwidth, "network.bandwidth");
  request.topology.delay = fabric::ParseTime(scenario.delay, "network.delay");
  request.topology.queueBytes = fabric::ParseBytes(scenario.queue, "network.queue");
  request.placement.text = scenario.placement;
  request.placement.workers = scenario.workers;
  request.placement.servers = scenario.aggregation == "parameter-server" ? 1 : 0;
  request.transport = fabric::MakeTransport(scenario.transport);
  request.transport.warm = scenario.connections == "warm";
  request.transport.attributes = scenario.ns3;
  request.seed = seed;
  ScenarioNetwork result{BuildNetwork(request), FactoryOf(scenario.fidelity, "network.fidelity")};
  TryEngine(result.factory, *result.network);
  return result;
}

}  // namespace legacy
