/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TCP_CONNECTIONS_H
#define LEGACY_TCP_CONNECTIONS_H

#include "fabric/engine/dead-link.h"
#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"
#include "model/carrier.h"
#include "model/frames/numbers-by-name.h"
#include "tcp-connection.h"

#include <functional>
#include <map>
#include <memory>
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
 * All connections of a network by their names. A flow opens its connection, or takes another one in
 * its place, as its Opening and the kind of connections say. Connections that were replaced drain.
 * A connection that rests is kept as a TcpIdleConnection, and is continued where it is asked for.
 */
class TcpConnections
{
  public:
    using Name = fabric::ConnectionName;

    /**
     * \param topology outlives this object, as the transport does
     * \param transport buffers, windows and kinds of connections
     */
    TcpConnections(const fabric::Topology* topology, const fabric::Transport* transport);

    /**
     * \param number of a connection
     * \return the connection, which does not rest any more
     */
    TcpConnection& operator[](uint32_t number)
    {
        if (m_connections[number]->rests)
        {
            Continue(number);
        }
        return static_cast<TcpConnection&>(*m_connections[number]);
    }

    /**
     * \param number of a connection
     * \return what it keeps, whether or not it rests
     */
    TcpIdleConnection& Kept(uint32_t number)
    {
        return *m_connections[number];
    }

    /**
     * Lets a connection rest if nothing of it is under way. References to it are no longer valid.
     * \param number of the connection
     */
    void Rest(uint32_t number)
    {
        const TcpConnection* active = Active(number);
        if (active != nullptr && active->IsIdle() && active->segments.empty())
        {
            Settle(number);
        }
    }

    /// Called with the number of a connection that is to be opened.
    using Connect = std::function<void(uint32_t number)>;

    /**
     * \param name of the connection
     * \param opening whether the flow uses the present connection or replaces it
     * \param connect opens a connection
     * \return number of the flow's connection
     */
    uint32_t Get(const Name& name, fabric::Opening opening, const Connect& connect);
    /**
     * Begins another run: a new connection without a handshake counts as opened before it.
     * \param connect opens a connection
     */
    void BeginRun(const Connect& connect);
    /**
     * Adds a message after those of a connection.
     * \param number of the connection
     * \param graph number of the graph that sends it
     * \param flow the message, at least one byte
     */
    void Add(uint32_t number, uint64_t graph, const fabric::Flow& flow);
    /**
     * Withdraws a message: the part that was not sent is never sent.
     * \param name of the connection
     * \param graph number of the graph that sent it
     * \param flow the message
     * \return the number of its bytes that are carried anyway; nothing if it is not in flight
     */
    std::optional<int64_t> Abort(const Name& name, uint64_t graph, const fabric::Flow& flow);
    /**
     * Gives up the connections that end at a host, so that their next flows open new ones.
     * \param host a node
     * \return their messages
     */
    std::vector<Messages> Drop(int host);
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

  private:
    /// Frees a connection, whether or not it rests.
    struct Free
    {
        void operator()(TcpIdleConnection* connection) const;
    };

    void Settle(uint32_t number);   //!< lets it rest if it may
    void Continue(uint32_t number); //!< ends its rest

    /// Returns a connection; null: it rests.
    const TcpConnection* Active(uint32_t number) const
    {
        const TcpIdleConnection* kept = m_connections[number].get();
        return kept->rests ? nullptr : static_cast<const TcpConnection*>(kept);
    }

    /// Returns whether no message of it is on its way.
    bool IsIdle(uint32_t number) const;
    uint32_t Open(const Name& name, const Connect& connect);
    uint32_t GetPooled(const Name& name, const Connect& connect);
    uint32_t TakeIdle(std::vector<Name>& names);
    void Replace(const Name& name, uint32_t number);
    static std::optional<int64_t>
    Abort(TcpConnection& connection, uint64_t graph, const fabric::Flow& flow);
    std::vector<std::string> DescribeBlocked(const TcpConnection& connection) const;

    const fabric::Topology& m_topology;
    const fabric::Transport& m_transport;
    std::vector<std::unique_ptr<TcpIdleConnection, Free>> m_connections;
    NumbersByName m_present;                                   //!< connections that flows may use
    NumbersByName m_spares;                                    //!< open ones that wait for a flow
    std::map<Name, std::vector<uint32_t>> m_retired;           //!< those that drain
    std::map<std::pair<int, int>, std::vector<Name>> m_pooled; //!< names of pooled ones, by nodes
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TCP_CONNECTIONS_H
