#include "step.h"

#include "build-ddp.h"

#include <cassert>
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

/// Returns the times of a plan in the words of buckets.
StepTiming TimingOf(const DdpPlan& ddp, const StepRole& role, const PlanTiming& plan)
{
    StepTiming timing;
    const std::vector<OperationTiming>& operations = plan.roles[0];
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
    timing.finish = plan.finish;
    timing.total = plan.total;
    return timing;
}

} // namespace

struct StepGraph::Buckets
{
    DdpPlan ddp; ///< without its plan, which the graph has
    std::optional<StepTiming> timing;
};

StepGraph::StepGraph(const StepTraffic& traffic) : StepGraph(BuildDdp(traffic))
{
}

StepGraph::StepGraph(DdpPlan ddp)
    : PlanGraph(std::move(ddp.plan), Trust::AsBuilt),
      m_buckets(std::make_unique<Buckets>(Buckets{std::move(ddp), std::nullopt}))
{
}

StepGraph::~StepGraph() = default;

const StepTiming& StepGraph::Timing() const
{
    assert(Done());
    if (!m_buckets->timing)
    {
        m_buckets->timing = TimingOf(m_buckets->ddp, Plan().roles[0], Times());
    }
    return *m_buckets->timing;
}

} // namespace legacy::fabric
