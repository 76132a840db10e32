// Checks of the traffic of a divided model.
#include "build-sharded.h"

#include "base/error.h"
#include "fabric/engine/check-range.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kMostSegments = 1 << 22; ///< of all passes together
constexpr int kNoGroup = -1;

/// Throws Error unless a list has one time >= 0 for each worker, one for all, or none.
void CheckDurations(const std::vector<TimeNs>& times,
                    size_t workers,
                    const std::string& where,
                    const char* what)
{
    if (times.size() > 1 && times.size() != workers)
    {
        throw Error("sharded step: " + where + what,
                    std::to_string(times.size()) + " times",
                    "one for each of " + std::to_string(workers) + " workers, or one for all");
    }
    for (TimeNs time : times)
    {
        if (time < 0)
        {
            throw Error(
                "sharded step: " + where + what, std::to_string(time) + " ns", "0 ns or more");
        }
    }
}

void CheckGroups(const CollectiveGroups& groups,
                 const std::vector<int>& workers,
                 const std::string& what)
{
    if (!groups.empty())
    {
        GroupsOf(groups, workers, false, what);
    }
}

void CheckUnit(const ShardedUnit& unit, const std::vector<int>& workers, const std::string& where)
{
    const std::pair<const char*, const std::vector<TimeNs>*> times[] = {
        {": unpack", &unit.unpack},
        {": pack", &unit.pack},
        {": encode", &unit.encode},
        {": between", &unit.between},
        {": sum", &unit.sum}};
    for (const auto& [name, list] : times)
    {
        CheckDurations(*list, workers.size(), where, name);
    }
    const std::pair<const char*, const CollectiveGroups*> lists[] = {
        {"gather", &unit.gather},
        {"gatherAgain", &unit.gatherAgain},
        {"first", &unit.first},
        {"reduce", &unit.reduce},
        {"replicas", &unit.replicas}};
    for (const auto& [name, groups] : lists)
    {
        CheckGroups(*groups, workers, where + ": " + name);
    }
}

void CheckSegment(const ShardedSegment& segment,
                  const std::vector<int>& workers,
                  const std::string& where)
{
    CheckDurations(segment.forward, workers.size(), where, ": forward");
    CheckDurations(segment.recompute, workers.size(), where, ": recompute");
    CheckDurations(segment.backward, workers.size(), where, ": backward");
    CheckDurations(segment.weights, workers.size(), where, ": weights");
    for (const TensorSums& sums : segment.sums)
    {
        if (sums.stream < ShardedStream::Tensor || sums.stream == ShardedStream::Pipe)
        {
            throw Error("sharded step: " + where + ": sums",
                        "stream " + std::to_string(static_cast<int>(sums.stream)),
                        "those of tensors, contexts and experts");
        }
        for (int count : {sums.forward, sums.recompute, sums.backward})
        {
            CheckRange("sharded step: " + where + ": sums", count, 0, kMostSegments);
        }
        CheckDurations(sums.beside, workers.size(), where, ": sums: beside");
        GroupsOf(sums.sum, workers, false, where + ": sums");
    }
}

void CheckStage(const StepTraffic& traffic, int number, const std::string& where)
{
    const ShardedStage& stage = traffic.sharded->stages[number];
    const std::vector<int> workers = WorkersOf(traffic, number);
    const int64_t count = static_cast<int64_t>(stage.units.size());
    std::vector<int> chunkOf(stage.units.size(), kNoGroup);
    for (size_t c = 0; c < stage.chunks.size(); ++c)
    {
        for (size_t s = 0; s < stage.chunks[c].size(); ++s)
        {
            const ShardedSegment& segment = stage.chunks[c][s];
            const std::string at =
                where +
                (stage.chunks.size() > 1 ? "chunk " + std::to_string(c) + ", segment "
                                         : "segment ") +
                std::to_string(s);
            CheckRange("sharded step: " + at + ": unit", segment.unit, 0, count - 1);
            int& chunk = chunkOf[segment.unit];
            if (chunk != kNoGroup && chunk != static_cast<int>(c))
            {
                throw Error("sharded step: " + at + ": unit",
                            std::to_string(segment.unit) + " of chunk " + std::to_string(chunk),
                            "a unit of this chunk alone");
            }
            chunk = static_cast<int>(c);
            CheckSegment(segment, workers, at);
        }
    }
    for (int64_t u = 0; u < count; ++u)
    {
        const std::string at = where + "unit " + std::to_string(u);
        if (chunkOf[u] == kNoGroup)
        {
            throw Error("sharded step: " + at, "no segment", "one that uses it");
        }
        CheckUnit(stage.units[u], workers, at);
    }
    CheckDurations(stage.update, workers.size(), where, "update");
}

