#include "step.h"

#include "build-ddp.h"
#include "build-sharded.h"
#include "spans.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>

namespace legacy::fabric
{

namespace
{

/// Returns what the segments of a rank take that follow its backward pass.
TimeNs TimeAfterBackwardPass(const StepRole& role, int rank)
{
    TimeNs sum = 0;
    for (const StepOperation& operation : role.operations)
    {
        if (operation.kind == OperationKind::Segment && operation.label != SegmentLabel::Compute)
        {
            sum += ByRank(operation.duration, rank, TimeNs{0});
        }
    }
    return sum;
}

/// Returns when all members of each collective of a role had begun it, by operation.
std::vector<TimeNs> AllBegan(const StepPlan& plan, const PlanTiming& timing)
{
    const std::vector<StepOperation>& operations = plan.roles[0].operations;
    std::vector<TimeNs> began(operations.size(), 0);
    for (size_t i = 0; i < operations.size(); ++i)
    {
        if (operations[i].kind != OperationKind::Collective)
        {
            continue;
        }
        const std::vector<TimeNs>& begin = timing.roles[0][i].begin;
        const std::vector<int>& members = plan.collectives[operations[i].collective[0]].members;
        for (int member : members)
        {
            began[i] = std::max(began[i], begin[member]);
        }
        if (members.empty())
        {
            began[i] = *std::max_element(begin.begin(), begin.end());
        }
    }
    return began;
}

/// Returns StepTiming::hidden.
std::vector<TimeNs> HiddenTimes(const StepPlan& plan, const PlanTiming& timing)
{
    const std::vector<StepOperation>& operations = plan.roles[0].operations;
    const std::vector<TimeNs> began = AllBegan(plan, timing);
    std::vector<TimeNs> hidden;
    for (int rank : plan.roles[0].ranks)
    {
        std::vector<Span> carried;
        std::vector<Span> busy;
        for (size_t i = 0; i < operations.size(); ++i)
        {
            const OperationTiming& times = timing.roles[0][i];
            if (operations[i].kind == OperationKind::Segment)
            {
                busy.push_back({times.begin[rank], times.end[rank]});
            }
            else if (operations[i].kind == OperationKind::Collective)
            {
                carried.push_back({began[i], times.end[rank]});
            }
        }
        hidden.push_back(Overlap(Union(std::move(carried)), Union(std::move(busy))));
    }
    return hidden;
}

/// Returns the times of a plan in the words of buckets.
StepTiming TimingOf(const DdpPlan& ddp, const StepPlan& plan, const PlanTiming& times)
{
    const StepRole& role = plan.roles[0];
    StepTiming timing;
    const std::vector<OperationTiming>& operations = times.roles[0];
    timing.buckets.reserve(ddp.buckets.size());
    for (const DdpPlan::Bucket& bucket : ddp.buckets)
    {
        timing.buckets.emplace_back();
        for (int call : bucket.calls)
        {
            timing.buckets.back().callDone.push_back(operations[call].end);
        }
        timing.buckets.back().done = operations[bucket.last].end;
    }
    for (int rank : role.ranks)
    {
        timing.decodeBusy.push_back(TimeAfterBackwardPass(role, rank));
    }
    timing.hidden = HiddenTimes(plan, times);
    timing.finish = times.finish;
    timing.total = times.total;
    return timing;
}

/// Returns the plan of any step; only that of buckets lists their operations.
DdpPlan PlanOf(const StepTraffic& traffic)
{
    return traffic.sharded ? DdpPlan{BuildSharded(traffic), {}} : BuildDdp(traffic);
}

} // namespace

StepTiming ShardedTimingOf(const StepPlan& plan, const PlanTiming& times)
{
    StepTiming timing;
    timing.parts = PartsOf(plan, times);
    for (const StepParts& parts : timing.parts)
    {
        timing.hidden.push_back(
            std::accumulate(parts.hidden.begin(), parts.hidden.end(), TimeNs{0}));
    }
    timing.finish = times.finish;
    timing.total = times.total;
    return timing;
}

void ForEachCollective(const StepTraffic& traffic,
                       const std::function<void(const CollectiveSpec& spec, int64_t times)>& use)
{
    if (traffic.sharded)
    {
        ForEachUse(traffic,
                   [&](const CollectiveGroups& groups, int64_t times)
                   {
                       for (const CollectiveSpec& spec : groups)
                       {
                           use(spec, times);
                       }
                   });
        return;
    }
    for (const BucketTraffic& bucket : traffic.buckets)
    {
        for (const CallTraffic& call : bucket.calls)
        {
            use(call.collective, 1);
        }
    }
}

struct StepGraph::Buckets
{
    const StepTraffic traffic;
    DdpPlan ddp; ///< without its plan, which the graph has
    std::optional<StepTiming> timing;
};

StepGraph::StepGraph(const StepTraffic& traffic) : StepGraph(traffic, PlanOf(traffic))
{
}

StepGraph::StepGraph(const StepTraffic& traffic, DdpPlan ddp)
    : PlanGraph(std::move(ddp.plan), Trust::AsBuilt),
      m_buckets(std::make_unique<Buckets>(Buckets{traffic, std::move(ddp), std::nullopt}))
{
}

StepGraph::~StepGraph() = default;

bool StepGraph::Done() const
{
    return m_buckets->timing || PlanGraph::Done();
}

const StepTiming& StepGraph::Timing() const
{
    assert(Done());
    if (!m_buckets->timing)
    {
        m_buckets->timing = m_buckets->traffic.sharded ? ShardedTimingOf(Plan(), Times())
                                                       : TimingOf(m_buckets->ddp, Plan(), Times());
    }
    return *m_buckets->timing;
}

const StepTraffic& StepGraph::Traffic() const
{
    return m_buckets->traffic;
}

void StepGraph::Adopt(StepTiming timing)
{
    m_buckets->timing = std::move(timing);
}

} // namespace legacy::fabric
