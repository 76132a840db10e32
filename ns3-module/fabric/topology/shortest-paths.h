// This is a walk over the shortest paths from a node: by hops, or by weight where links have
// weights. Hosts do not forward.
#pragma once

#include "topology.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace legacy::fabric
{

/// PathWeights are the least weights of paths from a node, and the order in which they grow.
struct PathWeights
{
    PathWeights(const Topology& topology, int origin) : weight(topology.NodeCount(), INT64_MAX)
    {
        using Entry = std::pair<int64_t, int>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
        weight[origin] = 0;
        open.emplace(0, origin);
        while (!open.empty())
        {
            const auto [least, node] = open.top();
            open.pop();
            if (least > weight[node])
            {
                continue;
            }
            order.push_back(node);
            if (node != origin && topology.IsHost(node))
            {
                continue;
            }
            for (DirectedLink link : topology.Out(node))
            {
                const int64_t farther = least + topology.LinkOf(link).weight;
                if (farther < weight[topology.To(link)])
                {
                    weight[topology.To(link)] = farther;
                    open.emplace(farther, topology.To(link));
                }
            }
        }
    }

    std::vector<int64_t> weight; ///< by node; INT64_MAX where there is no path
    std::vector<int> order;      ///< nodes that are reached, the nearest first
};

/// Calls step(node, link, next) for every link that is on a shortest path from `origin`, after all
/// steps into `node`; and arrive(host, hops) for every other host that is reached, after all steps
/// into it. `hops` are those of the longest of the shortest paths.
template <typename Step, typename Arrive>
void WalkShortestPaths(const Topology& topology, int origin, Step step, Arrive arrive)
{
    constexpr int kUnreached = -1;
    std::vector<int> hops(topology.NodeCount(), kUnreached);
    std::vector<int> queue{origin};
    hops[origin] = 0;
    if (topology.Weighted())
    {
        const PathWeights paths(topology, origin);
        for (int node : paths.order)
        {
            if (node != origin && topology.IsHost(node))
            {
                arrive(node, hops[node]);
                continue;
            }
            for (DirectedLink link : topology.Out(node))
            {
                const int next = topology.To(link);
                if (paths.weight[node] + topology.LinkOf(link).weight == paths.weight[next])
                {
                    hops[next] = std::max(hops[next], hops[node] + 1);
                    step(node, link, next);
                }
            }
        }
        return;
    }
    for (size_t head = 0; head < queue.size(); ++head)
    {
        const int node = queue[head];
        if (node != origin && topology.IsHost(node))
        {
            arrive(node, hops[node]);
            continue;
        }
        for (DirectedLink link : topology.Out(node))
        {
            const int next = topology.To(link);
            if (hops[next] == kUnreached)
            {
                hops[next] = hops[node] + 1;
                queue.push_back(next);
            }
            if (hops[next] == hops[node] + 1)
            {
                step(node, link, next);
            }
        }
    }
}

} // namespace legacy::fabric
