// One synchronous training step on the network is a plain value in (StepTraffic), and a plain value
// out (StepTiming). It is a step of buckets (DDP), or a sharded step (sharded.h), and runs as a
// step plan (step-plan.h). Times are nanoseconds from the step's start, which is the same at every
// worker (the barrier).
//
// Buckets:
//
// Each worker has one device queue. Its backward pass and the encoding before each bucket's first
// collective call are in `ready`. What depends on the network (work between calls, decoding) runs
// after `deviceFree`, first come first served, one at a time; work of no duration needs no device
// and waits for nothing. A worker is finished when its device is and all its buckets are decoded.
#pragma once

#include "fabric/collective/collective.h"
#include "fabric/engine/engine.h"
#include "plan-graph.h"
#include "plan-parts.h"
#include "sharded.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// CallTraffic is one collective call of a bucket.
struct CallTraffic
{
    CollectiveSpec collective;
    /// Device time of each worker between the call before and this one. Empty: none; always empty
    /// in call 0.
    std::vector<TimeNs> computeBefore;
};

/// BucketTraffic has the collective calls of one bucket, which follow one another.
struct BucketTraffic
{
    std::vector<TimeNs> ready;      ///< time at which each worker is ready to send call 0
    std::vector<CallTraffic> calls; ///< calls in order; empty: nothing is sent
    /// Device time of each worker after the last call. Empty: none.
    std::vector<TimeNs> decode;
};

/// StepTraffic is all that a step asks of the network.
struct StepTraffic
{
    int workers = 0;
    /// Time at which each worker's backward pass and first encodings end.
    std::vector<TimeNs> deviceFree;
    std::vector<BucketTraffic> buckets;
    /// While a collective of a worker runs, its computing takes 1 + contention times as long:
    /// kernels of collectives take processors and memory from it. 0: nothing.
    double contention = 0;
    /// A step of a divided model has this, no buckets and no deviceFree.
    std::optional<ShardedTraffic> sharded = std::nullopt;

    /// Returns the value as bytes, equal for equal steps: the key of memoised steps.
    std::string Canonical() const;
};

/// BucketTiming says when a bucket's calls were done at each worker.
struct BucketTiming
{
    std::vector<std::vector<TimeNs>> callDone; ///< [call][worker]
    std::vector<TimeNs> done;                  ///< [worker]: all is decoded
};

/// StepTiming has the times and counters of a step.
struct StepTiming
{
    std::vector<BucketTiming> buckets;
    /// The parts say what each nanosecond of a sharded step was at each worker (build-sharded.h has
    /// its streams). Steps of buckets have none.
    std::vector<StepParts> parts;
    std::vector<TimeNs> finish;     ///< end of each worker; the step ends at the largest
    std::vector<TimeNs> decodeBusy; ///< device time that each worker spent after deviceFree
    /// Time in which a collective of each worker was carried while its device ran. A collective is
    /// carried from the time at which all of its members have begun it.
    std::vector<TimeNs> hidden;
    TimeNs total = 0;
    EngineCounters counters; ///< counters of this step alone
    /// Counters of this step alone, except maxQueueBytes, which counts its warm-up too.
    std::vector<LinkCounters> links;
};

/// Return what an engine did between two readings. The maximum of a queue and the peak of a link
/// have no difference: they stay those of `after`.
EngineCounters Difference(EngineCounters after, const EngineCounters& before);
std::vector<LinkCounters> Difference(std::vector<LinkCounters> after,
                                     const std::vector<LinkCounters>& before);
/// Adds the counters of a step, which ran `times` times, to sums of earlier ones, link by link.
/// Empty sums take them over; queues and peaks are the largest of all.
void Add(std::vector<LinkCounters>& sums, const std::vector<LinkCounters>& step, int64_t times = 1);
/// Adds the counters of a simulation; buffers and headroom are the largest of all.
void Add(EngineCounters& sum, const EngineCounters& other, int64_t times = 1);

