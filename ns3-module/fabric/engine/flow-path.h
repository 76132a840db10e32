// What the flow engine knows of the way between two nodes. Internal to fabric/.
#pragma once

#include "fabric/topology/topology.h"
#include "transport.h"

#include <vector>

namespace legacy::fabric
{

double BytesPerNs(const Link& link);

struct FlowPath
{
    double delay = 0;     ///< nanoseconds, one way
    double byteTime = 0;  ///< nanoseconds a byte of the first frame, beyond the slowest link's
    double slowest = 0;   ///< link, bytes a nanosecond
    double roundTrip = 0; ///< of a full frame and its ACK, nanoseconds
    double limit = 0;     ///< highest rate of a connection, bytes a nanosecond
    bool local = false;   ///< both ends on one node
    std::vector<LinkShare> data;
    std::vector<LinkShare> acks;
};

/// Limits: the slowest link, loss (Mathis et al., CCR 1997), a socket buffer of fixed size.
FlowPath MakeFlowPath(const Topology& topology, const Transport& transport, int from, int to);

} // namespace legacy::fabric
