// Builders of the named topologies. Hosts are added first, so that host i is node i.
#pragma once

#include "topology.h"

namespace legacy::fabric
{

/// What the links of one tier have in common.
struct Tier
{
    int64_t rateBps = 1'000'000'000;
    TimeNs delay = 10'000;
    int64_t queueBytes = 0;
};

/// k-ary fat-tree (Al-Fares, Loukissas, Vahdat, SIGCOMM'08): k pods of k/2 edge and k/2 aggregation
/// switches, (k/2)^2 cores, k^3/4 hosts; host i hangs on edge switch i / (k/2). k even, at least 2.
Topology BuildFatTree(int k, const Tier& host, const Tier& aggregation, const Tier& core);

/// Every leaf has a link to every spine; host i hangs on leaf i / hostsPerLeaf.
Topology
BuildLeafSpine(int leaves, int hostsPerLeaf, int spines, const Tier& host, const Tier& spine);

/// Two switches with one link between them; hosts [0, left) on one, the others on the other.
Topology BuildDumbbell(int left, int right, const Tier& host, const Tier& bottleneck);

/// One switch.
Topology BuildStar(int hosts, const Tier& host);

/// x y z routers, each linked to the next in every dimension, the last to the first (a dimension
/// of 2 has one link, of 1 none); host i hangs on router i, which is (i mod x, i / x mod y,
/// i / (x y)).
Topology BuildTorus(int x, int y, int z, const Tier& host, const Tier& router);

/// A torus of one dimension.
Topology BuildRing(int hosts, const Tier& host, const Tier& router);

/// The numbers of a dragonfly.
struct DragonflySize
{
    int groups = 2;
    int routers = 1; ///< of each group, all linked to each other
    int hosts = 1;   ///< of each router
    int global = 1;  ///< links between every two groups, at most `routers`
};

/// Dragonfly (Kim, Dally, Scott, Abts, ISCA'08). Each group's global links go round its routers.
Topology
BuildDragonfly(const DragonflySize& size, const Tier& host, const Tier& local, const Tier& global);

/// Host i of node n is host n gpus + i. It has a link to the node's switch and one to rail switch
/// i; every rail switch has a link to every spine.
Topology BuildRailOptimised(int nodes,
                            int gpus,
                            int spines,
                            const Tier& node,
                            const Tier& rail,
                            const Tier& spine);

/// Host i of node n is host n gpus + i, on the node's switch, which has a link to every leaf.
Topology BuildNodes(int nodes, int gpus, int leaves, const Tier& node, const Tier& network);

} // namespace legacy::fabric
