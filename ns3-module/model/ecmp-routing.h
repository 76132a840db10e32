/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ECMP_ROUTING_H
#define LEGACY_ECMP_ROUTING_H

#include "compat.h"
#include "fabric/topology/topology.h"

#include "ns3/ipv4-routing-protocol.h"
#include "ns3/traffic-control-layer.h"

#include <unordered_map>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Equal-cost multipath over the shortest paths of a fabric::Topology.
 *
 * Per flow (Multipath::Ecmp), the next hop is Topology::NextHop of (node, source, destination), a
 * hash that does not change over a flow's life: packets of one connection stay in order, and the
 * flow and analytic engines take the same links. Per packet (Multipath::Spray), every node sends
 * the packets of one source and destination to all its next hops in turn, from that one on. It
 * draws no random number. Packets overtake each other where queues differ. Hosts do not forward.
 */
class EcmpRouting : public ns3::Ipv4RoutingProtocol
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /**
     * \param node number in the topology
     * \return its address: 10.0.0.0 + node + 1
     */
    static ns3::Ipv4Address AddressOf(int node);
    /**
     * \param address an address of AddressOf
     * \return the node's number in the topology
     */
    static int NodeOf(ns3::Ipv4Address address);

    /**
     * \param topology routes; outlives this object
     * \param node the node that this protocol runs on
     */
    void SetTopology(const fabric::Topology* topology, int node);
    /**
     * \param link outgoing link of the node
     * \param device the port that sends on it
     */
    void AddPort(fabric::DirectedLink link, ns3::Ptr<ns3::NetDevice> device);

    /**
     * Forwards a packet directly, without the IPv4 layer, whose checks, traces and time to live a
     * loop-free fabric does not need. This takes 14 % less work for a ring all-reduce on a k=4
     * fat-tree, at the same times. It is the NetDevice::ReceiveCallback of nodes where no
     * connection ends.
     * \param device that received
     * \param packet with its IPv4 header
     * \param protocol of the packet
     * \param from sender's hardware address
     * \return true: taken
     */
    bool Forward(ns3::Ptr<ns3::NetDevice> device,
                 ns3::Ptr<const ns3::Packet> packet,
                 uint16_t protocol,
                 const ns3::Address& from);

    // Inherited from Ipv4RoutingProtocol
    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet> packet,
                                         const ns3::Ipv4Header& header,
                                         ns3::Ptr<ns3::NetDevice> oif,
                                         ns3::Socket::SocketErrno& error) override;
    bool RouteInput(ns3::Ptr<const ns3::Packet> packet,
                    const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> idev,
                    RouteInputArgument<UnicastForwardCallback> unicast,
                    RouteInputArgument<MulticastForwardCallback> multicast,
                    RouteInputArgument<LocalDeliverCallback> local,
                    RouteInputArgument<ErrorCallback> error) override;
    void NotifyInterfaceUp(uint32_t interface) override;
    void NotifyInterfaceDown(uint32_t interface) override;
    void NotifyAddAddress(uint32_t interface, ns3::Ipv4InterfaceAddress address) override;
    void NotifyRemoveAddress(uint32_t interface, ns3::Ipv4InterfaceAddress address) override;
    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override;
    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper> stream,
                           ns3::Time::Unit unit) const override;

  protected:
    void DoDispose() override;

  private:
    /// Routes that a source's packets to a destination may take.
    struct Routes
    {
        std::vector<ns3::Ptr<ns3::Ipv4Route>> equal; //!< one route, or all of equal length
        std::size_t last{0}; //!< index of the route that the last packet took
    };

    /**
     * \param source source address
     * \param destination destination address
     * \return the route of the pair's next packet
     */
    const ns3::Ptr<ns3::Ipv4Route>& Lookup(ns3::Ipv4Address source, ns3::Ipv4Address destination);
    /**
     * \param source source address
     * \param destination destination address
     * \return the pair's routes, looked up in the topology
     */
    Routes MakeRoutes(ns3::Ipv4Address source, ns3::Ipv4Address destination) const;

    const fabric::Topology* m_topology{nullptr};  //!< source of the routes
    int m_node{-1};                               //!< number of our node in it
    ns3::Ptr<ns3::Ipv4> m_ipv4;                   //!< the node's IPv4
    ns3::Ptr<ns3::TrafficControlLayer> m_control; //!< the node's queue discs
    std::unordered_map<fabric::DirectedLink, ns3::Ptr<ns3::NetDevice>> m_ports; //!< devices by link
    std::unordered_map<uint64_t, Routes> m_routes; //!< routes by (source, destination)
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ECMP_ROUTING_H
