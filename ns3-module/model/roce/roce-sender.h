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
 * The sending side of all NICs. Queue pairs of a NIC take turns, a frame each, when their windows
 * and rates let them. Upon a NAK or a time-out a queue pair goes back (go-back-n, InfiniBand
 * Architecture 1.4, 9.7.5), or sends what was lost again (fabric/roce/selective.h).
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
     * \param ends is told where the run cannot continue
     * \param listener is told of time-outs
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
     * \param free when the port is free
     * \return the frame; Frame::kNone: none may be sent now
     */
    uint32_t Next(DirectedLink link, Picoseconds free);
    /**
     * \param link a port
     * \return true where its NIC has a frame that may be sent once the port is free
     */
    bool IsReady(DirectedLink link) const
    {
        return m_nics.IsReady(link);
    }

    /**
     * A message has been added to a queue pair.
     * \param number of the queue pair
     */
    void Begin(uint32_t number);
    /**
     * Lets a queue pair send when it may.
     * \param number of the queue pair, which has something to send
     * \param ready from when
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
     * An event of kind Timeout has come.
     * \param number of the queue pair
     */
    void OnTimeout(uint32_t number);
    /**
     * An event of kind Control has come.
     * \param number of the queue pair
     */
    void OnControlTimer(uint32_t number);
    /**
     * An event of kind Wake has come.
     * \param link the port of the NIC
     */
    void OnWake(DirectedLink link);

    /**
     * \return frames that were sent again
     */
    uint64_t GetResent() const
    {
        return m_resent;
    }

  private:
    /// Counts for how long a pause of the NIC's port has held up a frame that begins now.
    void CountWait(QueuePair& pair, QueuePair::Message& message, Picoseconds start);
    uint32_t Send(uint32_t number, Picoseconds start); //!< sends its next frame, or train
    /// Makes the frame of a message with that number, or a train from it on.
    uint32_t Make(uint32_t number, uint64_t psn, const QueuePair::Message& message);
    void GoBack(uint32_t number,
                Picoseconds now,
                bool timeout); //!< to the first frame that is not acknowledged
    /// Tells the congestion control of the loss of a frame, unless it was sent under another state.
    void TellLoss(QueuePair& pair, uint64_t psn, const fabric::RoceLoss& loss) const;
    void AfterControl(uint32_t number, double rateBefore, Picoseconds now);
    /// Lets a queue pair take part in max-min fair shares, or not, and paces all by theirs.
    void ShareOut(uint32_t number, bool takesPart);
    void SetTimer(uint32_t number); //!< of the congestion control, if it is sooner
    /// Counts a time-out, and lets the queue pair go back. Returns false where it was the last one,
    /// which ends the run.
    bool Expire(uint32_t number, Picoseconds now);
    /// Sends again what an ACK says is lost. Returns false where that ends the run.
    bool Repeat(uint32_t number, const Frame& ack, Picoseconds now);

    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    const fabric::RoceTraits& m_traits; //!< of the control
    QueuePairs& m_pairs;
    RoceNetwork& m_network;
    RoceEnds* m_ends;
    CarrierListener* m_listener;
    NicQueues m_nics;
    RoceTimeouts m_timeouts;
    const RoceTrains m_trains;
    std::unique_ptr<RoceFairShares> m_shares; //!< null where queue pairs have no floors
    uint64_t m_resent{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_SENDER_H
