/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_SWITCHES_H
#define LEGACY_ROCE_SWITCHES_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/roce/shared-buffer.h"
#include "model/frames/frame.h"
#include "roce-ends.h"
#include "roce-port.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * The buffers of all switches: which frames they take in, and the marks (ECN, RFC 3168) and
 * telemetry that they write into frames that leave.
 */
class RoceSwitches
{
  public:
    /**
     * \param topology outlives this object, as all the others do
     * \param settings of switches
     * \param telemetry whether switches write telemetry into data frames
     * \param seed of marks
     * \param ports by directed link
     * \param frames all frames
     * \param ends is told about frames that waited, and if the run cannot continue
     */
    RoceSwitches(const fabric::Topology* topology,
                 const fabric::RoceSettings* settings,
                 bool telemetry,
                 uint64_t seed,
                 std::vector<RocePort>* ports,
                 FramePool* frames,
                 RoceEnds* ends);
    ~RoceSwitches();

    /**
     * \param frame a frame
     * \return its class
     */
    fabric::RoceClass ClassOf(const Frame& frame) const
    {
        return frame.kind == FrameKind::Data || !m_settings->acksFirst ? fabric::RoceClass::Data
                                                                       : fabric::RoceClass::Control;
    }

    /// What a switch does with a frame.
    enum class Admission : uint8_t
    {
        Dropped, ///< the frame is dropped
        Taken,
        Pauses, ///< the frame is taken, and the port that sent it must be paused
    };

    /**
     * Takes a frame into the buffer of a switch, or drops it.
     * \param link by which the frame has come
     * \param out the port by which it is to leave
     * \param frame the frame
     * \return what happens to it
     */
    Admission Admit(DirectedLink link, DirectedLink out, uint32_t frame);
    /**
     * Marks a frame that is about to wait, if frames are marked at that time.
     * \param link by which the frame has come
     * \param out the port at which it waits
     * \param frame the frame, which was admitted
     */
    void OnWaiting(DirectedLink link, DirectedLink out, uint32_t frame)
    {
        if (m_settings->markAtEnqueue)
        {
            MarkWaiting(link, out, frame);
        }
    }
    /**
     * Removes an admitted frame from the buffer.
     * \param link by which the frame leaves
     * \param frame the frame
     * \return the link by which the frame came, if its port may continue now; -1: that port is not
     * paused
     */
    DirectedLink Release(DirectedLink link, uint32_t frame);
    /**
     * Writes marks and telemetry into a frame that was released.
     * \param link by which the frame leaves
     * \param frame the frame
     * \param start time at which it leaves
     */
    void OnLeaving(DirectedLink link, uint32_t frame, Picoseconds start);
    /**
     * Counts a frame that a watchdog has dropped.
     * \param link the port at which it waited
     * \param frame the frame, which has left the buffer
     */
    void Bite(DirectedLink link, uint32_t frame);

    /**
     * Makes random marks be drawn again from now on.
     * \param draws number of earlier calls that did this
     */
    void SetDraws(uint64_t draws)
    {
        m_draws = draws;
    }

    /**
     * \return bytes in use of each node's buffer
     */
    std::vector<int64_t> GetBuffers() const;
    /**
     * \return bytes in all buffers
     */
    int64_t GetBuffered() const;
    /**
     * Adds the number of frames that watchdogs dropped, and what buffers held.
     * \param counters of RoCEv2
     */
    void AddCounters(fabric::RoceCounters& counters) const;

  private:
    /// Returns the bytes of data that a port still takes, even if its buffer has more room.
    int64_t RoomOf(const RocePort& port, const fabric::SharedBuffer& buffer) const;
    void Drop(DirectedLink link, uint32_t frame, bool lossless);
    void MarkWaiting(DirectedLink link, DirectedLink out, uint32_t frame);
    /// Returns by how many bytes a port's queue grows with each frame of a train: those that it
    /// cannot send until the next one has arrived.
    int64_t GrowthOf(DirectedLink link, DirectedLink out, int64_t bytes) const;
    /// Removes the frames of a train for which a port's queue has no room. Returns false if none is
    /// left.
    bool Trim(DirectedLink link, DirectedLink out, Frame& train);
    /// Marks frames by the queue length that each sees: `queued` bytes for the last one, `step`
    /// more for the one before, and so on.
    void Mark(DirectedLink link, uint32_t frame, int64_t queued, int64_t step);
    double MarkingDraw(DirectedLink link); //!< the next draw of a port, from 0 to 1

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    const bool m_telemetry;
    const uint64_t m_seed;
    uint64_t m_draws{0};
    std::vector<RocePort>& m_ports;
    FramePool& m_frames;
    RoceEnds* m_ends;
    std::vector<uint16_t> m_numbers; //!< number of each link at its source
    std::vector<std::unique_ptr<fabric::SharedBuffer>> m_buffers; //!< by node; hosts have none
    uint64_t m_bitten{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_SWITCHES_H
