#include "stage-gathers.h"

namespace legacy::fabric
{

std::vector<std::vector<Visit>> VisitsOf(const ShardedStage& stage)
{
    std::vector<std::vector<Visit>> all;
    for (const std::vector<ShardedSegment>& segments : stage.chunks)
    {
        std::vector<Visit>& visits = all.emplace_back();
        for (int s = 0; s < static_cast<int>(segments.size()); ++s)
        {
            if (visits.empty() || visits.back().unit != segments[s].unit)
            {
                visits.push_back({segments[s].unit, s, s});
            }
            visits.back().last = s;
        }
    }
    return all;
}

StageGathers::StageGathers(const ShardedTraffic& step,
                           int stage,
                           const std::vector<PipelineStep>& order,
                           StageOperations& operations)
    : m_step(step),
      m_units(step.stages[stage].units),
      m_operations(operations)
{
    const std::vector<std::vector<Visit>> all = VisitsOf(step.stages[stage]);
    std::vector<bool> there(m_units.size(), step.gathers == GatherTime::StepEnd);
    for (const PipelineStep& one : order)
    {
        const std::vector<Visit>& visits = all[one.chunk];
        if (one.kind == PipelineStep::Kind::Forward)
        {
            for (const Visit& visit : visits)
            {
                Need(visit, false, there);
            }
        }
        if (one.kind == PipelineStep::Kind::Backward)
        {
            for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit)
            {
                Need(*visit, true, there);
            }
            if (step.gathers == GatherTime::EachUse && step.stages.size() == 1)
            {
                there.assign(there.size(), false);
            }
        }
    }
}

/// Lists the gather of a visit, unless its weights are there.
void StageGathers::Need(const Visit& visit, bool again, std::vector<bool>& there)
{
    const ShardedUnit& unit = m_units[visit.unit];
    const bool needs = !unit.gather.empty() && !there[visit.unit];
    m_needs.push_back(needs);
    if (needs)
    {
        m_gathers.push_back({visit.unit, again});
        there[visit.unit] = m_step.gathers == GatherTime::StepBegin || unit.kept;
    }
}

/// Issues a gather, which begins when there is room for it.
void StageGathers::Issue(size_t number)
{
    Gather& gather = m_gathers[number];
    const ShardedUnit& unit = m_units[gather.unit];
    std::vector<int> after;
    if (m_step.gathers == GatherTime::EachUse)
    {
        const auto ahead = static_cast<size_t>(m_step.prefetch);
        if (m_step.prefetch == 0)
        {
            after = After({m_operations.Computed()});
        }
        else if (number > ahead)
        {
            const Gather& before = m_gathers[number - ahead - 1];
            after = {m_step.freesAfterUse ? before.used : before.unpacked};
        }
    }
    gather.operation = m_operations.AddCollective(
        ShardedStream::Gather,
        {"AG", gather.unit},
        gather.again && !unit.gatherAgain.empty() ? unit.gatherAgain : unit.gather,
        std::move(after));
}

void StageGathers::Unpack(int unit, int gathered)
{
    m_operations.AddSegment(
        {"unpack", unit}, SegmentLabel::Compute, m_units[unit].unpack, {gathered});
}

void StageGathers::GatherAll()
{
    const int updated = m_operations.Computed();
    for (size_t unit = 0; unit < m_units.size(); ++unit)
    {
        const int number = static_cast<int>(unit);
        if (!m_units[unit].gather.empty())
        {
            const int gathered = m_operations.AddCollective(
                ShardedStream::Gather, {"AG", number}, m_units[unit].gather, {updated});
            Unpack(number, gathered);
        }
    }
}

void StageGathers::Enter(const Visit& visit)
{
    m_current = kNoOperation;
    if (!m_needs[m_visit++])
    {
        return;
    }
    const size_t ahead =
        m_step.gathers == GatherTime::StepBegin ? m_gathers.size() : m_entered + m_step.prefetch;
    while (m_next < m_gathers.size() && m_next <= ahead)
    {
        Issue(m_next++);
    }
    m_current = static_cast<int>(m_entered++);
    Unpack(visit.unit, m_gathers[m_current].operation);
    m_gathers[m_current].unpacked = m_operations.Computed();
}

void StageGathers::Leave()
{
    if (m_current != kNoOperation)
    {
        m_gathers[m_current].used = m_operations.Computed();
    }
}

} // namespace legacy::fabric
