/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "repeated-messages.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace packet
{

namespace
{

constexpr TimeNs kLongAgo = INT64_MIN / 4; ///< so long that no message waits for that arrival

} // namespace

RepeatedMessages::RepeatedMessages(double latency, double roundTrip)
    : m_latency(latency),
      m_roundTrip(roundTrip),
      m_lastArrival(kLongAgo)
{
}

bool RepeatedMessages::IsNear(int64_t bytes) const
{
    const auto size = static_cast<double>(m_bytes);
    return std::abs(static_cast<double>(bytes) - size) <= kNear * size;
}

bool RepeatedMessages::IsEnough() const
{
    return m_equal >= kNeeded && m_lasted >= kRoundTrips * m_roundTrip;
}

bool RepeatedMessages::Know(int64_t bytes) const
{
    return IsEnough() && !m_checks && IsNear(bytes);
}

void RepeatedMessages::OnSent(int64_t bytes)
{
    if (!IsNear(bytes))
    {
        Forget();
        m_bytes = bytes;
    }
}

std::optional<double> RepeatedMessages::OnArrived(int64_t bytes, TimeNs sent, TimeNs arrived)
{
    const TimeNs before = m_lastArrival;
    m_lastArrival = arrived;
    if (!IsNear(bytes))
    {
        return std::nullopt; // it was sent before those that are compared now
    }
    const double took = std::min(static_cast<double>(arrived - sent),
                                 static_cast<double>(arrived - before) + m_latency);
    const double scale = static_cast<double>(m_bytes) / static_cast<double>(bytes);
    const double time = m_latency + (took - m_latency) * scale;
    std::optional<double> check;
    if (m_checks)
    {
        m_checks = false;
        check = time / m_time;
    }
    if (m_equal > 0 && std::abs(time / m_time - 1) > kTolerance)
    {
        m_equal = 0;
        m_lasted = 0;
    }
    m_lasted += std::min(took, static_cast<double>(arrived - before));
    m_time += (time - m_time) / ++m_equal;
    return check;
}

void RepeatedMessages::Follow(TimeNs arrival)
{
    m_lastArrival = arrival;
}

TimeNs RepeatedMessages::LastArrival() const
{
    return m_lastArrival;
}

TimeNs RepeatedMessages::ArrivalOf(int64_t bytes, TimeNs sent, TimeNs before) const
{
    const double busy = BusyTime(bytes);
    return std::max(sent + std::llround(busy + m_latency), before + std::llround(busy));
}

double RepeatedMessages::BusyTime(int64_t bytes) const
{
    return (m_time - m_latency) * static_cast<double>(bytes) / static_cast<double>(m_bytes);
}

double RepeatedMessages::Latency() const
{
    return m_latency;
}

void RepeatedMessages::Forget()
{
    m_equal = 0;
    m_lasted = 0;
    m_checks = false;
}

void RepeatedMessages::Check()
{
    m_checks = IsEnough();
}

} // namespace packet
} // namespace legacy
