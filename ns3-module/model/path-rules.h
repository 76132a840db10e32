/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_PATH_RULES_H
#define LEGACY_PATH_RULES_H

#include "fabric/engine/transport.h"
#include "fabric/topology/topology.h"

#include <vector>

namespace legacy
{
namespace packet
{

// Rates, queues and buffers that TCP has at packet fidelity, over our own packets and ns-3's.

/**
 * \param port of a link
 * \return the rate at which it sends a frame: after a token bucket, the line is fast
 */
int64_t LineRate(const fabric::Port& port);

/**
 * \param topology a network
 * \param endpoints nodes that send or receive
 * \param frameBytes of a full frame
 * \return the time that a full frame takes both ways on the longest path of an endpoint
 */
TimeNs LongestRoundTrip(const fabric::Topology& topology,
                        const std::vector<int>& endpoints,
                        int64_t frameBytes);

/**
 * \param port of a switch
 * \param transport of connections and queues
 * \param roundTrip longest round trip over it
 * \return bytes of its queue: its own, or the transport's rule
 */
int64_t
QueueBytesOf(const fabric::Port& port, const fabric::Transport& transport, TimeNs roundTrip);

/**
 * \param port of a switch
 * \param transport of connections and queues
 * \param queueBytes of its queue
 * \return bytes in the queue above which it marks
 */
int64_t
MarkBytesOf(const fabric::Port& port, const fabric::Transport& transport, int64_t queueBytes);

/**
 * \param topology a network
 * \param transport of connections and queues
 * \param forth links of data
 * \param back links of ACKs
 * \return bytes of a connection's buffer at each end
 */
int64_t SocketBufferOf(const fabric::Topology& topology,
                       const fabric::Transport& transport,
                       const std::vector<fabric::DirectedLink>& forth,
                       const std::vector<fabric::DirectedLink>& back);

} // namespace packet
} // namespace legacy

#endif // LEGACY_PATH_RULES_H
