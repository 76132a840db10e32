#include "stage-operations.h"

#include <algorithm>
#include <utility>

namespace legacy::fabric
{

std::vector<int> After(std::initializer_list<int> operations)
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

StageOperations::StageOperations(const StepTraffic& traffic,
                                 int stage,
                                 const AloneTimes* alone,
                                 ShardedPlan& result,
                                 std::map<const CollectiveGroups*, int>& first)
    : m_traffic(traffic),
      m_stage(stage),
      m_alone(alone),
      m_counts(alone && alone->counts),
      m_folded(alone && alone->folded),
      m_workers(WorkersOf(traffic, stage)),
      m_result(result),
      m_first(first)
{
    result.plan.roles[stage].ranks = m_folded ? std::vector<int>{stage} : m_workers;
}

int StageOperations::Add(StepOperation operation)
{
    std::vector<StepOperation>& operations = m_result.plan.roles[m_stage].operations;
    operations.push_back(std::move(operation));
    return static_cast<int>(operations.size()) - 1;
}

int StageOperations::AddSegment(const OperationName& name,
                                SegmentLabel label,
                                const std::vector<TimeNs>& duration,
                                std::vector<int> after)
{
    if (m_counts)
    {
        m_awaited.clear();
        return m_computed = Count();
    }
    StepOperation segment;
    segment.name = name.Text();
    segment.stream = static_cast<int>(ShardedStream::Compute);
    segment.label = label;
    segment.duration = OfRanks(duration);
    segment.after = std::move(after);
    segment.after.insert(segment.after.end(), m_awaited.begin(), m_awaited.end());
    m_awaited.clear();
    return m_computed = Add(std::move(segment));
}

int StageOperations::AddCollective(ShardedStream stream,
                                   const OperationName& name,
                                   const CollectiveGroups& groups,
                                   std::vector<int> after,
                                   int times)
{
    m_result.collectives[&groups] += times;
    if (m_counts)
    {
        return Count();
    }
    StepOperation operation = Carried(stream, name, std::move(after));
    if (m_folded)
    {
        operation.kind = OperationKind::Transfer;
        operation.duration = {times * LongestHere(groups)};
    }
    else
    {
        operation.collective = InGroups(groups, AppendToPlan(groups), operation.name);
    }
    return Add(std::move(operation));
}

int StageOperations::AddLast(const char* what, const CollectiveGroups& groups, int after)
{
    if (groups.empty() || !TakesPart(m_stage, groups))
    {
        return after;
    }
    const auto [entry, added] = m_first.try_emplace(&groups, 0);
    int& first = entry->second;
    if (added)
    {
        ++m_result.collectives[&groups];
        if (!m_counts)
        {
            first = m_folded ? AppendAmongStages(groups) : AppendToPlan(groups);
        }
    }
    if (m_counts)
    {
        return Count();
    }
    StepOperation operation = Carried(ShardedStream::Reduce, what, After({after}));
    operation.collective =
        m_folded ? std::vector<int>{first} : InGroups(groups, first, operation.name);
    return Add(std::move(operation));
}

/// Returns a collective that is in none.
StepOperation
StageOperations::Carried(ShardedStream stream, const OperationName& name, std::vector<int> after)
{
    static constexpr int kCommunicators[] = {kNoCommunicator, 0, 0, 1, 2, kNoCommunicator, 3, 4};
    StepOperation operation;
    operation.kind = OperationKind::Collective;
    operation.name = name.Text();
    operation.stream = static_cast<int>(stream);
    operation.after = std::move(after);
    operation.communicator = kCommunicators[static_cast<size_t>(stream)];
    operation.issue = m_issued[operation.communicator]++;
    return operation;
}

/// Returns the collective of each worker of the stage, of a list that is in the plan from `first`
/// on.
std::vector<int>
StageOperations::InGroups(const CollectiveGroups& groups, int first, const std::string& name) const
{
    if (groups.size() == 1)
    {
        return {first};
    }
    std::vector<int> collectives;
    for (int group : GroupsOf(groups, m_workers, true, name))
    {
        collectives.push_back(first + group);
    }
    return collectives;
}

bool StageOperations::TakesPart(int stage, const CollectiveGroups& groups) const
{
    return GroupsOf(groups, WorkersOf(m_traffic, stage), true, "stage").front() >= 0;
}

const std::vector<TimeNs>& StageOperations::TimesOf(const CollectiveGroups& groups) const
{
    return m_alone->collectives.at(&groups);
}

/// Returns the time after which a list has ended for the last of some workers.
TimeNs StageOperations::LongestOf(const CollectiveGroups& groups,
                                  const std::vector<int>& workers) const
{
    TimeNs longest = 0;
    for (int worker : workers)
    {
        longest = std::max(longest, TimesOf(groups)[worker]);
    }
    return longest;
}

/// Returns the same of the workers of the stage, which is found once.
TimeNs StageOperations::LongestHere(const CollectiveGroups& groups)
{
    const auto [entry, added] = m_longest.try_emplace(&groups, 0);
    if (added)
    {
        entry->second = LongestOf(groups, m_workers);
    }
    return entry->second;
}

/// Adds the collectives of a list to the plan, with the times that they take alone if these are
/// given, and returns the number of the first.
int StageOperations::AppendToPlan(const CollectiveGroups& groups)
{
    const int first = static_cast<int>(m_result.plan.collectives.size());
    for (const CollectiveSpec& group : groups)
    {
        CollectiveSpec& spec = m_result.plan.collectives.emplace_back(group);
        if (m_alone)
        {
            spec.times.clear();
        }
        for (size_t i = 0; m_alone && i < spec.bytes.size(); ++i)
        {
            spec.times.push_back(TimesOf(groups)[spec.members.empty() ? i : spec.members[i]]);
        }
    }
    return first;
}

/// Adds one collective among the stages that take part in a list to a folded plan.
int StageOperations::AppendAmongStages(const CollectiveGroups& groups)
{
    const int first = static_cast<int>(m_result.plan.collectives.size());
    CollectiveSpec& spec = m_result.plan.collectives.emplace_back(groups.front());
    spec.members.clear();
    spec.times.clear();
    for (int stage = 0; stage < static_cast<int>(m_traffic.sharded->stages.size()); ++stage)
    {
        if (TakesPart(stage, groups))
        {
            spec.members.push_back(stage);
            spec.times.push_back(LongestOf(groups, WorkersOf(m_traffic, stage)));
        }
    }
    spec.bytes.assign(spec.members.size(), groups.front().bytes.front());
    return first;
}

void StageOperations::Await(int operation)
{
    m_awaited.push_back(operation);
}

/// Returns the part of the model that a step computes.
int StageOperations::PartOf(const PipelineStep& step) const
{
    return step.chunk * static_cast<int>(m_traffic.sharded->stages.size()) + m_stage;
}

/// Returns whether the model has such a part.
bool StageOperations::IsPart(int part) const
{
    const std::vector<ShardedStage>& stages = m_traffic.sharded->stages;
    return part >= 0 && part < static_cast<int>(stages.size() * stages[0].chunks.size());
}

/// Returns an end of the message that part `sender` of the model sends, whose other end is at part
/// `other`.
StepOperation
StageOperations::Message(OperationKind kind, int other, int sender, int direction) const
{
    const auto stage =
        static_cast<int>(static_cast<size_t>(other) % m_traffic.sharded->stages.size());
    StepOperation message;
    message.kind = kind;
    message.name = OperationName(kind == OperationKind::Send ? "send" : "receive", sender).Text();
    message.stream = static_cast<int>(ShardedStream::Pipe);
    message.tag = 2 * sender + direction;
    message.peer = m_folded ? std::vector<int>{stage} : WorkersOf(m_traffic, stage);
    return message;
}

void StageOperations::Receive(const PipelineStep& step, MessageDirection direction)
{
    const int from = PartOf(step) + (direction == kToNext ? -1 : 1);
    if (IsPart(from) && !m_counts)
    {
        m_awaited.push_back(Add(Message(OperationKind::Receive, from, from, direction)));
    }
}

void StageOperations::Send(const PipelineStep& step, MessageDirection direction)
{
    const int to = PartOf(step) + (direction == kToNext ? 1 : -1);
    if (!IsPart(to))
    {
        return;
    }
    ++m_result.messages[m_stage][direction];
    if (m_counts)
    {
        return;
    }
    StepOperation send = Message(OperationKind::Send, to, PartOf(step), direction);
    send.bytes = m_traffic.sharded->messageBytes;
    send.after = After({m_computed});
    send.after.insert(send.after.end(), m_awaited.begin(), m_awaited.end());
    if (m_alone)
    {
        const std::vector<TimeNs>& times = m_alone->messages[m_stage][direction];
        send.duration = times;
        if (m_folded)
        {
            send.duration = {*std::max_element(times.begin(), times.end())};
        }
    }
    Add(std::move(send));
}

} // namespace legacy::fabric
