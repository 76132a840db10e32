/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "steady-carrier.h"

#include "base/error.h"
#include "fabric/engine/lone-transfer.h"
#include "model/packet-network.h"

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

constexpr int64_t kFirstCheck = 128; ///< messages of a connection that are skipped before a check
constexpr int64_t kLaterCheck = 8;   ///< times as many are skipped before each further one
constexpr int kNumberBits = 32;
constexpr int64_t kLeastPiece = 128 << 10; ///< bytes, at least, of pieces of longer messages
constexpr int64_t kLeastPieces = 16;       ///< of a message; shorter ones stay whole
constexpr int64_t kMostPieces = 512;

TimeNs Present()
{
    return Simulator::Now().GetNanoSeconds();
}

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

// ---------------------------------------------------------------------------------------------
// Messages and pieces
// ---------------------------------------------------------------------------------------------

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
        piece.sent = Present();
        message.handed += piece.flow.bytes;
        ++message.pieces;
        piece.last = message.handed == message.flow.bytes;
        piece.tail = piece.last && message.pieces > 1;
        m_cut += message.pieces == 1 && !piece.last ? 1 : 0;
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
    piece.since = Present();
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
    piece.arrival =
        std::max(Present(), connection.repeated.ArrivalOf(piece.flow.bytes, piece.sent, before));
    piece.delivery = Simulator::Schedule(
        NanoSeconds(piece.arrival - Present()), &SteadyCarrier::OnDue, this, number);
}

