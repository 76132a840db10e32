/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_QUEUE_PAIR_H
#define LEGACY_ROCE_QUEUE_PAIR_H

#include "fabric/engine/flow-graph.h"
#include "fabric/roce/control.h"
#include "fabric/roce/notifier.h"
#include "fabric/roce/pacer.h"
#include "fabric/roce/selective.h"
#include "fabric/topology/topology.h"
#include "model/frames/ring-buffer.h"
#include "model/frames/turns.h"
#include "model/frames/way.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

using fabric::Picoseconds;

/// A Course has what queue pairs with equal paths share.
struct Course
{
    fabric::RocePath path;
    Picoseconds slowestFrame{0}; //!< time of a full frame on the slowest link that data take
    Picoseconds smoothDelay{0};  //!< most time from a frame's start to its arrival without a queue
    double windowLimit{std::numeric_limits<double>::infinity()}; //!< wire bytes, by the settings
    bool speedsUp{false}; //!< a link that data take is faster than one before it

    bool operator<(const Course& other) const
    {
        const auto all = [](const Course& one)
        {
            return std::tie(one.path.lineRate,
                            one.path.roundTrip,
                            one.path.frameBytes,
                            one.path.switches,
                            one.slowestFrame,
                            one.smoothDelay,
                            one.windowLimit,
                            one.speedsUp);
        };
        return all(*this) < all(other);
    }
};

/// A QueuePair has both ends of a connection between two NICs, in one direction. Its members are
/// ordered by size, so that no padding is needed.
struct QueuePair
{
    static constexpr uint32_t kNone = UINT32_MAX;

    /// A Story records what has happened to a message so far.
    struct Story
    {
        uint64_t cnps{0};
        uint64_t resent{0};
        double rateAtEnd{0};     //!< rate of its queue pair, bit/s; 0: the present rate
        Picoseconds atNic{0};    //!< time for which pauses kept it from sending
        Picoseconds last{0};     //!< time for which its last frame has waited in paused switches
        Picoseconds waits{0};    //!< such waits of all its frames, at switches and at the NIC
        Picoseconds innocent{0}; //!< part of the waits beyond which nothing on its way was full
        std::vector<std::pair<fabric::DirectedLink, Picoseconds>> roots; //!< waits by cause

        /**
         * Adds a wait that a pause caused.
         * \param root port whose queue was the cause
         * \param time that the wait lasted
         * \param isInnocent true if no port beyond the pause was full
         */
        void Wait(fabric::DirectedLink root, Picoseconds time, bool isInnocent)
        {
            waits += time;
            innocent += isInnocent ? time : 0;
            for (auto& [known, sum] : roots)
            {
                if (known == root)
                {
                    sum += time;
                    return;
                }
            }
            roots.emplace_back(root, time);
        }
    };

    /// A Message is an RDMA WRITE of the frames `first` to `end` - 1.
    struct Message
    {
        uint64_t first{0};
        uint64_t end{0};
        int64_t bytes{0};
        uint64_t graph{0};
        uint64_t order{0}; //!< number among the messages of all queue pairs of the group
        fabric::Flow flow;
        bool aborted{false};
        std::unique_ptr<Story> story; //!< null if nothing has happened to it

        Story& Tell()
        {
            if (!story)
            {
                story = std::make_unique<Story>();
            }
            return *story;
        }
    };

    /// The state of selective repeat at both ends.
    struct Selective
    {
        fabric::SelectiveSender sender;
        fabric::SelectiveReceiver receiver;
        Turns turns; //!< any: data take them; else the way of ECMP
    };

    /// Frees the memory of a state, which needs no destruction.
    struct FreeState
    {
        void operator()(fabric::RoceState* state) const
        {
            ::operator delete(state);
        }
    };

    const Course* course{nullptr};
    Way way;
    int source{0};              //!< node number
    int destination{0};         //!< node number
    fabric::ConnectionId id{0}; //!< number that the hash of ECMP uses
    uint32_t group{0};          //!< number of its connection's group
    uint32_t channel{0};        //!< number of the queue pair in the group

