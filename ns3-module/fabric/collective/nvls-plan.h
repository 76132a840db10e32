// What NVLS carries: the streams of an all-reduce that the switches of nodes sum, and their trees
// over the nodes. Internal to fabric/.
#pragma once

#include "chunks.h"
#include "double-tree.h"
#include "pieces.h"

namespace legacy::fabric
{

/// An NvlsPlan divides the message among the heads of a node, which are its first workers, as many
/// as the smallest node has. Head h of all nodes share rail h. Where nodes have several switches
/// (planes), each part is divided again among them, as a head's links carry its own part besides
/// those of all. With several nodes each part is halved: one half for each of the two binary trees
/// over the nodes. What one head has on one plane for one tree is a stream.
class NvlsPlan
{
  public:
    /// Takes a spec that was checked.
    explicit NvlsPlan(const CollectiveSpec& spec)
        : m_workers(static_cast<int>(spec.bytes.size())),
          m_group(std::min(spec.group, m_workers)),
          m_nodes((m_workers + m_group - 1) / m_group),
          m_heads(m_workers - (m_nodes - 1) * m_group),
          m_planes(std::max(1, static_cast<int>(spec.parents.size()) / m_workers)),
          m_trees(m_nodes > 1 ? 2 : 1),
          m_bytes(spec.bytes[0]),
          m_pieceBytes(spec.pieceBytes > 0
                           ? spec.pieceBytes
                           : NvlsChunk(spec, m_nodes, m_heads) / m_planes / m_trees),
          m_costs(CostsOf(ProtocolFamily::Nvls, spec.protocol))
    {
    }

    int Nodes() const
    {
        return m_nodes;
    }

    int Heads() const
    {
        return m_heads;
    }

    int Streams() const
    {
        return m_heads * m_planes * m_trees;
    }

    int Planes() const
    {
        return m_planes;
    }

    /// Returns the plane whose switch sums the stream.
    int PlaneOf(int stream) const
    {
        return stream / m_trees % m_planes;
    }

    int NodeOf(int worker) const
    {
        return worker / m_group;
    }

    int FirstOf(int node) const
    {
        return node * m_group;
    }

    /// Returns the workers of a node. One alone has no use for a switch.
    int SizeOf(int node) const
    {
        return std::min(m_group, m_workers - node * m_group);
    }

    int HeadOf(int stream, int node) const
    {
        return FirstOf(node) + stream / m_trees / m_planes;
    }

    /// Returns the tree of a stream, over the nodes.
    BinaryTree TreeOf(int stream) const
    {
        return {m_nodes, stream % m_trees == 1};
    }

    /// Returns the pieces of a stream, with the bytes that are sent for them inside a node, which
    /// include what the protocol adds. Between nodes nothing is added.
    Pieces PiecesOf(int stream) const
    {
        const int64_t head = BalancedBlock(m_bytes, m_heads, stream / m_trees / m_planes);
        const int64_t part = BalancedBlock(head, m_planes, PlaneOf(stream));
        return {BalancedBlock(part, m_trees, stream % m_trees), m_pieceBytes, m_costs};
    }

    /// Returns how many neighbours a node has in a stream's tree.
    int NeighboursOf(int stream, int node) const
    {
        const BinaryTree tree = TreeOf(stream);
        return (tree.Parent(node) != BinaryTree::kNone ? 1 : 0) +
               (tree.Child(node, 0) != BinaryTree::kNone ? 1 : 0) +
               (tree.Child(node, 1) != BinaryTree::kNone ? 1 : 0);
    }

    const ProtocolCosts& Costs() const
    {
        return m_costs;
    }

  private:
    int m_workers;
    int m_group;
    int m_nodes;
    int m_heads;
    int m_planes;
    int m_trees;
    int64_t m_bytes;
    int64_t m_pieceBytes;
    ProtocolCosts m_costs;
};

} // namespace legacy::fabric
