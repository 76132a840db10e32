// Checks of the values of a step plan.
#include "fabric/engine/check-range.h"
#include "plan-index.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace legacy::fabric
{

namespace
{

int64_t Last(size_t count)
{
    return static_cast<int64_t>(count) - 1;
}

/// Throws Error unless a list by rank has one value for each rank, or one for all, or none where
/// `optional` is true, each from `least` to `most`.
template <typename T>
void CheckByRank(const std::string& what,
                 const std::vector<T>& values,
                 size_t ranks,
                 bool optional,
                 int64_t least,
                 int64_t most)
{
    if (values.size() != ranks && values.size() != 1 && !(optional && values.empty()))
    {
        throw Error(what,
                    std::to_string(values.size()) + " values",
                    "one for each of " + std::to_string(ranks) + " ranks, or one for all");
    }
    for (T value : values)
    {
        CheckRange(what, value, least, most);
    }
}

void CheckCommunicator(const StepPlan& plan, const StepOperation& operation, const std::string& at)
{
    CheckRange(at + "communicator",
               operation.communicator,
               kNoCommunicator,
               Last(plan.communicators.size()));
}

void CheckOperation(const StepPlan& plan, const StepRole& role, int number, const std::string& at)
{
    const StepOperation& operation = role.operations[number];
    const size_t ranks = role.ranks.size();
    CheckRange(at + "stream", operation.stream, 0, Last(plan.streams.size()));
    for (int earlier : operation.after)
    {
        CheckRange(at + "after", earlier, 0, Last(role.operations.size()));
    }
    CheckByRank(at + "earliest, ns", operation.earliest, ranks, true, 0, INT64_MAX);
    CheckByRank(at + "duration, ns", operation.duration, ranks, true, 0, INT64_MAX);
    switch (operation.kind)
    {
    case OperationKind::Segment:
        break;
    case OperationKind::Transfer:
        CheckCommunicator(plan, operation, at);
        break;
    case OperationKind::Collective:
        CheckByRank(at + "collective",
                    operation.collective,
                    ranks,
                    false,
                    0,
                    Last(plan.collectives.size()));
        CheckCommunicator(plan, operation, at);
        break;
    case OperationKind::Send:
    case OperationKind::Receive:
        CheckByRank(at + "peer", operation.peer, ranks, false, 0, plan.ranks - 1);
        CheckRange(at + "bytes", operation.bytes, 0, INT64_MAX);
        for (size_t i = 0; i < ranks; ++i)
        {
            if (ByRank(operation.peer, static_cast<int>(i), 0) == role.ranks[i])
            {
                throw Error(at + "peer", std::to_string(role.ranks[i]), "another rank");
            }
        }
        break;
    case OperationKind::Barrier:
        break;
    }
}

/// Throws Error where two collectives of a role have one place in a communicator's order.
void CheckIssues(const StepPlan& plan, const StepRole& role, const std::string& where)
{
    std::set<std::pair<int, int>> seen;
    for (const StepOperation& operation : role.operations)
    {
        if (HasCommunicator(operation) &&
            !seen.emplace(operation.communicator, operation.issue).second)
        {
            throw Error(where + "communicator " + plan.communicators[operation.communicator],
                        "issue " + std::to_string(operation.issue) + " twice",
                        "each issue once");
        }
    }
}

void CheckRoles(const StepPlan& plan)
{
    std::vector<int> roleOf(plan.ranks, -1);
    for (size_t r = 0; r < plan.roles.size(); ++r)
    {
        const StepRole& role = plan.roles[r];
        const std::string where = "step plan: role " + std::to_string(r) + ": ";
        for (int rank : role.ranks)
        {
            CheckRange(where + "rank", rank, 0, plan.ranks - 1);
            if (roleOf[rank] >= 0)
            {
                throw Error(where + "ranks",
                            std::to_string(rank) + ", which is in role " +
                                std::to_string(roleOf[rank]),
                            "each rank once");
            }
            roleOf[rank] = static_cast<int>(r);
        }
        for (size_t number = 0; number < role.operations.size(); ++number)
        {
            const int n = static_cast<int>(number);
            CheckOperation(plan, role, n, where + NameOf(role, n) + ": ");
        }
        CheckIssues(plan, role, where);
    }
    const auto without = std::find(roleOf.begin(), roleOf.end(), -1);
    if (without != roleOf.end())
    {
        throw Error("step plan: rank " + std::to_string(without - roleOf.begin()) + " has no role");
    }
}

/// Throws Error unless the members of each collective are the ranks whose operations name it.
void CheckMembers(const PlanIndex& index)
{
    const StepPlan& plan = index.Plan();
    std::vector<std::vector<int>> missing; // members without an operation, by collective; ascending
    for (size_t c = 0; c < plan.collectives.size(); ++c)
    {
        missing.push_back(index.MembersOf(static_cast<int>(c)));
        std::sort(missing.back().begin(), missing.back().end());
    }
    std::vector<size_t> taking(plan.collectives.size(), 0);
    const auto where = [](int collective)
    { return "step plan: collective " + std::to_string(collective) + ": "; };
    for (const StepRole& role : plan.roles)
    {
        for (const StepOperation& operation : role.operations)
        {
            for (size_t i = 0; operation.kind == OperationKind::Collective && i < role.ranks.size();
                 ++i)
            {
                const int c = ByRank(operation.collective, static_cast<int>(i), -1);
                if (!std::binary_search(missing[c].begin(), missing[c].end(), role.ranks[i]))
                {
                    throw Error(where(c) + "rank " + std::to_string(role.ranks[i]) +
                                " takes part, but is no member");
                }
                ++taking[c];
            }
        }
    }
    for (int c = 0; c < static_cast<int>(plan.collectives.size()); ++c)
    {
        const std::vector<int>& members = index.MembersOf(c);
        for (int member : members)
        {
            const PlanPlace place = index.At(member, index.OperationIn(c, index.RoleOf(member)));
            if (place.operation < 0 ||
                ByRank(index.OperationAt(place).collective, place.position, -1) != c)
            {
                throw Error(where(c) + "rank " + std::to_string(member) +
                            " is a member, but takes no part");
            }
        }
        if (taking[c] > members.size())
        {
            throw Error(where(c) + "is in two operations of a role");
        }
    }
}

/// Throws Error unless each message has both ends.
void CheckMessages(const PlanIndex& index)
{
    for (Instance instance : index.LoneEnds())
    {
        const PlanPlace place = index.PlaceOf(instance);
        const StepOperation& operation = index.OperationAt(place);
        const bool send = operation.kind == OperationKind::Send;
        throw Error("step plan: rank " + std::to_string(index.RankAt(place)) +
                    (send ? " sends to rank " : " receives from rank ") +
                    std::to_string(ByRank(operation.peer, place.position, 0)) + " with tag " +
                    std::to_string(operation.tag) + " (" +
                    NameOf(index.Plan().roles[place.role], place.operation) + "), which never " +
                    (send ? "receives that" : "sends that"));
    }
}

} // namespace

void CheckValues(const StepPlan& plan)
{
    CheckRange("step plan: ranks", plan.ranks, 1, INT64_MAX);
    CheckRange("step plan: host limit", plan.hostLimit, 0, INT64_MAX);
    if (!std::isfinite(plan.contention) || plan.contention < 0)
    {
        throw Error("step plan: contention", std::to_string(plan.contention), "0 or more");
    }
    for (const StepStream& stream : plan.streams)
    {
        CheckRange(
            "step plan: stream " + stream.name + ": device", stream.device, 0, kMostDevices - 1);
    }
    for (size_t c = 0; c < plan.collectives.size(); ++c)
    {
        const CollectiveSpec& spec = plan.collectives[c];
        CheckCollective(spec);
        if (spec.members.empty() && spec.bytes.size() != static_cast<size_t>(plan.ranks))
        {
            throw Error("step plan: collective " + std::to_string(c) + ": bytes",
                        std::to_string(spec.bytes.size()) + " sizes",
                        "one for each of " + std::to_string(plan.ranks) +
                            " ranks, or members for whom they are");
        }
        for (int member : spec.members)
        {
            CheckRange("step plan: collective " + std::to_string(c) + ": member",
                       member,
                       0,
                       plan.ranks - 1);
        }
    }
    CheckRoles(plan);
}

void CheckLinks(const PlanIndex& index)
{
    CheckMembers(index);
    CheckMessages(index);
    CheckEnds(index);
}

void CheckPlan(const StepPlan& plan)
{
    CheckValues(plan);
    CheckLinks(PlanIndex(plan));
}

} // namespace legacy::fabric
