// The traffic of a step whose model is divided among workers. Weights, gradients or optimizer
// states may be sharded: each unit's weights are gathered before they are used, and its gradients
// are reduced to the workers that own them. ZeRO (Rajbhandari et al., SC'20), FSDP (Zhao et al.,
// VLDB'23) and hybrids of them and data parallelism are such steps; they differ in what is gathered
// when, and in what waits for what. Layers may be divided, too: tensor parallelism (Megatron-LM,
// Shoeybi et al. 2019) sums activations within a pass, context parallelism (ring attention, Liu et
// al. 2023) passes keys and values on, expert parallelism (GShard, Lepikhin et al. 2021) sends
// tokens to experts and back, and pipeline parallelism (Narayanan et al., SC'21) has stages, which
// send activations and their gradients to each other.
//
// Times are nanoseconds by worker of a stage, or one for all of its workers; none is 0. Lists of
// collectives have one for each group of workers; the groups of a list share no worker, and every
// worker of the stage is in one.
#pragma once

#include "fabric/collective/collective.h"
#include "pipeline-order.h"

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
    /// The lengths of messages, or messages inside nodes, which travel before `reduce`. Empty:
    /// nothing travels.
    std::vector<CollectiveSpec> first;
    std::vector<TimeNs> between; ///< what the device does between these; empty: nothing
    /// Reduce-scatters, or all-reduces, of its gradients; or all-to-alls of messages to the owners.
    std::vector<CollectiveSpec> reduce;
    std::vector<TimeNs> sum; ///< what the device does with the messages that it owns
    /// All-reduces of a worker's part of the sum over the copies of the model. Empty: one copy.
    std::vector<CollectiveSpec> replicas;
};

/// The streams of a step, as indices of StepPlan::streams.
enum class ShardedStream : uint8_t
{
    Compute,
    Gather,
    Reduce,
    Replica,
    Tensor,  ///< sums of activations
    Pipe,    ///< messages between stages
    Context, ///< keys and values among workers that divide positions
    Expert,  ///< tokens to experts, and back
};
inline constexpr int kShardedStreams = 8;

/// TensorSums are collectives of activations, or of their gradients, among the workers that divide
/// the tensors, positions or experts of a segment. The device waits for each of them, and may
/// compute a part of the pass meanwhile.
struct TensorSums
{
    std::vector<CollectiveSpec> sum;
    int forward = 0;   ///< how many a forward pass has
    int recompute = 0; ///< how many belong to activations that are computed again
    int backward = 0;
    ShardedStream stream = ShardedStream::Tensor;
    /// The part of the pass that the device computes beside each of them; empty: none.
    std::vector<TimeNs> beside = {};
};

/// A ShardedSegment is a part of the forward pass that needs one unit, and what belongs to it in
/// the backward pass.
struct ShardedSegment
{
    int unit = 0;
    std::vector<TimeNs> forward;
    std::vector<TimeNs> recompute; ///< of activations that were not kept
    std::vector<TimeNs> backward;
    /// The part of `backward` that computes gradients of weights, which nothing waits for.
    std::vector<TimeNs> weights = {};
    std::vector<TensorSums> sums = {};
};

/// A ShardedStage is the part of the model that some workers compute. Without pipeline parallelism
/// there is one stage.
struct ShardedStage
{
    std::vector<int> workers; ///< those of all stages are as many; empty: all, in their order
    std::vector<ShardedUnit> units;
    /// Its chunks, each with segments in the order of the forward pass. Chunk c of stage s is part
    /// c S + s of the model, of S stages.
    std::vector<std::vector<ShardedSegment>> chunks;
    std::vector<TimeNs> update; ///< of the part that a worker owns
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
    std::vector<ShardedStage> stages;
    PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
    /// The worker at a place in one stage sends so many bytes to that at the same place in the next
    /// stage after a forward pass, and gets as many back in the backward pass.
    int64_t messageBytes = 0;
    /// Collectives that all reductions wait for, after the backward passes: workers agree on what
    /// they send. Empty: they need not.
    std::vector<CollectiveSpec> agreement;
    std::vector<TimeNs> agree; ///< what the device does before them
    /// Collectives that the update of their members waits for, after the reductions: sums of what
    /// two stages hold (tied weights), and announcements. Workers in none take no part.
    std::vector<CollectiveSpec> tied;
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
    /// True: each collective and message takes as long as it does alone on the network, from the
    /// time at which its last member begins it. False: they share links.
    bool alone = false;
};

} // namespace legacy::fabric
