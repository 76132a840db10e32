#include "collective.h"

#include "algorithms.h"
#include "base.h"
#include "base/error.h"
#include "base/nearest.h"
#include "members.h"

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
    Payload payload; ///< parameter servers can carry others, too
    CollectiveMaker* make;
    CollectiveMeter* meter;
};

/// The entries of all algorithms, in the order of CollectiveAlgorithm.
constexpr std::array<AlgorithmEntry, 26> kAlgorithms = {{
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
    {"hop-ring-allreduce", Payload::HopSum, MakeHops, MeterHops},
    {"hop-butterfly-allreduce", Payload::HopSum, MakeHops, MeterHops},
    {"hop-ring-reduce-scatter", Payload::HopScatter, MakeHops, MeterHops},
    {"hop-halving-reduce-scatter", Payload::HopScatter, MakeHops, MeterHops},
    {"block-sparse", Payload::BlockSum, MakeBlockSparse, MeterBlockSparse},
}};

const AlgorithmEntry& EntryOf(CollectiveAlgorithm algorithm)
{
    return kAlgorithms[static_cast<size_t>(algorithm)];
}

std::string NamesOf(const std::vector<CollectiveAlgorithm>& algorithms)
{
    std::string text;
    for (CollectiveAlgorithm algorithm : algorithms)
    {
        text += std::string(text.empty() ? "" : ", ") + ToString(algorithm);
    }
    return text;
}

/// The collective of a single worker, which is done when it starts.
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

/// A collective whose times are known.
class Timed : public CollectiveBase
{
  public:
    Timed(std::vector<TimeNs> times, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(times.size()), tagBase, std::move(done)),
          m_times(std::move(times))
    {
    }

    void OnDelivered(const Flow&, FlowSink&) override
    {
    }

    void OnWake(uint64_t mark, FlowSink& sink) override
    {
        Finish(static_cast<int>(mark), sink);
    }

  private:
    void OnStarted(int, FlowSink& sink) override
    {
        if (++m_begun < m_workers)
        {
            return;
        }
        for (int worker = 0; worker < m_workers; ++worker)
        {
            Wake(m_times[worker], static_cast<uint64_t>(worker), sink);
        }
    }

    const std::vector<TimeNs> m_times;
    int m_begun = 0;
};

/// Makes the collective of workers 0 .. N - 1, whatever the members are called.
std::unique_ptr<Collective>
MakeOfAll(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    if (spec.bytes.size() == 1)
    {
        return std::make_unique<Alone>(1, tagBase, std::move(done));
    }
    if (!spec.times.empty())
    {
        return std::make_unique<Timed>(spec.times, tagBase, std::move(done));
    }
    return EntryOf(spec.algorithm).make(spec, tagBase, std::move(done));
}

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
                                      "scattered sum of equal-length messages",
                                      "sum that is encoded again at every hop",
                                      "scattered sum that is encoded again at every hop",
                                      "sum of blocks that are not zero"};
    return kNames[static_cast<size_t>(payload)];
}

bool CanCarry(CollectiveAlgorithm algorithm, Payload payload)
{
    return IsServer(algorithm) ? payload != Payload::Exchange && payload != Payload::ScatteredSum &&
                                     payload != Payload::HopSum && payload != Payload::HopScatter &&
                                     payload != Payload::BlockSum
                               : EntryOf(algorithm).payload == payload;
}

bool TakesWorkers(CollectiveAlgorithm algorithm, int64_t workers)
{
    const bool powers = algorithm == CollectiveAlgorithm::RecursiveDoublingAllGather ||
                        algorithm == CollectiveAlgorithm::HopHalvingReduceScatter;
    return !powers || (workers & (workers - 1)) == 0;
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

bool IsServer(CollectiveAlgorithm algorithm)
{
    return algorithm == CollectiveAlgorithm::ParameterServer ||
           algorithm == CollectiveAlgorithm::ShardedParameterServer;
}

bool HasServers(const CollectiveSpec& spec)
{
    return IsServer(spec.algorithm) ||
           (spec.algorithm == CollectiveAlgorithm::BlockSparse && spec.servers > 0);
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
                    "; it can by: " + NamesOf(AlgorithmsFor(payload)));
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
    return WakeOf{static_cast<uint32_t>((token & ~kWakeBit) >> kWakeShift),
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
MakeCollective(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    CheckCollective(spec);
    if (spec.members.empty())
    {
        return MakeOfAll(spec, tagBase, std::move(done));
    }
    const auto make = [&](Collective::DoneCallback memberDone)
    { return MakeOfAll(spec, tagBase, std::move(memberDone)); };
    return std::make_unique<MemberCollective>(spec, make, std::move(done));
}

} // namespace legacy::fabric
