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

} // namespace legacy::fabric
