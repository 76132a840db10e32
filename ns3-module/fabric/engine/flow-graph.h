// Flow graphs: what is sent when, generated lazily. A graph is told what happened (a worker is
// ready, a flow arrived) and answers by sending flows, asking for wake-ups and reporting workers
// that are done. A 1,024-host ring is 2 M flows: no graph ever holds them all.
#pragma once

#include "fabric/base/units.h"

#include <cstdint>

namespace legacy::fabric
{

/// One message between two endpoints of a placement. Flows of one source and destination arrive in
/// the order in which they were sent.
struct Flow
{
    int source = 0;      ///< endpoint
    int destination = 0; ///< endpoint, != source
    int64_t bytes = 0;   ///< payload, >= 0; 0 arrives at once and touches no link
    uint64_t tag = 0;    ///< the graph's own mark
    /// The source will soon send to this destination again (rounds of a ring, chunks of a
    /// pipeline): engines that reckon with average load keep counting the connection as busy until
    /// a flow without it has arrived.
    bool more = false;
};

/// What a graph may do. Calls are valid inside the graph's callbacks only.
class FlowSink
{
  public:
    virtual ~FlowSink() = default;
    virtual TimeNs Now() const = 0;
    /// Starts a flow now; FlowGraph::OnDelivered follows when its last byte is at the destination.
    virtual void Send(const Flow& flow) = 0;
    /// FlowGraph::OnWake(token) at Now() + delay; delay >= 0.
    virtual void Wake(TimeNs delay, uint64_t token) = 0;
};

class FlowGraph
{
  public:
    virtual ~FlowGraph() = default;
    virtual void OnStart(FlowSink& sink) = 0; ///< once, at the submitted start
    virtual void OnDelivered(const Flow& flow, FlowSink& sink) = 0;
    virtual void OnWake(uint64_t token, FlowSink& sink) = 0;
    virtual bool Done() const = 0; ///< nothing more will happen
};

} // namespace legacy::fabric
