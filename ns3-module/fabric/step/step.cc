#include "step.h"

#include "base/error.h"
#include "check-traffic.h"

#include <algorithm>
#include <cassert>

namespace legacy::fabric
{

namespace
{

TimeNs TimeOf(const std::vector<TimeNs>& times, int worker)
{
    return times.empty() ? 0 : times[worker];
}

} // namespace

// A bucket with R collective calls has R + 1 stages: its calls, and its decoding. Stages are
// numbered consecutively over all buckets, and the number of a stage is the tag base of its
// collective. A worker enters a stage when the stage before is done, and its device has run the
// work that the stage needs first.
struct StepGraph::Impl
{
    explicit Impl(const StepTraffic& traffic);

    const std::vector<TimeNs>& WorkBefore(int bucket, int stage) const
    {
        const BucketTraffic& b = traffic.buckets[bucket];
        return stage < Calls(bucket) ? b.calls[stage].computeBefore : b.decode;
    }

    int Calls(int bucket) const
    {
        return static_cast<int>(traffic.buckets[bucket].calls.size());
    }

    /// Returns the token of a wake-up of `worker`. `ran` says whether the device has run the work
    /// that `stage` needs.
    uint64_t Token(int bucket, int stage, int worker, bool ran) const
    {
        const uint64_t number = firstStage[bucket] + stage;
        return (2 * number + (ran ? 1 : 0)) * traffic.workers + worker;
    }

    void Approach(int bucket, int stage, int worker, FlowSink& sink);
    void Enter(int bucket, int stage, int worker, FlowSink& sink);

    const StepTraffic traffic;
    std::vector<int> firstStage; ///< first stage of each bucket
    std::vector<int> bucketOf;   ///< bucket of each stage
    std::vector<std::unique_ptr<Collective>>
        /// Collectives by stage; nullptr for the last stage of a bucket.
        collectives;
    /// Time from the step's start at which each worker's device is free.
    std::vector<TimeNs> deviceFree;
    int64_t remaining = 0; ///< number of (bucket, worker) pairs to decode
    bool started = false;
    TimeNs start = 0;
    StepTiming timing;
};

StepGraph::Impl::Impl(const StepTraffic& given) : traffic(given)
{
    CheckTraffic(traffic);
    const int workers = traffic.workers;
    deviceFree = traffic.deviceFree;
    timing.finish = traffic.deviceFree;
    timing.decodeBusy.assign(workers, 0);
    timing.total = *std::max_element(deviceFree.begin(), deviceFree.end());
    remaining = static_cast<int64_t>(traffic.buckets.size()) * workers;
    for (int b = 0; b < static_cast<int>(traffic.buckets.size()); ++b)
    {
        firstStage.push_back(static_cast<int>(collectives.size()));
        timing.buckets.push_back(
            BucketTiming{std::vector<std::vector<TimeNs>>(Calls(b), std::vector<TimeNs>(workers)),
                         std::vector<TimeNs>(workers)});
        for (int r = 0; r < Calls(b); ++r)
        {
            const size_t stage = collectives.size();
            auto done = [this, b, r](int worker, FlowSink& sink)
            {
                timing.buckets[b].callDone[r][worker] = sink.Now() - start;
                Approach(b, r + 1, worker, sink);
            };
            collectives.push_back(MakeCollective(traffic.buckets[b].calls[r].collective,
                                                 static_cast<uint16_t>(stage),
                                                 std::move(done)));
        }
        collectives.push_back(nullptr);
        bucketOf.resize(collectives.size(), b);
    }
    constexpr size_t kMaxStages = 1 << 16; // tag bases have 16 bits
    if (collectives.size() > kMaxStages)
    {
        throw Error("step: buckets and calls",
                    std::to_string(collectives.size()),
                    "at most " + std::to_string(kMaxStages) + " together");
    }
}

void StepGraph::Impl::Approach(int bucket, int stage, int worker, FlowSink& sink)
{
    const TimeNs work = TimeOf(WorkBefore(bucket, stage), worker);
    if (work == 0)
    {
        Enter(bucket, stage, worker, sink);
        return;
    }
    const TimeNs now = sink.Now() - start;
    TimeNs& free = deviceFree[worker];
    free = Later(std::max(now, free), work);
    timing.decodeBusy[worker] += work;
    sink.Wake(free - now, Token(bucket, stage, worker, true));
}

void StepGraph::Impl::Enter(int bucket, int stage, int worker, FlowSink& sink)
{
    if (stage < Calls(bucket))
    {
        collectives[firstStage[bucket] + stage]->Start(worker, sink);
        return;
    }
    const TimeNs now = sink.Now() - start;
    timing.buckets[bucket].done[worker] = now;
    timing.finish[worker] = std::max(timing.finish[worker], now);
    timing.total = std::max(timing.total, now);
    --remaining;
}

StepGraph::StepGraph(const StepTraffic& traffic) : m_impl(std::make_unique<Impl>(traffic))
{
}

StepGraph::~StepGraph() = default;

void StepGraph::OnStart(FlowSink& sink)
{
    m_impl->start = sink.Now();
    m_impl->started = true;
    const StepTraffic& traffic = m_impl->traffic;
    for (int b = 0; b < static_cast<int>(traffic.buckets.size()); ++b)
    {
        for (int w = 0; w < traffic.workers; ++w)
        {
            sink.Wake(traffic.buckets[b].ready[w], m_impl->Token(b, 0, w, false));
        }
    }
}

void StepGraph::OnDelivered(const Flow& flow, FlowSink& sink)
{
    m_impl->collectives[flow.tag >> 48]->OnDelivered(flow, sink);
}

void StepGraph::OnWake(uint64_t token, FlowSink& sink)
{
    if (const std::optional<WakeOf> wake = CollectiveOfWake(token))
    {
        m_impl->collectives[wake->tagBase]->OnWake(wake->mark, sink);
        return;
    }
    const int worker = static_cast<int>(token % m_impl->traffic.workers);
    token /= m_impl->traffic.workers;
    const int number = static_cast<int>(token / 2);
    const int bucket = m_impl->bucketOf[number];
    const int stage = number - m_impl->firstStage[bucket];
    if (token % 2 == 1)
    {
        m_impl->Enter(bucket, stage, worker, sink);
    }
    else
    {
        m_impl->Approach(bucket, stage, worker, sink);
    }
}

bool StepGraph::Done() const
{
    return m_impl->started && m_impl->remaining == 0;
}

const StepTiming& StepGraph::Timing() const
{
    assert(Done());
    return m_impl->timing;
}

} // namespace legacy::fabric
