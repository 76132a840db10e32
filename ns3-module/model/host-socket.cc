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
#include "ns3/tcp-tx-item.h"
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
NS_OBJECT_ENSURE_REGISTERED(HostRecovery);
NS_OBJECT_ENSURE_REGISTERED(DeliveryClock);

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

// ---------------------------------------------------------------------------------------------
// Delivery
// ---------------------------------------------------------------------------------------------

TypeId DeliveryClock::GetTypeId()
{
    static TypeId tid = TypeId("legacy::DeliveryClock")
                            .SetParent<TcpRateLinux>()
                            .SetGroupName("Legacy")
                            .AddConstructor<DeliveryClock>();
    return tid;
}

void DeliveryClock::SkbDelivered(TcpTxItem* item)
{
    m_latest = Max(m_latest, item->GetLastSent());
    if (item->IsSacked() && item->IsRetrans())
    {
        // It is reported by SACK first, and then acknowledged.
        const bool first = item->GetRateInformation().m_deliveredTime != Time::Max();
        m_repeated = first ? m_repeated + item->GetSeqSize()
                           : m_repeated - std::min(m_repeated, item->GetSeqSize());
    }
    TcpRateLinux::SkbDelivered(item);
}

Time DeliveryClock::GetLatest() const
{
    return m_latest;
}

uint32_t DeliveryClock::GetRepeated() const
{
    return m_repeated;
}

void DeliveryClock::ClearRepeated()
{
    m_repeated = 0;
}

TypeId HostRecovery::GetTypeId()
{
    static TypeId tid = TypeId("legacy::HostRecovery")
                            .SetParent<TcpPrrRecovery>()
                            .SetGroupName("Legacy")
                            .AddConstructor<HostRecovery>();
    return tid;
}

void HostRecovery::BeginAck()
{
    m_counted = false;
}

void HostRecovery::DoRecovery(Ptr<TcpSocketState> state, uint32_t delivered)
{
    if (!std::exchange(m_counted, true))
    {
        TcpPrrRecovery::DoRecovery(state, delivered);
    }
}

Ptr<TcpRecoveryOps> HostRecovery::Fork()
{
    return CopyObject<HostRecovery>(this);
}

