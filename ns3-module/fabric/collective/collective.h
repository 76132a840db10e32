// Collectives are lazily generated flow graphs. Each worker takes part from its own start, and is
// done at its own time.
#pragma once

#include "fabric/engine/flow-graph.h"
#include "fabric/topology/placement.h"
#include "protocol.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A CollectiveAlgorithm is a collective with the algorithm that carries it out.
enum class CollectiveAlgorithm : uint8_t
{
    // all-reduce: all workers send the same number of bytes
    RingAllReduce,            ///< 2 (N-1) rounds of 1/N
    HalvingDoublingAllReduce, ///< recursive halving, then doubling; any N
    DoubleTreeAllReduce,      ///< two pipelined binary trees, half of the bytes each
    DirectAllReduce,          ///< 1/N from everyone to everyone, and back when reduced
    HierarchicalAllReduce,    ///< reduce-scatter in groups, all-reduce across, all-gather in groups
    InNetworkAllReduce,       ///< summed at switches on the way up a tree, pipelined
    NvlsAllReduce,            ///< summed at the switches of nodes, and up trees between them

    // all-gather: worker w's block has bytes[w]
    RingAllGather,   ///< N-1 rounds
    DirectAllGather, ///< everyone sends its block to everyone
    HierarchicalAllGather,
    RecursiveDoublingAllGather, ///< log2 N exchanges, each of all that is there; N a power of two
    BruckAllGather,             ///< the same in a circle, for any N
                    // reduce-scatter: all workers send the same number of bytes; worker w keeps
                    // block w of the sum
    RingReduceScatter,       ///< N-1 rounds of 1/N
    HalvingReduceScatter,    ///< recursive halving; any N
                             // others
    AllToAll,                ///< everyone sends bytes[w] / N to everyone else
    AllToAllV,               ///< worker s sends pairBytes[s N + d] to worker d
    Broadcast,               ///< bytes[root] from root to all, binomial tree
    ParameterServer,         ///< push bytes[w] to a server, pull `pullBytes` when all are in
    ShardedParameterServer,  ///< the same with bytes and pullBytes split over `servers` servers
    SparseTree,              ///< sums of sparse messages up a binomial tree, then broadcast
    ScatterReduceAllGather,  ///< 1/N of bytes[w] to each owner, requantised sums to all
    HopRingAllReduce,        ///< a ring that encodes partial sums again at every hop
    HopButterflyAllReduce,   ///< recursive halving that does, then doubling; any N
    HopRingReduceScatter,    ///< the first half of such a ring: worker w keeps piece w of the sum
    HopHalvingReduceScatter, ///< that of such a butterfly; N a power of two
    BlockSparse, ///< blocks that are not zero, to `servers` aggregators that stream their sum
};

/// Returns the algorithm's name: "ring-allreduce", "halving-doubling-allreduce",
/// "double-tree-allreduce", "direct-allreduce", "hierarchical-allreduce", "in-network-allreduce",
/// "nvls-allreduce", "ring-allgather", "direct-allgather", "hierarchical-allgather",
/// "recursive-doubling-allgather", "bruck-allgather", "ring-reduce-scatter",
/// "halving-reduce-scatter", "all-to-all", "all-to-allv", "broadcast", "parameter-server",
/// "sharded-parameter-server", "sparse-tree", "scatter-reduce-allgather", "hop-ring-allreduce",
/// "hop-butterfly-allreduce", "hop-ring-reduce-scatter", "hop-halving-reduce-scatter",
/// "block-sparse".
const char* ToString(CollectiveAlgorithm algorithm);
/// Returns the algorithm of that name. Throws Error with the list for any other.
CollectiveAlgorithm ParseCollective(const std::string& text);
/// Returns all algorithms, in the order above.
const std::vector<CollectiveAlgorithm>& CollectiveAlgorithms();

/// A Payload says what becomes of the workers' messages.
enum class Payload : uint8_t
{
    Sum,            ///< messages of one length whose values can be added on the way
    Concat,         ///< messages of any length; everyone needs them all
    Broadcast,      ///< one worker's message to all
    SparseSum,      ///< sparse messages, merged on the way; sums have the union of their supports
    RequantisedSum, ///< parts are summed by their owners and quantised again
    Exchange,       ///< each worker has a different message for each other one
    ScatteredSum, ///< messages of one length are summed, and each worker gets its block of the sum
    HopSum,       ///< partial sums are encoded again at every hop
    HopScatter,   ///< so are they, and each worker gets its piece of the sum
    BlockSum,     ///< blocks that workers have are summed; everyone gets all that any has
};

