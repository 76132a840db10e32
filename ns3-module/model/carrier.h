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

/// Messages with the number of the graph that sends each.
using Messages = std::deque<std::pair<uint64_t, fabric::Flow>>;

/// A CarrierListener is told what happens to messages.
class CarrierListener
{
  public:
    virtual ~CarrierListener() = default;
    /// Called when bytes have reached a receiver's application.
    virtual void OnProgress() = 0;
    /**
     * Called when the last byte of a message has reached the receiver's application.
     * \param graph number of the graph that sent it
     * \param flow the message
     * \param roce record of what happened to it; null if the carrier keeps none
     */
    virtual void
    OnArrived(uint64_t graph, const fabric::Flow& flow, const fabric::RoceFlow* roce = nullptr) = 0;
    /// Called when a retransmission timer has expired.
    virtual void OnRetransmitTimeout() = 0;
    /**
     * Called when messages were lost with their connection.
     * \param messages that were lost, with their graphs
     */
    virtual void OnLost(const Messages& messages) = 0;
    /**
     * Called when the run cannot continue.
     * \param error the reason
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
     * \param connection that carries it, between different nodes; it is opened with its first
     * message
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
     * \return its bytes that are carried anyway; nothing if it is not in flight
     */
    virtual std::optional<int64_t>
    Abort(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow) = 0;
    /// Begins a run of graphs. Call it when no run is in progress.
    virtual void BeginRun() = 0;
    /// Releases what the simulator owns. Call it before the simulator ends.
    virtual void Dispose() = 0;

    /**
     * \param time the present time of the schedules of rates and failures, in nanoseconds
     */
    virtual void SetScheduleTime(TimeNs time) = 0;
    /**
     * \return the present time of the schedules of rates and failures, in nanoseconds
     */
    virtual TimeNs GetScheduleTime() const = 0;
    /**
     * \return the time so far in which at least one link was out and later comes, or came, back
     */
    virtual TimeNs GetOutTime() const
    {
        return 0;
    }
    /**
     * \return true if a link carries nothing from now on, for ever
     */
    virtual bool AnyDead() const = 0;
    /**
     * \return the dead link on the path of a message, with a sentence; nothing if there is none
     */
    virtual std::optional<fabric::DeadLink> FindDead() const = 0;
    /**
     * Lets a host fail, which loses its connections.
     * \param host a node
     */
    virtual void FailHost(int host) = 0;

    /**
     * \return ns-3's nodes and devices; null if none of these carry messages
     */
    virtual ns3::Ptr<PacketNetwork> GetNetwork() const = 0;
    /**
     * \return counters by directed link
     */
    virtual std::vector<fabric::LinkCounters> GetCounters() const = 0;
    /**
     * \return what each directed link has sent so far, and what waits there now
     */
    virtual std::vector<fabric::LinkActivity> GetActivity() const = 0;
    /**
     * \return what the queue pairs and switches of RoCEv2 do now; nothing if there are none
     */
    virtual fabric::RoceActivity GetRoce() const
    {
        return {};
    }
    /**
     * Adds what the carrier itself counts.
     * \param counters of the engine
     */
    virtual void AddCounters(fabric::EngineCounters& counters) const = 0;
    /**
     * \return true if results depend on random draws
     */
    virtual bool IsRandom() const = 0;
    /**
     * \return true if a step needs no earlier step that opens connections
     */
    virtual bool StartsWarm() const = 0;
    /**
     * Assigns random streams.
     * \param draws number of earlier assignments
     */
    virtual void AssignStreams(uint64_t draws) = 0;
    /**
     * \return a description of the messages in flight, with a line for each of the first few
     */
    virtual std::string DescribeBlocked() const = 0;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_CARRIER_H
