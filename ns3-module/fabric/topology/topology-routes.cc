// The routes of a topology: explicit ones, next hops, planes, and the shares of links.
#include "base/error.h"
#include "base/hash.h"
#include "routing.h"
#include "topology.h"

#include <algorithm>
#include <map>

namespace legacy::fabric
{

void Topology::AddRoute(int from, int to, const std::vector<int>& via)
{
    const std::string route = "route " + NodeName(from) + " > " + NodeName(to);
    if (!IsHost(from) || !IsHost(to) || from == to)
    {
        throw Error(route + ": ends", NodeName(from) + ", " + NodeName(to), "two different hosts");
    }
    std::vector<int> nodes{from};
    nodes.insert(nodes.end(), via.begin(), via.end());
    nodes.push_back(to);
    for (size_t i = 1; i < nodes.size(); ++i)
    {
        const std::string& name = NodeName(nodes[i]);
        if (i + 1 < nodes.size() && IsHost(nodes[i]))
        {
            throw Error(route + ": via", name, "switches; hosts do not forward");
        }
        if (std::count(nodes.begin(), nodes.end(), nodes[i]) > 1)
        {
            throw Error(route + ": via", name + " twice", "each switch once: a route has no loop");
        }
        if (LinksBetween(nodes[i - 1], nodes[i]).empty())
        {
            throw Error(route + ": " + NodeName(nodes[i - 1]) + " and " + name + " have no link");
        }
    }
    if (!m_routes.emplace(std::make_pair(from, to), via).second)
    {
        throw Error(route + ": is given twice");
    }
}

const ExplicitRoutes& Topology::Routes() const
{
    return m_routes;
}

int Topology::NextOnRoute(int node, int source, int destination) const
{
    const auto found = m_routes.find({source, destination});
    if (found == m_routes.end() || node == destination)
    {
        return Routing::kNone;
    }
    const std::vector<int>& via = found->second;
    auto next = via.begin();
    if (node != source)
    {
        next = std::find(via.begin(), via.end(), node);
        if (next == via.end())
        {
            return Routing::kNone;
        }
        ++next;
    }
    return next == via.end() ? destination : *next;
}

std::vector<DirectedLink> Topology::LinksBetween(int from, int to) const
{
    std::vector<DirectedLink> links;
    for (DirectedLink link : Out(from))
    {
        if (To(link) == to)
        {
            links.push_back(link);
        }
    }
    return links;
}

void Topology::ThrowNoPath(int from, int to) const
{
    throw Error("topology " + m_name + ": no path from " + NodeName(from) + " to " + NodeName(to));
}

std::vector<DirectedLink> Topology::NextHops(int node, int destination) const
{
    std::vector<DirectedLink> hops = m_routing.Get(*this).NextHops(node, destination);
    if (hops.empty() && node != destination)
    {
        ThrowNoPath(node, destination);
    }
    return hops;
}

std::vector<DirectedLink> Topology::NextHopsOf(int node, int source, int destination) const
{
    const int next = m_routes.empty() ? Routing::kNone : NextOnRoute(node, source, destination);
    return next == Routing::kNone ? NextHops(node, destination) : LinksBetween(node, next);
}

bool Topology::LinksHostsAlone(int node) const
{
    return !IsHost(node) && std::all_of(Out(node).begin(),
                                        Out(node).end(),
                                        [this](DirectedLink link) { return IsHost(To(link)); });
}

int Topology::Planes(int source, int destination) const
{
    if (!IsHost(source) || !IsHost(destination) || source == destination ||
        Out(source).size() == 1 || m_multipath == Multipath::Spray)
    {
        return 1;
    }
    const std::vector<DirectedLink> hops = NextHopsOf(source, source, destination);
    const bool planes = std::all_of(
        hops.begin(), hops.end(), [&](DirectedLink link) { return LinksHostsAlone(To(link)); });
    return planes && m_routes.count({source, destination}) == 0 ? static_cast<int>(hops.size()) : 1;
}

int Topology::MostPlanes() const
{
    int most = 1;
    for (const int host : m_hosts)
    {
        std::map<int, int> joined; // number of this host's links to planes of other hosts
        for (DirectedLink link : Out(host))
        {
            const bool plane = Out(host).size() > 1 && LinksHostsAlone(To(link));
            for (DirectedLink further : plane ? Out(To(link)) : std::vector<DirectedLink>())
            {
                const int other = To(further);
                most = std::max(most, other == host ? 1 : ++joined[other]);
            }
        }
    }
    return most;
}

DirectedLink Topology::NextHop(int node, int source, int destination, ConnectionId connection) const
{
    const bool inTurn = IsHost(node) && Out(node).size() > 1;
    const uint64_t hash = HashWords({m_seed,
                                     static_cast<uint64_t>(node),
                                     static_cast<uint64_t>(source),
                                     static_cast<uint64_t>(destination),
                                     inTurn ? 0 : connection});
    if (inTurn)
    {
        const std::vector<DirectedLink> links = NextHopsOf(node, source, destination);
        const uint64_t turn = (connection >> kSourceRankShift) +
                              (connection >> kLaneShift & kConnectionField) +
                              (connection & kConnectionField);
        return links[(Reduce(hash, links.size()) + turn) % links.size()];
    }
    if (!m_routes.empty() && NextOnRoute(node, source, destination) != Routing::kNone)
    {
        const std::vector<DirectedLink> links = NextHopsOf(node, source, destination);
        return links[Reduce(hash, links.size())];
    }
    const DirectedLink hop = m_routing.Get(*this).Choose(node, destination, hash);
    if (hop == Routing::kNone)
    {
        ThrowNoPath(node, destination);
    }
    return hop;
}

std::vector<DirectedLink>
Topology::Route(int source, int destination, ConnectionId connection) const
{
    constexpr size_t kUsual = 6; // usual number of links, over three tiers of switches
    std::vector<DirectedLink> route;
    route.reserve(kUsual);
    for (int node = source; node != destination; node = To(route.back()))
    {
        route.push_back(NextHop(node, source, destination, connection));
    }
    return route;
}

std::vector<LinkShare> Topology::Shares(int source, int destination, ConnectionId connection) const
{
    std::vector<LinkShare> shares;
    if (m_multipath == Multipath::Ecmp)
    {
        const std::vector<DirectedLink> route = Route(source, destination, connection);
        shares.reserve(route.size());
        for (DirectedLink link : route)
        {
            shares.push_back(LinkShare{link, 1});
        }
        return shares;
    }
    // The walk goes hop by hop. If paths have the fewest hops, a node reached after h hops is h
    // hops nearer to the destination, so no node is on two levels. If paths are by weight, a node
    // may be, and the shares of a link are added up.
    std::map<DirectedLink, size_t> known;
    std::map<int, double> level;
    if (source != destination)
    {
        level[source] = 1;
    }
    while (!level.empty())
    {
        std::map<int, double> next;
        for (const auto& [node, share] : level)
        {
            const std::vector<DirectedLink> hops = NextHopsOf(node, source, destination);
            for (DirectedLink link : hops)
            {
                const double part = share / static_cast<double>(hops.size());
                const auto [entry, added] = known.emplace(link, shares.size());
                if (added)
                {
                    shares.push_back(LinkShare{link, part});
                }
                else
                {
                    shares[entry->second].share += part;
                }
                if (To(link) != destination)
                {
                    next[To(link)] += part;
                }
            }
        }
        level = std::move(next);
    }
    return shares;
}

} // namespace legacy::fabric
