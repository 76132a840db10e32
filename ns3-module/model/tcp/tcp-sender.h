/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TCP_SENDER_H
#define LEGACY_TCP_SENDER_H

#include "fabric/engine/transport.h"
#include "model/carrier.h"
#include "model/roce/roce-network.h"
#include "tcp-connections.h"
#include "tcp-trains.h"

#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The sending ends of all connections, as Linux has them. The connections of a NIC take turns of
 * one segment each, as with fair queueing. Losses are found by time (RFC 8985), with tail loss
 * probes; windows are reduced in proportion to what arrives (RFC 6937); the retransmission timer is
 * that of RFC 6298, to whose variation the least RTO is a lower bound.
 */
class TcpSender
{
  public:
    /// The queue of a NIC that has one for all of its connections, as Linux's tbf does.
    struct NicQueue
    {
        bool on{false};   //!< else connections take turns
        int64_t limit{0}; //!< bytes above which it refuses segments; 0: none
        int64_t room{0};  //!< bytes for which there must be room
    };

    /**
     * \param links number of directed links
     * \param queue of NICs
     * \param transport outlives this object, as all the others do
     * \param network over which segments are sent
     * \param connections of both ends
     * \param listener is told about time-outs
     */
    TcpSender(std::size_t links,
              const NicQueue& queue,
              const fabric::Transport* transport,
              RoceNetwork* network,
              TcpConnections* connections,
              CarrierListener* listener);

    /**
     * Sends the SYN of a connection.
     * \param number of the connection
     */
    void Connect(uint32_t number);
    /**
     * Lets an open connection send what its window allows.
     * \param number of the connection
     * \param ready time from which it may send
     */
    void List(uint32_t number, Picoseconds ready);
    /**
     * Called when the pace of a connection may allow its next segment.
     * \param number of the connection
     */
    void OnWake(uint32_t number);
    /**
     * Called before a message is added to those of a connection.
     * \param number of the connection
     */
    void OnMessage(uint32_t number);
    /**
     * Called when the further handshakes of a connection are over.
     * \param number of the connection
     */
    void OnReady(uint32_t number);
    /**
     * See RoceEnds.
     * \param link whose port asks for the next segment of its NIC
     * \param free time at which the port is free
     * \return the frame; Frame::kNone: none may be sent now
     */
    uint32_t Next(DirectedLink link, Picoseconds free);
    /**
     * \param link a port
     * \return true if its NIC has a segment that may be sent once the port is free
     */
    bool IsReady(DirectedLink link) const
    {
        return m_nics[link].head != TcpConnection::kNone;
    }

    /**
     * See RoceEnds.
     * \param frame a segment that leaves the queue of its NIC
     */
    void OnLeft(uint32_t frame);
    /**
     * \param frame an ACK
     */
    void OnAck(uint32_t frame);
    /**
     * Called when a timer of a connection may be due.
     * \param number of the connection
     */
    void OnTimer(uint32_t number);

    /**
     * \return number of segments that were sent again
     */
    uint64_t GetResent() const
    {
        return m_resent;
    }

  private:
    static constexpr TimeNs kMostTimeout = 60'000'000'000;

    /// The connections that send through a port, in turn.
    struct Nic
    {
        uint32_t head{TcpConnection::kNone};
        uint32_t tail{TcpConnection::kNone};
    };

    /// A Told has what an ACK has told.
    struct Told
    {
        Picoseconds at{0};
        uint32_t delivered{0};  //!< segments that have arrived, as is known now
        Picoseconds newest{-1}; //!< when the last of them was sent that was sent once; -1: none
        bool advanced{false};   //!< the number of the ACK was higher than before
        uint32_t lost{0};       //!< segments that were found to be lost
        // The newest segment of them, for the rate of delivery.
        bool sampled{false};
        Picoseconds sampleSent{0};
        uint64_t sampleEnd{0};
        uint64_t before{0};
        Picoseconds beforeAt{0};
        Picoseconds sending{0};
        bool starved{false};
    };

