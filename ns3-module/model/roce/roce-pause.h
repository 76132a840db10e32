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

/// A RocePause is the pause of one port's data, and remembers the earlier ones.
class RocePause
{
  public:
    /**
     * \param at when the port is paused, which is not paused
     * \param root port whose queue is the cause
     */
    void Begin(Picoseconds at, DirectedLink root)
    {
        m_on = true;
        m_since = at;
        ++m_count;
        m_root = root;
    }

    /**
     * \param at when the port continues
     */
    void End(Picoseconds at);

    /**
     * \param until when the pause ends by itself
     */
    void SetEnd(Picoseconds until)
    {
        m_until = until;
    }

    /// The watchdog drops what comes, until the pause ends.
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
     * \return when the last pause ended
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
     * \param at not long before now
     * \return for how long the port had been paused until then
     */
    Picoseconds TimeUntil(Picoseconds at) const
    {
        return m_time + PresentUntil(at);
    }

    /**
     * \param now the present
     * \param counters get how often and for how long the port was paused, and by what mostly
     */
    void Count(Picoseconds now, fabric::LinkCounters& counters) const;

  private:
    Picoseconds PresentUntil(Picoseconds at) const
    {
        return m_on ? std::max<Picoseconds>(0, at - m_since) : 0;
    }

    bool m_on{false};
    bool m_dropping{false}; //!< its watchdog has bitten
    Picoseconds m_until{0}; //!< it ends by itself
    Picoseconds m_since{0};
    Picoseconds m_resumed{0};
    DirectedLink m_root{-1};
    std::vector<std::pair<DirectedLink, Picoseconds>> m_roots; //!< times by cause
    int64_t m_count{0};
    Picoseconds m_time{0}; //!< of the pauses that have ended
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_ROCE_PAUSE_H
