#include "collective.h"

#include "algorithms.h"
#include "base.h"
#include "base/error.h"
#include "base/nearest.h"

#include <algorithm>
#include <array>

namespace legacy::fabric
{

namespace
{

/// An AlgorithmEntry has the name, the payload and the functions of one algorithm.
struct AlgorithmEntry
{
    const char* name;
    Payload payload; ///< parameter servers carry others too
    CollectiveMaker* make;
    CollectiveMeter* meter;
};

/// Entries of all algorithms, in the order of CollectiveAlgorithm.
constexpr std::array<AlgorithmEntry, 21> kAlgorithms = {{
    {"ring-allreduce", Payload::Sum, MakeRing, MeterRing},
    {"halving-doubling-allreduce", Payload::Sum, MakeHalvingDoubling, MeterHalvingDoubling},
    {"double-tree-allreduce", Payload::Sum, MakeDoubleTree, MeterDoubleTree},
    {"direct-allreduce", Payload::Sum, MakeDirect, MeterDirect},
    {"hierarchical-allreduce", Payload::Sum, MakeHierarchical, MeterHierarchical},
    {"in-network-allreduce", Payload::Sum, MakeInNetwork, MeterInNetwork},
    {"nvls-allreduce", Payload::Sum, MakeNvls, MeterNvls},
    {"ring-allgather", Payload::Concat, MakeRing, MeterRing},
    {"direct-allgather", Payload::Concat, MakeDirect, MeterDirect},
    {"hierarchical-allgather", Payload::Concat, MakeHierarchical, MeterHierarchical},
    {"recursive-doubling-allgather",
     Payload::Concat,
     MakeDoublingAllGather,
     MeterDoublingAllGather},
    {"bruck-allgather", Payload::Concat, MakeDoublingAllGather, MeterDoublingAllGather},
    {"ring-reduce-scatter", Payload::ScatteredSum, MakeRing, MeterRing},
    {"halving-reduce-scatter", Payload::ScatteredSum, MakeHalvingDoubling, MeterHalvingDoubling},
    {"all-to-all", Payload::Exchange, MakeDirect, MeterDirect},
    {"all-to-allv", Payload::Exchange, MakeDirect, MeterDirect},
    {"broadcast", Payload::Broadcast, MakeBroadcast, MeterBroadcast},
    {"parameter-server", Payload::Sum, MakeServer, MeterServer},
    {"sharded-parameter-server", Payload::Sum, MakeServer, MeterServer},
    {"sparse-tree", Payload::SparseSum, MakeSparseTree, MeterSparseTree},
    {"scatter-reduce-allgather", Payload::RequantisedSum, MakeDirect, MeterDirect},
}};

const AlgorithmEntry& EntryOf(CollectiveAlgorithm algorithm)
{
    return kAlgorithms[static_cast<size_t>(algorithm)];
}

bool IsServer(CollectiveAlgorithm algorithm)
{
    return algorithm == CollectiveAlgorithm::ParameterServer ||
           algorithm == CollectiveAlgorithm::ShardedParameterServer;
}

std::string Join(const std::vector<CollectiveAlgorithm>& algorithms)
{
    std::string text;
    for (CollectiveAlgorithm algorithm : algorithms)
    {
        text += std::string(text.empty() ? "" : ", ") + ToString(algorithm);
    }
    return text;
}

/// Collective of one worker, which is done when it starts.
class Alone : public CollectiveBase
{
  public:
    using CollectiveBase::CollectiveBase;

    void OnDelivered(const Flow&, FlowSink&) override
    {
    }

