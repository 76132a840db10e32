/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-pauses.h"

#include "base/units.h"
#include "fabric/roce/buffers.h"

#include <algorithm>
#include <cstddef>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;

namespace
{

/// How long a port must be paused without sending a byte before a deadlock is looked for.
constexpr Picoseconds kStillness = 1'000'000'000;

/// Looks for a ring of ports, each of which waits for the next one.
class WaitSearch
{
  public:
    /**
     * \param topology a network
     * \param ports by directed link
     * \param still the ports that wait
     */
    WaitSearch(const fabric::Topology& topology,
               const std::vector<RocePort>& ports,
               std::vector<bool> still)
        : m_topology(topology),
          m_ports(ports),
          m_still(std::move(still)),
          m_states(ports.size(), kNew)
    {
    }

    /**
     * \param link a port
     * \return true if a ring is found from there on
     */
    bool FindFrom(DirectedLink link)
    {
        return m_still[link] && m_states[link] == kNew && Follow(link);
    }

    /**
     * \return the ring
     */
    const std::vector<DirectedLink>& Ring() const
    {
        return m_way;
    }

  private:
    enum State : uint8_t
    {
        kNew,
        kOpen,
        kDone
    };

    /// Follows a port to the ports of the next switch at which its frames wait.
    bool Follow(DirectedLink link)
    {
        m_states[link] = kOpen;
        m_way.push_back(link);
        const std::vector<int64_t>& at = m_ports[link].far.at;
        for (std::size_t i = 0; i < at.size(); ++i)
        {
            const DirectedLink next =
                at[i] > 0 ? m_topology.Out(m_topology.To(link))[i] : DirectedLink{-1};
            if (next < 0 || !m_still[next] || m_states[next] == kDone)
            {
                continue;
            }
            if (m_states[next] == kOpen)
            {
                m_way.erase(m_way.begin(), std::find(m_way.begin(), m_way.end(), next));
                return true;
            }
            if (Follow(next))
            {
                return true;
            }
        }
        m_way.pop_back();
        m_states[link] = kDone;
        return false;
    }

    const fabric::Topology& m_topology;
    const std::vector<RocePort>& m_ports;
    const std::vector<bool> m_still;
    std::vector<State> m_states;
    std::vector<DirectedLink> m_way;
};

} // namespace

RocePauses::RocePauses(const fabric::Topology* topology,
                       const fabric::RoceSettings* settings,
                       std::vector<RocePort>* ports,
                       RoceEventSink* sink,
                       RoceEnds* ends)
    : m_topology(topology),
      m_settings(settings),
      m_ports(*ports),
      m_sink(sink),
      m_ends(ends)
{
    if (settings->storm)
    {
        ScheduleRoce(sink, settings->storm->from * kPicosecondsPerNs, RoceEventKind::Storm, 0, 0);
    }
}

Picoseconds RocePauses::TimeOf(DirectedLink link, int quanta) const
{
    constexpr int64_t kQuantum = 512 / 8; // bytes
    return m_ports[link].line.SerialisationOf(kQuantum * quanta);
}

DirectedLink RocePauses::Pause(DirectedLink cause, Picoseconds from)
{
    RocePort::FarEnd& far = m_ports[cause].far;
    far.pausing = true;
    ++far.renewal;
    m_ports[cause ^ 1].pauseFrame = {true, m_settings->quanta, from};
    ScheduleRoce(m_sink,
                 RoceNow() + TimeOf(cause, m_settings->quanta) / 2,
                 RoceEventKind::Renew,
                 static_cast<uint32_t>(cause),
                 far.renewal);
    return cause ^ 1;
}

DirectedLink RocePauses::Resume(DirectedLink cause, Picoseconds from)
{
    m_ports[cause].far.pausing = false;
    m_ports[cause ^ 1].pauseFrame = {true, 0, from};
    return cause ^ 1;
}

bool RocePauses::OnFrame(DirectedLink link, int quanta, Picoseconds at)
{
    RocePause& pause = m_ports[link].pause;
    if (quanta == 0)
    {
        if (!pause.IsOn())
        {
            return false;
        }
        ++m_resumes;
        pause.End(at);
        return true;
    }
    pause.SetEnd(at + TimeOf(link, quanta));
    const auto number = static_cast<uint32_t>(link);
    ScheduleRoce(m_sink, pause.Until(), RoceEventKind::PauseEnd, number, 0);
    if (pause.IsOn())
    {
        return false;
    }
    pause.Begin(at, RootOf(link));
    if (m_settings->watchdog > 0 && !m_topology->IsHost(m_topology->From(link)))
    {
        ScheduleRoce(m_sink,
                     at + m_settings->watchdog * kPicosecondsPerNs,
                     RoceEventKind::Watchdog,
                     number,
                     static_cast<uint32_t>(pause.Count()));
    }
    if (!m_checking)
    {
        m_checking = true;
        ScheduleRoce(m_sink, at + kStillness, RoceEventKind::CheckWaiting, 0, 0);
    }
    return false;
}

