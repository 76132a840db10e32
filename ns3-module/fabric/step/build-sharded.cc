#include "build-sharded.h"

#include "stage-gathers.h"
#include "stage-operations.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns the part of each time between two of `parts` cuts at equal distances.
std::vector<TimeNs> PartOf(const std::vector<TimeNs>& times, int part, int parts)
{
    const auto until = [&](TimeNs time, int cut)
    { return time / parts * cut + time % parts * cut / parts; };
    std::vector<TimeNs> cut;
    for (TimeNs time : times)
    {
        cut.push_back(until(time, part + 1) - until(time, part));
    }
    return cut;
}

bool TakesTime(const std::vector<TimeNs>& times)
{
    return std::any_of(times.begin(), times.end(), [](TimeNs time) { return time > 0; });
}

/// Returns times less others; either may be one for all workers.
std::vector<TimeNs> Less(const std::vector<TimeNs>& times, const std::vector<TimeNs>& others)
{
    std::vector<TimeNs> less;
    for (size_t i = 0; i < std::max(times.size(), others.size()); ++i)
    {
        const int place = static_cast<int>(i);
        less.push_back(std::max<TimeNs>(
            0, ByRank(times, place, TimeNs{0}) - ByRank(others, place, TimeNs{0})));
    }
    return less;
}

/// Returns so many times each of the times.
std::vector<TimeNs> Times(std::vector<TimeNs> times, int count)
{
    for (TimeNs& time : times)
    {
        time *= count;
    }
    return times;
}

/// A StageBuilder lists the operations of a stage in the order in which its host issues them.
class StageBuilder
{
  public:
    StageBuilder(const ShardedTraffic& step, int stage, StageOperations& operations)
        : m_step(step),
          m_stage(step.stages[stage]),
          m_operations(operations),
          m_order(PipelineOrder(step.schedule,
                                Stages(),
                                static_cast<int>(m_stage.chunks.size()),
                                step.passes,
                                stage)),
          m_visits(VisitsOf(m_stage)),
          m_gathers(step, stage, m_order, operations)
    {
    }

    void Build()
    {
        for (const PipelineStep& step : m_order)
        {
            switch (step.kind)
            {
            case PipelineStep::Kind::Forward:
                Forward(step);
                break;
            case PipelineStep::Kind::Backward:
                Backward(step);
                break;
            case PipelineStep::Kind::Weights:
                Weights(step);
                break;
            }
        }
        Agree();
        SumAll();
        m_reduced = m_operations.AddLast("tied", m_step.tied, m_reduced);
        if (!m_step.announcements.empty())
        {
            const int announced = m_operations.AddSegment(
                "announce", SegmentLabel::Encode, m_step.announce, After({m_reduced}));
            m_reduced = m_operations.AddLast("announcement", m_step.announcements, announced);
        }
        m_operations.AddSegment(
            "update", SegmentLabel::Update, m_stage.update, After({m_reduced, m_summed}));
        if (m_step.gathers == GatherTime::StepEnd)
        {
            m_gathers.GatherAll();
        }
    }

  private:
    /// A Received is a unit whose messages are the owner's, or will be when an operation has ended.
    struct Received
    {
        int unit;
        int operation;
    };

    int Stages() const
    {
        return static_cast<int>(m_step.stages.size());
    }

    /// Adds collectives of a unit that the next segment waits for, after the last segment and an
    /// operation. Returns their number.
    int AddTensorSum(int unit, const TensorSums& sums, int times, int after)
    {
        static constexpr const char* kNames[] = {"tensor", "pipe", "context", "expert"};
        const auto stream = static_cast<size_t>(sums.stream);
        const auto first = static_cast<size_t>(ShardedStream::Tensor);
        return m_operations.AddCollective(sums.stream,
                                          {kNames[stream - first], unit},
                                          sums.sum,
                                          After({m_operations.Computed(), after}),
                                          times);
    }

    /// Adds a pass through a segment, with the sums that the device waits for in it.
    void Pass(const char* name,
              SegmentLabel label,
              const ShardedSegment& segment,
              const std::vector<TimeNs>& duration,
              int TensorSums::*count)
    {
        const bool folded = m_operations.Folded();
        std::vector<const TensorSums*> sums;
        std::vector<TimeNs> rest = m_operations.OfRanks(duration); // what is computed beside none
        for (const TensorSums& one : segment.sums)
        {
            // Those that are timed alone follow the segment together.
            sums.insert(sums.end(), folded ? std::min(one.*count, 1) : one.*count, &one);
            if (!one.beside.empty())
            {
                rest = Less(rest, Times(m_operations.OfRanks(one.beside), one.*count));
            }
        }
        const OperationName part{name, segment.unit};
        const auto add = [&](const TensorSums& one, int times, int after)
        {
            const int added = AddTensorSum(segment.unit, one, times, after);
            if (!one.beside.empty())
            {
                m_operations.AddSegment(
                    part, label, Times(m_operations.OfRanks(one.beside), times));
            }
            m_operations.Await(added);
            return added;
        };
        if (folded || sums.empty())
        {
            m_operations.AddSegment(part, label, rest);
            int last = kNoOperation;
            for (const TensorSums* one : sums)
            {
                last = add(*one, one->*count, last);
            }
            return;
        }
        const int parts = static_cast<int>(sums.size());
        for (int i = 0; i < parts; ++i)
        {
            m_operations.AddSegment(part, label, PartOf(rest, i, parts));
            add(*sums[i], 1, kNoOperation);
        }
    }

