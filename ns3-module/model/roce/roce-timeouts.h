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
 * The retransmission time-outs of queue pairs. Each queue pair has at most one valid event. The
 * event comes no later than the deadline, and is scheduled again if the deadline was postponed.
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
     * \return the time after which it times out
     */
    Picoseconds Of(const QueuePair& pair) const;
    /**
     * Postpones a time-out.
     * \param number of the queue pair
     * \param now time from which it waits
     */
    void PutOff(uint32_t number, Picoseconds now);
    /**
     * Called for an event of kind Timeout.
     * \param number of the queue pair
     * \return true if it has waited for too long
     */
    bool OnEvent(uint32_t number);

  private:
    Picoseconds DeadlineOf(const QueuePair& pair) const;
    void Schedule(uint32_t number, Picoseconds deadline);
    /// Returns the time until which a link is out that its frames or their ACKs take; 0: none is
    /// out.
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
