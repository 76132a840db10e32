/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// How a host's socket finds losses by send times, probes for them, and recovers.
#include "host-socket.h"

#include "ns3/simulator.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;

void HostSocket::NewAck(const SequenceNumber32& acked, bool)
{
    // ns-3 restarts the timer only with the first ACK of a recovery (RFC 6582, "impatient"), so
    // that a long recovery ends in a time-out. By RFC 6298, 5.3, every such ACK restarts it.
    TcpSocketBase::NewAck(acked, true);
    m_probed = false;
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
        // In recovery, one segment that was sent later and has arrived suffices (RFC 8985, section
        // 6.2: no reordering window).
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
        m_txBuffer->MarkHeadAsLost(); // this lets it be sent once more
    }
    if (m_probed && latest >= m_lastSent && m_txBuffer->GetSacked() > 0)
    {
        // The probe was the last segment sent, and has arrived: all others that have not arrived
        // are lost.
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
    // A single segment in flight may wait for its ACK as long as an ACK may be delayed; Linux
    // allows the least RTO for that.
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
    // The retransmission timer starts with the probe (RFC 8985, section 7.3).
    m_retxEvent.Cancel();
    m_retxEvent = Simulator::Schedule(m_rto, &HostSocket::ReTxTimeout, this);
}

} // namespace packet
} // namespace legacy
