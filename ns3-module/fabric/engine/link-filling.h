// A link while max-min fair rates are solved. Internal to fabric/.
#pragma once

#include <algorithm>
#include <limits>

namespace legacy::fabric
{

/// A LinkFilling is a link during a progressive filling. Between solutions it is as when made.
///
/// Its pool has the connections that share what the others leave of the link: those that are open,
/// those that kept the link as their bottleneck, until it is full, and those that kept a rate above
/// `cut`. The fair share of the pool is a lower bound of the level at which the link is full,
/// whatever the cut is.
struct LinkFilling
{
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    double room = 0;   ///< capacity that connections leave which are not in the pool
    double weight = 0; ///< sum of the shares of the pool
    double cut = kInfinity;
    double key = kInfinity; ///< level of its entry in the heap of levels; infinity: it has none
    int pool = 0;           ///< number of connections
    int open = 0;           ///< those of them that are open
    bool touched = false;
    bool stale = false; ///< true while its level may be lower than that of its entry
    bool full = false;  ///< true once it froze connections

    /// Returns true where a connection that kept its rate is in the pool. `limits` says that the
    /// link is its bottleneck.
    bool InPool(double rate, bool limits) const
    {
        return rate > cut || (limits && !full);
    }

    /// Takes a connection into the pool, which was not in it and kept `rate`.
    void Enter(double rate, double share)
    {
        room += rate * share;
        weight += share;
        ++pool;
    }

    /// Takes a connection out of the pool, which has `rate` from now on.
    void Exit(double rate, double share)
    {
        room -= rate * share;
        weight -= share;
        --pool;
    }

    /// Becomes full, with no connection in the pool.
    void Fill()
    {
        weight = 0;
        pool = 0;
        full = true;
    }

    /// Returns the fair share of the pool, which is not empty.
    double FairShare() const
    {
        return std::max(0.0, room) / weight;
    }
};

} // namespace legacy::fabric
