#include "graph.h"

#include "base/error.h"

#include <algorithm>
#include <filesystem>

namespace legacy::fabric
{

namespace
{

/// Returns, by node, whether `origin` reaches it.
std::vector<char> Reached(const Topology& topology, int origin)
{
    std::vector<char> reached(topology.NodeCount(), 0);
    std::vector<int> queue{origin};
    reached[origin] = 1;
    for (size_t head = 0; head < queue.size(); ++head)
    {
        const int node = queue[head];
        if (node != origin && topology.IsHost(node))
        {
            continue;
        }
        for (DirectedLink link : topology.Out(node))
        {
            const int next = topology.To(link);
            if (!reached[next])
            {
                reached[next] = 1;
                queue.push_back(next);
            }
        }
    }
    return reached;
}

/// Returns, by node, whether the switch that reaches the most hosts reaches it.
std::vector<char> LargestReach(const Topology& topology)
{
    std::vector<char> seen(topology.NodeCount(), 0);
    std::vector<char> largest(topology.NodeCount(), 0);
    int most = 0;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (topology.IsHost(node) || seen[node])
        {
            continue;
        }
        std::vector<char> reached = Reached(topology, node);
        int hosts = 0;
        for (int other = 0; other < topology.NodeCount(); ++other)
        {
            seen[other] = seen[other] || reached[other];
            hosts += reached[other] && topology.IsHost(other);
        }
        if (hosts > most)
        {
            most = hosts;
            largest = std::move(reached);
        }
    }
    return largest;
}

} // namespace

std::optional<std::pair<int, int>> FindUnreachable(const Topology& topology)
{
    // Hosts that a common switch reaches can also reach each other. The others are checked one by
    // one.
    const std::vector<char> common = LargestReach(topology);
    for (int host : topology.Hosts())
    {
        if (common[host])
        {
            continue;
        }
        const std::vector<char> reached = Reached(topology, host);
        for (int other : topology.Hosts())
        {
            if (!reached[other])
            {
                return std::minmax(host, other);
            }
        }
    }
    return std::nullopt;
}

std::vector<int> TierOfNodes(const Topology& topology)
{
    std::vector<int> tiers(topology.NodeCount(), -1);
    std::vector<int> queue = topology.Hosts();
    for (int host : queue)
    {
        tiers[host] = 0;
    }
    for (size_t head = 0; head < queue.size(); ++head)
    {
        for (DirectedLink link : topology.Out(queue[head]))
        {
            const int next = topology.To(link);
            if (tiers[next] < 0)
            {
                tiers[next] = tiers[queue[head]] + 1;
                queue.push_back(next);
            }
        }
    }
    return tiers;
}

void GraphBuilder::Name(const std::string& name, const std::string& location)
{
    const int node = m_topology.NodeCount();
    const auto [entry, added] = m_nodes.emplace(name, node);
    if (!added)
    {
        throw Error(location, name, "each name once; it is also at " + m_locations[entry->second]);
    }
    m_locations.push_back(location);
}

int GraphBuilder::AddHost(const std::string& name, const std::string& location)
{
    Name(name, location);
    return m_topology.AddHost(name);
}

int GraphBuilder::AddSwitch(const std::string& name, const std::string& location)
{
    Name(name, location);
    return m_topology.AddSwitch(name);
}

const int* GraphBuilder::Find(const std::string& name) const
{
    const auto found = m_nodes.find(name);
    return found == m_nodes.end() ? nullptr : &found->second;
}

void GraphBuilder::AddLink(const Link& link, int count, const std::string& location)
{
    const std::string ends = m_topology.NodeName(link.a) + " - " + m_topology.NodeName(link.b);
    if (link.a == link.b)
    {
        throw Error(location + ": link", ends, "two different nodes");
    }
    const auto [entry, added] =
        m_links.emplace(std::minmax({link.a, link.b}), Linked{location, count > 0});
    if (!added && !(count > 0 && entry->second.counted))
    {
        throw Error(location + ": link",
                    ends,
                    "each link once (in YAML several, by a count); it is also at " +
                        entry->second.location);
    }
    for (int i = 0; i < std::max(1, count); ++i)
    {
        m_topology.AddLink(link);
    }
}

int GraphBuilder::NodeCalled(const std::string& name, const std::string& location) const
{
    const int* node = Find(name);
    if (!node)
    {
        throw Error(location, name, "a name that hosts or switches declare");
    }
    return *node;
}

void GraphBuilder::AddRoute(const std::string& from,
                            const std::string& to,
                            const std::vector<std::string>& via,
                            const std::string& location)
{
    const int source = NodeCalled(from, location + ": from");
    const int destination = NodeCalled(to, location + ": to");
    std::vector<int> nodes;
    for (const std::string& name : via)
    {
        nodes.push_back(NodeCalled(name, location + ": via"));
    }
    try
    {
        m_topology.AddRoute(source, destination, nodes);
    }
    catch (const Error& error)
    {
        throw error.Within(location + ": ");
    }
}

Topology GraphBuilder::Finish(const std::string& path)
{
    if (m_topology.Hosts().empty())
    {
        throw Error(path + ": hosts", "none", "at least one");
    }
    for (int host : m_topology.Hosts())
    {
        if (m_topology.Out(host).empty())
        {
            throw Error(m_locations[host] + ": links of " + m_topology.NodeName(host),
                        "none",
                        "at least one for each host");
        }
    }
    if (const auto pair = FindUnreachable(m_topology))
    {
        throw Error(m_locations[pair->first] + ": " + m_topology.NodeName(pair->first) + " and " +
                    m_topology.NodeName(pair->second) +
                    " cannot reach each other (hosts do not forward)");
    }
    m_topology.SetName(std::filesystem::path(path).stem().string());
    return std::move(m_topology);
}

} // namespace legacy::fabric
