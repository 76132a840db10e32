// Double binary tree all-reduce. Each tree sums half of the message on the way up and spreads the
// sum on the way down, piece by piece. A worker sends a piece up when it has that piece from all
// its children, and sends a complete sum down as soon as it has it. At most four pieces of a worker
// are in flight up a tree, so that the pieces which it sends as a leaf do not delay those which it
// forwards as an inner node of the other tree.
#include "double-tree.h"
#include "algorithms.h"
#include "base.h"
#include "pieces.h"

namespace legacy::fabric
{

namespace
{

class DoubleTree : public CollectiveBase
{
  public:
    DoubleTree(const CollectiveSpec& spec, uint16_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_halves{Half(spec, 0), Half(spec, 1)},
          m_complete(m_workers, 0)
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        Half& half = m_halves[mark & kSecondTree];
        const int worker = flow.destination;
        if (mark & kDown)
        {
            Spread(half, worker, sink);
            return;
        }
        Node& sender = half.nodes[flow.source];
        --sender.inFlight;
        Climb(half, flow.source, sink);
        const int side = half.tree.Child(worker, 0) == flow.source ? 0 : 1;
        ++half.nodes[worker].received[side];
        Climb(half, worker, sink);
    }

  private:
    static constexpr uint64_t kSecondTree = 1;
    static constexpr uint64_t kDown = 2;
    static constexpr int kPiecesAhead = 4;

    /// Pieces that a worker has handled in one tree.
    struct Node
    {
        int64_t received[2] = {0, 0}; ///< pieces from the child on each side
        int64_t sent = 0;             ///< pieces sent up; at the root: summed
        int64_t spread = 0;           ///< complete sums passed on to the children
        int inFlight = 0;             ///< pieces on their way up
    };

    struct Half
    {
        Half(const CollectiveSpec& spec, int index)
            : tree{static_cast<int>(spec.bytes.size()), index == 1},
              pieces(BalancedBlock(spec.bytes[0], 2, index), spec.pieceBytes),
              nodes(spec.bytes.size())
        {
        }

        BinaryTree tree;
        Pieces pieces;
        std::vector<Node> nodes; ///< nodes by worker
    };

    void OnStarted(int worker, FlowSink& sink) override
    {
        Climb(m_halves[0], worker, sink);
        Climb(m_halves[1], worker, sink);
    }

    /// Sums the pieces that all children have sent, and sends the sums up.
    void Climb(Half& half, int worker, FlowSink& sink)
    {
        if (!Started(worker))
        {
            return;
        }
        Node& node = half.nodes[worker];
        int64_t ready = half.pieces.count;
        for (int side : {0, 1})
        {
            if (half.tree.Child(worker, side) != BinaryTree::kNone)
            {
                ready = std::min(ready, node.received[side]);
            }
        }
        const int parent = half.tree.Parent(worker);
        while (node.sent < ready && node.inFlight < kPiecesAhead)
        {
            const int64_t piece = node.sent++;
            if (parent == BinaryTree::kNone)
            {
                Spread(half, worker, sink);
                continue;
            }
            ++node.inFlight;
            SendPiece(half, worker, parent, piece, 0, sink);
        }
    }

    /// Passes the next piece of the complete sum on from `worker` to its children.
    void Spread(Half& half, int worker, FlowSink& sink)
    {
        const int64_t piece = half.nodes[worker].spread++;
        for (int side : {0, 1})
        {
            const int child = half.tree.Child(worker, side);
            if (child != BinaryTree::kNone)
            {
                SendPiece(half, worker, child, piece, kDown, sink);
            }
        }
        if (piece + 1 == half.pieces.count && ++m_complete[worker] == 2)
        {
            Finish(worker, sink);
        }
    }

    void
    SendPiece(const Half& half, int from, int to, int64_t piece, uint64_t way, FlowSink& sink) const
    {
        const uint64_t mark = way | (half.tree.second ? kSecondTree : 0);
        Send(from, to, half.pieces.Bytes(piece), mark, sink, piece + 1 < half.pieces.count);
    }

    Half m_halves[2];
    std::vector<int> m_complete; ///< number of trees whose sum each worker has
};

} // namespace

std::unique_ptr<Collective>
MakeDoubleTree(const CollectiveSpec& spec, uint16_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<DoubleTree>(spec, tagBase, std::move(done));
}

void MeterDoubleTree(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const int workers = static_cast<int>(spec.bytes.size());
    for (int index : {0, 1})
    {
        const BinaryTree tree{workers, index == 1};
        const int64_t half = BalancedBlock(spec.bytes[0], 2, index);
        for (int w = 0; w < workers; ++w)
        {
            int64_t neighbours = tree.Parent(w) != BinaryTree::kNone ? 1 : 0;
            for (int side : {0, 1})
            {
                neighbours += tree.Child(w, side) != BinaryTree::kNone ? 1 : 0;
            }
            // Every edge of the tree carries half of the message each way.
            traffic.sent[w] += neighbours * half;
            traffic.received[w] += neighbours * half;
        }
    }
}

} // namespace legacy::fabric
