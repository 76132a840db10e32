/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-network.h"

#include "base/error.h"
#include "ecmp-routing.h"
#include "path-rules.h"
#include "stoppable-device.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/log.h"
#include "ns3/node-list.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::DirectedLink;

NS_LOG_COMPONENT_DEFINE("LegacyPacketNetwork");
NS_OBJECT_ENSURE_REGISTERED(PacketNetwork);

namespace
{

/// Bytes of the IPv4 and TCP headers with all options.
constexpr int kLargestHeaders = 20 + 60;
constexpr int kEthernetMtu = 1500;

/// Returns an MTU that has room for a full segment with any TCP options, so that no segment is
/// fragmented.
uint16_t DeviceMtu(const fabric::Transport& transport)
{
    const int64_t room = std::max<int64_t>(kEthernetMtu, transport.segmentBytes + kLargestHeaders);
    return static_cast<uint16_t>(std::min(room, fabric::kMostMtu));
}

/// Throws Error if a frame lasts only a few nanoseconds. ns-3 counts whole nanoseconds, so it would
/// send such a frame at a different rate.
void CheckFrameTime(int64_t rateBps, const fabric::Transport& transport)
{
    constexpr double kTolerance = 0.01;
    const DataRate rate(static_cast<uint64_t>(rateBps));
    const auto bytes = transport.FrameBytes();
    const double exact = 8e9 * static_cast<double>(bytes) / static_cast<double>(rateBps);
    const auto rounded = static_cast<double>(
        rate.CalculateBytesTxTime(static_cast<uint32_t>(bytes)).GetNanoSeconds());
    if (std::abs(rounded - exact) > kTolerance * exact)
    {
        throw Error("packet fidelity: rate of a link",
                    FormatRate(rateBps),
                    "a rate at which ns-3 times a frame to 1 %: it counts whole "
                    "nanoseconds, and a frame of " +
                        std::to_string(bytes) + " bytes takes " +
                        std::to_string(exact).substr(0, 5) +
                        " ns here. Use flow fidelity, or a larger MTU (--mtu)");
    }
}

/// Returns a hardware address that is made from the link's number, because Mac48Address::Allocate
/// counts over the whole process.
Mac48Address MacOf(DirectedLink link)
{
    uint8_t bytes[6] = {0x02, 0, 0, 0, 0, 0}; // this is a locally administered address
    for (int i = 0; i < 4; ++i)
    {
        bytes[5 - i] = static_cast<uint8_t>(link >> (8 * i));
    }
    Mac48Address address;
    address.CopyFrom(bytes);
    return address;
}

} // namespace

TypeId PacketNetwork::GetTypeId()
{
    static TypeId tid =
        TypeId("legacy::PacketNetwork")
            .SetParent<Object>()
            .SetGroupName("Legacy")
            .AddConstructor<PacketNetwork>()
            .AddAttribute("DeviceQueuePackets",
                          "Packets in the device queue below a queue disc. It is short, as its "
                          "packets are not marked; with one packet, a port can stop for good after "
                          "an enqueue.",
                          UintegerValue(2),
                          MakeUintegerAccessor(&PacketNetwork::m_deviceQueuePackets),
                          MakeUintegerChecker<uint32_t>(2));
    return tid;
}

void PacketNetwork::Build(const fabric::Topology* topology,
                          const std::vector<int>& endpoints,
                          const fabric::Transport& transport)
{
    m_topology = topology;
    m_transport = transport;
    std::vector<bool> isEndpoint(topology->NodeCount());
    for (int node : endpoints)
    {
        isEndpoint[node] = true;
    }
    m_roundTrip = LongestRoundTrip(*topology, endpoints, transport.FrameBytes());
    for (int node = 0; node < topology->NodeCount(); ++node)
    {
        AddNode(node, isEndpoint[node]);
    }
    const int links = static_cast<int>(topology->Links().size());
    for (int i = 0; i < links; ++i)
    {
        Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
        for (const fabric::Port& port : topology->Links()[i].ports)
        {
            CheckFrameTime(port.rateBps, transport);
        }
        channel->SetAttribute("Delay", TimeValue(NanoSeconds(topology->Links()[i].delay)));
        AddPort(2 * i, channel);
        AddPort(2 * i + 1, channel);
    }
    for (DirectedLink link = 0; link < 2 * links; ++link)
    {
        // A packet that the error model at the far end drops was lost on this link.
        GetDevice(link ^ 1)->TraceConnectWithoutContext(
            "PhyRxDrop", MakeBoundCallback(&LinkMeter::OnLost, m_ports[link].meter));
        AddLoss(link);
    }
}

void PacketNetwork::AddNode(int node, bool endpoint)
{
    Ptr<Node> created = CreateObject<Node>();
    Ptr<Ipv4L3Protocol> ipv4 = CreateObject<Ipv4L3Protocol>();
    created->AggregateObject(ipv4);
    created->AggregateObject(CreateObject<TrafficControlLayer>());
    if (endpoint || m_topology->IsHost(node))
    {
        created->AggregateObject(CreateObject<TcpL4Protocol>());
    }
    Ptr<EcmpRouting> routing = CreateObject<EcmpRouting>();
    routing->SetTopology(m_topology, node, &m_connections);
    ipv4->SetRoutingProtocol(routing);
    m_nodes.push_back(created);
}

