/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Which segments are on their way, have arrived, and are lost.
#include "tcp-receiver.h"
#include "tcp-sender.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

namespace
{

constexpr uint32_t kDuplicates = 3; ///< segments that have arrived beyond a lost one (RFC 5681)

/// Returns whether a segment was sent after another time and place.
bool IsLater(Picoseconds sent, uint64_t end, Picoseconds than, uint64_t thanEnd)
{
    return sent > than || (sent == than && end > thanEnd);
}

} // namespace

void TcpSender::Link(TcpConnection& connection, uint32_t segment)
{
    TcpSegment& linked = connection.SegmentOf(segment);
    linked.before = connection.newest;
    linked.after = TcpSegment::kNone;
    (connection.newest == TcpSegment::kNone ? connection.oldest
                                            : connection.SegmentOf(connection.newest).after) =
        segment;
    connection.newest = segment;
}

void TcpSender::Unlink(TcpConnection& connection, uint32_t segment)
{
    TcpSegment& linked = connection.SegmentOf(segment);
    (linked.before == TcpSegment::kNone ? connection.oldest
                                        : connection.SegmentOf(linked.before).after) = linked.after;
    (linked.after == TcpSegment::kNone ? connection.newest
                                       : connection.SegmentOf(linked.after).before) = linked.before;
    linked.before = linked.after = TcpSegment::kNone;
}

void TcpSender::Delivered(TcpConnection& connection, uint32_t number, Told& told)
{
    TcpSegment& segment = connection.SegmentOf(number);
    ++told.delivered;
    ++connection.delivered;
    if (!told.sampled ||
        IsLater(segment.sent, segment.begin + segment.bytes, told.sampleSent, told.sampleEnd))
    {
        told.sampled = true;
        told.sampleSent = segment.sent;
        told.sampleEnd = segment.begin + segment.bytes;
        told.before = segment.delivered;
        told.beforeAt = segment.deliveredAt;
        told.sending = segment.sent - segment.firstSent;
        told.starved = segment.starved;
        connection.firstSent = segment.sent;
    }
    if (!segment.lost || segment.again)
    {
        Unlink(connection, number);
    }
    connection.lost -= segment.lost ? 1 : 0;
    connection.again -= segment.again ? 1 : 0;
    segment.lost = segment.again = false;
    const Picoseconds roundTrip = told.at - segment.sent;
    const bool doubtful = segment.everAgain && connection.window.least != kNever &&
                          roundTrip < ToPicoseconds(connection.window.least);
    const uint64_t end = segment.begin + segment.bytes;
    if (!doubtful && IsLater(segment.sent, end, connection.latestSent, connection.latestEnd))
    {
        connection.latestSent = segment.sent;
        connection.latestEnd = end;
        connection.latestRoundTrip = roundTrip;
    }
    if (!segment.everAgain)
    {
        told.newest = std::max(told.newest, segment.sent);
    }
}

void TcpSender::Acknowledge(TcpConnection& connection, uint64_t end, Told& told)
{
    while (!connection.segments.empty() &&
           connection.segments.front().begin + connection.segments.front().bytes <= end)
    {
        if (connection.segments.front().sacked)
        {
            --connection.sacked;
        }
        else
        {
            Delivered(connection, connection.first, told);
        }
        connection.segments.pop_front();
        ++connection.first;
    }
    if (end > connection.acked)
    {
        told.advanced = true;
        connection.acked = end;
    }
    if (!connection.gaps)
    {
        return;
    }
    std::vector<TcpRange>& ranges = connection.gaps->sacked;
    while (!ranges.empty() && ranges.front().end <= end)
    {
        ranges.erase(ranges.begin());
    }
    if (connection.segments.empty() && connection.gaps->ahead.empty())
    {
        connection.gaps.reset();
    }
}

