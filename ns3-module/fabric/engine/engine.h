// Engine: carries flow graphs over a fabric. Three fidelities, one interface: packet (ns-3 with
// real TCP), flow (fluid max-min), analytic (alpha-beta). Event based; all times are int64
// nanoseconds.
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

/// What one directed link carried since the engine was made.
struct LinkCounters
{
    int64_t bytes = 0; ///< on the wire, headers and ACKs included
    int64_t packets = 0;
    int64_t drops = 0;
    int64_t marks = 0; ///< ECN
    int64_t maxQueueBytes = 0;
    TimeNs busy = 0; ///< time spent transmitting
    /// highest utilisation, 0 to 1: of any instant (flow), of any window of kPeakWindow (packet), 1
    /// where anything was sent (analytic)
    double peak = 0;
};

/// See LinkCounters::peak.
constexpr TimeNs kPeakWindow = 1'000'000;

struct EngineCounters
{
    uint64_t events = 0;             ///< simulated events executed
    uint64_t packets = 0;            ///< packets received by hosts (0 where the fidelity has none)
    uint64_t flows = 0;              ///< flows delivered
    uint64_t retransmitTimeouts = 0; ///< any is worth a warning
};

/// Called for every flow: start, and (delivered = true) arrival.
using FlowTrace = std::function<void(const Flow& flow, TimeNs when, bool delivered)>;

class Engine
{
  public:
    virtual ~Engine() = default;

    virtual std::string Name() const = 0; ///< "packet", "flow", "analytic"
    /// True where two runs of the same graphs from a fresh engine may differ by a seed's draws.
    virtual bool Random() const = 0;
    /// True where results depend on absolute time (link traces, failures): steps are then never
    /// memoised.
    virtual bool DependsOnTime() const = 0;
    /// True where connections are warm from the first flow on when the transport says warm: a step
    /// needs no other before it.
    virtual bool StartsWarm() const
    {
        return false;
    }

    /// Everything besides topology, placement and traffic that shapes results; part of the key of
    /// memoised steps.
    virtual std::string Fingerprint() const = 0;

    /// `graph` lives until it is done; start >= Now().
    virtual void Submit(FlowGraph& graph, TimeNs start) = 0;
    /// Runs up to and including `until`, or until nothing is left to happen. Returns true where all
    /// submitted graphs are done. Throws Error naming the blocked flows where nothing can happen
    /// any more and a graph is not done.
    virtual bool RunUntil(TimeNs until) = 0;
    virtual TimeNs Now() const = 0;

    virtual EngineCounters Counters() const = 0;
    virtual std::vector<LinkCounters> Links() const = 0; ///< by directed link
    virtual void SetFlowTrace(FlowTrace trace) = 0;

    /// State between graphs (nothing in flight): now and the position in random draws. Restore on a
    /// fresh engine of the same fabric continues to the same results; warm connections are part of
    /// a step's definition, not of this state.
    virtual std::string Save() const = 0;
    virtual void Restore(const std::string& state) = 0;
};

/// Makes a fresh engine: clock at 0, cold connections, random streams at `run`.
struct EngineRequest
{
    const Topology* topology = nullptr;   ///< outlives the engine
    const Placement* placement = nullptr; ///< outlives the engine
    Transport transport;
    uint64_t seed = 1;
    uint64_t run = 0;
};
using EngineFactory = std::function<std::unique_ptr<Engine>(const EngineRequest&)>;

/// Alpha-beta on the fabric's routes (analytic.cc).
std::unique_ptr<Engine> MakeAnalyticEngine(const EngineRequest& request);
/// Fluid max-min fairness on the fabric's routes (flow-engine.cc).
std::unique_ptr<Engine> MakeFlowEngine(const EngineRequest& request);

} // namespace legacy::fabric
