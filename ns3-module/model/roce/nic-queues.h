/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_NIC_QUEUES_H
#define LEGACY_NIC_QUEUES_H

#include "queue-pairs.h"

#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The queue pairs of each NIC: those that may send, in turn, and those that must wait until a given
 * time.
 */
class NicQueues
{
  public:
    /**
     * \param links number of directed links
     * \param pairs all queue pairs; outlives this object
     * \param network over which they send; outlives this object
     */
    NicQueues(std::size_t links, QueuePairs* pairs, RoceNetwork* network);

    /**
     * \param link a port
     * \return true if its NIC has queue pairs that may send
     */
    bool IsReady(DirectedLink link) const
    {
        return m_nics[link].head != QueuePair::kNone;
    }

    /**
     * Adds a queue pair at the end of those that may send.
     * \param number of the queue pair, which is not among them
     */
    void Append(uint32_t number);
    /**
     * Makes a queue pair wait until it may send.
     * \param number of the queue pair
     */
    void Wait(uint32_t number);
    /**
     * Moves the queue pairs whose time has come to those that may send.
     * \param link the port of the NIC
     */
    void Unwait(DirectedLink link);
    /**
     * Removes the first of those that may send.
     * \param link a port
     * \return number of the queue pair; QueuePair::kNone: there was none
     */
    uint32_t Pop(DirectedLink link);
    /**
     * Called when an event of kind Wake has come.
     * \param link the port of the NIC
     * \return true unless another event has replaced this one
     */
    bool OnWake(DirectedLink link);

  private:
    /// The queue pairs that send through a port.
    struct Nic
    {
        uint32_t head{QueuePair::kNone}; //!< first of those that may send, in turn
        uint32_t tail{QueuePair::kNone};
        /// Queue pairs that wait for a time: the time, the number of the entry, and the queue pair.
        using Waiting = std::tuple<Picoseconds, uint32_t, uint32_t>;
        std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waits;
        Picoseconds wake{fabric::kNoTimer}; //!< time of its next event of kind Wake
    };

    void ScheduleWake(DirectedLink link, Picoseconds at);

    QueuePairs& m_pairs;
    RoceNetwork& m_network;
    std::vector<Nic> m_nics; //!< by the port through which queue pairs send
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_NIC_QUEUES_H
