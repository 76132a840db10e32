// All-reduce that switches sum. Workers send pieces up a tree of aggregators. An aggregator sends
// the sum of a piece up when it has received that piece from all its children. The root's sums
// travel down again, and each aggregator copies a piece to all its children as soon as it arrives.
// Aggregators compute in no time. A worker has at most `window` pieces in flight upwards.
#include "algorithms.h"
#include "base.h"
#include "pieces.h"

namespace legacy::fabric
{

namespace
{

class InNetwork : public CollectiveBase
{
  public:
    InNetwork(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_firstAggregator(spec.firstAggregator),
          m_window(spec.window),
          m_pieces(spec.bytes[0], spec.pieceBytes),
          m_parents(spec.parents),
          m_sent(m_parents.size(), 0),
          m_spread(m_parents.size(), 0),
          m_inFlight(m_workers, 0),
          m_waiting(m_parents.size(), 0),
          m_children(m_parents.size())
    {
        for (size_t node = 0; node < m_parents.size(); ++node)
        {
            if (m_parents[node] >= 0)
            {
                m_children[NodeOf(m_parents[node])].push_back(static_cast<int>(node));
            }
        }
        for (size_t node = 0; node < m_parents.size(); ++node)
        {
            m_waiting[node] = static_cast<int>(m_children[node].size());
        }
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const int node = NodeOf(flow.destination);
        if (MarkOf(flow) == kDown)
        {
            Spread(node, sink);
            return;
        }
        const int child = NodeOf(flow.source);
        if (child < m_workers)
        {
            --m_inFlight[child];
            SendUp(child, sink);
        }
        // Pieces arrive in order, so this one can complete a sum only if it is the oldest missing
        // one.
        const int64_t piece = m_arrived[child]++;
        if (piece == m_sent[node] && --m_waiting[node] == 0)
        {
            TakeSums(node, sink);
        }
    }

  private:
    static constexpr uint64_t kUp = 0;
    static constexpr uint64_t kDown = 1;

    /// Returns the node of an endpoint. Nodes are numbered as in `parents`: workers, then
    /// aggregators.
    int NodeOf(int endpoint) const
    {
        return endpoint < m_workers ? endpoint : endpoint - m_firstAggregator + m_workers;
    }

    int EndpointOf(int node) const
    {
        return node < m_workers ? node : node - m_workers + m_firstAggregator;
    }

    void OnStarted(int worker, FlowSink& sink) override
    {
        SendUp(worker, sink);
    }

    void SendUp(int worker, FlowSink& sink)
    {
        while (m_sent[worker] < m_pieces.count && m_inFlight[worker] < m_window)
        {
            ++m_inFlight[worker];
            SendPiece(worker, m_parents[worker], m_sent[worker]++, kUp, sink);
        }
    }

    /// Sums every piece that all children of `node` have sent, and sends the sums up.
    void TakeSums(int node, FlowSink& sink)
    {
        while (m_waiting[node] == 0 && m_sent[node] < m_pieces.count)
        {
            const int64_t piece = m_sent[node]++;
            for (int child : m_children[node])
            {
                m_waiting[node] += m_arrived[child] <= m_sent[node] ? 1 : 0;
            }
            if (m_parents[node] < 0)
            {
                Spread(node, sink);
            }
            else
            {
                SendPiece(node, m_parents[node], piece, kUp, sink);
            }
        }
    }

    /// Passes the next piece of the complete sum from `node` to its children. A worker is done with
    /// its last piece.
    void Spread(int node, FlowSink& sink)
    {
        const int64_t piece = m_spread[node]++;
        for (int child : m_children[node])
        {
            SendPiece(node, EndpointOf(child), piece, kDown, sink);
        }
        if (node < m_workers && m_spread[node] == m_pieces.count)
        {
            Finish(node, sink);
        }
    }

    void SendPiece(int node, int to, int64_t piece, uint64_t mark, FlowSink& sink) const
    {
        const bool more = piece + 1 < m_pieces.count;
        Send(EndpointOf(node), to, m_pieces.Bytes(piece), mark, sink, more);
    }

    const int m_firstAggregator;
    const int m_window;
    const Pieces m_pieces;
    const std::vector<int> m_parents; ///< endpoint above each node
    std::vector<int64_t> m_sent;   ///< number of pieces that each node sent up; at the root: summed
    std::vector<int64_t> m_spread; ///< number of pieces of the complete sum that each node has
    std::vector<int> m_inFlight;   ///< number of pieces in flight upwards, by worker
    std::vector<int> m_waiting;    ///< number of children whose oldest piece is missing, by node
    std::vector<std::vector<int>> m_children;
    /// The number of pieces that have arrived, by child.
    std::vector<int64_t> m_arrived = std::vector<int64_t>(m_parents.size(), 0);
};

} // namespace

std::unique_ptr<Collective>
MakeInNetwork(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<InNetwork>(spec, tagBase, std::move(done));
}

void MeterInNetwork(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    for (size_t w = 0; w < spec.bytes.size(); ++w)
    {
        traffic.sent[w] += spec.bytes[w];
        traffic.received[w] += spec.bytes[w];
    }
}

} // namespace legacy::fabric
