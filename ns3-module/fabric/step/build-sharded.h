// The step of a divided model as a plan.
#pragma once

#include "step-plan.h"
#include "step.h"

#include <array>
#include <functional>
#include <map>
#include <vector>

namespace legacy::fabric
{

/// CollectiveGroups are a list of a ShardedTraffic: one collective for each group of workers.
using CollectiveGroups = std::vector<CollectiveSpec>;

/// AloneTimes say how long everything that travels takes alone on the network, and which workers
/// need not be told apart.
struct AloneTimes
{
    /// Each list of the traffic itself has its times, one for each worker.
    std::map<const CollectiveGroups*, std::vector<TimeNs>> collectives;
    /// Messages of the workers of each stage to the next one in a forward pass, and to the one
    /// before in a backward pass, by place in the stage.
    std::vector<std::array<std::vector<TimeNs>, 2>> messages;
    /// True: all workers of a stage compute equally long, so that the plan has one rank for each
    /// stage. What travels then ends for all of them when it ends for the last one.
    bool folded = false;
    /// True: how often what travels is all that is asked for, so that there are no times, and the
    /// plan has no operations.
    bool counts = false;
};

/// A ShardedPlan is such a plan, and how often it runs what.
struct ShardedPlan
{
    StepPlan plan;
    std::map<const CollectiveGroups*, int64_t> collectives;
    std::vector<std::array<int64_t, 2>> messages; ///< as in AloneTimes
};

/// Returns the plan of such a step, with a role for each stage. The order of operations is that of
/// the frameworks (docs/sharding.md):
///  * A gather is issued when the unit `prefetch` gathers before it is about to be used, in the
///    order of use, over the forward and the backward pass. As the host runs ahead of the device,
///    it begins as soon as it may: after the gather before it, and once there is room for it.
///  * The reduction of a unit is issued when its last part of the backward pass has been computed.
///  * Gathers and reductions share a communicator, so that they run in the order of their issue;
///    sums over copies of the model have another one.
///  * Where workers agree on what they send, all reductions of the last pass are issued after that.
///  * A worker sums the messages that it owns when their reduction has ended: before it packs the
///    next unit where one reduction is in flight, else after the backward pass.
///  * The collectives of a segment stand at equal distances in it, and the device waits for each.
///    What it computes beside one begins with it, and ends before what follows.
///  * Stages compute in their schedule's order. A message leaves when its pass has been computed;
///    nothing waits until it has arrived but the pass that needs it.
///  * The update begins when all reductions, and what is announced after them, have ended.
/// Throws Error, with the stage, unit or segment, on lists of the wrong length, negative times,
/// units that no segment uses or several chunks do, and groups that miss a worker or have one
/// twice.
StepPlan BuildSharded(const StepTraffic& traffic);
/// The same of collectives and messages that take their times alone, in a traffic that CheckSharded
/// took.
ShardedPlan BuildSharded(const StepTraffic& traffic, const AloneTimes* alone);

/// Calls `use` with each list of collectives of the traffic.
template <typename Traffic, typename Use>
void ForEachGroups(Traffic& traffic, const Use& use)
{
    for (auto& stage : traffic.stages)
    {
        for (auto& unit : stage.units)
        {
            for (auto* groups :
                 {&unit.gather, &unit.gatherAgain, &unit.first, &unit.reduce, &unit.replicas})
            {
                use(*groups);
            }
        }
        for (auto& chunk : stage.chunks)
        {
            for (auto& segment : chunk)
            {
                for (auto& sums : segment.sums)
                {
                    use(sums.sum);
                }
            }
        }
    }
    use(traffic.agreement);
    use(traffic.tied);
    use(traffic.announcements);
}

/// Calls `use` with each list of collectives that a step runs and how often it does, in the order
/// of the stages. Messages between stages are broadcasts to one member.
void ForEachUse(const StepTraffic& traffic,
                const std::function<void(const CollectiveGroups& groups, int64_t times)>& use);

/// Returns the messages that the workers of a stage send after a forward pass, or a backward pass,
/// as broadcasts to one member; none where no stage is next.
CollectiveGroups MessagesOf(const StepTraffic& traffic, int stage, int direction);

/// Returns the workers of a stage.
std::vector<int> WorkersOf(const StepTraffic& traffic, int stage);

/// Returns the group of each of `workers`. Throws Error, naming `what`, unless each is in one and
/// nobody else is; with `some`, workers may be in none.
std::vector<int> GroupsOf(const CollectiveGroups& groups,
                          const std::vector<int>& workers,
                          bool some,
                          const std::string& what);

/// Throws Error as BuildSharded does. Internal to fabric/.
void CheckSharded(const StepTraffic& traffic);

} // namespace legacy::fabric
