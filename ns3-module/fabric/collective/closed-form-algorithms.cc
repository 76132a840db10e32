// The closed form of each algorithm, as stated in closed-form.h.
#include "base.h"
#include "base/error.h"
#include "closed-form-parts.h"
#include "closed-form.h"
#include "double-tree.h"
#include "halving.h"
#include "hop-plan.h"
#include "pieces.h"
#include "relays.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

class ClosedForm
{
  public:
    ClosedForm(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport)
        : m_spec(spec),
          m_path(path),
          m_transport(transport),
          m_workers(static_cast<int>(spec.bytes.size())),
          m_bytes(*std::max_element(spec.bytes.begin(), spec.bytes.end()))
    {
    }

    WideTime Time() const;

  private:
    WideTime Flow(int64_t payload) const
    {
        return FlowTime(m_path, payload, m_transport);
    }

    WideTime Wire(int64_t payload) const
    {
        return WireTime(m_path, payload, m_transport);
    }

    WideTime FirstFrame(int64_t payload) const
    {
        const int switches = m_path.hops - 1;
        return SerialisationTime(std::min(m_transport.WireBytes(payload, switches),
                                          m_transport.FirstFrameBytes(switches)),
                                 m_path.rateBps);
    }

    WideTime Acks(int64_t payload) const
    {
        return AckTime(m_path, payload, m_transport);
    }

    /// Returns the bytes of the largest of `parts` balanced parts.
    static int64_t Part(int64_t bytes, int64_t parts)
    {
        return BalancedBlock(bytes, parts, 0);
    }

    /// Returns the time of `rounds` dependent messages, each of which is sent when the one before
    /// it has been ACKed.
    WideTime Rounds(int rounds, int64_t bytes) const
    {
        return rounds * (Flow(bytes) + Acks(bytes));
    }

    /// Returns the time of the slowest worker between messages of a sum by hops.
    WideTime Hop(int64_t payload) const
    {
        WideTime longest = 0;
        for (int worker = 0; worker < m_workers; ++worker)
        {
            longest = std::max<WideTime>(longest, HopPlan::TimeOf(m_spec.hops, worker, payload));
        }
        return longest;
    }

    /// Returns the bytes of the largest message of an all-to-allv.
    int64_t LargestPair() const
    {
        int64_t largest = 0;
        for (int pair = 0; pair < m_workers * m_workers; ++pair)
        {
            const bool self = pair % (m_workers + 1) == 0;
            largest = std::max(largest, self ? 0 : m_spec.pairBytes[pair]);
        }
        return largest;
    }

    WideTime HalvingDoubling() const;
    WideTime HalvingReduceScatter() const;
    WideTime DoublingAllGather() const;
    WideTime AllToAll(int64_t largest) const;
    WideTime DoubleTree() const;
    WideTime Direct(int64_t first, int64_t second, bool two) const;
    WideTime HierarchicalAllReduce() const;
    WideTime HierarchicalAllGather() const;
    WideTime InNetwork() const;
    WideTime Nvls() const;
    WideTime ShardedServer() const;
    WideTime SparseTree() const;
    WideTime HopRing() const;
    WideTime HopButterfly() const;

    const CollectiveSpec& m_spec;
    const UniformPath& m_path;
    const Transport& m_transport;
    int m_workers;
    int64_t m_bytes;
};

WideTime ClosedForm::HalvingDoubling() const
{
    int levels = 0;
    while (2 << levels <= m_workers)
    {
        ++levels;
    }
    WideTime time = 0;
    for (int level = 1; level <= levels; ++level)
    {
        time += Rounds(2, Part(m_bytes, int64_t{1} << level));
    }
    const int core = 1 << levels;
    if (m_workers == core)
    {
        return time - Acks(Part(m_bytes, 2));
    }
    // A worker that folds sends words (halving.cc) before its first half message, which takes time
    // on its NIC. The latency of words delays nobody: a worker that waits for a word has received
    // it by the time that other workers need its messages.
    const int64_t words = (core - 1) / (m_workers - core);
    return time + Rounds(2, m_bytes) - Acks(m_bytes) + words * Wire(std::min<int64_t>(m_bytes, 1));
}

