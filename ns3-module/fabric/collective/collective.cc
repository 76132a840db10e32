#include "collective.h"

#include "base.h"
#include "fabric/base/error.h"
#include "kinds.h"

#include <algorithm>
#include <array>

namespace legacy::fabric
{

namespace
{

/// What there is to know of a kind.
struct KindEntry
{
    const char* name;
    Payload payload; ///< besides what any parameter server carries
    CollectiveMaker* make;
    CollectiveMeter* meter;
};

/// In the order of CollectiveKind.
constexpr std::array<KindEntry, 15> kKinds = {{
    {"ring-allreduce", Payload::Sum, MakeRing, MeterRing},
    {"halving-doubling-allreduce", Payload::Sum, MakeHalvingDoubling, MeterHalvingDoubling},
    {"double-tree-allreduce", Payload::Sum, MakeDoubleTree, MeterDoubleTree},
    {"direct-allreduce", Payload::Sum, MakeDirect, MeterDirect},
    {"hierarchical-allreduce", Payload::Sum, MakeHierarchical, MeterHierarchical},
    {"in-network-allreduce", Payload::Sum, MakeInNetwork, MeterInNetwork},
    {"ring-allgather", Payload::Concat, MakeRing, MeterRing},
    {"direct-allgather", Payload::Concat, MakeDirect, MeterDirect},
    {"hierarchical-allgather", Payload::Concat, MakeHierarchical, MeterHierarchical},
    {"all-to-all", Payload::Exchange, MakeDirect, MeterDirect},
    {"broadcast", Payload::Broadcast, MakeBroadcast, MeterBroadcast},
    {"parameter-server", Payload::Sum, MakeServer, MeterServer},
    {"sharded-parameter-server", Payload::Sum, MakeServer, MeterServer},
    {"sparse-tree", Payload::SparseSum, MakeSparseTree, MeterSparseTree},
    {"scatter-reduce-allgather", Payload::RequantisedSum, MakeDirect, MeterDirect},
}};

const KindEntry& EntryOf(CollectiveKind kind)
{
    return kKinds[static_cast<size_t>(kind)];
}

bool IsServer(CollectiveKind kind)
{
    return kind == CollectiveKind::ParameterServer ||
           kind == CollectiveKind::ShardedParameterServer;
}

std::string Join(const std::vector<CollectiveKind>& kinds)
{
    std::string text;
    for (CollectiveKind kind : kinds)
    {
        text += std::string(text.empty() ? "" : ", ") + ToString(kind);
    }
    return text;
}

/// Done when it starts.
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

/// Without an upper limit worth naming where `most` is kMany.
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

void CheckBytes(const CollectiveSpec& spec, const std::string& kind)
{
    const bool equal = CanCarry(spec.kind, Payload::Sum) && !IsServer(spec.kind);
    for (size_t w = 0; w < spec.bytes.size(); ++w)
    {
        const std::string where = kind + ": bytes of worker " + std::to_string(w);
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

void CheckSums(const CollectiveSpec& spec, const std::string& kind)
{
    size_t needed = spec.kind == CollectiveKind::ScatterReduceAllGather ? 1 : 0;
    for (size_t merged = 1; spec.kind == CollectiveKind::SparseTree && merged < spec.bytes.size();
         merged *= 2)
    {
        ++needed;
    }
    if (needed > 0 && spec.sumBytes.size() != needed)
    {
        throw Error(kind + ": bytes of sums",
                    std::to_string(spec.sumBytes.size()) + " sizes",
                    std::to_string(needed) + " for " + std::to_string(spec.bytes.size()) +
                        " workers");
    }
    for (int64_t bytes : spec.sumBytes)
    {
        CheckRange(kind + ": bytes of a sum", bytes, 0, INT64_MAX);
    }
}

/// Every node has a way up to the one root.
void CheckParents(const CollectiveSpec& spec, const std::string& kind)
{
    const int workers = static_cast<int>(spec.bytes.size());
    const int aggregators = static_cast<int>(spec.parents.size()) - workers;
    if (aggregators < 1)
    {
        throw Error(kind + ": needs a placement with aggregators (switches that sum)");
    }
    CheckRange(kind + ": first aggregator", spec.firstAggregator, workers, kMany);
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
                CheckRange(kind + ": parent of node " + std::to_string(above),
                           parent,
                           spec.firstAggregator,
                           spec.firstAggregator + aggregators - 1);
            }
            above = parent < 0 ? -1 : parent - spec.firstAggregator + workers;
        }
        roots += node >= workers && spec.parents[node] < 0 ? 1 : 0;
        if (above >= 0)
        {
            throw Error(kind + ": parents of node " + std::to_string(node) + " form a circle");
        }
    }
    CheckRange(kind + ": roots", roots, 1, 1);
}

} // namespace

