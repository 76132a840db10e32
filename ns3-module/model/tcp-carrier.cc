/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-carrier.h"

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;

TcpCarrier::TcpCarrier(const fabric::Topology* topology,
                       const std::vector<int>& endpoints,
                       const fabric::Transport& transport,
                       CarrierListener* listener)
    : ScheduledCarrier(listener),
      m_network(CreateObject<PacketNetwork>()),
      m_channels(CreateObject<ChannelPool>())
{
    m_network->Build(topology, endpoints, transport);
    m_channels->Build(topology, m_network, transport, this);
    Follow(topology,
           transport.FrameBytes(),
           [this](fabric::DirectedLink link, int64_t rate, TimeNs)
           { m_network->SetRate(link, rate); });
}

TcpCarrier::~TcpCarrier() = default;

Ptr<PacketNetwork> TcpCarrier::GetNetwork() const
{
    return m_network;
}

void TcpCarrier::Send(const fabric::ConnectionName& connection, uint64_t graph, const Flow& flow)
{
    m_channels->Get(connection, flow.opening)->Send(graph, flow);
}

std::optional<int64_t>
TcpCarrier::Abort(const fabric::ConnectionName& connection, uint64_t graph, const Flow& flow)
{
    for (const Ptr<MessageChannel>& channel : m_channels->Find(connection))
    {
        if (const auto carried = channel->Abort(graph, flow))
        {
            return carried;
        }
    }
    return std::nullopt;
}

void TcpCarrier::BeginRun()
{
    m_channels->BeginRun();
}

void TcpCarrier::Dispose()
{
    m_channels->Dispose();
    ScheduledCarrier::Dispose();
    m_channels = nullptr;
    m_network = nullptr;
}

std::optional<fabric::DeadLink> TcpCarrier::FindWaiting(const IsDead& isDead) const
{
    return m_channels->FindDead(isDead);
}

void TcpCarrier::FailHost(int host)
{
    for (const Ptr<MessageChannel>& channel : m_channels->Drop(host))
    {
        m_listener->OnLost(channel->TakeMessages());
        channel->Dispose();
    }
}

std::vector<fabric::LinkCounters> TcpCarrier::GetCounters() const
{
    return m_network->GetCounters();
}

std::vector<fabric::LinkActivity> TcpCarrier::GetActivity() const
{
    return m_network->GetActivity();
}

void TcpCarrier::AddCounters(fabric::EngineCounters& counters) const
{
    counters.packets = m_network->GetPacketsToHosts();
    ScheduledCarrier::AddCounters(counters);
}

bool TcpCarrier::IsRandom() const
{
    return m_network->IsRandom();
}

bool TcpCarrier::StartsWarm() const
{
    return false;
}

void TcpCarrier::AssignStreams(uint64_t draws)
{
    // The streams are far below those that ns-3 itself assigns, which start at 2^63.
    constexpr int64_t kStreamsPerDraw = 1 << 20;
    m_network->AssignStreams(static_cast<int64_t>(draws) * kStreamsPerDraw);
}

std::string TcpCarrier::DescribeBlocked() const
{
    return m_channels->DescribeBlocked();
}

void TcpCarrier::OnProgress()
{
    m_listener->OnProgress();
}

void TcpCarrier::OnArrived(uint64_t graph, const Flow& flow)
{
    m_listener->OnArrived(graph, flow);
}

void TcpCarrier::OnRetransmitTimeout()
{
    m_listener->OnRetransmitTimeout();
}

void TcpCarrier::OnConnectionLost(MessageChannel& channel)
{
    m_channels->Drop(channel);
    m_listener->OnLost(channel.TakeMessages());
}

} // namespace packet
} // namespace legacy
