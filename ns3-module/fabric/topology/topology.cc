#include "topology.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

/// Sets the rate of each port with a schedule to the schedule's highest rate.
void SetScheduledRates(Link& link)
{
    for (Port& port : link.ports)
    {
        port.rateBps = port.schedule ? port.schedule->MaxRate() : port.rateBps;
    }
}

/// Returns a hash that combines one direction of the link with the hash before it.
uint64_t HashOf(const Link& link, const Port& port, uint64_t hash)
{
    const uint64_t rates = HashWords({hash,
                                      static_cast<uint64_t>(link.a),
                                      static_cast<uint64_t>(link.b),
                                      static_cast<uint64_t>(port.rateBps),
                                      static_cast<uint64_t>(link.delay),
                                      static_cast<uint64_t>(port.queueBytes),
                                      static_cast<uint64_t>(std::llround(port.errorRate * 1e15))});
    const uint64_t all =
        port.burstBytes > 0 ? HashWords({rates, static_cast<uint64_t>(port.burstBytes)}) : rates;
    return port.schedule ? HashWords({all, port.schedule->Hash()}) : all;
}

} // namespace

bool Link::Symmetric() const
{
    const auto [there, back] = ports;
    const bool scheduled = there.schedule || back.schedule;
    return there.rateBps == back.rateBps && there.queueBytes == back.queueBytes &&
           there.errorRate == back.errorRate && there.burstBytes == back.burstBytes &&
           (!scheduled ||
            (there.schedule && back.schedule && there.schedule->Hash() == back.schedule->Hash()));
}

void Link::SpeedUp(int factor)
{
    for (Port& port : ports)
    {
        port.rateBps *= factor;
        if (port.schedule)
        {
            port.schedule = std::make_shared<LinkSchedule>(port.schedule->Scaled(factor));
        }
    }
}

Topology::Topology(const TopologyParts& parts)
    : m_name(parts.name),
      m_seed(parts.seed),
      m_multipath(parts.multipath)
{
    for (const TopologyParts::Node& part : parts.nodes)
    {
        const int node = part.host ? AddHost(part.name) : AddSwitch(part.name);
        m_nodes[node].position = part.position;
        m_nodes[node].failures = part.failures;
    }
    for (const Link& link : parts.links)
    {
        AddLink(link);
    }
    for (const auto& [ends, via] : parts.routes)
    {
        AddRoute(ends.first, ends.second, via);
    }
}

TopologyParts Topology::Parts() const
{
    TopologyParts parts;
    parts.name = m_name;
    for (const Node& node : m_nodes)
    {
        parts.nodes.push_back({node.name, node.host, node.position, node.failures});
    }
    parts.links = m_links;
    parts.seed = m_seed;
    parts.multipath = m_multipath;
    parts.routes = m_routes;
    return parts;
}

int Topology::AddHost(const std::string& name)
{
    const int node = AddSwitch(name);
    m_nodes[node].host = true;
    m_hosts.push_back(node);
    return node;
}

int Topology::AddSwitch(const std::string& name)
{
    m_routing.Clear();
    m_nodes.push_back(Node{name, false, {}, {}, {}});
    return NodeCount() - 1;
}

void Topology::CheckLink(const Link& link) const
{
    const std::string ends = std::to_string(link.a) + "-" + std::to_string(link.b);
    if (link.a < 0 || link.b < 0 || link.a >= NodeCount() || link.b >= NodeCount() ||
        link.a == link.b)
    {
        throw Error("link", ends, "two different nodes below " + std::to_string(NodeCount()));
    }
    if (link.delay < 0)
    {
        throw Error("delay of link " + ends, std::to_string(link.delay), "0 ns or more");
    }
    if (link.weight < 1)
    {
        throw Error("weight of link " + ends, std::to_string(link.weight), "1 or more");
    }
    for (const Port& port : link.ports)
    {
        if (port.rateBps <= 0)
        {
            throw Error("rate of link " + ends, std::to_string(port.rateBps), "above 0 bit/s");
        }
        if (port.queueBytes < 0)
        {
            throw Error(
                "queue of link " + ends, std::to_string(port.queueBytes), "0 bytes or more");
        }
        if (port.burstBytes < 0)
        {
            throw Error(
                "burst of link " + ends, std::to_string(port.burstBytes), "0 bytes or more");
        }
        if (port.burstBytes > 0 && port.schedule)
        {
            throw Error("burst of link " + ends,
                        std::to_string(port.burstBytes),
                        "0 where the rate changes over time");
        }
        if (!(port.errorRate >= 0 && port.errorRate < 1))
        {
            throw Error(
                "error rate of link " + ends, std::to_string(port.errorRate), "0 to below 1");
        }
        if (!(port.usdPerGb >= 0 && std::isfinite(port.usdPerGb)))
        {
            throw Error(
                "price of link " + ends, std::to_string(port.usdPerGb), "0 USD per GB or more");
        }
    }
}

int Topology::AddLink(const Link& given)
{
    Link link = given;
    SetScheduledRates(link);
    CheckLink(link);
    m_routing.Clear();
    const int index = static_cast<int>(m_links.size());
    m_links.push_back(link);
    m_nodes[link.a].out.push_back(2 * index);
    m_nodes[link.b].out.push_back(2 * index + 1);
    m_weighted = m_weighted || link.weight != 1;
    return index;
}