/// Throws Error unless all stages have as many workers, and as many chunks, and each worker is in
/// one.
void CheckWorkers(const StepTraffic& traffic)
{
    const std::vector<ShardedStage>& stages = traffic.sharded->stages;
    std::set<int> all;
    const size_t each = traffic.workers / std::max<size_t>(1, stages.size());
    for (size_t s = 0; s < stages.size(); ++s)
    {
        const std::string where = "sharded step: stage " + std::to_string(s) + ": ";
        if (stages[s].chunks.size() != stages[0].chunks.size())
        {
            throw Error(where + "chunks",
                        std::to_string(stages[s].chunks.size()),
                        std::to_string(stages[0].chunks.size()) + ", as in stage 0");
        }
        const std::vector<int> workers = WorkersOf(traffic, static_cast<int>(s));
        if (workers.size() != each)
        {
            throw Error(where + "workers", std::to_string(workers.size()), std::to_string(each));
        }
        for (int worker : workers)
        {
            if (worker < 0 || worker >= traffic.workers || !all.insert(worker).second)
            {
                throw Error(where + "workers",
                            std::to_string(worker),
                            "0 to " + std::to_string(traffic.workers - 1) + ", each once");
            }
        }
    }
    if (all.size() != static_cast<size_t>(traffic.workers))
    {
        throw Error("sharded step: stages",
                    std::to_string(all.size()) + " workers",
                    "all " + std::to_string(traffic.workers));
    }
}

} // namespace

std::vector<int> WorkersOf(const StepTraffic& traffic, int stage)
{
    std::vector<int> workers = traffic.sharded->stages[stage].workers;
    if (workers.empty())
    {
        workers.resize(traffic.workers);
        std::iota(workers.begin(), workers.end(), 0);
    }
    return workers;
}

std::vector<int> GroupsOf(const CollectiveGroups& groups,
                          const std::vector<int>& workers,
                          bool some,
                          const std::string& what)
{
    constexpr int kElsewhere = -2;
    const int last = workers.empty() ? -1 : *std::max_element(workers.begin(), workers.end());
    std::vector<int> group(static_cast<size_t>(last) + 1, kElsewhere); // by worker
    for (int worker : workers)
    {
        group[worker] = kNoGroup;
    }
    const auto add = [&](int worker, int number)
    {
        const bool here =
            worker >= 0 && worker < static_cast<int>(group.size()) && group[worker] != kElsewhere;
        if (here ? group[worker] != kNoGroup : !some)
        {
            throw Error("sharded step: " + what,
                        "worker " + std::to_string(worker) + " in group " + std::to_string(number),
                        "workers " + std::to_string(workers.front()) + " to " +
                            std::to_string(workers.back()) + ", each once");
        }
        if (here)
        {
            group[worker] = number;
        }
    };
    for (size_t g = 0; g < groups.size(); ++g)
    {
        const int number = static_cast<int>(g);
        for (size_t i = 0; groups[g].members.empty() && i < groups[g].bytes.size(); ++i)
        {
            add(static_cast<int>(i), number);
        }
        for (int worker : groups[g].members)
        {
            add(worker, number);
        }
    }
    std::vector<int> groupOf;
    groupOf.reserve(workers.size());
    for (int worker : workers)
    {
        groupOf.push_back(group[worker]);
        if (groupOf.back() == kNoGroup && !some)
        {
            throw Error("sharded step: " + what,
                        "no group with worker " + std::to_string(worker),
                        "each worker in one");
        }
    }
    return groupOf;
}

void CheckSharded(const StepTraffic& traffic)
{
    const ShardedTraffic& step = *traffic.sharded;
    if (step.stages.empty())
    {
        throw Error("sharded step: stages", "none", "1 or more");
    }
    CheckWorkers(traffic);
    int64_t segments = 0;
    const auto stages = static_cast<int>(step.stages.size());
    for (int s = 0; s < stages; ++s)
    {
        CheckStage(traffic, s, stages == 1 ? "" : "stage " + std::to_string(s) + ", ");
        for (const std::vector<ShardedSegment>& chunk : step.stages[s].chunks)
        {
            segments += static_cast<int64_t>(chunk.size());
        }
    }
    CheckDurations(step.agree, traffic.workers / step.stages.size(), "", "agree");
    CheckDurations(step.announce, traffic.workers / step.stages.size(), "", "announce");
    if (!step.agreement.empty() && step.reducesEach && step.passes > 1)
    {
        throw Error("sharded step: agreement", "reductions after each pass", "after the last one");
    }
    CheckRange("sharded step: message", step.messageBytes, 0, INT64_MAX);
    CheckRange(
        "sharded step: passes", step.passes, 1, kMostSegments / std::max<int64_t>(1, segments));
    CheckRange("sharded step: prefetch", step.prefetch, 0, kMostSegments);
    const auto chunks = static_cast<int>(step.stages[0].chunks.size());
    if (stages == 1 && chunks > 1)
    {
        throw Error("sharded step: chunks", std::to_string(chunks), "1 with one stage");
    }
    PipelineOrder(step.schedule, stages, chunks, step.passes, 0);
}

} // namespace legacy::fabric
