/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ECMP_ROUTING_H
#define LEGACY_ECMP_ROUTING_H

#include "base/hash.h"
#include "compat.h"
#include "connection-table.h"
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
 * Per connection (Multipath::Ecmp), the next hop is Topology::NextHop of (node, source,
 * destination, connection), a hash that does not change during a connection's life: its packets
 * stay in order, and the flow and analytic engines take the same links. Per packet
 * (Multipath::Spray), every node sends the packets of a connection to all its next hops in turn,
 * starting with that one. No random numbers are drawn. Packets overtake each other where queues
 * differ. Hosts do not forward.
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
     * \param connections whose packets the node may see; outlives this object
     */
    void
    SetTopology(const fabric::Topology* topology, int node, const ConnectionTable* connections);
    /**
     * \param link outgoing link of the node
     * \param device the port that sends on it
     */
    void AddPort(fabric::DirectedLink link, ns3::Ptr<ns3::NetDevice> device);

    /**
     * Forwards a packet directly, without the IPv4 layer, whose checks, traces and time to live a
     * loop-free fabric does not need. This takes 14 % less work for a ring all-reduce on a k=4
     * fat-tree, and simulated times are the same. It is the NetDevice::ReceiveCallback of nodes at
     * which no connection ends.
     * \param device that received the packet
     * \param packet with its IPv4 header
     * \param protocol of the packet
     * \param from sender's hardware address
     * \return true: the packet was taken
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
    /// A Way identifies the packets that share routes: by their two nodes and the number of their
    /// connection.
    struct Way
    {
        int source{0};
        int destination{0};
        fabric::ConnectionId id{0};

        bool operator==(const Way& other) const
        {
            return source == other.source && destination == other.destination && id == other.id;
        }
    };

    /// Hashes a way.
    struct WayHash
    {
        std::size_t operator()(const Way& way) const
        {
            const uint64_t ends =
                static_cast<uint64_t>(way.source) << 32 | static_cast<uint32_t>(way.destination);
            return Mix64(ends ^ way.id * 0x9E3779B97F4A7C15ULL);
        }
    };

    /// The routes that packets of one way may take.
    struct Routes
    {
        std::vector<ns3::Ptr<ns3::Ipv4Route>> equal; //!< one route, or all of equal length
        std::size_t last{0}; //!< index of the route that the last packet took
    };

    /**
     * \param source source address
     * \param destination destination address
     * \param packet without its IPv4 header; null or empty: the first connection is meant
     * \return the route of the connection's next packet
     */
    const ns3::Ptr<ns3::Ipv4Route>&
    Lookup(ns3::Ipv4Address source, ns3::Ipv4Address destination, const ns3::Packet* packet);
    /**
     * \param source node
     * \param destination node
     * \param packet without its IPv4 header; null or empty: the first connection is meant
     * \return the number of the packet's connection, found by the port of its sending end: for
     * data, that is the packet's source port, and for ACKs, its destination port
     */
    fabric::ConnectionId IdOf(int source, int destination, const ns3::Packet* packet) const;
    /**
     * \param way of a packet
     * \return its routes, looked up in the topology
     */
    Routes MakeRoutes(const Way& way) const;

    const fabric::Topology* m_topology{nullptr};   //!< source of the routes
    int m_node{-1};                                //!< number of this node in the topology
    const ConnectionTable* m_connections{nullptr}; //!< numbers of connections
    ns3::Ptr<ns3::Ipv4> m_ipv4;                    //!< the node's IPv4
    ns3::Ptr<ns3::TrafficControlLayer> m_control;  //!< the node's queue discs
    std::unordered_map<fabric::DirectedLink, ns3::Ptr<ns3::NetDevice>> m_ports; //!< devices by link
    std::unordered_map<Way, Routes, WayHash> m_routes;                          //!< routes by ways
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ECMP_ROUTING_H
