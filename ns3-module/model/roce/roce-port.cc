/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-port.h"

#include <algorithm>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;

namespace
{

constexpr Picoseconds kMeterWindow = fabric::kPeakWindow * kPicosecondsPerNs;

} // namespace

void RoceMeter::Occupy(Picoseconds start, Picoseconds time)
{
    m_busy += time;
    while (time > 0)
    {
        const int64_t window = start / kMeterWindow;
        if (window != m_window)
        {
            m_window = window;
            m_inWindow = 0;
        }
        const Picoseconds part = std::min(time, (window + 1) * kMeterWindow - start);
        m_inWindow += part;
        m_peak = std::max(m_peak, m_inWindow);
        start += part;
        time -= part;
    }
}

double RoceMeter::Peak() const
{
    return static_cast<double>(m_peak) / static_cast<double>(kMeterWindow);
}

int64_t RocePort::Waiting() const
{
    int64_t waiting = 0;
    for (const FrameList& queue : queues)
    {
        waiting += queue.bytes;
    }
    return waiting;
}

fabric::LinkCounters RocePort::GetCounters(Picoseconds now) const
{
    fabric::LinkCounters counters;
    counters.bytes = meter.bytes;
    counters.packets = meter.packets;
    counters.drops = meter.drops;
    counters.marks = marks.marked;
    counters.maxQueueBytes = meter.maxQueue;
    counters.busy = (meter.Busy() + kPicosecondsPerNs / 2) / kPicosecondsPerNs;
    counters.peak = meter.Peak();
    pause.Count(now, counters);
    return counters;
}

fabric::LinkActivity RocePort::GetActivity(Picoseconds now) const
{
    fabric::LinkActivity present;
    const auto ahead = static_cast<double>(std::max<Picoseconds>(0, free - now));
    present.bytes = static_cast<double>(meter.bytes) - line.BytesIn(ahead);
    present.queueBytes = Waiting();
    present.paused = pause.IsOn();
    return present;
}

std::vector<RocePort> MakeRocePorts(const fabric::Topology& topology,
                                    const fabric::RoceSettings& settings)
{
    std::vector<RocePort> ports(2 * topology.Links().size());
    for (DirectedLink link = 0; link < static_cast<DirectedLink>(ports.size()); ++link)
    {
        const fabric::Port& from = topology.PortOf(link);
        RocePort& port = ports[link];
        port.line.SetRate(from.rateBps);
        port.line.SetErrorRate(from.errorRate);
        port.wireDelay = topology.LinkOf(link).delay * kPicosecondsPerNs;
        const bool toSwitch = !topology.IsHost(topology.To(link));
        port.delay = port.wireDelay + (toSwitch ? settings.switchDelay * kPicosecondsPerNs : 0);
        port.queueLimit = from.queueBytes;
        port.marks.on = settings.ecn && !topology.IsHost(topology.From(link));
        if (port.marks.on)
        {
            port.marks.ecn = settings.ecn->Of(static_cast<double>(from.rateBps));
        }
        if (toSwitch)
        {
            port.far.at.resize(topology.Out(topology.To(link)).size());
        }
    }
    return ports;
}

} // namespace packet
} // namespace legacy
