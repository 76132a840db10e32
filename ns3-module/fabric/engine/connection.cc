#include "connection.h"

#include <unordered_map>

namespace legacy::fabric
{

namespace
{

// A ConnectionId has 16 bits each of: source's rank, destination's rank, lane, channel. The first
// connection between the first endpoints of two nodes is number 0.
constexpr int kSourceShift = 48;
constexpr int kDestinationShift = 32;
constexpr int kLaneShift = 16;
constexpr ConnectionId kField = 0xFFFF;

} // namespace

ConnectionName ConnectionName::Reversed() const
{
    const ConnectionId ranks = (id >> kSourceShift & kField) << kDestinationShift |
                               (id >> kDestinationShift & kField) << kSourceShift;
    constexpr ConnectionId kOthers = (ConnectionId{1} << kDestinationShift) - 1;
    return {destination, source, ranks | (id & kOthers)};
}

ConnectionName ConnectionName::OfChannel(uint32_t channel) const
{
    return {source, destination, (id & ~kField) | channel};
}

ConnectionNames::ConnectionNames(const Placement& placement) : m_placement(placement)
{
    std::unordered_map<int, uint16_t> known; // endpoints of each node so far
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
            ConnectionId{m_ranks[flow.source]} << kSourceShift |
                ConnectionId{m_ranks[flow.destination]} << kDestinationShift |
                ConnectionId{lane} << kLaneShift | flow.channel};
}

} // namespace legacy::fabric
