// A sharded step as a plan.
#pragma once

#include "step-plan.h"
#include "step.h"

namespace legacy::fabric
{

/// The streams of such a plan, as indices of StepPlan::streams.
enum class ShardedStream : uint8_t
{
    Compute,
    Gather,
    Reduce,
    Replica,
};
inline constexpr int kShardedStreams = 4;

/// Returns the plan of a sharded step, of one role. The order of operations is that of the
/// frameworks (docs/sharding.md):
///  * A gather is issued when the unit `prefetch` gathers before it is about to be used, in the
///    order of use, over the forward and the backward pass. As the host runs ahead of the device,
///    it begins as soon as it may: after the gather before it, and once there is room for it.
///  * The reduction of a unit is issued when its last part of the backward pass has been computed.
///  * Gathers and reductions share a communicator, so that they run in the order of their issue;
///    sums over copies of the model have another one.
///  * A worker sums the messages that it owns when their reduction has ended: before it packs the
///    next unit where one reduction is in flight, else after the backward pass.
///  * The update begins when all reductions, and what is announced after them, have ended.
/// Throws Error, with the unit or the segment, on lists of the wrong length, negative times, units
/// that no segment uses, and groups that miss a worker or have one twice.
StepPlan BuildSharded(const StepTraffic& traffic);

} // namespace legacy::fabric
