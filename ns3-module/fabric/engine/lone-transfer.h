// A lone transfer travels while nothing else does. It takes what the flow engine charges it, with
// the mean rates of links that change over time:
//
//   n R + S + W / r + L
//
// n round trips R of a handshake; S, what slow start takes beyond a full pipe (flow-path.h); W
// bytes on the wire at the rate r that the path allows in the long run; and the latency L of its
// last byte. Where packets are lost, the engine draws which; here the transfer has the rate that
// losses allow on average from the end of slow start on, so that short transfers take less than
// this.
#pragma once

#include "fabric/topology/topology.h"
#include "flow-graph.h"
#include "transport.h"

#include <cstdint>

namespace legacy::fabric
{

/// A LonePath is what a transfer between two nodes meets. Times are in nanoseconds, rates in bytes
/// a nanosecond.
struct LonePath
{
    double slowest = 0;   ///< of the slowest link
    double limit = 0;     ///< of one connection: by its ACKs, buffers and losses
    double full = 0;      ///< rate that a window must reach to end slow start
    double latency = 0;   ///< of the last byte: delays, and a frame on all links but the slowest
    double roundTrip = 0; ///< of a full frame and its ACK
    float usdPerGb = 0;   ///< of all links
};

LonePath MakeLonePath(const Topology& topology, const Transport& transport, int from, int to);

/// A LoneTransfer is `payload` bytes, which `streams` connections share evenly.
struct LoneTransfer
{
    int64_t payload = 0;
    int streams = 1;
};

/// Returns the nanoseconds W / r + L of the transfer on open connections; 0 for 0 bytes.
double LoneTransferTime(const LonePath& path, const Transport& transport, LoneTransfer transfer);

/// Returns the nanoseconds n R + S that the transfer takes beyond that; 0 for 0 bytes. `opening`
/// says which part of new connections it pays for. On persistent connections that is slow start, as
/// they are idle between transfers.
double OpeningTime(const LonePath& path,
                   const Transport& transport,
                   LoneTransfer transfer,
                   Opening opening);

} // namespace legacy::fabric
