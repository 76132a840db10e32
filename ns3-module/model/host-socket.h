/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_HOST_SOCKET_H
#define LEGACY_HOST_SOCKET_H

#include "host-recovery.h"
#include "linux-congestion.h"

#include "ns3/event-id.h"
#include "ns3/node.h"
#include "ns3/tcp-socket-base.h"

namespace legacy
{
namespace packet
{

class HostQueueDisc;

/**
 * \ingroup legacy
 * A TCP socket of a host that adds what Linux's sockets do and ns-3's do not:
 *
 * * A socket has only a few segments in the queues of its host (HostQueueDisc). It sends none while
 *   SmallQueueSegments of them are there, and continues when one leaves (Linux: TCP small queues).
 * * If the queue of its host is full, it keeps its data, reduces its window, and tries again with
 *   the next ACK, or after the least RTO if nothing is in flight (Linux: tcp_enter_cwr, probe
 *   timer).
 * * Its congestion window grows only while the window, and not the host, limits it (RFC 7661;
 *   Linux: tcp_is_cwnd_limited).
 */
class HostSocket : public ns3::TcpSocketBase
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override;

    HostSocket();
    /**
     * \param socket a listening socket, from which this one is copied for a new connection
     */
    HostSocket(const HostSocket& socket);
    ~HostSocket() override;

    /**
     * \param node a node with TCP
     * \return a new socket with the node's congestion control, recovery and RTT estimator
     */
    static ns3::Ptr<HostSocket> Create(ns3::Ptr<ns3::Node> node);
    /// Makes the socket never give its connection up, however long nothing is acknowledged.
    void Persist();
    /**
     * \return the socket that is handing a data segment to IP; null for other packets. ns-3 makes
     * all calls from a socket down to the queue disc without an event between them, so a queue disc
     * can find out in this way whose packet it gets.
     */
    static HostSocket* Sending();

    /**
     * A segment of this socket entered a queue of its host.
     * \param queue the queue that all segments of this socket take
     */
    void OnQueued(const HostQueueDisc* queue);
    /// A segment of this socket left a queue of its host, so that the socket may send another.
    void OnUnqueued();

  protected:
    void ReTxTimeout() override;
    uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    uint32_t BytesInFlight() const override;
    uint32_t AvailableWindow() const override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void ProcessAck(const ns3::SequenceNumber32& acked,
                    bool scoreboardUpdated,
                    uint32_t delivered,
                    const ns3::SequenceNumber32& oldHead) override;
    void EstimateRtt(const ns3::TcpHeader& header) override;
    void NewAck(const ns3::SequenceNumber32& acked, bool resetRto) override;
    ns3::Ptr<ns3::TcpSocketBase> Fork() override;

  private:
    /**
     * \return true if a segment is lost and was not sent again, or some data was never sent
     */
    bool HasToSend() const;
    /// Records how much of the window is in use, for MayGrow.
    void NoteUse(uint32_t inFlight, uint32_t window) const;
    /**
     * \return true if the window, and not the host or the application, has limited the sender in
     * the present round trip; in slow start also if the sender used half of its window
     */
    bool MayGrow() const;

    /// Called when the queue of the host has no room for the next segment.
    void OnRefused();

    /**
     * \return true if segments arrive in the order in which they were sent, as far as is known
     */
    bool InOrder() const;
    /**
     * Marks lost segments, which it finds by the send times of those that have arrived, and enters
     * recovery.
     * \param delivered bytes that the ACK reports as delivered
     */
    void FindLosses(uint32_t delivered);
    /**
     * Enters recovery with the segments that are marked as lost.
     * \param delivered bytes that the ACK reports as delivered
     */
    void Recover(uint32_t delivered);
    /// Sets the time at which the probe is due. Called after each ACK and each segment sent.
    void SetProbe();
    /// Called when the probe's timer has expired.
    void OnProbe();
    /// Sends a new segment, or the last one again.
    void SendProbe();

    static HostSocket* s_sending; //!< socket that hands a segment to IP

    uint32_t m_most{0};   //!< segments that this socket may have in the host's queues
    uint32_t m_queued{0}; //!< segments that it has there
    const HostQueueDisc* m_queue{nullptr}; //!< where its segments wait; null: none was sent
    mutable ns3::EventId m_refused;        //!< event of the reaction to a full queue
    ns3::EventId m_retry;                  //!< timer of the next attempt with nothing in flight
    mutable bool m_throttled{false};       //!< true where it waits for a segment to leave
    mutable bool m_limited{false};         //!< true where the window limited it in this round trip
    mutable uint32_t m_mostUsed{0};        //!< most bytes in flight in this round trip
    ns3::Ptr<DeliveryClock> m_clock;       //!< send times of the segments that have arrived
    ns3::Time m_lastSent;                  //!< time of the last segment sent
    ns3::Time m_headSent;                  //!< time at which the head was sent again
    ns3::SequenceNumber32 m_headSeq{0};    //!< sequence number of that head
    ns3::SequenceNumber32 m_lastSeq{0};    //!< first byte of the highest segment sent
    ns3::Time m_leastVariation;            //!< the least that the RTO exceeds the round trip by
    ns3::EventId m_probe;                  //!< timer of the probe
    ns3::Time m_probeDue;                  //!< time at which the probe is due; zero: none is due
    bool m_partial{false};                 //!< true while an ACK in recovery is processed
    bool m_probed{false};                  //!< true from a probe until data is acknowledged
    mutable ns3::SequenceNumber32 m_roundEnd{0}; //!< an ACK of this byte ends the round trip
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_HOST_SOCKET_H
