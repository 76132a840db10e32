/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// This is how senders behave if the connections of a host share one queue at its NIC.
#include "tcp-sender.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy
{
namespace packet
{

bool TcpSender::HasRoom(DirectedLink link) const
{
    const int64_t queued = m_network.QueuedAt(link);
    return m_queue.limit == 0 || queued == 0 || queued + m_queue.room <= m_queue.limit;
}

uint32_t TcpSender::MostQueued(TcpConnection& connection) const
{
    constexpr double kLeast = 2; // keep the line busy
    constexpr double kMost = 1e9;
    constexpr double kSlowStart = 2;       // of the window's rate (tcp_pacing_ss_ratio)
    constexpr double kAvoidance = 1.2;     // tcp_pacing_ca_ratio
    constexpr double kTime = 1.0 / 1024;   // seconds at that rate (sk_pacing_shift)
    constexpr double kBytes = 4 << 20;     // tcp_limit_output_bytes
    constexpr double kSegmentBuffer = 960; // bytes of memory beside the data (SKB_TRUESIZE)
    const fabric::TcpWindow& window = connection.window;
    const double segment = m_transport.segmentBytes;
    double bytes = connection.control->Pace(window) * kTime * segment;
    if (bytes == 0 && window.smoothed == 0)
    {
        bytes = kBytes;
    }
    else if (bytes == 0)
    {
        const double ratio = window.segments < window.threshold / 2 ? kSlowStart : kAvoidance;
        const double out = std::max(window.segments, connection.segments.size());
        bytes = std::min(kBytes, ratio * out / InSeconds(window.smoothed) * kTime * segment);
    }
    const double most = std::max(kLeast, 1 + std::floor(bytes / (segment + kSegmentBuffer)));
    // What was lost may wait in twice the room (tcp_xmit_retransmit_queue).
    return static_cast<uint32_t>(std::min(kMost, HasLost(connection) ? 2 * most : most));
}

void TcpSender::Push(uint32_t number, bool served)
{
    TcpConnection& connection = m_connections[number];
    const DirectedLink link = connection.way.First();
    while (MaySend(connection))
    {
        if (connection.atNic >= MostQueued(connection))
        {
            connection.throttled = true;
            return;
        }
        if (!HasRoom(link))
        {
            OnRefused(number);
            return;
        }
        Enqueue(number);
        if (!served)
        {
            m_network.Serve(link);
        }
    }
    Await(number);
}

void TcpSender::Enqueue(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
    const uint32_t frame = Send(number, RoceNow());
    ++connection.atNic;
    m_network.Queue(connection.way.First(), frame);
}

void TcpSender::OnRefused(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
    if (connection.phase == TcpPhase::Open || connection.phase == TcpPhase::Disorder)
    {
        Reduce(connection, TcpPhase::Reducing);
    }
    if (connection.segments.empty() && !connection.retries)
    {
        Retry(number, TimeoutOf(connection));
    }
}

void TcpSender::ProbeQueue(uint32_t number)
{
    constexpr TimeNs kRefused = 500'000'000; // TCP_RESOURCE_PROBE_INTERVAL
    TcpConnection& connection = m_connections[number];
    const DirectedLink link = connection.way.First();
    if (!HasNew(connection))
    {
        return;
    }
    if (!HasRoom(link))
    {
        Retry(number, kRefused);
        return;
    }
    Enqueue(number);
    m_network.Serve(link);
}

void TcpSender::Retry(uint32_t number, TimeNs wait)
{
    m_connections[number].retries = true;
    m_network.Schedule(RoceNow() + ToPicoseconds(wait), RoceEventKind::HandOver, number);
}

void TcpSender::OnLeft(uint32_t frame)
{
    if (m_network.Frames()[frame].payload > 0)
    {
        const uint32_t number = m_network.Frames()[frame].pair;
        TcpConnection& connection = m_connections[number];
        --connection.atNic;
        if (std::exchange(connection.throttled, false))
        {
            Push(number, true);
        }
    }
}

} // namespace packet
} // namespace legacy
