/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "host-socket.h"

#include "ns3/log.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_LOG_COMPONENT_DEFINE("LegacyHostSocket");
NS_OBJECT_ENSURE_REGISTERED(HostSocket);

HostSocket* HostSocket::s_sending = nullptr;

namespace
{

/// Returns a new object of the type that is an attribute of the node's TCP.
template <class T>
Ptr<T> CreateNamed(const TcpL4Protocol& tcp, const char* attribute)
{
    TypeIdValue type;
    tcp.GetAttribute(attribute, type);
    ObjectFactory factory;
    factory.SetTypeId(type.Get());
    return factory.Create<T>();
}

} // namespace

TypeId HostSocket::GetTypeId()
{
    static TypeId tid =
        TypeId("legacy::HostSocket")
            .SetParent<TcpSocketBase>()
            .SetGroupName("Legacy")
            .AddConstructor<HostSocket>()
            .AddAttribute("SmallQueueSegments",
                          "Segments that a socket may have in the queues of its host. Two keep the "
                          "line busy, because the NIC has some of its own.",
                          UintegerValue(2),
                          MakeUintegerAccessor(&HostSocket::m_most),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

TypeId HostSocket::GetInstanceTypeId() const
{
    return GetTypeId();
}

Ptr<HostSocket> HostSocket::Create(Ptr<Node> node)
{
    Ptr<TcpL4Protocol> tcp = node->GetObject<TcpL4Protocol>();
    Ptr<HostSocket> socket = CreateObject<HostSocket>();
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(CreateNamed<RttEstimator>(*tcp, "RttEstimatorType"));
    socket->SetCongestionControlAlgorithm(CreateNamed<TcpCongestionOps>(*tcp, "SocketType"));
    socket->SetRecoveryAlgorithm(CreateNamed<TcpRecoveryOps>(*tcp, "RecoveryType"));
    tcp->AddSocket(socket);
    return socket;
}

HostSocket* HostSocket::Sending()
{
    return s_sending;
}

void HostSocket::OnQueued()
{
    ++m_queued;
}

void HostSocket::OnUnqueued()
{
    --m_queued;
    if (m_throttled && m_queued < m_most)
    {
        m_throttled = false;
        SendPendingData(m_connected);
    }
}

uint32_t HostSocket::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
    // The queue disc may send the segment at once, and tell this socket so before it is back here.
    // The caller looks for more to send itself, so there is nothing to resume.
    m_throttled = false;
    HostSocket* outer = std::exchange(s_sending, this);
    const uint32_t sent = TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
    s_sending = outer;
    return sent;
}

uint32_t HostSocket::AvailableWindow() const
{
    const uint32_t window = Window();
    const uint32_t inFlight = BytesInFlight();
    NoteUse(inFlight, window);
    if (m_queued >= m_most)
    {
        m_throttled = true;
        return 0;
    }
    return inFlight > window ? 0 : window - inFlight;
}

void HostSocket::NoteUse(uint32_t inFlight, uint32_t window) const
{
    // A window that has no room for a segment is used up.
    const bool limited = inFlight + m_tcb->m_segmentSize > window;
    if (m_txBuffer->HeadSequence() >= m_roundEnd || limited ||
        (!m_limited && inFlight > m_mostUsed))
    {
        m_limited = limited;
        m_mostUsed = inFlight;
        m_roundEnd = m_tcb->m_highTxMark;
    }
}

bool HostSocket::MayGrow() const
{
    const bool slowStart = m_tcb->m_cWnd < m_tcb->m_ssThresh;
    return m_limited || (slowStart && m_tcb->m_cWnd < 2 * m_mostUsed);
}

void HostSocket::ReceivedAck(Ptr<Packet> packet, const TcpHeader& header)
{
    const uint32_t before = m_tcb->m_cWnd;
    const bool grow = m_tcb->m_congState != TcpSocketState::CA_OPEN || MayGrow();
    TcpSocketBase::ReceivedAck(packet, header);
    if (!grow && m_tcb->m_congState == TcpSocketState::CA_OPEN && m_tcb->m_cWnd > before)
    {
        m_tcb->m_cWnd = before;
        m_tcb->m_cWndInfl = before;
    }
}

Ptr<TcpSocketBase> HostSocket::Fork()
{
    return CopyObject<HostSocket>(this);
}

} // namespace packet
} // namespace legacy
