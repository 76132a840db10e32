// An engine carries flow graphs over a fabric. There are three fidelities behind one interface:
// packet (ns-3 with real TCP), flow (fluid max-min) and analytic (alpha-beta). Engines are event
// based; all times are int64 nanoseconds.
#pragma once

#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"
#include "flow-graph.h"
#include "transport.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// LinkCounters say what one directed link carried since the engine was made.
struct LinkCounters
{
    int64_t bytes = 0; ///< bytes on the wire, headers and ACKs included
    /// Those of background graphs among them, without ACKs and retransmissions at packet fidelity.
    int64_t backgroundBytes = 0;
    int64_t packets = 0;
    int64_t drops = 0;
    int64_t marks = 0; ///< packets that ECN marked
    int64_t maxQueueBytes = 0;
    TimeNs busy = 0; ///< time spent transmitting
    /// Highest utilisation, 0 to 1: of any instant (flow), of any window of kPeakWindow (packet), 1
    /// where anything was sent (analytic).
    double peak = 0;
    /// Of roce at packet fidelity: times that the port was paused, how long, and the port whose
    /// queue was the root of most of that; -1: it never was.
    int64_t pauses = 0;
    TimeNs paused = 0;
    DirectedLink pauseRoot = -1;
};

/// The window of LinkCounters::peak in nanoseconds.
constexpr TimeNs kPeakWindow = 1'000'000;

/// LinkActivity says what one directed link does at an instant.
struct LinkActivity
{
    double bytes = 0; ///< bytes on the wire since the engine was made, parts of flows included
    /// Rate of all flows and ACKs now, bits per second; 0 where the fidelity has packets.
    double bitsPerSecond = 0;
    int64_t queueBytes = 0; ///< bytes that wait at its port; 0 where the fidelity has no queues
    bool paused = false;    ///< its port is paused (roce at packet fidelity)
};

/// RoceActivity says what queue pairs and switches of RoCEv2 do at an instant, at packet fidelity.
struct RoceActivity
{
    /// A Pair is a queue pair with messages on their way.
    struct Pair
    {
        int source = 0;           ///< node
        int destination = 0;      ///< node
        uint32_t number = 0;      ///< among those of these two, in the order of opening
        double bitsPerSecond = 0; ///< rate of its congestion control, at most the line's
        int64_t inFlight = 0;     ///< bytes on the wire that are not acknowledged
    };

    std::vector<Pair> pairs;
    std::vector<int64_t> buffers; ///< bytes in use by node; 0 at hosts
};

/// A RoceFlow says what became of a flow over RoCEv2, at packet fidelity.
struct RoceFlow
{
    double rateAtEnd = 0; ///< rate of its queue pair when it had arrived, bits per second
    uint64_t cnps = 0;    ///< congestion notifications that its frames caused
    uint64_t resent = 0;  ///< its frames that were sent again
    /// Time for which pauses held it up: those of its NIC's port while it had frames to send, and
    /// those for which its last frame waited in switches.
    TimeNs paused = 0;
    DirectedLink pauseRoot = -1; ///< port whose queue was the cause of most waiting; -1: none
    /// True where it mostly waited for pauses that other flows caused: neither the root of the
    /// pause was on its path, nor a port beyond the pause where data waited without being paused.
    bool victim = false;
};

/// RoceCounters count what NICs and switches of RoCEv2 did, at packet fidelity.
struct RoceCounters
{
    uint64_t cnps = 0;          ///< congestion notifications sent
    uint64_t naks = 0;          ///< negative acknowledgements sent
    uint64_t resent = 0;        ///< data frames sent again
    uint64_t reordered = 0;     ///< data frames that arrived after later ones
    uint64_t watchdogDrops = 0; ///< frames that watchdogs of paused ports dropped
    int64_t maxBuffer = 0;      ///< most bytes in any switch
    int64_t bufferBytes = 0;    ///< size of that switch's buffer
    double maxHeadroom = 0;     ///< largest share of any headroom in use, 0 to 1
};

/// SkipCounters count the payload that was delivered without packets, and how far times that were
/// checked with packets differ from those without.
struct SkipCounters
{
    int64_t bytes = 0;        ///< payload that was delivered
    int64_t skippedBytes = 0; ///< payload of that without packets
    uint64_t checked = 0;     ///< times that were checked
    double difference = 0;    ///< sum of their relative differences
    double largest = 0;       ///< the largest of them
};

