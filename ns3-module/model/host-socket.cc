/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "host-socket.h"

#include "host-queue-disc.h"

#include "ns3/log.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
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

/// Returns a new object of the type that an attribute of the node's TCP names.
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

HostSocket::HostSocket() : m_clock(CreateObject<DeliveryClock>())
{
    m_rateOps = m_clock;
}

HostSocket::HostSocket(const HostSocket& socket)
    : TcpSocketBase(socket),
      m_most(socket.m_most),
      m_clock(CreateObject<DeliveryClock>())
{
    m_rateOps = m_clock;
}

HostSocket::~HostSocket()
{
    m_probe.Cancel();
    m_refused.Cancel();
    m_retry.Cancel();
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

void HostSocket::Persist()
{
    constexpr uint32_t kAttempts = 30; // ns-3 doubles the wait each time: they last a century
    SetSynRetries(kAttempts);
    SetDataRetries(UINT32_MAX);
}

HostSocket* HostSocket::Sending()
{
    return s_sending;
}

void HostSocket::OnQueued(const HostQueueDisc* queue)
{
    m_queue = queue;
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
    // The queue disc may send the segment at once, and tell this socket so before the call returns.
    // The caller itself looks for more to send, so there is nothing to resume.
    if (m_partial)
    {
        // In recovery ns-3 sends a segment for every ACK that acknowledges data, whether or not one
        // was lost. Lost segments are sent here when the window allows it.
        return maxSize;
    }
    m_throttled = false;
    m_lastSent = Simulator::Now();
    if (seq < m_tcb->m_highTxMark.Get())
    {
        if (seq == m_txBuffer->HeadSequence())
        {
            m_headSeq = seq;
            m_headSent = m_lastSent;
        }
    }
    else
    {
        m_lastSeq = seq;
    }
    HostSocket* outer = std::exchange(s_sending, this);
    const uint32_t sent = TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
    s_sending = outer;
    if (!m_probeDue.IsStrictlyPositive())
    {
        SetProbe();
    }
    return sent;
}

uint32_t HostSocket::BytesInFlight() const
{
    const uint32_t all = m_txBuffer->BytesInFlight();
    m_tcb->m_bytesInFlight = all - std::min(all, m_clock->GetRepeated());
    return m_tcb->m_bytesInFlight;
}

bool HostSocket::HasToSend() const
{
    SequenceNumber32 begin;
    SequenceNumber32 end;
    return m_txBuffer->NextSeg(&begin, &end, false);
}

uint32_t HostSocket::AvailableWindow() const
{
    // In recovery, ns-3 sends segments in flight once more if nothing else is left to send.
    if (m_tcb->m_congState == TcpSocketState::CA_RECOVERY && InOrder() && !HasToSend())
    {
        return 0;
    }
    const uint32_t window = Window();
    const uint32_t inFlight = BytesInFlight();
    NoteUse(inFlight, window);
    if (m_queued >= m_most)
    {
        m_throttled = true;
        return 0;
    }
    if (m_queue && !m_queue->HasRoom())
    {
        if (inFlight < window && !m_refused.IsRunning())
        {
            m_refused =
                Simulator::ScheduleNow(&HostSocket::OnRefused, const_cast<HostSocket*>(this));
        }
        return 0;
    }
    return inFlight > window ? 0 : window - inFlight;
}

void HostSocket::OnRefused()
{
    if (m_state != ESTABLISHED || !HasToSend())
    {
        return;
    }
    if (m_tcb->m_congState == TcpSocketState::CA_OPEN ||
        m_tcb->m_congState == TcpSocketState::CA_DISORDER)
    {
        EnterCwr(0);
    }
    if (m_txBuffer->BytesInFlight() == 0 && !m_retry.IsRunning())
    {
        m_retry = Simulator::Schedule(std::max(m_rto.Get(), m_leastVariation),
                                      [this] { SendPendingData(m_connected); });
    }
}

void HostSocket::NoteUse(uint32_t inFlight, uint32_t window) const
{
    // A window that has no room for another segment is used up.
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
    if (HostRecovery* recovery = dynamic_cast<HostRecovery*>(PeekPointer(m_recoveryOps)))
    {
        recovery->BeginAck();
    }
    const uint32_t before = m_tcb->m_cWnd;
    const bool grow = m_tcb->m_congState != TcpSocketState::CA_OPEN || MayGrow();
    TcpSocketBase::ReceivedAck(packet, header);
    // ns-3's DCTCP reduces the window without a limit, and a window below one segment sends
    // nothing. Linux keeps two segments.
    constexpr uint32_t kLeastSegments = 2;
    const uint32_t least = kLeastSegments * m_tcb->m_segmentSize;
    if (m_tcb->m_ssThresh < least)
    {
        m_tcb->m_ssThresh = least;
    }
    if (!grow && m_tcb->m_congState == TcpSocketState::CA_OPEN && m_tcb->m_cWnd > before)
    {
        m_tcb->m_cWnd = before;
        m_tcb->m_cWndInfl = before;
    }
}

void HostSocket::EstimateRtt(const TcpHeader& header)
{
    const SequenceNumber32 acked = header.GetAckNumber();
    Time sample;
    bool repeated = false;
    // The last segment that the ACK covers has not waited for others (Linux: ca_rtt_us). No sample
    // is taken if one of the segments was sent twice (Karn's rule, RFC 6298).
    while (!m_history.empty() &&
           acked >= m_history.front().seq + SequenceNumber32(m_history.front().count))
    {
        repeated |= m_history.front().retx;
        sample = Simulator::Now() - m_history.front().time;
        m_history.pop_front();
    }
    if (repeated || sample.IsZero())
    {
        return;
    }
    // A link that was out for an hour must not make the timer last for hours: ns-3 itself bounds
    // the timer to a minute only when it expires.
    sample = Min(sample, Seconds(60));
    m_rtt->Measurement(sample);
    // Linux adds its least RTO to the round-trip time.
    if (m_leastVariation.IsZero())
    {
        m_leastVariation = m_minRto;
    }
    m_minRto = m_leastVariation + m_rtt->GetEstimate();
    m_rto =
        Max(m_rtt->GetEstimate() + Max(m_clockGranularity, m_rtt->GetVariation() * 4), m_minRto);
    m_tcb->m_lastRtt = m_rtt->GetEstimate();
    m_tcb->m_minRtt = Min(sample, m_tcb->m_minRtt);
    if (LinuxCongestion* congestion =
            dynamic_cast<LinuxCongestion*>(PeekPointer(m_congestionControl)))
    {
        congestion->OnRoundTrip(m_tcb, sample);
    }
}

bool HostSocket::InOrder() const
{
    constexpr uint32_t kUsualDuplicateAcks = 3; // RFC 5681
    return m_sackEnabled && m_retxThresh <= kUsualDuplicateAcks;
}

Ptr<TcpSocketBase> HostSocket::Fork()
{
    return CopyObject<HostSocket>(this);
}

} // namespace packet
} // namespace legacy
