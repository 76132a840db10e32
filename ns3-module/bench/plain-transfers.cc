/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plain-transfers.h"

#include "base/error.h"
#include "helper/simulation-scope.h"
#include "helper/simulator-lease.h"

#include "ns3/bulk-send-helper.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-generator.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <string>

namespace legacy
{
namespace packet
{

using namespace ns3;

namespace
{

constexpr uint16_t kPort = 5001;
constexpr int kLargestHeaders = 20 + 60; // headers of IPv4 and TCP with all options
constexpr int kEthernetMtu = 1500;

NodeContainer MakeNetwork(const fabric::Topology& topology, const fabric::Transport& transport)
{
    NodeContainer nodes;
    nodes.Create(topology.NodeCount());
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    PointToPointHelper links;
    const int mtu = std::max(kEthernetMtu, transport.segmentBytes + kLargestHeaders);
    links.SetDeviceAttribute("Mtu", UintegerValue(static_cast<uint64_t>(mtu)));
    for (const fabric::Link& link : topology.Links())
    {
        links.SetDeviceAttribute("DataRate",
                                 StringValue(std::to_string(link.ports[0].rateBps) + "bps"));
        links.SetChannelAttribute("Delay", StringValue(std::to_string(link.delay) + "ns"));
        addresses.Assign(links.Install(nodes.Get(link.a), nodes.Get(link.b)));
        addresses.NewNetwork();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    return nodes;
}

} // namespace

uint64_t RunPlainTransfers(const fabric::Topology& topology,
                           const fabric::Transport& transport,
                           const std::vector<std::pair<int, int>>& transfers,
                           int64_t bytes)
{
    const SimulatorLease lease(false);
    fabric::Transport same = transport;
    const std::string buffer = std::to_string(transport.SocketBuffer(1, 1));
    same.attributes.emplace("ns3::TcpSocket::SndBufSize", buffer);
    same.attributes.emplace("ns3::TcpSocket::RcvBufSize", buffer);
    const SimulationScope scope(same, 1, 0);
    Ipv4AddressGenerator::Reset();
    const NodeContainer nodes = MakeNetwork(topology, transport);
    ApplicationContainer sinks;
    for (const auto& [source, destination] : transfers)
    {
        const Ipv4Address address =
            nodes.Get(destination)->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
        BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(address, kPort));
        sender.SetAttribute("MaxBytes", UintegerValue(static_cast<uint64_t>(bytes)));
        sender.SetAttribute("SendSize",
                            UintegerValue(static_cast<uint64_t>(transport.segmentBytes)));
        sender.Install(nodes.Get(source));
        sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory",
                                   InetSocketAddress(Ipv4Address::GetAny(), kPort))
                      .Install(nodes.Get(destination)));
    }
    Simulator::Run();
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        const uint64_t received = DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
        if (received != static_cast<uint64_t>(bytes))
        {
            throw Error(
                "bytes of a plain ns-3 transfer", std::to_string(received), std::to_string(bytes));
        }
    }
    return Simulator::GetEventCount();
}

} // namespace packet
} // namespace legacy