void SteadyCarrier::OnDue(uint32_t number)
{
    Connection& connection = *m_connections[number];
    const Piece piece = Remove(connection, 0);
    const TimeNs now = Present();
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
        m_cut -= message.pieces > 1 ? 1 : 0;
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
    const TimeNs now = Present();
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

// ---------------------------------------------------------------------------------------------
// When to skip
// ---------------------------------------------------------------------------------------------

void SteadyCarrier::NoteCount()
{
    if (m_skips)
    {
        if (!IsUsual())
        {
            Change();
        }
        return;
    }
    Range& present = m_counts.front();
    present.least = std::min(present.least, m_onWay);
    present.most = std::max(present.most, m_onWay);
    if (++m_inPeriod > 2 * present.most)
    {
        m_counts = {Range{}, present};
        m_inPeriod = 0;
    }
}

bool SteadyCarrier::IsUsual() const
{
    if (m_cut > 0)
    {
        return m_onWay == m_begunWith;
    }
    const int64_t least = std::min(m_counts[0].least, m_counts[1].least);
    const int64_t most = std::max(m_counts[0].most, m_counts[1].most);
    const int64_t more = (most - least) / 2;
    return m_onWay >= least - more && m_onWay <= most + more;
}

void SteadyCarrier::Begin()
{
    if (m_skips || m_unknown > 0 || m_onWay == 0 || --m_untilLook > 0)
    {
        return;
    }
    m_untilLook = static_cast<int64_t>(m_connections.size()) / 8;
    const TimeNs now = Present();
    for (const auto& connection : m_connections)
    {
        if (!connection->known && connection->seen >= now)
        {
            return;
        }
    }
    if (CountDrops() > m_drops)
    {
        return;
    }
    m_skips = true;
    m_begunWith = m_onWay;
    int64_t pieces = 0;
    for (uint32_t number = 0; number < m_connections.size(); ++number)
    {
        TakeOver(number);
        pieces += m_connections[number]->pieces.size();
    }
    m_checkAfter = m_checkAfter == 0 ? kFirstCheck : kLaterCheck * m_checkAfter;
    m_untilCheck = m_checkAfter * pieces;
}

void SteadyCarrier::TakeOver(uint32_t number)
{
    Connection& connection = *m_connections[number];
    for (uint32_t i = 0; i < connection.pieces.size(); ++i)
    {
        Piece& piece = connection.pieces[i];
        if (piece.skipped)
        {
            continue; // it is on the wire
        }
        piece.counted +=
            m_carrier->Abort(connection.name, piece.graph, InPackets(number, piece)).value_or(0);
        Skip(number, i);
    }
}

void SteadyCarrier::End()
{
    m_skips = false;
    m_periodic = false;
    m_since = Present();
    m_untilLook = 0;
    for (uint32_t number = 0; number < m_connections.size(); ++number)
    {
        Connection& connection = *m_connections[number];
        connection.repeated.Check();
        SetKnown(connection, false);
        GiveBack(number);
    }
}

void SteadyCarrier::Change()
{
    End();
    m_drops = CountDrops();
    m_checkAfter = 0;
    m_counts = {};
    m_inPeriod = 0;
}

int64_t SteadyCarrier::CountDrops() const
{
    int64_t drops = 0;
    for (const fabric::LinkCounters& link : m_carrier->GetCounters())
    {
        drops += link.drops;
    }
    return drops;
}

void SteadyCarrier::GiveBack(uint32_t number)
{
    Connection& connection = *m_connections[number];
    uint32_t kept = 0;
    while (kept < connection.pieces.size() && HasLeft(connection, connection.pieces[kept]))
    {
        ++kept;
    }
    std::vector<Piece> rests;
    while (connection.pieces.size() > kept)
    {
        rests.push_back(Remove(connection, kept));
    }
    for (Piece& rest : rests)
    {
        const int64_t left = std::max(rest.counted, LeftOf(connection, rest));
        CountSkipped(connection, left - rest.counted);
        rest.counted = left;
        rest.delivery.Cancel();
        Forward(number, rest);
    }
}

int64_t SteadyCarrier::LeftOf(const Connection& connection, const Piece& piece)
{
    const RepeatedMessages& repeated = connection.repeated;
    const double busy = repeated.BusyTime(piece.flow.bytes);
    const double toLeave = static_cast<double>(piece.arrival - Present()) - repeated.Latency();
    const double share = std::clamp(1 - toLeave / busy, 0.0, 1.0);
    return static_cast<int64_t>(share * static_cast<double>(piece.flow.bytes));
}

bool SteadyCarrier::HasLeft(const Connection& connection, const Piece& piece)
{
    return !piece.skipped || std::max(piece.counted, LeftOf(connection, piece)) == piece.flow.bytes;
}

// ---------------------------------------------------------------------------------------------
// Counters
// ---------------------------------------------------------------------------------------------

void SteadyCarrier::Add(Wire& wire, const Connection& connection, int64_t bytes) const
{
    const auto switches = static_cast<int>(connection.forth.size()) - 1;
    wire.bytes += m_transport.WireBytes(bytes, switches);
    wire.packets += m_transport.Segments(bytes);
    wire.ackBytes += m_transport.AckWireBytes(bytes, switches);
    wire.acks += m_transport.Acks(bytes);
}

void SteadyCarrier::ForLinks(const Connection& connection, const Wire& wire, const CountLink& count)
{
    const auto part = [](const fabric::LinkShare& hop, int64_t all)
    { return hop.share * static_cast<double>(all); };
    for (const fabric::LinkShare& hop : connection.forth)
    {
        count(hop.link, part(hop, wire.bytes), part(hop, wire.packets));
    }
    for (const fabric::LinkShare& hop : connection.back)
    {
        count(hop.link, part(hop, wire.ackBytes), part(hop, wire.acks));
    }
}

void SteadyCarrier::CountSkipped(Connection& connection, int64_t bytes)
{
    Add(connection.skipped, connection, bytes);
    m_counters.skippedBytes += bytes;
}

std::vector<fabric::LinkCounters> SteadyCarrier::GetCounters() const
{
    std::vector<fabric::LinkCounters> links = m_carrier->GetCounters();
    std::vector<std::pair<double, double>> skipped(links.size());
    for (const auto& connection : m_connections)
    {
        ForLinks(*connection,
                 connection->skipped,
                 [&](fabric::DirectedLink link, double bytes, double packets)
                 {
                     skipped[link].first += bytes;
                     skipped[link].second += packets;
                 });
    }
    for (std::size_t i = 0; i < links.size(); ++i)
    {
        const auto [bytes, packets] = skipped[i];
        if (bytes == 0)
        {
            continue;
        }
        fabric::LinkCounters& link = links[i];
        const auto rate =
            static_cast<double>(m_topology.MeanRate(static_cast<fabric::DirectedLink>(i)));
        const double simulated = std::max(1.0, static_cast<double>(link.packets));
        link.marks += std::llround(static_cast<double>(link.marks) * packets / simulated);
        link.bytes += std::llround(bytes);
        link.packets += std::llround(packets);
        link.busy += std::llround(8e9 * bytes / rate);
    }
    return links;
}

std::vector<fabric::LinkActivity> SteadyCarrier::GetActivity() const
{
    std::vector<fabric::LinkActivity> links = m_carrier->GetActivity();
    for (const auto& connection : m_connections)
    {
        Wire wire = connection->skipped;
        for (uint32_t i = 0; i < connection->pieces.size(); ++i)
        {
            const Piece& piece = connection->pieces[i];
            if (piece.skipped)
            {
                const int64_t left = LeftOf(*connection, piece) - piece.counted;
                Add(wire, *connection, std::max<int64_t>(left, 0));
            }
        }
        ForLinks(*connection,
                 wire,
                 [&](fabric::DirectedLink link, double bytes, double)
                 { links[link].bytes += bytes; });
    }
    return links;
}

void SteadyCarrier::AddCounters(fabric::EngineCounters& counters) const
{
    m_carrier->AddCounters(counters);
    for (const auto& connection : m_connections)
    {
        counters.packets +=
            static_cast<uint64_t>(connection->skipped.packets + connection->skipped.acks);
    }
    counters.skipped = m_counters;
}

// ---------------------------------------------------------------------------------------------
// What the other carrier does
// ---------------------------------------------------------------------------------------------

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
    m_cut -=
        connection.messages[index].pieces > 1 || (connection.messages[index].pieces == 1 &&
                                                  carried < connection.messages[index].flow.bytes)
            ? 1
            : 0;
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
    return carried;
}