WideTime ClosedForm::HalvingReduceScatter() const
{
    const HalvingPlan plan(m_workers, m_bytes, true);
    WideTime time = 0;
    for (int stage = 1; stage <= plan.Levels(); ++stage)
    {
        time += Rounds(1, plan.LargestHalf(stage));
    }
    const int core = 1 << plan.Levels();
    if (m_workers == core)
    {
        return time - Acks(plan.LargestHalf(plan.Levels()));
    }
    // Unlike in an all-reduce, no doubling follows in which workers that wait for a word could
    // catch up: the last word's latency counts.
    const int64_t words = (core - 1) / (m_workers - core);
    const int64_t word = plan.WordBytes();
    return Rounds(1, m_bytes) + (words - 1) * Wire(word) + Flow(word) + time +
           Flow(Part(m_bytes, m_workers));
}

WideTime ClosedForm::DoublingAllGather() const
{
    WideTime time = 0;
    int64_t blocks = 0;
    for (int64_t distance = 1; distance < m_workers; distance *= 2)
    {
        blocks = std::min(distance, m_workers - distance);
        time += Rounds(1, blocks * m_bytes);
    }
    return time - Acks(blocks * m_bytes);
}

/// `largest` is the number of bytes of the largest message between two workers.
WideTime ClosedForm::AllToAll(int64_t largest) const
{
    // By index, all workers begin with worker 0 and send a frame to each worker in turn. The first
    // frames for the last worker therefore leave when N - 2 others have left, and its messages
    // arrive one by one.
    const int waits = m_workers - 2;
    const WideTime late = m_spec.order == PeerOrder::Index ? waits * FirstFrame(largest) : 0;
    // A worker forwards as many messages as travel over relays for it; those of a node are joined
    // into one.
    const RelayPlan relays(m_spec);
    const auto relayed = static_cast<int64_t>(relays.Relayed()) / m_workers;
    return Flow(largest) + late + (waits + relayed) * Wire(largest) +
           (relayed > 0 ? Flow(relays.Joined(0) * largest) : 0);
}

WideTime ClosedForm::DoubleTree() const
{
    const Pieces pieces = TreePieces(m_spec, 0, 0);
    const ProtocolCosts& costs = CostsOf(ProtocolFamily::Tree, m_spec.protocol);
    const int group = std::max(1, m_spec.group);
    WideTime passing = 0; // the protocol's time on the longest way to a root
    int depth = 0;
    std::vector<int> edges(m_workers, 0); // number of tree edges that share each NIC
    for (int tree = 0; tree < 2 * m_spec.channels; ++tree)
    {
        const TreeLinks links(m_spec, tree / 2, tree % 2);
        depth = std::max(depth, links.Depth());
        for (int worker = 0; worker < m_workers; ++worker)
        {
            WideTime way = 0;
            for (int at = worker; links.parents[at] != BinaryTree::kNone; at = links.parents[at])
            {
                way += at / group == links.parents[at] / group ? costs.inside : costs.across;
            }
            passing = std::max(passing, way);
            edges[worker] += static_cast<int>(links.children[worker].size()) +
                             (links.parents[worker] != BinaryTree::kNone ? 1 : 0);
        }
    }
    const int busiest = *std::max_element(edges.begin(), edges.end());
    const int64_t piece = pieces.Sent(0);
    // An inner node sends to two children, one after the other.
    const WideTime level = Flow(piece) + (m_workers > 2 ? Wire(piece) : 0);
    const WideTime handled = PaceTime(std::max(m_spec.pace.inside, m_spec.pace.across), piece);
    return costs.start + 2 * passing + 2 * depth * level + handled +
           (pieces.count - 1) * std::max(busiest * (Wire(piece) + Acks(piece)), handled);
}

/// Returns the time of one phase, or of two. `first` and `second` are the bytes of each flow in the
/// phases.
WideTime ClosedForm::Direct(int64_t first, int64_t second, bool two) const
{
    const WideTime phase = Flow(first) + (m_workers - 2) * Wire(first);
    if (!two)
    {
        return phase;
    }
    // The messages of the second phase queue behind the ACKs of the first.
    const WideTime sent = (m_workers - 1) * (Wire(first) + Acks(first));
    return std::max(sent, phase + Acks(first)) + Flow(second) + (m_workers - 2) * Wire(second);
}

WideTime ClosedForm::HierarchicalAllReduce() const
{
    const int group = std::min(m_spec.group, m_workers);
    const int groups = (m_workers + group - 1) / group;
    const int64_t chunk = Part(m_bytes, group);
    const int64_t part = Part(chunk, groups);
    const WideTime inside = Rounds(group - 1, chunk);
    const WideTime across = Rounds(2 * (groups - 1), part);
    return 2 * inside + across - Acks(group > 1 ? chunk : part);
}

