// How connections of the flow engine send: each sends its flows one after the other, at its max-min
// fair rate. Internal to fabric/.
//
// A flow goes from its connection's queue to its end (the last byte has left) and to its arrival,
// one latency later: the delay of every link, and its first frame's serialisation on every link but
// the slowest. Before its first flow a connection waits for its handshake and slow start.
#pragma once

#include "fabric/engine/agenda.h"
#include "flow-network.h"
#include "flow-slots.h"
#include "flow-wires.h"
#include "link-totals.h"
#include "token-buckets.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace legacy::fabric
{

/// A FlowSender sends the flows of all graphs. Events that it puts on the agenda come back to it,
/// by the functions of their names.
class FlowSender
{
  public:
    /// Returns the lane of a graph's flow.
    using LaneOf = std::function<uint16_t(const Flow& flow, int graph)>;

    /// All references outlive this object.
    FlowSender(const Topology& topology,
               const Transport& transport,
               LaneOf laneOf,
               FlowNetwork& network,
               Agenda& agenda);

    /// Sends a flow of a graph on a lane.
    void Send(const Flow& flow, int graph, uint16_t lane);
    /// Withdraws the flow of a graph that has these ends and this tag, if it is on its way. Returns
    /// the payload that is carried.
    int64_t Withdraw(const Flow& flow, int graph, uint16_t lane);
    /// Loses a connection with all flows on it, which it returns. The next flow opens another.
    std::vector<FlowSlot> Lose(int number);

    void OnReady(int number);      ///< the connection begins its next flow
    void OnSent(int number);       ///< its flow may have ended, or lost a packet
    FlowSlot OnArrived(int slot);  ///< returns the flow, whose graph is kNone if withdrawn
    void OnRateChange(int number); ///< its rate has changed

    /// Returns the flow that a connection sends; nullptr: it sends none.
    const Flow* Sending(const FlowConnection& connection) const;
    /// Returns what has left of that flow.
    PresentFlow Present(const FlowConnection& connection) const;

  private:
    const FlowWire& WireOf(int slot, const FlowConnection& connection)
    {
        return m_wires.Of(m_slots[slot].flow.bytes, connection.path.switches);
    }

    void SendNext(int number);
    void PrepareOpening(FlowConnection& connection, Opening opening) const;
    TimeNs RampTime(FlowConnection& connection, int slot);
    void FollowLosses(int number);
    void LosePacket(int number);
    void Finish(int number);
    void StopSending(int number, const FlowWire& sent);
    void Depart(FlowConnection& connection, int slot, TimeNs arrival);
    int64_t Interrupt(int number);
    std::vector<int> SlotsOf(const FlowConnection& connection) const;

    const Transport& m_transport;
    const LaneOf m_laneOf;
    FlowNetwork& m_network;
    FlowConnections& m_connections;
    MaxMin& m_rates;
    Agenda& m_agenda;
    FlowSlots m_slots;
    TokenBuckets m_buckets;
    FlowWires m_wires;
};

} // namespace legacy::fabric
