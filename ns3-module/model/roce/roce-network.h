/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_NETWORK_H
#define LEGACY_ROCE_NETWORK_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "frame.h"
#include "roce-ends.h"
#include "roce-event.h"
#include "roce-pauses.h"
#include "roce-port.h"
#include "roce-switches.h"

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Moves the frames of RoCEv2 over the ports and wires of a topology. What switches do is in
 * roce-switches.h, and priority flow control in roce-pauses.h.
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
     * Sends an ACK, NAK or CNP, after those that wait.
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
    Picoseconds FreeAt(DirectedLink link) const
    {
        return m_ports[link].free;
    }
    /**
     * \param link a port
     * \return rate in bit/s
     */
    int64_t RateOf(DirectedLink link) const
    {
        return m_ports[link].line.Rate();
    }
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
    Picoseconds OutUntil(DirectedLink link) const
    {
        return m_ports[link].outUntil;
    }
    /**
     * \param link a port
     * \param wire bytes
     * \return how long they take
     */
    Picoseconds SerialisationOf(DirectedLink link, int64_t wire) const
    {
        return m_ports[link].line.SerialisationOf(wire);
    }
    /**
     * \param link a port
     * \return a text that says whether and by what it is paused
     */
    std::string DescribePause(DirectedLink link) const
    {
        return m_pauses.Describe(link);
    }

    /// Marks are drawn as on a new network from now on.
    void ResetMarks();
    /**
     * Losses, and marks where they are drawn, are drawn again from now on.
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
    void SetDrop(std::function<bool(DirectedLink link, const Frame& frame)> drop)
    {
        m_drop = std::move(drop);
    }

    /// Is told of each frame that a port begins to send, and of each that has arrived.
    using Tap =
        std::function<void(DirectedLink link, uint32_t frame, Picoseconds at, bool arrives)>;
    /**
     * \param tap is told of frames from now on; empty: nobody is
     */
    void SetTap(Tap tap)
    {
        m_tap = std::move(tap);
    }
    /**
     * \param link a port
     * \return true where it has ever been paused
     */
    bool WasPaused(DirectedLink link) const
    {
        return m_ports[link].pause.Count() > 0;
    }
    /**
     * \param link a port
     * \param at not long before now
     * \return for how long it had been paused until then
     */
    Picoseconds PausedUntil(DirectedLink link, Picoseconds at) const
    {
        return m_ports[link].pause.TimeUntil(at);
    }
    /**
     * \param link a port that has been paused
     * \return the port whose queue was the cause of its last pause
     */
    DirectedLink RootOfPause(DirectedLink link) const
    {
        return m_ports[link].pause.Root();
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
    std::vector<int64_t> GetBuffers() const
    {
        return m_switches.GetBuffers();
    }
    /**
     * Adds frames to hosts, drops of watchdogs, and what buffers held.
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
     * \return pauses that began, ended by a frame, and ended by themselves
     */
    std::array<uint64_t, 3> GetPauses() const
    {
        return m_pauses.GetCounts();
    }

  private:
    // Inherited from RoceEventSink.
    void OnEvent(RoceEventKind kind, uint32_t a, uint32_t b) override;

    /// Returns the next frame of a port with the time from which it may leave; none: Frame::kNone.
    uint32_t Pick(DirectedLink link, Picoseconds& from);
    uint32_t PickQueued(DirectedLink link, fabric::RoceClass of, Picoseconds& from);
    bool HasWork(DirectedLink link) const; //!< whether Pick would find something
    void Send(DirectedLink link, uint32_t frame, Picoseconds start);
    /// Returns for how long before its end a train that is sent may be sent on at the far end.
    Picoseconds HeadStart(DirectedLink link, const Frame& train) const;
    bool Loses(DirectedLink link, const Frame& frame); //!< whether the wire loses it
    void Arrive(DirectedLink link, uint32_t frame);
    void Forward(DirectedLink link, DirectedLink out, uint32_t frame); //!< in a switch
    void Leave(DirectedLink link, uint32_t frame, Picoseconds start);  //!< it leaves the buffer
    void Enqueue(DirectedLink link, uint32_t frame);
    void Bite(DirectedLink link); //!< a watchdog drops what waits at a port

    const fabric::Topology* m_topology;
    const fabric::RoceSettings m_settings;
    const uint64_t m_seed;
    const int64_t m_firstFrame; //!< wire bytes of a message's first frame, which is full
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