/// Returns the payload in words: "sum of equal-length messages", "concatenation of messages",
/// "broadcast", ...
const char* ToString(Payload payload);
/// True where the algorithm carries that payload. Parameter servers carry all but an exchange, a
/// scattered sum, sums by hops and one of blocks, other algorithms one payload.
bool CanCarry(CollectiveAlgorithm algorithm, Payload payload);
/// True where the algorithm takes that number of workers: recursive doubling and halving by hops
/// take powers of two, all others any number.
bool TakesWorkers(CollectiveAlgorithm algorithm, int64_t workers);
/// True for rings: all-reduce, all-gather and reduce-scatter.
bool IsRing(CollectiveAlgorithm algorithm);
/// True for one parameter server and for shards.
bool IsServer(CollectiveAlgorithm algorithm);
/// True where the algorithm may have that protocol. Rings and the double tree have any, NVLS has
/// Simple, and the others have none. TakesProtocols is true for the former three.
bool TakesProtocol(CollectiveAlgorithm algorithm, Protocol protocol);
bool TakesProtocols(CollectiveAlgorithm algorithm);
/// True for the algorithms that may have several channels: rings and the double tree.
bool TakesChannels(CollectiveAlgorithm algorithm);
/// Returns which switches sum in the algorithm, as they do in in-network sums and NVLS. These two
/// need a placement with such aggregators, so they are never chosen unless asked for.
Aggregation AggregationOf(CollectiveAlgorithm algorithm);
/// The most channels of a collective, which is NCCL's own limit (MAXCHANNELS of its
/// src/include/device.h).
inline constexpr int kMostChannels = 64;
/// Returns the algorithms that carry the payload, in the order of CollectiveAlgorithm.
std::vector<CollectiveAlgorithm> AlgorithmsFor(Payload payload);
/// Throws Error where the algorithm cannot carry the payload: "topk cannot travel by
/// ring-allreduce; it can by: ...", where `what` is "topk".
void CheckCarries(CollectiveAlgorithm algorithm, Payload payload, const std::string& what);

/// A PeerOrder says to whom a worker of an all-to-all sends first.
enum class PeerOrder : uint8_t
{
    Rotated, ///< to its right neighbour, then the next one: no two start with the same worker
    Index,   ///< to worker 0, 1, 2, ...: all start with the same worker
};

/// A HopSlice is a part of the pieces of a sum by hops, which travels by itself.
struct HopSlice
{
    std::vector<int64_t> payload; ///< bytes of each piece, without headers
    std::vector<int64_t> headers; ///< bytes of the headers of a message that begins with that piece
};

/// HopTimes say what a worker computes between a message of a sum by hops and its next one.
struct HopTimes
{
    TimeNs launch = 0;           ///< for each message
    double pace = 0;             ///< nanoseconds for each byte of payload
    std::vector<double> factors; ///< what each member's times are multiplied by; empty: 1
};

/// A Shard is a server's part of each message and of the answer to each worker.
struct Shard
{
    int64_t push = 0; ///< bytes
    int64_t pull = 0; ///< bytes
};

