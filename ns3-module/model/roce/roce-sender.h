/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_SENDER_H
#define LEGACY_ROCE_SENDER_H

#include "fabric/engine/max-min.h"
#include "model/carrier.h"
#include "queue-pairs.h"

#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

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
     * \param ends is told where the run cannot go on
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
    bool IsReady(DirectedLink link) const;
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
    uint64_t GetResent() const;

  private:
    /// Queue pairs that send through a port.
    struct Nic
    {
        uint32_t head{QueuePair::kNone}; //!< of those that may send, in turn
        uint32_t tail{QueuePair::kNone};
        /// Those that wait for their time: time, number of the entry, queue pair.
        using Wait = std::tuple<Picoseconds, uint32_t, uint32_t>;
        std::priority_queue<Wait, std::vector<Wait>, std::greater<>> waits;
        Picoseconds wake{fabric::kNoTimer}; //!< time of its event
    };

    bool MaySend(const QueuePair& pair) const;
    /// Counts for how long a pause of the NIC's port has held up a frame that begins now.
    void CountWait(QueuePair& pair, QueuePair::Message& message, Picoseconds start);
    void Unwait(DirectedLink link);                    //!< lists those whose time has come
    uint32_t Send(uint32_t number, Picoseconds start); //!< makes its next frame, or train
    /// Returns the most frames of a train of a queue pair, which is not among those that may send:
    /// 1 where others are. Where its latest frames have met queues, as far as it knows, or a link
    /// is faster than one before, it is a small part of the message, and in queues 1 where marks
    /// set rates.
    int LongestTrain(const QueuePair& pair, const QueuePair::Message& message) const;
    /// Lets a new frame grow to a train.
    void Grow(Frame& frame, const QueuePair& pair, const QueuePair::Message& message) const;
    void GoBack(uint32_t number,
                Picoseconds now,
                bool timeout); //!< to the first frame that is not acknowledged
    /// Tells the congestion control of the loss of a frame, unless it was sent under another state.
    void TellLoss(QueuePair& pair, uint64_t psn, const fabric::RoceLoss& loss) const;
    void AfterControl(uint32_t number, double rateBefore, Picoseconds now);
    /// Lets a queue pair take part in max-min fair shares, or not, and paces all by theirs.
    void ShareOut(uint32_t number, bool takesPart);
    void Wait(uint32_t number);     //!< lets it wait for its time
    void Append(uint32_t number);   //!< to those that may send, in turn
    void SetTimer(uint32_t number); //!< of the congestion control, if it is sooner
    Picoseconds TimeoutOf(const QueuePair& pair) const; //!< how long it waits
    Picoseconds DeadlineOf(const QueuePair& pair) const;
    /// Returns until when a link is out that its frames or their ACKs take; 0: none is.
    Picoseconds OutUntil(const QueuePair& pair) const;
    /// Counts a time-out, and lets the queue pair go back. Returns false where it was the last one,
    /// which ends the run.
    bool Expire(uint32_t number, Picoseconds now);
    void PutOff(uint32_t number, Picoseconds now); //!< its time-out
    /// Counts what an ACK says. Of frames that were sent under another state the congestion control
    /// is not told.
    fabric::RoceAck Acknowledge(QueuePair& pair, const Frame& ack) const;

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    const fabric::RoceControl* m_control;
    QueuePairs& m_pairs;
    RoceNetwork& m_network;
    RoceEnds* m_ends;
    CarrierListener* m_listener;
    std::vector<Nic> m_nics;   //!< by the port through which they send
    Picoseconds m_rto{0};      //!< first time-out of a queue pair
    Picoseconds m_shortRto{0}; //!< the same with few frames in flight
    uint64_t m_resent{0};
    std::unique_ptr<fabric::MaxMin>
        m_fair;                      //!< of queue pairs with messages, where they have floors
    std::vector<uint32_t> m_sharing; //!< queue pairs by connection of m_fair
    std::vector<int> m_connections;  //!< of m_fair by queue pair; -1: it never had one
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_SENDER_H
