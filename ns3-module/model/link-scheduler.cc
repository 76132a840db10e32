/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-scheduler.h"

#include "ns3/log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::DirectedLink;

NS_LOG_COMPONENT_DEFINE("LegacyLinkScheduler");
NS_OBJECT_ENSURE_REGISTERED(LinkScheduler);

TypeId LinkScheduler::GetTypeId()
{
    static TypeId tid = TypeId("legacy::LinkScheduler")
                            .SetParent<Object>()
                            .SetGroupName("Legacy")
                            .AddConstructor<LinkScheduler>();
    return tid;
}

void LinkScheduler::Build(const fabric::Topology* topology,
                          int64_t frameBytes,
                          SetRate setRate,
                          std::function<void()> onDead)
{
    constexpr int64_t kFramesPerSecond = 10;
    m_topology = topology;
    m_setRate = std::move(setRate);
    m_onDead = std::move(onDead);
    m_floorBps = 8 * kFramesPerSecond * frameBytes;
    const auto links = static_cast<DirectedLink>(2 * topology->Links().size());
    for (DirectedLink link = 0; link < links; ++link)
    {
        if (topology->PortOf(link).schedule)
        {
            m_links.push_back(Scheduled{link, {}, false});
        }
    }
    SetTime(0);
}

void LinkScheduler::SetTime(TimeNs time)
{
    m_origin = time - Simulator::Now().GetNanoSeconds();
    for (std::size_t i = 0; i < m_links.size(); ++i)
    {
        m_links[i].change.Cancel();
        Apply(i);
    }
}

TimeNs LinkScheduler::GetTime() const
{
    return Later(Simulator::Now().GetNanoSeconds(), m_origin);
}

void LinkScheduler::Apply(std::size_t index)
{
    Scheduled& link = m_links[index];
    const fabric::LinkSchedule& schedule = *m_topology->PortOf(link.link).schedule;
    const TimeNs now = GetTime();
    const int64_t rate = schedule.RateAt(now);
    const TimeNs next = schedule.NextChange(now);
    m_floors += rate > 0 && rate < m_floorBps ? 1 : 0;
    m_setRate(link.link,
              rate > 0 ? std::max(rate, m_floorBps) : 0,
              next == kNever ? next : next - m_origin);
    if (next != kNever)
    {
        link.change =
            Simulator::Schedule(NanoSeconds(next - now), &LinkScheduler::Apply, this, index);
    }
    SetOut(link, rate == 0 && next != kNever);
    const bool dead = rate == 0 && next == kNever;
    if (dead != link.dead)
    {
        link.dead = dead;
        m_dead += dead ? 1 : -1;
        if (dead)
        {
            m_onDead();
        }
    }
}

void LinkScheduler::SetOut(Scheduled& link, bool out)
{
    if (out == link.out)
    {
        return;
    }
    m_outTime = GetOutTime();
    m_outSince = Simulator::Now();
    link.out = out;
    m_out += out ? 1 : -1;
}

TimeNs LinkScheduler::GetOutTime() const
{
    return m_outTime + (m_out > 0 ? (Simulator::Now() - m_outSince).GetNanoSeconds() : 0);
}

bool LinkScheduler::IsDead(DirectedLink link) const
{
    return std::any_of(m_links.begin(),
                       m_links.end(),
                       [&](const Scheduled& other) { return other.link == link && other.dead; });
}

bool LinkScheduler::AnyDead() const
{
    return m_dead > 0;
}

uint64_t LinkScheduler::GetFloors() const
{
    return m_floors;
}

void LinkScheduler::DoDispose()
{
    for (Scheduled& link : m_links)
    {
        link.change.Cancel();
    }
    m_links.clear();
    m_onDead = nullptr;
    m_setRate = nullptr;
    Object::DoDispose();
}

} // namespace packet
} // namespace legacy
