// When a receiver sends a CNP (the "notification point" of DCQCN), for each queue pair.
#pragma once

#include "control.h"

namespace legacy::fabric
{

/// A RoceNotifier is the receiver's state of one queue pair.
///
/// A marked frame is answered at once where no CNP was sent in the last RoceTraits::cnpInterval.
/// Marks that come sooner are forgotten, or with RoceTraits::cnpWindows they are answered by one
/// CNP when the interval is over, with the first frame behind it.
struct RoceNotifier
{
    bool sent = false;  ///< a CNP, ever
    bool owed = false;  ///< a mark came since
    Picoseconds at = 0; ///< when it was sent

    /// Tells of a data frame that arrives at `now`. Returns true where a CNP is sent now.
    bool OnFrame(Picoseconds now, bool marked, const RoceTraits& traits)
    {
        const Picoseconds since = now - at;
        if (sent && since < traits.cnpInterval)
        {
            owed = owed || (marked && traits.cnpWindows);
            return false;
        }
        // What was owed one interval ago or longer, while nothing arrived, is of no use any more.
        const bool late = owed && since < 2 * traits.cnpInterval;
        if (!marked && !late)
        {
            owed = false;
            return false;
        }
        owed = late && marked; // this mark is of the interval that begins now
        sent = true;
        at = now;
        return true;
    }
};

} // namespace legacy::fabric
