/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-timeouts.h"

#include "fabric/roce/keys.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using fabric::RoceSettings;

RoceTimeouts::RoceTimeouts(const fabric::Topology* topology,
                           const RoceSettings* settings,
                           QueuePairs* pairs,
                           RoceNetwork* network)
    : m_topology(topology),
      m_settings(settings),
      m_pairs(*pairs),
      m_network(*network)
{
    const bool lossless = settings->pfc && settings->watchdog == 0 && !network->IsLossy();
    const bool selective = settings->recovery == fabric::RoceRecovery::Selective;
    TimeNs rto = selective ? RoceSettings::kLongRto : RoceSettings::kRto;
    TimeNs shortRto = selective ? RoceSettings::kShortRto : RoceSettings::kRto;
    if (lossless)
    {
        rto = shortRto = RoceSettings::kLosslessRto;
    }
    if (settings->rto > 0)
    {
        rto = shortRto = settings->rto;
    }
    m_rto = rto * fabric::kPicosecondsPerNs;
    m_shortRto = shortRto * fabric::kPicosecondsPerNs;
}

Picoseconds RoceTimeouts::Of(const QueuePair& pair) const
{
    constexpr int kMostDoublings = 20;
    constexpr Picoseconds kLongest = 1'000'000'000'000'000'000; // 11 days
    Picoseconds rto = m_rto;
    if (m_shortRto < m_rto)
    {
        const uint64_t inFlight = pair.next - pair.acked - pair.selective->sender.Ahead();
        rto = inFlight < RoceSettings::kFewFrames ? m_shortRto : m_rto;
    }
    if (m_settings->rto == 0)
    {
        // The frame that requests an ACK leaves after those that do not.
        const double gap =
            std::max(static_cast<double>(pair.course->slowestFrame),
                     fabric::RoceWireTime(pair.course->path.frameBytes, pair.Rate()));
        const double gaps = std::min(m_settings->framesPerAck * gap, static_cast<double>(kLongest));
        rto = std::max(rto,
                       RoceSettings::kLeastRoundTrips * pair.course->path.roundTrip +
                           static_cast<Picoseconds>(gaps));
    }
    const int64_t factor = int64_t{1} << std::min(pair.timeouts, kMostDoublings);
    return rto > kLongest / factor ? kLongest : rto * factor;
}

Picoseconds RoceTimeouts::DeadlineOf(const QueuePair& pair) const
{
    return pair.progress + Of(pair);
}

void RoceTimeouts::Schedule(uint32_t number, Picoseconds deadline)
{
    m_pairs[number].timeoutEvent = deadline;
    m_network.Schedule(deadline, RoceEventKind::Timeout, number);
}

void RoceTimeouts::PutOff(uint32_t number, Picoseconds now)
{
    QueuePair& pair = m_pairs[number];
    pair.progress = now;
    const Picoseconds deadline = DeadlineOf(pair);
    if (deadline < pair.timeoutEvent)
    {
        Schedule(number, deadline);
    }
}

bool RoceTimeouts::OnEvent(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    const Picoseconds now = RoceNow();
    if (now < pair.timeoutEvent)
    {
        return false; // another event has taken its place
    }
    pair.timeoutEvent = fabric::kNoTimer;
    if (pair.inFlight == 0 || (pair.selective && pair.selective->sender.HasHole()))
    {
        return false; // the next frame, which may have to wait for its time, starts it again
    }
    if (now < DeadlineOf(pair))
    {
        Schedule(number, DeadlineOf(pair));
        return false;
    }
    if (const Picoseconds back = OutUntil(pair); back > now)
    {
        PutOff(number, back);
        return false;
    }
    return true;
}

Picoseconds RoceTimeouts::OutUntil(const QueuePair& pair) const
{
    Picoseconds until = 0;
    for (const auto& [link, share] : m_topology->Shares(pair.source, pair.destination, pair.id))
    {
        until = std::max(until, m_network.OutUntil(link));
    }
    for (const DirectedLink link : pair.way.Back())
    {
        until = std::max(until, m_network.OutUntil(link));
    }
    return until;
}

} // namespace packet
} // namespace legacy
