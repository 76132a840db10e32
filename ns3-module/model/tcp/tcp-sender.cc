/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-sender.h"

#include "tcp-receiver.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::TcpAck;

namespace
{

constexpr TimeNs kFirstTimeout = 1'000'000'000; ///< before a round trip is known (RFC 6298)
constexpr TimeNs kMostTimeout = 60'000'000'000;
constexpr int kMostBackoff = 16;
constexpr TimeNs kTick = 1'000'000; ///< of Linux's timers
constexpr uint32_t kDuplicates = 3; ///< segments that have arrived beyond a lost one (RFC 5681)
constexpr uint32_t kWindowAfterTimeout = 1;

Picoseconds Ps(TimeNs time)
{
    return time * kPicosecondsPerNs;
}

/// Returns whether a segment was sent after another time and place.
bool IsLater(Picoseconds sent, uint64_t end, Picoseconds than, uint64_t thanEnd)
{
    return sent > than || (sent == than && end > thanEnd);
}

} // namespace

TcpSender::TcpSender(std::size_t links,
                     const NicQueue& queue,
                     const fabric::Transport* transport,
                     RoceNetwork* network,
                     std::function<TcpConnection&(uint32_t)> connections,
                     CarrierListener* listener)
    : m_transport(*transport),
      m_network(*network),
      m_connections(std::move(connections)),
      m_listener(listener),
      m_queue(queue),
      m_nics(links)
{
}

// ---------------------------------------------------------------------------------------------
// Sending
// ---------------------------------------------------------------------------------------------

void TcpSender::Append(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    Nic& nic = m_nics[connection.way.First()];
    connection.listed = true;
    connection.nextListed = TcpConnection::kNone;
    (nic.head == TcpConnection::kNone ? nic.head : m_connections(nic.tail).nextListed) = number;
    nic.tail = number;
}

void TcpSender::Connect(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    connection.stage = TcpStage::Connecting;
    connection.openedAt = connection.ready = RoceNow();
    connection.probeNow = true;
    ServeSyn(number);
}

void TcpSender::ServeSyn(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    if (m_queue.on)
    {
        m_network.SendControl(connection.way.First(), SendSyn(number, RoceNow()));
    }
    else if (!connection.listed)
    {
        Append(number);
        m_network.Serve(connection.way.First());
    }
}

void TcpSender::OnConnected(uint32_t number, Picoseconds at)
{
    TcpConnection& connection = m_connections(number);
    const Picoseconds roundTrip = at - connection.openedAt;
    if (connection.backoff == 0)
    {
        Measure(connection, roundTrip / kPicosecondsPerNs);
    }
    connection.backoff = 0;
    connection.probeNow = false; // another SYN may have been about to leave
    connection.due = TcpConnection::Timer::None;
    const int more = fabric::HandshakeRoundTrips(m_transport.connections) - 1;
    if (more > 0)
    {
        // The time of further handshakes, as those of TLS, is waited for; their few bytes are not
        // sent.
        connection.stage = TcpStage::Waiting;
        connection.ready = at + more * roundTrip;
        m_network.Schedule(connection.ready, RoceEventKind::HandOver, number);
        return;
    }
    connection.stage = TcpStage::Open;
    List(number, at);
}

void TcpSender::OnReady(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    connection.stage = TcpStage::Open;
    connection.retries = false;
    List(number, connection.ready);
}

bool TcpSender::HasNew(const TcpConnection& connection) const
{
    const uint64_t left = connection.queued - connection.next;
    const uint64_t bytes =
        std::min<uint64_t>(left, static_cast<uint64_t>(m_transport.segmentBytes));
    return left > 0 &&
           connection.next + bytes <= connection.acked + static_cast<uint64_t>(connection.buffer);
}

bool TcpSender::HasLost(TcpConnection& connection) const
{
    if (connection.lost == connection.again)
    {
        return false;
    }
    connection.nextLost = std::max(connection.nextLost, connection.first);
    for (; connection.nextLost < connection.End(); ++connection.nextLost)
    {
        const TcpSegment& segment = connection.SegmentOf(connection.nextLost);
        if (segment.lost && !segment.again && !segment.sacked)
        {
            return true;
        }
    }
    return false;
}

bool TcpSender::HasToSend(TcpConnection& connection) const
{
    if (connection.stage != TcpStage::Open)
    {
        return false;
    }
    if (connection.probeNow)
    {
        return true;
    }
    return connection.InFlight() < connection.window.segments &&
           (HasLost(connection) || HasNew(connection));
}

bool TcpSender::MaySend(TcpConnection& connection) const
{
    return connection.paceAt <= RoceNow() && HasToSend(connection);
}

void TcpSender::Await(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    if (!connection.wakes && connection.paceAt > RoceNow() && HasToSend(connection))
    {
        connection.wakes = true;
        m_network.Schedule(connection.paceAt, RoceEventKind::Wake, number);
    }
}

void TcpSender::OnWake(uint32_t number)
{
    m_connections(number).wakes = false;
    List(number, RoceNow());
}

