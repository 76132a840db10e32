// Says whether a step plan ends. No time decides that: what an operation waits for never becomes
// undone, so that starting whatever can start, in any order, starts everything that ever can. A
// collective ends when all its members have begun it, and a receive when its send has.
#include "base/error.h"
#include "plan-index.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

namespace legacy::fabric
{

namespace
{

class UntimedRun
{
  public:
    explicit UntimedRun(const PlanIndex& index)
        : m_index(index),
          m_waits(index.Count()),
          m_state(index.Count(), State::Waits),
          m_toBegin(index.Plan().collectives.size()),
          m_hosts(index.Plan().hostLimit > 0 ? index.Plan().ranks : 0)
    {
        for (size_t c = 0; c < m_toBegin.size(); ++c)
        {
            m_toBegin[c] = static_cast<int>(index.MembersOf(static_cast<int>(c)).size());
        }
    }

    /// Runs the plan. Returns the first operation that never ends; kNoInstance: all do.
    Instance Run();

    /// Returns what an operation that never ends waits for: another such operation.
    Instance Blocker(Instance instance) const;

    bool Begun(Instance instance) const
    {
        return m_state[instance] != State::Waits;
    }

  private:
    enum class State : uint8_t
    {
        Waits,
        Begun,
        Ended,
    };

    /// A Host counts what the host of a rank has issued.
    struct Host
    {
        int issued = 0;
        int ended = 0;
    };

    void Begin(Instance instance);
    void End(Instance instance);
    void Issue(int rank);
    void Satisfy(Instance instance)
    {
        if (--m_waits[instance] == 0)
        {
            m_ready.push_back(instance);
        }
    }

