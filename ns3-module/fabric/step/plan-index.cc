#include "plan-index.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace legacy::fabric
{

PlanIndex::PlanIndex(const StepPlan& plan) : m_plan(plan), m_all(plan.ranks), m_ranks(plan.ranks)
{
    std::iota(m_all.begin(), m_all.end(), 0);
    Instance count = 0;
    for (size_t r = 0; r < plan.roles.size(); ++r)
    {
        const StepRole& role = plan.roles[r];
        m_first.push_back(count);
        count += static_cast<Instance>(role.ranks.size() * role.operations.size());
        for (size_t i = 0; i < role.ranks.size(); ++i)
        {
            m_ranks[role.ranks[i]] = {static_cast<int>(r), static_cast<int>(i)};
        }
        m_roles.emplace_back();
        Link(role, m_roles.back());
    }
    m_first.push_back(count);
    IndexCollectives();
    MatchMessages();
}

/// Finds what the operations of a role wait for.
void PlanIndex::Link(const StepRole& role, RoleLinks& links) const
{
    const int count = static_cast<int>(role.operations.size());
    std::vector<int> newest(m_plan.streams.size(), -1); // operation of each stream
    const std::vector<int> issuedBefore = IssuedBefore(role);
    std::vector<int>& all = links.before.all;
    std::vector<size_t> following(count + 1, 0); // number of operations that follow the one before
    for (int number = 0; number < count; ++number)
    {
        const StepOperation& operation = role.operations[number];
        const auto first = static_cast<std::ptrdiff_t>(all.size());
        links.before.first.push_back(all.size());
        all.insert(all.end(), operation.after.begin(), operation.after.end());
        const int previous = std::exchange(newest[operation.stream], number);
        if (m_plan.streams[operation.stream].ordered && previous >= 0)
        {
            all.push_back(previous);
        }
        if (!issuedBefore.empty() && issuedBefore[number] >= 0)
        {
            all.push_back(issuedBefore[number]);
        }
        std::sort(all.begin() + first, all.end());
        all.erase(std::unique(all.begin() + first, all.end()), all.end());
        for (auto earlier = all.begin() + first; earlier != all.end(); ++earlier)
        {
            ++following[*earlier + 1];
        }
    }
    links.before.first.push_back(all.size());
    std::partial_sum(following.begin(), following.end(), following.begin());
    links.following = {following, std::vector<int>(all.size())};
    for (int number = 0; number < count; ++number)
    {
        for (int earlier : links.before.At(number))
        {
            links.following.all[following[earlier]++] = number;
        }
    }
}

/// Returns the operation that was issued before each one in its communicator, -1 for the others;
/// empty where there are no communicators.
std::vector<int> PlanIndex::IssuedBefore(const StepRole& role) const
{
    if (m_plan.communicators.empty())
    {
        return {};
    }
    std::vector<std::tuple<int, int, int>> issues; // communicator, issue, operation
    for (size_t number = 0; number < role.operations.size(); ++number)
    {
        const StepOperation& operation = role.operations[number];
        if (HasCommunicator(operation))
        {
            issues.emplace_back(operation.communicator, operation.issue, static_cast<int>(number));
        }
    }
    std::sort(issues.begin(), issues.end());
    std::vector<int> before(role.operations.size(), -1);
    for (size_t i = 1; i < issues.size(); ++i)
    {
        if (std::get<0>(issues[i]) == std::get<0>(issues[i - 1]))
        {
            before[std::get<2>(issues[i])] = std::get<2>(issues[i - 1]);
        }
    }
    return before;
}

void PlanIndex::IndexCollectives()
{
    for (size_t r = 0; r < m_plan.roles.size(); ++r)
    {
        const std::vector<StepOperation>& operations = m_plan.roles[r].operations;
        for (size_t number = 0; number < operations.size(); ++number)
        {
            if (operations[number].kind != OperationKind::Collective)
            {
                continue;
            }
            for (int collective : operations[number].collective)
            {
                m_parts.push_back({collective, static_cast<int>(r), static_cast<int>(number)});
            }
        }
    }
    std::sort(m_parts.begin(), m_parts.end());
    const auto equal = [](const Part& a, const Part& b) { return !(a < b) && !(b < a); };
    m_parts.erase(std::unique(m_parts.begin(), m_parts.end(), equal), m_parts.end());
    m_firstPart.assign(m_plan.collectives.size() + 1, 0);
    for (const Part& part : m_parts)
    {
        ++m_firstPart[part.collective + 1];
    }
    std::partial_sum(m_firstPart.begin(), m_firstPart.end(), m_firstPart.begin());
}

/// Matches the sends of one rank to another with the receives there, in the order of the lists
/// where tags are equal.
void PlanIndex::MatchMessages()
{
    using Key = std::tuple<int, int, int>; // sender, receiver, tag
    std::map<Key, std::pair<std::vector<Instance>, std::vector<Instance>>> ends;
    for (int r = 0; r < static_cast<int>(m_plan.roles.size()); ++r)
    {
        const StepRole& role = m_plan.roles[r];
        for (int number = 0; number < static_cast<int>(role.operations.size()); ++number)
        {
            const StepOperation& operation = role.operations[number];
            const bool send = operation.kind == OperationKind::Send;
            if (!send && operation.kind != OperationKind::Receive)
            {
                continue;
            }
            for (int i = 0; i < static_cast<int>(role.ranks.size()); ++i)
            {
                const int own = role.ranks[i];
                const int peer = ByRank(operation.peer, i, 0);
                auto& [sends, receives] =
                    ends[{send ? own : peer, send ? peer : own, operation.tag}];
                (send ? sends : receives).push_back(Number({r, number, i}));
            }
        }
    }
    for (const auto& [key, both] : ends)
    {
        const auto& [sends, receives] = both;
        for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i)
        {
            const Instance send = i < sends.size() ? sends[i] : kNoInstance;
            const Instance receive = i < receives.size() ? receives[i] : kNoInstance;
            m_bySend.emplace_back(send, receive);
            m_byReceive.emplace_back(receive, send);
        }
    }
    std::sort(m_bySend.begin(), m_bySend.end());
    std::sort(m_byReceive.begin(), m_byReceive.end());
}

