#include "placement.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// This constant keeps these draws apart from those of other uses of a seed.
constexpr uint64_t kPlacementStream = 0x706C616365ULL;

/// Returns the hosts in a round-robin order over the switches that they are on.
std::vector<int> Strided(const Topology& topology)
{
    std::map<int, std::vector<int>> bySwitch;
    size_t most = 0;
    for (int host : topology.Hosts())
    {
        const auto& out = topology.Out(host);
        std::vector<int>& group = bySwitch[out.empty() ? host : topology.To(out.front())];
        group.push_back(host);
        most = std::max(most, group.size());
    }
    std::vector<int> order;
    for (size_t turn = 0; turn < most; ++turn)
    {
        for (const auto& [node, group] : bySwitch)
        {
            if (turn < group.size())
            {
                order.push_back(group[turn]);
            }
        }
    }
    return order;
}

/// Returns `order` shuffled by the Fisher-Yates algorithm.
std::vector<int> Shuffled(std::vector<int> order, uint64_t seed)
{
    for (size_t i = order.size(); i > 1; --i)
    {
        std::swap(order[i - 1], order[Reduce(HashWords({kPlacementStream, seed, i}), i)]);
    }
    return order;
}

std::vector<int> HostOrder(const std::string& text, const Topology& topology)
{
    if (text == "packed")
    {
        return topology.Hosts();
    }
    if (text == "strided")
    {
        return Strided(topology);
    }
    const std::string random = "random:";
    if (text.compare(0, random.size(), random) == 0)
    {
        uint64_t seed = 0;
        const char* end = text.data() + text.size();
        auto [rest, error] = std::from_chars(text.data() + random.size(), end, seed);
        if (error == std::errc() && rest == end)
        {
            return Shuffled(topology.Hosts(), seed);
        }
    }
    throw Error("placement", text, "packed, strided, random:SEED");
}

constexpr int kUnreached = -1;

/// Returns the number of hops from `root` to every node. Hosts do not forward.
std::vector<int> Distances(const Topology& topology, int root)
{
    std::vector<int> distance(topology.NodeCount(), kUnreached);
    std::vector<int> reached{root};
    distance[root] = 0;
    for (size_t i = 0; i < reached.size(); ++i)
    {
        const int node = reached[i];
        if (topology.IsHost(node))
        {
            continue;
        }
        for (DirectedLink link : topology.Out(node))
        {
            const int next = topology.To(link);
            if (distance[next] == kUnreached)
            {
                distance[next] = distance[node] + 1;
                reached.push_back(next);
            }
        }
    }
    return distance;
}

/// Returns the number of hops from each node to the switch whose farthest worker is nearest; if
/// there are several such switches, to the first.
std::vector<int> DistancesToCentre(const Topology& topology, const std::vector<int>& hosts)
{
    std::vector<int> best;
    int least = INT_MAX;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (topology.IsHost(node))
        {
            continue;
        }
        std::vector<int> distance = Distances(topology, node);
        int depth = 0;
        for (int host : hosts)
        {
            depth = std::max(depth, distance[host] == kUnreached ? INT_MAX : distance[host]);
        }
        if (depth < least)
        {
            least = depth;
            best = std::move(distance);
        }
    }
    if (best.empty())
    {
        throw Error("placement: topology " + topology.Name() +
                    " has no switch that all workers reach: nothing can be summed in it");
    }
    return best;
}

/// Returns the neighbouring switch that is nearer to the root; if there are several, the first.
int Nearer(const Topology& topology, const std::vector<int>& distance, int node)
{
    for (DirectedLink link : topology.Out(node))
    {
        const int next = topology.To(link);
        if (!topology.IsHost(next) && distance[next] == distance[node] - 1)
        {
            return next;
        }
    }
    throw Error("placement: topology " + topology.Name() + ": no switch next to " +
                topology.NodeName(node));
}