// ---------------------------------------------------------------------------------------------
// Sockets
// ---------------------------------------------------------------------------------------------

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
    constexpr uint32_t kAttempts = 30; // ns-3 waits twice as long each time: for a century
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
    // The queue disc may send the segment at once, and tell this socket so before it is back here.
    // The caller looks for more to send itself, so there is nothing to resume.
    if (m_partial)
    {
        // In recovery ns-3 sends a segment for every ACK that acknowledges data, lost or not.
        // What is lost is sent when the window allows it.
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
    // In recovery ns-3 sends what is in flight once more where nothing else is left to send.
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
    if (HostRecovery* recovery = dynamic_cast<HostRecovery*>(PeekPointer(m_recoveryOps)))
    {
        recovery->BeginAck();
    }
    const uint32_t before = m_tcb->m_cWnd;
    const bool grow = m_tcb->m_congState != TcpSocketState::CA_OPEN || MayGrow();
    TcpSocketBase::ReceivedAck(packet, header);
    // ns-3's DCTCP reduces without end, and a window below a segment sends nothing. Linux keeps
    // two.
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
    // is taken where one of them was sent twice (Karn's rule, RFC 6298).
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
    // A link that was out for an hour must not make the timer one of hours: ns-3 bounds it by a
    // minute where it expires alone.
    sample = Min(sample, Seconds(60));
    m_rtt->Measurement(sample);
    // Linux adds its least RTO to the round trip.
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

// ---------------------------------------------------------------------------------------------
// Losses
// ---------------------------------------------------------------------------------------------

void HostSocket::NewAck(const SequenceNumber32& acked, bool)
{
    // ns-3 restarts the timer with the first ACK of a recovery only (RFC 6582, "impatient"), so
    // that a long recovery ends in a time-out. RFC 6298, 5.3, restarts it with every one.
    TcpSocketBase::NewAck(acked, true);
    m_probed = false;
}

bool HostSocket::InOrder() const
{
    constexpr uint32_t kUsualDuplicateAcks = 3; // RFC 5681
    return m_sackEnabled && m_retxThresh <= kUsualDuplicateAcks;
}

void HostSocket::ProcessAck(const SequenceNumber32& acked,
                            bool scoreboardUpdated,
                            uint32_t delivered,
                            const SequenceNumber32& oldHead)
{
    if (InOrder() && delivered > 0)
    {
        FindLosses(delivered);
    }
    m_partial = InOrder() && m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
    TcpSocketBase::ProcessAck(acked, scoreboardUpdated, delivered, oldHead);
    m_partial = false;
    const bool recovers = m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
    if (InOrder())
    {
        // In recovery one later arrival suffices (RFC 8985, section 6.2: no reordering window).
        m_txBuffer->SetDupAckThresh(recovers ? 1 : m_retxThresh);
    }
    SetProbe();
}

void HostSocket::FindLosses(uint32_t delivered)
{
    if (m_txBuffer->BytesInFlight() + m_txBuffer->GetLost() == 0 || m_txBuffer->Size() == 0)
    {
        return;
    }
    const Time latest = m_clock->GetLatest();
    const bool open = m_tcb->m_congState == TcpSocketState::CA_OPEN ||
                      m_tcb->m_congState == TcpSocketState::CA_DISORDER;
    if (!open && m_txBuffer->IsHeadRetransmitted() && m_headSeq == m_txBuffer->HeadSequence() &&
        m_headSent < latest)
    {
        m_txBuffer->MarkHeadAsLost(); // which lets it be sent once more
    }
    if (m_probed && latest >= m_lastSent && m_txBuffer->GetSacked() > 0)
    {
        // The probe was the last segment sent, and has arrived: all others that have not are lost.
        m_clock->ClearRepeated();
        m_txBuffer->SetSentListLost(false);
        if (open)
        {
            Recover(delivered);
        }
    }
}

void HostSocket::ReTxTimeout()
{
    m_probeDue = Time(0);
    m_probed = false;
    m_clock->ClearRepeated();
    TcpSocketBase::ReTxTimeout();
}

void HostSocket::Recover(uint32_t delivered)
{
    m_probed = false;
    EnterRecovery(delivered);
}

void HostSocket::SetProbe()
{
    constexpr int64_t kRoundTrips = 2;
    constexpr int64_t kReordering = 4; // parts of a round trip (RFC 8985, section 6.2)
    const bool open = m_tcb->m_congState == TcpSocketState::CA_OPEN;
    const bool disorder = m_tcb->m_congState == TcpSocketState::CA_DISORDER;
    const Time roundTrip = m_tcb->m_lastRtt;
    if (!InOrder() || !(open || disorder) || (m_probed && !disorder) ||
        m_txBuffer->BytesInFlight() == 0 || !roundTrip.IsStrictlyPositive() ||
        m_state != ESTABLISHED)
    {
        m_probeDue = Time(0);
        return;
    }
    // One segment alone may wait for its ACK as long as an ACK may be delayed; Linux allows the
    // least RTO.
    const bool alone = m_txBuffer->BytesInFlight() <= m_tcb->m_segmentSize;
    const Time wait = disorder ? NanoSeconds(m_tcb->m_minRtt.GetNanoSeconds() / kReordering)
                               : kRoundTrips * roundTrip +
                                     (alone ? m_leastVariation : Time(m_clockGranularity * 2));
    m_probeDue = Simulator::Now() + wait;
    if (m_probe.IsRunning() && Simulator::GetDelayLeft(m_probe) > wait)
    {
        m_probe.Cancel();
    }
    if (!m_probe.IsRunning())
    {
        m_probe = Simulator::Schedule(m_probeDue - Simulator::Now(), &HostSocket::OnProbe, this);
    }
}

void HostSocket::OnProbe()
{
    if (!m_probeDue.IsStrictlyPositive())
    {
        return;
    }
    if (m_probeDue > Simulator::Now())
    {
        m_probe = Simulator::Schedule(m_probeDue - Simulator::Now(), &HostSocket::OnProbe, this);
        return;
    }
    m_probeDue = Time(0);
    if (m_tcb->m_congState == TcpSocketState::CA_DISORDER)
    {
        Recover(0);
        SendPendingData(m_connected);
    }
    else if (m_txBuffer->BytesInFlight() > 0 && m_queued == 0)
    {
        SendProbe();
    }
}

void HostSocket::SendProbe()
{
    m_probed = true;
    const SequenceNumber32 next = m_tcb->m_highTxMark;
    const uint32_t unsent = m_txBuffer->SizeFromSequence(next);
    const uint32_t outstanding = next - m_txBuffer->HeadSequence();
    if (unsent > 0 && outstanding + m_tcb->m_segmentSize <= m_rWnd)
    {
        m_tcb->m_nextTxSequence = next;
        SendDataPacket(next, std::min(unsent, m_tcb->m_segmentSize), m_connected);
    }
    else
    {
        SendDataPacket(m_lastSeq, next - m_lastSeq, m_connected);
    }
    // The retransmission timer begins with the probe (RFC 8985, section 7.3).
    m_retxEvent.Cancel();
    m_retxEvent = Simulator::Schedule(m_rto, &HostSocket::ReTxTimeout, this);
}

Ptr<TcpSocketBase> HostSocket::Fork()
{
    return CopyObject<HostSocket>(this);
}

} // namespace packet
} // namespace legacy
