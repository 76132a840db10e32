/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// The sockets of a pool's channels: their buffers, and the sockets that listen and accept.
#include "channel-pool.h"

#include "ecmp-routing.h"
#include "path-rules.h"

#include "ns3/uinteger.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

/// The size of a receive buffer in bytes. Receivers read at once, so a window of this size never
/// stops a sender, and window scaling can express it.
constexpr int64_t kReceiveBuffer = 1 << 29;

} // namespace

uint32_t ChannelPool::SendBuffer(const Name& name) const
{
    if (m_transport.attributes.count("ns3::TcpSocket::SndBufSize") > 0)
    {
        return MessageChannel::kDefaultSendBuffer; // the user has set its attribute
    }
    const int64_t buffer =
        SocketBufferOf(*m_topology,
                       m_transport,
                       m_topology->Route(name.source, name.destination, name.id),
                       m_topology->Route(name.destination, name.source, name.id));
    return static_cast<uint32_t>(std::min(buffer, kReceiveBuffer));
}

Ptr<HostSocket> ChannelPool::MakeSocket(int host) const
{
    Ptr<HostSocket> socket = HostSocket::Create(m_network->GetNode(host));
    if (m_topology->HasSchedules() &&
        m_transport.attributes.count("ns3::TcpSocket::DataRetries") == 0)
    {
        socket->Persist(); // links that are out for a while come back
    }
    return socket;
}

void ChannelPool::Listen(int host)
{
    Ptr<Socket>& listener = m_listeners[host];
    if (listener)
    {
        return;
    }
    listener = MakeSocket(host);
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
    const auto connecting =
        m_connecting.find({source, InetSocketAddress::ConvertFrom(from).GetPort()});
    connecting->second->Accept(socket);
    m_connecting.erase(connecting);
}

} // namespace packet
} // namespace legacy
