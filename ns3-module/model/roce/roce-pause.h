/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_PAUSE_H
#define LEGACY_ROCE_PAUSE_H

#include "fabric/engine/engine.h"
#include "fabric/roce/telemetry.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace legacy
{
namespace packet
{

using fabric::DirectedLink;
using fabric::Picoseconds;

/// A RocePause has the present pause of one port's data, and remembers the earlier ones.
class RocePause
{
  public:
    /**
     * \param at time at which the port, which is not paused, is paused
     * \param root port whose queue is the cause of the pause
     */
    void Begin(Picoseconds at, DirectedLink root)
    {
        m_on = true;
        m_since = at;
        ++m_count;
        m_root = root;
    }

    /**
     * \param at time at which the port continues
     */
    void End(Picoseconds at);

    /**
     * \param until time at which the pause ends by itself
     */
    void SetEnd(Picoseconds until)
    {
        m_until = until;
    }

    /// Makes the watchdog drop arriving frames until the pause ends.
    void StartDropping()
    {
        m_dropping = true;
    }

    bool IsOn() const
    {
        return m_on;
    }

    bool IsDropping() const
    {
        return m_dropping;
    }

    Picoseconds Since() const
    {
        return m_since;
    }

    Picoseconds Until() const
    {
        return m_until;
    }

    /**
     * \return time at which the last pause ended
     */
    Picoseconds Resumed() const
    {
        return m_resumed;
    }

    /**
     * \return port whose queue was the cause of the last pause; -1: it was never paused
     */
    DirectedLink Root() const
    {
        return m_root;
    }

    /**
     * \return number of pauses
     */
    int64_t Count() const
    {
        return m_count;
    }

    /**
     * \param at time not long before now
     * \return total time for which the port had been paused until then
     */
    Picoseconds TimeUntil(Picoseconds at) const
    {
        return m_time + PresentUntil(at);
    }

    /**
     * \param now the present time
     * \param counters get how often and how long the port was paused, and the main cause
     */
    void Count(Picoseconds now, fabric::LinkCounters& counters) const;

  private:
    Picoseconds PresentUntil(Picoseconds at) const
    {
        return m_on ? std::max<Picoseconds>(0, at - m_since) : 0;
    }

    bool m_on{false};
    bool m_dropping{false}; //!< true once its watchdog has expired
    Picoseconds m_until{0}; //!< time at which it ends by itself
    Picoseconds m_since{0};
    Picoseconds m_resumed{0};
    DirectedLink m_root{-1};
    std::vector<std::pair<DirectedLink, Picoseconds>> m_roots; //!< times by cause
    int64_t m_count{0};
    Picoseconds m_time{0}; //!< total time of the pauses that have ended
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_PAUSE_H
