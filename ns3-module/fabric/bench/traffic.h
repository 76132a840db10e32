// This is the traffic and the fabrics of the network benchmark, which our engine and its peer
// share.
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
    /// "ring": an all-reduce; "mixed": see MixedFlows; "direct": an all-gather in which every
    /// worker sends to every other one
    std::string traffic = "ring";
    int workers = 128;
    std::string order = "packed"; ///< a placement; "random:1" places workers at random
    /// True: only host links have a delay. All paths then have the same delay, and a simulator that
    /// shares by round-trip time (SimGrid's CM02) is plain max-min. False: every link has a delay.
    bool equalDelays = true;
};

/// Bytes of an all-reduce: the gradients of a ResNet-18.
constexpr int64_t kRingBytes = 44'700'000;
constexpr int64_t kRateBps = 10'000'000'000;

struct Fabric
{
    Topology topology;
    Placement placement;
};

/// Bytes that each worker sends to each of the others in a direct all-gather.
constexpr int64_t kDirectBytes = 53'500;

/// Makes a fat-tree of 10 Gbit/s. k is 16 (1,024 hosts) for up to 1,024 workers, and larger where
/// more workers need it. A direct all-gather gets nodes of eight workers with a rail for each, at
/// 100 Gbit/s.
Fabric MakeFabric(const Case& what);

/// Returns a transport that sends payload only, as in a pure flow model: it has no headers and no
/// ACKs, and its frames of 64 bytes are too short to matter.
Transport BareTransport();

/// Returns 10,000 flows that start at once, of 10 kB to 10 MB (log-uniform), no two between the
/// same pair: nine random permutations of the workers, and incast from random workers to eight
/// receivers. `workers` is at least 1,024, because fewer workers do not have as many pairs.
std::vector<Flow> MixedFlows(int workers);

/// Returns the number of flows of a case.
int64_t FlowCount(const Case& what);

} // namespace legacy::fabric::bench
