/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pair-maker.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::kPicosecondsPerSecond;

QueuePairMaker::QueuePairMaker(const fabric::Topology* topology,
                               const fabric::RoceSettings* settings,
                               const fabric::RoceControl* control,
                               const RoceNetwork* network)
    : m_topology(topology),
      m_settings(settings),
      m_control(control),
      m_network(network),
      m_sprays(topology->GetMultipath() == fabric::Multipath::Spray)
{
}

std::unique_ptr<QueuePair> QueuePairMaker::Make(const fabric::ConnectionName& connection,
                                                uint32_t channel)
{
    const auto [source, destination, id] = connection.OfChannel(channel);
    auto pair = std::make_unique<QueuePair>();
    pair->source = source;
    pair->destination = destination;
    pair->id = id;
    pair->channel = channel;
    const std::vector<DirectedLink> forth = m_topology->Route(source, destination, id);
    const std::vector<DirectedLink> back = m_topology->Route(destination, source, id);
    pair->way.Set(forth, back);
    pair->course = &*m_courses.insert(CourseOf(forth, back)).first;
    if (m_settings->recovery == fabric::RoceRecovery::Selective)
    {
        OpenSelective(*pair);
    }
    if (m_sprays)
    {
        pair->selective->turns.Find(*m_topology, connection.OfChannel(channel));
    }
    return pair;
}

Course QueuePairMaker::CourseOf(const std::vector<DirectedLink>& forth,
                                const std::vector<DirectedLink>& back)
{
    Course course;
    fabric::RocePath& path = course.path;
    path.lineRate = static_cast<double>(m_network->RateOf(forth.front()));
    path.frameBytes = m_settings->mtu + m_settings->headerBytes;
    path.switches = static_cast<int>(forth.size()) - 1;
    if (m_control->Traits().telemetryOnWire)
    {
        fabric::EncodeIntHeader(path.switches, 0);
    }
    if (m_settings->roundTripOfFabric && m_roundTrip == 0)
    {
        m_roundTrip = RoundTripOfFabric();
    }
    path.roundTrip = m_settings->roundTripOfFabric ? m_roundTrip : RoundTrip(forth, back);
    for (const DirectedLink link : forth)
    {
        const Picoseconds time = m_network->SerialisationOf(link, path.frameBytes);
        course.speedsUp = course.speedsUp || time < course.slowestFrame;
        course.slowestFrame = std::max(course.slowestFrame, time);
    }
    constexpr int kTrainsOfSmooth = 2;
    course.smoothDelay =
        RoundTrip(forth, {}) + kTrainsOfSmooth * m_settings->train * course.slowestFrame;
    course.windowLimit = WindowLimitOf(path);
    return course;
}

double QueuePairMaker::WindowLimitOf(const fabric::RocePath& path) const
{
    if (m_settings->windowIsBdp)
    {
        const double product =
            path.lineRate * static_cast<double>(path.roundTrip) / kPicosecondsPerSecond / 8;
        return std::max(product, 2.0 * static_cast<double>(path.frameBytes));
    }
    return m_settings->windowBytes > 0 ? static_cast<double>(m_settings->windowBytes)
                                       : std::numeric_limits<double>::infinity();
}

void QueuePairMaker::OpenSelective(QueuePair& pair) const
{
    // A lost frame is sent again within one window, and acknowledged within another.
    constexpr uint64_t kWindows = 3;
    const auto window = static_cast<uint64_t>(
        std::ceil(pair.course->windowLimit / static_cast<double>(pair.course->path.frameBytes)));
    const uint64_t later =
        m_settings->reorder > 0 ? static_cast<uint64_t>(m_settings->reorder) : window;
    const uint64_t reorder = m_sprays ? later : 1;
    const uint64_t span = kWindows * window + reorder;
    pair.selective = std::make_unique<QueuePair::Selective>();
    pair.selective->sender.Open(span, reorder);
    pair.selective->receiver.Open(span);
}

Picoseconds QueuePairMaker::RoundTrip(const std::vector<DirectedLink>& way,
                                      const std::vector<DirectedLink>& back) const
{
    const int64_t records =
        m_control->Traits().telemetry ? fabric::IntBytes(static_cast<int>(way.size()) - 1) : 0;
    Picoseconds time = 0;
    const auto add = [&](const std::vector<DirectedLink>& links, int64_t wire)
    {
        for (const DirectedLink link : links)
        {
            const bool toSwitch = !m_topology->IsHost(m_topology->To(link));
            time += m_topology->LinkOf(link).delay * kPicosecondsPerNs +
                    (toSwitch ? m_settings->switchDelay * kPicosecondsPerNs : 0) +
                    m_network->SerialisationOf(link, wire);
        }
    };
    add(way, m_settings->mtu + m_settings->headerBytes + records);
    add(back, m_settings->ackBytes + records);
    return time;
}

Picoseconds QueuePairMaker::RoundTripOfFabric() const
{
    constexpr fabric::ConnectionId kFirst = 0;
    Picoseconds longest = 0;
    for (const int a : m_topology->Hosts())
    {
        for (const int b : m_topology->Hosts())
        {
            if (a != b)
            {
                longest = std::max(
                    longest,
                    RoundTrip(m_topology->Route(a, b, kFirst), m_topology->Route(b, a, kFirst)));
            }
        }
    }
    return longest;
}

} // namespace packet
} // namespace legacy
