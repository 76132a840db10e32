// The canonical text of a step's traffic, and checks that it is complete.
#include "check-traffic.h"
#include "last-collective.h"
#include "step.h"

#include "base/error.h"

#include <algorithm>
#include <tuple>

namespace legacy::fabric
{

void AppendCanonical(std::string& text, const std::vector<int64_t>& values)
{
    const auto count = static_cast<int64_t>(values.size());
    text.append(reinterpret_cast<const char*>(&count), sizeof(count));
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
}

namespace
{

void AppendReal(std::string& text, double value)
{
    text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

} // namespace

void AppendCanonical(std::string& text, const CollectiveSpec& spec)
{
    AppendCanonical(text,
                    {static_cast<int64_t>(spec.algorithm),
                     spec.root,
                     spec.pullBytes,
                     spec.servers,
                     spec.group,
                     spec.channels,
                     static_cast<int64_t>(spec.protocol),
                     spec.firstAggregator,
                     spec.pieceBytes,
                     spec.window,
                     static_cast<int64_t>(spec.order),
                     spec.relays ? 1 : 0,
                     static_cast<int64_t>(spec.pairBytes.size())});
    AppendCanonical(text, spec.bytes);
    AppendCanonical(text, spec.sumBytes);
    if (spec.serve > 0)
    {
        AppendCanonical(text, {-1, spec.serve});
    }
    for (const Shard& shard : spec.shards)
    {
        AppendCanonical(text, {-2, shard.push, shard.pull});
    }
    if (!spec.pairBytes.empty())
    {
        AppendCanonical(text, spec.pairBytes);
    }
    if (spec.algorithm == CollectiveAlgorithm::BlockSparse)
    {
        AppendCanonical(text, {spec.slots, spec.blockBytes});
    }
    for (const HopSlice& slice : spec.slices)
    {
        AppendCanonical(text, slice.payload);
        AppendCanonical(text, slice.headers);
    }
    if (!spec.slices.empty())
    {
        AppendCanonical(text, {static_cast<int64_t>(spec.slices.size()), spec.hops.launch});
        AppendReal(text, spec.hops.pace);
        for (double factor : spec.hops.factors)
        {
            AppendReal(text, factor);
        }
    }
    AppendCanonical(text, {spec.parents.begin(), spec.parents.end()});
    if (!spec.times.empty())
    {
        AppendCanonical(text, {-3});
        AppendCanonical(text, spec.times);
    }
    if (spec.protocol != Protocol::None)
    {
        AppendCanonical(text, {static_cast<int64_t>(spec.gpus)});
        AppendReal(text, spec.pace.inside);
        AppendReal(text, spec.pace.across);
    }
    if (!spec.members.empty())
    {
        // A number of members below 0 tells them from the times that follow a collective.
        AppendCanonical(text, {-static_cast<int64_t>(spec.members.size())});
        AppendCanonical(text, {spec.members.begin(), spec.members.end()});
    }
}

bool DifferInMembersAlone(const CollectiveSpec& a, const CollectiveSpec& b)
{
    const auto settings = [](const CollectiveSpec& spec)
    {
        return std::tie(spec.algorithm,
                        spec.root,
                        spec.pullBytes,
                        spec.serve,
                        spec.servers,
                        spec.slots,
                        spec.blockBytes,
                        spec.group,
                        spec.channels,
                        spec.protocol,
                        spec.gpus,
                        spec.pace.inside,
                        spec.pace.across,
                        spec.firstAggregator,
                        spec.order,
                        spec.relays,
                        spec.pieceBytes,
                        spec.window,
                        spec.hops.launch,
                        spec.hops.pace);
    };
    const auto lists = [](const CollectiveSpec& spec)
    {
        return std::tie(
            spec.bytes, spec.sumBytes, spec.parents, spec.pairBytes, spec.times, spec.hops.factors);
    };
    // Shards and slices are not compared: few collectives have them.
    return settings(a) == settings(b) && a.members.size() == b.members.size() &&
           lists(a) == lists(b) && a.shards.empty() && b.shards.empty() && a.slices.empty() &&
           b.slices.empty();
}

namespace
{

constexpr double kMostContention = 100;

/// Throws Error unless there is one time >= 0 for each worker, or none where `optional` is true.
void CheckTimes(const std::vector<TimeNs>& times,
                int workers,
                bool optional,
                const std::string& what)
{
    if (optional && times.empty())
    {
        return;
    }
    if (times.size() != static_cast<size_t>(workers))
    {
        throw Error("step: " + what,
                    std::to_string(times.size()) + " times",
                    "one for each of " + std::to_string(workers) + " workers");
    }
    for (TimeNs time : times)
    {
        if (time < 0)
        {
            throw Error("step: " + what, std::to_string(time) + " ns", "0 ns or more");
        }
    }
}

/// Throws Error unless the members, where there are any, are all workers in some order.
void CheckAllTakePart(const CollectiveSpec& spec, int workers, const std::string& at)
{
    for (int member : spec.members)
    {
        if (member < 0 || member >= workers)
        {
            throw Error("step: " + at + ": members",
                        "worker " + std::to_string(member),
                        "0 to " + std::to_string(workers - 1));
        }
    }
}

} // namespace

void CheckTraffic(const StepTraffic& traffic)
{
    if (traffic.workers < 1)
    {
        throw Error("step: workers", std::to_string(traffic.workers), "1 or more");
    }
    if (!(traffic.contention >= 0 && traffic.contention <= kMostContention))
    {
        throw Error("step: contention", std::to_string(traffic.contention), "0 to 100");
    }
    if (traffic.sharded)
    {
        throw Error("step: a sharded step has no buckets");
    }
    CheckTimes(traffic.deviceFree, traffic.workers, false, "deviceFree");
    for (size_t b = 0; b < traffic.buckets.size(); ++b)
    {
        const BucketTraffic& bucket = traffic.buckets[b];
        const std::string where = "bucket " + std::to_string(b);
        CheckTimes(bucket.ready, traffic.workers, false, where + ": ready");
        CheckTimes(bucket.decode, traffic.workers, true, where + ": decode");
        for (size_t r = 0; r < bucket.calls.size(); ++r)
        {
            const CallTraffic& call = bucket.calls[r];
            const std::string at = where + ", call " + std::to_string(r);
            CheckTimes(call.computeBefore, traffic.workers, true, at + ": computeBefore");
            if (call.collective.bytes.size() != static_cast<size_t>(traffic.workers))
            {
                throw Error("step: " + at + ": bytes",
                            std::to_string(call.collective.bytes.size()) + " sizes",
                            "one for each of " + std::to_string(traffic.workers) + " workers");
            }
            CheckAllTakePart(call.collective, traffic.workers, at);
            if (r == 0 && std::any_of(call.computeBefore.begin(),
                                      call.computeBefore.end(),
                                      [](TimeNs time) { return time > 0; }))
            {
                throw Error("step: " + at + ": work before the first call belongs in 'ready'");
            }
        }
    }
}

namespace
{

void AppendGroups(std::string& text, const std::vector<CollectiveSpec>& groups)
{
    AppendCanonical(text, {static_cast<int64_t>(groups.size())});
    for (const CollectiveSpec& spec : groups)
    {
        AppendCanonical(text, spec);
    }
}

void AppendUnit(std::string& text, const ShardedUnit& unit)
{
    AppendCanonical(text, {unit.kept ? 1 : 0});
    for (const auto* groups :
         {&unit.gather, &unit.gatherAgain, &unit.first, &unit.reduce, &unit.replicas})
    {
        AppendGroups(text, *groups);
    }
    for (const auto* times : {&unit.unpack, &unit.pack, &unit.encode, &unit.between, &unit.sum})
    {
        AppendCanonical(text, *times);
    }
}

void AppendSegment(std::string& text, const ShardedSegment& segment)
{
    AppendCanonical(text, {segment.unit, static_cast<int64_t>(segment.sums.size())});
    for (const auto* times :
         {&segment.forward, &segment.recompute, &segment.backward, &segment.weights})
    {
        AppendCanonical(text, *times);
    }
    for (const TensorSums& sums : segment.sums)
    {
        AppendGroups(text, sums.sum);
        AppendCanonical(
            text, {static_cast<int64_t>(sums.stream), sums.forward, sums.recompute, sums.backward});
        AppendCanonical(text, sums.beside);
    }
}

void AppendStage(std::string& text, const ShardedStage& stage)
{
    AppendCanonical(
        text,
        {static_cast<int64_t>(stage.units.size()), static_cast<int64_t>(stage.chunks.size())});
    AppendCanonical(text, {stage.workers.begin(), stage.workers.end()});
    for (const ShardedUnit& unit : stage.units)
    {
        AppendUnit(text, unit);
    }
    for (const std::vector<ShardedSegment>& chunk : stage.chunks)
    {
        AppendCanonical(text, {static_cast<int64_t>(chunk.size())});
        for (const ShardedSegment& segment : chunk)
        {
            AppendSegment(text, segment);
        }
    }
    AppendCanonical(text, stage.update);
}

void AppendSharded(std::string& text, const ShardedTraffic& step)
{
    AppendCanonical(text,
                    {-1, // no number of workers
                     step.passes,
                     step.reducesEach ? 1 : 0,
                     static_cast<int64_t>(step.gathers),
                     step.prefetch,
                     step.freesAfterUse ? 1 : 0,
                     step.oneReduction ? 1 : 0,
                     step.reductionsBlock ? 1 : 0,
                     step.alone ? 1 : 0,
                     static_cast<int64_t>(step.schedule),
                     step.messageBytes,
                     static_cast<int64_t>(step.stages.size())});
    for (const ShardedStage& stage : step.stages)
    {
        AppendStage(text, stage);
    }
    AppendGroups(text, step.agreement);
    AppendCanonical(text, step.agree);
    AppendGroups(text, step.tied);
    AppendGroups(text, step.announcements);
    AppendCanonical(text, step.announce);
}

} // namespace

std::string StepTraffic::Canonical() const
{
    std::string text;
    if (sharded)
    {
        AppendSharded(text, *sharded);
    }
    AppendCanonical(text, {workers, static_cast<int64_t>(buckets.size())});
    AppendCanonical(text, deviceFree);
    for (const BucketTraffic& bucket : buckets)
    {
        AppendCanonical(text, bucket.ready);
        AppendCanonical(text, {static_cast<int64_t>(bucket.calls.size())});
        for (const CallTraffic& call : bucket.calls)
        {
            AppendCanonical(text, call.collective);
            AppendCanonical(text, call.computeBefore);
        }
        AppendCanonical(text, bucket.decode);
    }
    if (contention > 0)
    {
        text.append(reinterpret_cast<const char*>(&contention), sizeof(contention));
    }
    return text;
}

} // namespace legacy::fabric
