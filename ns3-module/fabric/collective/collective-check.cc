// Checks of the settings of a collective: bytes, sums, pairs, parents, and what its algorithm
// supports.
#include "collective.h"
#include "fabric/engine/check-range.h"
#include "hop-plan.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

bool CarriesHops(CollectiveAlgorithm algorithm)
{
    return CanCarry(algorithm, Payload::HopSum) || CanCarry(algorithm, Payload::HopScatter);
}

void CheckBytes(const CollectiveSpec& spec, const std::string& algorithm)
{
    const bool equal = (CanCarry(spec.algorithm, Payload::Sum) && !IsServer(spec.algorithm)) ||
                       CanCarry(spec.algorithm, Payload::ScatteredSum) ||
                       CarriesHops(spec.algorithm);
    const auto where = [&](size_t w) // in messages alone, as most sizes are right
    { return algorithm + ": bytes of worker " + std::to_string(w); };
    for (size_t w = 0; w < spec.bytes.size(); ++w)
    {
        if (spec.bytes[w] < 0)
        {
            CheckRange(where(w), spec.bytes[w], 0, INT64_MAX);
        }
        if (equal && spec.bytes[w] != spec.bytes[0])
        {
            throw Error(where(w),
                        std::to_string(spec.bytes[w]),
                        std::to_string(spec.bytes[0]) +
                            ", as worker 0: summed messages have one length");
        }
    }
}

void CheckSums(const CollectiveSpec& spec, const std::string& algorithm)
{
    size_t needed = spec.algorithm == CollectiveAlgorithm::ScatterReduceAllGather ? 1 : 0;
    for (size_t merged = 1;
         spec.algorithm == CollectiveAlgorithm::SparseTree && merged < spec.bytes.size();
         merged *= 2)
    {
        ++needed;
    }
    if (needed > 0 && spec.sumBytes.size() != needed)
    {
        throw Error(algorithm + ": bytes of sums",
                    std::to_string(spec.sumBytes.size()) + " sizes",
                    std::to_string(needed) + " for " + std::to_string(spec.bytes.size()) +
                        " workers");
    }
    for (int64_t bytes : spec.sumBytes)
    {
        CheckRange(algorithm, ": bytes of a sum", bytes, 0, INT64_MAX);
    }
}

/// Throws Error unless all slices have the pieces of the algorithm, and workers have times.
void CheckHops(const CollectiveSpec& spec, const std::string& algorithm)
{
    const auto workers = static_cast<int>(spec.bytes.size());
    const bool hops = CarriesHops(spec.algorithm);
    const auto pieces = static_cast<size_t>(HopPlan::PiecesOf(spec.algorithm, workers));
    if (!hops && !spec.slices.empty())
    {
        throw Error(algorithm + ": slices", std::to_string(spec.slices.size()), "none");
    }
    for (const HopSlice& slice : spec.slices)
    {
        if (slice.payload.size() != pieces || slice.headers.size() != pieces)
        {
            throw Error(algorithm + ": pieces of a slice",
                        std::to_string(slice.payload.size()),
                        std::to_string(pieces) + " for " + std::to_string(workers) + " workers");
        }
        for (size_t piece = 0; piece < pieces; ++piece)
        {
            CheckRange(algorithm, ": bytes of a piece", slice.payload[piece], 0, INT64_MAX);
            CheckRange(algorithm, ": bytes of headers", slice.headers[piece], 0, INT64_MAX);
        }
    }
    CheckRange(algorithm, ": time of a hop", spec.hops.launch, 0, INT64_MAX);
    const std::vector<double>& factors = spec.hops.factors;
    if (!factors.empty() && factors.size() != spec.bytes.size())
    {
        throw Error(algorithm + ": factors of hops",
                    std::to_string(factors.size()),
                    "one for each of " + std::to_string(workers) + " workers");
    }
}

void CheckPairs(const CollectiveSpec& spec, const std::string& algorithm)
{
    const size_t workers = spec.bytes.size();
    if (spec.pairBytes.size() != workers * workers)
    {
        throw Error(algorithm + ": bytes of pairs",
                    std::to_string(spec.pairBytes.size()) + " sizes",
                    std::to_string(workers * workers) + ", one for each sender and receiver of " +
                        std::to_string(workers) + " workers");
    }
    for (size_t pair = 0; pair < spec.pairBytes.size(); ++pair)
    {
        if (spec.pairBytes[pair] < 0)
        {
            CheckRange(algorithm + ": bytes from worker " + std::to_string(pair / workers) +
                           " to worker " + std::to_string(pair % workers),
                       spec.pairBytes[pair],
                       0,
                       INT64_MAX);
        }
    }
}

