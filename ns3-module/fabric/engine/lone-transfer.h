// A lone transfer travels while nothing else does. It takes what the flow engine charges it,
// without draws of losses, and with the mean rates of links that change over time:
//
//   n R + S + W / r + L
//
// n round trips R of a handshake; S, what slow start takes beyond a full pipe (flow-path.h); W
// bytes on the wire at the rate r that the path allows in the long run; and the latency L of its
// last byte.
#pragma once

#include "fabric/topology/topology.h"
#include "flow-graph.h"
#include "transport.h"

#include <cstdint>

namespace legacy::fabric
{

/// A LonePath is what a transfer between two nodes meets. Times are in nanoseconds.
struct LonePath
{
    double rate = 0;      ///< bytes a nanosecond: of the slowest link, its ACKs, buffers and losses
    double latency = 0;   ///< of the last byte: delays, and a frame on all links but the slowest
    double roundTrip = 0; ///< of a full frame and its ACK
};

LonePath MakeLonePath(const Topology& topology, const Transport& transport, int from, int to);

/// Returns the nanoseconds W / r + L of `payload` bytes on open connections; 0 for 0 bytes.
double LoneTransferTime(const LonePath& path, const Transport& transport, int64_t payload);

/// Returns the nanoseconds n R + S that the transfer takes beyond that; 0 for 0 bytes. `streams`
/// connections share it evenly, and `opening` says which part of a new connection it pays for. On
/// persistent connections that is slow start, as they are idle between transfers.
double OpeningTime(const LonePath& path,
                   const Transport& transport,
                   int64_t payload,
                   Opening opening,
                   int streams);

} // namespace legacy::fabric
