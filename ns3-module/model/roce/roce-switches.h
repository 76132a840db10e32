/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_SWITCHES_H
#define LEGACY_ROCE_SWITCHES_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/roce/shared-buffer.h"
#include "frame.h"
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
 * The buffers of all switches: which frames they take in, and what they write into those that
 * leave, which are marks (ECN, RFC 3168) and telemetry.
 */
class RoceSwitches
{
  public:
    /**
     * \param topology outlives this object, as all the others do
     * \param settings of switches
     * \param telemetry switches write into data frames
     * \param seed of marks
     * \param ports by directed link
     * \param frames all frames
     * \param ends is told of frames that waited, and where the run cannot continue
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
        Dropped, ///< it is gone
        Taken,
        Pauses, ///< it is taken, and the port that sent it is to be paused
    };

    /**
     * Takes a frame into the buffer of a switch, or drops it.
     * \param link by which it has come
     * \param out the port by which it is to leave
     * \param frame the frame
     * \return what becomes of it
     */
    Admission Admit(DirectedLink link, DirectedLink out, uint32_t frame);
    /**
     * Marks a frame that is about to wait, where frames are marked then.
     * \param out the port at which it waits
     * \param frame the frame, which was admitted
     */
    void OnWaiting(DirectedLink out, uint32_t frame)
    {
        if (m_settings->markAtEnqueue)
        {
            MarkWaiting(out, frame);
        }
    }
    /**
     * Lets a frame go that was admitted.
     * \param link by which it leaves
     * \param frame the frame
     * \return the link by which it came, where its port may continue now; -1: it is not paused
     */
    DirectedLink Release(DirectedLink link, uint32_t frame);
    /**
     * Writes into a frame that was released.
     * \param link by which it leaves
     * \param frame the frame
     * \param start when it leaves
     */
    void OnLeaving(DirectedLink link, uint32_t frame, Picoseconds start);
    /**
     * A watchdog has dropped a frame.
     * \param link the port at which it waited
     * \param frame the frame, which is gone
     */
    void Bite(DirectedLink link, uint32_t frame);

    /**
     * Marks at random are drawn again from now on.
     * \param draws number of such draws before
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
     * Adds drops of watchdogs, and what buffers held.
     * \param counters of RoCEv2
     */
    void AddCounters(fabric::RoceCounters& counters) const;

  private:
    /// Returns whether a port takes no more data, though its buffer might.
    bool IsOverLimit(const RocePort& port, const fabric::SharedBuffer& buffer, int64_t bytes) const;
    void Drop(DirectedLink link, uint32_t frame, bool lossless);
    void MarkWaiting(DirectedLink out, uint32_t frame);
    /// Marks frames by the queue that each sees: `queued` bytes the last, `step` more the one
    /// before, and so on.
    void Mark(DirectedLink link, uint32_t frame, int64_t queued, int64_t step);
    double MarkingDraw(DirectedLink link); //!< 0 to 1, the next of a port

    const fabric::Topology* m_topology;
    const fabric::RoceSettings* m_settings;
    const bool m_telemetry;
    const uint64_t m_seed;
    uint64_t m_draws{0};
    std::vector<RocePort>& m_ports;
    FramePool& m_frames;
    RoceEnds* m_ends;
    std::vector<uint16_t> m_numbers;                              //!< of each link at its begin
    std::vector<std::unique_ptr<fabric::SharedBuffer>> m_buffers; //!< by node; none of hosts
    uint64_t m_bitten{0};
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_SWITCHES_H