std::vector<Instance> PlanIndex::LoneEnds() const
{
    std::vector<Instance> lone;
    for (const Ends* ends : {&m_bySend, &m_byReceive})
    {
        for (const auto& [end, other] : *ends)
        {
            if (other == kNoInstance)
            {
                lone.push_back(end);
            }
        }
    }
    return lone;
}

Instance PlanIndex::OtherEnd(const Ends& ends, Instance end)
{
    const auto found = std::lower_bound(ends.begin(), ends.end(), std::make_pair(end, kNoInstance));
    return found == ends.end() || found->first != end ? kNoInstance : found->second;
}

PlanPlace PlanIndex::PlaceOf(Instance instance) const
{
    const auto after = std::upper_bound(m_first.begin(), m_first.end(), instance);
    const int role = static_cast<int>(after - m_first.begin()) - 1;
    const auto ranks = static_cast<Instance>(m_plan.roles[role].ranks.size());
    const Instance own = instance - m_first[role];
    return {role, static_cast<int>(own / ranks), static_cast<int>(own % ranks)};
}

int PlanIndex::OperationIn(int collective, int role) const
{
    const auto first = m_parts.begin() + static_cast<std::ptrdiff_t>(m_firstPart[collective]);
    const auto last = m_parts.begin() + static_cast<std::ptrdiff_t>(m_firstPart[collective + 1]);
    const auto found = std::lower_bound(first, last, Part{collective, role, 0});
    return found == last || found->role != role ? -1 : found->operation;
}

std::string NameOf(const StepRole& role, int operation)
{
    const std::string& name = role.operations[operation].name;
    return name.empty() ? "operation " + std::to_string(operation) : name;
}

} // namespace legacy::fabric
