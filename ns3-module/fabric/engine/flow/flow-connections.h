// The connections of the flow engine. Each lane of a pair of endpoints has one, or one for each
// queue pair, which sends its flows one after the other, as TCP does with messages. Internal to
// fabric/.
#pragma once

#include "fabric/engine/connection.h"
#include "fabric/engine/flow-path.h"
#include "fabric/engine/max-min.h"
#include "flow-progress.h"
#include "flow-slots.h"
#include "flow-wires.h"
#include "slow-start.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace legacy::fabric
{

/// A FlowConnection carries all flows of one lane and channel of an ordered pair of endpoints.
struct FlowConnection
{
    FlowQueue queue;               ///< flows that wait to be sent
    int sending = FlowSlot::kNone; ///< slot that is being sent
    bool waiting = false;          ///< true until `ready`, before which it sends nothing
    bool busy = false;             ///< true while it has joined its links
    FlowProgress progress;         ///< of the flow that is being sent
    TimeNs scheduled = kNever;     ///< time of the earliest event that ends or stops the flow
    TimeNs lastArrival = 0;
    TimeNs idleSince = 0; ///< time at which its last flow had left
    SlowStart start;

    // Totals of all flows that were sent.
    int64_t wireBytes = 0;
    int64_t packets = 0;
    int64_t ackBytes = 0;
    int64_t ackPackets = 0;

    FlowPath path;

    // Flows without slow start, losses and failures do not need the rest.
    TimeNs ready = 0;     ///< end of slow start
    TimeNs lost = kNever; ///< time of the next failure of an end
    ConnectionId id = 0;  ///< of its ConnectionName
    int source = 0;       ///< endpoint
    int destination = 0;  ///< endpoint
    uint16_t lane = 0;
    uint16_t channel = 0;

    FlowConnection(FlowPath way, SlowStart opening)
        : start(std::move(opening)),
          path(std::move(way))
    {
    }

    /// Counts what has been sent.
    void Count(const FlowWire& sent)
    {
        wireBytes += sent.wire;
        packets += sent.packets;
        ackBytes += sent.ackBytes;
        ackPackets += sent.ackPackets;
    }
};

/// FlowConnections are those of an engine, which are opened when they are first used. Each has the
/// same number among the rates of a MaxMin.
class FlowConnections
{
  public:
    /// All references outlive this object. Losses are a function of `draws`, the connection's name
    /// and the time at which it was opened.
    FlowConnections(const Topology& topology,
                    const Placement& placement,
                    const Transport& transport,
                    const ConnectionNames& names,
                    uint64_t draws,
                    MaxMin& rates);

    /// Returns the number of the connection that carries a flow on a lane, which is opened now if
    /// there is none.
    int Of(const Flow& flow, uint16_t lane, TimeNs now)
    {
        const Recent& recent = m_recent[flow.source];
        const int first = recent.destination == flow.destination && lane == 0
                              ? recent.connection
                              : Find(flow, lane, now);
        return first + flow.channel;
    }

    FlowConnection& operator[](int number)
    {
        return m_connections[number];
    }

    const FlowConnection& operator[](int number) const
    {
        return m_connections[number];
    }

    int Count() const
    {
        return static_cast<int>(m_connections.size());
    }

    /// Puts a new connection in the place of this one, now.
    void Reopen(FlowConnection& connection, Opening opening, TimeNs now) const;
    /// Loses the connection, now. Its next flow opens another.
    void Break(FlowConnection& connection, TimeNs now) const;
    /// Returns the time of the next failure of an end of the connection, from `time` of schedules
    /// on; kNever: there is none.
    TimeNs NextFailure(const FlowConnection& connection, TimeNs time) const;

  private:
    /// The connection of lane 0, channel 0 that an endpoint used last.
    struct Recent
    {
        int destination = FlowSlot::kNone;
        int connection = FlowSlot::kNone;
    };

    int Find(const Flow& flow, uint16_t lane, TimeNs now);
    int Connect(const Flow& flow, uint16_t lane, uint32_t channel, TimeNs now);
    uint64_t KeyOfLosses(const FlowPath& path, const ConnectionName& name, TimeNs now) const;
    ConnectionName NameOf(const FlowConnection& connection) const;

    const Topology& m_topology;
    const Placement& m_placement;
    const Transport& m_transport;
    const ConnectionNames& m_names;
    const uint64_t m_draws;
    MaxMin& m_rates;
    std::vector<FlowConnection> m_connections;
    std::vector<Recent> m_recent;                    ///< last connection of each source endpoint
    std::unordered_map<uint64_t, int> m_byEndpoints; ///< connections of channel 0
};

} // namespace legacy::fabric
