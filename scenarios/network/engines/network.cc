#include "scenarios/network/engines/network.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <set>

#include "base/parse.h"
#include "base/programs/program.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "ns3-module/fabric/roce/buffers.h"
#include "ns3-module/fabric/tcp/controls.h"
#include "scenarios/network/input/host_names.h"

namespace legacy {

void SayImported(const std::string& text, const fabric::ImportReport& report) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::string unused = report.Unused();
  if (report.Empty() && unused.empty()) return;
  const std::lock_guard lock(mutex);
  if (!said.insert(text).second) return;
  if (!report.Empty()) {
    std::fprintf(stderr, "%s: assumed: %s (%s topo show says how)\n", text.c_str(),
                 report.Short().c_str(), CommandOf("legacy-network").c_str());
  }
  if (!unused.empty()) std::fprintf(stderr, "%s: not used: %s\n", text.c_str(), unused.c_str());
}

std::unique_ptr<Network> BuildNetwork(const NetworkRequest& request) {
  request.transport.CheckOptions();
  auto network = std::make_unique<Network>();
  fabric::PlacementRequest placement = request.placement;
  fabric::TopologyRequest topology = request.topology;
  if (placement.workers > 0) {
    topology.hostsNeeded = placement.workers + (placement.colocated ? 0 : placement.servers);
  }
  fabric::ImportedTopology imported = fabric::ImportTopology(topology);
  SayImported(topology.text, imported.report);
  network->topology = std::move(imported.topology);
  network->demands = std::move(imported.demands);
  network->numbers = std::move(imported.numbers);
  network->channels = imported.channels;
  placement.server = imported.server;
  if (placement.workers == 0) {
    placement.workers = static_cast<int>(network->topology.Hosts().size());
  }
  network->placement = fabric::MakePlacement(placement, network->topology);
  MakeReady(*network, request);
  return network;
}

void MakeReady(Network& network, const NetworkRequest& request) {
  if (request.background.Any()) {
    std::vector<int> endpoints;
    for (const int host : network.topology.Hosts()) {
      endpoints.push_back(network.placement.Endpoints());
      network.placement.others.push_back(host);
    }
    network.background = std::make_unique<BackgroundTraffic>(
        request.background, request.background_key, network.topology, network.placement,
        request.transport, std::move(endpoints), network.demands, request.seed);
    network.request.background = [traffic = network.background.get()](TimeNs start) {
      return traffic->From(start);
    };
  }
  network.request.topology = &network.topology;
  network.request.placement = &network.placement;
  network.request.transport = request.transport;
  if (request.transport.roce && request.transport.roce->storm) {
    fabric::RoceSettings roce = *request.transport.roce;
    const HostNames hosts(network.topology, network.numbers);
    roce.storm->host = network.topology.NodeName(hosts.Find(roce.storm->host, "roce: storm: host"));
    network.request.transport.roce = std::make_shared<const fabric::RoceSettings>(std::move(roce));
  }
  network.request.seed = request.seed;
  if (request.transport.roce) {
    fabric::CheckRoce(network.topology, *network.request.transport.roce);
  }
  network.connections = std::make_unique<const fabric::ConnectionNames>(network.placement);
  network.stripes = std::make_unique<const fabric::Stripes>(network.topology, network.placement,
                                                            request.transport.streams);
}

int ChannelsOf(int channels, const Network& network,
               const std::optional<fabric::Protocol>& protocol) {
  if (channels > 0) return channels;
  if (!protocol && network.channels == 0) {
    const int node = network.placement.node;
    return fabric::NcclChannels(fabric::NodeLinksOf(network.topology, network.placement, node),
                                network.placement.Workers(), node);
  }
  return std::clamp(network.channels, 1, fabric::kMostChannels);
}

void TryEngine(const fabric::EngineFactory& factory, const Network& network) {
  factory(network.request);
}

std::string ParseCongestion(const std::string& text, const std::string& key) {
  return text.empty() ? text : fabric::ParseCongestionControl(text, key);
}

fabric::Skip ParseSkip(const std::string& text, const std::string& key) {
  return ParseChoice<fabric::Skip>(text, key, std::array{"none", "steady"});
}

fabric::Multipath ParseMultipath(const std::string& text, const std::string& key) {
  return ParseChoice<fabric::Multipath>(text, key, std::array{"ecmp", "spray"});
}

}  // namespace legacy
