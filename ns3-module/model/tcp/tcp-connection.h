/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_TCP_CONNECTION_H
#define LEGACY_TCP_CONNECTION_H

#include "fabric/engine/connection.h"
#include "fabric/engine/flow-graph.h"
#include "fabric/tcp/congestion.h"
#include "model/frames/frame.h"
#include "model/frames/ring-buffer.h"
#include "model/frames/turns.h"
#include "model/frames/way.h"
#include "model/roce/roce-event.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/// Returns a time in picoseconds.
inline Picoseconds ToPicoseconds(TimeNs time)
{
    return time * fabric::kPicosecondsPerNs;
}

/// A TcpRange is bytes `begin` to `end` - 1 of a connection's stream.
struct TcpRange
{
    uint64_t begin{0};
    uint64_t end{0};
};

/// A TcpSegment was sent and is not acknowledged by number.
struct TcpSegment
{
    static constexpr uint32_t kNone = UINT32_MAX;

    uint64_t begin{0};
    Picoseconds sent{0}; //!< when it was last sent
    // A rate of delivery is measured from the state at that send.
    uint64_t delivered{0};
    Picoseconds deliveredAt{0};
    Picoseconds firstSent{0};
    uint32_t bytes{0};
    uint32_t before{kNone}; //!< number of the segment that was sent before it, of those in flight
    uint32_t after{kNone};
    bool sacked{false}; //!< it has arrived, as a SACK says
    bool lost{false};
    bool again{false};     //!< it was lost, and is in flight once more
    bool everAgain{false}; //!< it was ever sent again
    bool starved{false};   //!< the application had nothing more to send
};

/// Says how the sender of a connection reacts to congestion (Linux: tcp_ca_state).
enum class TcpPhase : uint8_t
{
    Open,
    Disorder, //!< something has arrived before something else
    Reducing, //!< switches marked a segment: the window shrinks (Linux: CWR)
    Recovery, //!< something is lost, and the window shrinks
    Loss,     //!< the retransmission timer has expired
};

/// Says how far a connection has been opened.
enum class TcpStage : uint8_t
{
    Closed,
    Connecting, //!< its SYN was sent
    Waiting,    //!< further handshakes are waited for
    Open,
};

/// A TcpTrain has what a connection knows for trains of segments.
struct TcpTrain
{
    Picoseconds quiet{0};   //!< most time from a segment's start to its arrival without a queue
    Picoseconds slowest{0}; //!< time of a full segment on the slowest link of its way
    bool speedsUp{false};   //!< a link is faster than one before it
    bool queued{false};     //!< the receiver: a segment that it has not answered met a queue
    uint64_t from{0};       //!< trains may leave once all bytes below are acknowledged
    uint64_t end{0};        //!< end of the last train

    /// Returns whether a frame that has arrived met a queue.
    bool IsLate(const Frame& data) const
    {
        return data.at - data.sent > quiet + (data.frames - 1) * slowest;
    }
};

/// TcpPaths have the links that segments, and ACKs, use in turn.
struct TcpPaths
{
    Turns forth;
    Turns back;
};

/// TcpGaps have what has arrived beyond bytes that have not.
struct TcpGaps
{
    std::vector<TcpRange> sacked; //!< as the sender knows: ascending, disjoint
    std::vector<TcpRange> ahead;  //!< as the receiver knows, the newest first
};

/// A TcpIdleConnection has what a connection keeps while nothing of it is under way.
struct TcpIdleConnection
{
    Way way;
    uint8_t atOnce{0};     //!< segments that the receiver still answers one by one
    bool answers{false};   //!< an event for a delayed ACK was scheduled
    bool congested{false}; //!< ACKs say that segments were marked
    bool reduced{false};   //!< the next new segment says that the window was reduced (CWR)
    bool rests{false};     //!< it is no TcpConnection now
    std::unique_ptr<TcpPaths> paths; //!< null: frames take the way
    std::unique_ptr<TcpTrain> train; //!< null: each segment is a frame
    std::unique_ptr<fabric::TcpCongestion> control;
    fabric::ConnectionName name;
    fabric::TcpWindow window;
    uint64_t queued{0};         //!< end of the last message in the stream
    uint64_t delivered{0};      //!< segments that have ever arrived
    TimeNs variation{0};        //!< of round trips (RFC 6298)
    Picoseconds timerEvent{0};  //!< time of the earliest event of the timer; 0: none
    Picoseconds lastArrival{0}; //!< of a message; before, when its SYN was first sent
    Picoseconds dataAt{0};      //!< when the receiver's last segment arrived
    int64_t buffer{0};          //!< bytes that may be in flight
};

/// A TcpConnection has both ends of a connection that carries messages in one direction.
struct TcpConnection : TcpIdleConnection
{
    static constexpr uint32_t kNone = UINT32_MAX;

    /// A message that has not arrived.
    struct Message
    {
        uint64_t graph{0};
        uint64_t end{0}; //!< position after its last byte in the stream
        fabric::Flow flow;
        bool aborted{false};
    };

