// This is a breadth-first walk over the shortest paths (in hops) from a node. Hosts do not forward.
#pragma once

#include "topology.h"

#include <cstddef>
#include <vector>

namespace legacy::fabric
{

/// Calls step(node, link, next) for every link that is on a path of fewest hops from `origin`,
/// after all steps into `node`; and arrive(host, hops) for every other host that is reached, after
/// all steps into it.
template <typename Step, typename Arrive>
void WalkFewestHops(const Topology& topology, int origin, Step step, Arrive arrive)
{
    constexpr int kUnreached = -1;
    std::vector<int> hops(topology.NodeCount(), kUnreached);
    std::vector<int> queue{origin};
    hops[origin] = 0;
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
