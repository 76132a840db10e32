// The traffic of a step whose weights, gradients or optimizer states are sharded: each unit's
// weights are gathered before they are used, and its gradients are reduced to the ranks that own
// them. ZeRO (Rajbhandari et al., SC'20), FSDP (Zhao et al., VLDB'23) and hybrids of them and data
// parallelism are such steps; they differ in what is gathered when, and in what waits for what.
//
// Times are nanoseconds by worker, or one for all workers; none is 0. Lists of collectives have one
// for each group of workers; the groups of a list share no worker, and every worker is in one.
#pragma once

#include "fabric/collective/collective.h"

#include <cstdint>
#include <vector>

namespace legacy::fabric
{

/// A ShardedUnit is a set of tensors that are gathered and reduced together.
struct ShardedUnit
{
    /// All-gathers of its weights. Empty: every worker has them.
    std::vector<CollectiveSpec> gather;
    /// Those before the backward pass, if they are others, as with copies inside nodes (hpZ).
    std::vector<CollectiveSpec> gatherAgain;
    bool kept = false;          ///< its weights stay from the forward to the backward pass
    std::vector<TimeNs> unpack; ///< what the device does with gathered weights before their use
    std::vector<TimeNs> pack;   ///< what it does with gradients before their reduction
    std::vector<TimeNs> encode; ///< what it does to compress them after that
    /// What travels before `reduce`: the lengths of its messages, or messages inside nodes. Empty:
    /// nothing.
    std::vector<CollectiveSpec> first;
    std::vector<TimeNs> between; ///< what the device does between these; empty: nothing
    /// Reduce-scatters, or all-reduces, of its gradients; or all-to-alls of messages to the owners.
    std::vector<CollectiveSpec> reduce;
    std::vector<TimeNs> sum; ///< what the device does with the messages that it owns
    /// All-reduces of a worker's part of the sum over the copies of the model. Empty: one copy.
    std::vector<CollectiveSpec> replicas;
};

/// A ShardedSegment is a part of the forward pass that needs one unit, and what belongs to it in
/// the backward pass.
struct ShardedSegment
{
    int unit = 0;
    std::vector<TimeNs> forward;
    std::vector<TimeNs> recompute; ///< of activations that were not kept
    std::vector<TimeNs> backward;
};

/// A GatherTime says when weights are gathered.
enum class GatherTime : uint8_t
{
    EachUse,   ///< before each pass that uses them; they are freed after it
    StepBegin, ///< before the first use in the step; workers have all weights during the step
    StepEnd,   ///< after the update
};

/// ShardedTraffic is all that such a step asks of devices and network.
struct ShardedTraffic
{
    std::vector<ShardedUnit> units;
    std::vector<ShardedSegment> segments; ///< in the order of the forward pass
    std::vector<TimeNs> update;           ///< of the part that a worker owns
    /// Collectives among all workers that the update waits for, after the reductions. Empty: none.
    std::vector<CollectiveSpec> announcements;
    std::vector<TimeNs> announce; ///< what the device does before them
    int passes = 1;               ///< forward and backward passes, whose gradients add up
    bool reducesEach = true;      ///< after each pass; false: after the last one
    GatherTime gathers = GatherTime::EachUse;
    /// With EachUse: how many units are gathered ahead of the one that is used. 0: a gather begins
    /// when the device has done all before its unit.
    int prefetch = 1;
    /// True: a gather waits until the unit `prefetch` + 1 gathers before it was used. False: until
    /// its weights were unpacked.
    bool freesAfterUse = false;
    /// True: gradients are packed when the reduction before has ended, and so the device waits.
    bool oneReduction = false;
    /// True: the device waits for each reduction.
    bool reductionsBlock = false;
    /// True: each collective takes as long as it does alone on the network, from the time at which
    /// its last member begins it. False: collectives share links.
    bool alone = false;
};

} // namespace legacy::fabric
