// Whether pauses can wait for each other in a circle, before anything is simulated: cyclic buffer
// dependencies (Hu et al., CoNEXT'17) of the routes between given nodes. A frame that came over one
// link and leaves by another makes the first wait for the second.
#pragma once

#include "fabric/topology/topology.h"

#include <utility>
#include <vector>

namespace legacy::fabric
{

/// A BufferDependency is a link whose frames wait for another, and ends of a route over both.
struct BufferDependency
{
    DirectedLink link = 0;
    std::pair<int, int> route; ///< nodes: source, destination
};

/// Returns a cycle of dependencies, each link waiting for that of the next element and the last one
/// for the first; empty where the routes between all pairs of `nodes`, one for each of their
/// `channels` (roce:qps), have none. Where the topology's packets take any shortest path, all of
/// these count.
std::vector<BufferDependency>
FindBufferCycle(const Topology& topology, const std::vector<int>& nodes, uint32_t channels = 1);

} // namespace legacy::fabric
