/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_CHANNEL_POOL_H
#define LEGACY_CHANNEL_POOL_H

#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"
#include "message-channel.h"
#include "packet-network.h"

#include "ns3/object.h"

#include <map>
#include <string>
#include <utility>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Owns one MessageChannel for each ordered pair of hosts that ever communicates, opened at first
 * use, and the listening sockets at their far ends.
 */
class ChannelPool : public ns3::Object
{
  public:
    /**
     * \return the type's id
     */
    static ns3::TypeId GetTypeId();

    /**
     * \param topology outlives this object
     * \param network built of it
     * \param transport buffer sizes
     * \param listener of all channels, outlives this object
     */
    void Build(const fabric::Topology* topology,
               ns3::Ptr<PacketNetwork> network,
               const fabric::Transport& transport,
               ChannelListener* listener);
    /**
     * Call it inside an event: a new channel connects at once.
     * \param source sending host
     * \param destination receiving host
     * \return their channel; throws fabric::Error where there is no path
     */
    ns3::Ptr<MessageChannel> Get(int source, int destination);
    /**
     * \return the messages on their way, a line for each of the first few
     */
    std::string DescribeBlocked() const;

  protected:
    void DoDispose() override;

  private:
    using HostPair = std::pair<int, int>; //!< source and destination

    void Listen(int host);                                                 //!< accepts connections
    void Accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from); //!< a connection came in
    uint32_t SendBuffer(int source, int destination) const; //!< bytes for MessageChannel::Open

    const fabric::Topology* m_topology{nullptr};             //!< routes
    ns3::Ptr<PacketNetwork> m_network;                       //!< nodes
    fabric::Transport m_transport;                           //!< buffers
    ChannelListener* m_listener{nullptr};                    //!< listener of all channels
    uint16_t m_port{0};                                      //!< port that receivers listen on
    std::map<HostPair, ns3::Ptr<MessageChannel>> m_channels; //!< open channels
    std::map<int, ns3::Ptr<ns3::Socket>> m_listeners;        //!< listening sockets by host
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_CHANNEL_POOL_H