    void Append(uint32_t number);
    /// Sends a segment, or a train of new ones. `alone`: no other connection may send now.
    uint32_t Send(uint32_t number, Picoseconds free, bool alone = false);
    bool HasRoom(DirectedLink link) const; //!< in the NIC's queue
    /// Returns how many segments it may have in the queue of its NIC (Linux:
    /// tcp_small_queue_check).
    uint32_t MostQueued(TcpConnection& connection) const;
    /// Puts what it may send into the NIC's queue. `served`: the port is being served.
    void Push(uint32_t number, bool served);
    void OnRefused(uint32_t number);
    void Retry(uint32_t number, TimeNs wait); //!< probes the NIC's queue after that time
    /// Sends one segment if the NIC's queue has room now, else waits (Linux: tcp_send_probe0).
    void ProbeQueue(uint32_t number);
    void Enqueue(uint32_t number); //!< puts its next segment into the NIC's queue
    uint32_t SendSyn(uint32_t number, Picoseconds free);
    void ServeSyn(uint32_t number); //!< lets its NIC send the SYN
    /// Adds a new segment to those that were sent, and returns its number.
    uint32_t AddNew(TcpConnection& connection, Picoseconds start) const;
    /// Notes that a segment leaves.
    void OnSent(uint32_t number, uint32_t segment, int64_t wire, Picoseconds start);
    /// Lets the frame of a new segment grow into a train.
    void Grow(uint32_t number, uint32_t frame, uint32_t most);
    /// Makes the frame of a segment.
    uint32_t Make(uint32_t number, const TcpSegment& segment, Picoseconds start);
    bool HasNew(const TcpConnection& connection) const; //!< and the receiver has room for it
    bool HasLost(TcpConnection& connection) const;      //!< a lost segment is not in flight
    bool HasToSend(TcpConnection& connection) const;    //!< and room in its window
    bool MaySend(TcpConnection& connection) const;      //!< as its pace allows, too
    void Await(uint32_t number);                        //!< waits for the time that its pace allows
    void Pace(TcpConnection& connection, int64_t wire, Picoseconds start) const;
    static void NoteUse(TcpConnection& connection, Picoseconds at);
    static bool MayGrow(const TcpConnection& connection);

    static void Link(TcpConnection& connection, uint32_t segment);
    static void Unlink(TcpConnection& connection, uint32_t segment);

    void OnConnected(uint32_t number, Picoseconds at);
    static void Measure(TcpConnection& connection, TimeNs sample);
    /// Returns the retransmission time-out, without back-off.
    TimeNs TimeoutOf(const TcpConnection& connection) const;
    static void Delivered(TcpConnection& connection, uint32_t segment, Told& told);
    static void Acknowledge(TcpConnection& connection, uint64_t end, Told& told);
    /// Reads the ranges of SACK of an ACK.
    void TakeRanges(TcpConnection& connection, uint32_t frame, Told& told) const;
    static void AddRange(TcpConnection& connection, TcpRange range, Told& told);
    static void MarkRange(TcpConnection& connection, TcpRange range, Told& told);
    static void MarkLost(TcpConnection& connection, uint32_t segment);
    void FindLosses(TcpConnection& connection, Picoseconds now, Told& told) const;
    static Picoseconds ReorderTime(const TcpConnection& connection);
    void EndProbe(TcpConnection& connection, uint64_t end) const;
    void EndPhase(TcpConnection& connection) const;
    static void Reduce(TcpConnection& connection, TcpPhase phase);
    static void TakeThreshold(TcpConnection& connection); //!< when a reduction ends
    static void Adjust(TcpConnection& connection, const Told& told);
    static fabric::TcpRate RateOf(TcpConnection& connection, const Told& told);
    void Expire(uint32_t number, Picoseconds now);
    void SetTimer(uint32_t number, Picoseconds now);

    const fabric::Transport& m_transport;
    RoceNetwork& m_network;
    TcpConnections& m_connections;
    CarrierListener* m_listener;
    const TcpTrains m_trains;
    const NicQueue m_queue;
    std::vector<Nic> m_nics;
    uint64_t m_resent{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TCP_SENDER_H
