/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scheduled-carrier.h"

#include <exception>
#include <utility>

namespace legacy
{
namespace packet
{

ScheduledCarrier::ScheduledCarrier(CarrierListener* listener)
    : m_listener(listener),
      m_scheduler(ns3::CreateObject<LinkScheduler>())
{
}

ScheduledCarrier::~ScheduledCarrier() = default;

void ScheduledCarrier::Follow(const fabric::Topology* topology,
                              int64_t frameBytes,
                              LinkScheduler::SetRate setRate)
{
    m_scheduler->Build(topology,
                       frameBytes,
                       std::move(setRate),
                       [this]
                       {
                           if (const auto dead = FindDead())
                           {
                               m_listener->OnError(std::make_exception_ptr(*dead));
                           }
                       });
}

void ScheduledCarrier::Dispose()
{
    m_scheduler->Dispose();
}

void ScheduledCarrier::SetScheduleTime(TimeNs time)
{
    m_scheduler->SetTime(time);
}

TimeNs ScheduledCarrier::GetScheduleTime() const
{
    return m_scheduler->GetTime();
}

TimeNs ScheduledCarrier::GetOutTime() const
{
    return m_scheduler->GetOutTime();
}

bool ScheduledCarrier::AnyDead() const
{
    return m_scheduler->AnyDead();
}

std::optional<fabric::DeadLink> ScheduledCarrier::FindDead() const
{
    return FindWaiting([this](fabric::DirectedLink link) { return m_scheduler->IsDead(link); });
}

void ScheduledCarrier::AddCounters(fabric::EngineCounters& counters) const
{
    counters.rateFloors = m_scheduler->GetFloors();
}

} // namespace packet
} // namespace legacy
