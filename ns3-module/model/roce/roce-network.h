/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_NETWORK_H
#define LEGACY_ROCE_NETWORK_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/roce/shared-buffer.h"
#include "frame.h"
#include "roce-event.h"
#include "way.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

using fabric::DirectedLink;

/// RoceEnds are the cards of a network: they make data frames, and take all frames that end.
class RoceEnds
{
  public:
    virtual ~RoceEnds() = default;
    /**
     * \param link whose port asks for the next data frame of its card
     * \param free when the port is free
     * \return the frame, whose `sent` is its begin; Frame::kNone: none may be sent now
     */
    virtual uint32_t Next(DirectedLink link, Picoseconds free) = 0;
    /**
     * \param link a port
     * \return true where its card has a frame that may be sent once the port is free
     */
    virtual bool IsReady(DirectedLink link) const = 0;
    /**
     * \param frame has arrived at the node where its way ends, and is the card's
     */
    virtual void Receive(uint32_t frame) = 0;
    /// No link: a way ends.
    static constexpr DirectedLink kWayEnds = -1;
    /**
     * \param frame data, ACK, NAK or CNP
     * \param node where it is
     * \return the next link of its way, or kWayEnds
     */
    virtual DirectedLink NextLink(const Frame& frame, int node) = 0;
    /**
     * A data frame that leaves a switch had waited there at a port that was paused.
     * \param frame the frame, whose `hop` is the number of that port on its way
     * \param link that port
     * \param root port whose queue was the cause of the pause
     * \param time of its wait in which the port was paused
     */
    virtual void
    OnWaited(const Frame& frame, DirectedLink link, DirectedLink root, Picoseconds time) = 0;
    /**
     * An event of the cards.
     * \param kind what happened
     * \param a see RoceEventKind
     */
    virtual void OnCardEvent(RoceEventKind kind, uint32_t a) = 0;
    /**
     * The run cannot go on.
     * \param message why
     */
    virtual void OnFailure(const std::string& message) = 0;
};

/**
 * \ingroup legacy
 * Has the ports, wires and switches of RoCEv2 on a topology: ECMP and shared buffers, ECN (RFC
 * 3168) and priority flow control (IEEE 802.1Qbb).
 *
 * Frames are forwarded when they are whole, and trains as soon as their first frame is and none
 * that follows would be late; until then a train takes no room. Each port reckons in picoseconds;
 * only events are rounded up to the nanoseconds of ns-3's clock, so that no error of rounding adds
 * up. A frame leaves a buffer when it begins to leave its port.
 */
class RoceNetwork : private RoceEventSink
{
  public:
    /**
     * \param topology outlives this object
     * \param settings of switches and frames
     * \param telemetry switches write into data frames
     * \param seed of marks and losses
     * \param ends outlives this object
     */
    RoceNetwork(const fabric::Topology* topology,
                const fabric::RoceSettings& settings,
                bool telemetry,
                uint64_t seed,
                RoceEnds* ends);
    ~RoceNetwork() override;

    /**
     * \return all frames
     */
    FramePool& Frames()
    {
        return m_frames;
    }

    /**
     * Sends an ACK, NAK or CNP, behind those that wait.
     * \param link first of its way
     * \param frame with `at` as the time from which it may leave
     */
    void SendControl(DirectedLink link, uint32_t frame);
    /**
     * Lets a port send, if it is free, and else as soon as it is.
     * \param link the port
     */
    void Serve(DirectedLink link);
    /**
     * Calls OnCardEvent at a time.
     * \param at not before now
     * \param kind of the event
     * \param a see RoceEventKind
     */
    void Schedule(Picoseconds at, RoceEventKind kind, uint32_t a);

    /**
     * \param link a port
     * \return when it has sent what it sends now
     */
    Picoseconds FreeAt(DirectedLink link) const;
    /**
     * \param link a port
     * \return rate in bit/s
     */
    int64_t RateOf(DirectedLink link) const;
    /**
     * \param link a port
     * \param rateBps its rate from its next frame on; 0: it begins none
     * \param until when it has another rate; kNever: it keeps this one
     */
    void SetRate(DirectedLink link, int64_t rateBps, TimeNs until);
    /**
     * \param link a port
     * \return until when it begins no frame, as its link is out; 0: it is not
     */
    Picoseconds OutUntil(DirectedLink link) const;
    /**
     * \param link a port
     * \param wire bytes
     * \return how long they take
     */
    Picoseconds SerialisationOf(DirectedLink link, int64_t wire) const;
    /**
     * \param link a port
     * \return a text that says whether and by what it is paused
     */
    std::string DescribePause(DirectedLink link) const;