/// Throws Error unless every node has a path up to the one root.
void CheckParents(const CollectiveSpec& spec, const std::string& algorithm)
{
    const int workers = static_cast<int>(spec.bytes.size());
    const int aggregators = static_cast<int>(spec.parents.size()) - workers;
    if (aggregators < 1)
    {
        throw Error(algorithm + ": needs a placement with aggregators (switches that sum)");
    }
    CheckRange(algorithm, ": first aggregator", spec.firstAggregator, workers, kMany);
    int roots = 0;
    for (int node = 0; node < workers + aggregators; ++node)
    {
        int above = node;
        int steps = 0;
        while (above >= 0 && steps++ <= aggregators)
        {
            const int parent = spec.parents[above];
            if (parent >= 0 || above < workers)
            {
                CheckRange(algorithm + ": parent of node " + std::to_string(above),
                           parent,
                           spec.firstAggregator,
                           spec.firstAggregator + aggregators - 1);
            }
            above = parent < 0 ? -1 : parent - spec.firstAggregator + workers;
        }
        roots += node >= workers && spec.parents[node] < 0 ? 1 : 0;
        if (above >= 0)
        {
            throw Error(algorithm + ": parents of node " + std::to_string(node) + " form a cycle");
        }
    }
    CheckRange(algorithm, ": roots", roots, 1, 1);
}

/// Throws Error unless all workers of a node have one switch of each plane above them.
void CheckSwitches(const CollectiveSpec& spec, const std::string& algorithm)
{
    const auto workers = static_cast<int>(spec.bytes.size());
    const int planes = std::max(1, static_cast<int>(spec.parents.size()) / workers);
    for (int number = 0; number < planes * workers; ++number)
    {
        const int worker = number % workers;
        const int first = worker / spec.group * spec.group;
        if (std::min(spec.group, workers - first) == 1)
        {
            continue;
        }
        if (spec.parents.size() < spec.bytes.size() || spec.parents[number] < workers ||
            spec.parents[number] != spec.parents[number - worker + first])
        {
            throw Error(algorithm +
                        ": needs a placement with a switch above each node of workers (group " +
                        std::to_string(spec.group) + ") that sums; worker " +
                        std::to_string(worker) + " has none");
        }
    }
}

/// Throws Error unless shards, where there are any, are one for each server and add up.
void CheckShards(const CollectiveSpec& spec, const std::string& algorithm)
{
    const bool sharded = spec.algorithm == CollectiveAlgorithm::ShardedParameterServer;
    const int64_t count = spec.shards.size();
    if (count == 0)
    {
        return;
    }
    CheckRange(
        algorithm, ": shards", count, sharded ? spec.servers : 0, sharded ? spec.servers : 0);
    int64_t push = 0;
    int64_t pull = 0;
    for (const Shard& shard : spec.shards)
    {
        CheckRange(algorithm, ": bytes of a shard", std::min(shard.push, shard.pull), 0, INT64_MAX);
        push += shard.push;
        pull += shard.pull;
    }
    for (int64_t bytes : spec.bytes)
    {
        CheckRange(algorithm, ": bytes of a message", bytes, bytes > 0 ? push : 0, push);
    }
    CheckRange(algorithm, ": pull bytes", spec.pullBytes, pull, pull);
}

/// Checks the settings that only some algorithms have.
void CheckSettings(const CollectiveSpec& spec, const std::string& algorithm)
{
    const auto workers = static_cast<int64_t>(spec.bytes.size());
    if (spec.algorithm == CollectiveAlgorithm::Broadcast ||
        spec.algorithm == CollectiveAlgorithm::SparseTree)
    {
        CheckRange(algorithm, ": root (a worker)", spec.root, 0, workers - 1);
    }
    if (IsServer(spec.algorithm))
    {
        CheckRange(algorithm, ": pull bytes", spec.pullBytes, 0, INT64_MAX);
        CheckRange(algorithm, ": servers", spec.servers, 1, kMany);
        CheckRange(algorithm, ": time of a server", spec.serve, 0, INT64_MAX);
    }
    CheckShards(spec, algorithm);
    if (spec.algorithm == CollectiveAlgorithm::BlockSparse)
    {
        CheckRange(algorithm, ": pull bytes", spec.pullBytes, 0, INT64_MAX);
        CheckRange(algorithm, ": aggregators", spec.servers, 0, kMany);
        CheckRange(algorithm, ": slots", spec.slots, 1, kMany);
        CheckRange(algorithm, ": bytes of a block", spec.blockBytes, 1, kMany);
    }
    if (spec.algorithm == CollectiveAlgorithm::HierarchicalAllReduce ||
        spec.algorithm == CollectiveAlgorithm::HierarchicalAllGather ||
        spec.algorithm == CollectiveAlgorithm::NvlsAllReduce || spec.channels > 1 || spec.relays ||
        spec.protocol != Protocol::None)
    {
        CheckRange(algorithm, ": group", spec.group, 1, kMany);
    }
    CheckRange(algorithm,
               ": channels",
               spec.channels,
               1,
               TakesChannels(spec.algorithm) ? kMostChannels : 1);
    if (!TakesProtocol(spec.algorithm, spec.protocol))
    {
        throw Error(algorithm + ": protocol",
                    ToString(spec.protocol),
                    TakesProtocols(spec.algorithm) ? "none, simple"
                                                   : "none; rings and double trees have others");
    }
}