void CheckCollective(const CollectiveSpec& spec)
{
    const std::string kind = ToString(spec.kind);
    if (spec.bytes.empty())
    {
        throw Error(kind + ": needs at least one worker");
    }
    const int64_t workers = static_cast<int64_t>(spec.bytes.size());
    CheckBytes(spec, kind);
    if (spec.kind == CollectiveKind::Broadcast || spec.kind == CollectiveKind::SparseTree)
    {
        CheckRange(kind + ": root (a worker)", spec.root, 0, workers - 1);
    }
    if (IsServer(spec.kind))
    {
        CheckRange(kind + ": pull bytes", spec.pullBytes, 0, INT64_MAX);
        CheckRange(kind + ": servers", spec.servers, 1, kMany);
    }
    if (spec.kind == CollectiveKind::HierarchicalAllReduce ||
        spec.kind == CollectiveKind::HierarchicalAllGather)
    {
        CheckRange(kind + ": group", spec.group, 1, kMany);
    }
    if (spec.kind == CollectiveKind::InNetworkAllReduce && workers > 1)
    {
        CheckParents(spec, kind);
    }
    CheckSums(spec, kind);
    CheckRange(kind + ": piece bytes", spec.pieceBytes, 0, INT64_MAX);
    CheckRange(kind + ": window", spec.window, 1, kMany);
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
        EntryOf(spec.kind).meter(spec, traffic);
    }
    return traffic;
}

} // namespace

const char* ToString(CollectiveKind kind)
{
    return EntryOf(kind).name;
}

const std::vector<CollectiveKind>& CollectiveKinds()
{
    static const std::vector<CollectiveKind> kinds = []
    {
        std::vector<CollectiveKind> all;
        for (size_t i = 0; i < kKinds.size(); ++i)
        {
            all.push_back(static_cast<CollectiveKind>(i));
        }
        return all;
    }();
    return kinds;
}

CollectiveKind ParseCollective(const std::string& text)
{
    for (CollectiveKind kind : CollectiveKinds())
    {
        if (text == ToString(kind))
        {
            return kind;
        }
    }
    throw Error("collective", text, Join(CollectiveKinds()));
}

const char* ToString(Payload payload)
{
    constexpr const char* kNames[] = {"sum of equal-length messages",
                                      "concatenation of messages",
                                      "broadcast",
                                      "sum of sparse messages",
                                      "requantised sum",
                                      "exchange of messages"};
    return kNames[static_cast<size_t>(payload)];
}

bool CanCarry(CollectiveKind kind, Payload payload)
{
    return IsServer(kind) ? payload != Payload::Exchange : EntryOf(kind).payload == payload;
}

std::vector<CollectiveKind> KindsFor(Payload payload)
{
    std::vector<CollectiveKind> kinds;
    for (CollectiveKind kind : CollectiveKinds())
    {
        if (CanCarry(kind, payload))
        {
            kinds.push_back(kind);
        }
    }
    return kinds;
}

void CheckCarries(CollectiveKind kind, Payload payload, const std::string& what)
{
    if (!CanCarry(kind, payload))
    {
        throw Error(what + " cannot travel by " + ToString(kind) +
                    "; it can by: " + Join(KindsFor(payload)));
    }
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
    return EntryOf(spec.kind).make(spec, tagBase, std::move(done));
}

} // namespace legacy::fabric
