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
    return id >> 16;
}

/// Returns the lane of one of `streams` connections that share the flows of `lane`.
constexpr uint16_t LaneOfStream(uint16_t lane, int stream, int streams)
{
    return static_cast<uint16_t>(lane * streams + stream);
}

/// Returns how many lanes a graph may use where `streams` connections share each flow.
constexpr int MostLanes(int streams)
{
    return kBackgroundLane / streams;
}

} // namespace legacy::fabric