/// Checks the endpoints between workers: switches that sum, and relays.
void CheckPlaces(const CollectiveSpec& spec, const std::string& algorithm)
{
    if (spec.algorithm == CollectiveAlgorithm::InNetworkAllReduce && spec.bytes.size() > 1)
    {
        CheckParents(spec, algorithm);
    }
    if (spec.algorithm == CollectiveAlgorithm::NvlsAllReduce)
    {
        CheckSwitches(spec, algorithm);
    }
    if (spec.relays && !CanCarry(spec.algorithm, Payload::Exchange))
    {
        throw Error(algorithm + ": relays", "on", "off; all-to-all and all-to-allv have them");
    }
}

/// Throws Error unless the members are distinct workers, one for each size, and lie below the
/// servers and aggregators, as workers do in a placement.
void CheckMembers(const CollectiveSpec& spec, const std::string& algorithm)
{
    if (spec.members.size() != spec.bytes.size())
    {
        throw Error(algorithm + ": members",
                    std::to_string(spec.members.size()) + " workers",
                    std::to_string(spec.bytes.size()) + ", one for each of its sizes");
    }
    std::vector<int> sorted = spec.members;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
    {
        throw Error(algorithm + ": members",
                    "worker " + std::to_string(*twice) + " twice",
                    "each worker once");
    }
    CheckRange(algorithm, ": members: worker", sorted.front(), 0, kMany);
    const int64_t others = int64_t{sorted.back()} + 1;
    if (HasServers(spec))
    {
        CheckRange(algorithm, ": root (the first server)", spec.root, others, kMany);
    }
    for (int parent : spec.parents)
    {
        if (parent >= 0)
        {
            CheckRange(algorithm, ": aggregator", parent, others, kMany);
        }
    }
}

} // namespace

void CheckCollective(const CollectiveSpec& spec)
{
    const std::string algorithm = ToString(spec.algorithm);
    if (spec.bytes.empty())
    {
        throw Error(algorithm + ": needs at least one worker");
    }
    const auto workers = static_cast<int64_t>(spec.bytes.size());
    if (!spec.members.empty())
    {
        CheckMembers(spec, algorithm);
    }
    CheckBytes(spec, algorithm);
    CheckSettings(spec, algorithm);
    CheckPlaces(spec, algorithm);
    if (spec.algorithm == CollectiveAlgorithm::AllToAllV)
    {
        CheckPairs(spec, algorithm);
    }
    if (!TakesWorkers(spec.algorithm, workers))
    {
        throw Error(algorithm + ": workers",
                    std::to_string(workers),
                    std::string("a power of two; ") +
                        ToString(spec.algorithm == CollectiveAlgorithm::HopHalvingReduceScatter
                                     ? CollectiveAlgorithm::HopRingReduceScatter
                                     : CollectiveAlgorithm::BruckAllGather) +
                        " takes any number");
    }
    CheckSums(spec, algorithm);
    CheckHops(spec, algorithm);
    CheckRange(algorithm, ": piece bytes", spec.pieceBytes, 0, INT64_MAX);
    CheckRange(algorithm, ": window", spec.window, 1, kMany);
    if (!spec.times.empty())
    {
        CheckRange(algorithm, ": times", static_cast<int64_t>(spec.times.size()), workers, workers);
    }
    for (TimeNs time : spec.times)
    {
        CheckRange(algorithm, ": time of a member", time, 0, INT64_MAX);
    }
}

} // namespace legacy::fabric
