/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-meter.h"

#include "fabric/engine/engine.h"

#include "ns3/queue.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::kPeakWindow;

LinkMeter::LinkMeter(int64_t rateBps) : m_rateBps(rateBps)
{
}

LinkMeter::~LinkMeter() = default;

void LinkMeter::OnTransmit(Ptr<LinkMeter> meter, Ptr<const Packet> packet)
{
    const int64_t bytes = packet->GetSize();
    meter->m_bytes += bytes;
    ++meter->m_packets;
    const TimeNs now = Simulator::Now().GetNanoSeconds();
    meter->Occupy(now, now + SerialisationTime(bytes, meter->m_rateBps));
}

void LinkMeter::OnLost(Ptr<LinkMeter> meter, Ptr<const Packet>)
{
    ++meter->m_lost;
}

void LinkMeter::OnQueue(Ptr<LinkMeter> meter, uint32_t oldBytes, uint32_t newBytes)
{
    // A packet that moves from the disc to the device still waits there, so only arrivals can raise
    // the maximum.
    if (newBytes > oldBytes)
    {
        const uint32_t below = meter->m_below ? meter->m_below->GetNBytes() : 0;
        meter->m_maxQueued = std::max(meter->m_maxQueued, int64_t{newBytes} + below);
    }
}

void LinkMeter::SetRate(int64_t rateBps)
{
    m_busy = GetBusy();
    m_bytesBefore = m_bytes;
    m_rateBps = rateBps;
}

void LinkMeter::SetQueueBelow(Ptr<QueueBase> device)
{
    m_below = device;
}

void LinkMeter::Occupy(TimeNs start, TimeNs end)
{
    const int64_t first = start / kPeakWindow;
    const int64_t last = end / kPeakWindow;
    if (first != m_window)
    {
        m_window = first;
        m_inWindow = 0;
    }
    m_until = end;
    m_inWindow += std::min(end, (first + 1) * kPeakWindow) - start;
    m_peak = std::max(m_peak, m_inWindow);
    if (last > first)
    {
        m_window = last;
        m_inWindow = end - last * kPeakWindow;
        // A packet on a slow link can fill several windows, and then all windows in between are
        // full.
        m_peak = std::max(m_peak, last > first + 1 ? kPeakWindow : m_inWindow);
    }
}

int64_t LinkMeter::GetBytes() const
{
    return m_bytes;
}

double LinkMeter::GetSent() const
{
    const auto rest = std::max<TimeNs>(0, m_until - Simulator::Now().GetNanoSeconds());
    return static_cast<double>(m_bytes) -
           static_cast<double>(rest) * static_cast<double>(m_rateBps) / 8e9;
}

int64_t LinkMeter::GetPackets() const
{
    return m_packets;
}

int64_t LinkMeter::GetLost() const
{
    return m_lost;
}

int64_t LinkMeter::GetMaxQueued() const
{
    return m_maxQueued;
}

TimeNs LinkMeter::GetBusy() const
{
    return m_busy + SerialisationTime(m_bytes - m_bytesBefore, m_rateBps);
}

double LinkMeter::GetPeak() const
{
    // Transmission times are rounded up, so the sum over a busy link is a few nanoseconds too
    // large.
    return std::min(1.0, static_cast<double>(m_peak) / kPeakWindow);
}

} // namespace packet
} // namespace legacy
