#include "lone-transfer.h"

#include "flow-path.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

/// Returns the bytes on the wire of the stream that has the most.
double StreamBytes(const Transport& transport, LoneTransfer transfer)
{
    const int64_t payload = (transfer.payload + transfer.streams - 1) / transfer.streams;
    return static_cast<double>(transport.WireBytes(payload));
}

} // namespace

LonePath MakeLonePath(const Topology& topology, const Transport& transport, int from, int to)
{
    const FlowPath path = MakeFlowPath(topology, transport, from, to);
    LonePath lone;
    lone.slowest = path.slowest;
    double usdPerGb = 0;
    for (const LinkShare& hop : path.data)
    {
        const double mean = static_cast<double>(topology.MeanRate(hop.link)) / 8e9;
        lone.slowest = std::min(lone.slowest, mean / hop.share);
        usdPerGb += hop.share * topology.PortOf(hop.link).usdPerGb;
    }
    lone.limit = path.limit;
    lone.full = path.loss > 0 ? std::min(lone.slowest, lone.limit) : lone.slowest;
    lone.latency = path.delay + path.byteTime * static_cast<double>(transport.FrameBytes());
    lone.roundTrip = path.roundTrip;
    lone.usdPerGb = static_cast<float>(usdPerGb);
    return lone;
}

double LoneTransferTime(const LonePath& path, const Transport& transport, LoneTransfer transfer)
{
    if (transfer.payload == 0)
    {
        return 0;
    }
    const double rate = std::min(path.slowest / transfer.streams, path.limit);
    return StreamBytes(transport, transfer) / rate + path.latency;
}

double OpeningTime(const LonePath& path,
                   const Transport& transport,
                   LoneTransfer transfer,
                   Opening opening)
{
    const bool starts =
        opening != Opening::Kept || transport.connections == ConnectionKind::Persistent;
    if (transfer.payload == 0 || !starts)
    {
        return 0;
    }
    const int handshakes = opening == Opening::New ? HandshakeRoundTrips(transport.connections) : 0;
    double window = transport.initialWindow * static_cast<double>(transport.FrameBytes());
    return handshakes * path.roundTrip +
           SlowStartTime(StreamBytes(transport, transfer), path.full, path.roundTrip, window);
}

} // namespace legacy::fabric