    /// Marks are drawn as on a new network from now on.
    void ResetMarks();
    /**
     * Losses, and marks where they are drawn, are drawn anew from now on.
     * \param draws number of such draws before
     */
    void ResetLosses(uint64_t draws);
    /**
     * \return true where links lose frames
     */
    bool IsLossy() const;
    /**
     * \return true where losses or marks are drawn
     */
    bool IsRandom() const;
    /**
     * \param drop is asked about each frame that a port sends, and loses those for which it is true
     */
    void SetDrop(std::function<bool(DirectedLink link, const Frame& frame)> drop);

    /// Is told of each frame that a port begins to send, and of each that has arrived.
    using Tap =
        std::function<void(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)>;
    /**
     * \param tap is told of frames from now on; empty: nobody is
     */
    void SetTap(Tap tap);

    /**
     * \param link a port
     * \return true where it has ever been paused
     */
    bool WasPaused(DirectedLink link) const
    {
        return m_ports[link].pauses > 0;
    }
    /**
     * \param link a port
     * \param at not long before now
     * \return for how long it had been paused until then
     */
    Picoseconds PausedUntil(DirectedLink link, Picoseconds at) const
    {
        const Port& port = m_ports[link];
        return port.pausedTime +
               (port.paused ? std::max<Picoseconds>(0, at - port.pausedSince) : 0);
    }
    /**
     * \param link a port that has been paused
     * \return the port whose queue was the cause of its last pause
     */
    DirectedLink RootOfPause(DirectedLink link) const
    {
        return m_ports[link].root;
    }
    /**
     * \param link a port
     * \return true where data wait for it, and it has sent without a pause since they arrived
     */
    bool IsFull(DirectedLink link) const;

    /**
     * \return counters by directed link
     */
    std::vector<fabric::LinkCounters> GetCounters() const;
    /**
     * \return what each directed link has sent and has waiting now
     */
    std::vector<fabric::LinkActivity> GetActivity() const;
    /**
     * \return bytes in use of each node's buffer
     */
    std::vector<int64_t> GetBuffers() const;
    /**
     * Adds frames to hosts, drops of watchdogs, and what buffers held.
     * \param counters of the engine
     */
    void AddCounters(fabric::EngineCounters& counters) const;
    /**
     * \return bytes in all buffers
     */
    int64_t GetBuffered() const;
    /**
     * \return pauses that began, ended by a frame, and ended by themselves
     */
    std::array<uint64_t, 3> GetPauses() const;

  private:
    /// The sending side of one directed link, and what its far end knows of its frames.
    struct Port
    {
        int64_t rate{0};           //!< bit/s
        int64_t perByte{0};        //!< picoseconds; 0: no whole number
        Picoseconds delay{0};      //!< of the link, and of the switch at its end
        Picoseconds wireDelay{0};  //!< of the link alone
        Picoseconds free{0};       //!< end of the last frame
        Picoseconds outUntil{0};   //!< its link is out; 0: it is not
        bool freeScheduled{false}; //!< Free is to come
        bool data{false};          //!< whether the frame that is sent now is data
        std::array<FrameList, fabric::kRoceClasses> queues; //!< frames that wait, by class

        // PFC frames that this port is to send.
        bool pausePending{false};
        int pauseQuanta{0};
        Picoseconds pauseFrom{0};

        // The pause of this port's data.
        bool paused{false};
        bool dropping{false};       //!< its watchdog has bitten
        uint32_t pause{0};          //!< number of the pause
        Picoseconds pausedUntil{0}; //!< it ends by itself
        Picoseconds pausedSince{0};
        Picoseconds resumed{0};                                  //!< when the last one ended
        DirectedLink root{-1};                                   //!< port whose queue is its cause
        std::vector<std::pair<DirectedLink, Picoseconds>> roots; //!< times by cause
        Picoseconds lastData{0};                                 //!< begin of the last data frame

