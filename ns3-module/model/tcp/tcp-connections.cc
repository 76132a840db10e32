/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-connections.h"

#include "base/error.h"
#include "fabric/tcp/controls.h"
#include "model/path-rules.h"
#include "model/roce/roce-event.h"
#include "tcp-trains.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using fabric::ConnectionKind;
using fabric::DirectedLink;
using fabric::Flow;
using fabric::Opening;

namespace
{

constexpr std::size_t kDescribedMessages = 8; ///< that a description names
constexpr uint32_t kNoConnection = NumbersByName::kNone;

} // namespace

TcpConnections::TcpConnections(const fabric::Topology* topology, const fabric::Transport* transport)
    : m_topology(*topology),
      m_transport(*transport)
{
}

void TcpConnections::Free::operator()(TcpIdleConnection* connection) const
{
    if (connection->rests)
    {
        delete connection;
        return;
    }
    delete static_cast<TcpConnection*>(connection);
}

void TcpConnections::Settle(uint32_t number)
{
    if (Active(number)->MayRest(RoceNow()))
    {
        auto idle = std::make_unique<TcpIdleConnection>(std::move(*m_connections[number]));
        idle->rests = true;
        m_connections[number].reset(idle.release());
    }
}

void TcpConnections::Continue(uint32_t number)
{
    auto active = std::make_unique<TcpConnection>(std::move(*m_connections[number]));
    m_connections[number].reset(active.release());
}

bool TcpConnections::IsIdle(uint32_t number) const
{
    const TcpConnection* active = Active(number);
    return active == nullptr || active->IsIdle();
}

uint32_t TcpConnections::Open(const Name& name, const Connect& connect)
{
    const auto number = static_cast<uint32_t>(m_connections.size());
    auto connection = std::make_unique<TcpConnection>();
    connection->name = name;
    const auto forth = m_topology.Route(name.source, name.destination, name.id);
    const auto back = m_topology.Route(name.destination, name.source, name.id);
    connection->way.Set(forth, back);
    connection->buffer = SocketBufferOf(m_topology, m_transport, forth, back);
    if (m_topology.GetMultipath() == fabric::Multipath::Spray)
    {
        connection->paths = std::make_unique<TcpPaths>();
        connection->paths->forth.Find(m_topology, name);
        connection->paths->back.Find(m_topology, {name.destination, name.source, name.id});
    }
    connection->train = TcpTrains::Make(m_topology, m_transport, forth);
    connection->control = fabric::MakeTcpCongestion(m_transport.congestionControl);
    connection->window.segments = static_cast<uint32_t>(m_transport.initialWindow);
    connection->lastArrival = RoceNow();
    m_connections.emplace_back(connection.release());
    connect(number);
    return number;
}

void TcpConnections::Replace(const Name& name, uint32_t number)
{
    const uint32_t before = m_present.Find(name);
    m_present.Set(name, number);
    if (before == kNoConnection)
    {
        return;
    }
    std::vector<uint32_t>& retired = m_retired[name];
    retired.erase(
        std::remove_if(retired.begin(), retired.end(), [&](uint32_t old) { return IsIdle(old); }),
        retired.end());
    if (!IsIdle(before))
    {
        retired.push_back(before);
    }
}

uint32_t TcpConnections::TakeIdle(std::vector<Name>& names)
{
    for (auto name = names.begin(); name != names.end();)
    {
        const uint32_t number = m_present.Find(*name);
        if (number != kNoConnection && !IsIdle(number))
        {
            ++name;
            continue;
        }
        m_present.Take(*name);
        name = names.erase(name); // it is idle, or was dropped
        if (number != kNoConnection)
        {
            return number;
        }
    }
    return kNoConnection;
}

uint32_t TcpConnections::GetPooled(const Name& name, const Connect& connect)
{
    std::vector<Name>& names = m_pooled[{name.source, name.destination}];
    const uint32_t present = m_present.Find(name);
    if (present != kNoConnection && !IsIdle(present))
    {
        return present;
    }
    const uint32_t idle = TakeIdle(names);
    names.push_back(name);
    const uint32_t number = idle != kNoConnection ? idle : Open(name, connect);
    m_present.Set(name, number);
    return number;
}

uint32_t TcpConnections::Get(const Name& name, Opening opening, const Connect& connect)
{
    const bool zeroRtt = m_transport.connections == ConnectionKind::QuicZeroRtt;
    const bool persistent = m_transport.connections == ConnectionKind::Persistent;
    if (opening == Opening::Pooled && m_transport.WarmsUp() && !zeroRtt)
    {
        return GetPooled(name, connect);
    }
    const uint32_t present = m_present.Find(name);
    if (present != kNoConnection && (opening == Opening::Kept || opening == Opening::Pooled))
    {
        const bool idle =
            persistent && IsIdle(present) &&
            RoceNow() - m_connections[present]->lastArrival > ToPicoseconds(m_transport.minRto);
        if (!idle)
        {
            return present;
        }
    }
    const bool wasOpen = opening == Opening::Established || zeroRtt || persistent;
    const uint32_t spare = wasOpen ? m_spares.Take(name) : kNoConnection;
    const uint32_t number = spare != kNoConnection ? spare : Open(name, connect);
    Replace(name, number);
    if (opening == Opening::New)
    {
        const Name back = name.Reversed();
        m_spares.Set(back, Open(back, connect));
    }
    if (zeroRtt || persistent)
    {
        m_spares.Set(name, Open(name, connect));
    }
    return number;
}

