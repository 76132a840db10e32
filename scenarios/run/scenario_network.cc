#include "scenarios/run/scenario_network.h"

#include "ns3-module/fabric/collective/alpha-beta.h"
#include "scenarios/network/engines.h"

namespace legacy {
ScenarioNetwork BuildNetwork(const Scenario& scenario, uint64_t seed) {
  NetworkRequest request;
  request.topology.text = scenario.topology;
  request.topology.rateBps = fabric::ParseRate(scenario.bandwidth, "network.bandwidth");
  request.topology.delay = fabric::ParseTime(scenario.delay, "network.delay");
  request.topology.queueBytes = fabric::ParseBytes(scenario.queue, "network.queue");
  request.topology.multipath =
      scenario.multipath == "spray" ? fabric::Multipath::Spray : fabric::Multipath::Ecmp;
  request.placement.text = scenario.placement;
  request.placement.workers = scenario.workers;
  const Transfer transfer = ParseTransfer(scenario.aggregation);
  request.placement.servers = transfer == Transfer::kPeers             ? 0
                              : transfer == Transfer::kParameterServer ? 1
                                                                       : scenario.servers;
  request.placement.aggregation =
      transfer == Transfer::kPeers && scenario.allreduce == "in-network-allreduce";
  request.transport = fabric::MakeTransport(scenario.transport);
  request.transport.SetMtu(scenario.mtu);
  request.transport.warm = scenario.connections == "warm";
  request.transport.attributes = scenario.ns3;
  request.seed = seed;
  ScenarioNetwork result{BuildNetwork(request), FactoryOf(scenario.fidelity, "network.fidelity")};
  TryEngine(result.factory, *result.network);
  return result;
}

TransferOptions TransfersOf(const Scenario& scenario, const Network& network) {
  TransferOptions options;
  options.transfer = ParseTransfer(scenario.aggregation);
  options.pull = ParsePull(scenario.pull);
  options.all_reduce =
      ParseAlgorithm(scenario.allreduce, "network.allreduce", Collective::kAllReduce);
  options.all_gather =
      ParseAlgorithm(scenario.allgather, "network.allgather", Collective::kAllGather);
  options.group = scenario.group > 0 ? scenario.group : WorkersOfFirstSwitch(network);
  options.servers = scenario.servers;
  options.parents = network.placement.parents;
  options.first_aggregator =
      network.placement.Endpoints() - static_cast<int>(network.placement.aggregators.size());
  options.path = fabric::TypicalPath(network.topology, network.placement);
  options.transport = network.request.transport;
  return options;
}

}  // namespace legacy
