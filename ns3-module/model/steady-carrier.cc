/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "steady-carrier.h"

#include "base/error.h"
#include "fabric/engine/lone-transfer.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;

namespace
{

constexpr int kNumberBits = 32;
constexpr int64_t kLeastPiece = 128 << 10; ///< bytes, at least, of pieces of longer messages
constexpr int64_t kLeastPieces = 16;       ///< of a message; shorter ones stay whole
constexpr int64_t kMostPieces = 512;

/// Returns whether the next flow of its name takes the same connection.
bool Repeats(const Flow& flow)
{
    return flow.opening == fabric::Opening::Kept;
}

/// Throws Error if messages may take other times than those before them, whatever else is sent.
const fabric::Topology* Checked(const fabric::Topology* topology)
{
    const auto refuse = [](const std::string& allowed) { throw Error("skip", "steady", allowed); };
    if (topology->HasSchedules())
    {
        refuse("none where links change their rates or fail");
    }
    for (fabric::DirectedLink link = 0;
         link < static_cast<fabric::DirectedLink>(2 * topology->Links().size());
         ++link)
    {
        const fabric::Port& port = topology->PortOf(link);
        if (port.errorRate > 0 || port.burstBytes > 0)
        {
            refuse("none where links lose packets or have token buckets, as " +
                   topology->LinkName(link));
        }
    }
    return topology;
}

} // namespace

SteadyCarrier::SteadyCarrier(const fabric::Topology* topology,
                             const fabric::Transport& transport,
                             CarrierListener* listener,
                             const Make& make)
    : m_topology(*Checked(topology)),
      m_transport(transport),
      m_listener(listener),
      m_carrier(make(this))
{
}

SteadyCarrier::~SteadyCarrier() = default;

TimeNs SteadyCarrier::PresentTime()
{
    return Simulator::Now().GetNanoSeconds();
}

uint32_t SteadyCarrier::Find(const fabric::ConnectionName& name)
{
    const auto [found, added] =
        m_numbers.emplace(name, static_cast<uint32_t>(m_connections.size()));
    if (added)
    {
        const fabric::LonePath path =
            fabric::MakeLonePath(m_topology, m_transport, name.source, name.destination);
        auto connection = std::make_unique<Connection>(name, path);
        const auto rate = static_cast<int64_t>(path.slowest * 8e9);
        connection->window = m_transport.SocketBuffer(rate, std::llround(path.roundTrip));
        connection->forth = m_topology.Shares(name.source, name.destination, name.id);
        const fabric::ConnectionName back = name.Reversed();
        connection->back = m_topology.Shares(back.source, back.destination, back.id);
        m_connections.push_back(std::move(connection));
    }
    return found->second;
}

int64_t SteadyCarrier::PieceOf(const Message& message) const
{
    const int64_t bytes = message.flow.bytes;
    const int64_t pieces = std::min(bytes / kLeastPiece, kMostPieces);
    if (pieces < kLeastPieces || !Repeats(message.flow))
    {
        return bytes;
    }
    // Whole segments that share an ACK; the first pieces have one of these units more than others.
    const int64_t unit = int64_t{m_transport.segmentBytes} * m_transport.segmentsPerAck;
    const int64_t units = (bytes + unit - 1) / unit;
    const int64_t more = message.pieces < units % pieces ? 1 : 0;
    return std::min(bytes - message.handed, unit * (units / pieces + more));
}

void SteadyCarrier::Send(const fabric::ConnectionName& name, uint64_t graph, const Flow& flow)
{
    const uint32_t number = Find(name);
    m_connections[number]->messages.push_back({graph, flow});
    ++m_onWay;
    Feed(number);
    if (!m_tells)
    {
        NoteCount();
    }
}

