/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ecmp-routing.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4.h"
#include "ns3/log.h"
#include "ns3/net-device.h"
#include "ns3/output-stream-wrapper.h"
#include "ns3/simulator.h"

#include <vector>

namespace legacy
{
namespace packet
{

using namespace ns3;

NS_LOG_COMPONENT_DEFINE("LegacyEcmpRouting");
NS_OBJECT_ENSURE_REGISTERED(EcmpRouting);

namespace
{

constexpr uint32_t kNetwork = 10U << 24; // 10.0.0.0/8

} // namespace

TypeId EcmpRouting::GetTypeId()
{
    static TypeId tid = TypeId("legacy::EcmpRouting")
                            .SetParent<Ipv4RoutingProtocol>()
                            .SetGroupName("Legacy")
                            .AddConstructor<EcmpRouting>();
    return tid;
}

Ipv4Address EcmpRouting::AddressOf(int node)
{
    return Ipv4Address(kNetwork + static_cast<uint32_t>(node) + 1);
}

int EcmpRouting::NodeOf(Ipv4Address address)
{
    return static_cast<int>(address.Get() - kNetwork) - 1;
}

void EcmpRouting::SetTopology(const fabric::Topology* topology,
                              int node,
                              const ConnectionTable* connections)
{
    m_topology = topology;
    m_node = node;
    m_connections = connections;
}

void EcmpRouting::AddPort(fabric::DirectedLink link, Ptr<NetDevice> device)
{
    m_ports[link] = device;
}

fabric::ConnectionId EcmpRouting::IdOf(int source, int destination, const Packet* packet) const
{
    uint8_t ports[4] = {}; // the first bytes of TCP's header
    if (packet != nullptr)
    {
        packet->CopyData(ports, sizeof ports);
    }
    const auto from = static_cast<uint16_t>(ports[0] << 8 | ports[1]);
    const auto to = static_cast<uint16_t>(ports[2] << 8 | ports[3]);
    if (from >= ConnectionTable::kFirstPort)
    {
        return m_connections->Find(source, from);
    }
    return to >= ConnectionTable::kFirstPort ? m_connections->Find(destination, to) : 0;
}

const Ptr<Ipv4Route>&
EcmpRouting::Lookup(Ipv4Address source, Ipv4Address destination, const Packet* packet)
{
    const int from = NodeOf(source);
    const int to = NodeOf(destination);
    const Way way{from, to, IdOf(from, to, packet)};
    Routes& routes = m_routes[way];
    if (routes.equal.empty())
    {
        routes = MakeRoutes(way);
    }
    if (routes.equal.size() == 1)
    {
        return routes.equal.front();
    }
    routes.last = routes.last + 1 < routes.equal.size() ? routes.last + 1 : 0;
    return routes.equal[routes.last];
}

EcmpRouting::Routes EcmpRouting::MakeRoutes(const Way& way) const
{
    const fabric::DirectedLink first =
        m_topology->NextHop(m_node, way.source, way.destination, way.id);
    std::vector<fabric::DirectedLink> links{first};
    if (m_topology->GetMultipath() == fabric::Multipath::Spray)
    {
        links = m_topology->NextHopsOf(m_node, way.source, way.destination);
    }
    Routes routes;
    for (fabric::DirectedLink link : links)
    {
        Ptr<Ipv4Route> route = Create<Ipv4Route>();
        route->SetSource(AddressOf(way.source));
        route->SetDestination(AddressOf(way.destination));
        route->SetGateway(Ipv4Address::GetAny());
        route->SetOutputDevice(m_ports.at(link));
        NS_LOG_LOGIC("node " << m_node << ": " << way.source << " -> " << way.destination << " #"
                             << way.id << " by link " << link);
        if (link == first)
        {
            routes.last = routes.equal.size();
        }
        routes.equal.push_back(route);
    }
    return routes;
}

bool EcmpRouting::Forward(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    Ptr<Packet> payload = packet->Copy();
    Ipv4Header header;
    payload->RemoveHeader(header);
    Ptr<NetDevice> device =
        Lookup(header.GetSource(), header.GetDestination(), PeekPointer(payload))
            ->GetOutputDevice();
    m_control->Send(device,
                    Create<Ipv4QueueDiscItem>(
                        payload, device->GetBroadcast(), Ipv4L3Protocol::PROT_NUMBER, header));
    return true;
}

Ptr<Ipv4Route> EcmpRouting::RouteOutput(Ptr<Packet> packet,
                                        const Ipv4Header& header,
                                        Ptr<NetDevice>,
                                        Socket::SocketErrno& error)
{
    // A connecting socket asks for a route before it has a source address. A node has exactly one
    // address, so the source is this node's own.
    error = Socket::ERROR_NOTERROR;
    return Lookup(AddressOf(m_node), header.GetDestination(), PeekPointer(packet));
}

bool EcmpRouting::RouteInput(Ptr<const Packet> packet,
                             const Ipv4Header& header,
                             Ptr<const NetDevice> idev,
                             RouteInputArgument<UnicastForwardCallback> unicast,
                             RouteInputArgument<MulticastForwardCallback>,
                             RouteInputArgument<LocalDeliverCallback> local,
                             RouteInputArgument<ErrorCallback> error)
{
    if (header.GetDestination() == AddressOf(m_node))
    {
        local(packet, header, m_ipv4->GetInterfaceForDevice(idev));
        return true;
    }
    if (m_topology->IsHost(m_node))
    {
        error(packet, header, Socket::ERROR_NOROUTETOHOST);
        return false;
    }
    unicast(
        Lookup(header.GetSource(), header.GetDestination(), PeekPointer(packet)), packet, header);
    return true;
}

void EcmpRouting::NotifyInterfaceUp(uint32_t)
{
}

void EcmpRouting::NotifyInterfaceDown(uint32_t)
{
}

void EcmpRouting::NotifyAddAddress(uint32_t, Ipv4InterfaceAddress)
{
}

void EcmpRouting::NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress)
{
}

void EcmpRouting::SetIpv4(Ptr<Ipv4> ipv4)
{
    m_ipv4 = ipv4;
    m_control = ipv4 ? ipv4->GetObject<TrafficControlLayer>() : nullptr;
}

void EcmpRouting::PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit unit) const
{
    std::ostream& out = *stream->GetStream();
    out << "Node " << m_node << ", time " << Simulator::Now().As(unit) << ", " << m_topology->Name()
        << ", next hops of each destination\n";
    for (int host : m_topology->Hosts())
    {
        if (host == m_node)
        {
            continue;
        }
        out << "  " << AddressOf(host) << " (" << m_topology->NodeName(host) << "):";
        for (fabric::DirectedLink link : m_topology->NextHops(m_node, host))
        {
            out << " " << m_topology->NodeName(m_topology->To(link));
        }
        out << "\n";
    }
}

void EcmpRouting::DoDispose()
{
    m_routes.clear();
    m_ports.clear();
    m_ipv4 = nullptr;
    m_control = nullptr;
    Ipv4RoutingProtocol::DoDispose();
}

} // namespace packet
} // namespace legacy
