// Binomial trees on ranks relative to the root: broadcast, and the sum of sparse messages (gTop-k:
// Shi et al., ICDCS'19) followed by one.
#include "algorithms.h"
#include "base.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

struct BinomialTree
{
    int Rank(int worker) const
    {
        return (worker - root + workers) % workers;
    }

    int WorkerOf(int64_t rank) const
    {
        return static_cast<int>((rank + root) % workers);
    }

    /// Returns the first step of a broadcast in which a rank sends. It is the step after the one in
    /// which the rank receives.
    static int FirstStep(int rank)
    {
        int step = 0;
        while (rank >> step > 0)
        {
            ++step;
        }
        return step;
    }

    /// Returns the number of workers whose messages a rank has summed when it sends: itself and the
    /// ranks up to the next one that has as many trailing zeros.
    int Summed(int rank) const
    {
        return rank == 0 ? workers : std::min(rank & -rank, workers - rank);
    }

    /// Returns the number of ranks that send their sum to this one, which are rank + 1, + 2, + 4,
    /// ...
    int SumChildren(int rank) const
    {
        int children = 0;
        while (1 << children < Summed(rank))
        {
            ++children;
        }
        return children;
    }

    int workers;
    int root;
};

/// In step s every rank below 2^s that has the data sends it to rank + 2^s. A rank sends to one
/// child at a time, so that on any fabric ceil(log2 N) steps suffice.
class BinomialBroadcast : public CollectiveBase
{
  public:
    BinomialBroadcast(const CollectiveSpec& spec,
                      int64_t bytes,
                      uint32_t tagBase,
                      DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_tree{m_workers, spec.root},
          m_bytes(bytes),
          m_holds(m_workers, false)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        SendToChild(flow.source, static_cast<int>(MarkOf(flow)) + 1, sink);
        Hold(flow.destination, sink);
    }

  protected:
    void OnStarted(int worker, FlowSink& sink) override
    {
        if (worker == m_tree.root || m_holds[worker])
        {
            Forward(worker, sink);
        }
    }

    /// Records that `worker` has the data, and forwards it if the worker has started.
    void Hold(int worker, FlowSink& sink)
    {
        m_holds[worker] = true;
        if (Started(worker))
        {
            Forward(worker, sink);
        }
    }

    const BinomialTree m_tree;

  private:
    void Forward(int worker, FlowSink& sink)
    {
        Finish(worker, sink);
        SendToChild(worker, BinomialTree::FirstStep(m_tree.Rank(worker)), sink);
    }

    void SendToChild(int worker, int step, FlowSink& sink)
    {
        const int64_t child = m_tree.Rank(worker) + (int64_t{1} << step);
        if (child < m_workers)
        {
            Send(worker, m_tree.WorkerOf(child), m_bytes, static_cast<uint64_t>(step), sink);
        }
    }

    const int64_t m_bytes;
    std::vector<bool> m_holds;
};

/// Returns the bytes that `rank` sends up. The sum of c workers' messages is as long as that of the
/// next power of two.
int64_t SumBytes(const CollectiveSpec& spec, const BinomialTree& tree, int rank)
{
    const int merges = tree.SumChildren(rank);
    return merges == 0 ? spec.bytes[tree.WorkerOf(rank)] : spec.sumBytes[merges - 1];
}

/// A worker that has received the sums of all its children sends its own sum up; the root's sum is
/// broadcast.
class SparseTree : public BinomialBroadcast
{
  public:
    SparseTree(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : BinomialBroadcast(spec, spec.sumBytes.back(), tagBase, std::move(done)),
          m_spec(spec),
          m_awaited(m_workers)
    {
        for (int w = 0; w < m_workers; ++w)
        {
            m_awaited[w] = m_tree.SumChildren(m_tree.Rank(w));
        }
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        if (MarkOf(flow) != kUp)
        {
            BinomialBroadcast::OnDelivered(flow, sink);
            return;
        }
        --m_awaited[flow.destination];
        Climb(flow.destination, sink);
    }

  private:
    // Marks flows up the tree. The marks of the broadcast are its steps, which are smaller.
    static constexpr uint64_t kUp = uint64_t{1} << 32;

    void OnStarted(int worker, FlowSink& sink) override
    {
        Climb(worker, sink);
    }

    void Climb(int worker, FlowSink& sink)
    {
        if (!Started(worker) || m_awaited[worker] > 0)
        {
            return;
        }
        const int rank = m_tree.Rank(worker);
        if (rank == 0)
        {
            Hold(worker, sink);
            return;
        }
        const int parent = m_tree.WorkerOf(rank - (rank & -rank));
        Send(worker, parent, SumBytes(m_spec, m_tree, rank), kUp, sink);
    }

    const CollectiveSpec m_spec;
    std::vector<int> m_awaited; ///< number of children whose sums are missing, by worker
};

void MeterBinomialBroadcast(const BinomialTree& tree, int64_t bytes, CollectiveTraffic& traffic)
{
    for (int rank = 0; rank < tree.workers; ++rank)
    {
        const int worker = tree.WorkerOf(rank);
        traffic.received[worker] += rank > 0 ? bytes : 0;
        int64_t distance = int64_t{1} << BinomialTree::FirstStep(rank);
        for (; rank + distance < tree.workers; distance *= 2)
        {
            traffic.sent[worker] += bytes;
        }
    }
}

} // namespace

std::unique_ptr<Collective>
MakeBroadcast(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<BinomialBroadcast>(
        spec, spec.bytes[spec.root], tagBase, std::move(done));
}

void MeterBroadcast(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const BinomialTree tree{static_cast<int>(spec.bytes.size()), spec.root};
    MeterBinomialBroadcast(tree, spec.bytes[spec.root], traffic);
}

std::unique_ptr<Collective>
MakeSparseTree(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<SparseTree>(spec, tagBase, std::move(done));
}

void MeterSparseTree(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const BinomialTree tree{static_cast<int>(spec.bytes.size()), spec.root};
    for (int rank = 1; rank < tree.workers; ++rank)
    {
        const int64_t bytes = SumBytes(spec, tree, rank);
        traffic.sent[tree.WorkerOf(rank)] += bytes;
        traffic.received[tree.WorkerOf(rank - (rank & -rank))] += bytes;
    }
    MeterBinomialBroadcast(tree, spec.sumBytes.back(), traffic);
}

} // namespace legacy::fabric
