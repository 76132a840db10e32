#include "scenarios/federated/plan_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/programs/free_memory.h"

namespace legacy {
namespace {

using fabric::DirectedLink;

// A LinkSums adds up what links carried in `seconds`. Its rows are in the order in which they were
// first named.
class LinkSums {
 public:
  explicit LinkSums(double seconds) : seconds_(seconds) {}

  void Add(const std::string& name, const std::string& from, const std::string& to,
           const fabric::Port& port, const fabric::LinkCounters& counters) {
    const auto [place, fresh] = places_.try_emplace(name, rows_.size());
    if (fresh) rows_.emplace_back();
    analysis::LinkRow& row = rows_[place->second];
    row.policy = "plan";
    row.link = name;
    row.from = from;
    row.to = to;
    const int64_t rate = port.schedule ? port.schedule->MeanRate() : port.rateBps;
    row.rate_bits_per_second += static_cast<double>(rate);
    row.bytes += counters.bytes;
    row.packets += counters.packets;
    row.drops += counters.drops;
    row.marks += counters.marks;
    row.max_queue_bytes = std::max(row.max_queue_bytes, counters.maxQueueBytes);
    row.busy_seconds += InSeconds(counters.busy);
    row.peak_utilisation = std::max(row.peak_utilisation, counters.peak);
    row.usd += port.usdPerGb * static_cast<double>(counters.bytes) * 1e-9;
  }

  std::vector<analysis::LinkRow> Rows() {
    for (analysis::LinkRow& row : rows_) {
      const double possible = row.rate_bits_per_second / 8 * seconds_;
      row.mean_utilisation = possible > 0 ? static_cast<double>(row.bytes) / possible : 0;
      row.usd_per_gb = row.bytes > 0 ? row.usd / static_cast<double>(row.bytes) * 1e9 : 0;
    }
    return rows_;
  }

 private:
  double seconds_;
  std::map<std::string, size_t> places_;
  std::vector<analysis::LinkRow> rows_;
};

bool ChangesRates(const PlanRemedy& remedy) {
  return remedy.down_rates != 1 || remedy.up_rates != 1 || remedy.server_rate != 1 ||
         remedy.core_rates != 1;
}

// Returns the network with the remedy's factors on its rates.
std::shared_ptr<const fabric::ClientNetwork> WithRates(const fabric::ClientNetwork& network,
                                                       const PlanRemedy& remedy) {
  std::vector<std::array<double, 2>> factors(network.topology.Links().size(), {1, 1});
  for (const DirectedLink link : network.accessLinks) {
    factors[link / 2] = {remedy.down_rates, remedy.up_rates};
  }
  for (const DirectedLink link : network.coreLinks) {
    factors[link / 2] = {remedy.core_rates, remedy.core_rates};
  }
  if (network.serverLink >= 0) {
    factors[network.serverLink / 2] = {remedy.server_rate, remedy.server_rate};
  }
  auto changed = std::make_shared<fabric::ClientNetwork>(
      fabric::ClientNetwork{network.topology.WithLinks([&](int index, fabric::Link& link) {
                              for (size_t way = 0; way < 2; ++way)
                                ScaleRate(link.ports[way], factors[index][way]);
                            }),
                            network.placement, network.serverEndpoint, network.accessLinks,
                            network.coreLinks, network.serverLink});
  return changed;
}

}  // namespace

void CheckMemory(int64_t clients, bool exchange) {
  // These are measured for a million clients: phones with a server and remedies, and an exchange
  // in the network.
  constexpr double kWithServer = 1700, kWithExchange = 4300;
  constexpr double kShare = 0.9;
  const double bytes = (exchange ? kWithExchange : kWithServer) * static_cast<double>(clients);
  const std::optional<int64_t> free = FreeMemory();
  if (!free || bytes <= kShare * static_cast<double>(*free)) return;
  throw Error("--population (--clients)", std::to_string(clients) + " clients",
              "fewer: they take about " + MemoryText(bytes) + ", and " +
                  MemoryText(static_cast<double>(*free)) + " are free");
}

void ScaleRate(fabric::Port& port, double factor) {
  if (factor == 1) return;
  const double rate = static_cast<double>(port.rateBps) * factor;
  port.rateBps = std::llround(std::clamp<double>(rate, 1, kMostRate));
  if (port.schedule) {
    port.schedule = std::make_shared<const fabric::LinkSchedule>(port.schedule->Scaled(factor));
  }
}

std::shared_ptr<const fabric::ClientNetwork> PlanNetworks::With(const PlanRemedy& remedy) {
  const auto make = [&](const fabric::Population& population) {
    return std::make_shared<const fabric::ClientNetwork>(fabric::MakeClientNetwork(
        population, nullptr, request_.core ? &*request_.core : nullptr, !request_.exchange));
  };
  if (!plain_) plain_ = make(request_.population);
  std::shared_ptr<const fabric::ClientNetwork> network = plain_;
  if (!remedy.at.empty()) {
    fabric::Population moved = request_.population;
    fabric::ServerSite site = moved.Server();
    site.at = remedy.at;
    moved.SetServer(site);
    network = make(moved);
  }
  return ChangesRates(remedy) ? WithRates(*network, remedy) : network;
}

std::vector<analysis::LinkRow> LinksOf(const PlanRequest& request,
                                       const fabric::ClientNetwork& network,
                                       const std::vector<fabric::LinkCounters>& counters,
                                       double seconds) {
  const fabric::Topology& topology = network.topology;
  LinkSums sums(seconds);
  const auto both = [&](DirectedLink down, const std::string& down_name, const std::string& up_name,
                        bool single) {
    for (const DirectedLink link : {down, down ^ 1}) {
      const bool up = link != down;
      const std::string from = topology.NodeName(topology.From(link));
      const std::string to = topology.NodeName(topology.To(link));
      sums.Add(up ? up_name : down_name, single ? from : (up ? "clients" : "core"),
               single ? to : (up ? "core" : "clients"), topology.PortOf(link), counters[link]);
    }
  };
  for (const DirectedLink link : network.coreLinks) {
    const std::string from = topology.NodeName(topology.From(link));
    const std::string to = topology.NodeName(topology.To(link));
    both(link, from + " > " + to, to + " > " + from, true);
  }
  if (network.serverLink >= 0) both(network.serverLink, "server > core", "core > server", true);
  DirectedLink last = -1;
  for (size_t client = 0; client < network.accessLinks.size(); ++client) {
    // Clients that share a line are consecutive.
    if (network.accessLinks[client] == last) continue;
    last = network.accessLinks[client];
    const fabric::Population& population = request.population;
    const fabric::Group& group =
        population.Groups()[population.GroupOf(static_cast<int64_t>(client))];
    both(last, "access of " + group.name + ", down", "access of " + group.name + ", up", false);
  }
  std::vector<analysis::LinkRow> rows = sums.Rows();
  for (analysis::LinkRow& row : rows) row.seed = request.seed;
  return rows;
}

void ThrowWithClients(const fabric::DeadLink& dead, const fabric::ClientNetwork& network,
                      const fabric::Population& population) {
  const std::vector<int>& hosts = network.placement.hosts;
  const auto name = [&](int node) -> std::string {
    const auto found = std::ranges::find(hosts, node);
    if (found == hosts.end()) return "the server";
    const int64_t client = found - hosts.begin();
    return "client " + std::to_string(client) + " of group " +
           population.Groups()[population.GroupOf(client)].name;
  };
  throw Error(std::string(dead.what()) + "; it is on the way from " + name(dead.Source()) + " to " +
              name(dead.Destination()));
}

}  // namespace legacy
