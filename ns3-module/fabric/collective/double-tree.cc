// Double binary tree all-reduce. Each tree sums half of the message, or of a channel's part of it,
// on the way up, and spreads the sum on the way down, piece by piece. A worker sends a piece up
// when it has received that piece from all its children, and sends a complete sum down as soon as
// it has it. At most four pieces of a worker are in flight up a tree, so that the pieces which it
// sends as a leaf do not delay those which it forwards as an inner node of the other tree.
#include "double-tree.h"
#include "algorithms.h"
#include "chunks.h"
#include "passing.h"
#include "pieces.h"

namespace legacy::fabric
{

namespace
{

class DoubleTree : public PassingCollective
{
  public:
    DoubleTree(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : PassingCollective(spec,
                            tagBase,
                            std::move(done),
                            CostsOf(ProtocolFamily::Tree, spec.protocol)),
          m_ahead(spec.protocol == Protocol::None ? kPiecesAhead : kBufferSteps),
          m_complete(m_workers, 0)
    {
        for (int channel = 0; channel < spec.channels; ++channel)
        {
            m_trees.emplace_back(spec, channel, 0);
            m_trees.emplace_back(spec, channel, 1);
        }
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        Tree& tree = m_trees[mark >> kTreeShift];
        const int worker = flow.destination;
        if (mark & kDown)
        {
            Spread(tree, worker, sink);
            return;
        }
        --tree.nodes[flow.source].inFlight;
        Climb(tree, flow.source, sink);
        ++tree.nodes[flow.source].arrived;
        Climb(tree, worker, sink);
    }

  private:
    static constexpr uint64_t kDown = 1;
    static constexpr int kTreeShift = 1;
    static constexpr int kPiecesAhead = 4;

    /// A worker in one tree, and the pieces that it has handled.
    struct Node
    {
        int parent = 0;
        int firstChild = 0; ///< its children are numbers [firstChild, endChild) of the tree's
        int endChild = 0;
        int64_t sent = 0;    ///< number of pieces sent up; at the root: summed
        int64_t arrived = 0; ///< number of pieces that have arrived above
        int64_t spread = 0;  ///< number of complete sums passed on to the children
        int inFlight = 0;    ///< number of pieces in flight upwards
    };

    struct Tree
    {
        Tree(const CollectiveSpec& spec, int onChannel, int index)
            : channel(onChannel),
              pieces(TreePieces(spec, channel, index)),
              nodes(spec.bytes.size())
        {
            const TreeLinks links(spec, channel, index);
            for (size_t worker = 0; worker < nodes.size(); ++worker)
            {
                const std::vector<int>& its = links.children[worker];
                nodes[worker].parent = links.parents[worker];
                nodes[worker].firstChild = static_cast<int>(children.size());
                children.insert(children.end(), its.begin(), its.end());
                nodes[worker].endChild = static_cast<int>(children.size());
            }
        }

        int channel;
        Pieces pieces;
        std::vector<Node> nodes;   ///< by worker
        std::vector<int> children; ///< of all of them
    };

    void Begin(int worker, FlowSink& sink) override
    {
        for (Tree& tree : m_trees)
        {
            Climb(tree, worker, sink);
        }
    }

    /// Sums the pieces that all children have sent, and sends the sums up.
    void Climb(Tree& tree, int worker, FlowSink& sink)
    {
        if (!Begun(worker))
        {
            return;
        }
        Node& node = tree.nodes[worker];
        int64_t ready = tree.pieces.count;
        for (int i = node.firstChild; i < node.endChild; ++i)
        {
            ready = std::min(ready, tree.nodes[tree.children[i]].arrived);
        }
        const int parent = node.parent;
        while (node.sent < ready && node.inFlight < m_ahead)
        {
            const int64_t piece = node.sent++;
            if (parent == BinaryTree::kNone)
            {
                Spread(tree, worker, sink);
                continue;
            }
            ++node.inFlight;
            SendPiece(tree, worker, parent, piece, 0, sink);
        }
    }

    /// Passes the next piece of the complete sum from `worker` to its children.
    void Spread(Tree& tree, int worker, FlowSink& sink)
    {
        Node& node = tree.nodes[worker];
        const int64_t piece = node.spread++;
        for (int i = node.firstChild; i < node.endChild; ++i)
        {
            SendPiece(tree, worker, tree.children[i], piece, kDown, sink);
        }
        if (piece + 1 == tree.pieces.count &&
            ++m_complete[worker] == static_cast<int>(m_trees.size()))
        {
            Finish(worker, sink);
        }
    }

    /// Sends a piece up, or down to one of the children. Up and down are handled by threads of
    /// their own, which send a sum to all children at once.
    void SendPiece(const Tree& tree, int from, int to, int64_t piece, uint64_t way, FlowSink& sink)
    {
        const auto number = static_cast<uint64_t>(&tree - m_trees.data());
        const uint64_t mark = number << kTreeShift | way;
        Pass(FlowOf(from,
                    to,
                    tree.pieces.Sent(piece),
                    mark,
                    piece + 1 < tree.pieces.count,
                    static_cast<uint16_t>(tree.channel)),
             static_cast<uint32_t>(mark),
             HandlingOf(tree, from, to, way),
             sink);
    }

    /// Only leaves have all pieces from the start.
    static Handling HandlingOf(const Tree& tree, int from, int to, uint64_t way)
    {
        const Node& node = tree.nodes[from];
        if (way == kDown)
        {
            return to == tree.children[node.firstChild] ? Handling::Stream : Handling::Copy;
        }
        return node.firstChild == node.endChild ? Handling::Whole : Handling::Stream;
    }

    const int m_ahead;           ///< most pieces of a worker on their way up a tree
    std::vector<Tree> m_trees;   ///< two for each channel
    std::vector<int> m_complete; ///< number of trees whose sum each worker has
};

} // namespace

TreeLinks::TreeLinks(const CollectiveSpec& spec, int channel, int index)
    : parents(spec.bytes.size(), BinaryTree::kNone),
      children(spec.bytes.size())
{
    const auto workers = static_cast<int>(spec.bytes.size());
    const int group = spec.channels == 1 ? 1 : std::min(spec.group, workers);
    const int nodes = (workers + group - 1) / group;
    const BinaryTree tree{nodes, index == 1};
    const auto size = [&](int node) { return std::min(group, workers - node * group); };
    const auto head = [&](int node) { return node * group + channel % size(node); };
    const auto join = [&](int parent, int child)
    {
        parents[child] = parent;
        children[parent].push_back(child);
    };
    for (int node = 0; node < nodes; ++node)
    {
        for (int side : {0, 1})
        {
            if (const int child = tree.Child(node, side); child != BinaryTree::kNone)
            {
                join(head(node), head(child));
            }
        }
        int above = head(node);
        for (int step = 1; step < size(node); ++step)
        {
            const int below = node * group + (channel + step) % size(node);
            join(above, below);
            above = below;
        }
    }
}

int TreeLinks::Depth() const
{
    int depth = 0;
    for (int parent : parents)
    {
        int above = 0;
        for (; parent != BinaryTree::kNone; parent = parents[parent])
        {
            ++above;
        }
        depth = std::max(depth, above);
    }
    return depth;
}

Pieces TreePieces(const CollectiveSpec& spec, int channel, int index)
{
    return {BalancedBlock(BalancedBlock(spec.bytes[0], spec.channels, channel), 2, index),
            spec.pieceBytes > 0 ? spec.pieceBytes : TreeChunk(spec),
            CostsOf(ProtocolFamily::Tree, spec.protocol)};
}

std::unique_ptr<Collective>
MakeDoubleTree(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<DoubleTree>(spec, tagBase, std::move(done));
}

void MeterDoubleTree(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    for (int channel = 0; channel < spec.channels; ++channel)
    {
        for (int index : {0, 1})
        {
            const TreeLinks links(spec, channel, index);
            const int64_t bytes = TreePieces(spec, channel, index).SentInAll();
            for (size_t w = 0; w < spec.bytes.size(); ++w)
            {
                // Every link of the tree carries its bytes each way.
                const auto neighbours = static_cast<int64_t>(links.children[w].size()) +
                                        (links.parents[w] != BinaryTree::kNone ? 1 : 0);
                traffic.sent[w] += neighbours * bytes;
                traffic.received[w] += neighbours * bytes;
            }
        }
    }
}

} // namespace legacy::fabric
