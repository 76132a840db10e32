// NCCL's own choice of algorithm and protocol, by the cost model of its src/graph/tuning.cc
// (2.30; later src/tuning/cost_model.cc): a latency, and the bytes at a bandwidth. Its constants
// are those of Hopper GPUs with Intel's hosts. They are NVIDIA's fit to its own machines; nothing
// is fitted here.
#pragma once

#include "collective.h"
#include "fabric/topology/placement.h"
#include "fabric/topology/topology.h"
#include "gpus.h"

#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// NodeLinks has what NCCL's search finds out about nodes, in GB/s (10^9 bytes a second).
struct NodeLinks
{
    double inside = 0; ///< of a worker's link to others of its node
    double rail = 0;   ///< of a node's link to other nodes
    int rails = 1;     ///< number of these links
};

/// Returns the links of the first node of `group` consecutive members (empty: of all workers): the
/// slowest on the route between two of its workers, and the slowest ones on the routes between each
/// of them and its counterpart in the next node, each of which counts once.
NodeLinks NodeLinksOf(const Topology& topology,
                      const Placement& placement,
                      int group,
                      const std::vector<int>& members = {});

/// Returns the microseconds that NCCL's model gives the collective with its group, channels and
/// protocol; nullopt where NCCL has no such algorithm, or the protocol is not one of NCCL's.
/// Channels of NVLS are the workers of a node, whatever the spec says. Rates are not rounded to
/// those that NCCL's search tries. Throws Error on an invalid spec.
std::optional<double> NcclMicroseconds(const CollectiveSpec& spec, const NodeLinks& links);

/// An NcclChoice is what NCCL takes, and why.
struct NcclChoice
{
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::RingAllReduce;
    Protocol protocol = Protocol::None;
    double microseconds = 0;
    std::string reason; ///< one line: its time, and the next best's
};

/// Returns the candidate and protocol of the least time for the spec, whose algorithm and protocol
/// have no effect; of equal ones the first, in the order of candidates and of LL, LL128, Simple.
/// nullopt where NCCL has none of them.
std::optional<NcclChoice> ChooseAsNccl(const std::vector<CollectiveAlgorithm>& candidates,
                                       CollectiveSpec spec,
                                       const NodeLinks& links);

/// Returns the algorithms that NCCL has for the payload, in the order in which it compares them.
/// NVLS is among them where switches of nodes can sum.
std::vector<CollectiveAlgorithm> NcclAlgorithms(Payload payload, bool switchesSum);

/// ChannelOptions are those of collectives whose algorithms take them.
struct ChannelOptions
{
    int channels = 1;
    /// nullopt: the one that NCCL takes for the algorithm and the bytes.
    std::optional<Protocol> protocol = Protocol::None;
    NodeLinks links = {}; ///< what that choice needs to know
};

/// Returns the channels that NCCL's search finds for nodes of `group` of these workers: one for
/// each of a node's links to others; in one node 6 for Volta, 12 for later GPUs.
int NcclChannels(const NodeLinks& links, int workers, int group);

/// Gives the spec its channels and protocol where its algorithm takes them, else one channel and no
/// protocol. With a protocol, a message has no more channels than NCCL gives one of its length, and
/// they have the pace of the GPUs (gpus.h); the links say which these are.
void SetChannels(CollectiveSpec& spec, const ChannelOptions& options);

} // namespace legacy::fabric
