// The traffic and fabrics of the network benchmark, the same for our engine and for its peer.
#pragma once

#include "ns3-module/fabric/engine/flow-graph.h"
#include "ns3-module/fabric/engine/transport.h"
#include "ns3-module/fabric/topology/placement.h"
#include "ns3-module/fabric/topology/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric::bench
{

struct Case
{
    std::string traffic = "ring"; ///< "ring": an all-reduce; "mixed": see MixedFlows
    int workers = 128;
    std::string order = "packed"; ///< a placement; "random:1" places workers at random
    /// true: only host links have a delay, so that all paths have the same and a simulator that
    /// shares by round-trip time (SimGrid's CM02) is plain max-min; false: every link has
    bool equalDelays = true;
};

constexpr int64_t kRingBytes = 44'700'000; ///< of an all-reduce: the gradients of a ResNet-18
constexpr int64_t kRateBps = 10'000'000'000;

struct Fabric
{
    Topology topology;
    Placement placement;
};

/// A fat-tree of 10 Gbit/s: k = 16 (1,024 hosts) up to as many workers, else what they need.
Fabric MakeFabric(const Case& what);

/// Payload only: no headers, no ACKs and frames too short to be seen, as in a pure flow model.
Transport BareTransport();

/// 10,000 flows that start at once, of 10 kB to 10 MB (log-uniform), no two between the same pair:
/// nine random permutations of the workers, and incast from random workers to eight receivers.
/// `workers` of at least 1,024: fewer do not have as many pairs.
std::vector<Flow> MixedFlows(int workers);

/// Flows of a case.
int64_t FlowCount(const Case& what);

} // namespace legacy::fabric::bench