    const PlanIndex& m_index;
    std::vector<int> m_waits; ///< number of things that each instance waits for
    std::vector<State> m_state;
    std::vector<int> m_toBegin; ///< members that have not begun, by collective
    std::vector<Host> m_hosts;  ///< by rank; empty without a limit
    std::deque<Instance> m_ready;
};

Instance UntimedRun::Run()
{
    m_index.ForEachOperation(
        [&](PlanPlace place, int ranks)
        {
            const bool comes = !m_index.OperationAt(place).earliest.empty();
            const int needs = m_index.Needs(place) - (comes ? 1 : 0);
            for (; place.position < ranks; ++place.position)
            {
                const Instance instance = m_index.Number(place);
                m_waits[instance] = needs;
                if (needs == 0)
                {
                    m_ready.push_back(instance);
                }
            }
        });
    for (int rank = 0; rank < static_cast<int>(m_hosts.size()); ++rank)
    {
        Issue(rank);
    }
    while (!m_ready.empty())
    {
        const Instance instance = m_ready.front();
        m_ready.pop_front();
        Begin(instance);
    }
    const auto left = std::find_if(
        m_state.begin(), m_state.end(), [](State state) { return state != State::Ended; });
    return left == m_state.end() ? kNoInstance : left - m_state.begin();
}

void UntimedRun::Begin(Instance instance)
{
    m_state[instance] = State::Begun;
    const PlanPlace place = m_index.PlaceOf(instance);
    const StepOperation& operation = m_index.OperationAt(place);
    switch (operation.kind)
    {
    case OperationKind::Collective:
    {
        const int collective = ByRank(operation.collective, place.position, -1);
        if (--m_toBegin[collective] > 0)
        {
            return;
        }
        for (int member : m_index.MembersOf(collective))
        {
            const int number = m_index.OperationIn(collective, m_index.RoleOf(member));
            End(m_index.Number(m_index.At(member, number)));
        }
        return;
    }
    case OperationKind::Receive:
        if (Begun(m_index.SendOf(instance)))
        {
            End(instance);
        }
        return;
    case OperationKind::Send:
        if (const Instance receive = m_index.ReceiveOf(instance); Begun(receive))
        {
            End(receive);
        }
        End(instance);
        return;
    default:
        End(instance);
    }
}

void UntimedRun::End(Instance instance)
{
    m_state[instance] = State::Ended;
    const PlanPlace place = m_index.PlaceOf(instance);
    for (int next : m_index.Following(place))
    {
        Satisfy(m_index.Number({place.role, next, place.position}));
    }
    if (!m_hosts.empty())
    {
        const int rank = m_index.RankAt(place);
        ++m_hosts[rank].ended;
        Issue(rank);
    }
}

/// Issues operations of a rank until the limit is reached.
void UntimedRun::Issue(int rank)
{
    Host& host = m_hosts[rank];
    const StepPlan& plan = m_index.Plan();
    const StepRole& role = plan.roles[m_index.RoleOf(rank)];
    while (host.issued < static_cast<int>(role.operations.size()) &&
           host.issued - host.ended < plan.hostLimit)
    {
        Satisfy(m_index.Number(m_index.At(rank, host.issued++)));
    }
}

Instance UntimedRun::Blocker(Instance instance) const
{
    const PlanPlace place = m_index.PlaceOf(instance);
    const StepOperation& operation = m_index.OperationAt(place);
    if (Begun(instance) && operation.kind == OperationKind::Receive)
    {
        return m_index.SendOf(instance);
    }
    if (Begun(instance))
    {
        const int collective = ByRank(operation.collective, place.position, -1);
        for (int member : m_index.MembersOf(collective))
        {
            const int number = m_index.OperationIn(collective, m_index.RoleOf(member));
            const Instance other = m_index.Number(m_index.At(member, number));
            if (!Begun(other))
            {
                return other;
            }
        }
    }
    for (int earlier : m_index.Before(place))
    {
        const Instance other = m_index.Number({place.role, earlier, place.position});
        if (m_state[other] != State::Ended)
        {
            return other;
        }
    }
    // The host has issued as many operations as it may, and this is not one of them.
    Instance other = m_index.Number({place.role, 0, place.position});
    for (int number = 1; m_state[other] == State::Ended; ++number)
    {
        other = m_index.Number({place.role, number, place.position});
    }
    return other;
}

/// A Knot is a part of a circle of waiting operations that lies at one rank, each of which waits
/// for the next one. The last waits for the first operation of the next knot.
struct Knot
{
    int rank;
    std::vector<std::string> names;
};

/// Returns the circle that the operations after `instance` end in.
std::vector<Instance> CircleAfter(const UntimedRun& run, Instance instance)
{
    std::unordered_map<Instance, size_t> places;
    std::vector<Instance> chain;
    while (places.emplace(instance, chain.size()).second)
    {
        chain.push_back(instance);
        instance = run.Blocker(instance);
    }
    chain.erase(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(places[instance]));
    return chain;
}

std::vector<Knot> KnotsOf(const PlanIndex& index, std::vector<Instance> circle)
{
    const auto rankOf = [&](Instance one) { return index.RankAt(index.PlaceOf(one)); };
    // The first knot begins where the rank changes.
    const auto begin = std::adjacent_find(circle.begin(),
                                          circle.end(),
                                          [&](Instance one, Instance next)
                                          { return rankOf(one) != rankOf(next); });
    if (begin != circle.end())
    {
        std::rotate(circle.begin(), begin + 1, circle.end());
    }
    std::vector<Knot> knots;
    for (Instance one : circle)
    {
        const PlanPlace place = index.PlaceOf(one);
        if (knots.empty() || knots.back().rank != index.RankAt(place))
        {
            knots.push_back({index.RankAt(place), {}});
        }
        knots.back().names.push_back(NameOf(index.Plan().roles[place.role], place.operation));
    }
    std::rotate(knots.begin(),
                std::min_element(knots.begin(),
                                 knots.end(),
                                 [](const Knot& a, const Knot& b) { return a.rank < b.rank; }),
                knots.end());
    if (knots.size() == 1)
    {
        knots[0].names.push_back(knots[0].names[0]);
    }
    return knots;
}

} // namespace

void CheckEnds(const PlanIndex& index)
{
    UntimedRun run(index);
    const Instance left = run.Run();
    if (left == kNoInstance)
    {
        return;
    }
    const std::vector<Knot> knots = KnotsOf(index, CircleAfter(run, left));
    std::string text;
    for (size_t i = 0; i < knots.size(); ++i)
    {
        const std::vector<std::string>& names = knots[i].names;
        text += (i == 0 ? "rank " : ", rank ") + std::to_string(knots[i].rank);
        if (i == 1 && knots.size() == 2 &&
            std::equal(names.begin(), names.end(), knots[0].names.rbegin(), knots[0].names.rend()))
        {
            text += " the other way";
            continue;
        }
        text += i == 0 ? " waits for " : " for ";
        for (size_t n = 0; n < names.size(); ++n)
        {
            text += (n == 0 ? "" : " behind ") + names[n];
        }
    }
    throw Error("step plan: deadlock: " + text);
}

} // namespace legacy::fabric
