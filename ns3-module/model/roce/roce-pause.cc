/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-pause.h"

namespace legacy
{
namespace packet
{

void RocePause::End(Picoseconds at)
{
    const Picoseconds time = at - m_since;
    m_on = false;
    m_dropping = false;
    m_time += time;
    m_resumed = at;
    const auto known = std::find_if(
        m_roots.begin(), m_roots.end(), [&](const auto& root) { return root.first == m_root; });
    if (known == m_roots.end())
    {
        m_roots.emplace_back(m_root, time);
    }
    else
    {
        known->second += time;
    }
}

void RocePause::Count(Picoseconds now, fabric::LinkCounters& counters) const
{
    constexpr Picoseconds kNs = fabric::kPicosecondsPerNs;
    const Picoseconds present = PresentUntil(now);
    counters.pauses = m_count;
    counters.paused = (m_time + present + kNs / 2) / kNs;
    Picoseconds most = present;
    counters.pauseRoot = m_on ? m_root : -1;
    for (const auto& [root, time] : m_roots)
    {
        if (time > most)
        {
            most = time;
            counters.pauseRoot = root;
        }
    }
}

} // namespace packet
} // namespace legacy
