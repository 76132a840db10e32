/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "channel-pool.h"

#include "ecmp-routing.h"

#include "base/error.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::DirectedLink;

NS_LOG_COMPONENT_DEFINE("LegacyChannelPool");
NS_OBJECT_ENSURE_REGISTERED(ChannelPool);

namespace
{

/// The number of messages that a description names.
constexpr std::size_t kNamedMessages = 8;
/// The number of ports of ns-3's hosts for connections that they open (RFC 6335, section 6).
constexpr int kPorts = 65536 - ConnectionTable::kFirstPort;

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

Ptr<MessageChannel> ChannelPool::Open(const Name& name)
{
    const uint32_t sendBuffer = SendBuffer(name);
    NS_LOG_LOGIC("open " << name.source << " -> " << name.destination << " #" << name.id
                         << ", buffer " << sendBuffer << " B");
    Listen(name.destination);
    Ptr<MessageChannel> channel = CreateObject<MessageChannel>();
    channel->Open(MakeSocket(name.source),
                  sendBuffer,
                  std::max(1, fabric::HandshakeRoundTrips(m_transport.connections)),
                  m_listener);
    const uint16_t port = channel->GetPort();
    if (port == 0)
    {
        throw Error(m_topology->NodeName(name.source) + ": connections that it opens",
                    "more",
                    std::to_string(kPorts) + " at packet fidelity, as ns-3 has no more "
                                             "ports for them; flow fidelity has no limit");
    }
    m_connecting[{name.source, port}] = channel;
    m_network->AddConnection(name, port);
    channel->Connect(InetSocketAddress(EcmpRouting::AddressOf(name.destination), m_port));
    return channel;
}

Ptr<MessageChannel> ChannelPool::TakeSpare(const Name& name)
{
    const auto found = m_spares.find(name);
    if (found == m_spares.end())
    {
        return nullptr;
    }
    Ptr<MessageChannel> spare = found->second;
    m_spares.erase(found);
    return spare;
}

void ChannelPool::Replace(const Name& name, Ptr<MessageChannel> channel)
{
    Ptr<MessageChannel>& present = m_channels[name];
    std::vector<Ptr<MessageChannel>>& retired = m_retired[name];
    retired.erase(std::remove_if(retired.begin(),
                                 retired.end(),
                                 [](const Ptr<MessageChannel>& old) { return old->IsIdle(); }),
                  retired.end());
    if (present && !present->IsIdle())
    {
        retired.push_back(present);
    }
    present = channel;
}

Ptr<MessageChannel> ChannelPool::TakeIdle(std::vector<Name>& names)
{
    for (auto name = names.begin(); name != names.end();)
    {
        const auto found = m_channels.find(*name);
        if (found != m_channels.end() && !found->second->IsIdle())
        {
            ++name;
            continue;
        }
        name = names.erase(name); // it is idle, or was dropped
        if (found != m_channels.end())
        {
            Ptr<MessageChannel> channel = found->second;
            m_channels.erase(found);
            return channel;
        }
    }
    return nullptr;
}

Ptr<MessageChannel> ChannelPool::GetPooled(const Name& name)
{
    std::vector<Name>& names = m_pooled[{name.source, name.destination}];
    const auto present = m_channels.find(name);
    if (present != m_channels.end() && !present->second->IsIdle())
    {
        return present->second;
    }
    Ptr<MessageChannel> channel = TakeIdle(names);
    if (channel)
    {
        m_network->AddConnection(name, channel->GetPort());
    }
    names.push_back(name);
    return m_channels[name] = channel ? channel : Open(name);
}

Ptr<MessageChannel> ChannelPool::Get(const Name& name, fabric::Opening opening)
{
    const Name back = name.Reversed();
    const bool zeroRtt = m_transport.connections == fabric::ConnectionKind::QuicZeroRtt;
    const bool persistent = m_transport.connections == fabric::ConnectionKind::Persistent;
    if (opening == fabric::Opening::Pooled && m_transport.WarmsUp() && !zeroRtt)
    {
        return GetPooled(name);
    }
    const auto found = m_channels.find(name);
    if (found != m_channels.end() &&
        (opening == fabric::Opening::Kept || opening == fabric::Opening::Pooled))
    {
        const bool idle = persistent && found->second->IsIdle() &&
                          found->second->GetIdleTime() > NanoSeconds(m_transport.minRto);
        if (!idle)
        {
            return found->second;
        }
    }
    const bool wasOpen = opening == fabric::Opening::Established || zeroRtt || persistent;
    Ptr<MessageChannel> channel = wasOpen ? TakeSpare(name) : nullptr;
    Replace(name, channel ? channel : Open(name));
    if (opening == fabric::Opening::New)
    {
        m_spares[back] = Open(back);
    }
    if (zeroRtt || persistent)
    {
        m_spares[name] = Open(name);
    }
    return m_channels[name];
}

void ChannelPool::BeginRun()
{
    if (m_transport.connections != fabric::ConnectionKind::QuicZeroRtt)
    {
        return;
    }
    for (const auto& [name, channel] : m_channels)
    {
        if (Ptr<MessageChannel> spare = TakeSpare(name))
        {
            Replace(name, spare);
            m_spares[name] = Open(name);
        }
    }
}

std::vector<Ptr<MessageChannel>> ChannelPool::Find(const Name& name) const
{
    std::vector<Ptr<MessageChannel>> channels;
    if (const auto present = m_channels.find(name); present != m_channels.end())
    {
        channels.push_back(present->second);
    }
    if (const auto retired = m_retired.find(name); retired != m_retired.end())
    {
        channels.insert(channels.end(), retired->second.begin(), retired->second.end());
    }
    return channels;
}

std::vector<Ptr<MessageChannel>> ChannelPool::Drop(int host)
{
    std::vector<Ptr<MessageChannel>> dropped;
    const auto ends = [&](const Name& name)
    { return name.source == host || name.destination == host; };
    for (auto* channels : {&m_channels, &m_spares})
    {
        for (auto entry = channels->begin(); entry != channels->end();)
        {
            if (ends(entry->first))
            {
                dropped.push_back(entry->second);
                entry = channels->erase(entry);
            }
            else
            {
                ++entry;
            }
        }
    }
    for (auto& [name, retired] : m_retired)
    {
        if (ends(name))
        {
            dropped.insert(dropped.end(), retired.begin(), retired.end());
            retired.clear();
        }
    }
    return dropped;
}

void ChannelPool::Drop(const MessageChannel& channel)
{
    for (auto* channels : {&m_channels, &m_spares})
    {
        for (auto entry = channels->begin(); entry != channels->end(); ++entry)
        {
            if (PeekPointer(entry->second) == &channel)
            {
                m_retired[entry->first].push_back(entry->second); // it must outlive this event
                channels->erase(entry);
                return;
            }
        }
    }
}

std::optional<fabric::DeadLink>
ChannelPool::FindDead(const std::function<bool(DirectedLink)>& isDead) const
{
    for (const auto& [name, channel] : m_channels)
    {
        if (channel->IsIdle())
        {
            continue;
        }
        for (const fabric::LinkShare& hop :
             m_topology->Shares(name.source, name.destination, name.id))
        {
            if (isDead(hop.link))
            {
                return fabric::DeadLink(
                    *m_topology,
                    hop.link,
                    name.source,
                    name.destination,
                    "",
                    " carries nothing any more, for ever, and it is on the way of " +
                        channel->DescribeBlocked().front());
            }
        }
    }
    return std::nullopt;
}

std::string ChannelPool::DescribeBlocked() const
{
    std::string text;
    std::size_t named = 0;
    for (const auto& [name, channel] : m_channels)
    {
        for (const std::string& line : channel->DescribeBlocked())
        {
            if (named++ == kNamedMessages)
            {
                return text + "\n  ...";
            }
            text += "\n  " + m_topology->NodeName(name.source) + " -> " +
                    m_topology->NodeName(name.destination) + ", " + line;
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
    for (auto* channels : {&m_channels, &m_spares})
    {
        for (auto& [name, channel] : *channels)
        {
            channel->Dispose();
        }
        channels->clear();
    }
    for (auto& [name, retired] : m_retired)
    {
        for (const Ptr<MessageChannel>& channel : retired)
        {
            channel->Dispose();
        }
    }
    m_listeners.clear();
    m_connecting.clear();
    m_retired.clear();
    m_network = nullptr;
    Object::DoDispose();
}

} // namespace packet
} // namespace legacy
