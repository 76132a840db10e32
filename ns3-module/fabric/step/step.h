// One synchronous training step on the network: a plain value in (StepTraffic), a plain value out
// (StepTiming). Times are nanoseconds from the step's start, which is the same at every worker (the
// barrier).
//
// Each worker has one device queue. Its backward pass and the encoding before each bucket's first
// collective call are in `ready`. What depends on the network (work between calls, decoding) runs
// after `deviceFree`, first come first served, one at a time; work of no duration needs no device
// and waits for nothing. A worker is finished when its device is and all its buckets are decoded.
#pragma once

#include "fabric/collective/collective.h"
#include "fabric/engine/engine.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

struct CallTraffic
{
    CollectiveSpec collective;
    /// device time of each worker before this collective call; empty: none; none for call 0
    std::vector<TimeNs> computeBefore;
};

struct BucketTraffic
{
    std::vector<TimeNs> ready;      ///< of each worker: encoded and ready to send call 0
    std::vector<CallTraffic> calls; ///< may be empty: nothing travels
    /// device time of each worker after the last collective call; empty: none
    std::vector<TimeNs> decode;
};

struct StepTraffic
{
    int workers = 0;
    /// of each worker: end of its backward pass and first encodings
    std::vector<TimeNs> deviceFree;
    std::vector<BucketTraffic> buckets;

    /// Same value, same bytes: the key of memoised steps.
    std::string Canonical() const;
};

struct BucketTiming
{
    std::vector<std::vector<TimeNs>> callDone; ///< [call][worker]
    std::vector<TimeNs> done;                  ///< [worker], decoded
};

struct StepTiming
{
    std::vector<BucketTiming> buckets;
    std::vector<TimeNs> finish;     ///< of each worker; the step ends at the largest
    std::vector<TimeNs> decodeBusy; ///< of each worker: device time spent after deviceFree
    TimeNs total = 0;
    EngineCounters counters;         ///< of this step alone
    std::vector<LinkCounters> links; ///< of this step alone; maxQueueBytes of its warm-up too
};

/// What an engine did between two readings. A queue's maximum and a link's peak have no difference:
/// they stay those of both.
EngineCounters Difference(EngineCounters after, const EngineCounters& before);
std::vector<LinkCounters> Difference(std::vector<LinkCounters> after,
                                     const std::vector<LinkCounters>& before);

/// The step as a flow graph for any engine. All buckets are in flight at once. Throws Error on
/// vectors of the wrong length, negative times and collectives that cannot be.
class StepGraph : public FlowGraph
{
  public:
    explicit StepGraph(const StepTraffic& traffic);
    ~StepGraph() override;
    void OnStart(FlowSink& sink) override;
    void OnDelivered(const Flow& flow, FlowSink& sink) override;
    void OnWake(uint64_t token, FlowSink& sink) override;
    bool Done() const override;
    /// Valid when done; counters and links are the caller's to fill.
    const StepTiming& Timing() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Times steps on one fabric. A step whose engine is neither random nor dependent on absolute time
/// is simulated once and memoised. With warm connections a fresh engine runs the step twice back
/// to back and the second is what counts, unless it starts warm.
class StepSimulator
{
  public:
    StepSimulator(EngineFactory factory, const EngineRequest& request, bool memoise = true);

    /// `step` keys the draws of random engines.
    const StepTiming& Simulate(const StepTraffic& traffic, uint64_t step);

    int64_t FreshSteps() const;
    int64_t MemoisedSteps() const;
    /// Over fresh simulations, warm-up included: what was really simulated.
    const EngineCounters& Totals() const;

  private:
    StepTiming Run(Engine& engine, const StepTraffic& traffic) const;
    static void RunToEnd(Engine& engine);

    EngineFactory m_factory;
    EngineRequest m_request;
    bool m_memoise;
    std::map<std::string, StepTiming> m_memory; ///< by canonical traffic
    StepTiming m_last;
    int64_t m_fresh = 0;
    int64_t m_memoised = 0;
    EngineCounters m_totals;
};

} // namespace legacy::fabric
