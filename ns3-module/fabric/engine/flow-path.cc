#include "flow-path.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace legacy::fabric
{

double BytesPerNs(const Port& port)
{
    return static_cast<double>(port.rateBps) / 8e9;
}

namespace
{

/// Returns the highest rate of a connection that loses packets with probability p.
double LossLimit(const FlowPath& path, const Transport& transport, double p)
{
    constexpr double kBbrTolerates = 0.15; // loss up to which BBR keeps its rate
    const auto frame = static_cast<double>(transport.FrameBytes());
    const double reno = frame / path.roundTrip * std::sqrt(1.5 / p);
    const std::string& control = transport.congestionControl;
    const auto is = [&](const std::string& name)
    { return control == name || control == "ns3::" + name; };
    if (is("TcpBbr") && p <= kBbrTolerates)
    {
        return path.slowest * (1 - p);
    }
    if (is("TcpCubic"))
    {
        const double seconds = path.roundTrip * 1e-9;
        return std::max(reno, frame / path.roundTrip * 1.054 * std::pow(seconds / p, 0.75));
    }
    return reno;
}

} // namespace

FlowPath MakeFlowPath(const Topology& topology, const Transport& transport, int from, int to)
{
    constexpr uint32_t kChannel = 0;
    FlowPath path;
    path.data = topology.Shares(from, to, kChannel);
    path.acks = topology.Shares(to, from, kChannel);
    path.local = path.data.empty();
    path.slowest = std::numeric_limits<double>::max();
    const auto frame = static_cast<double>(transport.FrameBytes());
    double kept = 1; // probability that a packet gets through
    for (const LinkShare& hop : path.data)
    {
        const Port& port = topology.PortOf(hop.link);
        path.delay += hop.share * static_cast<double>(topology.LinkOf(hop.link).delay);
        path.byteTime += hop.share / BytesPerNs(port);
        path.slowest = std::min(path.slowest, BytesPerNs(port) / hop.share);
        kept *= 1 - hop.share * port.errorRate;
        path.timed = path.timed || port.schedule;
    }
    path.roundTrip = path.delay + path.byteTime * frame;
    for (const LinkShare& hop : path.acks)
    {
        const double delay = static_cast<double>(topology.LinkOf(hop.link).delay);
        path.roundTrip +=
            hop.share * (delay + transport.ackBytes / BytesPerNs(topology.PortOf(hop.link)));
        path.timed = path.timed || topology.PortOf(hop.link).schedule;
    }
    path.byteTime -= 1 / path.slowest;
    path.limit = path.slowest;
    const double acksPerByte = transport.ackBytes / (transport.segmentsPerAck * frame);
    for (const LinkShare& hop : path.acks)
    {
        const double most = BytesPerNs(topology.PortOf(hop.link)) / hop.share;
        path.limit = std::min(path.limit, acksPerByte > 0 ? most / acksPerByte : path.limit);
    }
    if (kept < 1)
    {
        path.limit = std::min(path.limit, LossLimit(path, transport, 1 - kept));
    }
    if (transport.socketBufferBytes > 0)
    {
        const double segments =
            static_cast<double>(transport.socketBufferBytes) / transport.segmentBytes;
        path.limit = std::min(path.limit, segments * frame / path.roundTrip);
    }
    return path;
}

} // namespace legacy::fabric
