// Collectives as lazily generated flow graphs. Each worker takes part from its own start, and is
// done at its own time.
#pragma once

#include "fabric/engine/flow-graph.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace legacy::fabric
{

enum class CollectiveAlgorithm : uint8_t
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
const char* ToString(CollectiveAlgorithm algorithm);
/// Throws Error with the list.
CollectiveAlgorithm ParseCollective(const std::string& text);
/// All of them, in the order above.
const std::vector<CollectiveAlgorithm>& CollectiveAlgorithms();

/// What becomes of the workers' messages.
enum class Payload : uint8_t
{
    Sum,            ///< messages of one length whose values can be added on the way
    Concat,         ///< messages of any length; everyone needs them all
    Broadcast,      ///< one worker's message to all
    SparseSum,      ///< sparse messages, merged on the way: sums grow with what they hold
    RequantisedSum, ///< parts are summed by their owners and quantised again
    Exchange,       ///< each worker has another message for each
};

/// "sum of equal-length messages", "concatenation of messages", "broadcast", ...
const char* ToString(Payload payload);
/// Parameter servers carry all but an exchange, other algorithms one payload.
bool CanCarry(CollectiveAlgorithm algorithm, Payload payload);
/// In the order of CollectiveAlgorithm.
std::vector<CollectiveAlgorithm> AlgorithmsFor(Payload payload);
/// Throws Error where it cannot, as "topk cannot travel by ring-allreduce; it can by: ..."; `what`
/// travels.
void CheckCarries(CollectiveAlgorithm algorithm, Payload payload, const std::string& what);

struct CollectiveSpec
{
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::RingAllReduce;
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
    /// pipelined algorithms (double tree, in-network): bytes of a piece; 0: about 16 pieces, of 16
    /// KiB to 1 MiB
    int64_t pieceBytes = 0;
    /// direct algorithms, sharded parameter server, in-network: flows that a sender starts before
    /// the first of them has arrived; N^2 flows are never on their way at once
    int window = 64;
};

/// Throws Error on what the algorithm cannot carry: unequal bytes in an all-reduce, root out of
/// range, negative bytes, sizes of sums or parents that are missing.
void CheckCollective(const CollectiveSpec& spec);

/// Payload bytes that leave and reach each worker's NIC over the whole collective,
/// forwarding included (the traffic ratio); colocated servers' are counted as if they were not.
std::vector<int64_t> BytesSent(const CollectiveSpec& spec);
std::vector<int64_t> BytesReceived(const CollectiveSpec& spec);

/// How many flows the collective sends; exact but for hierarchical algorithms whose last group is
/// smaller. Throws Error as CheckCollective.
double EstimatedFlows(const CollectiveSpec& spec);

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

/// `done` is called once for each worker, when everything it waits for has arrived. Throws Error as
/// CheckCollective.
std::unique_ptr<Collective>
MakeCollective(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done);

} // namespace legacy::fabric
