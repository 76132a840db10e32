/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TCP_TRAINS_H
#define LEGACY_TCP_TRAINS_H

#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"
#include "model/roce/roce-network.h"
#include "tcp-connection.h"

#include <memory>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Decides how many segments leave as one train. A connection makes trains while it alone may send
 * at its NIC, it has noticed no loss and no mark, and all segments of a round trip have met no
 * queue. ACKs of a train come together, when the last of them would come. So that no segment waits
 * for that, a train takes what the window has beyond the segments that the path holds, or 1 in 100
 * of the window.
 */
class TcpTrains
{
  public:
    /**
     * \param transport outlives this object, as the network does
     * \param network over which segments are sent
     */
    TcpTrains(const fabric::Transport* transport, const RoceNetwork* network)
        : m_transport(*transport),
          m_network(*network)
    {
    }

    /**
     * Throws Error where trains and the network do not go together.
     * \param topology a network
     * \param transport with its longest train
     */
    static void Check(const fabric::Topology& topology, const fabric::Transport& transport);
    /**
     * \param topology a network
     * \param transport with its longest train
     * \param forth links of a connection's data
     * \return what the connection knows for trains; null if it makes none
     */
    static std::unique_ptr<TcpTrain> Make(const fabric::Topology& topology,
                                          const fabric::Transport& transport,
                                          const std::vector<DirectedLink>& forth);

    /**
     * \param connection that may send
     * \param alone true if no other connection of its NIC may send now
     * \return most segments that its next frame may have
     */
    uint32_t Longest(const TcpConnection& connection, bool alone) const;
    /**
     * \param connection that has sent a segment
     * \return true if the next one may leave in the same frame
     */
    bool MayAdd(const TcpConnection& connection) const;
    /**
     * Makes segments leave one by one until those of a round trip have met no queue.
     * \param connection that makes trains
     */
    void Restart(TcpConnection& connection) const;
    /**
     * \param connection a connection
     * \param at time at which it sends, or would send
     * \return number of segments that would have been acknowledged by then if their ACKs, which
     * come together, came one by one
     */
    static uint32_t Early(const TcpConnection& connection, Picoseconds at);

    /**
     * Notes that the window is what limits a connection.
     * \param connection that makes trains
     * \param at time of an ACK, which is not processed yet
     */
    void NoteStall(TcpConnection& connection, Picoseconds at) const;

  private:
    /// Returns whether a control that sets a pace lets the connection fill its line: it measures
    /// what segments meet that leave by and by.
    bool IsPaced(const TcpConnection& connection) const;
    /// Returns the full segments up to the end of the next message.
    uint64_t LeftOf(const TcpConnection& connection, uint64_t& all) const;

    const fabric::Transport& m_transport;
    const RoceNetwork& m_network;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TCP_TRAINS_H
