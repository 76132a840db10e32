// Where the nodes of a topology are drawn.
#pragma once

#include "topology.h"

#include <vector>

namespace legacy::fabric
{

/// In pixels, from the upper left corner.
struct Layout
{
    std::vector<Position> nodes;
    std::vector<char> labels; ///< by node: there is room for its name
    double width = 0;
    double height = 0;
    /// longer links pass by other nodes in a straight line, so draw them bent; 0: none do
    double straight = 0;
};

/// The places of the topology's own where every node has one; tiers above the hosts where no two
/// switches of a tier are linked; else the switches on a circle and their hosts around it.
Layout LayOut(const Topology& topology);

} // namespace legacy::fabric
