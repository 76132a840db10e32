/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_PORT_H
#define LEGACY_ROCE_PORT_H

#include "fabric/engine/engine.h"
#include "fabric/roce/roce-settings.h"
#include "fabric/roce/shared-buffer.h"
#include "frame.h"
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

/**
 * \param frame a frame
 * \return bytes that it takes in buffers
 */
inline int64_t InBuffer(const Frame& frame)
{
    return fabric::RoceSettings::InBuffer(frame.wire, frame.frames);
}

/// A RoceMeter counts what a port has sent.
class RoceMeter
{
  public:
    /**
     * Counts busy time, also by windows of kPeakWindow.
     * \param start of sending
     * \param time that it takes
     */
    void Occupy(Picoseconds start, Picoseconds time);

    /**
     * \return time of sending
     */
    Picoseconds Busy() const
    {
        return m_busy;
    }

    /**
     * \return the largest share of a window in which the port sent
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

/// A RocePort is the sending side of one directed link, and what its far end knows of its frames.
struct RocePort
{
    /// A PFC frame that a port is to send.
    struct PauseFrame
    {
        bool pending{false};
        int quanta{0};
        Picoseconds from{0};
    };

    /// The far end of a link, where it is a switch.
    struct FarEnd
    {
        bool pausing{false};     //!< it has paused the port
        uint32_t renewal{0};     //!< number of its pause
        std::vector<int64_t> at; //!< bytes of the link's data by port of the switch
    };

    /// Marks of the frames that leave.
    struct Marks
    {
        bool on{false}; //!< frames above thresholds are marked
        fabric::EcnThresholds ecn;
        uint64_t candidates{0}; //!< frames that were marked or not by a draw
        int64_t marked{0};
    };

    RoceLine line;
    Picoseconds delay{0};      //!< of the link, and of the switch at its end
    Picoseconds wireDelay{0};  //!< of the link alone
    Picoseconds free{0};       //!< end of the last frame
    Picoseconds outUntil{0};   //!< its link is out; 0: it is not
    bool freeScheduled{false}; //!< Free is to come
    bool data{false};          //!< whether the frame that is sent now is data
    std::array<FrameList, fabric::kRoceClasses> queues; //!< frames that wait, by class
    PauseFrame pauseFrame;
    RocePause pause;
    Picoseconds lastData{0}; //!< begin of the last data frame
    FarEnd far;
    Marks marks;
    int64_t queueLimit{0}; //!< of data without PFC; 0: none
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
     * \return bytes that wait
     */
    int64_t Waiting() const;
    /**
     * \param now the present
     * \return what the port has counted
     */
    fabric::LinkCounters GetCounters(Picoseconds now) const;
    /**
     * \param now the present
     * \return what the port has sent and has waiting
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