void TcpSender::OnMessage(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    if (connection.next == connection.queued && connection.lost == connection.again &&
        connection.InFlight() < connection.window.segments)
    {
        connection.starvedTo = std::max<uint64_t>(1, connection.delivered + connection.InFlight());
    }
}

void TcpSender::Pace(TcpConnection& connection, int64_t wire, Picoseconds start) const
{
    const double pace = connection.control->Pace(connection.window);
    if (pace > 0)
    {
        const double segments =
            static_cast<double>(wire) / static_cast<double>(m_transport.FrameBytes());
        connection.paced =
            std::max(connection.paced, start) + static_cast<Picoseconds>(1e12 * segments / pace);
        if (++connection.inBurst >= connection.control->Burst() || !HasToSend(connection))
        {
            connection.inBurst = 0;
            connection.paceAt = connection.paced;
        }
    }
}

void TcpSender::List(uint32_t number, Picoseconds ready)
{
    TcpConnection& connection = m_connections(number);
    connection.ready = std::max(connection.ready, ready);
    NoteUse(connection);
    if (m_queue.on)
    {
        Push(number, false);
        return;
    }
    if (!connection.listed && MaySend(connection))
    {
        Append(number);
        m_network.Serve(connection.way.First());
        return;
    }
    Await(number);
}

bool TcpSender::HasRoom(DirectedLink link) const
{
    const int64_t queued = m_network.QueuedAt(link);
    return m_queue.limit == 0 || queued == 0 || queued + m_queue.room <= m_queue.limit;
}

void TcpSender::Push(uint32_t number, bool served)
{
    constexpr uint32_t kMost = 2; // keep the line busy (Linux: TCP small queues)
    TcpConnection& connection = m_connections(number);
    const DirectedLink link = connection.way.First();
    while (connection.atNic < kMost && MaySend(connection))
    {
        if (!HasRoom(link))
        {
            OnRefused(number);
            return;
        }
        const uint32_t frame = Send(number, RoceNow());
        ++connection.atNic;
        m_network.Queue(link, frame);
        if (!served)
        {
            m_network.Serve(link);
        }
    }
    Await(number);
}

void TcpSender::OnRefused(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    if (connection.phase == TcpPhase::Open || connection.phase == TcpPhase::Disorder)
    {
        Reduce(connection, TcpPhase::Reducing);
    }
    if (connection.segments.empty() && !connection.retries)
    {
        connection.retries = true;
        connection.ready = RoceNow() + Ps(TimeoutOf(connection));
        m_network.Schedule(connection.ready, RoceEventKind::HandOver, number);
    }
}

void TcpSender::OnLeft(uint32_t frame)
{
    const uint32_t number = m_network.Frames()[frame].pair;
    TcpConnection& connection = m_connections(number);
    if (m_network.Frames()[frame].payload > 0)
    {
        --connection.atNic;
        Push(number, true);
    }
}

uint32_t TcpSender::Next(DirectedLink link, Picoseconds free)
{
    Nic& nic = m_nics[link];
    while (nic.head != TcpConnection::kNone)
    {
        const uint32_t number = nic.head;
        TcpConnection& connection = m_connections(number);
        nic.head = connection.nextListed;
        connection.listed = false;
        if (connection.stage == TcpStage::Connecting && connection.probeNow)
        {
            return SendSyn(number, free);
        }
        if (!MaySend(connection))
        {
            Await(number);
            continue;
        }
        const uint32_t frame = Send(number, free);
        if (MaySend(connection))
        {
            Append(number);
        }
        else
        {
            Await(number);
        }
        return frame;
    }
    return Frame::kNone;
}

uint32_t TcpSender::Make(uint32_t number, TcpSegment& segment, Picoseconds start)
{
    const uint32_t taken = m_network.Frames().Take();
    Frame& frame = m_network.Frames()[taken];
    frame.pair = number;
    frame.psn = segment.begin;
    frame.payload = static_cast<int32_t>(segment.bytes);
    frame.wire = static_cast<int32_t>(segment.bytes) + m_transport.headerBytes;
    frame.sent = frame.at = start;
    segment.sent = start;
    return taken;
}

uint32_t TcpSender::SendSyn(uint32_t number, Picoseconds free)
{
    TcpConnection& connection = m_connections(number);
    connection.probeNow = false;
    TcpSegment syn;
    const Picoseconds start = std::max(free, connection.ready);
    const uint32_t frame = Make(number, syn, start);
    connection.waitsFrom = start;
    SetTimer(number, start);
    return frame;
}