/// Makes every switch on the way from a worker to the root an aggregator, the root first.
void AddAggregators(const Topology& topology, Placement& placement)
{
    const std::vector<int> distance = DistancesToCentre(topology, placement.hosts);
    // Next switch above each switch, by distance and node.
    std::map<std::pair<int, int>, int> above;
    for (int host : placement.hosts)
    {
        for (int node = Nearer(topology, distance, host);;)
        {
            const int next = distance[node] == 0 ? node : Nearer(topology, distance, node);
            if (!above.emplace(std::make_pair(distance[node], node), next).second || next == node)
            {
                break;
            }
            node = next;
        }
    }
    std::map<int, int> endpoint; // endpoint of each switch
    for (const auto& [at, next] : above)
    {
        endpoint[at.second] = placement.Endpoints();
        placement.aggregators.push_back(at.second);
    }
    for (int host : placement.hosts)
    {
        placement.parents.push_back(endpoint.at(Nearer(topology, distance, host)));
    }
    for (const auto& [at, next] : above)
    {
        placement.parents.push_back(at.first == 0 ? -1 : endpoint.at(next));
    }
}

/// Returns how many of the first workers are on one server, or have the same first switch.
int FirstNode(const PlacementRequest& request,
              const Topology& topology,
              const std::vector<int>& hosts)
{
    const std::vector<int>& all = topology.Hosts();
    const auto place = [&](int host)
    {
        return request.server > 0
                   ? static_cast<int>(std::lower_bound(all.begin(), all.end(), host) -
                                      all.begin()) /
                         request.server
               : topology.Out(host).empty() ? host
                                            : topology.To(topology.Out(host).front());
    };
    const auto other = std::find_if(
        hosts.begin(), hosts.end(), [&](int host) { return place(host) != place(hosts[0]); });
    return static_cast<int>(other - hosts.begin());
}

/// Returns the switches that a host is linked to. If one of them is the router of this host only,
/// the switches that the router is linked to are added.
std::vector<int> SwitchesNextTo(const Topology& topology, int host)
{
    std::vector<int> switches;
    for (DirectedLink link : topology.Out(host))
    {
        const int node = topology.To(link);
        switches.push_back(node);
        const auto& out = topology.Out(node);
        const auto hosts =
            std::count_if(out.begin(),
                          out.end(),
                          [&](DirectedLink its) { return topology.IsHost(topology.To(its)); });
        for (DirectedLink further : out)
        {
            if (hosts == 1 && !topology.IsHost(topology.To(further)))
            {
                switches.push_back(topology.To(further));
            }
        }
    }
    return switches;
}

/// Returns the switches that are next to all hosts from `begin` to before `end`.
std::vector<int>
SharedSwitches(const Topology& topology, const std::vector<int>& hosts, int begin, int end)
{
    std::vector<int> shared;
    for (int node : SwitchesNextTo(topology, hosts[begin]))
    {
        const auto next = [&](int host)
        {
            const std::vector<int> its = SwitchesNextTo(topology, host);
            return std::find(its.begin(), its.end(), node) != its.end();
        };
        if (!topology.IsHost(node) &&
            std::find(shared.begin(), shared.end(), node) == shared.end() &&
            std::all_of(hosts.begin() + begin, hosts.begin() + end, next))
        {
            shared.push_back(node);
        }
    }
    if (!shared.empty())
    {
        // Planes are alike. If a first switch leads to others, the hosts have one network, and one
        // switch suffices.
        const auto planes = static_cast<size_t>(
            end - begin > 1 ? topology.Planes(hosts[begin], hosts[begin + 1]) : 1);
        shared.resize(std::min(shared.size(), planes));
        return shared;
    }
    throw Error("placement: topology " + topology.Name() + ": workers " + std::to_string(begin) +
                " to " + std::to_string(end - 1) +
                ", a node, have no switch next to all of them that could sum");
}