    /// A timer does one of these when it is due.
    enum class Timer : uint8_t
    {
        None,
        Retransmit,
        Probe,   //!< tail loss probe
        Reorder, //!< what was overtaken counts as lost (RFC 8985)
    };

    TcpConnection() = default;

    /// Continues an idle connection: all that was queued has arrived.
    explicit TcpConnection(TcpIdleConnection&& idle)
        : TcpIdleConnection(std::move(idle)),
          next(queued),
          acked(queued),
          stage(TcpStage::Open),
          expected(queued)
    {
        rests = false;
    }

    RingBuffer<Message> messages;
    std::unique_ptr<TcpGaps> gaps; //!< null: nothing is missing

    // The sender. Counts are of segments.
    uint64_t next{0};    //!< first byte that was never sent
    uint64_t acked{0};   //!< all bytes below have arrived
    uint64_t highEnd{0}; //!< an ACK of this byte ends the phase
    RingBuffer<TcpSegment> segments;
    uint32_t first{0};                  //!< number of the first of `segments`
    uint32_t oldest{TcpSegment::kNone}; //!< first in the order of sending, of those in flight
    uint32_t newest{TcpSegment::kNone}; //!< last in that order
    uint32_t nextLost{0};               //!< no segment below is lost and not in flight
    uint32_t sacked{0};
    uint32_t lost{0};
    uint32_t again{0};
    TcpPhase phase{TcpPhase::Open};
    TcpStage stage{TcpStage::Closed};
    uint8_t backoff{0}; //!< time-outs in a row
    Timer due{Timer::None};
    uint16_t atNic{0}; //!< segments in the NIC's queue
    // Proportional rate reduction (RFC 6937).
    uint32_t priorWindow{0};
    uint32_t reducedDelivered{0};
    uint32_t reducedSent{0};
    uint32_t inBurst{0}; //!< segments of a burst that have left, by the pace
    // How much of the window is used (Linux: tcp_cwnd_validate).
    uint32_t mostUsed{0};
    uint32_t nextListed{kNone}; //!< connection after it in the turns at the NIC
    uint32_t unanswered{0};     //!< segments since the receiver's last ACK
    uint64_t usageEnd{0};
    // Losses by time (RFC 8985).
    Picoseconds latestSent{0};      //!< of what has arrived, when the latest was sent
    uint64_t latestEnd{0};          //!< its end
    Picoseconds latestRoundTrip{0}; //!< its round trip
    // Rates of delivery, and the pace.
    Picoseconds deliveredAt{0}; //!< when the last segment arrived
    Picoseconds firstSent{0};   //!< when the first was sent of those that count now
    uint64_t starvedTo{0};      //!< until as many have arrived, the application had too little
    Picoseconds paceAt{0};      //!< time of its next segment by its pace
    Picoseconds paced{0};       //!< time of the one after those that have left
    // Timers.
    Picoseconds waitsFrom{0}; //!< the retransmission timer runs from here
    Picoseconds lastSent{0};  //!< when something new was last sent
    Picoseconds reorderAt{0}; //!< 0: nothing was overtaken
    Picoseconds dueAt{0};
    uint64_t probeEnd{0}; //!< end of what was sent when the probe left
    Picoseconds ready{0}; //!< time from which its next segment may leave

    // The receiver.
    uint64_t expected{0};    //!< all bytes below have arrived
    Picoseconds answerAt{0}; //!< when a delayed ACK is due; 0: none

    bool limited{true};      //!< the window is what limits the sender
    bool wakes{false};       //!< an event for the time of its pace was scheduled
    bool probing{false};     //!< a tail loss probe was sent
    bool probeWasOld{false}; //!< it had been sent before
    bool probeNow{false};    //!< a probe is to leave
    bool retries{false};     //!< it sends again after a time, as the NIC's queue was full
    bool throttled{false};   //!< it sends again when one of its segments has left (TSQ_THROTTLED)
    bool listed{false};      //!< it is in the turns at the NIC

    /// Returns the number of segments on their way.
    uint32_t InFlight() const
    {
        return segments.size() - sacked - lost + again;
    }

    TcpSegment& SegmentOf(uint32_t number)
    {
        return segments[number - first];
    }

    uint32_t End() const
    {
        return first + segments.size();
    }

    bool IsIdle() const
    {
        return messages.empty();
    }

    /// Returns whether it behaves as its TcpIdleConnection would that is continued: nothing is
    /// under way, nothing but the timer's event and that of a delayed ACK is waited for, and what
    /// else it remembers is set again before it is read.
    bool MayRest(Picoseconds now) const
    {
        return messages.empty() && segments.empty() && stage == TcpStage::Open &&
               phase == TcpPhase::Open && due == Timer::None && !gaps && next == queued &&
               acked == queued && expected == queued && unanswered == 0 && answerAt == 0 &&
               backoff == 0 && atNic == 0 && inBurst == 0 && window.segments > 0 && paceAt <= now &&
               paced <= now && ready <= now &&
               !(wakes || probing || probeNow || retries || throttled || listed);
    }
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_TCP_CONNECTION_H
