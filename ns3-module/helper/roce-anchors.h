/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_ANCHORS_H
#define LEGACY_ROCE_ANCHORS_H

#include "base/units.h"

#include <cstdint>
#include <string>
#include <vector>

// This header includes no ns-3 headers, because the rest of the project is C++20, and the headers
// of ns-3 3.37 are not.

namespace legacy
{
namespace fabric
{

/// The traffic of an anchor.
enum class RoceAnchorTraffic : uint8_t
{
    Incast, ///< several senders send to one host, through one switch
    Victim, ///< five flows go to one host, and one to another, all over a link of 400 Gbit/s
    Ring,   ///< a ring all-reduce through one switch
};

/// A RoceAnchor is a published result of ASTRA-sim's RDMA model (ns-3 back end of 2024-03). It was
/// measured with links of 100 Gbit/s and 1 us, 1,000 bytes of payload, and ASTRA-sim's sizes of
/// frames: 1,036 bytes, or 1,078 with HPCC; ACKs have 48 bytes, or 76 with HPCC. Times are those at
/// which the last byte reaches its receiver.
struct RoceAnchor
{
    std::string name;
    RoceAnchorTraffic traffic;
    int senders = 1;     ///< senders of an incast; workers of a ring
    int64_t bytes = 0;   ///< bytes that each of them sends, or reduces
    std::string options; ///< options of roce, except for sizes
    TimeNs published = 0;
    int64_t pauses = 0;   ///< number of pauses in ASTRA-sim
    double tolerance = 0; ///< relative tolerance of the time
};

/// The result of our packet engine for an anchor. In a victim's case, the time is the victim's.
struct RoceAnchorResult
{
    TimeNs time = 0;
    int64_t pauses = 0;
    int64_t drops = 0;

    /// Returns the ratio of the time to the published one.
    double Ratio(const RoceAnchor& anchor) const
    {
        return static_cast<double>(time) / static_cast<double>(anchor.published);
    }

    /// Returns true if the time is within its tolerance, the number of pauses is within a factor of
    /// 2 of ASTRA-sim's, and nothing is lost.
    bool Holds(const RoceAnchor& anchor) const;
};

/**
 * \ingroup legacy
 * \return the ten anchors
 */
std::vector<RoceAnchor> RoceAnchors();
/**
 * Simulates an anchor with its sizes of frames. Throws Error while another ns-3 simulation is alive
 * in this process.
 * \param anchor to simulate
 * \return its result
 */
RoceAnchorResult RunRoceAnchor(const RoceAnchor& anchor);

} // namespace fabric
} // namespace legacy

#endif // LEGACY_ROCE_ANCHORS_H