void SteadyCarrier::BeginRun()
{
    End();
    m_drops = CountDrops();
    m_carrier->BeginRun();
}

void SteadyCarrier::Dispose()
{
    m_carrier->Dispose();
}

void SteadyCarrier::SetScheduleTime(TimeNs time)
{
    m_carrier->SetScheduleTime(time);
}

TimeNs SteadyCarrier::GetScheduleTime() const
{
    return m_carrier->GetScheduleTime();
}

TimeNs SteadyCarrier::GetOutTime() const
{
    return m_carrier->GetOutTime();
}

bool SteadyCarrier::AnyDead() const
{
    return m_carrier->AnyDead();
}

std::optional<fabric::DeadLink> SteadyCarrier::FindDead() const
{
    return m_carrier->FindDead();
}

void SteadyCarrier::FailHost(int host)
{
    m_carrier->FailHost(host);
}

Ptr<PacketNetwork> SteadyCarrier::GetNetwork() const
{
    return m_carrier->GetNetwork();
}

fabric::RoceActivity SteadyCarrier::GetRoce() const
{
    return m_carrier->GetRoce();
}

bool SteadyCarrier::IsRandom() const
{
    return m_carrier->IsRandom();
}

bool SteadyCarrier::StartsWarm() const
{
    return m_carrier->StartsWarm();
}

void SteadyCarrier::AssignStreams(uint64_t draws)
{
    m_carrier->AssignStreams(draws);
}

std::string SteadyCarrier::DescribeBlocked() const
{
    return m_carrier->DescribeBlocked();
}

void SteadyCarrier::OnProgress()
{
    m_listener->OnProgress();
}

void SteadyCarrier::OnRetransmitTimeout()
{
    m_listener->OnRetransmitTimeout();
}

void SteadyCarrier::OnLost(const Messages& messages)
{
    // Hosts do not fail, as links do not, and RoCEv2 ends the run where it gives up.
    m_listener->OnLost(messages);
}

void SteadyCarrier::OnError(std::exception_ptr error)
{
    m_listener->OnError(error);
}

} // namespace packet
} // namespace legacy
