/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_ANCHORS_H
#define LEGACY_ROCE_ANCHORS_H

#include "base/units.h"

#include <cstdint>
#include <string>
#include <vector>

// This header includes no ns-3 header, because the rest of the project is C++20, which ns-3 3.37's
// headers are not.

namespace legacy
{
namespace fabric
{

/// What sends to what in an anchor.
enum class RoceAnchorTraffic : uint8_t
{
    Incast, ///< senders to one host, around one switch
    Victim, ///< five flows to one host, and one to another, behind a link of 400 Gbit/s
    Ring,   ///< ring all-reduce around one switch
};

/// A RoceAnchor is a result of ASTRA-sim's RDMA model (ns-3 back end of 2024-03), measured with
/// links of 100 Gbit/s and 1 us, 1,000 bytes of payload and its sizes of frames: 1,036 bytes, with
/// HPCC 1,078; ACKs of 48, with HPCC 76. Times are those of the last byte at its receiver.
struct RoceAnchor
{
    std::string name;
    RoceAnchorTraffic traffic;
    int senders = 1;     ///< of an incast; workers of a ring
    int64_t bytes = 0;   ///< that each of them sends, or reduces
    std::string options; ///< of roce, besides sizes
    TimeNs published = 0;
    int64_t pauses = 0;   ///< theirs
    double tolerance = 0; ///< of the time, relative
};

/// What our packets make of an anchor. The time of a victim's case is the victim's.
struct RoceAnchorResult
{
    TimeNs time = 0;
    int64_t pauses = 0;
    int64_t drops = 0;

    /// Returns the time over the published one.
    double Ratio(const RoceAnchor& anchor) const
    {
        return static_cast<double>(time) / static_cast<double>(anchor.published);
    }

    /// Returns true where the time is within its tolerance, pauses within a factor of 2 of theirs,
    /// and nothing is lost.
    bool Holds(const RoceAnchor& anchor) const;
};

/**
 * \ingroup legacy
 * \return the ten anchors
 */
std::vector<RoceAnchor> RoceAnchors();
/**
 * Simulates an anchor at its sizes. Throws Error while another ns-3 simulation is alive in this
 * process.
 * \param anchor what is simulated
 * \return what came of it
 */
RoceAnchorResult RunRoceAnchor(const RoceAnchor& anchor);

} // namespace fabric
} // namespace legacy

#endif // LEGACY_ROCE_ANCHORS_H