  private:
    void OnStarted(int, FlowSink&) override
    {
    }
};

constexpr int64_t kMany = INT32_MAX;

/// Throws Error where `value` is outside [least, most]. The message names no upper limit where
/// `most` is kMany.
void CheckRange(const std::string& what, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
    {
        throw Error(what,
                    std::to_string(value),
                    most >= kMany ? std::to_string(least) + " or more"
                                  : std::to_string(least) + " to " + std::to_string(most));
    }
}

void CheckBytes(const CollectiveSpec& spec, const std::string& algorithm)
{
    const bool equal = (CanCarry(spec.algorithm, Payload::Sum) && !IsServer(spec.algorithm)) ||
                       CanCarry(spec.algorithm, Payload::ScatteredSum);
    for (size_t w = 0; w < spec.bytes.size(); ++w)
    {
        const std::string where = algorithm + ": bytes of worker " + std::to_string(w);
        CheckRange(where, spec.bytes[w], 0, INT64_MAX);
        if (equal && spec.bytes[w] != spec.bytes[0])
        {
            throw Error(where,
                        std::to_string(spec.bytes[w]),
                        std::to_string(spec.bytes[0]) +
                            ", as worker 0: summed messages have one length");
        }
    }
}

void CheckSums(const CollectiveSpec& spec, const std::string& algorithm)
{
    size_t needed = spec.algorithm == CollectiveAlgorithm::ScatterReduceAllGather ? 1 : 0;
    for (size_t merged = 1;
         spec.algorithm == CollectiveAlgorithm::SparseTree && merged < spec.bytes.size();
         merged *= 2)
    {
        ++needed;
    }
    if (needed > 0 && spec.sumBytes.size() != needed)
    {
        throw Error(algorithm + ": bytes of sums",
                    std::to_string(spec.sumBytes.size()) + " sizes",
                    std::to_string(needed) + " for " + std::to_string(spec.bytes.size()) +
                        " workers");
    }
    for (int64_t bytes : spec.sumBytes)
    {
        CheckRange(algorithm + ": bytes of a sum", bytes, 0, INT64_MAX);
    }
}

void CheckPairs(const CollectiveSpec& spec, const std::string& algorithm)
{
    const size_t workers = spec.bytes.size();
    if (spec.pairBytes.size() != workers * workers)
    {
        throw Error(algorithm + ": bytes of pairs",
                    std::to_string(spec.pairBytes.size()) + " sizes",
                    std::to_string(workers * workers) + ", one for each sender and receiver of " +
                        std::to_string(workers) + " workers");
    }
    for (size_t pair = 0; pair < spec.pairBytes.size(); ++pair)
    {
        if (spec.pairBytes[pair] < 0)
        {
            CheckRange(algorithm + ": bytes from worker " + std::to_string(pair / workers) +
                           " to worker " + std::to_string(pair % workers),
                       spec.pairBytes[pair],
                       0,
                       INT64_MAX);
        }
    }
}

/// Throws Error unless every node has a path up to the one root.
void CheckParents(const CollectiveSpec& spec, const std::string& algorithm)
{
    const int workers = static_cast<int>(spec.bytes.size());
    const int aggregators = static_cast<int>(spec.parents.size()) - workers;
    if (aggregators < 1)
    {
        throw Error(algorithm + ": needs a placement with aggregators (switches that sum)");
    }
    CheckRange(algorithm + ": first aggregator", spec.firstAggregator, workers, kMany);
    int roots = 0;
    for (int node = 0; node < workers + aggregators; ++node)
    {
        int above = node;
        int steps = 0;
        while (above >= 0 && steps++ <= aggregators)
        {
            const int parent = spec.parents[above];
            if (parent >= 0 || above < workers)
            {
                CheckRange(algorithm + ": parent of node " + std::to_string(above),
                           parent,
                           spec.firstAggregator,
                           spec.firstAggregator + aggregators - 1);
            }
            above = parent < 0 ? -1 : parent - spec.firstAggregator + workers;
        }
        roots += node >= workers && spec.parents[node] < 0 ? 1 : 0;
        if (above >= 0)
        {
            throw Error(algorithm + ": parents of node " + std::to_string(node) + " form a cycle");
        }
    }
    CheckRange(algorithm + ": roots", roots, 1, 1);
}

/// Throws Error unless all workers of a node have one switch of each plane above them.
void CheckSwitches(const CollectiveSpec& spec, const std::string& algorithm)
{
    const auto workers = static_cast<int>(spec.bytes.size());
    const int planes = std::max(1, static_cast<int>(spec.parents.size()) / workers);
    for (int number = 0; number < planes * workers; ++number)
    {
        const int worker = number % workers;
        const int first = worker / spec.group * spec.group;
        if (std::min(spec.group, workers - first) == 1)
        {
            continue;
        }
        if (spec.parents.size() < spec.bytes.size() || spec.parents[number] < workers ||
            spec.parents[number] != spec.parents[number - worker + first])
        {
            throw Error(algorithm +
                        ": needs a placement with a switch above each node of workers (group " +
                        std::to_string(spec.group) + ") that sums; worker " +
                        std::to_string(worker) + " has none");
        }
    }
}

} // namespace

void CheckCollective(const CollectiveSpec& spec)
{
    const std::string algorithm = ToString(spec.algorithm);
    if (spec.bytes.empty())
    {
        throw Error(algorithm + ": needs at least one worker");
    }
    const int64_t workers = static_cast<int64_t>(spec.bytes.size());
    CheckBytes(spec, algorithm);
    if (spec.algorithm == CollectiveAlgorithm::Broadcast ||
        spec.algorithm == CollectiveAlgorithm::SparseTree)
    {
        CheckRange(algorithm + ": root (a worker)", spec.root, 0, workers - 1);
    }
    if (IsServer(spec.algorithm))
    {
        CheckRange(algorithm + ": pull bytes", spec.pullBytes, 0, INT64_MAX);
        CheckRange(algorithm + ": servers", spec.servers, 1, kMany);
    }
    if (spec.algorithm == CollectiveAlgorithm::HierarchicalAllReduce ||
        spec.algorithm == CollectiveAlgorithm::HierarchicalAllGather ||
        spec.algorithm == CollectiveAlgorithm::NvlsAllReduce || spec.channels > 1 || spec.relays ||
        spec.protocol != Protocol::None)
    {
        CheckRange(algorithm + ": group", spec.group, 1, kMany);
    }
    CheckRange(algorithm + ": channels",
               spec.channels,
               1,
               TakesChannels(spec.algorithm) ? kMostChannels : 1);
    if (!TakesProtocol(spec.algorithm, spec.protocol))
    {
        throw Error(algorithm + ": protocol",
                    ToString(spec.protocol),
                    TakesProtocols(spec.algorithm) ? "none, simple"
                                                   : "none; rings and double trees have others");
    }
    if (spec.algorithm == CollectiveAlgorithm::InNetworkAllReduce && workers > 1)
    {
        CheckParents(spec, algorithm);
    }
    if (spec.algorithm == CollectiveAlgorithm::NvlsAllReduce)
    {
        CheckSwitches(spec, algorithm);
    }
    if (spec.relays && !CanCarry(spec.algorithm, Payload::Exchange))
    {
        throw Error(algorithm + ": relays", "on", "off; all-to-all and all-to-allv have them");
    }
    if (spec.algorithm == CollectiveAlgorithm::AllToAllV)
    {
        CheckPairs(spec, algorithm);
    }
    if (!TakesWorkers(spec.algorithm, workers))
    {
        throw Error(algorithm + ": workers",
                    std::to_string(workers),
                    std::string("a power of two; ") +
                        ToString(CollectiveAlgorithm::BruckAllGather) + " takes any number");
    }
    CheckSums(spec, algorithm);
    CheckRange(algorithm + ": piece bytes", spec.pieceBytes, 0, INT64_MAX);
    CheckRange(algorithm + ": window", spec.window, 1, kMany);
}

namespace
{

CollectiveTraffic Meter(const CollectiveSpec& spec)
{
    CheckCollective(spec);
    CollectiveTraffic traffic;
    traffic.sent.assign(spec.bytes.size(), 0);
    traffic.received.assign(spec.bytes.size(), 0);
    if (spec.bytes.size() > 1)
    {
        EntryOf(spec.algorithm).meter(spec, traffic);
    }
    return traffic;
}

} // namespace

const char* ToString(CollectiveAlgorithm algorithm)
{
    return EntryOf(algorithm).name;
}

const std::vector<CollectiveAlgorithm>& CollectiveAlgorithms()
{
    static const std::vector<CollectiveAlgorithm> algorithms = []
    {
        std::vector<CollectiveAlgorithm> all;
        for (size_t i = 0; i < kAlgorithms.size(); ++i)
        {
            all.push_back(static_cast<CollectiveAlgorithm>(i));
        }
        return all;
    }();
    return algorithms;
}

CollectiveAlgorithm ParseCollective(const std::string& text)
{
    std::vector<std::string> names;
    for (CollectiveAlgorithm algorithm : CollectiveAlgorithms())
    {
        names.emplace_back(ToString(algorithm));
        if (names.back() == text)
        {
            return algorithm;
        }
    }
    throw NotAmong("collective", text, names);
}

const char* ToString(Payload payload)
{
    constexpr const char* kNames[] = {"sum of equal-length messages",
                                      "concatenation of messages",
                                      "broadcast",
                                      "sum of sparse messages",
                                      "requantised sum",
                                      "exchange of messages",
                                      "scattered sum of equal-length messages"};
    return kNames[static_cast<size_t>(payload)];
}

bool CanCarry(CollectiveAlgorithm algorithm, Payload payload)
{
    return IsServer(algorithm) ? payload != Payload::Exchange && payload != Payload::ScatteredSum
                               : EntryOf(algorithm).payload == payload;
}

bool TakesWorkers(CollectiveAlgorithm algorithm, int64_t workers)
{
    return algorithm != CollectiveAlgorithm::RecursiveDoublingAllGather ||
           (workers & (workers - 1)) == 0;
}

bool TakesChannels(CollectiveAlgorithm algorithm)
{
    return IsRing(algorithm) || algorithm == CollectiveAlgorithm::DoubleTreeAllReduce;
}

bool TakesProtocols(CollectiveAlgorithm algorithm)
{
    return TakesChannels(algorithm) || algorithm == CollectiveAlgorithm::NvlsAllReduce;
}

bool TakesProtocol(CollectiveAlgorithm algorithm, Protocol protocol)
{
    return protocol == Protocol::None || (algorithm == CollectiveAlgorithm::NvlsAllReduce
                                              ? HasProtocol(ProtocolFamily::Nvls, protocol)
                                              : TakesChannels(algorithm));
}

Aggregation AggregationOf(CollectiveAlgorithm algorithm)
{
    switch (algorithm)
    {
    case CollectiveAlgorithm::InNetworkAllReduce:
        return Aggregation::Tree;
    case CollectiveAlgorithm::NvlsAllReduce:
        return Aggregation::Nodes;
    default:
        return Aggregation::None;
    }
}

bool IsRing(CollectiveAlgorithm algorithm)
{
    return algorithm == CollectiveAlgorithm::RingAllReduce ||
           algorithm == CollectiveAlgorithm::RingAllGather ||
           algorithm == CollectiveAlgorithm::RingReduceScatter;
}

std::vector<CollectiveAlgorithm> AlgorithmsFor(Payload payload)
{
    std::vector<CollectiveAlgorithm> algorithms;
    for (CollectiveAlgorithm algorithm : CollectiveAlgorithms())
    {
        if (CanCarry(algorithm, payload))
        {
            algorithms.push_back(algorithm);
        }
    }
    return algorithms;
}

void CheckCarries(CollectiveAlgorithm algorithm, Payload payload, const std::string& what)
{
    if (!CanCarry(algorithm, payload))
    {
        throw Error(what + " cannot travel by " + ToString(algorithm) +
                    "; it can by: " + Join(AlgorithmsFor(payload)));
    }
}

void Collective::OnWake(uint64_t, FlowSink&)
{
}

std::optional<WakeOf> CollectiveOfWake(uint64_t token)
{
    if ((token & kWakeBit) == 0)
    {
        return std::nullopt;
    }
    return WakeOf{static_cast<uint16_t>(token >> kWakeShift),
                  token & ((uint64_t{1} << kWakeShift) - 1)};
}

std::vector<int64_t> Balanced(int64_t total, int parts)
{
    std::vector<int64_t> blocks(parts);
    for (int i = 0; i < parts; ++i)
    {
        blocks[i] = BalancedBlock(total, parts, i);
    }
    return blocks;
}

std::vector<int64_t> BytesSent(const CollectiveSpec& spec)
{
    return Meter(spec).sent;
}

std::vector<int64_t> BytesReceived(const CollectiveSpec& spec)
{
    return Meter(spec).received;
}

std::unique_ptr<Collective>
MakeCollective(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done)
{
    CheckCollective(spec);
    if (spec.bytes.size() == 1)
    {
        return std::make_unique<Alone>(1, tagBase, std::move(done));
    }
    return EntryOf(spec.algorithm).make(spec, tagBase, std::move(done));
}

} // namespace legacy::fabric