    void Forward(const PipelineStep& step)
    {
        m_operations.Receive(step, kToNext);
        for (const Visit& visit : m_visits[step.chunk])
        {
            m_gathers.Enter(visit);
            for (int s = visit.first; s <= visit.last; ++s)
            {
                const ShardedSegment& segment = m_stage.chunks[step.chunk][s];
                Pass("forward",
                     SegmentLabel::Compute,
                     segment,
                     segment.forward,
                     &TensorSums::forward);
            }
            m_gathers.Leave();
        }
        m_operations.Send(step, kToNext);
    }

    void Backward(const PipelineStep& step)
    {
        m_operations.Receive(step, kToPrevious);
        const bool later = m_step.schedule == PipelineSchedule::ZeroBubbleH1;
        const std::vector<Visit>& visits = m_visits[step.chunk];
        std::vector<int> left(m_stage.units.size(), 0);
        for (const Visit& visit : visits)
        {
            ++left[visit.unit];
        }
        for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit)
        {
            m_gathers.Enter(*visit);
            for (int s = visit->last; s >= visit->first; --s)
            {
                const ShardedSegment& segment = m_stage.chunks[step.chunk][s];
                if (TakesTime(segment.recompute))
                {
                    Pass("recompute",
                         SegmentLabel::Recompute,
                         segment,
                         segment.recompute,
                         &TensorSums::recompute);
                }
                Pass("backward",
                     SegmentLabel::Compute,
                     segment,
                     later ? Less(segment.backward, segment.weights) : segment.backward,
                     &TensorSums::backward);
            }
            m_gathers.Leave();
            if (--left[visit->unit] == 0 && !later)
            {
                Reduce(visit->unit, step.pass);
            }
        }
        m_operations.Send(step, kToPrevious);
    }

    /// Computes the gradients of the weights of a chunk.
    void Weights(const PipelineStep& step)
    {
        std::vector<bool> reduced(m_stage.units.size(), false);
        const std::vector<Visit>& visits = m_visits[step.chunk];
        for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit)
        {
            for (int s = visit->last; s >= visit->first; --s)
            {
                m_operations.AddSegment({"weights", visit->unit},
                                        SegmentLabel::Compute,
                                        m_stage.chunks[step.chunk][s].weights);
            }
        }
        for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit)
        {
            if (!reduced[visit->unit])
            {
                Reduce(visit->unit, step.pass);
            }
            reduced[visit->unit] = true;
        }
    }

    /// Lets the workers agree on what they send, and then reduces all units.
    void Agree()
    {
        if (m_step.agreement.empty())
        {
            return;
        }
        const int measured = m_operations.AddSegment("agree", SegmentLabel::Encode, m_step.agree);
        m_operations.Await(m_operations.AddLast("agreement", m_step.agreement, measured));
        m_agreed = true;
        for (int number : m_waiting)
        {
            Reduce(number, m_step.passes - 1);
        }
    }

    /// Reduces the gradients of a unit after the passes that reduce them.
    void Reduce(int number, int pass)
    {
        const ShardedUnit& unit = m_stage.units[number];
        if (unit.reduce.empty() || (!m_step.reducesEach && pass + 1 < m_step.passes))
        {
            return;
        }
        if (!m_step.agreement.empty() && !m_agreed)
        {
            m_waiting.push_back(number);
            return;
        }
        if (m_step.oneReduction)
        {
            SumAll();
        }
        int packed =
            m_operations.AddSegment({"pack", number},
                                    SegmentLabel::Compute,
                                    unit.pack,
                                    After({m_step.oneReduction ? m_reduced : kNoOperation}));
        if (!unit.encode.empty())
        {
            packed = m_operations.AddSegment({"encode", number}, SegmentLabel::Encode, unit.encode);
        }
        if (!unit.first.empty())
        {
            packed = m_operations.AddCollective(
                ShardedStream::Reduce, {"first", number}, unit.first, {packed});
        }
        if (!unit.between.empty())
        {
            packed = m_operations.AddSegment(
                {"between", number}, SegmentLabel::Encode, unit.between, {packed});
        }
        m_reduced = m_operations.AddCollective(
            ShardedStream::Reduce, {"RS", number}, unit.reduce, {packed});
        m_received.push_back({number, m_reduced});
        if (m_step.reductionsBlock)
        {
            m_operations.AddSegment({"wait", number}, SegmentLabel::Compute, {}, {m_reduced});
        }
        if (unit.sum.empty() || m_step.reductionsBlock)
        {
            SumAll();
        }
    }

    /// Lets the device sum the messages of all reductions that it has not summed, and sums over
    /// copies begin.
    void SumAll()
    {
        for (const Received& received : m_received)
        {
            const ShardedUnit& unit = m_stage.units[received.unit];
            int summed = received.operation;
            if (!unit.sum.empty())
            {
                summed = m_operations.AddSegment(
                    {"sum", received.unit}, SegmentLabel::Decode, unit.sum, {received.operation});
            }
            if (!unit.replicas.empty())
            {
                m_summed = m_operations.AddCollective(
                    ShardedStream::Replica, {"AR", received.unit}, unit.replicas, {summed});
            }
        }
        m_received.clear();
    }

    const ShardedTraffic& m_step;
    const ShardedStage& m_stage;
    StageOperations& m_operations;
    const std::vector<PipelineStep> m_order;
    const std::vector<std::vector<Visit>> m_visits;
    StageGathers m_gathers;
    int m_reduced = kNoOperation;     ///< the last reduction
    int m_summed = kNoOperation;      ///< the last sum over copies
    std::vector<Received> m_received; ///< units whose messages have not been summed
    bool m_agreed = false;            ///< the workers have agreed on what they send
    std::vector<int> m_waiting;       ///< units that are reduced after that
};

} // namespace

