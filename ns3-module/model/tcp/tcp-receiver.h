/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TCP_RECEIVER_H
#define LEGACY_TCP_RECEIVER_H

#include "fabric/engine/transport.h"
#include "model/carrier.h"
#include "model/roce/roce-network.h"
#include "tcp-connections.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The receiving ends of all connections. An ACK answers each n-th segment, or the first one after
 * a delay, and at once what is out of order (RFC 5681, section 4.2), with up to three ranges of
 * SACK (RFC 2018). Applications read at once. A train is answered by the ACKs that its segments
 * would have, which leave as one frame when the last of them would leave.
 */
class TcpReceiver
{
  public:
    /// The most ranges that an ACK tells, as timestamps take the room of a fourth one.
    static constexpr std::size_t kRanges = 3;
    /// Returns the ranges that the records of an ACK tell.
    static std::vector<TcpRange> RangesOf(const fabric::IntRecord* records);

    /**
     * \param transport outlives this object, as all the others do
     * \param network over which ACKs are sent
     * \param connections of both ends
     * \param listener is told what arrives
     */
    TcpReceiver(const fabric::Transport* transport,
                RoceNetwork* network,
                TcpConnections* connections,
                CarrierListener* listener);

    /**
     * \param frame a segment, or a SYN
     */
    void OnData(uint32_t frame);
    /**
     * Called when a delayed ACK may be due.
     * \param number of the connection
     */
    void OnTimer(uint32_t number);

  private:
    /// Adds what has arrived beyond a gap. Returns true if a gap was filled.
    static bool Place(TcpConnection& connection, TcpRange range);
    /// ACKs that leave together, as they answer the segments of a train.
    struct Answers
    {
        uint8_t count{0};
        int32_t wire{0};
    };

    /// Takes one of the segments of a frame. `first`: it is the first of them.
    void Take(const Frame& data, TcpRange range, bool marked, bool first, Answers& answers);
    /// Returns the number of ranges that an ACK tells now.
    static std::size_t ToldOf(const TcpConnection& connection);
    /// Adds the ACK of what is not answered to those that are to leave.
    void Count(TcpConnection& connection, Answers& answers) const;
    /// Sends ACKs, if there are any. `at`: arrival of the last segment that they answer.
    void Answer(uint32_t number, Picoseconds at, Picoseconds sent, Answers& answers, bool opens);
    /// Begins to answer each segment where none has come for longer than a time-out.
    void NoteGap(TcpConnection& connection, Picoseconds at) const;
    void Delay(uint32_t number, Picoseconds at);
    void Deliver(uint32_t number, Picoseconds at);

    const fabric::Transport& m_transport;
    RoceNetwork& m_network;
    TcpConnections& m_connections;
    CarrierListener* m_listener;
    const bool m_everyMark; //!< each ACK says whether its segments were marked (DCTCP)
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TCP_RECEIVER_H
