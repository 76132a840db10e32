/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_SENDER_H
#define LEGACY_ROCE_SENDER_H

#include "model/carrier.h"
#include "nic-queues.h"
#include "queue-pairs.h"
#include "roce-fair-shares.h"
#include "roce-timeouts.h"
#include "roce-trains.h"

#include <memory>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The sending side of all NICs. The queue pairs of a NIC take turns of one frame each when their
 * windows and rates allow it. After a NAK or a time-out a queue pair goes back (go-back-n,
 * InfiniBand Architecture 1.4, 9.7.5), or sends lost frames again (fabric/roce/selective.h).
 */
class RoceSender
{
  public:
    /**
     * \param topology outlives this object, as all the others do
     * \param settings of NICs
     * \param control congestion control
     * \param pairs all queue pairs
     * \param network over which they send
     * \param ends is told if the run cannot continue
     * \param listener is told about time-outs
     */
    RoceSender(const fabric::Topology& topology,
               const fabric::RoceSettings* settings,
               const fabric::RoceControl* control,
               QueuePairs* pairs,
               RoceNetwork* network,
               RoceEnds* ends,
               CarrierListener* listener);

    /**
     * See RoceEnds.
     * \param link whose port asks for the next data frame of its NIC
     * \param free time at which the port is free
     * \return the frame; Frame::kNone: none may be sent now
     */
    uint32_t Next(DirectedLink link, Picoseconds free);
    /**
     * \param link a port
     * \return true if its NIC has a frame that may be sent once the port is free
     */
    bool IsReady(DirectedLink link) const
    {
        return m_nics.IsReady(link);
    }

    /**
     * Called when a message was added to a queue pair.
     * \param number of the queue pair
     */
    void Begin(uint32_t number);
    /**
     * Lets a queue pair send as soon as it may.
     * \param number of the queue pair, which has a frame to send
     * \param ready time from which it may send
     */
    void List(uint32_t number, Picoseconds ready);

    /**
     * \param frame an ACK or a NAK
     */
    void OnAck(uint32_t frame);
    /**
     * \param frame a CNP
     */
    void OnCnp(uint32_t frame);
    /**
     * Called for an event of kind Timeout.
     * \param number of the queue pair
     */
    void OnTimeout(uint32_t number);
    /**
     * Called for an event of kind Control.
     * \param number of the queue pair
     */
    void OnControlTimer(uint32_t number);
    /**
     * Called for an event of kind Wake.
     * \param link the port of the NIC
     */
    void OnWake(DirectedLink link);

    /**
     * \return number of frames that were sent again
     */
    uint64_t GetResent() const
    {
        return m_resent;
    }

  private:
    /// Counts how long a pause of the NIC's port has delayed a frame that starts now.
    void CountWait(QueuePair& pair, QueuePair::Message& message, Picoseconds start);
    uint32_t Send(uint32_t number, Picoseconds start); //!< sends its next frame, or train
    /// Makes the frame with that number, or a train that starts with it.
    uint32_t Make(uint32_t number, uint64_t psn, const QueuePair::Message& message);
    void GoBack(uint32_t number,
                Picoseconds now,
                bool timeout); //!< returns to the first frame that is not acknowledged
    /// Tells the congestion control about the loss of a frame, unless the frame was sent under an
    /// earlier state.
    void TellLoss(QueuePair& pair, uint64_t psn, const fabric::RoceLoss& loss) const;
    void AfterControl(uint32_t number, double rateBefore, Picoseconds now);
    /// Lets a queue pair take part in max-min fair shares or stops that, and paces all queue pairs
    /// by their shares.
    void ShareOut(uint32_t number, bool takesPart);
    void SetTimer(uint32_t number); //!< sets the timer of the congestion control if it is earlier
    /// Counts a time-out and lets the queue pair go back. Returns false if the time-out was the
    /// last one allowed, which ends the run.
    bool Expire(uint32_t number, Picoseconds now);
    /// Sends frames again that an ACK says are lost. Returns false if that ends the run.
    bool Repeat(uint32_t number, const Frame& ack, Picoseconds now);

    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    const fabric::RoceTraits& m_traits; //!< traits of the control
    QueuePairs& m_pairs;
    RoceNetwork& m_network;
    RoceEnds* m_ends;
    CarrierListener* m_listener;
    NicQueues m_nics;
    RoceTimeouts m_timeouts;
    const RoceTrains m_trains;
    std::unique_ptr<RoceFairShares> m_shares; //!< null if queue pairs have no least rates
    uint64_t m_resent{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_SENDER_H
