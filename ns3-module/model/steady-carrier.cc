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

TimeNs Present()
{
    return Simulator::Now().GetNanoSeconds();
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
// Messages
// ---------------------------------------------------------------------------------------------

uint32_t SteadyCarrier::Find(const fabric::ConnectionName& name)
{
    const auto [found, added] =
        m_numbers.emplace(name, static_cast<uint32_t>(m_connections.size()));
    if (added)
    {
        const fabric::LonePath path =
            fabric::MakeLonePath(m_topology, m_transport, name.source, name.destination);
        auto connection = std::make_unique<Connection>(name, path.latency);
        connection->forth = m_topology.Shares(name.source, name.destination, name.id);
        const fabric::ConnectionName back = name.Reversed();
        connection->back = m_topology.Shares(back.source, back.destination, back.id);
        m_connections.push_back(std::move(connection));
    }
    return found->second;
}

bool SteadyCarrier::MaySkip(const Connection& connection, const Flow& flow)
{
    return flow.opening == fabric::Opening::Kept && connection.known &&
           connection.repeated.Know(flow.bytes);
}

void SteadyCarrier::Send(const fabric::ConnectionName& name, uint64_t graph, const Flow& flow)
{
    const uint32_t number = Find(name);
    Connection& connection = *m_connections[number];
    Message message;
    message.graph = graph;
    message.flow = flow;
    message.number = connection.next++;
    message.sent = Present();
    ++m_onWay;
    if (m_skips && !MaySkip(connection, flow))
    {
        Change();
    }
    if (m_skips)
    {
        Skip(number, std::move(message));
    }
    else
    {
        Forward(number, message);
    }
    if (!m_tells)
    {
        NoteCount();
    }
}

void SteadyCarrier::Forward(uint32_t number, const Message& message)
{
    Connection& connection = *m_connections[number];
    if (!m_skips)
    {
        connection.repeated.OnSent(message.flow.bytes);
        SetKnown(connection, connection.repeated.Know(message.flow.bytes));
    }
    m_unknown += connection.known ? 0 : 1;
    connection.messages.push_back(message);
    m_carrier->Send(connection.name, message.graph, InPackets(number, message));
}

Flow SteadyCarrier::InPackets(uint32_t number, const Message& message)
{
    Flow flow = message.flow;
    flow.bytes -= message.left;
    flow.tag = static_cast<uint64_t>(number) << kNumberBits | message.number;
    return flow;
}

void SteadyCarrier::Skip(uint32_t number, Message message)
{
    Connection& connection = *m_connections[number];
    message.skipped = true;
    TimeNs before = connection.repeated.LastArrival();
    for (uint32_t i = 0; i < connection.messages.size(); ++i)
    {
        const Message& earlier = connection.messages[i];
        before = earlier.skipped
                     ? earlier.arrival
                     : connection.repeated.ArrivalOf(earlier.flow.bytes, earlier.sent, before);
    }
    message.arrival = connection.repeated.ArrivalOf(message.flow.bytes, message.sent, before);
    message.delivery = Simulator::Schedule(
        NanoSeconds(message.arrival - message.sent), &SteadyCarrier::OnDue, this, number);
    connection.messages.push_back(std::move(message));
}

void SteadyCarrier::OnDue(uint32_t number)
{
    Connection& connection = *m_connections[number];
    ++connection.due;
    DeliverDue(connection);
}

void SteadyCarrier::DeliverDue(Connection& connection)
{
    // A message before it may be in packets, and late.
    while (connection.due > 0 && connection.messages.front().skipped)
    {
        --connection.due;
        Deliver(connection);
    }
}

void SteadyCarrier::Deliver(Connection& connection)
{
    const Message message = connection.messages.front();
    connection.messages.pop_front();
    connection.seen = 2 * Present() - message.sent;
    connection.repeated.Follow(Present());
    Add(connection.skipped, connection, message.flow.bytes);
    --m_onWay;
    m_unknown -= connection.known ? 0 : 1;
    ++m_counters.messages;
    const bool check = m_skips && --m_untilCheck <= 0;
    m_tells = true;
    m_listener->OnProgress();
    m_listener->OnArrived(
        message.graph, message.flow, connection.told ? &*connection.told : nullptr);
    m_tells = false;
    if (check && m_skips)
    {
        End();
    }
    NoteCount();
}

SteadyCarrier::Message SteadyCarrier::Take(const Flow& flow)
{
    Connection& connection = *m_connections[flow.tag >> kNumberBits];
    uint32_t index = 0;
    while (connection.messages[index].number != static_cast<uint32_t>(flow.tag))
    {
        ++index;
    }
    Message message = std::move(connection.messages[index]);
    connection.messages.erase(index);
    --m_onWay;
    m_unknown -= connection.known ? 0 : 1;
    return message;
}

void SteadyCarrier::OnArrived(uint64_t graph, const Flow& flow, const fabric::RoceFlow* roce)
{
    Connection& connection = *m_connections[flow.tag >> kNumberBits];
    const Message message = Take(flow);
    if (roce)
    {
        connection.told = *roce;
    }
    Learn(connection, message);
    m_tells = true;
    m_listener->OnArrived(graph, message.flow, roce);
    m_tells = false;
    DeliverDue(connection);
    Begin();
    NoteCount();
}

void SteadyCarrier::Learn(Connection& connection, const Message& message)
{
    const TimeNs now = Present();
    connection.seen = now + (now - message.sent);
    if (m_skips || message.left > 0 || message.sent < m_since)
    {
        connection.repeated.Follow(now);
        return;
    }
    const std::optional<double> check =
        connection.repeated.OnArrived(message.flow.bytes, message.sent, now);
    if (check)
    {
        const double difference = std::abs(*check - 1);
        ++m_counters.checked;
        m_counters.difference += difference;
        m_counters.largest = std::max(m_counters.largest, difference);
    }
    SetKnown(connection, connection.repeated.Know(message.flow.bytes));
}

void SteadyCarrier::SetKnown(Connection& connection, bool known)
{
    if (known != connection.known)
    {
        connection.known = known;
        m_unknown += (known ? -1 : 1) * static_cast<int64_t>(connection.messages.size());
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
    const int64_t least = std::min(m_counts[0].least, m_counts[1].least);
    const int64_t most = std::max(m_counts[0].most, m_counts[1].most);
    const int64_t more = 1 + (most - least) / 2 + most / 16;
    return m_onWay >= least - more && m_onWay <= most + more;
}

void SteadyCarrier::Begin()
{
    if (m_skips || m_unknown > 0 || m_onWay == 0 || --m_untilLook > 0)
    {
        return;
    }
    const TimeNs now = Present();
    for (const auto& connection : m_connections)
    {
        if (!connection->known && connection->seen >= now)
        {
            m_untilLook = static_cast<int64_t>(m_connections.size()) / 8;
            return;
        }
    }
    m_skips = true;
    m_checkAfter = m_checkAfter == 0 ? kFirstCheck : kLaterCheck * m_checkAfter;
    m_untilCheck = m_checkAfter * m_onWay;
}

void SteadyCarrier::End()
{
    m_skips = false;
    m_since = Present();
    m_untilLook = 0;
    for (uint32_t number = 0; number < m_connections.size(); ++number)
    {
        Connection& connection = *m_connections[number];
        connection.repeated.Check();
        SetKnown(connection, false);
        Continue(number);
    }
}

void SteadyCarrier::Change()
{
    End();
    m_checkAfter = 0;
    m_counts = {};
    m_inPeriod = 0;
}

void SteadyCarrier::Continue(uint32_t number)
{
    Connection& connection = *m_connections[number];
    RingBuffer<Message>& messages = connection.messages;
    uint32_t kept = 0;
    while (kept < messages.size() &&
           (!messages[kept].skipped ||
            LeftOf(connection, messages[kept]) == static_cast<double>(messages[kept].flow.bytes)))
    {
        ++kept;
    }
    if (kept == messages.size())
    {
        return;
    }
    std::vector<Message> rests;
    while (messages.size() > kept)
    {
        rests.push_back(std::move(messages[kept]));
        messages.erase(kept);
        m_unknown -= connection.known ? 0 : 1;
    }
    for (Message& rest : rests)
    {
        rest.left = static_cast<int64_t>(LeftOf(connection, rest));
        Add(connection.skipped, connection, rest.left);
        rest.delivery.Cancel();
        rest.skipped = false;
        Forward(number, rest);
    }
}

double SteadyCarrier::LeftOf(const Connection& connection, const Message& message)
{
    const RepeatedMessages& repeated = connection.repeated;
    const auto bytes = static_cast<double>(message.flow.bytes);
    const double busy = repeated.BusyTime(message.flow.bytes);
    const double toLeave = static_cast<double>(message.arrival - Present()) - repeated.Latency();
    return std::clamp(1 - toLeave / busy, 0.0, 1.0) * bytes;
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
        for (uint32_t i = 0; i < connection->messages.size(); ++i)
        {
            const Message& message = connection->messages[i];
            if (message.skipped)
            {
                Add(wire, *connection, static_cast<int64_t>(LeftOf(*connection, message)));
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
    if (m_skips)
    {
        Change();
    }
    uint32_t index = 0;
    while (index < connection.messages.size() && (connection.messages[index].graph != graph ||
                                                  connection.messages[index].flow.tag != flow.tag))
    {
        ++index;
    }
    if (index == connection.messages.size())
    {
        return std::nullopt;
    }
    Message message = connection.messages[index];
    if (message.skipped) // all of it has left
    {
        message.delivery.Cancel();
        connection.messages.erase(index);
        --m_onWay;
        m_unknown -= connection.known ? 0 : 1;
        Add(connection.skipped, connection, flow.bytes);
        return flow.bytes;
    }
    const Flow carried = InPackets(number, message);
    Take(carried);
    const std::optional<int64_t> bytes = m_carrier->Abort(name, graph, carried);
    return bytes.value_or(0) + message.left;
}

void SteadyCarrier::BeginRun()
{
    End();
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
    Messages lost;
    for (const auto& [graph, flow] : messages)
    {
        lost.emplace_back(graph, Take(flow).flow);
    }
    m_listener->OnLost(lost);
}

void SteadyCarrier::OnError(std::exception_ptr error)
{
    m_listener->OnError(error);
}

} // namespace packet
} // namespace legacy