void SteadyCarrier::Feed(uint32_t number)
{
    Connection& connection = *m_connections[number];
    RingBuffer<Message>& messages = connection.messages;
    uint32_t index = 0;
    while (index < messages.size())
    {
        Message& message = messages[index];
        if (message.handed == message.flow.bytes)
        {
            ++index;
            continue;
        }
        if (connection.pieces.size() >= 2 && connection.onWay >= connection.window)
        {
            return;
        }
        Piece piece;
        piece.graph = message.graph;
        piece.flow = message.flow;
        piece.flow.bytes = PieceOf(message);
        piece.number = connection.next++;
        piece.sent = PresentTime();
        message.handed += piece.flow.bytes;
        ++message.pieces;
        piece.last = message.handed == message.flow.bytes;
        piece.tail = piece.last && message.pieces > 1;
        m_cut += message.pieces == 1 && message.IsCut() ? 1 : 0;
        Start(number, piece);
    }
}

void SteadyCarrier::Start(uint32_t number, const Piece& piece)
{
    Connection& connection = *m_connections[number];
    const Flow& flow = piece.flow;
    const bool repeats = Repeats(flow) && (piece.tail || connection.repeated.Know(flow.bytes));
    if (m_skips && !(connection.known && repeats))
    {
        Change();
    }
    if (m_skips)
    {
        Put(number, piece);
        Skip(number, connection.pieces.size() - 1);
        return;
    }
    Forward(number, piece);
}

void SteadyCarrier::Put(uint32_t number, const Piece& piece)
{
    Connection& connection = *m_connections[number];
    connection.onWay += piece.flow.bytes;
    m_unknown += connection.known ? 0 : 1;
    connection.pieces.push_back(piece);
}

SteadyCarrier::Piece SteadyCarrier::Remove(Connection& connection, uint32_t index)
{
    Piece piece = connection.pieces[index];
    connection.pieces.erase(index);
    connection.onWay -= piece.flow.bytes;
    m_unknown -= connection.known ? 0 : 1;
    return piece;
}

Flow SteadyCarrier::InPackets(uint32_t number, const Piece& piece)
{
    Flow flow = piece.flow;
    flow.bytes -= piece.counted;
    flow.tag = static_cast<uint64_t>(number) << kNumberBits | piece.number;
    return flow;
}

void SteadyCarrier::Forward(uint32_t number, Piece piece)
{
    Connection& connection = *m_connections[number];
    if (!piece.tail)
    {
        connection.repeated.OnSent(piece.flow.bytes);
        SetKnown(connection, Repeats(piece.flow) && connection.repeated.Know(piece.flow.bytes));
    }
    piece.skipped = false;
    piece.since = PresentTime();
    Put(number, piece);
    m_carrier->Send(connection.name, piece.graph, InPackets(number, piece));
}

void SteadyCarrier::Skip(uint32_t number, uint32_t index)
{
    Connection& connection = *m_connections[number];
    Piece& piece = connection.pieces[index];
    const TimeNs before =
        index > 0 ? connection.pieces[index - 1].arrival : connection.repeated.LastArrival();
    piece.skipped = true;
    piece.arrival = std::max(PresentTime(),
                             connection.repeated.ArrivalOf(piece.flow.bytes, piece.sent, before));
    piece.delivery = Simulator::Schedule(
        NanoSeconds(piece.arrival - PresentTime()), &SteadyCarrier::OnDue, this, number);
}

void SteadyCarrier::OnDue(uint32_t number)
{
    Connection& connection = *m_connections[number];
    const Piece piece = Remove(connection, 0);
    const TimeNs now = PresentTime();
    connection.seen = now + (now - piece.sent);
    connection.repeated.Follow(now);
    CountSkipped(connection, piece.flow.bytes - piece.counted);
    const bool check = m_skips && --m_untilCheck <= 0;
    if (check)
    {
        End();
        m_periodic = true;
    }
    Arrive(number, piece, connection.told ? &*connection.told : nullptr);
}