WideTime ClosedForm::HierarchicalAllGather() const
{
    const int group = std::min(m_spec.group, m_workers);
    const int groups = (m_workers + group - 1) / group;
    const int64_t foreign = (groups - 1) * m_bytes;
    const WideTime time = Rounds(group - 1, m_bytes) + Rounds(groups - 1, m_bytes) +
                          (groups > 1 ? Rounds(group - 1, foreign) : 0);
    return time - Acks(group > 1 && groups > 1 ? foreign : m_bytes);
}

WideTime ClosedForm::InNetwork() const
{
    const Pieces pieces(m_bytes, m_spec.pieceBytes);
    const int64_t piece = pieces.Bytes(0);
    UniformPath half = m_path;
    half.hops = m_path.hops / 2;
    const WideTime down = WireTimeOfSwitch(half, piece, m_transport);
    return 2 * WideTime{FlowTime(half, piece, m_transport)} + down -
           WireTime(half, piece, m_transport) + pieces.count * AckTime(half, piece, m_transport) +
           (pieces.count - 1) * down;
}

WideTime ClosedForm::Nvls() const
{
    const NvlsShape shape(m_spec, {m_path, m_path}, m_transport);
    return shape.latency + shape.inside + shape.across;
}

WideTime ClosedForm::ShardedServer() const
{
    int64_t push = m_spec.shards.empty() ? Part(m_bytes, m_spec.servers) : 0;
    int64_t pull = m_spec.shards.empty() ? Part(m_spec.pullBytes, m_spec.servers) : 0;
    for (const Shard& shard : m_spec.shards)
    {
        push = std::max(push, shard.push);
        pull = std::max(pull, shard.pull);
    }
    const int sharing = std::max(m_workers, m_spec.servers);
    const WideTime acks = m_spec.pullBytes > 0 ? Acks(push) : 0;
    const WideTime turn = std::max(acks, WideTime{m_spec.serve});
    return Flow(push) + (sharing - 1) * Wire(push) + turn + Flow(pull) + (sharing - 1) * Wire(pull);
}

WideTime ClosedForm::SparseTree() const
{
    WideTime time = Rounds(1, m_bytes);
    for (size_t level = 0; level + 1 < m_spec.sumBytes.size(); ++level)
    {
        time += Rounds(1, m_spec.sumBytes[level]);
    }
    return time + BroadcastTime(m_workers, m_spec.sumBytes.back(), m_path, m_transport);
}

WideTime ClosedForm::HopRing() const
{
    const HopPlan plan(m_spec);
    int64_t bytes = 0;
    WideTime computed = 0;
    for (int piece = 0; piece < m_workers * plan.Slices(); ++piece)
    {
        const int slice = piece / m_workers;
        const int first = piece % m_workers;
        bytes = std::max(bytes, plan.Bytes(slice, first, first + 1));
        computed = std::max(computed, Hop(plan.Payload(slice, first, first + 1)));
    }
    const int rounds = plan.Steps();
    const int encoded = m_workers - (plan.Scatters() ? 2 : 1); // sums of a worker
    const int slices = plan.Slices();
    const WideTime others = (slices - 1) * (Wire(bytes) + Acks(bytes));
    const WideTime way = Rounds(rounds, bytes) - Acks(bytes) + encoded * computed;
    const WideTime port = Flow(bytes) + (WideTime{rounds} * slices - 1) * Wire(bytes) +
                          WideTime{rounds - 1} * slices * Acks(bytes) +
                          (encoded > 0 ? computed : 0);
    const WideTime device =
        encoded > 0 ? 2 * Flow(bytes) + WideTime{encoded} * slices * computed : 0;
    return std::max({way + others, port, device});
}

