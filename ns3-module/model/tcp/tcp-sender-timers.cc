/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Time-outs, tail loss probes, and segments that were overtaken.
#include "tcp-sender.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

namespace
{

constexpr uint8_t kMostBackoff = 16;
constexpr TimeNs kTick = 1'000'000; ///< of Linux's timers
constexpr uint32_t kWindowAfterTimeout = 1;

} // namespace

void TcpSender::SetTimer(uint32_t number, Picoseconds now)
{
    using Timer = TcpConnection::Timer;
    constexpr TimeNs kRoundTrips = 2;
    TcpConnection& connection = m_connections[number];
    const bool connecting = connection.stage == TcpStage::Connecting;
    if (!connecting && connection.segments.empty())
    {
        connection.due = Timer::None;
        return;
    }
    const TimeNs timeout = std::min(TimeoutOf(connection) << connection.backoff, kMostTimeout);
    connection.due = Timer::Retransmit;
    connection.dueAt = connection.waitsFrom + ToPicoseconds(timeout);
    const bool calm = connection.phase == TcpPhase::Open || connection.phase == TcpPhase::Reducing;
    if (!connecting && connection.reorderAt > 0)
    {
        connection.due = Timer::Reorder;
        connection.dueAt = connection.reorderAt;
    }
    else if (!connecting && calm && !connection.probing && connection.sacked == 0 &&
             connection.window.smoothed > 0 && connection.backoff == 0)
    {
        // A single segment in flight may wait for its ACK as long as an ACK may be delayed; Linux
        // allows the least RTO for that.
        const bool alone = connection.segments.size() == 1;
        const TimeNs wait =
            kRoundTrips * connection.window.smoothed + (alone ? m_transport.minRto : 2 * kTick);
        const Picoseconds at =
            std::max(connection.lastSent, connection.waitsFrom) + ToPicoseconds(wait);
        if (at < connection.dueAt)
        {
            connection.due = Timer::Probe;
            connection.dueAt = at;
        }
    }
    connection.dueAt = std::max(connection.dueAt, now);
    if (connection.timerEvent == 0 || connection.timerEvent > connection.dueAt)
    {
        connection.timerEvent = connection.dueAt;
        m_network.Schedule(connection.dueAt, RoceEventKind::Timeout, number);
    }
}

void TcpSender::OnTimer(uint32_t number)
{
    using Timer = TcpConnection::Timer;
    TcpConnection& connection = m_connections[number];
    const Picoseconds now = RoceNow();
    if (connection.timerEvent == 0 || connection.timerEvent > now)
    {
        return; // another event has replaced this one
    }
    connection.timerEvent = 0;
    if (connection.due == Timer::None)
    {
        return;
    }
    if (connection.dueAt > now)
    {
        connection.timerEvent = connection.dueAt;
        m_network.Schedule(connection.dueAt, RoceEventKind::Timeout, number);
        return;
    }
    switch (std::exchange(connection.due, Timer::None))
    {
    case Timer::Retransmit:
        Expire(number, now);
        break;
    case Timer::Probe:
        connection.probeNow = true;
        List(number, now);
        break;
    default:
    {
        Told told;
        told.at = now;
        FindLosses(connection, now, told);
        if (connection.lost > 0 &&
            (connection.phase == TcpPhase::Open || connection.phase == TcpPhase::Disorder))
        {
            Reduce(connection, TcpPhase::Recovery);
            if (!connection.control->OwnsWindow())
            {
                connection.window.segments = connection.InFlight() + 1;
            }
        }
        SetTimer(number, now);
        List(number, now);
    }
    }
}

void TcpSender::Expire(uint32_t number, Picoseconds now)
{
    TcpConnection& connection = m_connections[number];
    m_listener->OnRetransmitTimeout();
    connection.backoff += connection.backoff < kMostBackoff ? 1 : 0;
    connection.waitsFrom = now;
    if (connection.stage == TcpStage::Connecting)
    {
        connection.probeNow = true;
        connection.ready = now;
        ServeSyn(number);
        return;
    }
    if (connection.phase != TcpPhase::Loss || connection.acked > connection.highEnd)
    {
        if (connection.phase == TcpPhase::Open || connection.phase == TcpPhase::Disorder)
        {
            connection.window.threshold = connection.control->Threshold(connection.window);
        }
        connection.control->OnTimeout();
    }
    connection.phase = TcpPhase::Loss;
    connection.highEnd = connection.next;
    connection.probing = connection.probeNow = false;
    connection.reorderAt = 0;
    while (connection.oldest != TcpSegment::kNone)
    {
        MarkLost(connection, connection.oldest);
    }
    connection.window.segments = kWindowAfterTimeout;
    SetTimer(number, now);
    List(number, now);
}

} // namespace packet
} // namespace legacy
