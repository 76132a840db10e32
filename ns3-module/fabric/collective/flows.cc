// The number of flows of a collective, computed without running it.
#include "collective.h"
#include "double-tree.h"
#include "hop-plan.h"
#include "nvls-plan.h"
#include "pieces.h"
#include "ring-plan.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

double HierarchicalFlows(const CollectiveSpec& spec)
{
    const auto workers = static_cast<double>(spec.bytes.size());
    const double inside = std::min<double>(spec.group, workers) - 1;
    const double across = std::ceil(workers / spec.group) - 1;
    if (spec.algorithm == CollectiveAlgorithm::HierarchicalAllReduce)
    {
        return workers * (2 * inside + 2 * across);
    }
    return workers * (inside + across + (across > 0 ? inside : 0));
}

double HopButterflyFlows(const HopPlan& plan)
{
    const double core = 1 << plan.Levels();
    const double halves = plan.Scatters() ? 1 : 2;
    return plan.Slices() * halves * (plan.Levels() * core + plan.Workers() - core);
}

/// `stages` is the number of stages on each level: halving, and doubling.
double HalvingFlows(double workers, double stages)
{
    double core = 1;
    double levels = 0;
    for (; 2 * core <= workers; core *= 2)
    {
        ++levels;
    }
    const double folded = workers - core;
    const double told = folded > 0 ? core - folded : 0;
    return stages * levels * core + 2 * folded + told;
}

double DoubleTreeFlows(const CollectiveSpec& spec)
{
    double flows = 0;
    for (int channel = 0; channel < spec.channels; ++channel)
    {
        for (int index : {0, 1})
        {
            flows += 2 * (static_cast<double>(spec.bytes.size()) - 1) *
                     static_cast<double>(TreePieces(spec, channel, index).count);
        }
    }
    return flows;
}

double NvlsFlows(const CollectiveSpec& spec)
{
    const NvlsPlan plan(spec);
    double ofPiece = 2 * (plan.Nodes() - 1);
    for (int node = 0; node < plan.Nodes(); ++node)
    {
        ofPiece += plan.SizeOf(node) > 1 ? 2 * plan.SizeOf(node) + 2 : 0;
    }
    double flows = 0;
    for (int stream = 0; stream < plan.Streams(); ++stream)
    {
        flows += ofPiece * static_cast<double>(plan.PiecesOf(stream).count);
    }
    return flows;
}

double BlockSparseFlows(const CollectiveSpec& spec)
{
    const BlockPlan plan(spec);
    const auto workers = static_cast<double>(spec.bytes.size());
    double flows = 0;
    for (int s = 0; s < plan.Aggregators(); ++s)
    {
        flows += 2 * (workers - (plan.Colocated() ? 1 : 0)) * static_cast<double>(plan.Pieces(s));
    }
    return flows;
}

} // namespace

double EstimatedFlows(const CollectiveSpec& spec)
{
    CheckCollective(spec);
    const auto workers = static_cast<double>(spec.bytes.size());
    const double others = workers - 1;
    const int64_t bytes = *std::max_element(spec.bytes.begin(), spec.bytes.end());
    if (others == 0)
    {
        return 0;
    }
    switch (spec.algorithm)
    {
    case CollectiveAlgorithm::RingAllReduce:
        return 2 * spec.channels * RingPlan(spec).Turns() * workers * others;
    case CollectiveAlgorithm::RingAllGather:
    case CollectiveAlgorithm::RingReduceScatter:
        return spec.channels * RingPlan(spec).Turns() * workers * others;
    case CollectiveAlgorithm::DirectAllReduce:
    case CollectiveAlgorithm::ScatterReduceAllGather:
        return 2 * workers * others;
    case CollectiveAlgorithm::DirectAllGather:
        return workers * others;
    case CollectiveAlgorithm::AllToAll:
    case CollectiveAlgorithm::AllToAllV:
        return workers * others; // relays do not change the number of a node's messages
    case CollectiveAlgorithm::HalvingDoublingAllReduce:
        return HalvingFlows(workers, 2);
    case CollectiveAlgorithm::HalvingReduceScatter:
        return HalvingFlows(workers, 1);
    case CollectiveAlgorithm::RecursiveDoublingAllGather:
    case CollectiveAlgorithm::BruckAllGather:
        return workers * std::ceil(std::log2(workers));
    case CollectiveAlgorithm::DoubleTreeAllReduce:
        return DoubleTreeFlows(spec);
    case CollectiveAlgorithm::HierarchicalAllReduce:
    case CollectiveAlgorithm::HierarchicalAllGather:
        return HierarchicalFlows(spec);
    case CollectiveAlgorithm::InNetworkAllReduce:
        return 2 * (static_cast<double>(spec.parents.size()) - 1) *
               static_cast<double>(Pieces(bytes, spec.pieceBytes).count);
    case CollectiveAlgorithm::NvlsAllReduce:
        return NvlsFlows(spec);
    case CollectiveAlgorithm::Broadcast:
        return others;
    case CollectiveAlgorithm::ParameterServer:
        return 2 * workers;
    case CollectiveAlgorithm::ShardedParameterServer:
        return 2 * workers * spec.servers;
    case CollectiveAlgorithm::SparseTree:
        return 2 * others;
    case CollectiveAlgorithm::HopRingAllReduce:
        return 2 * workers * others * HopPlan(spec).Slices();
    case CollectiveAlgorithm::HopRingReduceScatter:
        return workers * others * HopPlan(spec).Slices();
    case CollectiveAlgorithm::HopButterflyAllReduce:
    case CollectiveAlgorithm::HopHalvingReduceScatter:
        return HopButterflyFlows(HopPlan(spec));
    case CollectiveAlgorithm::BlockSparse:
        return BlockSparseFlows(spec);
    }
    return 0;
}

} // namespace legacy::fabric
