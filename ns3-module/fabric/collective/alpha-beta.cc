#include "alpha-beta.h"

#include "base/error.h"
#include "fabric/engine/flow-path.h"
#include "pieces.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

/// A Cost has the number of steps of a collective, and the bytes through the busiest NIC.
struct Cost
{
    double steps;
    double bytes;
};

int CeilLog2(int64_t value)
{
    int log = 0;
    while (int64_t{1} << log < value)
    {
        ++log;
    }
    return log;
}

Cost HierarchicalCost(const CollectiveSpec& spec, double bytes)
{
    const double workers = static_cast<double>(spec.bytes.size());
    const double group = std::min<double>(spec.group, workers);
    const double groups = std::max(1.0, workers / group);
    if (spec.algorithm == CollectiveAlgorithm::HierarchicalAllReduce)
    {
        return {2 * (group - 1) + 2 * (groups - 1),
                2 * bytes * ((group - 1) / group + (groups - 1) / groups / group)};
    }
    return {(groups > 1 ? 2 : 1) * (group - 1) + groups - 1,
            bytes * (group - 1 + groups - 1 + (group - 1) * (groups - 1))};
}

Cost HalvingDoublingCost(int64_t workers, double bytes)
{
    int levels = CeilLog2(workers);
    const bool folded = int64_t{1} << levels != workers;
    levels -= folded ? 1 : 0;
    const double core = static_cast<double>(int64_t{1} << levels);
    const double fold = folded ? 2 : 0; // messages before and after those of the core
    return {2.0 * levels + fold, (2 * (core - 1) / core + fold) * bytes};
}

Cost HalvingScatterCost(int64_t workers, double bytes)
{
    int levels = CeilLog2(workers);
    const bool folded = int64_t{1} << levels != workers;
    levels -= folded ? 1 : 0;
    const double core = static_cast<double>(int64_t{1} << levels);
    // The fold is a whole message, and the unfold is a block of the sum.
    const double fold = folded ? 1 + 1 / static_cast<double>(workers) : 0;
    return {levels + (folded ? 2.0 : 0.0), ((core - 1) / core + fold) * bytes};
}

/// Returns the most bytes that a worker's NIC sends, or receives.
double BusiestNic(const CollectiveSpec& spec)
{
    std::vector<int64_t> sent = BytesSent(spec);
    const std::vector<int64_t> received = BytesReceived(spec);
    sent.insert(sent.end(), received.begin(), received.end());
    return static_cast<double>(*std::max_element(sent.begin(), sent.end()));
}

/// Returns the bytes of the worker that sends the most.
double BusiestSender(const CollectiveSpec& spec)
{
    const std::vector<int64_t> sent = BytesSent(spec);
    return static_cast<double>(*std::max_element(sent.begin(), sent.end()));
}

Cost DoubleTreeCost(const CollectiveSpec& spec, double bytes)
{
    const auto count = static_cast<int64_t>(spec.bytes.size());
    if (spec.channels == 1)
    {
        return {2.0 * CeilLog2(count), 2 * bytes};
    }
    // The chain within a node comes before the tree of the nodes.
    const int64_t group = std::min<int64_t>(spec.group, count);
    return {2.0 * (CeilLog2((count + group - 1) / group) + static_cast<double>(group) - 1),
            BusiestSender(spec)};
}

Cost NvlsCost(const CollectiveSpec& spec)
{
    const auto count = static_cast<int64_t>(spec.bytes.size());
    const int64_t group = std::min<int64_t>(spec.group, count);
    return {(group > 1 ? 2.0 : 0.0) + 2.0 * CeilLog2((count + group - 1) / group),
            BusiestSender(spec)};
}

Cost SparseTreeCost(const CollectiveSpec& spec, double bytes)
{
    const double levels = static_cast<double>(spec.sumBytes.size());
    Cost cost{2 * levels, bytes + levels * static_cast<double>(spec.sumBytes.back())};
    for (size_t level = 0; level + 1 < spec.sumBytes.size(); ++level)
    {
        cost.bytes += static_cast<double>(spec.sumBytes[level]);
    }
    return cost;
}

Cost BlockSparseCost(const CollectiveSpec& spec)
{
    const BlockPlan plan(spec);
    const auto workers = static_cast<int64_t>(spec.bytes.size());
    double busiest = BusiestNic(spec);
    if (!plan.Colocated())
    {
        int64_t in = 0;
        for (int w = 0; w < workers; ++w)
        {
            in += plan.Up(w, 0);
        }
        busiest = std::max(busiest, static_cast<double>(std::max(in, workers * plan.Down(0))));
    }
    return {2.0 * static_cast<double>(plan.Rounds()), busiest};
}

