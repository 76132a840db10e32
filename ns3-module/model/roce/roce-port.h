/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_PORT_H
#define LEGACY_ROCE_PORT_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/roce/shared-buffer.h"
#include "model/frames/frame.h"
#include "roce-line.h"
#include "roce-pause.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace legacy
{
namespace packet
{

/// A RoceMeter counts what a port has sent.
class RoceMeter
{
  public:
    /**
     * Counts busy time, also in windows of kPeakWindow.
     * \param start time at which sending starts
     * \param time that sending takes
     */
    void Occupy(Picoseconds start, Picoseconds time);

    /**
     * \return total time of sending
     */
    Picoseconds Busy() const
    {
        return m_busy;
    }

    /**
     * \return the largest share of a window during which the port sent
     */
    double Peak() const;

    int64_t bytes{0};
    int64_t packets{0};
    int64_t drops{0};
    int64_t maxQueue{0};

  private:
    Picoseconds m_busy{0};
    int64_t m_window{0}; //!< number of the window of the last frame's end
    Picoseconds m_inWindow{0};
    Picoseconds m_peak{0};
};

/// A RocePort is the sending side of one directed link, with what the link's far end knows about
/// its frames.
struct RocePort
{
    /// A PFC frame that a port is to send.
    struct PauseFrame
    {
        bool pending{false};
        int quanta{0};
        Picoseconds from{0};
    };

    /// The state of a link's far end, if that is a switch.
    struct FarEnd
    {
        bool pausing{false};     //!< it has paused the port
        uint32_t renewal{0};     //!< number of the pause that it has caused
        std::vector<int64_t> at; //!< bytes of the link's data, by port of the switch
    };

    /// How frames that leave are marked.
    struct Marks
    {
        bool on{false}; //!< frames above thresholds are marked
        fabric::EcnThresholds ecn;
        uint64_t candidates{0}; //!< number of frames whose marking was drawn at random
        int64_t marked{0};
    };

    RoceLine line;
    TokenBucket bucket;
    Picoseconds delay{0};      //!< delay of the link, and of the switch at its end
    Picoseconds wireDelay{0};  //!< of the link alone
    Picoseconds free{0};       //!< time at which the last frame ends
    Picoseconds outUntil{0};   //!< time until which its link is out; 0: it is not out
    bool freeScheduled{false}; //!< an event of kind Free is scheduled
    int turns{1};              //!< frames that the queue may send before a NIC is next
    std::array<FrameList, fabric::kRoceClasses> queues; //!< frames that wait, by class
    PauseFrame pauseFrame;
    RocePause pause;
    Picoseconds lastData{0}; //!< start of the last data frame
    FarEnd far;
    Marks marks;
    int64_t queueLimit{0}; //!< limit of data without PFC; 0: none
    RoceMeter meter;

    FrameList& QueueOf(fabric::RoceClass of)
    {
        return queues[static_cast<std::size_t>(of)];
    }

    const FrameList& QueueOf(fabric::RoceClass of) const
    {
        return queues[static_cast<std::size_t>(of)];
    }

    /**
     * \return number of bytes that wait
     */
    int64_t Waiting() const;
    /**
     * \param now the present time
     * \return what the port has counted
     */
    fabric::LinkCounters GetCounters(Picoseconds now) const;
    /**
     * \param now the present time
     * \return what the port has sent so far, and what waits there
     */
    fabric::LinkActivity GetActivity(Picoseconds now) const;
};

/**
 * \param topology a network
 * \param settings of its switches
 * \return its ports by directed link
 */
std::vector<RocePort> MakeRocePorts(const fabric::Topology& topology,
                                    const fabric::RoceSettings& settings);

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_PORT_H