void TcpConnections::BeginRun(const Connect& connect)
{
    if (m_transport.connections != ConnectionKind::QuicZeroRtt)
    {
        return;
    }
    for (const Name& name : m_present.All())
    {
        const uint32_t spare = m_spares.Take(name);
        if (spare != kNoConnection)
        {
            Replace(name, spare);
            m_spares.Set(name, Open(name, connect));
        }
    }
}

void TcpConnections::Add(uint32_t number, uint64_t graph, const Flow& flow)
{
    TcpConnection& connection = (*this)[number];
    connection.queued += static_cast<uint64_t>(flow.bytes);
    connection.messages.push_back({graph, connection.queued, flow, false});
}

std::optional<int64_t>
TcpConnections::Abort(TcpConnection& connection, uint64_t graph, const Flow& flow)
{
    for (uint32_t i = 0; i < connection.messages.size(); ++i)
    {
        TcpConnection::Message& message = connection.messages[i];
        if (message.graph != graph || message.aborted || message.flow.tag != flow.tag ||
            message.flow.source != flow.source || message.flow.destination != flow.destination)
        {
            continue;
        }
        const uint64_t begin = message.end - static_cast<uint64_t>(message.flow.bytes);
        const uint64_t unsent =
            message.end - std::max(begin, std::min(connection.next, message.end));
        for (uint32_t later = i; later < connection.messages.size(); ++later)
        {
            connection.messages[later].end -= unsent;
        }
        connection.queued -= unsent;
        message.aborted = true;
        const auto carried = static_cast<int64_t>(message.end - begin);
        if (carried == 0)
        {
            connection.messages.erase(i);
        }
        return carried;
    }
    return std::nullopt;
}

std::optional<int64_t> TcpConnections::Abort(const Name& name, uint64_t graph, const Flow& flow)
{
    std::vector<uint32_t> numbers;
    if (const uint32_t present = m_present.Find(name); present != kNoConnection)
    {
        numbers.push_back(present);
    }
    if (const auto retired = m_retired.find(name); retired != m_retired.end())
    {
        numbers.insert(numbers.end(), retired->second.begin(), retired->second.end());
    }
    for (const uint32_t number : numbers)
    {
        if (const auto carried = Abort((*this)[number], graph, flow))
        {
            return carried;
        }
    }
    return std::nullopt;
}

std::vector<Messages> TcpConnections::Drop(int host)
{
    std::vector<Messages> lost;
    const auto drop = [&](uint32_t number)
    {
        TcpConnection& connection = (*this)[number];
        Messages messages;
        for (uint32_t i = 0; i < connection.messages.size(); ++i)
        {
            const TcpConnection::Message& message = connection.messages[i];
            if (!message.aborted)
            {
                messages.emplace_back(message.graph, message.flow);
            }
        }
        while (!connection.messages.empty())
        {
            connection.messages.pop_front();
        }
        connection.queued = connection.next;
        lost.push_back(std::move(messages));
    };
    const auto ends = [&](const Name& name)
    { return name.source == host || name.destination == host; };
    for (NumbersByName* names : {&m_present, &m_spares})
    {
        for (const Name& name : names->All())
        {
            if (ends(name))
            {
                drop(names->Take(name));
            }
        }
    }
    for (auto& [name, retired] : m_retired)
    {
        if (ends(name))
        {
            std::for_each(retired.begin(), retired.end(), drop);
            retired.clear();
        }
    }
    return lost;
}

std::vector<std::string> TcpConnections::DescribeBlocked(const TcpConnection& connection) const
{
    const char* state = connection.stage == TcpStage::Connecting ? "SYN_SENT" : "ESTABLISHED";
    std::vector<std::string> lines;
    for (uint32_t i = 0; i < connection.messages.size(); ++i)
    {
        const TcpConnection::Message& message = connection.messages[i];
        const uint64_t begin = message.end - static_cast<uint64_t>(message.flow.bytes);
        const uint64_t done = std::clamp(connection.expected, begin, message.end) - begin;
        lines.push_back("endpoint " + std::to_string(message.flow.source) + " to " +
                        std::to_string(message.flow.destination) + ": " + std::to_string(done) +
                        " of " + std::to_string(message.flow.bytes) + " bytes delivered, TCP " +
                        state);
    }
    return lines;
}

std::optional<fabric::DeadLink>
TcpConnections::FindDead(const std::function<bool(DirectedLink)>& isDead) const
{
    for (const Name& name : m_present.All())
    {
        const TcpConnection* connection = Active(m_present.Find(name));
        if (connection == nullptr || connection->IsIdle())
        {
            continue;
        }
        for (const fabric::LinkShare& hop :
             m_topology.Shares(name.source, name.destination, name.id))
        {
            if (isDead(hop.link))
            {
                return fabric::DeadLink(
                    m_topology,
                    hop.link,
                    name.source,
                    name.destination,
                    "",
                    " carries nothing any more, for ever, and it is on the way of " +
                        DescribeBlocked(*connection).front());
            }
        }
    }
    return std::nullopt;
}

std::string TcpConnections::DescribeBlocked() const
{
    std::string text;
    std::size_t named = 0;
    for (const Name& name : m_present.All())
    {
        const TcpConnection* connection = Active(m_present.Find(name));
        if (connection == nullptr)
        {
            continue;
        }
        for (const std::string& line : DescribeBlocked(*connection))
        {
            if (named++ == kDescribedMessages)
            {
                return text + "\n  ...";
            }
            text += "\n  " + m_topology.NodeName(name.source) + " -> " +
                    m_topology.NodeName(name.destination) + ", " + line;
        }
    }
    return text;
}

} // namespace packet
} // namespace legacy
