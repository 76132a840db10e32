/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-sender.h"

#include "segment-packet.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

TcpSender::TcpSender(std::size_t links,
                     const NicQueue& queue,
                     const fabric::Transport* transport,
                     RoceNetwork* network,
                     TcpConnections* connections,
                     CarrierListener* listener)
    : m_transport(*transport),
      m_network(*network),
      m_connections(*connections),
      m_listener(listener),
      m_trains(transport, network),
      m_queue(queue),
      m_nics(links)
{
}

void TcpSender::Append(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
    Nic& nic = m_nics[connection.way.First()];
    connection.listed = true;
    connection.nextListed = TcpConnection::kNone;
    (nic.head == TcpConnection::kNone ? nic.head : m_connections[nic.tail].nextListed) = number;
    nic.tail = number;
}

void TcpSender::Connect(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
    connection.stage = TcpStage::Connecting;
    connection.lastArrival = connection.ready = RoceNow();
    connection.probeNow = true;
    ServeSyn(number);
}

void TcpSender::ServeSyn(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
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
    TcpConnection& connection = m_connections[number];
    const Picoseconds roundTrip = at - connection.lastArrival;
    if (connection.backoff == 0)
    {
        Measure(connection, roundTrip / fabric::kPicosecondsPerNs);
    }
    connection.control->OnOpen(connection.window);
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
    TcpConnection& connection = m_connections[number];
    connection.stage = TcpStage::Open;
    if (std::exchange(connection.retries, false) && connection.segments.empty())
    {
        ProbeQueue(number);
        return;
    }
    List(number, RoceNow());
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
    TcpConnection& connection = m_connections[number];
    if (!connection.wakes && connection.paceAt > RoceNow() && HasToSend(connection))
    {
        connection.wakes = true;
        m_network.Schedule(connection.paceAt, RoceEventKind::Wake, number);
    }
}

void TcpSender::OnWake(uint32_t number)
{
    m_connections[number].wakes = false;
    List(number, RoceNow());
}

void TcpSender::OnMessage(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
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
    TcpConnection& connection = m_connections[number];
    connection.ready = std::max(connection.ready, ready);
    NoteUse(connection, ready);
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

uint32_t TcpSender::Next(DirectedLink link, Picoseconds free)
{
    Nic& nic = m_nics[link];
    while (nic.head != TcpConnection::kNone)
    {
        const uint32_t number = nic.head;
        TcpConnection& connection = m_connections[number];
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
        const uint32_t frame = Send(number, free, nic.head == TcpConnection::kNone);
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

uint32_t TcpSender::Make(uint32_t number, const TcpSegment& segment, Picoseconds start)
{
    const uint32_t taken = m_network.Frames().Take();
    Frame& frame = m_network.Frames()[taken];
    frame.pair = number;
    frame.psn = segment.begin;
    frame.payload = static_cast<int32_t>(segment.bytes);
    frame.wire = static_cast<int32_t>(segment.bytes) + m_transport.headerBytes +
                 (segment.bytes == 0 ? kSynOptionBytes : 0);
    frame.sent = frame.at = start;
    return taken;
}

uint32_t TcpSender::SendSyn(uint32_t number, Picoseconds free)
{
    TcpConnection& connection = m_connections[number];
    connection.probeNow = false;
    TcpSegment syn;
    const Picoseconds start = std::max(free, connection.ready);
    const uint32_t frame = Make(number, syn, start);
    connection.waitsFrom = start;
    SetTimer(number, start);
    return frame;
}

uint32_t TcpSender::AddNew(TcpConnection& connection, Picoseconds start) const
{
    TcpSegment fresh;
    fresh.begin = connection.next;
    fresh.bytes = static_cast<uint32_t>(std::min<uint64_t>(
        connection.queued - connection.next, static_cast<uint64_t>(m_transport.segmentBytes)));
    if (connection.segments.empty())
    {
        connection.waitsFrom = start;
        connection.firstSent = connection.deliveredAt = start;
        if (connection.starvedTo > 0)
        {
            connection.control->OnRestart();
        }
        if (connection.train)
        {
            m_trains.Restart(connection);
        }
    }
    connection.segments.push_back(fresh);
    connection.next += fresh.bytes;
    return connection.End() - 1;
}

void TcpSender::OnSent(uint32_t number, uint32_t segment, int64_t wire, Picoseconds start)
{
    TcpConnection& connection = m_connections[number];
    connection.lastSent = start;
    ++connection.reducedSent;
    TcpSegment& sent = connection.SegmentOf(segment);
    sent.sent = start;
    sent.delivered = connection.delivered;
    sent.deliveredAt = connection.deliveredAt;
    sent.firstSent = connection.firstSent;
    sent.starved = connection.starvedTo > 0;
    Pace(connection, wire, start);
    Link(connection, segment);
    NoteUse(connection, start);
}

uint32_t TcpSender::Send(uint32_t number, Picoseconds free, bool alone)
{
    TcpConnection& connection = m_connections[number];
    const Picoseconds start = std::max(free, connection.ready);
    const uint32_t most = connection.train ? m_trains.Longest(connection, alone) : 1;
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
        segment = AddNew(connection, start);
    }
    if (probe)
    {
        connection.probing = true;
        connection.probeWasOld = old;
        connection.probeEnd = connection.next;
        connection.waitsFrom = start; // the retransmission timer starts with it (section 7.3)
    }
    const uint32_t taken = Make(number, connection.SegmentOf(segment), start);
    Frame& frame = m_network.Frames()[taken];
    OnSent(number, segment, frame.wire, start);
    frame.wantsAck = !old && std::exchange(connection.reduced, false);
    if (most > 1)
    {
        Grow(number, taken, most);
    }
    SetTimer(number, start);
    return taken;
}

void TcpSender::Grow(uint32_t number, uint32_t taken, uint32_t most)
{
    TcpConnection& connection = m_connections[number];
    Frame& frame = m_network.Frames()[taken];
    const auto wire = static_cast<int32_t>(m_transport.FrameBytes());
    while (frame.frames < most && m_trains.MayAdd(connection))
    {
        const Picoseconds start =
            frame.sent + m_network.SerialisationOf(connection.way.First(), frame.wire);
        const uint32_t segment = AddNew(connection, start);
        connection.train->end = connection.next;
        OnSent(number, segment, wire, start);
        frame.payload += m_transport.segmentBytes;
        frame.wire += wire;
        ++frame.frames;
    }
}

void TcpSender::NoteUse(TcpConnection& connection, Picoseconds at)
{
    uint32_t early = 0;
    if (connection.train && connection.acked < connection.train->end)
    {
        if (connection.lastSent > at)
        {
            return; // a train has not left completely
        }
        early = TcpTrains::Early(connection, at);
    }
    const uint32_t out = connection.segments.size() - early;
    const bool limited = connection.InFlight() >= connection.window.segments + early;
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

} // namespace packet
} // namespace legacy
