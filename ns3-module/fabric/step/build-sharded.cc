#include "build-sharded.h"

#include "base/error.h"
#include "fabric/engine/check-range.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace legacy::fabric
{

namespace
{

constexpr int kNoOperation = -1;           ///< no operation
constexpr int64_t kMostSegments = 1 << 22; ///< of all passes together

/// Throws Error unless a list has one time >= 0 for each worker, one for all, or none.
void CheckDurations(const std::vector<TimeNs>& times, int workers, const std::string& what)
{
    if (times.size() > 1 && times.size() != static_cast<size_t>(workers))
    {
        throw Error("sharded step: " + what,
                    std::to_string(times.size()) + " times",
                    "one for each of " + std::to_string(workers) + " workers, or one for all");
    }
    for (TimeNs time : times)
    {
        if (time < 0)
        {
            throw Error("sharded step: " + what, std::to_string(time) + " ns", "0 ns or more");
        }
    }
}

/// Returns the group of each worker. Throws Error unless each is in one.
std::vector<int>
GroupsOf(const std::vector<CollectiveSpec>& groups, int workers, const std::string& what)
{
    std::vector<int> group(workers, kNoOperation);
    const auto add = [&](int worker, int number)
    {
        if (worker < 0 || worker >= workers || group[worker] != kNoOperation)
        {
            throw Error("sharded step: " + what,
                        "worker " + std::to_string(worker) + " in group " + std::to_string(number),
                        "workers 0 to " + std::to_string(workers - 1) + ", each once");
        }
        group[worker] = number;
    };
    for (size_t g = 0; g < groups.size(); ++g)
    {
        const int number = static_cast<int>(g);
        if (groups[g].members.empty())
        {
            for (int worker = 0; worker < static_cast<int>(groups[g].bytes.size()); ++worker)
            {
                add(worker, number);
            }
        }
        for (int worker : groups[g].members)
        {
            add(worker, number);
        }
    }
    const auto missing = std::find(group.begin(), group.end(), kNoOperation);
    if (missing != group.end())
    {
        throw Error("sharded step: " + what,
                    "no group with worker " + std::to_string(missing - group.begin()),
                    "each worker in one");
    }
    return group;
}

/// A Visit is a run of segments of one unit.
struct Visit
{
    int unit;
    int first;
    int last;
};

/// A ShardedBuilder appends the operations of a step in the order in which the host issues them.
class ShardedBuilder
{
  public:
    explicit ShardedBuilder(const StepTraffic& traffic) : m_step(*traffic.sharded)
    {
        m_plan.ranks = traffic.workers;
        m_plan.contention = traffic.contention;
        m_plan.streams = {{"compute", true}, {"gather", true}, {"reduce", true}, {"replica", true}};
        m_plan.communicators = {"shards", "copies"};
        m_plan.roles.resize(1);
        m_plan.roles[0].ranks.resize(traffic.workers);
        std::iota(m_plan.roles[0].ranks.begin(), m_plan.roles[0].ranks.end(), 0);
        for (int s = 0; s < static_cast<int>(m_step.segments.size()); ++s)
        {
            const int unit = m_step.segments[s].unit;
            if (m_visits.empty() || m_visits.back().unit != unit)
            {
                m_visits.push_back({unit, s, s});
            }
            m_visits.back().last = s;
        }
    }

    StepPlan Build()
    {
        ListGathers();
        for (int pass = 0; pass < m_step.passes; ++pass)
        {
            Forward();
            Backward(m_step.reducesEach || pass + 1 == m_step.passes);
        }
        SumAll();
        if (!m_step.announcements.empty())
        {
            const int announced =
                Add(Segment("announce", SegmentLabel::Encode, m_step.announce, After({m_reduced})));
            m_reduced = AddCollective(
                ShardedStream::Reduce, "announcement", 0, m_step.announcements, {announced});
        }
        Add(Segment("update", SegmentLabel::Update, m_step.update, After({m_reduced, m_summed})));
        if (m_step.gathers == GatherTime::StepEnd)
        {
            const int updated = m_computed;
            for (size_t unit = 0; unit < m_step.units.size(); ++unit)
            {
                const int number = static_cast<int>(unit);
                if (!m_step.units[unit].gather.empty())
                {
                    const int gathered = AddCollective(
                        ShardedStream::Gather, "AG", number, m_step.units[unit].gather, {updated});
                    Unpack(number, gathered);
                }
            }
        }
        return std::move(m_plan);
    }

  private:
    /// A Gather is one that a visit needs, and what is known of it once it was issued.
    struct Gather
    {
        int unit;
        bool again; ///< for the backward pass
        int operation = kNoOperation;
        int unpacked = kNoOperation;
        int used = kNoOperation; ///< the last segment of its visit
    };

    std::vector<StepOperation>& Operations()
    {
        return m_plan.roles[0].operations;
    }

    static std::vector<int> After(std::initializer_list<int> operations)
    {
        std::vector<int> after;
        for (int operation : operations)
        {
            if (operation != kNoOperation)
            {
                after.push_back(operation);
            }
        }
        return after;
    }

    int Add(StepOperation operation)
    {
        const int number = static_cast<int>(Operations().size());
        if (operation.kind == OperationKind::Segment)
        {
            m_computed = number;
        }
        Operations().push_back(std::move(operation));
        return number;
    }

    static StepOperation Segment(std::string name,
                                 SegmentLabel label,
                                 const std::vector<TimeNs>& duration,
                                 std::vector<int> after = {})
    {
        StepOperation segment;
        segment.name = std::move(name);
        segment.stream = static_cast<int>(ShardedStream::Compute);
        segment.label = label;
        segment.duration = duration;
        segment.after = std::move(after);
        return segment;
    }

    static std::string NameOf(const char* what, int unit)
    {
        return std::string(what) + "(" + std::to_string(unit) + ")";
    }

    int AddCollective(ShardedStream stream,
                      const char* what,
                      int unit,
                      const std::vector<CollectiveSpec>& groups,
                      std::vector<int> after)
    {
        const int communicator = stream == ShardedStream::Replica ? 1 : 0;
        StepOperation operation;
        operation.kind = OperationKind::Collective;
        operation.name = NameOf(what, unit);
        operation.stream = static_cast<int>(stream);
        operation.after = std::move(after);
        operation.communicator = communicator;
        operation.issue = m_issued[communicator]++;
        const int first = static_cast<int>(m_plan.collectives.size());
        if (groups.size() == 1)
        {
            operation.collective = {first};
        }
        else
        {
            for (int group : GroupsOf(groups, m_plan.ranks, operation.name))
            {
                operation.collective.push_back(first + group);
            }
        }
        m_plan.collectives.insert(m_plan.collectives.end(), groups.begin(), groups.end());
        return Add(std::move(operation));
    }

    /// Lists what the visits of all passes need, in the order of use. What a pass does not keep is
    /// gathered for each of its visits, and the last unit of the forward pass for the backward
    /// pass.
    void ListGathers()
    {
        const bool once = m_step.gathers == GatherTime::StepBegin;
        std::vector<bool> there(m_step.units.size(), m_step.gathers == GatherTime::StepEnd);
        const auto list = [&](const Visit& visit, bool again)
        {
            const ShardedUnit& unit = m_step.units[visit.unit];
            const bool needs = !unit.gather.empty() && !there[visit.unit];
            m_needs.push_back(needs);
            if (needs)
            {
                m_gathers.push_back({visit.unit, again});
                there[visit.unit] = once || unit.kept;
            }
        };
        for (int pass = 0; pass < m_step.passes; ++pass)
        {
            for (const Visit& visit : m_visits)
            {
                list(visit, false);
            }
            for (auto visit = m_visits.rbegin(); visit != m_visits.rend(); ++visit)
            {
                list(*visit, true);
            }
            if (m_step.gathers == GatherTime::EachUse)
            {
                there.assign(there.size(), false);
            }
        }
    }

    /// Issues a gather, which begins when there is room for it.
    void Issue(size_t number)
    {
        Gather& gather = m_gathers[number];
        const ShardedUnit& unit = m_step.units[gather.unit];
        std::vector<int> after;
        if (m_step.gathers == GatherTime::EachUse)
        {
            const auto ahead = static_cast<size_t>(m_step.prefetch);
            if (m_step.prefetch == 0)
            {
                after = After({m_computed});
            }
            else if (number > ahead)
            {
                const Gather& before = m_gathers[number - ahead - 1];
                after = {m_step.freesAfterUse ? before.used : before.unpacked};
            }
        }
        gather.operation = AddCollective(
            ShardedStream::Gather,
            "AG",
            gather.unit,
            gather.again && !unit.gatherAgain.empty() ? unit.gatherAgain : unit.gather,
            std::move(after));
    }

    void Unpack(int unit, int gathered)
    {
        Add(Segment(
            NameOf("unpack", unit), SegmentLabel::Compute, m_step.units[unit].unpack, {gathered}));
    }

    /// Makes the weights of a visit be there.
    void Enter(const Visit& visit)
    {
        m_current = kNoOperation;
        if (!m_needs[m_visit++])
        {
            return;
        }
        const size_t ahead = m_step.gathers == GatherTime::StepBegin ? m_gathers.size()
                                                                     : m_entered + m_step.prefetch;
        while (m_next < m_gathers.size() && m_next <= ahead)
        {
            Issue(m_next++);
        }
        m_current = static_cast<int>(m_entered++);
        Unpack(visit.unit, m_gathers[m_current].operation);
        m_gathers[m_current].unpacked = m_computed;
    }

    void Leave()
    {
        if (m_current != kNoOperation)
        {
            m_gathers[m_current].used = m_computed;
        }
    }

    void Forward()
    {
        for (const Visit& visit : m_visits)
        {
            Enter(visit);
            for (int s = visit.first; s <= visit.last; ++s)
            {
                Add(Segment(NameOf("forward", visit.unit),
                            SegmentLabel::Compute,
                            m_step.segments[s].forward));
            }
            Leave();
        }
    }

    void Backward(bool reduces)
    {
        std::vector<int> visits(m_step.units.size(), 0);
        for (const Visit& visit : m_visits)
        {
            ++visits[visit.unit];
        }
        for (auto visit = m_visits.rbegin(); visit != m_visits.rend(); ++visit)
        {
            Enter(*visit);
            for (int s = visit->last; s >= visit->first; --s)
            {
                const ShardedSegment& segment = m_step.segments[s];
                if (std::any_of(segment.recompute.begin(),
                                segment.recompute.end(),
                                [](TimeNs time) { return time > 0; }))
                {
                    Add(Segment(NameOf("recompute", visit->unit),
                                SegmentLabel::Recompute,
                                segment.recompute));
                }
                Add(Segment(
                    NameOf("backward", visit->unit), SegmentLabel::Compute, segment.backward));
            }
            Leave();
            if (--visits[visit->unit] == 0 && reduces)
            {
                Reduce(visit->unit);
            }
        }
    }

    void Reduce(int number)
    {
        const ShardedUnit& unit = m_step.units[number];
        if (unit.reduce.empty())
        {
            return;
        }
        if (m_step.oneReduction)
        {
            SumAll();
        }
        int packed = Add(Segment(NameOf("pack", number),
                                 SegmentLabel::Compute,
                                 unit.pack,
                                 After({m_step.oneReduction ? m_reduced : kNoOperation})));
        if (!unit.encode.empty())
        {
            packed = Add(Segment(NameOf("encode", number), SegmentLabel::Encode, unit.encode));
        }
        if (!unit.first.empty())
        {
            packed = AddCollective(ShardedStream::Reduce, "first", number, unit.first, {packed});
        }
        if (!unit.between.empty())
        {
            packed = Add(
                Segment(NameOf("between", number), SegmentLabel::Encode, unit.between, {packed}));
        }
        m_reduced = AddCollective(ShardedStream::Reduce, "RS", number, unit.reduce, {packed});
        m_received.push_back({number, m_reduced});
        if (m_step.reductionsBlock)
        {
            Add(Segment(NameOf("wait", number), SegmentLabel::Compute, {}, {m_reduced}));
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
            const ShardedUnit& unit = m_step.units[received.unit];
            int summed = received.operation;
            if (!unit.sum.empty())
            {
                summed = Add(Segment(NameOf("sum", received.unit),
                                     SegmentLabel::Decode,
                                     unit.sum,
                                     {received.operation}));
            }
            if (!unit.replicas.empty())
            {
                m_summed = AddCollective(
                    ShardedStream::Replica, "AR", received.unit, unit.replicas, {summed});
            }
        }
        m_received.clear();
    }

    /// A Received is a unit whose messages are the owner's, or will be when an operation has ended.
    struct Received
    {
        int unit;
        int operation;
    };

    const ShardedTraffic& m_step;
    StepPlan m_plan;
    std::vector<Visit> m_visits; ///< of the forward pass
    std::vector<bool> m_needs;   ///< of all visits of the step, whether a gather goes before it
    size_t m_visit = 0;          ///< number of the next visit
    std::vector<Gather> m_gathers;
    size_t m_next = 0;                ///< the gather that is issued next
    size_t m_entered = 0;             ///< the gather that is used next
    int m_current = kNoOperation;     ///< the gather of the present visit
    int m_computed = kNoOperation;    ///< the last segment
    int m_reduced = kNoOperation;     ///< the last reduction
    int m_summed = kNoOperation;      ///< the last sum over copies
    std::vector<Received> m_received; ///< units whose messages have not been summed
    int m_issued[2] = {0, 0};
};

void CheckUnit(const ShardedUnit& unit, int workers, const std::string& where)
{
    CheckDurations(unit.unpack, workers, where + ": unpack");
    CheckDurations(unit.pack, workers, where + ": pack");
    CheckDurations(unit.encode, workers, where + ": encode");
    CheckDurations(unit.between, workers, where + ": between");
    CheckDurations(unit.sum, workers, where + ": sum");
    const std::pair<const char*, const std::vector<CollectiveSpec>*> lists[] = {
        {"gather", &unit.gather},
        {"gatherAgain", &unit.gatherAgain},
        {"first", &unit.first},
        {"reduce", &unit.reduce},
        {"replicas", &unit.replicas}};
    for (const auto& [name, groups] : lists)
    {
        if (!groups->empty())
        {
            GroupsOf(*groups, workers, where + ": " + name);
        }
    }
}

void CheckSharded(const StepTraffic& traffic)
{
    const ShardedTraffic& step = *traffic.sharded;
    const auto count = static_cast<int>(step.units.size());
    std::vector<bool> used(step.units.size(), false);
    for (size_t s = 0; s < step.segments.size(); ++s)
    {
        const ShardedSegment& segment = step.segments[s];
        const std::string where = "segment " + std::to_string(s);
        if (segment.unit < 0 || segment.unit >= count)
        {
            throw Error("sharded step: " + where + ": unit",
                        std::to_string(segment.unit),
                        "0 to " + std::to_string(count - 1));
        }
        used[segment.unit] = true;
        CheckDurations(segment.forward, traffic.workers, where + ": forward");
        CheckDurations(segment.recompute, traffic.workers, where + ": recompute");
        CheckDurations(segment.backward, traffic.workers, where + ": backward");
    }
    for (int u = 0; u < count; ++u)
    {
        const std::string where = "unit " + std::to_string(u);
        if (!used[u])
        {
            throw Error("sharded step: " + where, "no segment", "one that uses it");
        }
        CheckUnit(step.units[u], traffic.workers, where);
    }
    CheckDurations(step.update, traffic.workers, "update");
    CheckDurations(step.announce, traffic.workers, "announce");
    if (!step.announcements.empty())
    {
        GroupsOf(step.announcements, traffic.workers, "announcements");
    }
    const int64_t most = kMostSegments / std::max<int64_t>(1, step.segments.size());
    CheckRange("sharded step: passes", step.passes, 1, most);
    CheckRange("sharded step: prefetch", step.prefetch, 0, kMostSegments);
}

} // namespace

StepPlan BuildSharded(const StepTraffic& traffic)
{
    CheckSharded(traffic);
    return ShardedBuilder(traffic).Build();
}

} // namespace legacy::fabric
