// One synchronous training step on the network: a plain value in (StepTraffic), a plain value out
// (StepTiming). Times are nanoseconds from the step's start, which is the same at every worker (the
// barrier).
//
// Each worker has one device queue. Its backward pass and the encoding before each bucket's first
// round are in `ready`. What depends on the network (work between rounds, decoding) runs after
// that, first come first served, one at a time.
#pragma once

#include "collective.h"
#include "engine.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

struct RoundTraffic
{
    CollectiveSpec collective;
    std::vector<TimeNs>
        computeBefore; ///< device time of each worker before this round; empty or 0 for round 0
};

struct BucketTraffic
{
    std::vector<TimeNs> ready;        ///< of each worker: encoded and ready to send round 0
    std::vector<RoundTraffic> rounds; ///< may be empty: nothing travels
    std::vector<TimeNs> decode;       ///< device time of each worker after the last round
};

struct StepTraffic
{
    int workers = 0;
    std::vector<TimeNs>
        deviceFree; ///< of each worker: end of its backward pass and first encodings
    std::vector<BucketTraffic> buckets;

    /// Same value, same text: the key of remembered steps.
    std::string Canonical() const;
};

struct BucketTiming
{
    std::vector<std::vector<TimeNs>> roundDone; ///< [round][worker]
    std::vector<TimeNs> done;                   ///< [worker], decoded
};

struct StepTiming
{
    std::vector<BucketTiming> buckets;
    std::vector<TimeNs> finish;     ///< of each worker; the step ends at the largest
    std::vector<TimeNs> decodeBusy; ///< of each worker: device time spent after deviceFree
    TimeNs total = 0;
    EngineCounters counters;         ///< of this step alone
    std::vector<LinkCounters> links; ///< of this step alone
};

/// The step as a flow graph for any engine.
class StepGraph : public FlowGraph
{
  public:
    explicit StepGraph(const StepTraffic& traffic);
    ~StepGraph() override;
    void OnStart(FlowSink& sink) override;
    void OnDelivered(const Flow& flow, FlowSink& sink) override;
    void OnWake(uint64_t token, FlowSink& sink) override;
    bool Done() const override;
    const StepTiming&
    Timing() const; ///< valid when done; counters and links are the caller's to fill

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Times steps on one fabric. A step whose engine is neither random nor dependent on absolute time
/// is simulated once and remembered. With warm connections a fresh engine runs the step twice back
/// to back and the second is what counts.
class StepSimulator
{
  public:
    StepSimulator(EngineFactory factory, const EngineRequest& request, bool memoise = true);

    /// `step` keys the draws of random engines.
    const StepTiming& Simulate(const StepTraffic& traffic, uint64_t step);

    int64_t FreshSteps() const;
    int64_t MemoisedSteps() const;
    const EngineCounters&
    Totals() const; ///< over fresh simulations, warm-up included: what was really simulated

  private:
    StepTiming Run(const StepTraffic& traffic, uint64_t run) const;

    EngineFactory m_factory;
    EngineRequest m_request;
    bool m_memoise;
    std::map<std::string, StepTiming> m_memory;
    StepTiming m_last;
    int64_t m_fresh = 0;
    int64_t m_memoised = 0;
    mutable EngineCounters m_totals;
};

} // namespace legacy::fabric
