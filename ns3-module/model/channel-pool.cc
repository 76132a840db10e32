/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "channel-pool.h"

#include "ecmp-routing.h"
#include "host-socket.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_LOG_COMPONENT_DEFINE("LegacyChannelPool");
NS_OBJECT_ENSURE_REGISTERED(ChannelPool);

namespace
{

/// Bytes of a receive buffer. Receivers read at once, so a window of this size never stops a
/// sender, and window scaling can express it.
constexpr int64_t kReceiveBuffer = 1 << 29;
/// Number of messages that a description names.
constexpr std::size_t kNamedMessages = 8;

} // namespace

TypeId ChannelPool::GetTypeId()
{
    static TypeId tid = TypeId("legacy::ChannelPool")
                            .SetParent<Object>()
                            .SetGroupName("Legacy")
                            .AddConstructor<ChannelPool>()
                            .AddAttribute("Port",
                                          "TCP port that every receiving host listens on.",
                                          UintegerValue(5001),
                                          MakeUintegerAccessor(&ChannelPool::m_port),
                                          MakeUintegerChecker<uint16_t>(1, 49151));
    return tid;
}

void ChannelPool::Build(const fabric::Topology* topology,
                        Ptr<PacketNetwork> network,
                        const fabric::Transport& transport,
                        ChannelListener* listener)
{
    m_topology = topology;
    m_network = network;
    m_transport = transport;
    m_listener = listener;
}

Ptr<MessageChannel> ChannelPool::Get(int source, int destination)
{
    const auto found = m_channels.find({source, destination});
    if (found != m_channels.end())
    {
        return found->second;
    }
    const uint32_t sendBuffer = SendBuffer(source, destination);
    NS_LOG_LOGIC("open " << source << " -> " << destination << ", buffer " << sendBuffer << " B");
    Listen(destination);
    Ptr<MessageChannel> channel = CreateObject<MessageChannel>();
    m_channels[{source, destination}] = channel;
    channel->Open(m_network->GetNode(source),
                  InetSocketAddress(EcmpRouting::AddressOf(destination), m_port),
                  sendBuffer,
                  m_listener);
    return channel;
}

uint32_t ChannelPool::SendBuffer(int source, int destination) const
{
    if (m_transport.attributes.count("ns3::TcpSocket::SndBufSize") > 0)
    {
        return MessageChannel::kDefaultSendBuffer; // the user set its attribute
    }
    fabric::TimeNs roundTrip = 0;
    int64_t slowest = INT64_MAX;
    for (const auto& [from, to] : {HostPair{source, destination}, HostPair{destination, source}})
    {
        for (fabric::DirectedLink link : m_topology->Route(from, to, 0))
        {
            const int64_t rate = m_topology->PortOf(link).rateBps;
            roundTrip = fabric::Later(
                roundTrip,
                fabric::Later(m_topology->LinkOf(link).delay,
                              fabric::SerialisationTime(m_transport.FrameBytes(), rate)));
            slowest = std::min(slowest, rate);
        }
    }
    return static_cast<uint32_t>(
        std::min(m_transport.SocketBuffer(slowest, roundTrip), kReceiveBuffer));
}

void ChannelPool::Listen(int host)
{
    Ptr<Socket>& listener = m_listeners[host];
    if (listener)
    {
        return;
    }
    listener = HostSocket::Create(m_network->GetNode(host));
    if (m_transport.attributes.count("ns3::TcpSocket::RcvBufSize") == 0)
    {
        const int64_t buffer =
            m_transport.socketBufferBytes > 0 ? m_transport.socketBufferBytes : kReceiveBuffer;
        listener->SetAttribute(
            "RcvBufSize", UintegerValue(static_cast<uint32_t>(std::min(buffer, kReceiveBuffer))));
    }
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), m_port));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&ChannelPool::Accepted, this));
}

void ChannelPool::Accepted(Ptr<Socket> socket, const Address& from)
{
    const int source = EcmpRouting::NodeOf(InetSocketAddress::ConvertFrom(from).GetIpv4());
    Address local;
    socket->GetSockName(local);
    const int destination = EcmpRouting::NodeOf(InetSocketAddress::ConvertFrom(local).GetIpv4());
    m_channels.at({source, destination})->Accept(socket);
}

std::string ChannelPool::DescribeBlocked() const
{
    std::string text;
    std::size_t named = 0;
    for (const auto& [pair, channel] : m_channels)
    {
        for (const std::string& line : channel->DescribeBlocked())
        {
            if (named++ == kNamedMessages)
            {
                return text + "\n  ...";
            }
            text += "\n  " + m_topology->NodeName(pair.first) + " -> " +
                    m_topology->NodeName(pair.second) + ", " + line;
        }
    }
    return text;
}

void ChannelPool::DoDispose()
{
    for (auto& [host, listener] : m_listeners)
    {
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeNullCallback<void, Ptr<Socket>, const Address&>());
    }
    for (auto& [pair, channel] : m_channels)
    {
        channel->Dispose();
    }
    m_listeners.clear();
    m_channels.clear();
    m_network = nullptr;
    Object::DoDispose();
}

} // namespace packet
} // namespace legacy
