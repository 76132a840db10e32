/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Priority flow control (IEEE 802.1Qbb) of a RoceNetwork: pauses and their causes, the watchdog,
 * faulty cards, and ports that wait for each other.
 */
#include "roce-network.h"

#include "base/units.h"
#include "fabric/roce/buffers.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::RoceClass;

namespace
{

/// How long something is paused without a byte before a deadlock is looked for.
constexpr Picoseconds kStillness = 1'000'000'000;

} // namespace

Picoseconds RoceNetwork::PauseTime(DirectedLink link, int quanta) const
{
    constexpr int64_t kQuantum = 512 / 8; // bytes
    return SerialisationOf(link, kQuantum * quanta);
}

void RoceNetwork::SendPause(DirectedLink cause, Picoseconds from)
{
    Port& port = m_ports[cause];
    Port& reverse = m_ports[cause ^ 1];
    port.pausing = true;
    ++port.renewal;
    reverse.pausePending = true;
    reverse.pauseQuanta = m_settings.quanta;
    reverse.pauseFrom = from;
    ScheduleRoce(this,
                 RoceNow() + PauseTime(cause, m_settings.quanta) / 2,
                 RoceEventKind::Renew,
                 static_cast<uint32_t>(cause),
                 port.renewal);
    Serve(cause ^ 1);
}

void RoceNetwork::SendResume(DirectedLink cause, Picoseconds from)
{
    Port& reverse = m_ports[cause ^ 1];
    m_ports[cause].pausing = false;
    reverse.pausePending = true;
    reverse.pauseQuanta = 0;
    reverse.pauseFrom = from;
    Serve(cause ^ 1);
}

void RoceNetwork::OnPause(DirectedLink link, int quanta, Picoseconds at)
{
    Port& port = m_ports[link];
    if (quanta == 0)
    {
        if (port.paused)
        {
            ++m_resumes;
            EndPause(link, at);
        }
        return;
    }
    port.pausedUntil = at + PauseTime(link, quanta);
    ScheduleRoce(this, port.pausedUntil, RoceEventKind::PauseEnd, static_cast<uint32_t>(link), 0);
    if (port.paused)
    {
        return;
    }
    port.paused = true;
    port.pausedSince = at;
    ++port.pauses;
    ++port.pause;
    port.root = RootOf(link);
    if (m_settings.watchdog > 0 && !m_topology->IsHost(m_topology->From(link)))
    {
        ScheduleRoce(this,
                     at + m_settings.watchdog * kPicosecondsPerNs,
                     RoceEventKind::Watchdog,
                     static_cast<uint32_t>(link),
                     port.pause);
    }
    if (!m_checking)
    {
        m_checking = true;
        ScheduleRoce(this, at + kStillness, RoceEventKind::CheckWaiting, 0, 0);
    }
}

void RoceNetwork::EndPause(DirectedLink link, Picoseconds at)
{
    Port& port = m_ports[link];
    const Picoseconds time = at - port.pausedSince;
    port.paused = false;
    port.dropping = false;
    port.pausedTime += time;
    port.resumed = at;
    const auto known = std::find_if(port.roots.begin(),
                                    port.roots.end(),
                                    [&](const auto& root) { return root.first == port.root; });
    if (known == port.roots.end())
    {
        port.roots.emplace_back(port.root, time);
    }
    else
    {
        known->second += time;
    }
    Serve(link);
}

DirectedLink RoceNetwork::RootOf(DirectedLink link) const
{
    const std::vector<int64_t>& at = m_ports[link].at;
    const auto most = std::max_element(at.begin(), at.end());
    if (most == at.end() || *most == 0)
    {
        return link; // a card pauses it
    }
    const DirectedLink out = m_topology->Out(m_topology->To(link))[most - at.begin()];
    return m_ports[out].paused ? m_ports[out].root : out;
}

void RoceNetwork::Bite(DirectedLink link)
{
    Port& port = m_ports[link];
    port.dropping = true;
    Picoseconds from = RoceNow();
    for (uint32_t frame = PickQueued(link, RoceClass::Data, from); frame != Frame::kNone;
         frame = PickQueued(link, RoceClass::Data, from))
    {
        m_bitten += m_frames[frame].frames;
        Drop(link, frame, false);
    }
}

void RoceNetwork::SendStorm()
{
    const fabric::RoceStorm& storm = *m_settings.storm;
    const Picoseconds end = (storm.from + storm.length) * kPicosecondsPerNs;
    const Picoseconds now = RoceNow();
    const DirectedLink link = m_topology->Out(fabric::HostOfStorm(*m_topology, storm)).front();
    Port& port = m_ports[link];
    port.pausePending = true;
    port.pauseQuanta = now < end ? m_settings.quanta : 0;
    port.pauseFrom = now;
    if (now < end)
    {
        ScheduleRoce(this,
                     std::min(end, now + PauseTime(link, m_settings.quanta) / 2),
                     RoceEventKind::Storm,
                     0,
                     0);
    }
    Serve(link);
}

void RoceNetwork::CheckWaiting()
{
    m_checking = false;
    const Picoseconds now = RoceNow();
    const auto still = [&](DirectedLink link)
    {
        const Port& port = m_ports[link];
        return port.paused && now - std::max(port.pausedSince, port.lastData) >= kStillness;
    };
    enum State : uint8_t
    {
        kNew,
        kOpen,
        kDone
    };
    std::vector<State> states(m_ports.size(), kNew);
    std::vector<DirectedLink> way;
    // Follows from a port to the ports of the next switch in which its frames wait.
    const std::function<bool(DirectedLink)> follow = [&](DirectedLink link)
    {
        states[link] = kOpen;
        way.push_back(link);
        const std::vector<int64_t>& at = m_ports[link].at;
        for (std::size_t i = 0; i < at.size(); ++i)
        {
            const DirectedLink next =
                at[i] > 0 ? m_topology->Out(m_topology->To(link))[i] : DirectedLink{-1};
            if (next < 0 || !still(next) || states[next] == kDone)
            {
                continue;
            }
            if (states[next] == kOpen)
            {
                way.erase(way.begin(), std::find(way.begin(), way.end(), next));
                return true;
            }
            if (follow(next))
            {
                return true;
            }
        }
        way.pop_back();
        states[link] = kDone;
        return false;
    };
    bool any = false;
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(m_ports.size()); ++link)
    {
        any = any || m_ports[link].paused;
        if (still(link) && states[link] == kNew && follow(link))
        {
            std::string text = "PFC deadlock at " + FormatTime(now / kPicosecondsPerNs) + ": ";
            for (const DirectedLink waiting : way)
            {
                text += m_topology->LinkName(waiting) + " waits for ";
            }
            m_ends->OnFailure(text + m_topology->LinkName(way.front()));
            return;
        }
    }
    if (any)
    {
        m_checking = true;
        ScheduleRoce(this, now + kStillness, RoceEventKind::CheckWaiting, 0, 0);
    }
}

std::string RoceNetwork::DescribePause(DirectedLink link) const
{
    const Port& port = m_ports[link];
    return port.paused ? "paused since " + FormatTime(port.pausedSince / kPicosecondsPerNs) +
                             " by the queue of " + m_topology->LinkName(port.root)
                       : "not paused";
}

} // namespace packet
} // namespace legacy