/// Makes the switches of nodes aggregators. A worker that is alone in its node needs none.
void AddNodeSwitches(const Topology& topology, Placement& placement)
{
    const int workers = placement.Workers();
    std::vector<std::vector<int>> switches; // switches of each worker
    size_t planes = SIZE_MAX;
    for (int first = 0; first < workers; first += placement.node)
    {
        const int end = std::min(first + placement.node, workers);
        const std::vector<int> shared = end - first > 1
                                            ? SharedSwitches(topology, placement.hosts, first, end)
                                            : std::vector<int>();
        planes = end - first > 1 ? std::min(planes, shared.size()) : planes;
        switches.insert(switches.end(), end - first, shared);
    }
    planes = planes == SIZE_MAX ? 1 : planes; // all workers are alone
    std::map<int, int> endpoint;              // endpoint of each switch
    for (size_t plane = 0; plane < planes; ++plane)
    {
        for (const std::vector<int>& its : switches)
        {
            if (its.empty())
            {
                placement.parents.push_back(-1);
                continue;
            }
            const auto [entry, added] = endpoint.emplace(its[plane], placement.Endpoints());
            placement.parents.push_back(entry->second);
            if (added)
            {
                placement.aggregators.push_back(its[plane]);
            }
        }
    }
}

} // namespace

int Placement::NodeOf(int endpoint) const
{
    size_t index = static_cast<size_t>(endpoint);
    for (const std::vector<int>* nodes : {&hosts, &servers, &aggregators, &others})
    {
        if (index < nodes->size())
        {
            return (*nodes)[index];
        }
        index -= nodes->size();
    }
    throw Error("placement " + description + ": has " + std::to_string(hosts.size()) +
                " workers, " + std::to_string(servers.size()) + " parameter servers and " +
                std::to_string(aggregators.size()) +
                " aggregators, but traffic asks for endpoint " + std::to_string(endpoint));
}

std::vector<int> Placement::HostsOf(const std::vector<int>& members) const
{
    if (members.empty())
    {
        return hosts;
    }
    std::vector<int> nodes;
    for (int worker : members)
    {
        if (worker < 0 || worker >= Workers())
        {
            throw Error("placement " + description + ": worker",
                        std::to_string(worker),
                        "0 to " + std::to_string(Workers() - 1));
        }
        nodes.push_back(hosts[worker]);
    }
    return nodes;
}

Placement MakePlacement(const PlacementRequest& request, const Topology& topology)
{
    const int workers = request.workers;
    if (workers < 1)
    {
        throw Error("workers", std::to_string(workers), "1 or more");
    }
    std::vector<int> order = HostOrder(request.text, topology);
    const auto drop = [&order](const std::vector<int>& nodes)
    {
        const std::set<int> dropped(nodes.begin(), nodes.end());
        order.erase(std::remove_if(order.begin(),
                                   order.end(),
                                   [&](int host) { return dropped.count(host) > 0; }),
                    order.end());
    };
    drop(request.taken);
    if (!request.hosts.empty())
    {
        drop(request.hosts);
        order.insert(order.begin(), request.hosts.begin(), request.hosts.end());
    }
    const int own = request.colocated ? 0 : request.servers;
    const size_t needed = static_cast<size_t>(workers) + own;
    if (order.size() < needed)
    {
        throw Error("placement: topology " + topology.Name() + " has " +
                    std::to_string(order.size()) + (request.taken.empty() ? "" : " free") +
                    " hosts, but " + std::to_string(needed) + " are needed (" +
                    std::to_string(workers) + " workers" +
                    (own > 0 ? " and " + std::to_string(own) + " parameter server(s))" : ")"));
    }
    Placement placement;
    placement.description = request.text;
    for (int s = 0; s < request.servers; ++s)
    {
        placement.servers.push_back(request.colocated ? order[s % workers] : order[workers + s]);
    }
    order.resize(workers);
    placement.hosts = std::move(order);
    placement.node = std::min(
        request.node > 0 ? request.node : FirstNode(request, topology, placement.hosts), workers);
    if (request.aggregation == Aggregation::Tree)
    {
        AddAggregators(topology, placement);
    }
    if (request.aggregation == Aggregation::Nodes)
    {
        AddNodeSwitches(topology, placement);
    }
    return placement;
}

} // namespace legacy::fabric
