#include "scenarios/run/scenario_network.h"

#include "base/error.h"
#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "ns3-module/fabric/import/make.h"
#include "scenarios/network/engines/engines.h"

namespace legacy {

std::vector<fabric::PlacementRequest> PlacementsOf(const Scenario& scenario) {
  fabric::PlacementRequest placement;
  placement.text = scenario.placement;
  placement.workers = scenario.workers;
  placement.servers = AggregatingServers(scenario);
  placement.node = scenario.group;
  const bool peers = *scenario.aggregation == Transfer::kPeers;
  if (peers && *scenario.allreduce) {
    placement.aggregation = fabric::AggregationOf(**scenario.allreduce);
  }
  if (!peers || *scenario.allreduce || *scenario.protocol) return {placement};
  fabric::PlacementRequest with_switches = placement;
  with_switches.aggregation = fabric::Aggregation::Nodes;
  return {with_switches, placement};
}

namespace {

// Builds the network with the first of the placements that it allows.
std::unique_ptr<Network> Build(NetworkRequest& request, const Scenario& scenario) {
  const std::vector<fabric::PlacementRequest> placements = PlacementsOf(scenario);
  for (const fabric::PlacementRequest& placement : placements) {
    request.placement = placement;
    if (&placement == &placements.back()) break;
    try {
      return BuildNetwork(request);
    } catch (const Error&) {  // the next one is tried
    }
  }
  return BuildNetwork(request);
}

}  // namespace

ScenarioNetwork BuildScenarioNetwork(const Scenario& scenario, uint64_t seed) {
  NetworkRequest request = RequestOf(scenario);
  request.topology.changesOption = "network.changes";
  request.transport.attributes = scenario.ns3;
  request.background_key = "network.background";
  request.seed = seed;
  ScenarioNetwork result{Build(request, scenario),
                         FactoryOf(*scenario.fidelity, "network.fidelity")};
  TryEngine(result.factory, *result.network);
  return result;
}

bool ReadsLinkOption(Scenario scenario, const std::string& key) {
  scenario.network_schedule = "none";
  scenario.fidelity = "analytic";  // this builds no engine that has global state
  const auto fingerprint = [&](const std::string& value) {
    SetOption(scenario, key, value);
    return BuildScenarioNetwork(scenario, scenario.seed).network->topology.Fingerprint();
  };
  return key == "network.bandwidth" ? fingerprint("1Mbps") != fingerprint("2Mbps")
                                    : fingerprint("1us") != fingerprint("2us");
}

bool HasOwnRates(const Scenario& scenario) {
  const std::string& topology = scenario.topology;
  // Others need not be built to be known to take the option.
  const bool says =
      fabric::NamesTopologyFile(topology) || topology.find("rate=") != std::string::npos;
  return says && !ReadsLinkOption(scenario, "network.bandwidth");
}

TransferOptions TransfersOf(const Scenario& scenario, const Network& network) {
  TransferOptions options;
  options.transfer = *scenario.aggregation;
  options.pull = *scenario.pull;
  options.all_reduce = *scenario.allreduce;
  options.all_gather = *scenario.allgather;
  options.group = network.placement.node;
  options.channels = {
      ChannelsOf(scenario.channels, network, *scenario.protocol), *scenario.protocol, {}};
  if (options.channels.protocol != fabric::Protocol::None) {
    options.channels.links =
        fabric::NodeLinksOf(network.topology, network.placement, options.group);
  }
  options.servers = scenario.servers;
  options.parents = network.placement.parents;
  options.first_aggregator = network.placement.FirstAggregator();
  options.path =
      fabric::TypicalPath(network.topology, network.placement, network.request.transport);
  options.transport = network.request.transport;
  options.contention = scenario.contention;
  return options;
}

}  // namespace legacy
