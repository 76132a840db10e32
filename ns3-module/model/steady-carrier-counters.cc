/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Here a SteadyCarrier counts what it skips, and asks the other carrier for all the rest.
#include "steady-carrier.h"

#include "model/packet-network.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;

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
