// Collectives as lazily generated flow graphs. Each worker takes part from its own start, and is
// done at its own time.
#pragma once

#include "flow-graph.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

enum class CollectiveKind : uint8_t
{
    // all-reduce: all workers send the same number of bytes
    RingAllReduce,            ///< 2 (N-1) rounds of 1/N
    HalvingDoublingAllReduce, ///< recursive halving, then doubling; any N
    DoubleTreeAllReduce,      ///< two pipelined binary trees, half of the bytes each
    DirectAllReduce,          ///< 1/N from everyone to everyone, and back when reduced
    HierarchicalAllReduce,    ///< reduce-scatter in groups, all-reduce across, all-gather in groups
    InNetworkAllReduce,       ///< summed at switches on the way up a tree, pipelined
    // all-gather: worker w's block has bytes[w]
    RingAllGather,   ///< N-1 rounds
    DirectAllGather, ///< everyone sends its block to everyone
    HierarchicalAllGather,
    // others
    AllToAll,               ///< everyone sends bytes[w] / N to everyone else
    Broadcast,              ///< bytes[root] from root to all, binomial tree
    ParameterServer,        ///< push bytes[w] to a server, pull `pullBytes` when all are in
    ShardedParameterServer, ///< the same with bytes and pullBytes split over `servers` servers
    SparseTree,             ///< sums of sparse messages up a binomial tree, then broadcast
    ScatterReduceAllGather, ///< 1/N of bytes[w] to each owner, requantised sums to all
};

/// "ring-allreduce", "halving-doubling-allreduce", "double-tree-allreduce", "direct-allreduce",
/// "hierarchical-allreduce", "in-network-allreduce", "ring-allgather", "direct-allgather",
/// "hierarchical-allgather", "all-to-all", "broadcast", "parameter-server",
/// "sharded-parameter-server", "sparse-tree", "scatter-reduce-allgather".
const char* ToString(CollectiveKind kind);
/// Throws Error with the list.
CollectiveKind ParseCollective(const std::string& text);
/// All of them, in the order above.
const std::vector<CollectiveKind>& CollectiveKinds();

struct CollectiveSpec
{
    CollectiveKind kind = CollectiveKind::RingAllReduce;
    int root = 0;
    std::vector<int64_t> bytes; ///< of each worker
    int64_t pullBytes = 0;      ///< parameter servers: to each worker
    int servers = 1;            ///< sharded parameter server: endpoints N .. N + servers - 1
    /// hierarchical: workers of a group, consecutive, the last group may be smaller; 1 and N are
    /// flat
    int group = 1;
    /// sparse tree: bytes of the sum of 2, 4, 8, ... workers' messages, ceil(log2 N) of them (union
    /// growth); scatter-reduce all-gather: one, the bytes of the whole requantised sum
    std::vector<int64_t> sumBytes;
    /// in-network: Placement::parents, and the endpoint of its first aggregator
    std::vector<int> parents;
    int firstAggregator = 0;
    /// pipelined kinds (double tree, in-network): bytes of a piece; 0: about 16 pieces, of 16 KiB to
    /// 1 MiB
    int64_t pieceBytes = 0;
};

/// Payload bytes that leave each worker's network card over the whole collective, forwarding
/// included (the traffic ratio).
std::vector<int64_t> BytesSent(const CollectiveSpec& spec);

/// One collective. Its owner (a graph of several, or a test) forwards events: tags of its flows
/// carry `tagBase` in the upper 16 bits, so several can be in flight at once.
class Collective
{
  public:
    using DoneCallback = std::function<void(int worker, FlowSink& sink)>;

    virtual ~Collective() = default;
    virtual void Start(int worker, FlowSink& sink) = 0; ///< worker is ready, once each
    virtual void OnDelivered(const Flow& flow, FlowSink& sink) = 0;
    virtual bool Done() const = 0; ///< every worker is done
};

/// `done` is called once for each worker, when everything it waits for has arrived. Throws Error on
/// sizes that the kind cannot carry (unequal bytes in an all-reduce, root out of range, negative
/// bytes).
std::unique_ptr<Collective>
MakeCollective(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done);

} // namespace legacy::fabric
