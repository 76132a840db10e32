/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_MESSAGE_TURNS_H
#define LEGACY_MESSAGE_TURNS_H

#include "fabric/engine/engine.h"
#include "fabric/engine/flow-graph.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \param a a message
 * \param b a message of the same graph and connection
 * \return true if both are the same message
 */
inline bool IsSameMessage(const fabric::Flow& a, const fabric::Flow& b)
{
    return a.tag == b.tag && a.source == b.source && a.destination == b.destination;
}

/**
 * \ingroup legacy
 * The messages of connections that have several queue pairs. The queue pairs take messages in turn,
 * and messages are handed over to the application in the order in which they were added.
 */
class MessageTurns
{
  public:
    /// A message that has not been handed over.
    struct Pending
    {
        uint64_t graph{0};
        fabric::Flow flow;
        fabric::RoceFlow record; //!< record of the message, once it has arrived
        bool arrived{false};
        bool aborted{false};
    };

    /**
     * \param queuePairs number of queue pairs of each connection
     */
    explicit MessageTurns(uint32_t queuePairs) : m_queuePairs(queuePairs)
    {
    }

    /// Adds a group of queue pairs: those of one connection.
    void AddGroup()
    {
        m_groups.emplace_back();
    }

    /**
     * \param group of queue pairs
     * \return the queue pair in it that takes the next message; the message after that goes to the
     * queue pair after that
     */
    uint32_t Take(uint32_t group);
    /**
     * Adds a message.
     * \param group of queue pairs
     * \param graph that sends it
     * \param flow the message
     * \return its number in the group
     */
    uint64_t Add(uint32_t group, uint64_t graph, const fabric::Flow& flow);
    /**
     * Notes that a message has arrived.
     * \param group of queue pairs
     * \param order its number in the group
     * \param record of what happened to it
     */
    void Arrive(uint32_t group, uint64_t order, const fabric::RoceFlow& record);
    /**
     * Withdraws a message.
     * \param group of queue pairs
     * \param order its number in the group
     */
    void Abort(uint32_t group, uint64_t order);
    /**
     * Withdraws a message that has arrived and waits for others.
     * \param group of queue pairs
     * \param graph that sent it
     * \param flow the message
     * \return false if there is no such message
     */
    bool AbortArrived(uint32_t group, uint64_t graph, const fabric::Flow& flow);
    /**
     * \param group of queue pairs
     * \return the next message to hand over; nothing if it has not arrived
     */
    std::optional<Pending> TakeArrived(uint32_t group);
    /// Restarts the turns of all groups.
    void Restart();

  private:
    struct Group
    {
        uint32_t turn{0};            //!< queue pair that takes the next message
        uint64_t handedOver{0};      //!< number of messages handed over
        std::deque<Pending> pending; //!< messages after those
    };

    Pending& At(uint32_t group, uint64_t order)
    {
        return m_groups[group].pending[order - m_groups[group].handedOver];
    }

    const uint32_t m_queuePairs;
    std::vector<Group> m_groups;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_MESSAGE_TURNS_H
