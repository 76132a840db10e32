/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "path-rules.h"

#include "fabric/topology/shortest-paths.h"

#include <algorithm>
#include <cstdint>

namespace legacy
{
namespace packet
{

using fabric::DirectedLink;

namespace
{

/// Returns the time that a frame takes to cross a link.
TimeNs HopTime(const fabric::Topology& topology, DirectedLink link, int64_t frameBytes)
{
    return Later(topology.LinkOf(link).delay,
                 SerialisationTime(frameBytes, topology.PortOf(link).rateBps));
}

/// Returns the time that one frame takes on the longest of the shortest paths and explicit routes
/// from `origin`. Hosts do not forward.
TimeNs LongestTrip(const fabric::Topology& topology, int origin, int64_t frameBytes)
{
    std::vector<TimeNs> trip(topology.NodeCount(), 0);
    TimeNs longest = 0;
    fabric::WalkShortestPaths(
        topology,
        origin,
        [&](int node, DirectedLink link, int next)
        {
            const TimeNs here = Later(trip[node], HopTime(topology, link, frameBytes));
            trip[next] = std::max(trip[next], here);
        },
        [&](int host, int) { longest = std::max(longest, trip[host]); });
    for (const auto& [ends, via] : topology.Routes())
    {
        TimeNs route = 0;
        for (DirectedLink link : ends.first == origin ? topology.Route(ends.first, ends.second, 0)
                                                      : std::vector<DirectedLink>())
        {
            route = Later(route, HopTime(topology, link, frameBytes));
        }
        longest = std::max(longest, route);
    }
    return longest;
}

} // namespace

int64_t LineRate(const fabric::Port& port)
{
    constexpr int64_t kLine = 10'000'000'000;
    constexpr int64_t kFaster = 4; // the line is at least this many times faster than tokens come
    return port.burstBytes > 0 ? std::max(kLine, kFaster * port.rateBps) : port.rateBps;
}

TimeNs LongestRoundTrip(const fabric::Topology& topology,
                        const std::vector<int>& endpoints,
                        int64_t frameBytes)
{
    TimeNs longest = 0;
    for (const int node : endpoints)
    {
        const TimeNs trip = LongestTrip(topology, node, frameBytes);
        longest = std::max(longest, Later(trip, trip));
    }
    return longest;
}

int64_t QueueBytesOf(const fabric::Port& port, const fabric::Transport& transport, TimeNs roundTrip)
{
    return port.queueBytes > 0 ? port.queueBytes
                               : transport.PortQueueBytes(port.rateBps, roundTrip);
}

int64_t
MarkBytesOf(const fabric::Port& port, const fabric::Transport& transport, int64_t queueBytes)
{
    return std::min(transport.PortMarkBytes(port.rateBps), queueBytes);
}

int64_t SocketBufferOf(const fabric::Topology& topology,
                       const fabric::Transport& transport,
                       const std::vector<DirectedLink>& forth,
                       const std::vector<DirectedLink>& back)
{
    TimeNs roundTrip = 0;
    int64_t slowest = INT64_MAX;
    for (const std::vector<DirectedLink>* links : {&forth, &back})
    {
        for (const DirectedLink link : *links)
        {
            roundTrip = Later(roundTrip, HopTime(topology, link, transport.FrameBytes()));
            slowest = std::min(slowest, topology.PortOf(link).rateBps);
        }
    }
    return transport.SocketBuffer(slowest, roundTrip);
}

} // namespace packet
} // namespace legacy
