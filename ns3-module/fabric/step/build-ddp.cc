#include "build-ddp.h"

#include "check-traffic.h"

#include <numeric>

namespace legacy::fabric
{

namespace
{

constexpr int kComputeStream = 0;
constexpr int kReduceStream = 1;

StepOperation SegmentOf(SegmentLabel label, const std::vector<TimeNs>& duration)
{
    StepOperation segment;
    segment.stream = kComputeStream;
    segment.label = label;
    segment.duration = duration;
    return segment;
}

/// A BucketBuilder adds the operations of one bucket, each after the one before.
class BucketBuilder
{
  public:
    BucketBuilder(DdpPlan& ddp, const BucketTraffic& traffic)
        : m_ddp(ddp),
          m_operations(ddp.plan.roles[0].operations),
          m_earliest(traffic.ready)
    {
        ddp.buckets.emplace_back();
    }

    void AddCall(const CallTraffic& call)
    {
        if (!call.computeBefore.empty() && m_earliest.empty())
        {
            Add(SegmentOf(SegmentLabel::Encode, call.computeBefore));
        }
        StepOperation collective;
        collective.kind = OperationKind::Collective;
        collective.stream = kReduceStream;
        collective.collective = {static_cast<int>(m_ddp.plan.collectives.size())};
        m_ddp.plan.collectives.push_back(call.collective);
        Add(std::move(collective));
        m_ddp.buckets.back().calls.push_back(m_ddp.buckets.back().last);
    }

    void AddDecoding(const std::vector<TimeNs>& decode)
    {
        if (!decode.empty())
        {
            Add(SegmentOf(SegmentLabel::Decode, decode));
        }
        else if (!m_earliest.empty()) // nothing was sent
        {
            StepOperation ready;
            ready.kind = OperationKind::Barrier;
            Add(std::move(ready));
        }
    }

  private:
    void Add(StepOperation operation)
    {
        int& last = m_ddp.buckets.back().last;
        if (m_earliest.empty())
        {
            operation.after = {last};
        }
        operation.earliest = std::move(m_earliest);
        m_earliest.clear();
        last = static_cast<int>(m_operations.size());
        m_operations.push_back(std::move(operation));
    }

    DdpPlan& m_ddp;
    std::vector<StepOperation>& m_operations;
    std::vector<TimeNs> m_earliest; ///< of its first operation; empty from then on
};

} // namespace

DdpPlan BuildDdp(const StepTraffic& traffic)
{
    CheckTraffic(traffic);
    DdpPlan ddp;
    ddp.plan.ranks = traffic.workers;
    ddp.plan.streams = {{"compute", false}, {"reduce", false}};
    ddp.plan.roles.resize(1);
    std::vector<int>& ranks = ddp.plan.roles[0].ranks;
    ranks.resize(traffic.workers);
    std::iota(ranks.begin(), ranks.end(), 0);
    size_t count = 1;
    for (const BucketTraffic& bucket : traffic.buckets)
    {
        count += 2 * bucket.calls.size() + 1;
    }
    ddp.plan.roles[0].operations.reserve(count);
    ddp.plan.collectives.reserve(count / 2);
    ddp.plan.roles[0].operations.push_back(SegmentOf(SegmentLabel::Compute, traffic.deviceFree));
    for (const BucketTraffic& bucket : traffic.buckets)
    {
        BucketBuilder builder(ddp, bucket);
        for (const CallTraffic& call : bucket.calls)
        {
            builder.AddCall(call);
        }
        builder.AddDecoding(bucket.decode);
    }
    return ddp;
}

} // namespace legacy::fabric
