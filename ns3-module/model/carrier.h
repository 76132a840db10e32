/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_CARRIER_H
#define LEGACY_CARRIER_H

#include "fabric/engine/connection.h"
#include "fabric/engine/dead-link.h"
#include "fabric/engine/engine.h"

#include "ns3/ptr.h"

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

class PacketNetwork;

/// Messages of graphs.
using Messages = std::deque<std::pair<uint64_t, fabric::Flow>>;

/// A CarrierListener is told of what happens to messages.
class CarrierListener
{
  public:
    virtual ~CarrierListener() = default;
    /// Bytes reached a receiver's application.
    virtual void OnProgress() = 0;
    /**
     * The last byte of a message reached the receiver's application.
     * \param graph the graph that sent it
     * \param flow the message
     * \param roce what became of it; null where the carrier does not know
     */
    virtual void
    OnArrived(uint64_t graph, const fabric::Flow& flow, const fabric::RoceFlow* roce = nullptr) = 0;
    /// A retransmission timer expired.
    virtual void OnRetransmitTimeout() = 0;
    /**
     * Messages were lost with their connection.
     * \param messages with their graphs
     */
    virtual void OnLost(const Messages& messages) = 0;
    /**
     * The run cannot continue.
     * \param error why
     */
    virtual void OnError(std::exception_ptr error) = 0;
};

/**
 * \ingroup legacy
 * Carries messages between nodes of a topology, packet by packet. Messages of
 * one connection arrive in the order in which they were sent.
 */
class Carrier
{
  public:
    virtual ~Carrier() = default;
    /**
     * Starts a message. Call it inside an event.
     * \param connection that carries it, between different nodes; opened with its first message
     * \param graph number of the graph that sends it
     * \param flow the message, not empty
     */
    virtual void
    Send(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow) = 0;
    /**
     * Withdraws a message that has not arrived.
     * \param connection that carries it
     * \param graph number of the graph that sent it
     * \param flow the message
     * \return its bytes that are carried all the same; nothing where it is not on its way
     */
    virtual std::optional<int64_t>
    Abort(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow) = 0;
    /// Begins a run of graphs, when there is none.
    virtual void BeginRun() = 0;
    /// Ends, before the simulator does.
    virtual void Dispose() = 0;

    /**
     * \param time nanoseconds at which rates and failures stand now
     */
    virtual void SetScheduleTime(TimeNs time) = 0;
    /**
     * \return nanoseconds at which rates and failures stand now
     */
    virtual TimeNs GetScheduleTime() const = 0;
    /**
     * \return time until now with at least one link that was out and comes back, or did
     */
    virtual TimeNs GetOutTime() const
    {
        return 0;
    }
    /**
     * \return true where a link carries nothing from now on, for ever
     */
    virtual bool AnyDead() const = 0;
    /**
     * \return the dead link on the way of a message, with a sentence; nothing where there is none
     */
    virtual std::optional<fabric::DeadLink> FindDead() const = 0;
    /**
     * Lets a host fail: its connections are lost.
     * \param host a node
     */
    virtual void FailHost(int host) = 0;

    /**
     * \return ns-3's nodes and devices; null where none carry messages
     */
    virtual ns3::Ptr<PacketNetwork> GetNetwork() const = 0;
    /**
     * \return counters by directed link
     */
    virtual std::vector<fabric::LinkCounters> GetCounters() const = 0;
    /**
     * \return what each directed link has sent and has waiting now
     */
    virtual std::vector<fabric::LinkActivity> GetActivity() const = 0;
    /**
     * \return what queue pairs and switches of RoCEv2 do now; nothing where there are none
     */
    virtual fabric::RoceActivity GetRoce() const
    {
        return {};
    }
    /**
     * Adds what the carrier counts itself.
     * \param counters of the engine
     */
    virtual void AddCounters(fabric::EngineCounters& counters) const = 0;
    /**
     * \return true where results depend on draws
     */
    virtual bool IsRandom() const = 0;
    /**
     * \return true where a step needs no step before it that opens connections
     */
    virtual bool StartsWarm() const = 0;
    /**
     * Assigns random streams.
     * \param draws number of assignments before
     */
    virtual void AssignStreams(uint64_t draws) = 0;
    /**
     * \return the messages on their way, a line for each of the first few
     */
    virtual std::string DescribeBlocked() const = 0;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_CARRIER_H
