#include "lone-transfer.h"

#include "flow-path.h"

#include <algorithm>

namespace legacy::fabric
{

LonePath MakeLonePath(const Topology& topology, const Transport& transport, int from, int to)
{
    const FlowPath path = MakeFlowPath(topology, transport, from, to);
    LonePath lone;
    lone.rate = path.limit;
    for (const LinkShare& hop : path.data)
    {
        const double mean = static_cast<double>(topology.MeanRate(hop.link)) / 8e9;
        lone.rate = std::min(lone.rate, mean / hop.share);
    }
    lone.latency = path.delay + path.byteTime * static_cast<double>(transport.FrameBytes());
    lone.roundTrip = path.roundTrip;
    return lone;
}

double LoneTransferTime(const LonePath& path, const Transport& transport, int64_t payload)
{
    if (payload == 0)
    {
        return 0;
    }
    return static_cast<double>(transport.WireBytes(payload)) / path.rate + path.latency;
}

double OpeningTime(const LonePath& path,
                   const Transport& transport,
                   int64_t payload,
                   Opening opening,
                   int streams)
{
    const bool starts =
        opening != Opening::Kept || transport.connections == ConnectionKind::Persistent;
    if (payload == 0 || !starts)
    {
        return 0;
    }
    const int handshakes = opening == Opening::New ? HandshakeRoundTrips(transport.connections) : 0;
    const auto wire = static_cast<double>(transport.WireBytes(payload));
    double window = transport.initialWindow * static_cast<double>(transport.FrameBytes());
    return handshakes * path.roundTrip +
           SlowStartTime(wire / streams, path.rate, path.roundTrip, window);
}

} // namespace legacy::fabric
