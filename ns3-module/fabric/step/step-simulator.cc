#include "alone-steps.h"
#include "build-sharded.h"
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

} // namespace

StepSimulator::StepSimulator(EngineFactory factory, const EngineRequest& request, bool memoise)
    : m_factory(std::move(factory)),
      m_request(request),
      m_memoise(memoise),
      m_alone(std::make_unique<AloneSteps>())
{
}

StepSimulator::~StepSimulator() = default;
StepSimulator::StepSimulator(StepSimulator&&) noexcept = default;

const StepTiming& StepSimulator::Simulate(const StepTraffic& traffic,
                                          uint64_t step,
                                          TimeNs start,
                                          const PlanWatch& watch)
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
    m_last = alone ? RunAlone(*engine, request, traffic, start, watch)
                   : Run(*engine, traffic, start, watch);
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

/// Times a step whose collectives take as long as they do alone.
StepTiming StepSimulator::RunAlone(const Engine& engine,
                                   const EngineRequest& request,
                                   const StepTraffic& traffic,
                                   TimeNs start,
                                   const PlanWatch& watch)
{
    if (m_request.background)
    {
        throw Error("step: collectives that are timed alone cannot share links with background");
    }
    // Times that were drawn in one step, or that a time has changed, do not hold in the next one.
    const bool same = m_memoise && !engine.Random() && !engine.DependsOnTime();
    if (!same)
    {
        m_alone->Forget();
    }
    // Packets depend on the numbers of nodes, which are addresses there.
    const bool fluid = engine.Name() == "flow" || engine.Name() == "analytic";
    return m_alone->Time(
        traffic,
        [&](const StepTraffic& collectives)
        { return Run(*m_factory(request), collectives, start); },
        same && fluid ? &request : nullptr,
        watch);
}

StepTiming StepSimulator::Run(Engine& engine,
                              const StepTraffic& traffic,
                              TimeNs scheduleTime,
                              const PlanWatch& watch) const
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
    const auto run = [&](FlowGraph& graph)
    {
        engine.Submit(graph, start);
        RunToEnd(engine);
    };
    StepTiming timing;
    if (watch && traffic.sharded)
    {
        // Another process may run a StepGraph, and returns no times of operations.
        PlanGraph graph(BuildSharded(traffic));
        run(graph);
        timing = ShardedTimingOf(graph.Plan(), graph.Times());
        watch(graph.Plan(), graph.Times());
    }
    else
    {
        StepGraph graph(traffic);
        run(graph);
        timing = graph.Timing();
    }
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