/// A CollectiveSpec is one collective with its sizes.
struct CollectiveSpec
{
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::RingAllReduce;
    /// The member that is the root of a broadcast, or the endpoint of the first parameter server.
    int root = 0;
    std::vector<int64_t> bytes; ///< bytes of each member's message
    /// The workers that take part: member i is worker members[i]. Empty: all workers in order, one
    /// for each size of `bytes`. Wherever else a spec says worker, root or group, it means members;
    /// endpoints of servers and aggregators are numbers of the placement.
    std::vector<int> members;
    /// Parameter servers: bytes sent to each worker. Block-sparse: those of the sum, which has the
    /// blocks that any worker has.
    int64_t pullBytes = 0;
    TimeNs serve = 0; ///< parameter servers: time between the last push and the first pull
    /// Sharded parameter server: endpoints N .. N + servers - 1, or with `members` root ..
    /// root + servers - 1. Block-sparse: the aggregators, at the same endpoints; 0: each worker is
    /// one.
    int servers = 1;
    /// Sharded parameter server: one shard for each server, which add up to bytes[w] and pullBytes;
    /// members with 0 bytes push nothing. Empty: balanced parts of bytes[w] and pullBytes.
    std::vector<Shard> shards;
    /// Block-sparse: blocks that an aggregator sums at once, and the bytes of one with its offset.
    int64_t slots = 256;
    int64_t blockBytes = 1028;
    /// Hierarchical, rings and trees of several channels, NVLS, relays, protocols: workers of a
    /// group (a node), which are consecutive. The last group may be smaller; 1 and N are flat.
    int group = 1;
    /// Rings, double tree: number of rings (channels.h) or pairs of trees (double-tree.h) at once,
    /// each with a part of the message, 1 to kMostChannels. Others have one.
    int channels = 1;
    /// Rings, double tree, NVLS: how workers pass messages on. Others have none.
    Protocol protocol = Protocol::None;
    /// Protocols: the GPUs whose constants hold, and the pace of a channel (tuning.h).
    GpuGeneration gpus = GpuGeneration::Hopper;
    ChannelPace pace;
    /// Sparse tree: bytes of the sum of 2, 4, 8, ... workers' messages, ceil(log2 N) of them (union
    /// growth). Scatter-reduce all-gather: one, the bytes of the whole requantised sum.
    std::vector<int64_t> sumBytes;
    /// Sums by hops: slices of one number of pieces, N in a ring and the largest power of two that
    /// is not above N in a butterfly. Piece p of a reduce-scatter is worker p's. Empty: one slice
    /// of the balanced pieces of bytes[0].
    std::vector<HopSlice> slices;
    HopTimes hops; ///< sums by hops: device times between messages
    /// In-network, NVLS: Placement::parents of its tree, or its nodes, and the endpoint of its
    /// first aggregator.
    std::vector<int> parents;
    int firstAggregator = 0;
    /// All-to-allv: N x N bytes, those of sender s to receiver d at s N + d. The diagonal touches
    /// no link. bytes[w] has no effect beyond the number of workers.
    std::vector<int64_t> pairBytes;
    PeerOrder order = PeerOrder::Rotated; ///< all-to-all and all-to-allv
    /// All-to-all and all-to-allv: messages to another node go over the worker of the sender's node
    /// (of `group` workers) that is on the destination's rail. That worker joins the messages of
    /// its node to one destination.
    bool relays = false;
    /// Pipelined algorithms (double tree, in-network, NVLS, block-sparse): bytes of a piece. 0:
    /// about 16 pieces, of 16 KiB to 1 MiB.
    int64_t pieceBytes = 0;
    /// Direct algorithms, sharded parameter server, in-network, block-sparse: flows that a sender
    /// starts before the first of them has arrived, so that N^2 flows are never in flight at once.
    int window = 64;
    /// What each member takes, from the time at which the last one begins: nothing is sent then.
    /// Empty: the collective is carried out.
    std::vector<TimeNs> times;
};

/// Returns whether the collective has servers or aggregators at endpoints of their own, which begin
/// at N, or with `members` at root.
bool HasServers(const CollectiveSpec& spec);

/// Throws Error on what the algorithm cannot carry: unequal bytes in an all-reduce, root out of
/// range, negative bytes, sizes of sums or parents that are missing, a number of workers that it
/// does not take, members that are not one for each size, that appear twice, or that are servers or
/// aggregators too. How many workers there are is not known here.
void CheckCollective(const CollectiveSpec& spec);

/// Return the payload bytes that leave and reach each member's NIC over the whole collective, in
/// the order of members, forwarding included (the traffic ratio). Servers on a worker's host are
/// counted as if they were elsewhere.
std::vector<int64_t> BytesSent(const CollectiveSpec& spec);
std::vector<int64_t> BytesReceived(const CollectiveSpec& spec);

/// Returns how many flows the collective sends. It is exact except for hierarchical algorithms
/// whose last group is smaller. Throws Error as CheckCollective does.
double EstimatedFlows(const CollectiveSpec& spec);

/// The upper 24 bits of a flow's tag are its collective's base, the others the collective's own.
inline constexpr int kTagShift = 40;
inline constexpr uint32_t kMostTagBases = 1 << 24;

/// A Collective is one collective in progress. Workers and endpoints are those of the placement.
/// Its owner (a graph of several, or a test) forwards events to it. Tags of its flows carry
/// `tagBase`, below kMostTagBases, so that several can be in flight at once.
class Collective
{
  public:
    using DoneCallback = std::function<void(int worker, FlowSink& sink)>;

    virtual ~Collective() = default;
    virtual void Start(int worker, FlowSink& sink) = 0; ///< worker is ready; called once for each
    /// A flow of the collective has arrived.
    virtual void OnDelivered(const Flow& flow, FlowSink& sink) = 0;
    /// The time of a wake-up that it asked for has come; see CollectiveOfWake.
    virtual void OnWake(uint64_t mark, FlowSink& sink);
    virtual bool Done() const = 0; ///< true when every worker is done
};

/// A WakeOf says to whom the token of a wake-up belongs.
struct WakeOf
{
    uint32_t tagBase;
    uint64_t mark; ///< what Collective::OnWake takes
};

/// Returns the collective that asked for a wake-up; nullopt for tokens below 2^62, which are free
/// for the collectives' owner.
std::optional<WakeOf> CollectiveOfWake(uint64_t token);

/// Makes the flow graph of a collective. `done` is called once for each worker that takes part,
/// when everything that it waits for has arrived. Throws Error as CheckCollective does.
std::unique_ptr<Collective>
MakeCollective(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done);

} // namespace legacy::fabric
