#include "traffic.h"

#include "base/hash.h"
#include "ns3-module/fabric/import/make.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>
#include <utility>

namespace legacy::fabric::bench
{

namespace
{

constexpr int kMixedFlows = 10'000;
constexpr int kPermutations = 9;
constexpr int kReceivers = 8;

enum Purpose : uint64_t
{
    kOrder = 1,
    kSender,
    kSize,
};

/// Returns the worker that each worker sends to. The destinations form one cycle through all
/// workers in a random order, so that none sends to itself.
std::vector<int> RandomCycle(int workers, uint64_t draw)
{
    std::vector<int> order(workers);
    for (int i = 0; i < workers; ++i)
    {
        order[i] = i;
    }
    for (int i = workers - 1; i > 0; --i)
    {
        const uint64_t hash = HashWords({kOrder, draw, static_cast<uint64_t>(i)});
        std::swap(order[i], order[Reduce(hash, i + 1)]);
    }
    std::vector<int> to(workers);
    for (int i = 0; i < workers; ++i)
    {
        to[order[i]] = order[(i + 1) % workers];
    }
    return to;
}

int64_t Size(uint64_t flow)
{
    constexpr double kSmallest = 1e4;
    constexpr double kDecades = 3;
    return static_cast<int64_t>(kSmallest *
                                std::pow(10, kDecades * UnitInterval(HashWords({kSize, flow}))));
}

} // namespace

Fabric MakeFabric(const Case& what)
{
    constexpr int kHosts = 1024;
    TopologyRequest request;
    request.text = what.equalDelays ? "fat-tree:aggregation.delay=0ns,core.delay=0ns" : "fat-tree";
    request.rateBps = kRateBps;
    request.delay = 1'000;
    request.hostsNeeded = std::max(kHosts, what.workers);
    if (what.traffic == "direct")
    {
        constexpr int kGpus = 8;
        request.text = "rail-optimised:nodes=" + std::to_string(what.workers / kGpus) +
                       ",gpus=" + std::to_string(kGpus);
        request.rateBps = 10 * kRateBps;
        request.hostsNeeded = what.workers;
    }
    Fabric fabric{MakeTopology(request), {}};
    PlacementRequest placement;
    placement.text = what.order;
    placement.workers = what.workers;
    fabric.placement = MakePlacement(placement, fabric.topology);
    return fabric;
}

Transport BareTransport()
{
    Transport transport = MakeTransport("datacenter");
    transport.segmentBytes = 64;
    transport.headerBytes = 0;
    transport.ackBytes = 0;
    return transport;
}

std::vector<Flow> MixedFlows(int workers)
{
    assert(workers >= 1024);
    std::vector<Flow> flows;
    std::set<std::pair<int, int>> pairs;
    const auto add = [&](int source, int destination)
    {
        if (source != destination && pairs.emplace(source, destination).second)
        {
            const uint64_t number = flows.size();
            flows.push_back(Flow{source, destination, Size(number), number});
        }
    };
    for (int permutation = 0; permutation < kPermutations; ++permutation)
    {
        const std::vector<int> to = RandomCycle(workers, permutation);
        for (int worker = 0; worker < workers; ++worker)
        {
            add(worker, to[worker]);
        }
    }
    for (uint64_t draw = 0; flows.size() < kMixedFlows; ++draw)
    {
        const auto sender = Reduce(HashWords({kSender, draw}), workers);
        add(static_cast<int>(sender), static_cast<int>(draw % kReceivers));
    }
    return flows;
}

int64_t FlowCount(const Case& what)
{
    const int64_t workers = what.workers;
    const int64_t pairs = workers * (workers - 1);
    return what.traffic == "ring" ? 2 * pairs : what.traffic == "direct" ? pairs : kMixedFlows;
}

} // namespace legacy::fabric::bench
