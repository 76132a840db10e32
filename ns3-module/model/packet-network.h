/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PACKET_NETWORK_H
#define LEGACY_PACKET_NETWORK_H

#include "connection-table.h"
#include "fabric/engine/connection.h"
#include "fabric/engine/engine.h"
#include "link-meter.h"

#include "ns3/error-model.h"
#include "ns3/node.h"
#include "ns3/object.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"
#include "ns3/queue.h"
#include "ns3/red-queue-disc.h"

#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Builds a fabric::Topology of ns-3 nodes, point-to-point links, IPv4 stacks and queues.
 *
 * If the transport marks, a switch port has a RED queue disc on a device queue of a few packets.
 * Its two thresholds are equal (as DCTCP requires: Alizadeh et al., SIGCOMM'10, section 3.1), so it
 * draws no random numbers unless the user sets RED attributes. If the transport does not mark, a
 * switch port is a drop-tail device queue. Hosts neither mark nor drop: their sockets share the
 * line evenly and have only a few segments in its queue (HostQueueDisc, HostSocket).
 *
 * No other queue disc is installed, no checksum is computed, and nothing is traced to files.
 */
class PacketNetwork : public ns3::Object
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /**
     * Builds the network, once.
     * \param topology outlives this object
     * \param endpoints nodes that will send or receive, hosts or switches; the longest path among
     * them sets the size of queues
     * \param transport settings of queues and thresholds; attributes named in it keep ns-3's
     * defaults
     */
    void Build(const fabric::Topology* topology,
               const std::vector<int>& endpoints,
               const fabric::Transport& transport);

    /**
     * \param node number in the topology
     * \return its ns-3 node
     */
    ns3::Ptr<ns3::Node> GetNode(int node) const;
    /**
     * \param link a directed link
     * \return the device that sends on it
     */
    ns3::Ptr<ns3::PointToPointNetDevice> GetDevice(fabric::DirectedLink link) const;
    /**
     * \param link a directed link with a schedule
     * \param rateBps its rate from the next frame on; 0: it begins no frame
     */
    void SetRate(fabric::DirectedLink link, int64_t rateBps);
    /**
     * Tells all nodes which port a connection uses.
     * \param connection name of the connection
     * \param port of its sending end
     */
    void AddConnection(const fabric::ConnectionName& connection, uint16_t port);
    /**
     * \return what each directed link has carried so far
     */
    std::vector<fabric::LinkCounters> GetCounters() const;
    /**
     * \return what each directed link has sent so far, and what waits there now
     */
    std::vector<fabric::LinkActivity> GetActivity() const;
    /**
     * \return number of packets sent to hosts on their last link
     */
    uint64_t GetPacketsToHosts() const;
    /**
     * \return true if a queue disc or a lossy link may draw random numbers
     */
    bool IsRandom() const;
    /**
     * \param stream first random stream
     * \return number of streams assigned, which is the same in each call
     */
    int64_t AssignStreams(int64_t stream);

  protected:
    void DoDispose() override;

  private:
    /// The sending side of one directed link.
    struct Port
    {
        ns3::Ptr<ns3::PointToPointNetDevice> device; //!< device that sends
        ns3::Ptr<ns3::Queue<ns3::Packet>> queue;     //!< queue of the device
        ns3::Ptr<ns3::QueueDisc> disc;               //!< null if there is only the device queue
        ns3::Ptr<ns3::RedQueueDisc> red;             //!< `disc` if it is a RED queue, else null
        ns3::Ptr<LinkMeter> meter;                   //!< counters of the link
        ns3::Ptr<ns3::RateErrorModel> loss; //!< error model of this link's packets; null: none
    };

    /**
     * Creates a node with its stack. A host or an endpoint has TCP and an address.
     * \param node number in the topology
     * \param endpoint whether it will send or receive
     */
    void AddNode(int node, bool endpoint);
    /**
     * Creates the sending side of a directed link.
     * \param link the link
     * \param channel the wire
     */
    void AddPort(fabric::DirectedLink link, ns3::Ptr<ns3::PointToPointChannel> channel);
    /**
     * Makes the link lose packets at its error rate.
     * \param link the link, whose ports both exist
     */
    void AddLoss(fabric::DirectedLink link);
    /**
     * \param link the link whose port gets a device queue, and a queue disc if it is a host's or
     * the transport marks
     * \param port the port
     */
    void AddQueues(fabric::DirectedLink link, Port& port);
    /**
     * \param link a link with a token bucket
     * \param queue the queue of what waits for tokens
     * \return the bucket with that queue
     */
    ns3::Ptr<ns3::QueueDisc> AddBucket(fabric::DirectedLink link,
                                       ns3::Ptr<ns3::QueueDisc> queue) const;
    /**
     * \param link the link of a switch's port
     * \return the size of its queue in bytes
     */
    int64_t QueueBytes(fabric::DirectedLink link) const;
    /**
     * \param link the link of a switch's port
     * \return a queue that marks above its threshold
     */
    ns3::Ptr<ns3::RedQueueDisc> MakeRed(fabric::DirectedLink link) const;
    /**
     * \param attribute full name, "ns3::RedQueueDisc::MinTh"
     * \return true if the user has set it
     */
    bool IsUserSet(const std::string& attribute) const;

    const fabric::Topology* m_topology{nullptr}; //!< topology that is built
    ConnectionTable m_connections;    //!< ports and numbers of the connections that were opened
    fabric::Transport m_transport;    //!< settings of queues and marks
    TimeNs m_roundTrip{0};            //!< round trip of the longest path among the endpoints
    uint32_t m_deviceQueuePackets{2}; //!< packets in a device queue below a queue disc
    std::vector<ns3::Ptr<ns3::Node>> m_nodes; //!< nodes by number in the topology
    std::vector<Port> m_ports;                //!< ports by directed link
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_PACKET_NETWORK_H
