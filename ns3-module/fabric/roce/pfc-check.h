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
/// for the first; empty where the paths between all pairs of `nodes` have none. All shortest paths
/// count, or those of an explicit route, because each connection (of a lane, an endpoint, a queue
/// pair of roce:qps) has one of its own.
std::vector<BufferDependency> FindBufferCycle(const Topology& topology,
                                              const std::vector<int>& nodes);

} // namespace legacy::fabric
