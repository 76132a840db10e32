// A double tree is two binary trees over the same workers, such that an inner node of one is a leaf
// of the other and each worker forwards about as much as any other (Sanders, Speck, Traff, Parallel
// Computing 2009). Several channels have two such trees each, over the nodes, with the workers of a
// node in a chain. Internal to fabric/.
#pragma once

#include "collective.h"
#include "pieces.h"

#include <vector>

namespace legacy::fabric
{

/// The first BinaryTree is the in-order tree on positions 1 to N with the leaves at odd ones;
/// worker w is at position w + 1. The second is its mirror image where N is even, and shifted by
/// one where N is odd: positions change parity, except for one worker where N is odd, which is a
/// leaf of both.
struct BinaryTree
{
    static constexpr int kNone = -1;

    int Position(int worker) const
    {
        if (!second)
        {
            return worker + 1;
        }
        return workers % 2 == 0 ? workers - worker : (worker == 0 ? workers : worker);
    }

    int WorkerAt(int position) const
    {
        if (!second)
        {
            return position - 1;
        }
        return workers % 2 == 0 ? workers - position : position % workers;
    }

    /// Returns the parent, or kNone at the root.
    int Parent(int worker) const
    {
        const int position = Position(worker);
        const int lowest = position & -position;
        const int up = (position ^ lowest) | 2 * lowest;
        // A position beyond N has no worker: the next lower ancestor takes its place.
        const int parent = up <= workers ? up : position ^ lowest;
        return parent == 0 ? kNone : WorkerAt(parent);
    }

    /// Returns the child on side 0, of lower positions, or on side 1; kNone where there is none.
    int Child(int worker, int side) const
    {
        const int position = Position(worker);
        int distance = (position & -position) / 2;
        if (side == 0)
        {
            return distance > 0 ? WorkerAt(position - distance) : kNone;
        }
        while (distance > 0 && position + distance > workers)
        {
            distance /= 2;
        }
        return distance > 0 ? WorkerAt(position + distance) : kNone;
    }

    int workers;
    bool second;
};

/// TreeLinks has the tree of half a channel's message: who is above and below each worker.
struct TreeLinks
{
    /// Makes tree `index`, 0 or 1, of a channel. A single channel has the binary trees of all
    /// workers. With several channels, the tree of channel c joins the nodes by the worker with
    /// number c in each node, modulo the node's size, so that messages between nodes stay on its
    /// rail (rail c, where nodes are full). The other workers follow it in a chain, c + 1, c + 2,
    /// ..., and it sends to the first of them.
    TreeLinks(const CollectiveSpec& spec, int channel, int index);

    int Depth() const; ///< most links from a worker to the root

    std::vector<int> parents; ///< by worker; BinaryTree::kNone at the root
    std::vector<std::vector<int>> children;
};

/// Returns the pieces that tree `index` of a channel carries over each of its links, each way.
Pieces TreePieces(const CollectiveSpec& spec, int channel, int index);

} // namespace legacy::fabric