/// EngineCounters count what an engine did since it was made.
struct EngineCounters
{
    uint64_t events = 0;             ///< simulated events executed
    uint64_t packets = 0;            ///< packets received by hosts (0 where the fidelity has none)
    uint64_t flows = 0;              ///< flows delivered
    uint64_t retransmitTimeouts = 0; ///< any is worth a warning
    /// Times that a link with a rate above 0 sent one frame in 100 ms instead of less.
    uint64_t rateFloors = 0;
    RoceCounters roce;
    SkipCounters skipped;
};

/// A FlowTrace is called twice for every flow: at its start, and with delivered = true at its
/// arrival.
using FlowTrace = std::function<void(const Flow& flow, TimeNs when, bool delivered)>;

/// An Engine simulates submitted flow graphs on one topology and placement.
class Engine
{
  public:
    virtual ~Engine() = default;

    virtual std::string Name() const = 0; ///< "packet", "flow", "analytic"
    /// True where two runs of the same graphs on fresh engines may differ by the draws of a seed.
    virtual bool Random() const = 0;
    /// True where results depend on absolute time (link traces, failures), so that steps are never
    /// memoised.
    virtual bool DependsOnTime() const = 0;
    /// True where connections are warm from the first flow on when the transport says warm, so that
    /// a step needs no warm-up step before it.
    virtual bool StartsWarm() const
    {
        return false;
    }

    /// Returns everything that shapes results besides topology, placement and traffic. It is a part
    /// of the key of memoised steps.
    virtual std::string Fingerprint() const = 0;

    /// Submits a graph that begins at `start` >= Now(), and that lives until it is done.
    virtual void Submit(FlowGraph& graph, TimeNs start) = 0;
    /// Submits a graph that only keeps links busy: a run ends when all other graphs are done.
    virtual void SubmitBackground(FlowGraph& graph, TimeNs start) = 0;
    /// Sets the time of schedules: that at which the rates and failures of the topology are read
    /// now. Nothing is in flight. It advances with the clock; on a fresh engine it is 0.
    virtual void SetScheduleTime(TimeNs time) = 0;
    /// Runs up to and including `until`, or until no event is left, or until a graph pauses, or
    /// until all graphs are done where there is background traffic. Returns true where all
    /// submitted graphs are done. Throws
    /// Error naming the blocked flows where no event is left and a graph is not done.
    virtual bool RunUntil(TimeNs until) = 0;
    virtual TimeNs Now() const = 0;

    /// Returns what the engine counted so far.
    virtual EngineCounters Counters() const = 0;
    virtual std::vector<LinkCounters> Links() const = 0; ///< counters by directed link
    /// Returns what the links do now, by directed link; empty where nothing is known between the
    /// start of a flow and its end (analytic).
    virtual std::vector<LinkActivity> Activity() const
    {
        return {};
    }

    /// Returns what queue pairs and switches do now; nothing where the engine has none.
    virtual RoceActivity Roce() const
    {
        return {};
    }

    virtual void SetFlowTrace(FlowTrace trace) = 0;
    /// Returns what became of the flow whose delivery the trace is being told of; nullptr where
    /// nothing is known, and outside such calls.
    virtual const RoceFlow* Delivered() const
    {
        return nullptr;
    }

    /// Save returns the state between graphs, when nothing is in flight: now, and the position in
    /// random draws. Restore on a fresh engine of the same fabric continues to the same results.
    /// Warm connections are part of a step's definition, and not of this state.
    virtual std::string Save() const = 0;
    virtual void Restore(const std::string& state) = 0;
};

/// An EngineRequest says what engine to make: a fresh one, with its clock at 0, cold connections,
/// and random streams at `run`.
struct EngineRequest
{
    const Topology* topology = nullptr;   ///< outlives the engine
    const Placement* placement = nullptr; ///< outlives the engine
    Transport transport;
    uint64_t seed = 1;
    uint64_t run = 0;
    /// Returns the background traffic from a time of schedules on; empty: there is none. Engines do
    /// not read it: the code that submits a graph submits it too.
    std::function<std::unique_ptr<FlowGraph>(TimeNs start)> background;
};
using EngineFactory = std::function<std::unique_ptr<Engine>(const EngineRequest&)>;

/// Makes the alpha-beta engine on the fabric's routes (analytic.cc).
std::unique_ptr<Engine> MakeAnalyticEngine(const EngineRequest& request);
/// Makes the engine of fluid max-min fairness on the fabric's routes (flow/flow-engine.cc).
std::unique_ptr<Engine> MakeFlowEngine(const EngineRequest& request);

} // namespace legacy::fabric