Cost CostOf(const CollectiveSpec& spec)
{
    const auto count = static_cast<int64_t>(spec.bytes.size());
    const double workers = static_cast<double>(count);
    const double others = workers - 1;
    const double bytes =
        static_cast<double>(*std::max_element(spec.bytes.begin(), spec.bytes.end()));
    const double pull = static_cast<double>(spec.pullBytes);
    switch (spec.algorithm)
    {
    case CollectiveAlgorithm::RingAllReduce:
        return {2 * others, 2 * others / workers * bytes};
    case CollectiveAlgorithm::HalvingDoublingAllReduce:
        return HalvingDoublingCost(count, bytes);
    case CollectiveAlgorithm::DoubleTreeAllReduce:
        return DoubleTreeCost(spec, bytes);
    case CollectiveAlgorithm::DirectAllReduce:
        return {2, 2 * others / workers * bytes};
    case CollectiveAlgorithm::HierarchicalAllReduce:
    case CollectiveAlgorithm::HierarchicalAllGather:
        return HierarchicalCost(spec, bytes);
    case CollectiveAlgorithm::InNetworkAllReduce:
        return {2, bytes};
    case CollectiveAlgorithm::NvlsAllReduce:
        return NvlsCost(spec);
    case CollectiveAlgorithm::RingAllGather:
        return {others, others * bytes};
    case CollectiveAlgorithm::DirectAllGather:
        return {1, others * bytes};
    case CollectiveAlgorithm::RecursiveDoublingAllGather:
    case CollectiveAlgorithm::BruckAllGather:
        return {static_cast<double>(CeilLog2(count)), others * bytes};
    case CollectiveAlgorithm::RingReduceScatter:
        return {others, others / workers * bytes};
    case CollectiveAlgorithm::HalvingReduceScatter:
        return HalvingScatterCost(count, bytes);
    case CollectiveAlgorithm::AllToAll:
        return {1, others / workers * bytes};
    case CollectiveAlgorithm::AllToAllV:
        return {1, BusiestNic(spec)};
    case CollectiveAlgorithm::Broadcast:
    {
        const double steps = CeilLog2(count);
        return {steps, steps * static_cast<double>(spec.bytes[spec.root])};
    }
    case CollectiveAlgorithm::ParameterServer:
        return {2, workers * (bytes + pull)};
    case CollectiveAlgorithm::ShardedParameterServer:
    {
        double busiest = std::max(1.0, workers / spec.servers) * (bytes + pull);
        for (const Shard& shard : spec.shards)
        {
            busiest = std::max(busiest, workers * static_cast<double>(shard.push + shard.pull));
        }
        return {2, busiest};
    }
    case CollectiveAlgorithm::SparseTree:
        return SparseTreeCost(spec, bytes);
    case CollectiveAlgorithm::ScatterReduceAllGather:
        return {2, others / workers * (bytes + static_cast<double>(spec.sumBytes[0]))};
    case CollectiveAlgorithm::HopRingAllReduce:
        return {2 * others, BusiestSender(spec)};
    case CollectiveAlgorithm::HopRingReduceScatter:
        return {others, BusiestSender(spec)};
    case CollectiveAlgorithm::HopHalvingReduceScatter:
        return {static_cast<double>(CeilLog2(count)), BusiestSender(spec)};
    case CollectiveAlgorithm::HopButterflyAllReduce:
        return {HalvingDoublingCost(count, bytes).steps, BusiestSender(spec)};
    case CollectiveAlgorithm::BlockSparse:
        return BlockSparseCost(spec);
    }
    return {0, 0};
}

} // namespace

double AlphaBetaSeconds(const CollectiveSpec& spec, double alpha, double bytesPerSecond)
{
    CheckCollective(spec);
    if (spec.bytes.size() == 1)
    {
        return 0;
    }
    const Cost cost = CostOf(spec);
    return cost.steps * alpha + cost.bytes / bytesPerSecond +
           1e-9 * static_cast<double>(spec.serve);
}

CollectiveChoice FastestCollective(const std::vector<CollectiveAlgorithm>& candidates,
                                   CollectiveSpec spec,
                                   const UniformPath& path,
                                   const Transport& transport,
                                   const ChannelOptions& channels)
{
    if (candidates.empty())
    {
        throw Error("collective: no algorithm to choose from");
    }
    std::vector<CollectiveChoice> choices;
    for (CollectiveAlgorithm algorithm : candidates)
    {
        spec.algorithm = algorithm;
        SetChannels(spec, channels);
        choices.push_back(CollectiveChoice{algorithm, ClosedFormTime(spec, path, transport), ""});
    }
    std::stable_sort(choices.begin(),
                     choices.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    CollectiveChoice best = choices.front();
    best.reason = std::string(ToString(best.algorithm)) + ": " + FormatTime(best.time);
    if (choices.size() > 1)
    {
        best.reason += std::string(", then ") + ToString(choices[1].algorithm) + ": " +
                       FormatTime(choices[1].time);
    }
    best.reason += ", for " + std::to_string(spec.bytes.size()) + " workers on an idle fabric";
    return best;
}

UniformPath TypicalPath(const Topology& topology,
                        const Placement& placement,
                        const Transport& transport,
                        const std::vector<int>& members)
{
    UniformPath path{0, INT64_MAX, 0};
    const std::vector<int> hosts = placement.HostsOf(members);
    WideTime delays = 0;
    int64_t links = 0;
    for (size_t i = 0; i < hosts.size(); ++i)
    {
        const int next = hosts[(i + 1) % hosts.size()];
        const std::vector<DirectedLink> route = topology.Route(hosts[i], next, 0);
        const int planes = topology.Planes(hosts[i], next);
        path.hops = std::max(path.hops, static_cast<int>(route.size()));
        for (DirectedLink link : route)
        {
            path.rateBps = std::min(path.rateBps, planes * topology.MeanRate(link));
            delays += LinkDelay(topology, transport, link);
            ++links;
        }
    }
    path.delay = links > 0 ? NarrowTime(delays / links) : 0;
    return path;
}

double NeighbourLatency(const Topology& topology,
                        const Placement& placement,
                        const Transport& transport,
                        const std::vector<int>& members)
{
    const std::vector<int> hosts = placement.HostsOf(members);
    double delays = 0;
    for (size_t i = 0; i < hosts.size(); ++i)
    {
        for (DirectedLink link : topology.Route(hosts[i], hosts[(i + 1) % hosts.size()], 0))
        {
            delays += static_cast<double>(LinkDelay(topology, transport, link)) * 1e-9;
        }
    }
    return delays / static_cast<double>(hosts.size());
}

} // namespace legacy::fabric
