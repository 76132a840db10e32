// The parts of a step say where its time went at one rank: what its device did, and for what it
// waited.
#pragma once

#include "plan-graph.h"
#include "step-plan.h"

#include <array>
#include <vector>

namespace legacy::fabric
{

/// StepParts say what each nanosecond of a step was at one rank. The parts add up to the step.
struct StepParts
{
    /// Device 0, which "the device" is in these parts, ran a segment, by SegmentLabel.
    std::array<TimeNs, kSegmentLabels> segments{};
    /// The device was idle, and what ran next (or the end of the rank) waited for a collective or a
    /// message of that stream, which was being carried, or for a segment of another device of that
    /// stream; by stream.
    std::vector<TimeNs> exposed;
    /// It was idle until a time that the plan sets, or until another rank sent a message.
    TimeNs scheduled = 0;
    /// It was idle because of slower ranks: until the last member of a collective had begun it, or
    /// after the rank's own end.
    TimeNs wait = 0;
    /// Time in which a stream carried something and was not exposed: compute ran, or the device
    /// waited for another stream. It is no part of the step; exposed + hidden = the stream's busy
    /// time. A collective is carried from the time at which all of its members have begun it.
    std::vector<TimeNs> hidden;

    TimeNs Total() const;
};

/// Returns the parts of a step at a rank. Throws Error where there is no such rank, and where the
/// times are not those of the plan.
StepParts PartsOf(const StepPlan& plan, const PlanTiming& timing, int rank);

/// Returns the parts at every rank. Throws Error where the times are not those of the plan.
std::vector<StepParts> PartsOf(const StepPlan& plan, const PlanTiming& timing);

/// Returns the rank that ends last, the lowest of several.
int CriticalRank(const PlanTiming& timing);

} // namespace legacy::fabric
