/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_NETWORK_H
#define LEGACY_ROCE_NETWORK_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "model/frames/frame.h"
#include "roce-ends.h"
#include "roce-event.h"
#include "roce-pauses.h"
#include "roce-port.h"
#include "roce-switches.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Moves the frames of RoCEv2 over the ports and wires of a topology. The part of switches is in
 * roce-switches.h, and priority flow control is in roce-pauses.h.
 *
 * Frames are forwarded when they have arrived completely. A train is forwarded as soon as its first
 * frame has arrived and none of the following frames would be late; until then it takes no room.
 * Each port computes in picoseconds, and only events are rounded up to the nanoseconds of ns-3's
 * clock, so that rounding errors do not accumulate. A frame leaves a buffer when it starts to leave
 * its port.
 */
class RoceNetwork : private RoceEventSink
{
  public:
    /**
     * \param topology outlives this object
     * \param settings of switches and frames
     * \param room what frames have besides their records of 64 bytes
     * \param seed of marks and losses
     * \param ends outlives this object
     */
    RoceNetwork(const fabric::Topology* topology,
                const fabric::RoceSettings& settings,
                const FrameRoom& room,
                uint64_t seed,
                RoceEnds* ends);
    ~RoceNetwork() override;
    /**
     * Limits what waits at the port of a switch, and marks data there.
     * \param link the port
     * \param limit most bytes of data that wait; 0: what its buffer has
     * \param marks thresholds; nothing: no marks
     */
    void
    SetQueue(DirectedLink link, int64_t limit, const std::optional<fabric::EcnThresholds>& marks);
    /**
     * \return all frames
     */
    FramePool& Frames()
    {
        return m_frames;
    }
    /**
     * Sends an ACK, NAK or CNP after those that already wait, or data of a NIC that has a queue.
     * \param link first link of its way
     * \param frame whose `at` is the time from which it may leave
     */
    void SendControl(DirectedLink link, uint32_t frame);
    /**
     * Does the same while the port is served, as in RoceEnds::OnLeft: it sends on by itself.
     * \param link see SendControl
     * \param frame see SendControl
     */
    void Queue(DirectedLink link, uint32_t frame);
    /**
     * Limits what a port sends by tokens, before a line that is fast.
     * \param link the port
     * \param rateBps of tokens
     * \param burst bytes of tokens; 0: no bucket
     */
    void SetBucket(DirectedLink link, int64_t rateBps, int64_t burst);
    /**
     * \param link a port
     * \return bytes of data that wait there
     */
    int64_t QueuedAt(DirectedLink link) const
    {
        return m_ports[link].QueueOf(fabric::RoceClass::Data).bytes;
    }
    /**
     * Lets a port send: now if it is free, else as soon as it is.
     * \param link the port
     */
    void Serve(DirectedLink link);
    /**
     * Calls OnNicEvent at a time.
     * \param at time that is not before now
     * \param kind of the event
     * \param a see RoceEventKind
     */
    void Schedule(Picoseconds at, RoceEventKind kind, uint32_t a);
    /**
     * \param link a port
     * \return the time at which it will have sent its present frame
     */
    Picoseconds FreeAt(DirectedLink link) const
    {
        return m_ports[link].free;
    }
    /**
     * \param link a port
     * \return its rate in bit/s
     */
    int64_t RateOf(DirectedLink link) const
    {
        return m_ports[link].line.Rate();
    }
    /**
     * \param link a port
     * \param rateBps its rate from the next frame on; 0: it begins no frame
     * \param until time at which it gets another rate; kNever: it keeps this one
     */
    void SetRate(DirectedLink link, int64_t rateBps, TimeNs until);
    /**
     * \param link a port
     * \return the time until which it begins no frame because its link is out; 0: it is not out
     */
    Picoseconds OutUntil(DirectedLink link) const
    {
        return m_ports[link].outUntil;
    }
    /**
     * \param link a port
     * \param wire bytes
     * \return the time that they take
     */
    Picoseconds SerialisationOf(DirectedLink link, int64_t wire) const
    {
        return m_ports[link].line.SerialisationOf(wire);
    }
    /**
     * \param link a port
     * \return a text that says whether it is paused, and by what
     */
    std::string DescribePause(DirectedLink link) const
    {
        return m_pauses.Describe(link);
    }

