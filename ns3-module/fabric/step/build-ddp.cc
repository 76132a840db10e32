#include "build-ddp.h"

#include "check-traffic.h"

#include <algorithm>
#include <numeric>

namespace legacy::fabric
{

namespace
{

constexpr int kComputeStream = 0;
constexpr int kReduceStream = 1;
constexpr int kNone = -1; ///< no operation

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
    /// `begin` is the operation after which the bucket is ready, at the bucket's own time if that
    /// is none; its segments follow the operation `computed`, if there is one.
    BucketBuilder(DdpPlan& ddp, const BucketTraffic& traffic, int begin, int computed)
        : m_ddp(ddp),
          m_operations(ddp.plan.roles[0].operations),
          m_begin(begin),
          m_computed(computed)
    {
        if (begin == kNone)
        {
            m_earliest = traffic.ready;
        }
        ddp.buckets.emplace_back();
    }

    void AddCall(const CallTraffic& call)
    {
        if (!call.computeBefore.empty() && !m_first)
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
        else if (m_first) // nothing was sent
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
        if (!m_first)
        {
            operation.after = {last};
        }
        else if (m_begin != kNone)
        {
            operation.after = {m_begin};
        }
        if (operation.kind == OperationKind::Segment && m_computed != kNone)
        {
            operation.after.push_back(m_computed);
        }
        operation.earliest = std::move(m_earliest);
        m_earliest.clear();
        m_first = false;
        last = static_cast<int>(m_operations.size());
        m_operations.push_back(std::move(operation));
    }

    DdpPlan& m_ddp;
    std::vector<StepOperation>& m_operations;
    const int m_begin;
    const int m_computed;
    std::vector<TimeNs> m_earliest; ///< of its first operation; empty from then on
    bool m_first = true;            ///< nothing was added yet
};

/// Adds the computing of the backward pass as segments that end when the buckets are ready, and at
/// the device's own end. They follow one another. Returns the number of the first one.
int AddBackwardPass(const StepTraffic& traffic, std::vector<StepOperation>& operations)
{
    const int first = static_cast<int>(operations.size());
    std::vector<TimeNs> done(traffic.workers, 0);
    const auto until = [&](const std::vector<TimeNs>& end)
    {
        std::vector<TimeNs> duration(traffic.workers);
        for (int worker = 0; worker < traffic.workers; ++worker)
        {
            duration[worker] = std::max<TimeNs>(0, end[worker] - done[worker]);
            done[worker] += duration[worker];
        }
        StepOperation segment = SegmentOf(SegmentLabel::Compute, duration);
        const int last = static_cast<int>(operations.size()) - 1;
        if (last >= first)
        {
            segment.after = {last};
        }
        operations.push_back(std::move(segment));
    };
    for (const BucketTraffic& bucket : traffic.buckets)
    {
        until(bucket.ready);
    }
    until(traffic.deviceFree);
    return first;
}

/// Builds the plan, with the backward pass in segments if `moves` is true.
DdpPlan Build(const StepTraffic& traffic, bool moves)
{
    CheckTraffic(traffic);
    DdpPlan ddp;
    ddp.plan.ranks = traffic.workers;
    ddp.plan.streams = {{"compute", false}, {"reduce", false}};
    ddp.plan.roles.resize(1);
    std::vector<int>& ranks = ddp.plan.roles[0].ranks;
    ranks.resize(traffic.workers);
    std::iota(ranks.begin(), ranks.end(), 0);
    size_t count = 1 + traffic.buckets.size();
    for (const BucketTraffic& bucket : traffic.buckets)
    {
        count += 2 * bucket.calls.size() + 1;
    }
    ddp.plan.roles[0].operations.reserve(count);
    ddp.plan.collectives.reserve(count / 2);
    std::vector<StepOperation>& operations = ddp.plan.roles[0].operations;
    ddp.plan.contention = traffic.contention;
    int begin = kNone;
    if (moves)
    {
        begin = AddBackwardPass(traffic, operations);
    }
    else
    {
        operations.push_back(SegmentOf(SegmentLabel::Compute, traffic.deviceFree));
    }
    const int computed = moves ? static_cast<int>(operations.size()) - 1 : kNone;
    for (const BucketTraffic& bucket : traffic.buckets)
    {
        BucketBuilder builder(ddp, bucket, moves ? begin++ : kNone, computed);
        for (const CallTraffic& call : bucket.calls)
        {
            builder.AddCall(call);
        }
        builder.AddDecoding(bucket.decode);
    }
    return ddp;
}

} // namespace

DdpPlan BuildDdp(const StepTraffic& traffic)
{
    // Times that nothing moves need no segment of their own.
    return Build(traffic, traffic.contention > 0);
}

StepPlan BuildDdpInSegments(const StepTraffic& traffic)
{
    return Build(traffic, true).plan;
}

} // namespace legacy::fabric
