/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_CHANNEL_POOL_H
#define LEGACY_CHANNEL_POOL_H

#include "fabric/engine/connection.h"
#include "fabric/engine/dead-link.h"
#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"
#include "host-socket.h"
#include "message-channel.h"
#include "packet-network.h"

#include "ns3/object.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Owns one MessageChannel, opened at first use, for each connection that ever carries a message,
 * and the listening sockets at the far ends.
 *
 * Flows that have a connection each (fabric::Opening::Pooled) take an idle channel between their
 * nodes, which follows the path of their connection from then on, because ns-3's cost grows with
 * the sockets of a host. Where each flow opens a connection, they get a new channel.
 *
 * A flow may ask for a new connection in place of the former one, which drains. A connection
 * without a handshake (fabric::Opening::Established, quic-0rtt, persistent after an idle time) was
 * opened before it was needed: the pool keeps such spare channels, and opens a new channel only if
 * there is no spare one yet.
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
     * Returns the channel of a connection. Call it inside an event: a new channel connects at once.
     * \param connection name of the connection
     * \param opening whether the flow uses the present connection or replaces it
     * \return its channel; throws Error if there is no path, or no port is left
     */
    ns3::Ptr<MessageChannel> Get(const fabric::ConnectionName& connection, fabric::Opening opening);
    /// Begins another run: a new connection without a handshake counts as opened before it.
    void BeginRun();
    /**
     * \param connection name of the connection
     * \return the channels that may have messages of the connection, the present one first
     */
    std::vector<ns3::Ptr<MessageChannel>> Find(const fabric::ConnectionName& connection) const;
    /**
     * Gives up the channels that end at a host, so that their next flows open new ones.
     * \param host a node
     * \return the channels that were given up
     */
    std::vector<ns3::Ptr<MessageChannel>> Drop(int host);
    /**
     * Gives up one channel in the same way.
     * \param channel to give up
     */
    void Drop(const MessageChannel& channel);
    /**
     * \param isDead whether a directed link carries nothing any more
     * \return the dead link on the path of a message, with a sentence; nothing if there is none
     */
    std::optional<fabric::DeadLink>
    FindDead(const std::function<bool(fabric::DirectedLink)>& isDead) const;
    /**
     * \return a description of the messages in flight, with a line for each of the first few
     */
    std::string DescribeBlocked() const;

  protected:
    void DoDispose() override;

  private:
    using Name = fabric::ConnectionName;

    ns3::Ptr<MessageChannel> Open(const Name& name);                  //!< a new channel
    ns3::Ptr<MessageChannel> GetPooled(const Name& name);             //!< an idle one, or a new one
    ns3::Ptr<MessageChannel> TakeIdle(std::vector<Name>& names);      //!< an idle one, or null
    ns3::Ptr<MessageChannel> TakeSpare(const Name& name);             //!< an open one, or null
    void Replace(const Name& name, ns3::Ptr<MessageChannel> channel); //!< retires the former one
    ns3::Ptr<HostSocket> MakeSocket(int host) const;
    void Listen(int host);                                                 //!< accepts connections
    void Accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from); //!< a connection came in
    uint32_t SendBuffer(const Name& name) const; //!< bytes for MessageChannel::Open

    const fabric::Topology* m_topology{nullptr};         //!< routes
    ns3::Ptr<PacketNetwork> m_network;                   //!< nodes
    fabric::Transport m_transport;                       //!< buffers
    ChannelListener* m_listener{nullptr};                //!< listener of all channels
    uint16_t m_port{0};                                  //!< port that receivers listen on
    std::map<Name, ns3::Ptr<MessageChannel>> m_channels; //!< channels that flows may use
    std::map<Name, ns3::Ptr<MessageChannel>> m_spares;   //!< open ones that wait for a flow
    std::map<Name, std::vector<ns3::Ptr<MessageChannel>>> m_retired; //!< ones that drain
    std::map<std::pair<int, int>, std::vector<Name>> m_pooled; //!< names of pooled ones, by nodes
    //! Channels that wait for their far ends, by source and port.
    std::map<std::pair<int, uint16_t>, ns3::Ptr<MessageChannel>> m_connecting;
    std::map<int, ns3::Ptr<ns3::Socket>> m_listeners; //!< listening sockets by host
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_CHANNEL_POOL_H