ShardedPlan BuildSharded(const StepTraffic& traffic, const AloneTimes* alone)
{
    const auto stages = static_cast<int>(traffic.sharded->stages.size());
    const bool folded = alone && alone->folded;
    ShardedPlan result;
    StepPlan& plan = result.plan;
    plan.ranks = folded ? stages : traffic.workers;
    plan.contention = traffic.contention;
    plan.streams = {{"compute", true},
                    {"gather", true},
                    {"reduce", true},
                    {"replica", true},
                    {"tensor", true},
                    {"pipe", false},
                    {"context", true},
                    {"expert", true}};
    plan.communicators = {"shards", "copies", "tensor", "context", "experts"};
    plan.roles.resize(stages);
    result.messages.resize(stages);
    std::map<const CollectiveGroups*, int> first;
    for (int stage = 0; stage < stages; ++stage)
    {
        StageOperations operations(traffic, stage, alone, result, first);
        StageBuilder(*traffic.sharded, stage, operations).Build();
    }
    return result;
}

CollectiveGroups MessagesOf(const StepTraffic& traffic, int stage, int direction)
{
    const auto stages = static_cast<int>(traffic.sharded->stages.size());
    const int next = stage + (direction == kToNext ? 1 : -1);
    const bool wraps = next < 0 || next == stages;
    CollectiveGroups messages;
    if (wraps && traffic.sharded->stages[stage].chunks.size() == 1)
    {
        return messages;
    }
    const int neighbour = (next + stages) % stages;
    const std::vector<int> from = WorkersOf(traffic, stage);
    const std::vector<int> to = WorkersOf(traffic, neighbour);
    for (size_t i = 0; i < from.size(); ++i)
    {
        CollectiveSpec& message = messages.emplace_back();
        message.algorithm = CollectiveAlgorithm::Broadcast;
        message.bytes = std::vector<int64_t>(2, traffic.sharded->messageBytes);
        message.members = {from[i], to[i]};
    }
    return messages;
}

void ForEachUse(const StepTraffic& traffic,
                const std::function<void(const CollectiveGroups& groups, int64_t times)>& use)
{
    CheckSharded(traffic);
    const auto stages = static_cast<int>(traffic.sharded->stages.size());
    AloneTimes none; // how often a list is used does not depend on times
    none.folded = true;
    none.counts = true;
    const ShardedPlan plan = BuildSharded(traffic, &none);
    ForEachGroups(*traffic.sharded,
                  [&](const CollectiveGroups& groups)
                  {
                      if (const auto found = plan.collectives.find(&groups);
                          found != plan.collectives.end())
                      {
                          use(groups, found->second);
                      }
                  });
    for (int stage = 0; stage < stages; ++stage)
    {
        for (int direction : {kToNext, kToPrevious})
        {
            if (plan.messages[stage][direction] > 0)
            {
                use(MessagesOf(traffic, stage, direction), plan.messages[stage][direction]);
            }
        }
    }
}

StepPlan BuildSharded(const StepTraffic& traffic)
{
    CheckSharded(traffic);
    return std::move(BuildSharded(traffic, nullptr).plan);
}

} // namespace legacy::fabric
