#include "plan-parts.h"

#include "base/error.h"
#include "plan-index.h"
#include "spans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns when all members of each collective had begun it.
std::vector<TimeNs> AllBegan(const PlanIndex& index, const PlanTiming& timing)
{
    std::vector<TimeNs> began;
    for (int c = 0; c < static_cast<int>(index.Plan().collectives.size()); ++c)
    {
        began.push_back(0);
        for (int member : index.MembersOf(c))
        {
            const PlanPlace place = index.At(member, index.OperationIn(c, index.RoleOf(member)));
            const OperationTiming& times = timing.roles[place.role][place.operation];
            began.back() = std::max(began.back(), times.begin[place.position]);
        }
    }
    return began;
}

/// A RankAccount finds the parts of one rank.
class RankAccount
{
  public:
    /// `began` is AllBegan.
    RankAccount(const PlanIndex& index,
                const PlanTiming& timing,
                const std::vector<TimeNs>& began,
                int rank)
        : m_index(index),
          m_timing(timing),
          m_began(began),
          m_rank(rank),
          m_role(index.Plan().roles[index.RoleOf(rank)])
    {
        m_parts.exposed.assign(index.Plan().streams.size(), 0);
        m_parts.hidden.assign(index.Plan().streams.size(), 0);
        for (int number = 0; number < static_cast<int>(m_role.operations.size()); ++number)
        {
            const StepOperation& operation = m_role.operations[number];
            const int device = index.Plan().streams[operation.stream].device;
            if (operation.kind != OperationKind::Segment || device == 0)
            {
                continue;
            }
            const Span span = Of(number);
            if (span.end > span.begin)
            {
                m_ends[{device, span.end}] = number;
            }
        }
    }

    StepParts Account();

  private:
    struct Segment
    {
        TimeNs begin;
        TimeNs end;
        int operation;
    };

    const OperationTiming& TimesOf(const PlanPlace& place) const
    {
        return m_timing.roles[place.role][place.operation];
    }

    Span SpanOf(const PlanPlace& place) const
    {
        const OperationTiming& times = TimesOf(place);
        return {times.begin[place.position], times.end[place.position]};
    }

    Span Of(int operation) const
    {
        return SpanOf(m_index.At(m_rank, operation));
    }

    /// Returns whether an operation is a segment of device 0, whose time is accounted for.
    bool IsComputed(const StepOperation& operation) const
    {
        return operation.kind == OperationKind::Segment &&
               m_index.Plan().streams[operation.stream].device == 0;
    }

    Span Carried(int operation) const;
    std::vector<Segment> Segments() const;
    int Enabler(int operation) const;
    int LastOnDevice(int operation) const;
    int LastEnded(TimeNs time, int except) const;
    int LastBefore(int operation, Span idle) const;
    void ChargeIdle(Span idle, int enabler, int waiting);
    void ChargeHidden();

    const PlanIndex& m_index;
    const PlanTiming& m_timing;
    const std::vector<TimeNs>& m_began;
    const int m_rank;
    const StepRole& m_role;
    /// Segments of other devices than 0, by device and end.
    std::map<std::pair<int, TimeNs>, int> m_ends;
    StepParts m_parts;
};

/// Returns when a collective or message of the rank was carried: a collective from the time at
/// which all members had begun it, a message from the time at which it was sent. A segment of
/// another device than 0 is carried while it runs.
Span RankAccount::Carried(int operation) const
{
    const PlanPlace place = m_index.At(m_rank, operation);
    const StepOperation& what = m_index.OperationAt(place);
    Span span = SpanOf(place);
    if (what.kind == OperationKind::Collective)
    {
        span.begin = std::max(span.begin, m_began[ByRank(what.collective, place.position, -1)]);
    }
    if (what.kind == OperationKind::Receive)
    {
        const Instance send = m_index.SendOf(m_index.Number(place));
        span.begin = std::max(span.begin, SpanOf(m_index.PlaceOf(send)).begin);
    }
    span.begin = std::min(span.begin, span.end);
    return span;
}

