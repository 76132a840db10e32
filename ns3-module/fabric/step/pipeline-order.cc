#include "pipeline-order.h"

#include "base/error.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

using Kind = PipelineStep::Kind;

/// Returns the passes of one kind in their order: microbatches in groups of as many as there are
/// stages, and a group's chunks one after the other. The last group takes what is left.
std::vector<PipelineStep> InGroups(Kind kind, int stages, int chunks, int passes)
{
    std::vector<PipelineStep> steps;
    const int group = chunks == 1 ? passes : stages;
    for (int first = 0; first < passes; first += group)
    {
        const int end = std::min(first + group, passes);
        for (int i = 0; i < chunks; ++i)
        {
            for (int pass = first; pass < end; ++pass)
            {
                steps.push_back({kind, pass, kind == Kind::Forward ? i : chunks - 1 - i});
            }
        }
    }
    return steps;
}

/// Returns how many forward passes a stage computes before its first backward pass.
int WarmUp(PipelineSchedule schedule, int stages, int chunks, int passes, int stage)
{
    const int all = chunks * passes;
    if (schedule == PipelineSchedule::GPipe || (chunks > 1 && passes == stages))
    {
        return all;
    }
    const int behind = stages - stage - 1;
    return std::min(all, chunks == 1 ? behind : 2 * behind + (chunks - 1) * stages);
}

/// Adds the gradients of weights, which stage s computes s microbatches after those of inputs.
std::vector<PipelineStep> WithLateWeights(const std::vector<PipelineStep>& steps, int stage)
{
    std::vector<PipelineStep> late;
    int backward = 0;
    int weights = 0;
    for (const PipelineStep& step : steps)
    {
        late.push_back(step);
        backward += step.kind == Kind::Backward ? 1 : 0;
        for (; backward - weights > stage; ++weights)
        {
            late.push_back({Kind::Weights, weights, 0});
        }
    }
    for (; weights < backward; ++weights)
    {
        late.push_back({Kind::Weights, weights, 0});
    }
    return late;
}

} // namespace

std::vector<PipelineStep>
PipelineOrder(PipelineSchedule schedule, int stages, int chunks, int passes, int stage)
{
    if (chunks > 1 && schedule != PipelineSchedule::OneForwardOneBackward)
    {
        throw Error("pipeline: schedule", "several chunks", "1f1b, the only one that has chunks");
    }
    if (chunks > 1 && passes % stages != 0)
    {
        throw Error("pipeline: microbatches",
                    std::to_string(passes),
                    "a multiple of the " + std::to_string(stages) + " stages with several chunks");
    }
    const std::vector<PipelineStep> forward = InGroups(Kind::Forward, stages, chunks, passes);
    const std::vector<PipelineStep> backward = InGroups(Kind::Backward, stages, chunks, passes);
    const auto warm = static_cast<size_t>(WarmUp(schedule, stages, chunks, passes, stage));
    std::vector<PipelineStep> steps(forward.begin(), forward.begin() + static_cast<long>(warm));
    for (size_t i = warm; i < forward.size(); ++i)
    {
        steps.push_back(forward[i]);
        steps.push_back(backward[i - warm]);
    }
    steps.insert(steps.end(), backward.end() - static_cast<long>(warm), backward.end());
    return schedule == PipelineSchedule::ZeroBubbleH1 ? WithLateWeights(steps, stage) : steps;
}

} // namespace legacy::fabric
