#include "connection.h"

#include <unordered_map>

namespace legacy::fabric
{

ConnectionName ConnectionName::Reversed() const
{
    const ConnectionId ranks = (id >> kSourceRankShift & kConnectionField)
                                   << kDestinationRankShift |
                               (id >> kDestinationRankShift & kConnectionField) << kSourceRankShift;
    constexpr ConnectionId kOthers = (ConnectionId{1} << kDestinationRankShift) - 1;
    return {destination, source, ranks | (id & kOthers)};
}

ConnectionName ConnectionName::OfChannel(uint32_t channel) const
{
    return {source, destination, (id & ~kConnectionField) | channel};
}

ConnectionNames::ConnectionNames(const Placement& placement) : m_placement(placement)
{
    std::unordered_map<int, uint16_t> known; // number of endpoints of each node so far
    m_ranks.reserve(placement.Endpoints());
    for (int endpoint = 0; endpoint < placement.Endpoints(); ++endpoint)
    {
        m_ranks.push_back(known[placement.NodeOf(endpoint)]++);
    }
}

ConnectionName ConnectionNames::Of(const Flow& flow, uint16_t lane) const
{
    return {m_placement.NodeOf(flow.source),
            m_placement.NodeOf(flow.destination),
            ConnectionId{m_ranks[flow.source]} << kSourceRankShift |
                ConnectionId{m_ranks[flow.destination]} << kDestinationRankShift |
                ConnectionId{lane} << kLaneShift | flow.channel};
}

Stripes::Stripes(const Topology& topology, const Placement& placement, int streams)
    : m_topology(topology),
      m_placement(placement),
      m_streams(streams),
      m_planes(topology.MostPlanes()),
      m_most(streams * m_planes)
{
}

int Stripes::PlanesOf(const Flow& flow) const
{
    return m_planes > 1 ? m_topology.Planes(m_placement.NodeOf(flow.source),
                                            m_placement.NodeOf(flow.destination))
                        : 1;
}

} // namespace legacy::fabric