/// Returns the segments of device 0 in the order in which they ran.
std::vector<RankAccount::Segment> RankAccount::Segments() const
{
    std::vector<Segment> segments;
    for (int number = 0; number < static_cast<int>(m_role.operations.size()); ++number)
    {
        const Span span = Of(number);
        if (IsComputed(m_role.operations[number]) && span.end > span.begin)
        {
            segments.push_back({span.begin, span.end, number});
        }
    }
    std::sort(segments.begin(),
              segments.end(),
              [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    return segments;
}

/// Returns the operation whose end let another one begin; -1: a time that the plan sets did.
int RankAccount::Enabler(int operation) const
{
    const PlanPlace place = m_index.At(m_rank, operation);
    const TimeNs begin = Of(operation).begin;
    for (int earlier : m_index.Before(place))
    {
        if (Of(earlier).end == begin)
        {
            return earlier;
        }
    }
    if (const int last = LastOnDevice(operation); last >= 0)
    {
        return last;
    }
    // Its host may have issued it when some other operation ended.
    return m_index.Plan().hostLimit > 0 ? LastEnded(begin, operation) : -1;
}

/// Returns the segment for which a segment of another device than 0 waited; -1: there is none.
int RankAccount::LastOnDevice(int operation) const
{
    const StepOperation& what = m_role.operations[operation];
    if (what.kind != OperationKind::Segment || IsComputed(what))
    {
        return -1;
    }
    const int device = m_index.Plan().streams[what.stream].device;
    const auto found = m_ends.find({device, Of(operation).begin});
    return found == m_ends.end() || found->second == operation ? -1 : found->second;
}

/// Returns the first operation other than `except`, and before it in the list, that ended at a
/// time; -1: none did.
int RankAccount::LastEnded(TimeNs time, int except) const
{
    for (int number = 0; number < except; ++number)
    {
        if (Of(number).end == time)
        {
            return number;
        }
    }
    return -1;
}

/// Returns the last operation that an operation waits for and that ended within an idle time,
/// before its end; -1: none did.
int RankAccount::LastBefore(int operation, Span idle) const
{
    int last = -1;
    for (int earlier : m_index.Before(m_index.At(m_rank, operation)))
    {
        const TimeNs end = Of(earlier).end;
        if (end > idle.begin && end < idle.end && (last < 0 || end > Of(last).end))
        {
            last = earlier;
        }
    }
    return last;
}

/// Charges the time in which the device was idle, up to the end of `enabler`, to what the device
/// waited for then, and before that to what this waited for. Where that waited for nothing, or for
/// a message that had not been sent, the operation that was `waiting` had waited for another one
/// until then; -1: none was.
void RankAccount::ChargeIdle(Span idle, int enabler, int waiting)
{
    const auto charge = [&idle](TimeNs from, TimeNs& part)
    {
        from = std::max(idle.begin, std::min(idle.end, from));
        part += idle.end - from;
        idle.end = from;
    };
    TimeNs segments = 0; // of the rank; they end before its idle time
    // Two operations that took no time may each seem to have let the other begin: the loop ends
    // after as many turns as there are operations.
    for (size_t left = m_role.operations.size(); idle.end > idle.begin && left > 0; --left)
    {
        if (enabler < 0 && waiting >= 0)
        {
            enabler = LastBefore(waiting, idle);
        }
        if (enabler < 0)
        {
            break;
        }
        const StepOperation& operation = m_role.operations[enabler];
        const Span span = Of(enabler);
        charge(span.end, m_parts.scheduled);
        if (IsComputed(operation))
        {
            charge(span.begin, segments);
        }
        else
        {
            charge(Carried(enabler).begin, m_parts.exposed[operation.stream]);
        }
        const bool message = operation.kind == OperationKind::Receive;
        const Span unsent = {std::max(idle.begin, span.begin), idle.end};
        const int other = message && waiting >= 0 ? LastBefore(waiting, unsent) : -1;
        if (other < 0)
        {
            charge(span.begin, message ? m_parts.scheduled : m_parts.wait);
        }
        enabler = other < 0 ? Enabler(enabler) : other;
    }
    m_parts.scheduled += idle.end - idle.begin;
}

/// Finds what each stream carried, less what was exposed.
void RankAccount::ChargeHidden()
{
    std::vector<std::vector<Span>> busy(m_parts.hidden.size());
    for (int number = 0; number < static_cast<int>(m_role.operations.size()); ++number)
    {
        const StepOperation& operation = m_role.operations[number];
        if (!IsComputed(operation) && operation.kind != OperationKind::Barrier)
        {
            busy[operation.stream].push_back(Carried(number));
        }
    }
    for (size_t stream = 0; stream < busy.size(); ++stream)
    {
        m_parts.hidden[stream] = Length(Union(std::move(busy[stream]))) - m_parts.exposed[stream];
    }
}

StepParts RankAccount::Account()
{
    TimeNs now = 0;
    for (const Segment& segment : Segments())
    {
        ChargeIdle({now, segment.begin}, Enabler(segment.operation), segment.operation);
        m_parts.segments[static_cast<size_t>(m_role.operations[segment.operation].label)] +=
            segment.end - segment.begin;
        now = segment.end;
    }
    const TimeNs finish = m_timing.finish[m_rank];
    ChargeIdle({now, finish}, LastEnded(finish, static_cast<int>(m_role.operations.size())), -1);
    m_parts.wait += m_timing.total - finish;
    ChargeHidden();
    return m_parts;
}

} // namespace

TimeNs StepParts::Total() const
{
    const TimeNs computed = std::accumulate(segments.begin(), segments.end(), TimeNs{0});
    return std::accumulate(exposed.begin(), exposed.end(), computed) + scheduled + wait;
}

namespace
{

void CheckTimesOf(const StepPlan& plan, const PlanTiming& timing)
{
    bool fits = timing.finish.size() == static_cast<size_t>(plan.ranks) &&
                timing.roles.size() == plan.roles.size();
    for (size_t r = 0; fits && r < plan.roles.size(); ++r)
    {
        fits = timing.roles[r].size() == plan.roles[r].operations.size();
    }
    if (!fits)
    {
        throw Error("parts of a step: the times are not those of this plan");
    }
}

/// Returns whether all ranks are of one role and did everything at the same times.
bool AreAlike(const PlanTiming& timing)
{
    const auto equal = [](const std::vector<TimeNs>& times) {
        return std::adjacent_find(times.begin(), times.end(), std::not_equal_to<>()) == times.end();
    };
    return timing.roles.size() == 1 &&
           std::all_of(timing.roles[0].begin(),
                       timing.roles[0].end(),
                       [&](const OperationTiming& operation)
                       { return equal(operation.begin) && equal(operation.end); });
}

} // namespace

StepParts PartsOf(const StepPlan& plan, const PlanTiming& timing, int rank)
{
    if (rank < 0 || rank >= plan.ranks)
    {
        throw Error("parts of a step: rank",
                    std::to_string(rank),
                    "0 to " + std::to_string(plan.ranks - 1));
    }
    CheckTimesOf(plan, timing);
    const PlanIndex index(plan);
    return RankAccount(index, timing, AllBegan(index, timing), rank).Account();
}

std::vector<StepParts> PartsOf(const StepPlan& plan, const PlanTiming& timing)
{
    CheckTimesOf(plan, timing);
    const PlanIndex index(plan);
    const std::vector<TimeNs> began = AllBegan(index, timing);
    if (AreAlike(timing))
    {
        return std::vector<StepParts>(plan.ranks, RankAccount(index, timing, began, 0).Account());
    }
    std::vector<StepParts> parts;
    for (int rank = 0; rank < plan.ranks; ++rank)
    {
        parts.push_back(RankAccount(index, timing, began, rank).Account());
    }
    return parts;
}

int CriticalRank(const PlanTiming& timing)
{
    return static_cast<int>(std::max_element(timing.finish.begin(), timing.finish.end()) -
                            timing.finish.begin());
}

} // namespace legacy::fabric
