/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_RECEIVER_H
#define LEGACY_ROCE_RECEIVER_H

#include "model/carrier.h"
#include "queue-pairs.h"

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The receiving side of all NICs. With go-back-n it takes the frames of a queue pair only in order,
 * and answers a gap by a NAK. With selective repeat it places each frame where it belongs, and
 * answers frames that come ahead of others at once. ACKs answer the frames that request them, and
 * CNPs answer marked frames.
 */
class RoceReceiver
{
  public:
    /**
     * \param settings of NICs; outlives this object, as all the others do
     * \param control congestion control
     * \param pairs all queue pairs
     * \param network over which it answers
     * \param listener is told about what arrives
     * \param sprays whether frames overtake each other on several paths
     */
    RoceReceiver(const fabric::RoceSettings* settings,
                 const fabric::RoceControl* control,
                 QueuePairs* pairs,
                 RoceNetwork* network,
                 CarrierListener* listener,
                 bool sprays);

    /**
     * \param frame data that has arrived
     */
    void OnData(uint32_t frame);
    /**
     * Hands over messages that have arrived and waited for others.
     * \param group of queue pairs
     */
    void HandOver(uint32_t group);
    /**
     * Adds the numbers of CNPs, NAKs and reordered frames.
     * \param counters of NICs
     */
    void AddCounters(fabric::RoceCounters& counters) const;

  private:
    void TakeInOrder(uint32_t number, uint32_t frame); //!< go-back-n
    void Place(uint32_t number, uint32_t frame);       //!< selective repeat
    /// Sends an ACK, NAK or CNP. `sent` is the start of the data frame that it answers.
    void Answer(uint32_t number, uint32_t frame, FrameKind kind, Picoseconds sent);
    void Deliver(QueuePair& pair); //!< hands over messages of which all frames have arrived
    static fabric::RoceFlow RecordOf(const QueuePair& pair, const QueuePair::Story* story);

    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    QueuePairs& m_pairs;
    RoceNetwork& m_network;
    CarrierListener* m_listener;
    const bool m_sprays;
    uint64_t m_cnps{0};
    uint64_t m_naks{0};
    uint64_t m_reordered{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_RECEIVER_H