void TcpSender::MarkRange(TcpConnection& connection, TcpRange range, Told& told)
{
    uint32_t low = 0;
    for (uint32_t left = connection.segments.size(); left > 0;)
    {
        const uint32_t half = left / 2;
        const bool below = connection.segments[low + half].begin < range.begin;
        low += below ? half + 1 : 0;
        left = below ? left - half - 1 : half;
    }
    for (; low < connection.segments.size() && connection.segments[low].begin < range.end; ++low)
    {
        if (!connection.segments[low].sacked)
        {
            Delivered(connection, connection.first + low, told);
            connection.segments[low].sacked = true;
            ++connection.sacked;
        }
    }
}

void TcpSender::AddRange(TcpConnection& connection, TcpRange range, Told& told)
{
    range.begin = std::max(range.begin, connection.acked);
    std::vector<TcpRange>& ranges = connection.gaps->sacked;
    auto at =
        std::lower_bound(ranges.begin(),
                         ranges.end(),
                         range.begin,
                         [](const TcpRange& known, uint64_t begin) { return known.end < begin; });
    // The bytes between the known ranges are new.
    uint64_t begin = range.begin;
    TcpRange whole = range;
    auto last = at;
    for (; last != ranges.end() && last->begin <= range.end; ++last)
    {
        if (last->begin > begin)
        {
            MarkRange(connection, {begin, last->begin}, told);
        }
        begin = std::max(begin, last->end);
        whole = {std::min(whole.begin, last->begin), std::max(whole.end, last->end)};
    }
    if (range.end > begin)
    {
        MarkRange(connection, {begin, range.end}, told);
    }
    if (last == at)
    {
        ranges.insert(at, whole);
        return;
    }
    *at = whole;
    ranges.erase(at + 1, last);
}

void TcpSender::MarkLost(TcpConnection& connection, uint32_t number)
{
    TcpSegment& segment = connection.SegmentOf(number);
    Unlink(connection, number);
    if (segment.again)
    {
        segment.again = false;
        --connection.again;
    }
    else
    {
        segment.lost = true;
        ++connection.lost;
    }
    connection.nextLost = std::min(connection.nextLost, number);
}

Picoseconds TcpSender::ReorderTime(const TcpConnection& connection)
{
    constexpr TimeNs kParts = 4; // of a round trip (RFC 8985, section 6.2)
    constexpr TimeNs kSmoothedParts = 8;
    if (connection.paths && connection.paths->forth.Any())
    {
        return ToPicoseconds(
            connection.window.smoothed); // what several paths overtake is late, not lost
    }
    const bool certain = connection.phase == TcpPhase::Recovery ||
                         connection.phase == TcpPhase::Loss || connection.sacked >= kDuplicates;
    return certain ? 0
                   : ToPicoseconds(std::min(
                         connection.window.least / kParts,
                         std::max<TimeNs>(1, connection.window.smoothed / kSmoothedParts) * 2));
}

void TcpSender::FindLosses(TcpConnection& connection, Picoseconds now, Told& told) const
{
    connection.reorderAt = 0;
    const Picoseconds reorder = ReorderTime(connection);
    while (connection.oldest != TcpSegment::kNone)
    {
        const TcpSegment& segment = connection.SegmentOf(connection.oldest);
        if (!IsLater(connection.latestSent,
                     connection.latestEnd,
                     segment.sent,
                     segment.begin + segment.bytes))
        {
            return;
        }
        const Picoseconds lostAt = segment.sent + connection.latestRoundTrip + reorder;
        if (lostAt > now)
        {
            connection.reorderAt = lostAt;
            return;
        }
        MarkLost(connection, connection.oldest);
        ++told.lost;
    }
}

void TcpSender::TakeRanges(TcpConnection& connection, uint32_t frame, Told& told) const
{
    if (m_network.Frames()[frame].records == Frame::kNone)
    {
        return;
    }
    const fabric::IntRecord* records = m_network.Frames().RecordsOf(frame);
    for (std::size_t i = 0; i < TcpReceiver::kRanges; ++i)
    {
        const TcpRange range{static_cast<uint64_t>(records[i].sentBytes),
                             static_cast<uint64_t>(records[i].queuedBytes)};
        if (range.end > connection.acked)
        {
            AddRange(connection, range, told);
        }
    }
}

} // namespace packet
} // namespace legacy
