// A flow graph says what is sent when, and generates its flows lazily. It is told what happened (a
// worker is ready, a flow arrived) and answers by sending flows, asking for wake-ups and reporting
// workers that are done. A ring of 1,024 hosts has 2 M flows, so no graph ever holds them all.
#pragma once

#include "base/units.h"

#include <cstdint>

namespace legacy::fabric
{

/// An Opening says on which connection a flow travels.
enum class Opening : uint8_t
{
    Kept, ///< the connection of its endpoints and lane, which its first flow opens
    /// That of its endpoints and lane, which no other flow uses: where connections are warm it is
    /// an open one of the endpoints that is idle.
    Pooled,
    New, ///< a new one in its place, which pays for its handshake
    /// A new one in its place, which was opened with the newest one the other way: it pays for slow
    /// start only.
    Established,
};

/// A Flow is one message between two endpoints of a placement. Flows of one source, destination and
/// lane arrive in the order in which they were sent.
struct Flow
{
    int source = 0;      ///< endpoint
    int destination = 0; ///< endpoint, != source
    int64_t bytes = 0;   ///< payload, >= 0; 0 arrives at once and touches no link
    uint64_t tag = 0;    ///< a number of the graph's own, which engines hand back
    /// True where the source will soon send to this destination again (rounds of a ring, chunks of
    /// a pipeline). Engines that compute with average load count the connection as busy until a
    /// flow without this mark has arrived.
    bool more = false;
    /// Connection among several between two endpoints, below kBackgroundLane.
    uint16_t lane = 0;
    Opening opening = Opening::Kept;
    uint16_t channel = 0; ///< queue pair of those that take messages in turn; set by engines alone
};

/// The lane of the flows of background graphs. Engines set it, and no other graph may.
inline constexpr uint16_t kBackgroundLane = UINT16_MAX;

/// A FlowSink carries out what a graph asks for. It may be called inside the graph's callbacks
/// only.
class FlowSink
{
  public:
    virtual ~FlowSink() = default;
    virtual TimeNs Now() const = 0;
    /// Starts a flow now. FlowGraph::OnDelivered follows when its last byte is at the destination.
    virtual void Send(const Flow& flow) = 0;
    /// Asks for FlowGraph::OnWake(token) at Now() + delay; delay >= 0.
    virtual void Wake(TimeNs delay, uint64_t token) = 0;
    /// Withdraws a flow of this graph that has not arrived, found by its ends, lane and tag. What
    /// has not left its source is never sent, and no callback follows. Returns the payload bytes
    /// that had left, or that leave all the same (those that a socket has taken); 0 for a flow that
    /// is not on its way, which is ignored.
    virtual int64_t Abort(const Flow& flow) = 0;
    /// Lets Engine::RunUntil return after this callback, before anything else happens. The next
    /// RunUntil begins with FlowGraph::OnContinue.
    virtual void Pause() = 0;
};

/// A FlowGraph is driven by an engine through these callbacks.
class FlowGraph
{
  public:
    virtual ~FlowGraph() = default;
    virtual void OnStart(FlowSink& sink) = 0; ///< called once, at the submitted start
    /// The flow's last byte is at its destination.
    virtual void OnDelivered(const Flow& flow, FlowSink& sink) = 0;
    /// The time of a Wake(delay, token) has come.
    virtual void OnWake(uint64_t token, FlowSink& sink) = 0;
    /// The flow's connection was lost, because a host failed or retransmissions were given up. A
    /// next flow of its ends opens a new connection. Throws Error unless overridden.
    virtual void OnFailed(const Flow& flow, FlowSink& sink);

    /// The engine runs again after the graph's Pause(), at the same time.
    virtual void OnContinue(FlowSink&)
    {
    }

    virtual bool Done() const = 0; ///< true when nothing more will happen
};

} // namespace legacy::fabric
