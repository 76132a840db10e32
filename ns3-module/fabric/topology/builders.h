// Builders make the named topologies. Hosts are added first, so that host i is node i.
#pragma once

#include "topology.h"

namespace legacy::fabric
{

/// A Tier has what the links of one tier have in common.
struct Tier
{
    int64_t rateBps = 1'000'000'000;
    TimeNs delay = 10'000;
    int64_t queueBytes = 0;
};

/// Builds a k-ary fat-tree (Al-Fares, Loukissas, Vahdat, SIGCOMM'08): k pods of k/2 edge and k/2
/// aggregation switches, (k/2)^2 cores and k^3/4 hosts. Host i is on edge switch i / (k/2). k is
/// even, and at least 2. With `gpus` above 1, a divisor of k/2, so many consecutive hosts are the
/// GPUs of a node: each has a link to the node's switch as well, and those of k/2 nodes in a row
/// are on `gpus` edge switches, GPU i of each node on the i-th.
Topology BuildFatTree(int k,
                      const Tier& host,
                      const Tier& aggregation,
                      const Tier& core,
                      int gpus = 1,
                      const Tier& node = {});

/// Builds a leaf-spine fabric: every leaf has a link to every spine, and host i is on leaf i /
/// hostsPerLeaf.
Topology
BuildLeafSpine(int leaves, int hostsPerLeaf, int spines, const Tier& host, const Tier& spine);

/// Builds two switches with one link between them; hosts [0, left) are on one, the others on the
/// other.
Topology BuildDumbbell(int left, int right, const Tier& host, const Tier& bottleneck);

/// Builds one switch with all hosts.
Topology BuildStar(int hosts, const Tier& host);

/// Builds a torus of x y z routers, each linked to the next in every dimension, the last to the
/// first (a dimension of 2 has one link, of 1 none). Host i is on router i, which is (i mod x, i /
/// x mod y, i / (x y)).
Topology BuildTorus(int x, int y, int z, const Tier& host, const Tier& router);

/// Builds a torus of one dimension.
Topology BuildRing(int hosts, const Tier& host, const Tier& router);

/// A DragonflySize has the numbers of a dragonfly.
struct DragonflySize
{
    int groups = 2;
    int routers = 1; ///< routers of each group, all linked to each other
    int hosts = 1;   ///< hosts of each router
    int global = 1;  ///< links between every two groups, at most `routers`
};

/// Builds a dragonfly (Kim, Dally, Scott, Abts, ISCA'08). Each group's global links take its
/// routers in turn.
Topology
BuildDragonfly(const DragonflySize& size, const Tier& host, const Tier& local, const Tier& global);

/// Builds a rail-optimised fabric. Host i of node n is host n gpus + i. It has a link to the node's
/// switch and one to rail switch i; every rail switch has a link to every spine.
Topology BuildRailOptimised(int nodes,
                            int gpus,
                            int spines,
                            const Tier& node,
                            const Tier& rail,
                            const Tier& spine);

/// Builds nodes: host i of node n is host n gpus + i, on the node's switch, which has a link to
/// every leaf.
Topology BuildNodes(int nodes, int gpus, int leaves, const Tier& node, const Tier& network);

} // namespace legacy::fabric
