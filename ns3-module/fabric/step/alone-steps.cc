#include "alone-steps.h"

#include "base/error.h"
#include "check-traffic.h"
#include "fabric/engine/event-queue.h"

#include <algorithm>
#include <functional>

namespace legacy::fabric
{

namespace
{

/// A Clock wakes a graph, and carries nothing.
class Clock : public FlowSink
{
  public:
    TimeNs Now() const override
    {
        return m_now;
    }

    void Send(const Flow&) override
    {
        throw Error("step: a message without a time needs a network");
    }

    void Wake(TimeNs delay, uint64_t token) override
    {
        m_events.Push({m_now + delay, token});
    }

    int64_t Abort(const Flow&) override
    {
        return 0;
    }

    void Pause() override
    {
    }

    void Run(FlowGraph& graph)
    {
        graph.OnStart(*this);
        Event event;
        do
        {
            while (m_events.Pop(event))
            {
                m_now = event.time;
                graph.OnWake(event.token, *this);
            }
        } while (m_events.Advance(kNever));
    }

  private:
    struct Event
    {
        TimeNs time;
        uint64_t token;
    };

    TimeNs m_now = 0;
    EventQueue<Event> m_events;
};

/// Returns the worker that is a collective's i-th member.
int WorkerOf(const CollectiveSpec& spec, size_t i)
{
    return spec.members.empty() ? static_cast<int>(i) : spec.members[i];
}

/// Returns the step of a unit that gathers once and computes nothing, so that its only collectives
/// are `groups`. Workers that are in none have one of their own.
StepTraffic OnlyCollectives(const CollectiveGroups& groups, int workers)
{
    StepTraffic traffic;
    traffic.workers = workers;
    ShardedStage& stage = traffic.sharded.emplace().stages.emplace_back();
    stage.chunks.emplace_back().emplace_back();
    ShardedUnit& unit = stage.units.emplace_back();
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
    return traffic;
}

bool AreEqual(const std::vector<TimeNs>& times)
{
    return std::adjacent_find(times.begin(), times.end(), std::not_equal_to<>()) == times.end();
}

/// Returns whether all workers of each stage compute equally long.
bool ComputeAlike(const ShardedTraffic& step)
{
    bool alike = AreEqual(step.agree) && AreEqual(step.announce);
    for (const ShardedStage& stage : step.stages)
    {
        alike = alike && AreEqual(stage.update);
        for (const ShardedUnit& unit : stage.units)
        {
            alike = alike && AreEqual(unit.unpack) && AreEqual(unit.pack) &&
                    AreEqual(unit.encode) && AreEqual(unit.between) && AreEqual(unit.sum);
        }
        for (const std::vector<ShardedSegment>& chunk : stage.chunks)
        {
            for (const ShardedSegment& segment : chunk)
            {
                alike = alike && AreEqual(segment.forward) && AreEqual(segment.recompute) &&
                        AreEqual(segment.backward) && AreEqual(segment.weights);
                for (const TensorSums& sums : segment.sums)
                {
                    alike = alike && AreEqual(sums.beside);
                }
            }
        }
    }
    return alike;
}

/// Gives each worker what the rank of its stage has in a folded plan.
void Unfold(const StepTraffic& traffic, StepTiming& timing)
{
    const StepTiming folded = timing;
    for (auto* times : {&timing.finish, &timing.hidden})
    {
        times->resize(traffic.workers);
    }
    timing.parts.resize(traffic.workers);
    for (int s = 0; s < static_cast<int>(traffic.sharded->stages.size()); ++s)
    {
        for (int worker : WorkersOf(traffic, s))
        {
            timing.finish[worker] = folded.finish[s];
            timing.hidden[worker] = folded.hidden[s];
            timing.parts[worker] = folded.parts[s];
        }
    }
}

/// Returns what the step of a list takes at the workers and links of another form, which has the
/// same text.
StepTiming Elsewhere(const StepTiming& timing, const GroupsForm& from, const GroupsForm& to)
{
    StepTiming moved;
    moved.counters = timing.counters;
    moved.links.resize(timing.links.size());
    for (size_t i = 0; i < from.links.size(); ++i)
    {
        moved.links[to.links[i]] = timing.links[from.links[i]];
    }
    moved.finish.assign(timing.finish.size(), 0); // of workers that take no part
    for (size_t i = 0; i < from.workers.size(); ++i)
    {
        moved.finish[to.workers[i]] = timing.finish[from.workers[i]];
    }
    return moved;
}

} // namespace

PlanTiming TimeWithoutNetwork(const StepPlan& plan)
{
    PlanGraph graph(plan);
    Clock().Run(graph);
    return graph.Times();
}

void AloneSteps::Forget()
{
    m_alone.clear();
    m_alike.clear();
}

const StepTiming& AloneSteps::TimeAlone(const CollectiveGroups& groups,
                                        int workers,
                                        const TimeStep& time,
                                        const EngineRequest* network)
{
    std::string key;
    for (const CollectiveSpec& spec : groups)
    {
        AppendCanonical(key, spec);
    }
    const auto [entry, added] = m_alone.try_emplace(key);
    if (added)
    {
        entry->second = TimeOrFind(groups, workers, time, network, &entry->second);
    }
    return entry->second;
}

/// Returns the timing of a list from that of one that runs alike, or from a simulation. `timing` is
/// where it will be kept.
StepTiming AloneSteps::TimeOrFind(const CollectiveGroups& groups,
                                  int workers,
                                  const TimeStep& time,
                                  const EngineRequest* network,
                                  const StepTiming* timing)
{
    const std::optional<std::string> calls =
        network ? CallsOf(groups, MembersOf(groups)) : std::nullopt;
    if (!calls)
    {
        return time(OnlyCollectives(groups, workers));
    }
    std::vector<AlikeGroups>& others = m_alike[*calls];
    AlikeGroups own{groups, std::nullopt, timing};
    if (!others.empty())
    {
        own.form = FormOf(groups, *calls, *network);
    }
    for (AlikeGroups& other : others)
    {
        if (own.form && !other.form)
        {
            other.form = FormOf(other.groups, *calls, *network);
        }
        if (own.form && other.form && own.form->text == other.form->text)
        {
            return Elsewhere(*other.timing, *other.form, *own.form);
        }
    }
    others.push_back(std::move(own));
    return time(OnlyCollectives(groups, workers));
}

/// Times all collectives and messages of a step.
AloneSteps::Timed
AloneSteps::TimeAll(const StepTraffic& traffic, const TimeStep& time, const EngineRequest* network)
{
    Timed timed;
    ForEachGroups(*traffic.sharded,
                  [&](const CollectiveGroups& groups)
                  {
                      if (!groups.empty())
                      {
                          const StepTiming& timing =
                              TimeAlone(groups, traffic.workers, time, network);
                          timed.collectives[&groups] = &timing;
                          timed.times.collectives[&groups] = timing.finish;
                      }
                  });
    const size_t stages = traffic.sharded->stages.size();
    timed.times.messages.resize(stages);
    timed.messages.resize(stages);
    for (size_t s = 0; s < stages; ++s)
    {
        for (int direction : {0, 1})
        {
            const CollectiveGroups sent = MessagesOf(traffic, static_cast<int>(s), direction);
            if (sent.empty())
            {
                continue;
            }
            const StepTiming& timing = TimeAlone(sent, traffic.workers, time, network);
            timed.messages[s][direction] = &timing;
            for (const CollectiveSpec& message : sent)
            {
                timed.times.messages[s][direction].push_back(timing.finish[message.members.back()]);
            }
        }
    }
    timed.times.folded = ComputeAlike(*traffic.sharded);
    return timed;
}

StepTiming AloneSteps::Time(const StepTraffic& traffic,
                            const TimeStep& time,
                            const EngineRequest* network,
                            const PlanWatch& watch)
{
    CheckSharded(traffic);
    const Timed timed = TimeAll(traffic, time, network);
    const ShardedPlan built = BuildSharded(traffic, &timed.times);
    const PlanTiming ran = TimeWithoutNetwork(built.plan);
    if (watch)
    {
        watch(built.plan, ran);
    }
    StepTiming timing = ShardedTimingOf(built.plan, ran);
    if (timed.times.folded)
    {
        Unfold(traffic, timing);
    }
    const auto count = [&timing](const StepTiming& one, int64_t times)
    {
        Add(timing.counters, one.counters, times);
        Add(timing.links, one.links, times);
    };
    for (const auto& [groups, times] : built.collectives)
    {
        count(*timed.collectives.at(groups), times);
    }
    for (size_t s = 0; s < timed.messages.size(); ++s)
    {
        for (int direction : {0, 1})
        {
            if (timed.messages[s][direction])
            {
                count(*timed.messages[s][direction], built.messages[s][direction]);
            }
        }
    }
    return timing;
}

} // namespace legacy::fabric