WideTime ClosedForm::HopButterfly() const
{
    const HopPlan plan(m_spec);
    const int pieces = HopPlan::PiecesOf(m_spec.algorithm, m_workers);
    WideTime time = 0;
    for (int slice = 0; slice < plan.Slices(); ++slice)
    {
        const int64_t all = plan.Bytes(slice, 0, pieces);
        int64_t last = all;
        for (int stage = 1; stage <= plan.Levels(); ++stage)
        {
            const int size = pieces >> stage; // the first of the ranges is the largest
            const int64_t bytes = plan.Bytes(slice, 0, size);
            const bool keeps = plan.Scatters() && stage == plan.Levels();
            time += Rounds(plan.Scatters() ? 1 : 2, bytes) +
                    (keeps ? 0 : Hop(plan.Payload(slice, 0, size)));
            last = stage == 1 || keeps ? bytes : last;
        }
        if (plan.Folds())
        {
            // The first half message for a worker may share its link with the whole one before it.
            time += Rounds(2, all) + Hop(plan.Payload(slice, 0, pieces)) +
                    Wire(plan.Bytes(slice, 0, (pieces + 1) / 2));
            last = all;
        }
        time -= Acks(last);
    }
    return time;
}

WideTime ClosedForm::Time() const
{
    const int64_t part = Part(m_bytes, m_workers);
    switch (m_spec.algorithm)
    {
    case CollectiveAlgorithm::RingAllReduce:
    case CollectiveAlgorithm::RingAllGather:
    case CollectiveAlgorithm::RingReduceScatter:
        return RingsTime(m_spec, m_path, m_transport);
    case CollectiveAlgorithm::HalvingDoublingAllReduce:
        return HalvingDoubling();
    case CollectiveAlgorithm::DoubleTreeAllReduce:
        return DoubleTree();
    case CollectiveAlgorithm::DirectAllReduce:
        return Direct(part, part, true);
    case CollectiveAlgorithm::HierarchicalAllReduce:
        return HierarchicalAllReduce();
    case CollectiveAlgorithm::InNetworkAllReduce:
        return InNetwork();
    case CollectiveAlgorithm::NvlsAllReduce:
        return Nvls();
    case CollectiveAlgorithm::DirectAllGather:
        return Direct(m_bytes, 0, false);
    case CollectiveAlgorithm::HierarchicalAllGather:
        return HierarchicalAllGather();
    case CollectiveAlgorithm::RecursiveDoublingAllGather:
    case CollectiveAlgorithm::BruckAllGather:
        return DoublingAllGather();
    case CollectiveAlgorithm::HalvingReduceScatter:
        return HalvingReduceScatter();
    case CollectiveAlgorithm::AllToAll:
        return AllToAll(part);
    case CollectiveAlgorithm::AllToAllV:
        return AllToAll(LargestPair());
    case CollectiveAlgorithm::Broadcast:
        return BroadcastTime(m_workers, m_spec.bytes[m_spec.root], m_path, m_transport);
    case CollectiveAlgorithm::ParameterServer:
        return ParameterServerTime(
            m_workers, m_bytes, m_spec.pullBytes, m_path, m_transport, m_spec.serve);
    case CollectiveAlgorithm::ShardedParameterServer:
        return ShardedServer();
    case CollectiveAlgorithm::SparseTree:
        return SparseTree();
    case CollectiveAlgorithm::ScatterReduceAllGather:
        return Direct(part, Part(m_spec.sumBytes[0], m_workers), true);
    case CollectiveAlgorithm::HopRingAllReduce:
    case CollectiveAlgorithm::HopRingReduceScatter:
        return HopRing();
    case CollectiveAlgorithm::HopButterflyAllReduce:
    case CollectiveAlgorithm::HopHalvingReduceScatter:
        return HopButterfly();
    case CollectiveAlgorithm::BlockSparse:
        return BlockSparseTime(m_spec, m_path, m_transport);
    }
    return 0;
}

} // namespace

TimeNs RailNvlsTime(const CollectiveSpec& spec, const NodePaths& paths, const Transport& transport)
{
    CheckCollective(spec);
    if (spec.algorithm != CollectiveAlgorithm::NvlsAllReduce || spec.bytes.size() < 2)
    {
        throw Error("closed form of NVLS",
                    std::string(ToString(spec.algorithm)) + " of " +
                        std::to_string(spec.bytes.size()) + " workers",
                    "nvls-allreduce of two or more");
    }
    const NvlsShape shape(spec, paths, transport);
    return NarrowTime(shape.latency + std::max(shape.inside, shape.across));
}

TimeNs
ClosedFormTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport)
{
    CheckCollective(spec);
    return spec.bytes.size() == 1 ? 0 : NarrowTime(ClosedForm(spec, path, transport).Time());
}

} // namespace legacy::fabric
