#include "layout.h"

#include "graph.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr double kMargin = 50;
constexpr double kTierHeight = 120;
constexpr double kLetter = 6; ///< width of a letter in a label
constexpr double kUnit = 90;  ///< pixels per unit of the topology's own positions
/// Number of nodes of a circle or grid up to which all have labels.
constexpr int kMostLabels = 80;

size_t LongestName(const Topology& topology, const std::vector<int>& nodes)
{
    size_t longest = 0;
    for (int node : nodes)
    {
        longest = std::max(longest, topology.NodeName(node).size());
    }
    return longest;
}

/// Moves all nodes so that the margin is free, and sets the size of the drawing.
void Frame(Layout& layout)
{
    Position least{INFINITY, INFINITY};
    Position most{-INFINITY, -INFINITY};
    for (const Position& at : layout.nodes)
    {
        least = {std::min(least.x, at.x), std::min(least.y, at.y)};
        most = {std::max(most.x, at.x), std::max(most.y, at.y)};
    }
    for (Position& at : layout.nodes)
    {
        at = {at.x - least.x + kMargin, at.y - least.y + kMargin};
    }
    layout.width = most.x - least.x + 2 * kMargin;
    layout.height = most.y - least.y + 2 * kMargin;
}

/// Returns the topology's own positions; empty where a node has none.
std::vector<Position> OwnPositions(const Topology& topology)
{
    std::vector<Position> places;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        const auto& place = topology.PositionOf(node);
        if (!place)
        {
            return {};
        }
        places.push_back(Position{kUnit * place->x, kUnit * place->y});
    }
    return places;
}

/// Returns the nodes by tier, hosts first; empty if two switches of a tier are linked, or a node
/// has no tier.
std::vector<std::vector<int>> Tiers(const Topology& topology)
{
    const std::vector<int> tier = TierOfNodes(topology);
    for (const Link& link : topology.Links())
    {
        if (tier[link.a] == tier[link.b])
        {
            return {};
        }
    }
    std::vector<std::vector<int>> tiers;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (tier[node] < 0)
        {
            return {};
        }
        tiers.resize(std::max<size_t>(tiers.size(), tier[node] + 1));
        tiers[tier[node]].push_back(node);
    }
    return tiers;
}

/// Sorts a tier by the mean position of the nodes below it, so that fewer links cross.
void SortByLower(const Topology& topology, std::vector<int>& nodes, const Layout& layout)
{
    std::vector<double> mean(topology.NodeCount(), 0);
    for (int node : nodes)
    {
        int below = 0;
        for (DirectedLink link : topology.Out(node))
        {
            const Position& at = layout.nodes[topology.To(link)];
            if (at.y > layout.nodes[node].y)
            {
                mean[node] += at.x;
                ++below;
            }
        }
        mean[node] /= std::max(1, below);
    }
    std::stable_sort(
        nodes.begin(), nodes.end(), [&mean](int a, int b) { return mean[a] < mean[b] - 1e-6; });
}

void PlaceTiers(const Topology& topology, std::vector<std::vector<int>> tiers, Layout& layout)
{
    size_t widest = 1;
    for (const auto& nodes : tiers)
    {
        widest = std::max(widest, nodes.size());
    }
    const double width =
        std::clamp(1600.0 / static_cast<double>(widest), 12.0, 64.0) * static_cast<double>(widest);
    for (size_t tier = 0; tier < tiers.size(); ++tier)
    {
        // The tier lies above all earlier ones. SortByLower needs its y.
        const double y = -kTierHeight * static_cast<double>(tier);
        for (int node : tiers[tier])
        {
            layout.nodes[node].y = y;
        }
        if (tier > 0)
        {
            SortByLower(topology, tiers[tier], layout);
        }
        const double step = width / static_cast<double>(tiers[tier].size());
        const bool room = step >= kLetter * static_cast<double>(LongestName(topology, tiers[tier]));
        for (size_t i = 0; i < tiers[tier].size(); ++i)
        {
            layout.nodes[tiers[tier][i]].x = step * (static_cast<double>(i) + 0.5);
            layout.labels[tiers[tier][i]] = room;
        }
    }
}

/// Returns the hosts of each switch, and at the end those without a switch.
std::vector<std::vector<int>> HostsOfSwitches(const Topology& topology)
{
    std::vector<std::vector<int>> hosts(topology.NodeCount() + 1);
    for (int host : topology.Hosts())
    {
        const auto& out = topology.Out(host);
        const bool hangs = !out.empty() && !topology.IsHost(topology.To(out[0]));
        hosts[hangs ? topology.To(out[0]) : topology.NodeCount()].push_back(host);
    }
    return hosts;
}

/// Returns position `at` of `slots` on a circle, clockwise from the bottom, so that the first
/// positions are on the left.
Position OnCircle(double radius, double at, double slots)
{
    const double angle = 2 * M_PI * at / slots + M_PI / 2;
    return Position{radius * std::cos(angle), radius * std::sin(angle)};
}

/// Places each switch at the middle of its hosts' arc, in the order of the switches' numbers, and a
/// single switch at the centre.
void PlaceCircle(const Topology& topology, Layout& layout)
{
    constexpr double kHostStep = 36; ///< distance of neighbours on the outer circle
    constexpr double kLeastRadius = 180;
    constexpr double kRing = 90; ///< distance between the circles
    const std::vector<std::vector<int>> hosts = HostsOfSwitches(topology);
    const auto room = [&](int node) -> double
    {
        const bool isSwitch = node < topology.NodeCount() && !topology.IsHost(node);
        return static_cast<double>(std::max<size_t>(isSwitch, hosts[node].size()));
    };
    double slots = 0;
    for (int node = 0; node <= topology.NodeCount(); ++node)
    {
        slots += room(node);
    }
    const bool alone = topology.NodeCount() - topology.Hosts().size() == 1;
    const double outer = std::max(kLeastRadius, kHostStep * slots / (2 * M_PI));
    const double inner = alone ? 0 : outer - kRing;
    double slot = 0;
    for (int node = 0; node <= topology.NodeCount(); ++node)
    {
        if (node < topology.NodeCount() && !topology.IsHost(node))
        {
            layout.nodes[node] = OnCircle(inner, slot + room(node) / 2, slots);
        }
        for (size_t i = 0; i < hosts[node].size(); ++i)
        {
            const double at = slot + static_cast<double>(i) + 0.5;
            layout.nodes[hosts[node][i]] = OnCircle(outer, at, slots);
        }
        slot += room(node);
    }
}

} // namespace

Layout LayOut(const Topology& topology)
{
    Layout layout;
    layout.labels.assign(topology.NodeCount(), topology.NodeCount() <= kMostLabels);
    layout.nodes = OwnPositions(topology);
    layout.straight = layout.nodes.empty() ? 0 : 1.5 * kUnit;
    if (layout.nodes.empty())
    {
        layout.nodes.resize(topology.NodeCount());
        const std::vector<std::vector<int>> tiers = Tiers(topology);
        if (tiers.size() > 1)
        {
            PlaceTiers(topology, tiers, layout);
        }
        else
        {
            PlaceCircle(topology, layout);
        }
    }
    if (!layout.nodes.empty())
    {
        Frame(layout);
    }
    return layout;
}

} // namespace legacy::fabric