void PacketNetwork::AddPort(DirectedLink link, Ptr<PointToPointChannel> channel)
{
    const int from = m_topology->From(link);
    Port port;
    port.meter = Create<LinkMeter>(m_topology->PortOf(link).rateBps);
    if (m_topology->PortOf(link).schedule)
    {
        port.device = CreateObject<StoppableDevice>();
    }
    else
    {
        port.device = CreateObject<PointToPointNetDevice>();
    }
    port.device->SetAddress(MacOf(link));
    port.device->SetDataRate(DataRate(static_cast<uint64_t>(LineRate(m_topology->PortOf(link)))));
    port.device->SetMtu(DeviceMtu(m_transport));
    m_nodes[from]->AddDevice(port.device);
    AddQueues(link, port);
    port.device->Attach(channel);
    port.device->TraceConnectWithoutContext("PhyTxBegin",
                                            MakeBoundCallback(&LinkMeter::OnTransmit, port.meter));

    Ptr<Ipv4> ipv4 = m_nodes[from]->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(port.device);
    // Interface 0 is the loopback. A node that ends connections has one address, however many links
    // it has.
    if (interface == 1 && m_nodes[from]->GetObject<TcpL4Protocol>())
    {
        ipv4->AddAddress(interface,
                         Ipv4InterfaceAddress(EcmpRouting::AddressOf(from), Ipv4Mask("255.0.0.0")));
    }
    ipv4->SetUp(interface);
    Ptr<EcmpRouting> routing = DynamicCast<EcmpRouting>(ipv4->GetRoutingProtocol());
    routing->AddPort(link, port.device);
    if (!m_nodes[from]->GetObject<TcpL4Protocol>())
    {
        // A plain pointer suffices: the routing protocol lives as long as the node, and holds its
        // devices.
        port.device->SetReceiveCallback(MakeCallback(&EcmpRouting::Forward, PeekPointer(routing)));
    }
    m_ports.push_back(port);
}

void PacketNetwork::AddLoss(DirectedLink link)
{
    const double rate = m_topology->PortOf(link).errorRate;
    if (rate == 0)
    {
        return;
    }
    Ptr<RateErrorModel> loss = CreateObject<RateErrorModel>();
    loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    loss->SetRate(rate);
    GetDevice(link ^ 1)->SetReceiveErrorModel(loss);
    m_ports[link].loss = loss;
}

Ptr<Node> PacketNetwork::GetNode(int node) const
{
    return m_nodes.at(node);
}

void PacketNetwork::SetRate(DirectedLink link, int64_t rateBps)
{
    const Port& port = m_ports[link];
    Ptr<StoppableDevice> device = DynamicCast<StoppableDevice>(port.device);
    if (rateBps == 0)
    {
        device->Stop();
        return;
    }
    port.meter->SetRate(rateBps);
    device->SetDataRate(DataRate(static_cast<uint64_t>(rateBps)));
    device->Resume();
}

Ptr<PointToPointNetDevice> PacketNetwork::GetDevice(DirectedLink link) const
{
    return m_ports.at(link).device;
}

void PacketNetwork::AddConnection(const fabric::ConnectionName& connection, uint16_t port)
{
    m_connections.Set(connection.source, port, connection.id);
}

std::vector<fabric::LinkCounters> PacketNetwork::GetCounters() const
{
    std::vector<fabric::LinkCounters> counters;
    counters.reserve(m_ports.size());
    for (const Port& port : m_ports)
    {
        fabric::LinkCounters counter;
        counter.bytes = port.meter->GetBytes();
        counter.packets = port.meter->GetPackets();
        counter.drops = port.meter->GetLost() + port.queue->GetTotalDroppedPackets();
        counter.maxQueueBytes = port.meter->GetMaxQueued();
        counter.busy = port.meter->GetBusy();
        counter.peak = port.meter->GetPeak();
        if (port.disc)
        {
            const QueueDisc::Stats& stats = port.disc->GetStats();
            counter.drops += stats.nTotalDroppedPackets;
            counter.marks = stats.nTotalMarkedPackets;
        }
        counters.push_back(counter);
    }
    return counters;
}

std::vector<fabric::LinkActivity> PacketNetwork::GetActivity() const
{
    std::vector<fabric::LinkActivity> activity;
    activity.reserve(m_ports.size());
    for (const Port& port : m_ports)
    {
        fabric::LinkActivity now;
        now.bytes = port.meter->GetSent();
        now.queueBytes = port.queue->GetNBytes() + (port.disc ? port.disc->GetNBytes() : 0);
        activity.push_back(now);
    }
    return activity;
}

uint64_t PacketNetwork::GetPacketsToHosts() const
{
    uint64_t packets = 0;
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(m_ports.size()); ++link)
    {
        if (m_topology->IsHost(m_topology->To(link)))
        {
            packets += m_ports[link].meter->GetPackets();
        }
    }
    return packets;
}

bool PacketNetwork::IsRandom() const
{
    if (std::any_of(
            m_ports.begin(), m_ports.end(), [](const Port& port) { return port.loss != nullptr; }))
    {
        return true;
    }
    // RED draws only between its thresholds, and all ports are configured alike.
    return m_transport.ecn &&
           std::any_of(m_transport.attributes.begin(),
                       m_transport.attributes.end(),
                       [](const auto& attribute)
                       { return attribute.first.rfind("ns3::RedQueueDisc::", 0) == 0; });
}

int64_t PacketNetwork::AssignStreams(int64_t stream)
{
    int64_t next = stream;
    for (const Port& port : m_ports)
    {
        if (port.red)
        {
            next += port.red->AssignStreams(next);
        }
        if (port.loss)
        {
            next += port.loss->AssignStreams(next);
        }
    }
    return next - stream;
}

void PacketNetwork::DoDispose()
{
    m_ports.clear();
    m_nodes.clear();
    Object::DoDispose();
}

} // namespace packet
} // namespace legacy
