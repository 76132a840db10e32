#include "build-sharded.h"
#include "check-traffic.h"
#include "step.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <cstring>

namespace legacy::fabric
{

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

/// Returns the worker that is a collective's i-th member.
int WorkerOf(const CollectiveSpec& spec, size_t i)
{
    return spec.members.empty() ? static_cast<int>(i) : spec.members[i];
}

} // namespace

StepSimulator::StepSimulator(EngineFactory factory, const EngineRequest& request, bool memoise)
    : m_factory(std::move(factory)),
      m_request(request),
      m_memoise(memoise)
{
}

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
    const bool alone = traffic.sharded && traffic.sharded->alone;
    m_last = alone ? RunAlone(*engine, request, traffic, start) : Run(*engine, traffic, start);
    if (!known)
    {
        Add(m_totals, alone ? m_last.counters : engine->Counters());
    }
    if (!m_memoise || engine->Random() || engine->DependsOnTime() || m_request.background)
    {
        return m_last;
    }
    return m_memory[key] = m_last;
}

/// Times the step of a sharded unit that gathers once and computes nothing, so that its only
/// collectives are `groups`; workers that are in none have one of their own.
const StepSimulator::AloneTiming&
StepSimulator::TimeAlone(const EngineRequest& request,
                         const std::vector<CollectiveSpec>& groups,
                         int workers,
                         TimeNs start)
{
    std::string key;
    for (const CollectiveSpec& spec : groups)
    {
        AppendCanonical(key, spec);
    }
    const auto [entry, added] = m_alone.try_emplace(key);
    AloneTiming& alone = entry->second;
    if (!added)
    {
        return alone;
    }
    StepTraffic traffic;
    traffic.workers = workers;
    ShardedTraffic& step = traffic.sharded.emplace();
    step.segments.emplace_back();
    ShardedUnit& unit = step.units.emplace_back();
    unit.kept = true;
    unit.gather = groups;
    std::vector<bool> takesPart(workers, false);
    for (const CollectiveSpec& spec : groups)
    {
        for (size_t i = 0; i < spec.bytes.size(); ++i)
        {
            takesPart[WorkerOf(spec, i)] = true;
        }
    }
    for (int worker = 0; worker < workers; ++worker)
    {
        if (!takesPart[worker])
        {
            CollectiveSpec none;
            none.bytes = {0};
            none.members = {worker};
            unit.gather.push_back(none);
        }
    }
    const std::unique_ptr<Engine> engine = m_factory(request);
    const StepTiming timing = Run(*engine, traffic, start);
    alone.finish = timing.finish;
    alone.counters = timing.counters;
    alone.links = timing.links;
    return alone;
}

StepTiming StepSimulator::RunAlone(Engine& engine,
                                   const EngineRequest& request,
                                   const StepTraffic& traffic,
                                   TimeNs start)
{
    if (m_request.background)
    {
        throw Error("step: collectives that are timed alone cannot share links with background");
    }
    // What one step has drawn, or a time has changed, says nothing about the next step.
    if (!m_memoise || engine.Random() || engine.DependsOnTime())
    {
        m_alone.clear();
    }
    StepTraffic timed = traffic;
    const auto time = [&](std::vector<CollectiveSpec>& groups)
    {
        if (groups.empty())
        {
            return;
        }
        const AloneTiming& alone = TimeAlone(request, groups, traffic.workers, start);
        for (CollectiveSpec& spec : groups)
        {
            for (size_t i = 0; i < spec.bytes.size(); ++i)
            {
                spec.times.push_back(alone.finish[WorkerOf(spec, i)]);
            }
        }
    };
    for (ShardedUnit& unit : timed.sharded->units)
    {
        for (auto* groups :
             {&unit.gather, &unit.gatherAgain, &unit.first, &unit.reduce, &unit.replicas})
        {
            time(*groups);
        }
    }
    time(timed.sharded->announcements);
    StepTiming timing = Run(engine, timed, start);
    const StepPlan plan = BuildSharded(traffic);
    for (const StepOperation& operation : plan.roles[0].operations)
    {
        if (operation.kind != OperationKind::Collective)
        {
            continue;
        }
        // The groups of an operation follow each other.
        const auto [first, last] =
            std::minmax_element(operation.collective.begin(), operation.collective.end());
        const std::vector<CollectiveSpec> groups(plan.collectives.begin() + *first,
                                                 plan.collectives.begin() + *last + 1);
        const AloneTiming& alone = TimeAlone(request, groups, traffic.workers, start);
        Add(timing.counters, alone.counters);
        Add(timing.links, alone.links);
    }
    return timing;
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