uint32_t TcpSender::Send(uint32_t number, Picoseconds free)
{
    TcpConnection& connection = m_connections(number);
    const Picoseconds start = std::max(free, connection.ready);
    const bool probe = std::exchange(connection.probeNow, false);
    const bool old = probe ? !HasNew(connection) : HasLost(connection);
    uint32_t segment = probe ? connection.End() - 1 : connection.nextLost;
    if (old)
    {
        TcpSegment& again = connection.SegmentOf(segment);
        if (again.lost)
        {
            again.again = true;
            ++connection.again;
        }
        else
        {
            Unlink(connection, segment); // the probe takes the place of the first one
        }
        again.everAgain = true;
        ++m_resent;
        if (segment == connection.first)
        {
            connection.waitsFrom = start;
        }
    }
    else
    {
        segment = connection.End();
        TcpSegment fresh;
        fresh.begin = connection.next;
        fresh.bytes = static_cast<uint32_t>(std::min<uint64_t>(
            connection.queued - connection.next, static_cast<uint64_t>(m_transport.segmentBytes)));
        if (connection.segments.empty())
        {
            connection.waitsFrom = start;
            connection.firstSent = connection.deliveredAt = start;
        }
        connection.segments.push_back(fresh);
        connection.next += fresh.bytes;
    }
    if (probe)
    {
        connection.probing = true;
        connection.probeWasOld = old;
        connection.probeEnd = connection.next;
        connection.waitsFrom = start; // the retransmission timer starts with it (section 7.3)
    }
    connection.lastSent = start;
    ++connection.reducedSent;
    TcpSegment& sent = connection.SegmentOf(segment);
    sent.delivered = connection.delivered;
    sent.deliveredAt = connection.deliveredAt;
    sent.firstSent = connection.firstSent;
    sent.starved = connection.starvedTo > 0;
    const uint32_t frame = Make(number, sent, start);
    Pace(connection, m_network.Frames()[frame].wire, start);
    m_network.Frames()[frame].wantsAck = !old && std::exchange(connection.reduced, false);
    Link(connection, segment);
    NoteUse(connection);
    SetTimer(number, start);
    return frame;
}

void TcpSender::NoteUse(TcpConnection& connection)
{
    const uint32_t out = connection.segments.size();
    const bool limited = connection.InFlight() >= connection.window.segments;
    if (connection.acked >= connection.usageEnd || limited ||
        (!connection.limited && out > connection.mostUsed))
    {
        connection.limited = limited;
        connection.mostUsed = out;
        connection.usageEnd = connection.next;
    }
}

bool TcpSender::MayGrow(const TcpConnection& connection)
{
    return connection.limited || (connection.window.InSlowStart() &&
                                  connection.window.segments < 2 * connection.mostUsed);
}

// ---------------------------------------------------------------------------------------------
// Segments in the order of sending
// ---------------------------------------------------------------------------------------------

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

// ---------------------------------------------------------------------------------------------
// ACKs
// ---------------------------------------------------------------------------------------------

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
                          roundTrip < Ps(connection.window.least);
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
    std::vector<TcpRange>& ranges = connection.sackedRanges;
    while (!ranges.empty() && ranges.front().end <= end)
    {
        ranges.erase(ranges.begin());
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
    std::vector<TcpRange>& ranges = connection.sackedRanges;
    auto at =
        std::lower_bound(ranges.begin(),
                         ranges.end(),
                         range.begin,
                         [](const TcpRange& known, uint64_t begin) { return known.end < begin; });
    // What lies between the known ranges is new.
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
    if (connection.forth.Any())
    {
        return Ps(connection.window.smoothed); // what several paths overtake is late, not lost
    }
    const bool certain = connection.phase == TcpPhase::Recovery ||
                         connection.phase == TcpPhase::Loss || connection.sacked >= kDuplicates;
    return certain
               ? 0
               : Ps(std::min(connection.window.least / kParts,
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
    TcpConnection& connection = m_connections(number);
    if (connection.stage == TcpStage::Connecting)
    {
        OnConnected(number, ack.at);
        return;
    }
    if (connection.stage != TcpStage::Open || ack.psn < connection.acked)
    {
        return;
    }
    Told told;
    told.at = ack.at;
    connection.probeNow = false; // what a probe would ask for is there
    Acknowledge(connection, ack.psn, told);
    if (ack.records != Frame::kNone)
    {
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
    TcpAck event;
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
        connection.control->Grow(connection.window, event);
    }
    SetTimer(number, told.at);
    List(number, told.at);
}

// ---------------------------------------------------------------------------------------------
// Timers
// ---------------------------------------------------------------------------------------------

void TcpSender::SetTimer(uint32_t number, Picoseconds now)
{
    using Timer = TcpConnection::Timer;
    constexpr TimeNs kRoundTrips = 2;
    TcpConnection& connection = m_connections(number);
    const bool connecting = connection.stage == TcpStage::Connecting;
    if (!connecting && connection.segments.empty())
    {
        connection.due = Timer::None;
        return;
    }
    const TimeNs timeout = std::min(TimeoutOf(connection) << connection.backoff, kMostTimeout);
    connection.due = Timer::Retransmit;
    connection.dueAt = connection.waitsFrom + Ps(timeout);
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
        const Picoseconds at = std::max(connection.lastSent, connection.waitsFrom) + Ps(wait);
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
    TcpConnection& connection = m_connections(number);
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
    TcpConnection& connection = m_connections(number);
    m_listener->OnRetransmitTimeout();
    connection.backoff = std::min(connection.backoff + 1, kMostBackoff);
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
