// A layout says where the nodes of a topology are drawn.
#pragma once

#include "topology.h"

#include <vector>

namespace legacy::fabric
{

/// A Layout is in pixels, from the upper left corner.
struct Layout
{
    std::vector<Position> nodes;
    std::vector<char> labels; ///< by node: true where there is room for its name
    double width = 0;
    double height = 0;
    /// Length up to which links are drawn straight; longer ones would pass over other nodes, and
    /// are bent. 0: all links are straight.
    double straight = 0;
};

/// Returns a layout: the topology's own positions where every node has one; tiers above the hosts
/// where no two switches of a tier are linked; else the switches on a circle and their hosts around
/// it.
Layout LayOut(const Topology& topology);

} // namespace legacy::fabric
