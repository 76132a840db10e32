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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

using fabric::Picoseconds;

/// A QueuePair has both ends of a connection between two cards, one way.
struct QueuePair
{
    static constexpr uint32_t kNone = UINT32_MAX;

    /// A Story says what has become of a message so far.
    struct Story
    {
        uint64_t cnps{0};
        uint64_t resent{0};
        Picoseconds atNic{0};    //!< for which pauses kept it from sending
        Picoseconds last{0};     //!< for which its last frame has waited in paused switches
        Picoseconds waits{0};    //!< of all its frames, with those at the NIC
        Picoseconds innocent{0}; //!< those of them beyond which nothing on its way was full
        std::vector<std::pair<fabric::DirectedLink, Picoseconds>> roots; //!< waits by cause

        /**
         * Adds a wait behind a pause.
         * \param root port whose queue was the cause
         * \param time how long
         * \param innocent whether no port beyond the pause was full
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
    };

    int source{0};                          //!< node
    int destination{0};                     //!< node
    std::vector<fabric::DirectedLink> way;  //!< of data
    std::vector<fabric::DirectedLink> back; //!< of ACKs
    std::vector<Turn> turns;                //!< by node; empty: all data takes `way`
    uint32_t group{0};                      //!< of its pair of nodes and lane
    uint32_t channel{0};                    //!< number in the group, and of ECMP
    fabric::RocePath path;
    Picoseconds slowestFrame{0}; //!< time of a full frame on the slowest link of `way`
    double windowLimit{std::numeric_limits<double>::infinity()}; //!< wire bytes, by the settings

    // Messages that are not acknowledged, or have not arrived.
    RingBuffer<Message> messages;
    uint32_t sending{0};   //!< index of the message of `next`
    uint32_t receiving{0}; //!< index of the message of `expected`

    // Sender.
    uint64_t end{0};     //!< behind the last frame of all messages
    uint64_t next{0};    //!< frame to send next
    uint64_t sentTo{0};  //!< behind the last frame that was ever sent
    uint64_t acked{0};   //!< all below have been acknowledged
    int64_t inFlight{0}; //!< wire bytes sent from `acked` on that are not known to have arrived
    int sinceRequest{0}; //!< frames since one that asked for an ACK
    bool listed{false};  //!< it is among those that may send
    uint32_t nextListed{kNone};
    Picoseconds ready{0};    //!< from when it may send
    Picoseconds pausedAt{0}; //!< for how long its port had been paused when it sent last
    uint32_t waits{0};       //!< number of its latest entry among those that wait for their time
    bool waiting{false};     //!< that entry is valid
    Picoseconds waitsFor{0}; //!< its time
    Picoseconds now{0};      //!< time of the last call of the congestion control
    Picoseconds idleSince{0};

    // Time-out.
    Picoseconds progress{0}; //!< when it was last put off
    Picoseconds timeoutEvent{fabric::kNoTimer};
    int timeouts{0}; //!< in a row

    // Receiver.
    Picoseconds smoothDelay{0}; //!< from a frame's begin to its arrival where it met no queue
    int smooth{0};              //!< frames in a row that met none, as far as they are counted
    uint64_t expected{0};       //!< frame to arrive next
    uint64_t delivered{0};      //!< messages that have arrived whole
    bool nakSent{false};        //!< for `expected`
    Picoseconds nakAt{0};
    fabric::RoceNotifier notifier;

    std::unique_ptr<Selective> selective; //!< null with go-back-n

    // Congestion control.
    std::vector<std::max_align_t> memory;
    fabric::RoceState* state{nullptr};
    fabric::RocePacer pacer;
    double fairRate{0};                         //!< bit/s that it has at least; 0: no such
    bool fairShare{false};                      //!< it takes part in max-min fair shares now
    int connection{-1};                         //!< its number there; -1: it never did
    Picoseconds controlEvent{fabric::kNoTimer}; //!< time of the event for its timer

    /// Returns its rate, bit/s.
    double Rate() const
    {
        return std::max(state->rate, fairRate);
    }

    /// Returns its window, bytes on the wire.
    double Window() const
    {
        return fairRate > 0 ? std::numeric_limits<double>::infinity()
                            : std::min(state->window, windowLimit);
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
