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
#include "ring-buffer.h"
#include "way.h"

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

/// A Course is what queue pairs of equal paths have in common.
struct Course
{
    fabric::RocePath path;
    Picoseconds slowestFrame{0}; //!< time of a full frame on the slowest link of data
    Picoseconds smoothDelay{0};  //!< most time from a frame's begin to its arrival without a queue
    double windowLimit{std::numeric_limits<double>::infinity()}; //!< wire bytes, by the settings
    bool speedsUp{false}; //!< a link of data is faster than one before it

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

/// A QueuePair has both ends of a connection between two cards, one way. Its members are ordered by
/// size, so that they fill its bytes.
struct QueuePair
{
    static constexpr uint32_t kNone = UINT32_MAX;

    /// A Story says what has become of a message so far.
    struct Story
    {
        uint64_t cnps{0};
        uint64_t resent{0};
        double rateAtEnd{0};     //!< of its queue pair, bit/s; 0: what it is now
        Picoseconds atNic{0};    //!< for which pauses kept it from sending
        Picoseconds last{0};     //!< for which its last frame has waited in paused switches
        Picoseconds waits{0};    //!< of all its frames, with those at the NIC
        Picoseconds innocent{0}; //!< those of them beyond which nothing on its way was full
        std::vector<std::pair<fabric::DirectedLink, Picoseconds>> roots; //!< waits by cause

        /**
         * Adds a wait behind a pause.
         * \param root port whose queue was the cause
         * \param time how long
         * \param isInnocent whether no port beyond the pause was full
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

    /// A Message is an RDMA WRITE: frames `first` to `end` - 1.
    struct Message
    {
        uint64_t first{0};
        uint64_t end{0};
        int64_t bytes{0};
        uint64_t graph{0};
        uint64_t order{0}; //!< number among those of all queue pairs of the pair of nodes
        fabric::Flow flow;
        bool aborted{false};
        std::unique_ptr<Story> story; //!< null where nothing has become of it

        Story& Tell()
        {
            if (!story)
            {
                story = std::make_unique<Story>();
            }
            return *story;
        }
    };

    /// A Turn is a node of the paths of frames that take any, and the links that it takes in turn.
    struct Turn
    {
        int node{0};
        std::vector<fabric::DirectedLink> links;
        std::size_t first{0}; //!< index of the link of ECMP
        std::size_t next{0};
    };

    /// What selective repeat keeps at both ends.
    struct Selective
    {
        fabric::SelectiveSender sender;
        fabric::SelectiveReceiver receiver;
        std::vector<Turn> turns; //!< by node; empty: all data takes the way of ECMP

        /// Returns that of a node which frames may pass.
        Turn& TurnOf(int node)
        {
            return *std::lower_bound(turns.begin(),
                                     turns.end(),
                                     node,
                                     [](const Turn& one, int at) { return one.node < at; });
        }
    };

    /// Gives the memory of a state back, which needs no destruction.
    struct FreeState
    {
        void operator()(fabric::RoceState* state) const
        {
            ::operator delete(state);
        }
    };

    const Course* course{nullptr};
    Way way;
    int source{0};              //!< node
    int destination{0};         //!< node
    fabric::ConnectionId id{0}; //!< of the hash of ECMP
    uint32_t group{0};          //!< of its connection
    uint32_t channel{0};        //!< number in the group

    // Messages that are not acknowledged, or have not arrived.
    RingBuffer<Message> messages;
    uint32_t sending{0};   //!< index of the message of `next`
    uint32_t receiving{0}; //!< index of the message of `expected`

    // Sender.
    uint64_t end{0};         //!< after the last frame of all messages
    uint64_t next{0};        //!< frame to send next
    uint64_t sentTo{0};      //!< after the last frame that was ever sent
    uint64_t acked{0};       //!< all below have been acknowledged
    int64_t inFlight{0};     //!< wire bytes sent from `acked` on that are not known to have arrived
    Picoseconds ready{0};    //!< from when it may send
    Picoseconds pausedAt{0}; //!< for how long its port had been paused when it sent last
    Picoseconds waitsFor{0}; //!< time of its latest entry among those that wait for their time
    Picoseconds now{0};      //!< time of the last call of the congestion control
    /// When a new frame was last acknowledged, a time-out came, or an idle time ended.
    Picoseconds changed{0};
    Picoseconds progress{0}; //!< when its time-out was last put off
    uint64_t firstOwn{0};    //!< frame with which its control's state began
    Picoseconds stateAt{0};  //!< from when on frames have begun to leave under that state
    Picoseconds timeoutEvent{fabric::kNoTimer};
    Picoseconds controlEvent{fabric::kNoTimer}; //!< time of the event for its control's timer
    fabric::RocePacer pacer;
    double fairRate{0};                                  //!< bit/s that it has at least; 0: no such
    std::unique_ptr<fabric::RoceState, FreeState> state; //!< at the begin of its control's memory
    uint32_t nextListed{kNone};                          //!< behind it among those that may send
    uint32_t waits{0};     //!< number of its entry among those that wait
    int sinceRequest{0};   //!< frames since one that asked for an ACK
    int timeouts{0};       //!< in a row
    bool fairShare{false}; //!< it takes part in max-min fair shares now
    bool listed{false};    //!< it is among those that may send
    bool waiting{false};   //!< its entry among those that wait is valid

    // Receiver.
    bool nakSent{false};   //!< for `expected`
    uint32_t delivered{0}; //!< messages that have arrived whole, modulo 2^32
    /// Frames in a row that met no queue, as far as they are counted; -1: the last one met one.
    int smooth{0};
    uint64_t expected{0}; //!< frame to arrive next
    Picoseconds nakAt{0};
    fabric::RoceNotifier notifier;

    std::unique_ptr<Selective> selective; //!< null with go-back-n

    /// Returns whether its data takes any of several ways.
    bool Sprays() const
    {
        return selective && !selective->turns.empty();
    }

    /// Returns its rate, bit/s.
    double Rate() const
    {
        return std::max(state->rate, fairRate);
    }

    /// Returns its window, bytes on the wire.
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
                return true; // it takes the place of the lost one in the window
            }
            if (next - acked >= repeat.Span())
            {
                return false;
            }
        }
        return next < end && static_cast<double>(inFlight) < Window();
    }

    /// Returns the message of a frame; null where all of it is acknowledged.
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

    /// Returns the time of a call of the congestion control: its present never goes back.
    Picoseconds Advance(Picoseconds at)
    {
        now = std::max(now, at);
        return now;
    }
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_QUEUE_PAIR_H
