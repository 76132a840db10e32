// When a receiver sends a CNP (the "notification point" of DCQCN), for each queue pair.
#pragma once

#include "control.h"

#include <optional>

namespace legacy::fabric
{

/// A RoceNotifier is the receiver's state of one queue pair.
///
/// A marked frame is answered at once where no CNP was sent in the last RoceTraits::cnpInterval.
/// Marks that come sooner are forgotten, or with RoceTraits::cnpWindows they are answered by one
/// CNP when the interval is over, with the first frame after it.
struct RoceNotifier
{
    static constexpr Picoseconds kNone = -1;

    Picoseconds at = kNone;   ///< when its latest CNP was sent
    Picoseconds owed = kNone; ///< begin of the latest marked frame that a CNP has yet to answer

    /// Tells of a data frame that began to leave its NIC at `begin` and arrives at `now`. Returns
    /// the begin of the latest marked frame that a CNP answers, where one is sent now.
    std::optional<Picoseconds>
    OnFrame(Picoseconds now, Picoseconds begin, bool marked, const RoceTraits& traits)
    {
        const Picoseconds since = now - at;
        if (at != kNone && since < traits.cnpInterval)
        {
            owed = marked && traits.cnpWindows ? begin : owed;
            return std::nullopt;
        }
        // What was owed one interval ago or longer, while nothing arrived, is of no use any more.
        const bool late = owed != kNone && since < 2 * traits.cnpInterval;
        const Picoseconds answered = late ? owed : begin;
        owed = late && marked ? begin : kNone; // this mark is of the interval that begins now
        if (!marked && !late)
        {
            return std::nullopt;
        }
        at = now;
        return answered;
    }
};

} // namespace legacy::fabric