    /// Makes marks be drawn as on a new network from now on.
    void ResetMarks();
    /**
     * Makes losses, and marks if they are random, be drawn again from now on.
     * \param draws number of earlier calls that did this
     */
    void ResetLosses(uint64_t draws);
    /**
     * \return true if links lose frames
     */
    bool IsLossy() const;
    /**
     * \return true if losses or marks are drawn at random
     */
    bool IsRandom() const;
    /**
     * \param drop is asked about each frame that a port sends; frames for which it returns true are
     * lost
     */
    void SetDrop(std::function<bool(DirectedLink link, const Frame& frame)> drop)
    {
        m_drop = std::move(drop);
    }

    /// Called for each frame that a port begins to send, and for each that has arrived.
    using Tap =
        std::function<void(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)>;
    /**
     * \param tap called for frames from now on; empty: none is called
     */
    void SetTap(Tap tap)
    {
        m_tap = std::move(tap);
    }
    /**
     * \param link a port
     * \return true if it has ever been paused
     */
    bool WasPaused(DirectedLink link) const
    {
        return m_ports[link].pause.Count() > 0;
    }
    /**
     * \param link a port
     * \param at time not long before now
     * \return total time for which it had been paused until then
     */
    Picoseconds PausedUntil(DirectedLink link, Picoseconds at) const
    {
        return m_ports[link].pause.TimeUntil(at);
    }
    /**
     * \param link a port that has been paused
     * \return port whose queue was the cause of its last pause
     */
    DirectedLink RootOfPause(DirectedLink link) const
    {
        return m_ports[link].pause.Root();
    }
    /**
     * \param link a port
     * \return true if data wait for it, and it has sent without a pause since they arrived
     */
    bool IsFull(DirectedLink link) const;
    /**
     * \return counters by directed link
     */
    std::vector<fabric::LinkCounters> GetCounters() const;
    /**
     * \return what each directed link has sent so far, and what waits there now
     */
    std::vector<fabric::LinkActivity> GetActivity() const;
    /**
     * \return bytes in use of each node's buffer
     */
    std::vector<int64_t> GetBuffers() const
    {
        return m_switches.GetBuffers();
    }
    /**
     * Adds the numbers of frames to hosts and of frames that watchdogs dropped, and what buffers
     * held.
     * \param counters of the engine
     */
    void AddCounters(fabric::EngineCounters& counters) const;
    /**
     * \return bytes in all buffers
     */
    int64_t GetBuffered() const
    {
        return m_switches.GetBuffered();
    }
    /**
     * \return numbers of pauses that began, that a frame ended, and that ended by themselves
     */
    std::array<uint64_t, 3> GetPauses() const
    {
        return m_pauses.GetCounts();
    }

  private:
    // Inherited from RoceEventSink.
    void OnEvent(RoceEventKind kind, uint32_t a, uint32_t b) override;

    /// Returns the next frame of a port, and the time from which it may leave; Frame::kNone if
    /// there is none.
    uint32_t Pick(DirectedLink link, Picoseconds& from);
    uint32_t PickQueued(DirectedLink link, fabric::RoceClass of, Picoseconds& from);
    /// Returns the wire bytes of the frame that leaves next, or of a full one.
    int64_t NextWire(DirectedLink link) const;
    bool HasWork(DirectedLink link) const; //!< returns whether Pick would find a frame
    void Send(DirectedLink link, uint32_t frame, Picoseconds start);
    /// Returns how long before its end a train that is sent may be forwarded at the far end.
    Picoseconds HeadStart(DirectedLink link, const Frame& train) const;
    bool Loses(DirectedLink link, const Frame& frame); //!< returns whether the wire loses it
    void Arrive(DirectedLink link, uint32_t frame);
    void Forward(DirectedLink link, DirectedLink out, uint32_t frame); //!< in a switch
    void Leave(DirectedLink link, uint32_t frame, Picoseconds start);  //!< from its buffer
    void Bite(DirectedLink link); //!< drops what waits at a port, as its watchdog does

    const fabric::Topology* m_topology;
    const fabric::RoceSettings m_settings;
    const uint64_t m_seed;
    const int64_t m_firstFrame; //!< wire bytes of a message's first frame if it is full
    RoceEnds* m_ends;
    FramePool m_frames;
    std::vector<RocePort> m_ports; //!< by directed link
    RoceSwitches m_switches;
    RocePauses m_pauses;
    std::function<bool(DirectedLink, const Frame&)> m_drop;
    Tap m_tap;
    uint64_t m_draws{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_NETWORK_H
