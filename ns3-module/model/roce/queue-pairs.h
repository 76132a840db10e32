/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_QUEUE_PAIRS_H
#define LEGACY_QUEUE_PAIRS_H

#include "fabric/engine/connection.h"
#include "fabric/engine/dead-link.h"
#include "fabric/roce/control.h"
#include "fabric/roce/roce-settings.h"
#include "message-turns.h"
#include "model/frames/numbers-by-name.h"
#include "queue-pair-maker.h"
#include "queue-pair.h"
#include "roce-network.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/// QueuePairs has all queue pairs of a network, with the messages in flight.
class QueuePairs
{
  public:
    using Message = QueuePair::Message;

    using Pending = MessageTurns::Pending;

    /**
     * \param topology outlives this object, as all the others do
     * \param settings of NICs
     * \param control congestion control
     * \param network over which they send
     */
    QueuePairs(const fabric::Topology* topology,
               const fabric::RoceSettings* settings,
               const fabric::RoceControl* control,
               RoceNetwork* network);

    /**
     * \param number of a queue pair
     * \return the queue pair
     */
    QueuePair& operator[](uint32_t number)
    {
        return *m_pairs[number];
    }

    const QueuePair& operator[](uint32_t number) const
    {
        return *m_pairs[number];
    }

    /**
     * Adds a message after those of a queue pair, whose congestion control is reset if the settings
     * say so. Queue pairs of a connection take messages in turn; they are opened with the first
     * message.
     * \param connection of the message
     * \param graph number of the graph that sends it
     * \param flow the message
     * \return number of the queue pair
     */
    uint32_t
    Add(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow);
    /**
     * Withdraws a message that has not arrived. The part of it that was never sent is cut off, and
     * later messages move up.
     * \param connection of the message
     * \param graph number of the graph that sent it
     * \param flow the message
     * \return its bytes that are carried anyway; nothing if it is not in flight
     */
    std::optional<int64_t>
    Abort(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow);
    /**
     * Notes that a message has arrived. If a connection has several queue pairs, messages are
     * handed over in the order in which they were added.
     * \param pair its queue pair
     * \param message the message
     * \param record of what happened to it
     */
    void Arrive(const QueuePair& pair, const Message& message, const fabric::RoceFlow& record)
    {
        if (!message.aborted)
        {
            m_turns.Arrive(pair.group, message.order, record);
        }
    }

    /**
     * \param group of queue pairs
     * \return the next message to hand over; nothing if it has not arrived
     */
    std::optional<Pending> TakeArrived(uint32_t group)
    {
        return m_turns.TakeArrived(group);
    }

    /// Resets the congestion controls of all queue pairs, and their turns.
    void Renew();
    /**
     * Resets the congestion control of a queue pair if the settings say so, and if the queue pair
     * is to send the first frame of a message next, for the first time.
     * \param pair a queue pair whose next frame has changed
     * \param from earliest time at which that frame starts
     */
    void BeginMessage(QueuePair& pair, Picoseconds from);
    /**
     * Does the same for a queue pair that is not sending a frame just now.
     * \param pair a queue pair whose next frame has changed
     */
    void BeginMessage(QueuePair& pair)
    {
        BeginMessage(pair, NextBegin(pair));
    }
    /**
     * See RoceEnds.
     * \param frame data, ACK, NAK or CNP
     * \param node where the frame is
     * \return the next link of its way, or RoceEnds::kWayEnds
     */
    DirectedLink NextLink(const Frame& frame, int node);
    /**
     * \param pair a queue pair
     * \param link paused port at which a frame of it waits
     * \param hop number of that port on the way of ECMP
     * \param root port whose queue is the cause of the pause
     * \return true if the root is neither that port nor on the rest of any of its ways, and no port
     *         there is full
     */
    bool
    IsInnocent(const QueuePair& pair, DirectedLink link, std::size_t hop, DirectedLink root) const;

    /**
     * \param message a message
     * \param psn one of its frames
     * \param frames number of frames from that one on
     * \return payload bytes of the frames
     */
    int64_t PayloadOf(const Message& message, uint64_t psn, int frames = 1) const
    {
        const auto before = static_cast<int64_t>(psn - message.first) * m_settings->mtu;
        return std::min<int64_t>(int64_t{frames} * m_settings->mtu, message.bytes - before);
    }

    /**
     * \param message a message
     * \param psn one of its frames
     * \return bytes of the frame on the wire when it leaves its NIC
     */
    int64_t WireOf(const Message& message, uint64_t psn) const
    {
        constexpr int64_t kPadding = fabric::RoceSettings::kPayloadPadding;
        return CeilDivide(PayloadOf(message, psn), kPadding) * kPadding + m_headerBytes +
               (psn == message.first ? m_settings->messageBytes : 0);
    }

    /**
     * \return true if everything is acknowledged
     */
    bool IsIdle() const;
    /**
     * \param pair a queue pair
     * \return text that names its ends
     */
    std::string NameOf(const QueuePair& pair) const;
    /**
     * \return the queue pairs that have messages in flight
     */
    std::vector<fabric::RoceActivity::Pair> GetActivity() const;
    /**
     * \param isDead whether a directed link carries nothing any more
     * \return the dead link on the path of a message, with a sentence; nothing if there is none
     */
    std::optional<fabric::DeadLink> FindDead(const std::function<bool(DirectedLink)>& isDead) const;
    /**
     * \return a description of the messages in flight, with a line for each of the first few
     */
    std::string DescribeBlocked() const;

  private:
    /// Returns the number of the connection's first queue pair, and opens its queue pairs if
    /// needed.
    uint32_t Open(const fabric::ConnectionName& connection);
    /// Returns whether no port on any way from a node to the destination is the root or full.
    bool IsFree(const QueuePair& pair, int node, DirectedLink root) const;
    std::optional<int64_t> Abort(QueuePair& pair, uint64_t graph, const fabric::Flow& flow);
    /// Resets its congestion control, for frames that start from that time on.
    void Renew(QueuePair& pair, Picoseconds from);
    Picoseconds NextBegin(const QueuePair& pair) const; //!< earliest start of a frame

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    RoceNetwork* m_network;
    const int64_t m_headerBytes; //!< header bytes of data frames
    QueuePairMaker m_maker;
    MessageTurns m_turns;            //!< by first queue pair, over `qps`; no groups if that is 1
    NumbersByName m_named;           //!< first queue pairs of connections
    std::vector<uint32_t> m_numbers; //!< of connections among those between their nodes, by group
    std::vector<std::unique_ptr<QueuePair>> m_pairs;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_QUEUE_PAIRS_H