bool RocePauses::OnPauseEnd(DirectedLink link)
{
    RocePause& pause = m_ports[link].pause;
    if (!pause.IsOn() || pause.Until() > RoceNow())
    {
        return false;
    }
    ++m_expired;
    pause.End(pause.Until());
    return true;
}

DirectedLink RocePauses::OnRenew(DirectedLink link, uint32_t pause)
{
    const RocePort::FarEnd& far = m_ports[link].far;
    return far.pausing && far.renewal == pause && m_ports[link ^ 1].outUntil == 0
               ? Pause(link, RoceNow())
               : kNone;
}

bool RocePauses::IsTooLong(DirectedLink link, uint32_t pause) const
{
    const RocePause& present = m_ports[link].pause;
    return present.IsOn() && static_cast<uint32_t>(present.Count()) == pause;
}

DirectedLink RocePauses::RootOf(DirectedLink link) const
{
    const std::vector<int64_t>& at = m_ports[link].far.at;
    const auto most = std::max_element(at.begin(), at.end());
    if (most == at.end() || *most == 0)
    {
        return link; // a NIC pauses it
    }
    const DirectedLink out = m_topology->Out(m_topology->To(link))[most - at.begin()];
    return m_ports[out].pause.IsOn() ? m_ports[out].pause.Root() : out;
}

DirectedLink RocePauses::OnStorm()
{
    const fabric::RoceStorm& storm = *m_settings->storm;
    const Picoseconds end = (storm.from + storm.length) * kPicosecondsPerNs;
    const Picoseconds now = RoceNow();
    const DirectedLink link = m_topology->Out(fabric::HostOfStorm(*m_topology, storm)).front();
    m_ports[link].pauseFrame = {true, now < end ? m_settings->quanta : 0, now};
    if (now < end)
    {
        ScheduleRoce(m_sink,
                     std::min(end, now + TimeOf(link, m_settings->quanta) / 2),
                     RoceEventKind::Storm,
                     0,
                     0);
    }
    return link;
}

bool RocePauses::IsStill(DirectedLink link, Picoseconds now) const
{
    const RocePort& port = m_ports[link];
    return port.pause.IsOn() && now - std::max(port.pause.Since(), port.lastData) >= kStillness;
}

std::vector<DirectedLink> RocePauses::FindRing(Picoseconds now) const
{
    const auto count = static_cast<DirectedLink>(m_ports.size());
    std::vector<bool> still(m_ports.size());
    for (DirectedLink link = 0; link < count; ++link)
    {
        still[link] = IsStill(link, now);
    }
    WaitSearch search(*m_topology, m_ports, std::move(still));
    for (DirectedLink link = 0; link < count; ++link)
    {
        if (search.FindFrom(link))
        {
            return search.Ring();
        }
    }
    return {};
}

void RocePauses::CheckWaiting()
{
    m_checking = false;
    const Picoseconds now = RoceNow();
    const std::vector<DirectedLink> ring = FindRing(now);
    if (!ring.empty())
    {
        std::string text = "PFC deadlock at " + FormatTime(now / kPicosecondsPerNs) + ": ";
        for (const DirectedLink waiting : ring)
        {
            text += m_topology->LinkName(waiting) + " waits for ";
        }
        m_ends->OnFailure(text + m_topology->LinkName(ring.front()));
        return;
    }
    const auto paused = [](const RocePort& port) { return port.pause.IsOn(); };
    if (std::any_of(m_ports.begin(), m_ports.end(), paused))
    {
        m_checking = true;
        ScheduleRoce(m_sink, now + kStillness, RoceEventKind::CheckWaiting, 0, 0);
    }
}

std::string RocePauses::Describe(DirectedLink link) const
{
    const RocePause& pause = m_ports[link].pause;
    return pause.IsOn() ? "paused since " + FormatTime(pause.Since() / kPicosecondsPerNs) +
                              " by the queue of " + m_topology->LinkName(pause.Root())
                        : "not paused";
}

std::array<uint64_t, 3> RocePauses::GetCounts() const
{
    uint64_t pauses = 0;
    for (const RocePort& port : m_ports)
    {
        pauses += static_cast<uint64_t>(port.pause.Count());
    }
    return {pauses, m_resumes, m_expired};
}

} // namespace packet
} // namespace legacy
