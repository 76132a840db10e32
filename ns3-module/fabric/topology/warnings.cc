// Warnings about probable mistakes in a topology.
#include "graph.h"
#include "report.h"
#include "shortest-paths.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr size_t kCheckedHosts = 4096; ///< largest number of hosts for which unused links are found
constexpr size_t kNamedHosts = 3;      ///< number of hosts that one warning names
constexpr size_t kNamedRates = 8;      ///< number of rates of hosts that a warning lists

std::string Names(const Topology& topology, const std::vector<int>& nodes)
{
    std::string text;
    for (size_t i = 0; i < std::min(nodes.size(), kNamedHosts); ++i)
    {
        text += (i ? ", " : "") + topology.NodeName(nodes[i]);
    }
    const size_t rest = nodes.size() - std::min(nodes.size(), kNamedHosts);
    return rest > 0 ? text + " and " + std::to_string(rest) + " more" : text;
}

void WarnOfHosts(const Topology& topology, std::vector<std::string>& warnings)
{
    std::vector<int> unlinked;
    std::map<int64_t, std::vector<int>> byRate;
    for (int host : topology.Hosts())
    {
        int64_t rate = 0;
        for (DirectedLink link : topology.Out(host))
        {
            rate += topology.PortOf(link).rateBps;
        }
        (rate ? byRate[rate] : unlinked).push_back(host);
    }
    if (!unlinked.empty())
    {
        warnings.push_back("hosts without a link: " + Names(topology, unlinked));
    }
    if (byRate.size() > kNamedRates)
    {
        warnings.push_back("hosts have " + std::to_string(byRate.size()) +
                           " different rates, from " + FormatRate(byRate.begin()->first) + ": " +
                           Names(topology, byRate.begin()->second) + " to " +
                           FormatRate(byRate.rbegin()->first) + ": " +
                           Names(topology, byRate.rbegin()->second));
    }
    else if (byRate.size() > 1)
    {
        std::string text = "hosts have different rates:";
        for (const auto& [rate, hosts] : byRate)
        {
            text += (&hosts == &byRate.begin()->second ? " " : "; ") + FormatRate(rate) + ": " +
                    Names(topology, hosts);
        }
        warnings.push_back(text);
    }
}

/// Warns of links without a delay that close a loop; union-find finds these.
void WarnOfLoops(const Topology& topology, std::vector<std::string>& warnings)
{
    std::vector<int> parent(topology.NodeCount());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&parent](int node)
    {
        while (parent[node] != node)
        {
            node = parent[node] = parent[parent[node]];
        }
        return node;
    };
    for (const Link& link : topology.Links())
    {
        if (link.delay > 0)
        {
            continue;
        }
        if (root(link.a) == root(link.b))
        {
            warnings.push_back("links without delay form a loop, which " +
                               topology.NodeName(link.a) + " - " + topology.NodeName(link.b) +
                               " closes");
            return;
        }
        parent[root(link.a)] = root(link.b);
    }
}

/// Warns of links that no shortest path between hosts takes because of their weight, and that no
/// explicit route takes either.
void WarnOfUnusedLinks(const Topology& topology, std::vector<std::string>& warnings)
{
    if (!topology.Weighted() || topology.Hosts().size() > kCheckedHosts)
    {
        return;
    }
    std::vector<bool> used(topology.Links().size(), false);
    for (int host : topology.Hosts())
    {
        // Steps lead away from the host, so those that end at no host are dead ends.
        std::vector<std::pair<int, DirectedLink>> steps; // pairs of the step's node and its link
        std::vector<bool> leads(topology.NodeCount(), false);
        WalkShortestPaths(
            topology,
            host,
            [&](int node, DirectedLink link, int) { steps.emplace_back(node, link); },
            [&](int other, int) { leads[other] = true; });
        for (auto step = steps.rbegin(); step != steps.rend(); ++step)
        {
            if (leads[topology.To(step->second)])
            {
                leads[step->first] = true;
                used[step->second / 2] = true;
            }
        }
    }
    for (const auto& [ends, via] : topology.Routes())
    {
        for (DirectedLink taken : topology.Route(ends.first, ends.second, 0))
        {
            for (DirectedLink parallel : topology.Out(topology.From(taken)))
            {
                const bool same = topology.To(parallel) == topology.To(taken);
                used[parallel / 2] = used[parallel / 2] || same;
            }
        }
    }
    for (size_t i = 0; i < used.size(); ++i)
    {
        const Link& link = topology.Links()[i];
        if (!used[i])
        {
            warnings.push_back("no path takes the link " + topology.NodeName(link.a) + " - " +
                               topology.NodeName(link.b) + ", of weight " +
                               std::to_string(link.weight));
        }
    }
}

} // namespace

std::vector<std::string> CheckTopology(const Topology& topology)
{
    std::vector<std::string> warnings;
    if (topology.Hosts().empty())
    {
        warnings.emplace_back("there are no hosts");
    }
    WarnOfHosts(topology, warnings);
    if (const auto pair = FindUnreachable(topology))
    {
        warnings.push_back(topology.NodeName(pair->first) + " and " +
                           topology.NodeName(pair->second) +
                           " cannot reach each other (hosts do not forward)");
    }
    std::vector<int> ends;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (!topology.IsHost(node) && topology.Out(node).size() < 2)
        {
            ends.push_back(node);
        }
    }
    if (!ends.empty())
    {
        warnings.push_back("switches with fewer than two links lead nowhere: " +
                           Names(topology, ends));
    }
    WarnOfLoops(topology, warnings);
    WarnOfUnusedLinks(topology, warnings);
    return warnings;
}

} // namespace legacy::fabric
