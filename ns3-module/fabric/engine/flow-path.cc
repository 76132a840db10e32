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

double FilledShare(const Topology& topology, const Transport& transport, DirectedLink link)
{
    return topology.IsHost(topology.From(link)) ? 1 : transport.utilisation;
}

TimeNs LinkDelay(const Topology& topology, const Transport& transport, DirectedLink link)
{
    return Later(topology.LinkOf(link).delay,
                 topology.IsHost(topology.To(link)) ? 0 : transport.switchDelay);
}

namespace
{

/// Returns the highest rate of a connection that loses packets. Up to a loss of 15 %, BBR keeps its
/// rate (Cardwell et al., ACM Queue 14(5), 2016), minus what is lost.
double LossLimit(const FlowPath& path, const Transport& transport)
{
    constexpr double kBbrTolerates = 0.15;
    if (transport.congestionControl == "bbr" && path.loss <= kBbrTolerates)
    {
        return path.slowest * (1 - path.loss);
    }
    if (transport.roce)
    {
        // Go-back-n sends everything in flight again for each loss: of 1 + p (m - 1) frames, 1 - p
        // are new, where m is the number sent from a lost frame until the sender goes back.
        const double inFlight =
            std::max(1.0,
                     path.roundTrip * path.slowest /
                         static_cast<double>(transport.FrameBytes(path.switches)));
        return path.slowest * (1 - path.loss) / (1 + path.loss * (inFlight - 1));
    }
    return static_cast<double>(transport.FrameBytes()) / path.roundTrip *
           transport.LossWindow(path.loss, path.roundTrip * 1e-9);
}

/// Adds the delays, rates and losses of the links that data take. Returns the probability that a
/// packet gets through.
double AddDataLinks(const Topology& topology, const Transport& transport, FlowPath& path)
{
    const auto frame = static_cast<double>(transport.FrameBytes(path.switches));
    double kept = 1;
    for (const LinkShare& hop : path.data)
    {
        const Port& port = topology.PortOf(hop.link);
        path.delay += hop.share * static_cast<double>(LinkDelay(topology, transport, hop.link));
        // A token bucket lets a frame pass at once if it can hold the tokens of a whole frame.
        const bool stores = static_cast<double>(port.burstBytes) < frame;
        path.byteTime += stores ? hop.share / BytesPerNs(port) : 0;
        path.buckets = path.buckets || !stores;
        path.slowest =
            std::min(path.slowest,
                     FilledShare(topology, transport, hop.link) * BytesPerNs(port) / hop.share);
        kept *= 1 - hop.share * port.errorRate;
        path.timed = path.timed || port.schedule;
    }
    return kept;
}

/// Adds the ACKs' way to the round-trip time.
void AddAckLinks(const Topology& topology, const Transport& transport, FlowPath& path)
{
    for (const LinkShare& hop : path.acks)
    {
        const auto delay = static_cast<double>(LinkDelay(topology, transport, hop.link));
        const auto ackBytes = static_cast<double>(transport.AckBytes(path.switches));
        const bool stores = static_cast<double>(topology.PortOf(hop.link).burstBytes) < ackBytes;
        const double ack = ackBytes / BytesPerNs(topology.PortOf(hop.link));
        path.roundTrip += hop.share * (delay + (stores ? ack : 0));
        path.timed = path.timed || topology.PortOf(hop.link).schedule;
    }
}

/// Returns the highest rate without losses, which the slowest link, the links that the ACKs take,
/// and the socket's buffer limit.
double LosslessRate(const Topology& topology, const Transport& transport, const FlowPath& path)
{
    double rate = path.slowest;
    const double acksPerByte = transport.AckRatio(path.switches);
    for (const LinkShare& hop : path.acks)
    {
        const double most = BytesPerNs(topology.PortOf(hop.link)) / hop.share;
        rate = std::min(rate, acksPerByte > 0 ? most / acksPerByte : rate);
    }
    if (transport.socketBufferBytes > 0)
    {
        const auto frame = static_cast<double>(transport.FrameBytes(path.switches));
        const double segments =
            static_cast<double>(transport.socketBufferBytes) / transport.segmentBytes;
        rate = std::min(rate, segments * frame / path.roundTrip);
    }
    return rate;
}

} // namespace

FlowPath MakeFlowPath(const Topology& topology,
                      const Transport& transport,
                      int from,
                      int to,
                      ConnectionId connection)
{
    FlowPath path;
    path.data = topology.Shares(from, to, connection);
    path.acks = topology.Shares(to, from, connection);
    path.local = path.data.empty();
    path.slowest = std::numeric_limits<double>::max();
    double hops = 0;
    for (const LinkShare& hop : path.data)
    {
        hops += hop.share;
    }
    path.switches = transport.telemetry ? std::max(0, static_cast<int>(std::lround(hops)) - 1) : 0;
    path.ackWeight = transport.AckRatio(path.switches) / transport.AckRatio();
    const auto frame = static_cast<double>(transport.FrameBytes(path.switches));
    const double kept = AddDataLinks(topology, transport, path);
    path.roundTrip = path.delay + path.byteTime * frame;
    AddAckLinks(topology, transport, path);
    // The slowest link's part is contained in the time in which the flow is sent.
    path.byteTime = std::max(0.0, path.byteTime - 1 / path.slowest);
    path.lossless = LosslessRate(topology, transport, path);
    path.limit = path.lossless;
    if (kept < 1)
    {
        path.loss = 1 - kept;
        path.limit = std::min(path.limit, LossLimit(path, transport));
    }
    return path;
}

double SlowStartTime(double wire, double rate, double roundTrip, double& window)
{
    double time = 0;
    while (wire > window && window < rate * roundTrip)
    {
        time += roundTrip - window / rate;
        wire -= window;
        window *= 2;
    }
    return time;
}

} // namespace legacy::fabric
