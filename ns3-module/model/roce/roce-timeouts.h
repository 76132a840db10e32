/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_TIMEOUTS_H
#define LEGACY_ROCE_TIMEOUTS_H

#include "fabric/roce/roce-settings.h"
#include "queue-pairs.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The retransmission time-outs of queue pairs. Each has one event at most that counts, which comes
 * no later than its deadline, and is scheduled again where that was put off.
 */
class RoceTimeouts
{
  public:
    /**
     * \param topology outlives this object, as all the others do
     * \param settings of NICs
     * \param pairs all queue pairs
     * \param network over which they send
     */
    RoceTimeouts(const fabric::Topology* topology,
                 const fabric::RoceSettings* settings,
                 QueuePairs* pairs,
                 RoceNetwork* network);

    /**
     * \param pair a queue pair
     * \return how long it waits
     */
    Picoseconds Of(const QueuePair& pair) const;
    /**
     * Puts a time-out off.
     * \param number of the queue pair
     * \param now from when it waits
     */
    void PutOff(uint32_t number, Picoseconds now);
    /**
     * An event of kind Timeout has come.
     * \param number of the queue pair
     * \return true where it has waited for too long
     */
    bool OnEvent(uint32_t number);

  private:
    Picoseconds DeadlineOf(const QueuePair& pair) const;
    void Schedule(uint32_t number, Picoseconds deadline);
    /// Returns until when a link is out that its frames or their ACKs take; 0: none is.
    Picoseconds OutUntil(const QueuePair& pair) const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    QueuePairs& m_pairs;
    RoceNetwork& m_network;
    Picoseconds m_rto{0};      //!< first time-out of a queue pair
    Picoseconds m_shortRto{0}; //!< the same with few frames in flight
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_TIMEOUTS_H
