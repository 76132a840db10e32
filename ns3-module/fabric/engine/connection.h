// A connection of TCP, or a queue pair of RoCEv2, has ports of its own, by which ECMP tells it from
// the others between the same two nodes. All engines number connections alike, and so they take the
// same paths.
#pragma once

#include "fabric/topology/placement.h"
#include "flow-graph.h"

#include <cstdint>
#include <tuple>
#include <vector>

namespace legacy::fabric
{

/// A ConnectionName identifies a connection among all of a fabric: its nodes, and its number among
/// those between them.
struct ConnectionName
{
    int source = 0;      ///< node
    int destination = 0; ///< node
    ConnectionId id = 0;

    bool operator<(const ConnectionName& other) const
    {
        return std::tie(source, destination, id) <
               std::tie(other.source, other.destination, other.id);
    }

    /// Returns the connection of the same endpoints and lane the other way.
    ConnectionName Reversed() const;
    /// Returns the queue pair of that number, of those that take messages in turn.
    ConnectionName OfChannel(uint32_t channel) const;
};

/// ConnectionNames name the connections of flows between the endpoints of a placement. Endpoints on
/// one node have connections of their own, as processes have; so have lanes and channels.
class ConnectionNames
{
  public:
    /// `placement` outlives this object.
    explicit ConnectionNames(const Placement& placement);

    /// Returns the connection of the flow's endpoints and channel, and of a lane, which is the
    /// flow's own or kBackgroundLane.
    ConnectionName Of(const Flow& flow, uint16_t lane) const;

  private:
    const Placement& m_placement;
    /// Number of each endpoint among those of its node.
    std::vector<uint16_t> m_ranks;
};

/// Returns the part of a number that says whose the connection is, without the channel; 0 for lane
/// 0 of the first endpoints of two nodes.
constexpr uint64_t LaneAndRanks(ConnectionId id)
{
    return id >> kLaneShift;
}

/// Stripes say how many connections carry equal parts of each flow: the transport's streams, and
/// where planes join its ends, as many on each of them.
class Stripes
{
  public:
    /// The topology and the placement outlive this object.
    Stripes(const Topology& topology, const Placement& placement, int streams);

    /// Returns false where no flow is cut.
    bool Any() const
    {
        return m_most > 1;
    }

    /// Returns the parts of a flow, 1 or more.
    int Of(const Flow& flow) const
    {
        return m_streams * PlanesOf(flow);
    }

    /// Returns the planes between the ends of a flow, 1 or more.
    int PlanesOf(const Flow& flow) const;

    /// Returns the lane of a part of a flow.
    uint16_t LaneOf(const Flow& flow, int part) const
    {
        return static_cast<uint16_t>(flow.lane * m_most + part);
    }

    /// Returns how many lanes a graph may use.
    int MostLanes() const
    {
        return kBackgroundLane / m_most;
    }

  private:
    const Topology& m_topology;
    const Placement& m_placement;
    const int m_streams;
    const int m_planes; ///< most of any host
    const int m_most;   ///< parts of any flow
};

} // namespace legacy::fabric
