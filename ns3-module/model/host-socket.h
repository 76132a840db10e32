/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_HOST_SOCKET_H
#define LEGACY_HOST_SOCKET_H

#include "ns3/node.h"
#include "ns3/tcp-socket-base.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * A TCP socket of a host that keeps little below TCP, as Linux's sockets do, while ns-3's hand a
 * whole window to the NIC.
 *
 * * A socket has few bytes in the queues of its host (HostQueueDisc). It sends no segment while it
 *   has SmallQueueSegments of them there, and goes on when one leaves (Linux: TCP small queues).
 * * Its congestion window grows only while the window, and not the host, limits it (RFC 7661;
 * Linux: tcp_is_cwnd_limited).
 */
class HostSocket : public ns3::TcpSocketBase
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override;

    /**
     * \param node a node with TCP
     * \return a new socket of the node's congestion control, recovery and RTT estimator
     */
    static ns3::Ptr<HostSocket> Create(ns3::Ptr<ns3::Node> node);
    /**
     * \return the socket that is handing a data segment to IP; null for other packets. ns-3 calls
     * from a socket down to the queue disc without an event between them, so this is how a queue
     * disc knows whose packet it gets.
     */
    static HostSocket* Sending();

    /// A segment of this socket entered a queue of its host.
    void OnQueued();
    /// A segment of this socket left a queue of its host, which may let the socket send another.
    void OnUnqueued();

  protected:
    uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    uint32_t AvailableWindow() const override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    ns3::Ptr<ns3::TcpSocketBase> Fork() override;

  private:
    /// Notes how much of the window is in use, for MayGrow.
    void NoteUse(uint32_t inFlight, uint32_t window) const;
    /**
     * \return true where the window, and not the host or the application, has limited the sender in
     * the present round trip; in slow start also where it used half of its window
     */
    bool MayGrow() const;

    static HostSocket* s_sending; //!< socket that hands a segment to IP

    uint32_t m_most{0};              //!< segments that this socket may have in the host's queues
    uint32_t m_queued{0};            //!< segments that it has there
    mutable bool m_throttled{false}; //!< true where it waits for one of them to leave
    mutable bool m_limited{false};   //!< true where the window limited it in this round trip
    mutable uint32_t m_mostUsed{0};  //!< most bytes in flight in this round trip
    mutable ns3::SequenceNumber32 m_roundEnd{0}; //!< an ACK of this byte ends the round trip
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_HOST_SOCKET_H
