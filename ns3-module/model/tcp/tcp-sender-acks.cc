/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// How the window follows what ACKs say.
#include "tcp-sender.h"

#include <algorithm>
#include <cstdlib>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::TcpAck;

namespace
{

constexpr TimeNs kFirstTimeout = 1'000'000'000; ///< before a round trip is known (RFC 6298)

} // namespace

void TcpSender::Measure(TcpConnection& connection, TimeNs sample)
{
    constexpr TimeNs kSmoothing = 8;
    constexpr TimeNs kVariation = 4;
    // A link that was out for an hour must not make the timer last for hours.
    sample = std::min(sample, kMostTimeout);
    fabric::TcpWindow& window = connection.window;
    window.least = std::min(window.least, sample);
    if (window.smoothed == 0)
    {
        window.smoothed = sample;
        connection.variation = sample / 2;
        return;
    }
    const TimeNs difference = std::abs(sample - window.smoothed);
    connection.variation += (difference - connection.variation) / kVariation;
    window.smoothed += (sample - window.smoothed) / kSmoothing;
}

TimeNs TcpSender::TimeoutOf(const TcpConnection& connection) const
{
    constexpr TimeNs kVariations = 4;
    if (connection.stage == TcpStage::Connecting)
    {
        return m_transport.connectionTimeout;
    }
    if (connection.window.smoothed == 0)
    {
        return kFirstTimeout;
    }
    return connection.window.smoothed +
           std::max(m_transport.minRto, kVariations * connection.variation);
}

void TcpSender::Reduce(TcpConnection& connection, TcpPhase phase)
{
    const bool reducing =
        connection.phase == TcpPhase::Reducing || connection.phase == TcpPhase::Recovery;
    if (!reducing)
    {
        connection.priorWindow = connection.window.segments;
        connection.reducedDelivered = connection.reducedSent = 0;
        connection.window.threshold = connection.control->Threshold(connection.window);
        connection.reduced = true;
    }
    connection.phase = phase;
    connection.highEnd = connection.next;
}

void TcpSender::TakeThreshold(TcpConnection& connection)
{
    if (!connection.control->OwnsWindow())
    {
        connection.window.segments = connection.window.threshold;
    }
}

void TcpSender::Adjust(TcpConnection& connection, const Told& told)
{
    if (told.delivered == 0)
    {
        return;
    }
    const auto inFlight = static_cast<int64_t>(connection.InFlight());
    const auto threshold = static_cast<int64_t>(connection.window.threshold);
    const auto delivered = static_cast<int64_t>(told.delivered);
    connection.reducedDelivered += told.delivered;
    const auto all = static_cast<int64_t>(connection.reducedDelivered);
    const auto sent = static_cast<int64_t>(connection.reducedSent);
    const auto prior = static_cast<int64_t>(connection.priorWindow);
    const int64_t room = threshold - inFlight;
    int64_t more = 0;
    if (room < 0)
    {
        more = (threshold * all + prior - 1) / prior - sent;
    }
    else
    {
        more = std::max(all - sent, delivered);
        more += told.advanced && told.lost == 0 ? 1 : 0;
        more = std::min(room, more);
    }
    more = std::max<int64_t>(more, sent > 0 ? 0 : 1); // a fast retransmission
    connection.window.segments = static_cast<uint32_t>(std::max<int64_t>(0, inFlight + more));
}

fabric::TcpRate TcpSender::RateOf(TcpConnection& connection, const Told& told)
{
    fabric::TcpRate rate;
    rate.delivered = connection.delivered;
    if (told.delivered == 0)
    {
        return rate;
    }
    connection.deliveredAt = told.at;
    if (connection.starvedTo > 0 && connection.delivered > connection.starvedTo)
    {
        connection.starvedTo = 0;
    }
    rate.before = told.before;
    rate.limited = told.starved;
    const TimeNs interval = std::max(told.sending, told.at - told.beforeAt) / kPicosecondsPerNs;
    // An interval below a round trip is one of segments that had arrived before.
    rate.interval = interval >= connection.window.least ? interval : 0;
    return rate;
}