    // The messages that are not acknowledged, or have not arrived.
    RingBuffer<Message> messages;
    uint32_t sending{0};   //!< index of the message of `next`
    uint32_t receiving{0}; //!< index of the message of `expected`

    // State of the sender.
    uint64_t end{0};         //!< frame number after the last frame of all messages
    uint64_t next{0};        //!< number of the frame to send next
    uint64_t sentTo{0};      //!< frame number after the last frame that was ever sent
    uint64_t acked{0};       //!< all frames below have been acknowledged
    int64_t inFlight{0};     //!< wire bytes sent from `acked` on that are not known to have arrived
    Picoseconds ready{0};    //!< time from which it may send
    Picoseconds pausedAt{0}; //!< total time that its port had been paused when it last sent
    Picoseconds waitsFor{0}; //!< time of its latest entry among those that wait for a time
    Picoseconds now{0};      //!< time of the last call of the congestion control
    /// Time at which a new frame was last acknowledged, a time-out came, or an idle time ended.
    Picoseconds changed{0};
    Picoseconds progress{0}; //!< time at which its time-out was last postponed
    uint64_t firstOwn{0}; //!< number of the first frame sent under the present state of its control
    Picoseconds stateAt{0}; //!< time from which on frames have started under that state
    Picoseconds timeoutEvent{fabric::kNoTimer};
    Picoseconds controlEvent{fabric::kNoTimer}; //!< time of the event for the timer of its control
    fabric::RocePacer pacer;
    double fairRate{0}; //!< its least rate in bit/s; 0: there is none
    std::unique_ptr<fabric::RoceState, FreeState> state; //!< at the start of its control's memory
    uint32_t nextListed{kNone};                          //!< next one among those that may send
    uint32_t waits{0};     //!< number of its entry among those that wait for a time
    int sinceRequest{0};   //!< frames since one that asked for an ACK
    int timeouts{0};       //!< number of time-outs in a row
    bool fairShare{false}; //!< it takes part in max-min fair shares now
    bool listed{false};    //!< it is among those that may send
    bool waiting{false};   //!< its entry among those that wait is valid

    // State of the receiver.
    bool nakSent{false};   //!< a NAK was sent for `expected`
    uint32_t delivered{0}; //!< number of messages that have arrived completely, modulo 2^32
    /// Number of frames in a row that met no queue, as far as they are counted; -1: the last one
    /// met one.
    int smooth{0};
    uint64_t expected{0}; //!< number of the frame that arrives next
    Picoseconds nakAt{0};
    fabric::RoceNotifier notifier;

    std::unique_ptr<Selective> selective; //!< null if recovery is by go-back-n

    /// Returns whether its data may take any of several ways.
    bool Sprays() const
    {
        return selective && selective->turns.Any();
    }

    /// Returns its rate in bit/s.
    double Rate() const
    {
        return std::max(state->rate, fairRate);
    }

    /// Returns its window in bytes on the wire.
    double Window() const
    {
        return fairRate > 0 ? std::numeric_limits<double>::infinity()
                            : std::min(state->window, course->windowLimit);
    }

    /// Returns whether it has a frame to send, and room for it in its window.
    bool MaySend() const
    {
        if (selective)
        {
            const fabric::SelectiveSender& repeat = selective->sender;
            if (repeat.HasHole())
            {
                return true; // the frame takes the place of the lost one in the window
            }
            if (next - acked >= repeat.Span())
            {
                return false;
            }
        }
        return next < end && static_cast<double>(inFlight) < Window();
    }

    /// Returns the message of a frame; null if all of it is acknowledged.
    Message* MessageOf(uint64_t psn)
    {
        uint32_t before = 0; // messages that end before the frame
        for (uint32_t left = messages.size(); left > 0;)
        {
            const uint32_t half = left / 2;
            const bool ends = messages[before + half].end <= psn;
            before += ends ? half + 1 : 0;
            left = ends ? left - half - 1 : half;
        }
        const bool found = before < messages.size() && messages[before].first <= psn;
        return found ? &messages[before] : nullptr;
    }

    /// Returns the time at which the congestion control is called, which never goes back.
    Picoseconds Advance(Picoseconds at)
    {
        now = std::max(now, at);
        return now;
    }
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_QUEUE_PAIR_H
