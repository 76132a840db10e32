#include "flow-connections.h"

#include "base/hash.h"
#include "fabric/engine/event-engine.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

FlowConnections::FlowConnections(const Topology& topology,
                                 const Placement& placement,
                                 const Transport& transport,
                                 const ConnectionNames& names,
                                 uint64_t draws,
                                 MaxMin& rates)
    : m_topology(topology),
      m_placement(placement),
      m_transport(transport),
      m_names(names),
      m_draws(draws),
      m_rates(rates),
      m_recent(placement.Endpoints(), Recent{})
{
}

/// Returns the connection of channel 0. Those of the other channels follow it.
int FlowConnections::Find(const Flow& flow, uint16_t lane, TimeNs now)
{
    auto [entry, added] =
        m_byEndpoints.try_emplace(LaneKey(flow.source, flow.destination, lane), FlowSlot::kNone);
    if (added)
    {
        entry->second = Connect(flow, lane, 0, now);
        for (int channel = 1; channel < m_transport.queuePairs; ++channel)
        {
            Connect(flow, lane, channel, now);
        }
    }
    if (lane == 0)
    {
        m_recent[flow.source] = Recent{flow.destination, entry->second};
    }
    return entry->second;
}

int FlowConnections::Connect(const Flow& flow, uint16_t lane, uint32_t channel, TimeNs now)
{
    const ConnectionName name = m_names.Of(flow, lane).OfChannel(channel);
    FlowPath path = MakeFlowPath(m_topology, m_transport, name.source, name.destination, name.id);
    std::vector<MaxMin::Use> uses;
    for (const LinkShare& hop : path.data)
    {
        uses.push_back(MaxMin::Use{hop.link, hop.share});
    }
    const double limit = path.limit;
    SlowStart start(path, m_transport, KeyOfLosses(path, name, now));
    FlowConnection& connection = m_connections.emplace_back(std::move(path), std::move(start));
    connection.source = flow.source;
    connection.destination = flow.destination;
    connection.id = name.id;
    connection.lane = lane;
    connection.channel = static_cast<uint16_t>(channel);
    return m_rates.Add(uses, limit);
}

void FlowConnections::Reopen(FlowConnection& connection, Opening opening, TimeNs now) const
{
    const uint64_t key = KeyOfLosses(connection.path, NameOf(connection), now);
    connection.start.Reopen(connection.path, m_transport, opening, key);
}

void FlowConnections::Break(FlowConnection& connection, TimeNs now) const
{
    const uint64_t key = KeyOfLosses(connection.path, NameOf(connection), now);
    connection.start.Break(connection.path, m_transport, key);
}

TimeNs FlowConnections::NextFailure(const FlowConnection& connection, TimeNs time) const
{
    return std::min(m_topology.NextFailure(m_placement.NodeOf(connection.source), time),
                    m_topology.NextFailure(m_placement.NodeOf(connection.destination), time));
}

ConnectionName FlowConnections::NameOf(const FlowConnection& connection) const
{
    return {m_placement.NodeOf(connection.source),
            m_placement.NodeOf(connection.destination),
            connection.id};
}

/// Returns the key of the losses of a connection that is opened now; 0 if its path has none.
uint64_t
FlowConnections::KeyOfLosses(const FlowPath& path, const ConnectionName& name, TimeNs now) const
{
    return path.loss > 0 ? HashWords({m_draws,
                                      static_cast<uint64_t>(name.source),
                                      static_cast<uint64_t>(name.destination),
                                      LaneAndRanks(name.id),
                                      static_cast<uint64_t>(now)})
                         : 0;
}

} // namespace legacy::fabric
