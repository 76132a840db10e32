// DDP's step as a plan: the backward pass, and the collective calls of buckets beside it.
#pragma once

#include "step-plan.h"
#include "step.h"

#include <vector>

namespace legacy::fabric
{

/// A DdpPlan is the plan of a step of buckets, with the operations in which they end.
struct DdpPlan
{
    /// A Bucket has operations of the plan's one role.
    struct Bucket
    {
        std::vector<int> calls; ///< collectives
        int last = 0;           ///< the one with which the bucket ends
    };

    StepPlan plan;
    std::vector<Bucket> buckets;
};

/// Returns the step as a plan of one role, whose times on any engine are those of the step:
/// operation 0 is a segment until `deviceFree`; the first operation of each bucket begins at its
/// `ready` time, and the others follow one another. Buckets do not wait for each other, but for the
/// device. With contention the first operations are the backward pass in segments, one until each
/// bucket is ready and one until the device is free; what the device does for buckets follows them.
/// Throws Error as StepGraph does, except on invalid collectives.
DdpPlan BuildDdp(const StepTraffic& traffic);

/// Returns the same plan with the backward pass in segments, as with contention, so that no
/// operation waits for a time: for those who know of operations alone. Where the buckets of each
/// worker become ready in their order, its times are those of the step.
StepPlan BuildDdpInSegments(const StepTraffic& traffic);

} // namespace legacy::fabric
