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
                         TcpConnections* connections,
                         CarrierListener* listener)
    : m_transport(*transport),
      m_network(*network),
      m_connections(*connections),
      m_listener(listener),
      m_everyMark(transport->congestionControl == "dctcp")
{
}

bool TcpReceiver::Place(TcpConnection& connection, TcpRange range)
{
    if (!connection.gaps)
    {
        if (range.begin <= connection.expected)
        {
            connection.expected = std::max(connection.expected, range.end);
            return false;
        }
        connection.gaps = std::make_unique<TcpGaps>();
    }
    std::vector<TcpRange>& ahead = connection.gaps->ahead;
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
    TcpConnection& connection = m_connections[number];
    Answers answers;
    if (data.payload == 0) // a SYN
    {
        Count(connection, answers);
        Answer(number, data.at, data.sent, answers, true);
        return;
    }
    if (connection.train && connection.train->IsLate(data))
    {
        connection.train->queued = true;
    }
    NoteGap(connection, data.at);
    const auto bytes = static_cast<uint64_t>(data.payload / data.frames);
    TcpRange range{data.psn, data.psn + bytes};
    for (int i = 0; i < data.frames; ++i)
    {
        Take(data, range, i >= data.frames - data.marks, i == 0, answers);
        range = {range.end, range.end + bytes};
    }
    Answer(number, data.at, data.sent, answers, false);
    if (connection.unanswered > 0)
    {
        Delay(number, data.at);
    }
    Deliver(number, data.at);
}

void TcpReceiver::Take(const Frame& data, TcpRange range, bool marked, bool first, Answers& answers)
{
    TcpConnection& connection = m_connections[data.pair];
    const bool reduced = first && data.wantsAck;
    const bool congested = marked || (!m_everyMark && connection.congested && !reduced);
    if (congested != connection.congested)
    {
        if (m_everyMark && connection.unanswered > 0)
        {
            Count(connection, answers);
        }
        Answer(data.pair, data.at, data.sent, answers, false);
        connection.congested = congested;
    }
    const bool old = range.end <= connection.expected;
    const bool early = range.begin > connection.expected;
    const bool fills = !old && Place(connection, range);
    ++connection.unanswered;
    if (!old)
    {
        m_listener->OnProgress();
    }
    if (old || early || fills || connection.atOnce > 0 ||
        connection.unanswered >= static_cast<uint32_t>(m_transport.segmentsPerAck))
    {
        Count(connection, answers);
    }
}

void TcpReceiver::NoteGap(TcpConnection& connection, Picoseconds at) const
{
    constexpr uint8_t kAtOnce = 16; // TCP_MAX_QUICKACKS
    if (connection.dataAt == 0 || at - connection.dataAt > ToPicoseconds(m_transport.minRto))
    {
        connection.atOnce = kAtOnce;
    }
    connection.dataAt = at;
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

std::size_t TcpReceiver::ToldOf(const TcpConnection& connection)
{
    return connection.gaps ? std::min(kRanges, connection.gaps->ahead.size()) : 0;
}

void TcpReceiver::Count(TcpConnection& connection, Answers& answers) const
{
    const std::size_t told = ToldOf(connection);
    ++answers.count;
    answers.wire += m_transport.ackBytes + SackBytes(told);
    connection.unanswered = 0;
    connection.atOnce -= connection.atOnce > 0 ? 1 : 0;
    connection.answerAt = 0;
}

void TcpReceiver::Answer(uint32_t number,
                         Picoseconds at,
                         Picoseconds sent,
                         Answers& answers,
                         bool opens)
{
    if (answers.count == 0)
    {
        return;
    }
    TcpConnection& connection = m_connections[number];
    FramePool& frames = m_network.Frames();
    const uint32_t taken = frames.Take();
    const std::size_t told = ToldOf(connection);
    if (told > 0)
    {
        const std::vector<TcpRange>& ahead = connection.gaps->ahead;
        frames.AddRecords(taken);
        fabric::IntRecord* records = frames.RecordsOf(taken);
        for (std::size_t i = 0; i < kRanges; ++i)
        {
            records[i].sentBytes = i < told ? static_cast<int64_t>(ahead[i].begin) : 0;
            records[i].queuedBytes = i < told ? static_cast<int64_t>(ahead[i].end) : 0;
        }
    }
    const DirectedLink link = connection.way.FirstBack();
    Frame& answer = frames[taken];
    answer.kind = FrameKind::Ack;
    answer.pair = number;
    answer.psn = connection.expected;
    answer.frames = answers.count;
    answer.marks = connection.congested ? answers.count : 0;
    answer.at = at;
    answer.sent = sent;
    answer.wantsAck = opens;
    answer.wire = answers.wire + (opens ? kSynOptionBytes : 0);
    if (answers.count > 1)
    {
        // The last of them leaves when it would leave alone, if the port is free.
        answer.at -= m_network.SerialisationOf(link, answers.wire - answers.wire / answers.count);
    }
    if (connection.train && std::exchange(connection.train->queued, false))
    {
        answer.ahead = 0;
    }
    answers = {};
    m_network.SendControl(link, taken);
}

void TcpReceiver::Delay(uint32_t number, Picoseconds at)
{
    TcpConnection& connection = m_connections[number];
    if (connection.answerAt > 0)
    {
        return;
    }
    connection.answerAt = at + ToPicoseconds(m_transport.delayedAckTimeout);
    if (!std::exchange(connection.answers, true))
    {
        m_network.Schedule(connection.answerAt, RoceEventKind::Control, number);
    }
}

void TcpReceiver::OnTimer(uint32_t number)
{
    TcpConnection& connection = m_connections[number];
    connection.answers = false;
    if (connection.answerAt == 0)
    {
        return;
    }
    if (connection.answerAt > RoceNow())
    {
        connection.answers = true;
        m_network.Schedule(connection.answerAt, RoceEventKind::Control, number);
        return;
    }
    const Picoseconds due = connection.answerAt;
    Answers answers;
    Count(connection, answers);
    Answer(number, due, due, answers, false);
}

void TcpReceiver::Deliver(uint32_t number, Picoseconds at)
{
    // The listener may send on this connection, or open others.
    while (!m_connections[number].messages.empty() &&
           m_connections[number].messages.front().end <= m_connections[number].expected)
    {
        TcpConnection& connection = m_connections[number];
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