/// Calls `use` with each collective of a step, and how often it runs. The messages between stages
/// are broadcasts to one member.
void ForEachCollective(const StepTraffic& traffic,
                       const std::function<void(const CollectiveSpec& spec, int64_t times)>& use);

/// Returns the times of a sharded step's plan. The caller fills counters and links.
StepTiming ShardedTimingOf(const StepPlan& plan, const PlanTiming& times);

class AloneSteps;
struct DdpPlan;

/// A StepGraph is the step as a flow graph for any engine: the graph of its plan (build-ddp.h,
/// build-sharded.h). All buckets are in flight at once. Throws Error on vectors of the wrong
/// length, negative times and invalid collectives.
class StepGraph : public PlanGraph
{
  public:
    explicit StepGraph(const StepTraffic& traffic);
    ~StepGraph() override;
    bool Done() const override;
    /// Returns the timing when the graph is done. The caller fills counters and links.
    const StepTiming& Timing() const;

    /// Returns the step.
    const StepTraffic& Traffic() const;
    /// Ends the graph with the timing of the same step, which another process ran.
    void Adopt(StepTiming timing);

  private:
    StepGraph(const StepTraffic& traffic, DdpPlan ddp);

    struct Buckets;
    std::unique_ptr<Buckets> m_buckets;
};

/// A StepSimulator times steps on one fabric. A step whose engine is neither random nor dependent
/// on absolute time is simulated once and memoised. With warm connections a fresh engine runs the
/// step twice back to back and the second run counts, unless the engine starts warm.
class StepSimulator
{
  public:
    StepSimulator(EngineFactory factory, const EngineRequest& request, bool memoise = true);
    ~StepSimulator();
    StepSimulator(StepSimulator&&) noexcept;

    /// Returns the timing of a step, valid until the next call. `step` keys the draws of random
    /// engines. The step begins at `start` of the rates and failures that change over time. `watch`
    /// is called with the plan of a sharded step that is simulated now. A plan whose collectives
    /// are timed alone may have one rank for each stage (ShardedTraffic::alone).
    const StepTiming& Simulate(const StepTraffic& traffic,
                               uint64_t step,
                               TimeNs start = 0,
                               const PlanWatch& watch = nullptr);

    /// Return how many steps were simulated, and how many were memoised.
    int64_t FreshSteps() const;
    int64_t MemoisedSteps() const;
    /// Returns counters over all fresh simulations, warm-up included.
    const EngineCounters& Totals() const;

    /// A Digest stands for the canonical bytes of a step.
    using Digest = std::array<uint64_t, 2>;

    /// A State is what was counted, and which steps were simulated, ascending.
    struct State
    {
        int64_t fresh = 0;
        int64_t memoised = 0;
        EngineCounters totals;
        std::vector<Digest> known;
    };

    State Save() const;
    /// Continues from a state, of a simulator on the same fabric. The timings of its steps are
    /// simulated again where they are needed, and count as memoised.
    void Load(State state);

  private:
    StepTiming Run(Engine& engine,
                   const StepTraffic& traffic,
                   TimeNs start,
                   const PlanWatch& watch = nullptr) const;
    StepTiming RunAlone(const Engine& engine,
                        const EngineRequest& request,
                        const StepTraffic& traffic,
                        TimeNs start,
                        const PlanWatch& watch);
    static void RunToEnd(Engine& engine);

    EngineFactory m_factory;
    EngineRequest m_request;
    bool m_memoise;
    std::map<std::string, StepTiming> m_memory; ///< timings by canonical traffic
    std::unique_ptr<AloneSteps> m_alone;
    std::set<Digest> m_known; ///< steps of a loaded state
    StepTiming m_last;
    int64_t m_fresh = 0;
    int64_t m_memoised = 0;
    EngineCounters m_totals;
};

} // namespace legacy::fabric
