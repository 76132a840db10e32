// The time from which a queue pair may send its next frame. After frames of b bytes on the wire
// that began at s, it is s + 8 b / R. Where a control sends bursts (RoceTraits::burstBytes), the
// frames of a burst leave back to back, and their sum is paced. When R changes, the time is
// computed again from s.
#pragma once

#include "control.h"

#include <algorithm>

namespace legacy::fabric
{

/// A RocePacer is the pacing state of one queue pair.
struct RocePacer
{
    Picoseconds start = 0; ///< of the frame or burst that is paced now
    int64_t bytes = 0;     ///< on the wire, sent since `start`
    int64_t burstLeft = 0; ///< payload bytes that may follow without a wait
    Picoseconds next = 0;  ///< when the next frame may begin

    /// Counts a frame that begins at `now` >= next. `burst` is the trait's bytes. `ends` says that
    /// a message ends with the frame, and so does a burst.
    void OnSent(Picoseconds now,
                int64_t wireBytes,
                int64_t payload,
                bool ends,
                int64_t burst,
                double rate)
    {
        if (burstLeft <= 0)
        {
            start = now;
            bytes = 0;
            burstLeft = burst;
        }
        bytes += wireBytes;
        burstLeft = ends ? 0 : burstLeft - payload;
        OnRate(now, rate);
    }

    /// Computes the next time again, not before `now`.
    void OnRate(Picoseconds now, double rate)
    {
        if (burstLeft > 0)
        {
            next = now;
            return;
        }
        constexpr double kLongest = 1e18; // 11 days
        const double wait = 8 * kPicosecondsPerSecond * static_cast<double>(bytes) / rate;
        next = std::max(now, start + static_cast<Picoseconds>(std::min(wait, kLongest) + 0.5));
    }
};

} // namespace legacy::fabric
