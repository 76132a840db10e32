#include "step.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace legacy::fabric
{

namespace
{

/// Appends the number of the values, and their bytes.
void Append(std::string& text, const std::vector<int64_t>& values)
{
    const auto count = static_cast<int64_t>(values.size());
    text.append(reinterpret_cast<const char*>(&count), sizeof(count));
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
}

void Append(std::string& text, const CollectiveSpec& spec)
{
    Append(text,
           {static_cast<int64_t>(spec.algorithm),
            spec.root,
            spec.pullBytes,
            spec.servers,
            spec.group,
            spec.channels,
            static_cast<int64_t>(spec.protocol),
            spec.firstAggregator,
            spec.pieceBytes,
            spec.window,
            static_cast<int64_t>(spec.order),
            spec.relays ? 1 : 0,
            static_cast<int64_t>(spec.pairBytes.size())});
    Append(text, spec.bytes);
    Append(text, spec.sumBytes);
    if (!spec.pairBytes.empty())
    {
        Append(text, spec.pairBytes);
    }
    Append(text, {spec.parents.begin(), spec.parents.end()});
}

/// Throws Error unless there is one time >= 0 for each worker, or none where `optional` is true.
void CheckTimes(const std::vector<TimeNs>& times,
                int workers,
                bool optional,
                const std::string& what)
{
    if (optional && times.empty())
    {
        return;
    }
    if (times.size() != static_cast<size_t>(workers))
    {
        throw Error("step: " + what,
                    std::to_string(times.size()) + " times",
                    "one for each of " + std::to_string(workers) + " workers");
    }
    for (TimeNs time : times)
    {
        if (time < 0)
        {
            throw Error("step: " + what, std::to_string(time) + " ns", "0 ns or more");
        }
    }
}

TimeNs TimeOf(const std::vector<TimeNs>& times, int worker)
{
    return times.empty() ? 0 : times[worker];
}

void Check(const StepTraffic& traffic)
{
    if (traffic.workers < 1)
    {
        throw Error("step: workers", std::to_string(traffic.workers), "1 or more");
    }
    CheckTimes(traffic.deviceFree, traffic.workers, false, "deviceFree");
    for (size_t b = 0; b < traffic.buckets.size(); ++b)
    {
        const BucketTraffic& bucket = traffic.buckets[b];
        const std::string where = "bucket " + std::to_string(b);
        CheckTimes(bucket.ready, traffic.workers, false, where + ": ready");
        CheckTimes(bucket.decode, traffic.workers, true, where + ": decode");
        for (size_t r = 0; r < bucket.calls.size(); ++r)
        {
            const CallTraffic& call = bucket.calls[r];
            const std::string at = where + ", call " + std::to_string(r);
            CheckTimes(call.computeBefore, traffic.workers, true, at + ": computeBefore");
            if (call.collective.bytes.size() != static_cast<size_t>(traffic.workers))
            {
                throw Error("step: " + at + ": bytes",
                            std::to_string(call.collective.bytes.size()) + " sizes",
                            "one for each of " + std::to_string(traffic.workers) + " workers");
            }
            if (r == 0 && std::any_of(call.computeBefore.begin(),
                                      call.computeBefore.end(),
                                      [](TimeNs time) { return time > 0; }))
            {
                throw Error("step: " + at + ": work before the first call belongs in 'ready'");
            }
        }
    }
}

} // namespace

void Add(EngineCounters& sum, const EngineCounters& other)
{
    sum.events += other.events;
    sum.packets += other.packets;
    sum.flows += other.flows;
    sum.retransmitTimeouts += other.retransmitTimeouts;
    sum.rateFloors += other.rateFloors;
    sum.roce.cnps += other.roce.cnps;
    sum.roce.naks += other.roce.naks;
    sum.roce.resent += other.roce.resent;
    sum.roce.reordered += other.roce.reordered;
    sum.roce.watchdogDrops += other.roce.watchdogDrops;
    sum.roce.maxHeadroom = std::max(sum.roce.maxHeadroom, other.roce.maxHeadroom);
    if (other.roce.maxBuffer > sum.roce.maxBuffer)
    {
        sum.roce.maxBuffer = other.roce.maxBuffer;
        sum.roce.bufferBytes = other.roce.bufferBytes;
    }
}

EngineCounters Difference(EngineCounters after, const EngineCounters& before)
{
    after.events -= before.events;
    after.packets -= before.packets;
    after.flows -= before.flows;
    after.retransmitTimeouts -= before.retransmitTimeouts;
    after.rateFloors -= before.rateFloors;
    after.roce.cnps -= before.roce.cnps;
    after.roce.naks -= before.roce.naks;
    after.roce.resent -= before.roce.resent;
    after.roce.reordered -= before.roce.reordered;
    after.roce.watchdogDrops -= before.roce.watchdogDrops;
    return after;
}

std::vector<LinkCounters> Difference(std::vector<LinkCounters> after,
                                     const std::vector<LinkCounters>& before)
{
    for (size_t i = 0; i < before.size(); ++i)
    {
        after[i].bytes -= before[i].bytes;
        after[i].backgroundBytes -= before[i].backgroundBytes;
        after[i].packets -= before[i].packets;
        after[i].drops -= before[i].drops;
        after[i].marks -= before[i].marks;
        after[i].busy -= before[i].busy;
        after[i].pauses -= before[i].pauses;
        after[i].paused -= before[i].paused;
    }
    return after;
}

void Add(std::vector<LinkCounters>& sums, const std::vector<LinkCounters>& step)
{
    sums.resize(step.size());
    for (size_t i = 0; i < step.size(); ++i)
    {
        sums[i].bytes += step[i].bytes;
        sums[i].backgroundBytes += step[i].backgroundBytes;
        sums[i].packets += step[i].packets;
        sums[i].drops += step[i].drops;
        sums[i].marks += step[i].marks;
        sums[i].busy += step[i].busy;
        sums[i].pauses += step[i].pauses;
        sums[i].paused += step[i].paused;
        sums[i].pauseRoot = step[i].pauseRoot < 0 ? sums[i].pauseRoot : step[i].pauseRoot;
        sums[i].maxQueueBytes = std::max(sums[i].maxQueueBytes, step[i].maxQueueBytes);
        sums[i].peak = std::max(sums[i].peak, step[i].peak);
    }
}

std::string StepTraffic::Canonical() const
{
    std::string text;
    Append(text, {workers, static_cast<int64_t>(buckets.size())});
    Append(text, deviceFree);
    for (const BucketTraffic& bucket : buckets)
    {
        Append(text, bucket.ready);
        Append(text, {static_cast<int64_t>(bucket.calls.size())});
        for (const CallTraffic& call : bucket.calls)
        {
            Append(text, call.collective);
            Append(text, call.computeBefore);
        }
        Append(text, bucket.decode);
    }
    return text;
}

// A bucket with R collective calls has R + 1 stages: its calls, and its decoding. Stages are
// numbered consecutively over all buckets; a stage's number is the tag base of its collective. A
// worker enters a stage when the stage before is done and its device has run what the stage needs
// first.
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

    /// Returns the token of a wake-up of `worker`. `ran` says whether the device has run what
    /// `stage` needs.
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
    Check(traffic);
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

StepSimulator::StepSimulator(EngineFactory factory, const EngineRequest& request, bool memoise)
    : m_factory(std::move(factory)),
      m_request(request),
      m_memoise(memoise)
{
}

namespace
{

StepSimulator::Digest DigestOf(const std::string& canonical)
{
    StepSimulator::Digest digest = {canonical.size(), ~static_cast<uint64_t>(canonical.size())};
    for (size_t i = 0; i < canonical.size(); i += sizeof(uint64_t))
    {
        uint64_t word = 0;
        std::memcpy(&word, canonical.data() + i, std::min(sizeof word, canonical.size() - i));
        digest[0] = Mix64(digest[0] ^ word);
        digest[1] = Mix64(digest[1] + word);
    }
    return digest;
}

} // namespace

const StepTiming& StepSimulator::Simulate(const StepTraffic& traffic, uint64_t step, TimeNs start)
{
    // Topology, placement, transport and engine belong to this object and never change, so they are
    // not part of the key.
    const std::string key = m_memoise ? traffic.Canonical() : "";
    if (auto found = m_memory.find(key); m_memoise && found != m_memory.end())
    {
        ++m_memoised;
        return found->second;
    }
    const bool known = m_memoise && !m_known.empty() && m_known.count(DigestOf(key)) > 0;
    ++(known ? m_memoised : m_fresh);
    EngineRequest request = m_request;
    request.run = step;
    const std::unique_ptr<Engine> engine = m_factory(request);
    m_last = Run(*engine, traffic, start);
    if (!known)
    {
        Add(m_totals, engine->Counters());
    }
    if (!m_memoise || engine->Random() || engine->DependsOnTime() || m_request.background)
    {
        return m_last;
    }
    return m_memory[key] = m_last;
}

StepTiming StepSimulator::Run(Engine& engine, const StepTraffic& traffic, TimeNs scheduleTime) const
{
    EngineCounters countersBefore;
    std::vector<LinkCounters> linksBefore;
    TimeNs start = 0;
    engine.SetScheduleTime(scheduleTime);
    if (m_request.transport.WarmsUp() && !engine.StartsWarm())
    {
        StepGraph first(traffic);
        engine.Submit(first, 0);
        RunToEnd(engine);
        countersBefore = engine.Counters();
        linksBefore = engine.Links();
        start = std::max(engine.Now(), first.Timing().total);
        engine.SetScheduleTime(scheduleTime - (start - engine.Now()));
    }
    const std::unique_ptr<FlowGraph> background =
        m_request.background ? m_request.background(scheduleTime) : nullptr;
    if (background)
    {
        engine.SubmitBackground(*background, start);
    }
    StepGraph graph(traffic);
    engine.Submit(graph, start);
    RunToEnd(engine);
    StepTiming timing = graph.Timing();
    timing.counters = Difference(engine.Counters(), countersBefore);
    timing.links = Difference(engine.Links(), linksBefore);
    return timing;
}

void StepSimulator::RunToEnd(Engine& engine)
{
    if (!engine.RunUntil(kNever))
    {
        throw Error(engine.Name() + " engine: stopped before the step was done");
    }
}

int64_t StepSimulator::FreshSteps() const
{
    return m_fresh;
}

int64_t StepSimulator::MemoisedSteps() const
{
    return m_memoised;
}

const EngineCounters& StepSimulator::Totals() const
{
    return m_totals;
}

StepSimulator::State StepSimulator::Save() const
{
    std::set<Digest> known = m_known;
    for (const auto& entry : m_memory)
    {
        known.insert(DigestOf(entry.first));
    }
    return {m_fresh, m_memoised, m_totals, {known.begin(), known.end()}};
}

void StepSimulator::Load(State state)
{
    m_fresh = state.fresh;
    m_memoised = state.memoised;
    m_totals = state.totals;
    m_known = std::set<Digest>(state.known.begin(), state.known.end());
    m_memory.clear();
}

} // namespace legacy::fabric