void TcpSender::EndPhase(TcpConnection& connection) const
{
    const bool beyond = connection.acked > connection.highEnd;
    const bool there = connection.acked >= connection.highEnd;
    switch (connection.phase)
    {
    case TcpPhase::Reducing:
        // It ends beyond the point at which it began, so that the receiver has seen the reduction.
        if (beyond || (there && connection.segments.empty()))
        {
            TakeThreshold(connection);
            connection.phase = TcpPhase::Open;
        }
        break;
    case TcpPhase::Recovery:
        if (there)
        {
            TakeThreshold(connection);
            connection.phase = TcpPhase::Open;
        }
        break;
    case TcpPhase::Loss:
        if (there)
        {
            connection.phase = TcpPhase::Open;
        }
        break;
    default:
        connection.phase = connection.sacked > 0 ? TcpPhase::Disorder : TcpPhase::Open;
    }
}

void TcpSender::EndProbe(TcpConnection& connection, uint64_t end) const
{
    if (!connection.probing || end < connection.probeEnd)
    {
        return;
    }
    const bool repaired = connection.probeWasOld && end > connection.probeEnd;
    if (!connection.probeWasOld || repaired || connection.segments.empty())
    {
        connection.probing = false;
    }
    if (repaired && connection.phase == TcpPhase::Open)
    {
        // The probe repaired a loss, which counts as congestion (Linux: tcp_process_tlp_ack).
        Reduce(connection, TcpPhase::Reducing);
        TakeThreshold(connection);
        connection.phase = TcpPhase::Open;
    }
}

void TcpSender::OnAck(uint32_t frame)
{
    const Frame& ack = m_network.Frames()[frame];
    const uint32_t number = ack.pair;
    TcpConnection& connection = m_connections[number];
    if (connection.stage == TcpStage::Connecting)
    {
        OnConnected(number, ack.at);
        return;
    }
    if (connection.stage != TcpStage::Open || ack.psn < connection.acked)
    {
        return;
    }
    if (connection.train)
    {
        m_trains.NoteStall(connection, ack.at);
    }
    Told told;
    told.at = ack.at;
    connection.probeNow = false; // what a probe would ask for is there
    Acknowledge(connection, ack.psn, told);
    TakeRanges(connection, frame, told);
    const TimeNs roundTrip =
        told.newest >= 0 ? std::max<TimeNs>(1, (told.at - told.newest) / kPicosecondsPerNs) : 0;
    if (roundTrip > 0)
    {
        Measure(connection, roundTrip);
    }
    if (told.advanced)
    {
        connection.waitsFrom = told.at;
        connection.backoff = 0;
    }
    EndProbe(connection, ack.psn);
    FindLosses(connection, told.at, told);
    EndPhase(connection);
    const bool calm = connection.phase == TcpPhase::Open || connection.phase == TcpPhase::Disorder;
    if (connection.train && (!calm || ack.ahead == 0))
    {
        m_trains.Restart(connection);
    }
    TcpAck event;
    event.acks = ack.frames;
    event.now = told.at / kPicosecondsPerNs;
    event.acked = told.delivered;
    event.marked = ack.marks > 0 ? told.delivered : 0;
    event.roundTrip = roundTrip;
    event.acknowledged = connection.acked;
    event.next = connection.next;
    event.open = calm && connection.lost == 0;
    event.lost = told.lost;
    event.inFlight = connection.InFlight();
    event.rate = RateOf(connection, told);
    connection.control->OnAck(connection.window, event);
    if (connection.lost > 0 && (calm || connection.phase == TcpPhase::Reducing))
    {
        Reduce(connection, TcpPhase::Recovery);
    }
    else if (ack.marks > 0 && calm && !connection.control->OwnsWindow())
    {
        Reduce(connection, TcpPhase::Reducing);
    }
    if (connection.control->OwnsWindow())
    {
        event.recovering =
            connection.phase == TcpPhase::Recovery || connection.phase == TcpPhase::Loss;
        connection.control->Control(connection.window, event);
    }
    else if (connection.phase == TcpPhase::Reducing || connection.phase == TcpPhase::Recovery)
    {
        Adjust(connection, told);
    }
    else if (told.advanced && MayGrow(connection))
    {
        if (ack.frames > 1 && !connection.limited)
        {
            // The first of these ACKs would let it grow no further.
            event.acked =
                std::min(event.acked, 2 * connection.mostUsed - connection.window.segments);
        }
        connection.control->Grow(connection.window, event);
    }
    SetTimer(number, told.at);
    List(number, told.at);
}

} // namespace packet
} // namespace legacy
