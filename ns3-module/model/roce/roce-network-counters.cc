/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// These functions read what a network has counted, and begin another run of it.
#include "roce-network.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using fabric::RoceClass;

void RoceNetwork::ResetMarks()
{
    for (RocePort& port : m_ports)
    {
        port.marks.candidates = 0;
    }
}

void RoceNetwork::ResetLosses(uint64_t draws)
{
    m_draws = draws;
    m_switches.SetDraws(draws);
    for (RocePort& port : m_ports)
    {
        port.line.ResetLosses();
    }
}

bool RoceNetwork::IsLossy() const
{
    return std::any_of(
        m_ports.begin(), m_ports.end(), [](const RocePort& port) { return port.line.IsLossy(); });
}

bool RoceNetwork::IsRandom() const
{
    return IsLossy() || (m_settings.ecn && m_settings.marksAtRandom);
}

bool RoceNetwork::IsFull(DirectedLink link) const
{
    const RocePort& port = m_ports[link];
    const FrameList& data = port.QueueOf(RoceClass::Data);
    return !port.pause.IsOn() && !data.Empty() && m_frames[data.head].at >= port.pause.Resumed();
}

std::vector<fabric::LinkCounters> RoceNetwork::GetCounters() const
{
    std::vector<fabric::LinkCounters> counters;
    counters.reserve(m_ports.size());
    for (const RocePort& port : m_ports)
    {
        counters.push_back(port.GetCounters(RoceNow()));
    }
    return counters;
}

std::vector<fabric::LinkActivity> RoceNetwork::GetActivity() const
{
    std::vector<fabric::LinkActivity> activity;
    activity.reserve(m_ports.size());
    for (const RocePort& port : m_ports)
    {
        activity.push_back(port.GetActivity(RoceNow()));
    }
    return activity;
}

void RoceNetwork::AddCounters(fabric::EngineCounters& counters) const
{
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(m_ports.size()); ++link)
    {
        if (m_topology->IsHost(m_topology->To(link)))
        {
            counters.packets += static_cast<uint64_t>(m_ports[link].meter.packets);
        }
    }
    m_switches.AddCounters(counters.roce);
}

} // namespace packet
} // namespace legacy