void Topology::SetEcmpSeed(uint64_t seed)
{
    m_seed = seed;
}

void Topology::SetMultipath(Multipath multipath)
{
    m_multipath = multipath;
}

Multipath Topology::GetMultipath() const
{
    return m_multipath;
}

int Topology::NodeCount() const
{
    return static_cast<int>(m_nodes.size());
}

bool Topology::IsHost(int node) const
{
    return m_nodes[node].host;
}

const std::string& Topology::NodeName(int node) const
{
    return m_nodes[node].name;
}

const std::vector<int>& Topology::Hosts() const
{
    return m_hosts;
}

const std::vector<Link>& Topology::Links() const
{
    return m_links;
}

const std::vector<DirectedLink>& Topology::Out(int node) const
{
    return m_nodes[node].out;
}

int Topology::From(DirectedLink link) const
{
    const Link& both = LinkOf(link);
    return link % 2 == 0 ? both.a : both.b;
}

int Topology::To(DirectedLink link) const
{
    const Link& both = LinkOf(link);
    return link % 2 == 0 ? both.b : both.a;
}

std::string Topology::LinkName(DirectedLink link) const
{
    const auto ends = std::minmax({From(link), To(link)});
    // Each end knows the parallel links, so the end with fewer links is asked.
    const bool first = Out(ends.first).size() <= Out(ends.second).size();
    const std::vector<DirectedLink>& out = Out(first ? ends.first : ends.second);
    const auto before = std::count_if(
        out.begin(),
        out.end(),
        [&](DirectedLink other) {
            return other / 2 < link / 2 && std::minmax({From(other), To(other)}) == ends;
        });
    return NodeName(From(link)) + ">" + NodeName(To(link)) +
           (before > 0 ? "#" + std::to_string(before + 1) : "");
}

const Link& Topology::LinkOf(DirectedLink link) const
{
    return m_links[link / 2];
}

const Port& Topology::PortOf(DirectedLink link) const
{
    return m_links[link / 2].ports[link % 2];
}

int64_t Topology::MeanRate(DirectedLink link) const
{
    const Port& port = PortOf(link);
    return port.schedule ? port.schedule->MeanRate() : port.rateBps;
}

void Topology::AddFailure(int node, const Outage& outage)
{
    for (DirectedLink out : m_nodes[node].out)
    {
        for (Port& port : m_links[out / 2].ports)
        {
            const LinkSchedule rates =
                port.schedule ? *port.schedule : LinkSchedule({{0, port.rateBps}});
            port.schedule = std::make_shared<LinkSchedule>(rates.Without(outage));
        }
    }
    m_nodes[node].failures.push_back(outage);
}

TimeNs Topology::NextFailure(int node, TimeNs time) const
{
    TimeNs next = kNever;
    for (const Outage& outage : m_nodes[node].failures)
    {
        next = outage.from > time ? std::min(next, outage.from) : next;
    }
    return next;
}

bool Topology::HasSchedules() const
{
    return std::any_of(m_links.begin(),
                       m_links.end(),
                       [](const Link& link)
                       { return link.ports[0].schedule || link.ports[1].schedule; });
}

bool Topology::Weighted() const
{
    return m_weighted;
}

Topology Topology::WithLinks(const std::function<void(int index, Link& link)>& change) const
{
    Topology copy = *this;
    for (size_t i = 0; i < m_links.size(); ++i)
    {
        Link& link = copy.m_links[i];
        change(static_cast<int>(i), link);
        link.a = m_links[i].a;
        link.b = m_links[i].b;
        SetScheduledRates(link);
        CheckLink(link);
    }
    copy.m_weighted = std::any_of(copy.m_links.begin(),
                                  copy.m_links.end(),
                                  [](const Link& link) { return link.weight != 1; });
    return copy;
}

std::string Topology::Fingerprint() const
{
    uint64_t hash = HashWords({m_seed, static_cast<uint64_t>(m_multipath)});
    for (const Node& node : m_nodes)
    {
        hash = HashWords({hash, node.host});
    }
    for (const Link& link : m_links)
    {
        hash = HashOf(link, link.ports[0], hash);
        if (!link.Symmetric())
        {
            hash = HashOf(link, link.ports[1], hash);
        }
        hash = m_weighted ? HashWords({hash, static_cast<uint64_t>(link.weight)}) : hash;
    }
    for (const auto& [ends, via] : m_routes)
    {
        hash = HashWords({hash,
                          static_cast<uint64_t>(ends.first),
                          static_cast<uint64_t>(ends.second),
                          via.size()});
        for (int node : via)
        {
            hash = HashWords({hash, static_cast<uint64_t>(node)});
        }
    }
    return "hosts=" + std::to_string(m_hosts.size()) + " nodes=" + std::to_string(m_nodes.size()) +
           " links=" + std::to_string(m_links.size()) + " hash=" + std::to_string(hash);
}

const std::string& Topology::Name() const
{
    return m_name;
}

void Topology::SetName(const std::string& name)
{
    m_name = name;
}

void Topology::SetPosition(int node, const Position& position)
{
    m_nodes[node].position = position;
}

const std::optional<Position>& Topology::PositionOf(int node) const
{
    return m_nodes[node].position;
}

} // namespace legacy::fabric