void SteadyCarrier::OnArrived(uint64_t, const Flow& flow, const fabric::RoceFlow* roce)
{
    const auto number = static_cast<uint32_t>(flow.tag >> kNumberBits);
    Connection& connection = *m_connections[number];
    uint32_t index = 0;
    while (connection.pieces[index].number != static_cast<uint32_t>(flow.tag))
    {
        ++index;
    }
    const Piece piece = Remove(connection, index);
    if (roce)
    {
        connection.told = *roce;
    }
    Learn(connection, piece);
    Arrive(number, piece, roce);
}

void SteadyCarrier::Arrive(uint32_t number, const Piece& piece, const fabric::RoceFlow* roce)
{
    Connection& connection = *m_connections[number];
    m_counters.bytes += piece.flow.bytes;
    if (piece.last)
    {
        uint32_t index = 0;
        while (connection.messages[index].graph != piece.graph ||
               connection.messages[index].flow.tag != piece.flow.tag)
        {
            ++index;
        }
        const Message message = connection.messages[index];
        connection.messages.erase(index);
        --m_onWay;
        m_cut -= message.IsCut() ? 1 : 0;
        m_tells = true;
        m_listener->OnProgress();
        m_listener->OnArrived(message.graph, message.flow, roce);
        m_tells = false;
        NoteCount();
    }
    Feed(number);
    Begin();
}

void SteadyCarrier::Learn(Connection& connection, const Piece& piece)
{
    const TimeNs now = PresentTime();
    connection.seen = now + (now - piece.sent);
    if (piece.counted > 0 || piece.since < m_since || piece.tail || !Repeats(piece.flow))
    {
        connection.repeated.Follow(now);
        return;
    }
    const std::optional<double> check =
        connection.repeated.OnArrived(piece.flow.bytes, piece.sent, now);
    if (check && m_periodic)
    {
        const double difference = std::abs(*check - 1);
        ++m_counters.checked;
        m_counters.difference += difference;
        m_counters.largest = std::max(m_counters.largest, difference);
    }
    SetKnown(connection, connection.repeated.Know(piece.flow.bytes));
}

void SteadyCarrier::SetKnown(Connection& connection, bool known)
{
    if (known != connection.known)
    {
        connection.known = known;
        m_unknown += (known ? -1 : 1) * static_cast<int64_t>(connection.pieces.size());
    }
}

std::optional<int64_t>
SteadyCarrier::Abort(const fabric::ConnectionName& name, uint64_t graph, const Flow& flow)
{
    const uint32_t number = Find(name);
    Connection& connection = *m_connections[number];
    const auto same = [&](uint64_t ofGraph, const Flow& other)
    { return ofGraph == graph && other.tag == flow.tag; };
    uint32_t index = 0;
    while (index < connection.messages.size() &&
           !same(connection.messages[index].graph, connection.messages[index].flow))
    {
        ++index;
    }
    if (index == connection.messages.size())
    {
        return std::nullopt;
    }
    if (m_skips)
    {
        Change();
    }
    int64_t carried = connection.messages[index].handed;
    m_cut -= connection.messages[index].IsCut() ? 1 : 0;
    connection.messages.erase(index);
    --m_onWay;
    for (uint32_t i = 0; i < connection.pieces.size();)
    {
        if (!same(connection.pieces[i].graph, connection.pieces[i].flow))
        {
            ++i;
            continue;
        }
        Piece piece = Remove(connection, i);
        if (piece.skipped) // all of it has left
        {
            piece.delivery.Cancel();
            CountSkipped(connection, piece.flow.bytes - piece.counted);
            continue;
        }
        const Flow packets = InPackets(number, piece);
        carried -= packets.bytes;
        carried += m_carrier->Abort(name, graph, packets).value_or(packets.bytes);
    }
    Feed(number);
    return carried;
}

void SteadyCarrier::BeginRun()
{
    End();
    m_drops = CountDrops();
    m_carrier->BeginRun();
}

} // namespace packet
} // namespace legacy
