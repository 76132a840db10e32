/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_CHANNEL_POOL_H
#define LEGACY_CHANNEL_POOL_H

#include "fabric/engine/dead-link.h"
#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"
#include "message-channel.h"
#include "packet-network.h"

#include "ns3/object.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Owns one MessageChannel for each lane of an ordered pair of hosts that ever communicates, opened
 * at first use, and the listening sockets at their far ends.
 *
 * A flow may ask for a new connection in the place of the one before, which drains. A connection
 * without a handshake (fabric::Opening::Established, quic-0rtt, persistent after an idle time) was
 * opened before it was needed: the pool keeps such spare channels, and takes a new one only where
 * there is none yet.
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
     * \param lane connection among several of the two
     * \param opening whether it is the present one or takes its place
     * \return their channel; throws fabric::Error where there is no path
     */
    ns3::Ptr<MessageChannel>
    Get(int source, int destination, uint16_t lane, fabric::Opening opening);
    /// Begins another run, for which new connections without a handshake were opened before.
    void BeginRun();
    /**
     * \param source sending host
     * \param destination receiving host
     * \param lane connection among several of the two
     * \return the channels that may have messages of theirs, the present one first
     */
    std::vector<ns3::Ptr<MessageChannel>> Find(int source, int destination, uint16_t lane) const;
    /**
     * Lets the next flow of each channel that ends at a host open a new one.
     * \param host a node
     * \return the channels that were given up
     */
    std::vector<ns3::Ptr<MessageChannel>> Drop(int host);
    /**
     * Likewise for one channel.
     * \param channel to give up
     */
    void Drop(const MessageChannel& channel);
    /**
     * \param isDead whether a directed link carries nothing any more
     * \return the dead link on the way of a message, with a sentence; nothing where there is none
     */
    std::optional<fabric::DeadLink>
    FindDead(const std::function<bool(fabric::DirectedLink)>& isDead) const;
    /**
     * \return the messages on their way, a line for each of the first few
     */
    std::string DescribeBlocked() const;

  protected:
    void DoDispose() override;

  private:
    using HostPair = std::pair<int, int>;        //!< source and destination
    using Lane = std::tuple<int, int, uint16_t>; //!< source, destination and lane

    ns3::Ptr<MessageChannel> Open(int source, int destination); //!< a new channel
    ns3::Ptr<MessageChannel> TakeSpare(const Lane& lane);       //!< one that is open, if any is
    void Replace(const Lane& lane, ns3::Ptr<MessageChannel> channel); //!< retires the one before
    void Listen(int host);                                            //!< accepts connections
    void Accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from); //!< a connection came in
    uint32_t SendBuffer(int source, int destination) const; //!< bytes for MessageChannel::Open

    const fabric::Topology* m_topology{nullptr};         //!< routes
    ns3::Ptr<PacketNetwork> m_network;                   //!< nodes
    fabric::Transport m_transport;                       //!< buffers
    ChannelListener* m_listener{nullptr};                //!< listener of all channels
    uint16_t m_port{0};                                  //!< port that receivers listen on
    std::map<Lane, ns3::Ptr<MessageChannel>> m_channels; //!< channels that flows may use
    std::map<Lane, ns3::Ptr<MessageChannel>> m_spares;   //!< open ones that wait for a flow
    std::map<Lane, std::vector<ns3::Ptr<MessageChannel>>> m_retired; //!< ones that drain
    //! Channels that wait for their far ends, by source and port.
    std::map<std::pair<int, uint16_t>, ns3::Ptr<MessageChannel>> m_connecting;
    std::map<int, ns3::Ptr<ns3::Socket>> m_listeners; //!< listening sockets by host
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_CHANNEL_POOL_H
