// A flow path is what the flow engine knows of the path between two nodes. Internal to fabric/.
#pragma once

#include "fabric/topology/topology.h"
#include "transport.h"

#include <vector>

namespace legacy::fabric
{

/// Returns the port's rate in bytes a nanosecond.
double BytesPerNs(const Port& port);

/// Returns the share of the link's rate that long flows fill: the transport's utilisation of ports
/// of switches, and 1 of NICs, which have no telemetry.
double FilledShare(const Topology& topology, const Transport& transport, DirectedLink link);

/// Returns the delay from the end of sending a frame until the node at the link's other end may
/// send it on, or has it: propagation, and the transport's delay of a switch.
TimeNs LinkDelay(const Topology& topology, const Transport& transport, DirectedLink link);

/// A FlowPath describes the route of data and of its ACKs.
struct FlowPath
{
    double delay = 0;     ///< one-way delay of links and switches in nanoseconds
    double byteTime = 0;  ///< nanoseconds a byte of the first frame, beyond the slowest link's
    bool local = false;   ///< true where both ends are on one node
    bool timed = false;   ///< true where the rate of a link on it changes over time
    bool buckets = false; ///< true where token buckets limit links of the data's path
    double slowest = 0;   ///< rate of the slowest link, bytes a nanosecond
    double roundTrip = 0; ///< nanoseconds of a full frame and its ACK
    double loss = 0;      ///< probability that a packet of data is lost
    double lossless = 0;  ///< highest rate of a connection without loss, bytes a nanosecond
    double limit = 0;     ///< mean rate of a long connection that has no rivals
    int switches = 0;     ///< whose telemetry the data has at the end of its way
    double ackWeight = 1; ///< bytes of its ACKs, of those on a path without switches
    std::vector<LinkShare> data;
    std::vector<LinkShare> acks;
};

/// Returns the path between two nodes. Its rate is limited by the slowest link, by links of the way
/// back that carry no more ACKs, by a socket buffer of fixed size and, in the long run, by loss
/// (Mathis et al., CCR 1997; Cubic: RFC 9438). Links whose rates change count with their highest,
/// and ports of switches with the share of theirs that long flows fill. `connection` is that of
/// the hash of ECMP.
FlowPath MakeFlowPath(const Topology& topology,
                      const Transport& transport,
                      int from,
                      int to,
                      ConnectionId connection = 0);

/// Returns the nanoseconds that slow start takes beyond a full pipe, on a path that loses nothing:
/// of each round trip the part that the window does not fill. `window`, in bytes on the wire,
/// becomes the window after a flow of `wire` bytes. `rate` is in bytes a nanosecond.
double SlowStartTime(double wire, double rate, double roundTrip, double& window);

} // namespace legacy::fabric
