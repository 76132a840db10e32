/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_TRAINS_H
#define LEGACY_ROCE_TRAINS_H

#include "fabric/roce/control.h"
#include "fabric/roce/roce-settings.h"
#include "queue-pairs.h"

namespace legacy
{
namespace packet
{

/// RoceTrains decides how many frames leave as one train.
class RoceTrains
{
  public:
    /**
     * \param settings of NICs, which outlive this object, as all the others do
     * \param control congestion control
     * \param pairs all queue pairs
     */
    RoceTrains(const fabric::RoceSettings* settings,
               const fabric::RoceControl* control,
               const QueuePairs* pairs)
        : m_settings(settings),
          m_control(control),
          m_pairs(*pairs)
    {
    }

    /**
     * Lets a new frame grow into a train.
     * \param frame of a message
     * \param pair its queue pair
     * \param message the message
     * \param alone true if no other queue pair of its NIC may send now
     */
    void
    Grow(Frame& frame, const QueuePair& pair, const QueuePair::Message& message, bool alone) const;

  private:
    /// Returns the largest number of frames of a train: 1 if other queue pairs may send. If its
    /// latest frames have met queues, as far as it knows, or a link is faster than one before it, a
    /// train is a small part of the message; in queues, it is 1 frame if marks set rates.
    int Longest(const QueuePair& pair, const QueuePair::Message& message, bool alone) const;

    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    const QueuePairs& m_pairs;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_TRAINS_H