        // The far end of the link, where it is a switch.
        bool pausing{false};     //!< it has paused this port
        uint32_t renewal{0};     //!< number of its pause
        std::vector<int64_t> at; //!< bytes of this link's data by port of the switch

        bool marks{false}; //!< frames above thresholds
        fabric::EcnThresholds ecn;
        uint64_t candidates{0}; //!< frames that were marked or not by a draw
        int64_t untilLoss{-1};  //!< frames until the next is lost; -1: not drawn
        uint64_t losses{0};     //!< draws of the former
        double errorRate{0};
        int64_t queueLimit{0}; //!< of data without PFC; 0: none

        // Counters.
        int64_t bytes{0};
        int64_t packets{0};
        int64_t drops{0};
        int64_t marked{0};
        int64_t maxQueue{0};
        int64_t pauses{0};
        Picoseconds pausedTime{0};
        Picoseconds busy{0};
        int64_t window{0}; //!< number of the window of the last frame's end
        Picoseconds inWindow{0};
        Picoseconds peak{0};

        void SetRate(int64_t rateBps);
    };

    // Inherited from RoceEventSink.
    void OnEvent(RoceEventKind kind, uint32_t a, uint32_t b) override;

    /// Returns the next frame of a port with the time from which it may leave; none: Frame::kNone.
    uint32_t Pick(DirectedLink link, Picoseconds& from);
    uint32_t PickQueued(DirectedLink link, fabric::RoceClass of, Picoseconds& from);
    bool HasWork(DirectedLink link) const; //!< whether Pick would find something
    void Send(DirectedLink link, uint32_t frame, Picoseconds start);
    /// Returns for how long before its end a train that is sent may be sent on at the far end.
    Picoseconds HeadStart(DirectedLink link, const Frame& train) const;
    bool Loses(DirectedLink link, const Frame& frame);            //!< whether the wire loses it
    void Occupy(Port& port, Picoseconds start, Picoseconds time); //!< counts busy time

    // Switches.
    void Arrive(DirectedLink link, uint32_t frame);
    void Forward(DirectedLink link, DirectedLink out, uint32_t frame);
    void Leave(DirectedLink link, uint32_t frame, Picoseconds start); //!< it leaves the buffer
    void Drop(DirectedLink link, uint32_t frame, bool lossless);
    void Enqueue(DirectedLink link, uint32_t frame);
    /// Marks frames by the queue that each sees: `queued` bytes the last, `step` more the one
    /// before, and so on.
    void Mark(DirectedLink link, uint32_t frame, int64_t queued, int64_t step);
    double MarkingDraw(DirectedLink link); //!< 0 to 1, the next of a port
    fabric::RoceClass ClassOf(const Frame& frame) const;

    // Pauses.
    void SendPause(DirectedLink cause, Picoseconds from);
    void SendResume(DirectedLink cause, Picoseconds from);
    void OnPause(DirectedLink link, int quanta, Picoseconds at);
    void EndPause(DirectedLink link, Picoseconds at);
    DirectedLink RootOf(DirectedLink link) const; //!< port whose queue pauses this one
    Picoseconds PauseTime(DirectedLink link, int quanta) const;
    void Bite(DirectedLink link); //!< a watchdog drops what waits at a port
    void CheckWaiting();          //!< looks for ports that wait for each other
    void SendStorm();

    const fabric::Topology* m_topology;
    const fabric::RoceSettings m_settings;
    const bool m_telemetry;
    const uint64_t m_seed;
    const int64_t m_firstFrame; //!< wire bytes of a message's first frame, which is full
    RoceEnds* m_ends;
    FramePool m_frames;
    std::vector<Port> m_ports;                                    //!< by directed link
    std::vector<uint16_t> m_numbers;                              //!< of each link at its begin
    std::vector<std::unique_ptr<fabric::SharedBuffer>> m_buffers; //!< of switches, by node
    std::function<bool(DirectedLink, const Frame&)> m_drop;
    Tap m_tap;
    uint64_t m_draws{0};
    bool m_checking{false}; //!< CheckWaiting is to come
    uint64_t m_resumes{0};
    uint64_t m_expired{0};
    uint64_t m_bitten{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_NETWORK_H
