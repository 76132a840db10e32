/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-receiver.h"

#include "segment-packet.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

TcpReceiver::TcpReceiver(const fabric::Transport* transport,
                         RoceNetwork* network,
                         std::function<TcpConnection&(uint32_t)> connections,
                         CarrierListener* listener)
    : m_transport(*transport),
      m_network(*network),
      m_connections(std::move(connections)),
      m_listener(listener),
      m_everyMark(transport->congestionControl == "dctcp")
{
}

bool TcpReceiver::Place(TcpConnection& connection, TcpRange range)
{
    std::vector<TcpRange>& ahead = connection.ahead;
    if (range.begin > connection.expected)
    {
        // Ranges that touch become one, at the front: SACK tells the newest first.
        for (std::size_t i = ahead.size(); i-- > 0;)
        {
            if (ahead[i].begin <= range.end && range.begin <= ahead[i].end)
            {
                range = {std::min(range.begin, ahead[i].begin), std::max(range.end, ahead[i].end)};
                ahead.erase(ahead.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        ahead.insert(ahead.begin(), range);
        return false;
    }
    connection.expected = std::max(connection.expected, range.end);
    const bool gap = !ahead.empty();
    for (std::size_t i = 0; i < ahead.size();)
    {
        if (ahead[i].begin <= connection.expected)
        {
            connection.expected = std::max(connection.expected, ahead[i].end);
            ahead.erase(ahead.begin() + static_cast<std::ptrdiff_t>(i));
            i = 0;
        }
        else
        {
            ++i;
        }
    }
    return gap;
}

void TcpReceiver::OnData(uint32_t frame)
{
    const Frame& data = m_network.Frames()[frame];
    const uint32_t number = data.pair;
    const Picoseconds at = data.at;
    const Picoseconds sent = data.sent;
    TcpConnection& connection = m_connections(number);
    if (data.payload == 0) // a SYN
    {
        Answer(number, at, sent, true);
        return;
    }
    const bool marked = data.marks > 0;
    if (m_everyMark && marked != connection.congested)
    {
        if (connection.unanswered > 0)
        {
            Answer(number, at, sent);
        }
        connection.congested = marked;
    }
    else if (!m_everyMark)
    {
        connection.congested = marked || (connection.congested && !data.wantsAck);
    }
    const TcpRange range{data.psn, data.psn + static_cast<uint64_t>(data.payload)};
    const bool old = range.end <= connection.expected;
    const bool early = range.begin > connection.expected;
    const bool fills = !old && Place(connection, range);
    ++connection.unanswered;
    if (!old)
    {
        m_listener->OnProgress();
    }
    if (old || early || fills ||
        connection.unanswered >= static_cast<uint32_t>(m_transport.segmentsPerAck))
    {
        Answer(number, at, sent);
    }
    else
    {
        Delay(number, at);
    }
    Deliver(number, at);
}

std::vector<TcpRange> TcpReceiver::RangesOf(const fabric::IntRecord* records)
{
    std::vector<TcpRange> ranges;
    for (std::size_t i = 0; i < kRanges && records[i].queuedBytes > 0; ++i)
    {
        ranges.push_back({static_cast<uint64_t>(records[i].sentBytes),
                          static_cast<uint64_t>(records[i].queuedBytes)});
    }
    return ranges;
}

void TcpReceiver::Answer(uint32_t number, Picoseconds at, Picoseconds sent, bool opens)
{
    TcpConnection& connection = m_connections(number);
    FramePool& frames = m_network.Frames();
    const uint32_t taken = frames.Take();
    const std::size_t told = std::min(kRanges, connection.ahead.size());
    if (told > 0)
    {
        frames.AddRecords(taken);
        fabric::IntRecord* records = frames.RecordsOf(taken);
        for (std::size_t i = 0; i < kRanges; ++i)
        {
            records[i].sentBytes = i < told ? static_cast<int64_t>(connection.ahead[i].begin) : 0;
            records[i].queuedBytes = i < told ? static_cast<int64_t>(connection.ahead[i].end) : 0;
        }
    }
    Frame& answer = frames[taken];
    answer.kind = FrameKind::Ack;
    answer.pair = number;
    answer.psn = connection.expected;
    answer.marks = connection.congested ? 1 : 0;
    answer.at = at;
    answer.sent = sent;
    answer.wantsAck = opens;
    answer.wire = m_transport.ackBytes + SackBytes(told) + (opens ? kSynOptionBytes : 0);
    connection.unanswered = 0;
    connection.answerAt = 0;
    m_network.SendControl(connection.way.FirstBack(), taken);
}

void TcpReceiver::Delay(uint32_t number, Picoseconds at)
{
    TcpConnection& connection = m_connections(number);
    if (connection.answerAt > 0)
    {
        return;
    }
    connection.answerAt = at + ToPicoseconds(m_transport.delayedAckTimeout);
    if (connection.answerEvent == 0)
    {
        connection.answerEvent = connection.answerAt;
        m_network.Schedule(connection.answerAt, RoceEventKind::Control, number);
    }
}

void TcpReceiver::OnTimer(uint32_t number)
{
    TcpConnection& connection = m_connections(number);
    connection.answerEvent = 0;
    if (connection.answerAt == 0)
    {
        return;
    }
    if (connection.answerAt > RoceNow())
    {
        connection.answerEvent = connection.answerAt;
        m_network.Schedule(connection.answerAt, RoceEventKind::Control, number);
        return;
    }
    Answer(number, connection.answerAt, connection.answerAt);
}

void TcpReceiver::Deliver(uint32_t number, Picoseconds at)
{
    // The listener may send on this connection, or open others.
    while (!m_connections(number).messages.empty() &&
           m_connections(number).messages.front().end <= m_connections(number).expected)
    {
        TcpConnection& connection = m_connections(number);
        const TcpConnection::Message message = connection.messages.front();
        connection.messages.pop_front();
        connection.lastArrival = at;
        if (!message.aborted)
        {
            m_listener->OnArrived(message.graph, message.flow);
        }
    }
}

} // namespace packet
} // namespace legacy
